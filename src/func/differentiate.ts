/** A function that was called for its derivatives: fresh inputs, what it gave, and products with its Jacobian. */
import { ones } from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { run } from "../autograd/engine.ts";
import { accumulatorOf, edgeOf } from "../autograd/history.ts";
import { AccumulateGrad, type Node, type OutputMeta } from "../autograd/node.ts";
import { transforming } from "../autograd/transforming.ts";
import { gradMode, gradModes, requiresGrad } from "../dispatch/mode.ts";
import { detach } from "../dispatch/views.ts";
import { batchOf, exampleOf } from "../tensor/batched.ts";
import { isDict } from "../tensor/checks.ts";
import { sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { Alias } from "./alias.ts";
import { Bases } from "./bases.ts";
import { collections } from "./collections.ts";

/** A value with others in the place of its leaves; the tensors of a collection are some. */
export function mapLeaves(value: unknown, each: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((x) => mapLeaves(x, each));
  if (isDict(value)) return Object.fromEntries(Object.entries(value).map(([k, x]) => [k, mapLeaves(x, each)]));
  const kind = collections.kind;
  return kind?.is(value) ? kind.map(value, each as (t: Tensor) => Tensor) : each(value);
}

export function leavesOf(value: unknown): unknown[] {
  const found: unknown[] = [];
  mapLeaves(value, (leaf) => {
    found.push(leaf);
    return leaf;
  });
  return found;
}

/** Whose inputs leaves are that nobody else can see. */
const owners = new WeakMap<Node, Differentiated>();

/** A call of a function of tensors whose derivatives are wanted. */
export class Differentiated {
  /** Whether results keep what they depend on outside. */
  readonly outer = gradMode.enabled;
  /** The inputs, with all examples of each. */
  readonly inputs: Tensor[] = [];
  private readonly bases = new Bases();
  /** Whether the function is running: then what is inside of it depends on its inputs. */
  private running = false;

  /** A leaf of an argument, as the function sees it: one that nobody else has. */
  input(leaf: unknown): Tensor {
    if (!(leaf instanceof Tensor)) throw texts.notATensorInTransform(undefined, `<class '${typeName(leaf)}'>`);
    if (leaf.dtype.category < 2) throw texts.integersNeedNoGrad(undefined);
    const base = this.bases.all(leaf);
    const fresh = detach(base);
    if (this.outer && requiresGrad(base)) Alias.connect(fresh, base);
    else {
      fresh._requiresGrad = true;
      owners.set(accumulatorOf(fresh), this);
    }
    this.inputs.push(fresh);
    return this.bases.example(fresh);
  }

  /** Another leaf. Formulas are linear in it, but some of them have a case of their own for gradients of zero. */
  dummy({ shape, dtype, device }: OutputMeta): Tensor {
    const fresh = ones(shape, dtype, device, false);
    fresh._requiresGrad = true;
    owners.set(accumulatorOf(fresh), this);
    return fresh;
  }

  /** Calls the function: it records, whatever the mode outside. */
  call<R>(name: string, body: () => R): R {
    transforming.depth++;
    this.running = true;
    try {
      return gradModes.run(true, name, body);
    } finally {
      this.running = false;
      transforming.depth--;
    }
  }

  /** All examples of what the function gave. */
  output(t: Tensor): Tensor {
    return this.bases.all(t);
  }

  /** A gradient to begin with, of the sizes of an output. */
  start(given: unknown, output: Tensor, index: number, example: Tensor): Tensor {
    if (!(given instanceof Tensor)) throw texts.badGradientType(undefined, typeof given);
    if (!sameSizes(given._shape, example._shape)) {
      throw texts.gradientShapeMismatch(undefined, index, String(given.shape), String(example.shape));
    }
    if (given.device !== output.device) {
      throw texts.gradientOnWrongDevice(undefined, "", index, String(output.device), String(given.device));
    }
    return this.bases.allOf(given);
  }

  /** What an input changes by, of its sizes. */
  tangent(given: Tensor): Tensor {
    return this.bases.allOf(given);
  }

  /** Whether a graph leads to something outside. */
  leadsOut(roots: readonly Tensor[]): boolean {
    const seen = new Set<Node>();
    const stack: Node[] = [];
    const reach = (node: Node | undefined): void => {
      if (node === undefined || seen.has(node)) return;
      seen.add(node);
      stack.push(node);
    };
    for (const t of roots) reach(edgeOf(bottomOf(t))?.node);
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (node instanceof AccumulateGrad && owners.get(node)?.running !== false) return true;
      for (const edge of node.next) reach(edge?.node);
    }
    return false;
  }

  /** Gradients of some tensors, all examples of each; null where the outputs do not depend on them. */
  pull(
    outputs: readonly Tensor[],
    starts: readonly Tensor[],
    inputs: readonly Tensor[],
    { createGraph, retainGraph }: { createGraph: boolean; retainGraph: boolean },
  ): (Tensor | null)[] {
    const places = outputs.flatMap((t, i) => (edgeOf(t) === null ? [] : [i]));
    if (places.length === 0) return inputs.map(() => null);
    const at = (list: readonly Tensor[]): Tensor[] => places.map((i) => list[i] as Tensor);
    return run(at(outputs), at(starts), { retainGraph, createGraph, inputs, capture: true });
  }

  /** One example of a gradient, or of zeros; without a graph unless that leads out. */
  result(gradient: Tensor | null, like: Tensor): Tensor {
    const found = gradient ?? like.newZeros(like._shape);
    return this.settled(this.bases.exampleOf(found));
  }

  /** A tensor without its graph, unless that leads out. */
  settled(t: Tensor): Tensor {
    const batch = batchOf(t);
    if (batch !== null) {
      const inner = this.settled(batch.value);
      return inner === batch.value ? t : exampleOf(batch.owner, inner, batch.dim);
    }
    if (!requiresGrad(t) || (this.outer && this.leadsOut([t]))) return t;
    return detach(t);
  }

  /** The same of a value with tensors in it. */
  settledAll(value: unknown): unknown {
    return mapLeaves(value, (leaf) => {
      if (leaf instanceof Tensor) return this.settled(leaf);
      throw texts.transformedKind(undefined, `<class '${typeName(leaf)}'>`);
    });
  }
}

/** What holds the elements. */
function bottomOf(t: Tensor): Tensor {
  const batch = batchOf(t);
  return batch === null ? t : bottomOf(batch.value);
}
