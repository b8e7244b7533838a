/** Nodes of the backward graph. */

import * as texts from "../../generated/texts.ts";
import type { Device } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import type { GradientNode, Tensor } from "../tensor/tensor.ts";

/** Gradients by position; null where there is none. */
export type Gradients = (Tensor | null)[];

/** What a gradient must look like: the shape and dtype of the output that it belongs to. */
export interface OutputMeta {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly device: Device;
}

/** Where a gradient flows: an input of an earlier node. */
export interface Edge {
  readonly node: Node;
  readonly index: number;
}

/**
 * The streams of devices on which work is done now, as one value that says nothing here; null for the default ones.
 * Set by the cuda room once another stream was chosen: until then nobody has to be told.
 */
export const streams: {
  used: boolean;
  current: object | null;
  /** Work goes there from now on. */
  enter(to: object | null): void;
  /** What is done on `to` from now on comes after what was done on `from` to this gradient. */
  handOver(grad: Tensor, from: object | null, to: object | null): void;
  /** What is done on `to` from now on comes after all that `from` was given. */
  join(to: object | null, from: object | null): void;
} = { used: false, current: null, enter: () => {}, handOver: () => {}, join: () => {} };

let sequence = 0;

/** One step of the backward pass. */
export abstract class Node implements GradientNode {
  /** Later nodes run first. */
  declare sequence: number;
  /** One for each differentiable argument; null where no gradient is needed. */
  declare next: (Edge | null)[];
  /** One for each output of the forward operation. */
  declare outputs: OutputMeta[];
  declare released: boolean;
  /** Where its operator ran, and where it will. */
  declare readonly streams: object | null;
  /** Called with the gradients of the outputs before `apply`. */
  declare preHooks: Map<number, { index: number; hook: (grad: Tensor) => Tensor | null | undefined | void }> | null;
  /** Tensors that keep their gradient, by output. */
  declare retained: Map<number, Tensor> | null;

  constructor() {
    this.sequence = sequence++;
    this.next = [];
    this.outputs = [];
    this.released = false;
    this.streams = streams.current;
    this.preHooks = null;
    this.retained = null;
  }

  abstract get name(): string;
  /** With torch's namespace, for nodes that are not made from formulas there. */
  get qualifiedName(): string {
    return this.name;
  }
  /** Its operator also gives results of dtypes without gradients. */
  get anyResult(): boolean {
    return false;
  }
  /** Its result is an input of a function that is differentiated, and may not be written to. */
  get ofInput(): boolean {
    return false;
  }
  abstract apply(grads: Gradients): Gradients;

  /** torch's view of the edges: pairs of node and index. */
  get nextFunctions(): readonly (readonly [Node | null, number])[] {
    return this.next.map((e): readonly [Node | null, number] => (e === null ? [null, 0] : [e.node, e.index]));
  }

  needs(i: number): boolean {
    return this.next[i] !== null && this.next[i] !== undefined;
  }
  needsList(): boolean[] {
    return this.next.map((e) => e !== null);
  }
  nothing(): Gradients {
    return this.next.map(() => null);
  }
  /** Drops what was saved. */
  release(): void {
    this.released = true;
  }
  toString(): string {
    return `<${this.name}>`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `<${this.name} object>`;
  }
}

/** The names of operators, by the classes of their nodes that were made. */
const operators = new Map<unknown, string>();

/** Says which operator a class of nodes is of. */
export function named<C>(made: C, operator: string): C {
  operators.set(made, operator);
  return made;
}

/** The operator that a node was made for; undefined for one that no formula describes. */
export function operatorOf(node: Node): string | undefined {
  return operators.get(node.constructor);
}

export function freedError(): never {
  throw texts.graphFreed(undefined);
}

/** The end of a path: adds into a leaf's `grad`. */
export class AccumulateGrad extends Node {
  readonly leaf: Tensor;
  constructor(leaf: Tensor) {
    super();
    this.sequence = Number.MAX_SAFE_INTEGER;
    this.leaf = leaf;
  }
  override get name(): string {
    return "AccumulateGrad";
  }
  override apply(): Gradients {
    throw texts.accumulatesOnly(undefined);
  }
}
