/** The backward pass. */

import * as texts from "../../generated/texts.ts";
import { gradMode, gradModes, requiresGrad } from "../dispatch/mode.ts";
import { take } from "../tensor/scope-state.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { legacyType, typeName } from "../tensor/type-name.ts";
import * as G from "./gradients.ts";
import { edgeOf, gradFnOf } from "./history.ts";
import { AccumulateGrad, type Edge, type Gradients, type Node, type OutputMeta, streams } from "./node.ts";
import { ReadyNodes } from "./ready.ts";

export interface RunOptions {
  readonly retainGraph: boolean;
  readonly createGraph: boolean;
  /** The only tensors whose gradients are wanted; null for all leaves. */
  readonly inputs: readonly Tensor[] | null;
  /** Gradients are returned instead of added to what the tensors have. */
  readonly capture: boolean;
}

interface Task {
  pending: number;
  grads: Gradients;
  /** The gradient at this position belongs to nobody else. */
  fresh: boolean[];
}

/** One run over a graph. */
class Run {
  readonly tasks = new Map<Node, Task>();
  readonly ready = new ReadyNodes();
  /** Which gradient of a node (by its output) answers which wanted input. */
  readonly captures = new Map<Node, { output: number; input: number }[]>();
  readonly captured: (Tensor | null)[];
  /** The nodes that run; null for all. */
  running: Set<Node> | null = null;
  /** Where work of this run was done beside the caller's streams. */
  readonly places = new Set<object | null>();
  readonly caller = streams.current;

  constructor(readonly options: RunOptions) {
    this.captured = (options.inputs ?? []).map(() => null);
    options.inputs?.forEach((t, input) => {
      const edge = edgeOf(t);
      if (!requiresGrad(t)) throw texts.differentiatedNeedsGrad(undefined);
      // A view made in noGrad of a tensor that wants gradients: nothing leads to it.
      if (edge === null) return;
      const list = this.captures.get(edge.node);
      if (list === undefined) this.captures.set(edge.node, [{ output: edge.index, input }]);
      else list.push({ output: edge.index, input });
    });
  }

  /** Counts how many gradients each node waits for. */
  prepare(roots: readonly Edge[]): void {
    if (this.options.inputs !== null) this.running = this.findNeeded(roots);
    const stack: Node[] = [];
    const reach = (node: Node): Task => {
      const known = this.tasks.get(node);
      if (known !== undefined) return known;
      stack.push(node);
      return this.task(node);
    };
    for (const root of roots) if (this.isNeeded(root.node)) reach(root.node);
    while (stack.length > 0) {
      for (const e of (stack.pop() as Node).next) if (e !== null && this.isNeeded(e.node)) reach(e.node).pending++;
    }
  }

  /** The nodes that run: from them a captured node can be reached. */
  private findNeeded(roots: readonly Edge[]): Set<Node> {
    const runs = new Set<Node>(this.options.capture ? [] : this.captures.keys());
    const seen = new Set<Node>();
    const path: { node: Node; at: number }[] = [];
    const enter = (node: Node): void => {
      seen.add(node);
      path.push({ node, at: 0 });
    };
    for (const root of roots) {
      if (!seen.has(root.node)) enter(root.node);
      while (path.length > 0) {
        const top = path[path.length - 1] as { node: Node; at: number };
        const edge = top.node.next[top.at];
        if (edge === undefined) path.pop();
        else if (edge !== null && !seen.has(edge.node)) enter(edge.node);
        else {
          // What lies behind this edge is known.
          if (edge !== null && (runs.has(edge.node) || this.captures.has(edge.node))) runs.add(top.node);
          top.at++;
        }
      }
    }
    // As in torch, the hooks of a single root run in any case.
    const only = (roots[0] as Edge).node;
    if (roots.length === 1 && !runs.has(only) && !this.captures.has(only)) this.captures.set(only, []);
    return runs;
  }

  private isNeeded(node: Node): boolean {
    return this.running === null || this.running.has(node) || this.captures.has(node);
  }

  task(node: Node): Task {
    let t = this.tasks.get(node);
    if (t === undefined) {
      const n = node.outputs.length;
      t = { pending: 0, grads: n > 1 ? new Array(n).fill(null) : [null], fresh: [] };
      this.tasks.set(node, t);
    }
    return t;
  }

  start(roots: readonly Edge[], gradients: readonly Tensor[]): void {
    const nodes = new Set<Node>();
    roots.forEach((e, i) => {
      if (!this.isNeeded(e.node)) return;
      nodes.add(e.node);
      this.deliver(e, this.task(e.node), gradients[i] as Tensor, false, null, i);
    });
    for (const node of nodes) if (this.task(node).pending === 0) this.ready.push(node);
  }

  /** Adds a gradient to what a node has received. */
  deliver(edge: Edge, t: Task, grad: Tensor, fresh: boolean, from: Node | null, at: number): void {
    if (!streams.used) {
      this.add(edge, t, grad, fresh, from, at);
      return;
    }
    // As in torch it is added up where it will be used.
    const before = streams.current;
    streams.handOver(grad, before, edge.node.streams);
    streams.enter(edge.node.streams);
    try {
      this.add(edge, t, grad, fresh, from, at);
    } finally {
      streams.enter(before);
    }
  }

  private add(edge: Edge, t: Task, grad: Tensor, fresh: boolean, from: Node | null, at: number): void {
    const meta = edge.node.outputs[edge.index];
    if (meta !== undefined && !reduces(grad._shape, meta.shape)) misfit(grad, meta.shape, from, at);
    const fitting = meta === undefined ? grad : placed(G.conform(grad, meta), meta, from, at);
    const old = t.grads[edge.index] ?? null;
    if (old === null) {
      t.grads[edge.index] = fitting;
      t.fresh[edge.index] = fresh || fitting !== grad;
    } else {
      t.grads[edge.index] = G.accumulate(old, fitting, this.mayWrite(t, edge.index, fitting));
      t.fresh[edge.index] = true;
    }
  }

  /** Whether a gradient may be added into what a node has received. Examples are written into their like only. */
  private mayWrite(t: Task, at: number, grad: Tensor): boolean {
    return t.fresh[at] === true && !gradMode.enabled && !grad._storage.watched;
  }

  /** Runs everything, each node on the streams of its operator; the caller's wait for them. */
  finish(): void {
    try {
      while (this.ready.size > 0) {
        const node = this.ready.pop();
        if (streams.used) this.go(node.streams);
        this.step(node);
      }
    } finally {
      if (streams.used) {
        streams.enter(this.caller);
        for (const place of this.places) streams.join(this.caller, place);
      }
    }
  }

  private go(to: object | null): void {
    this.places.add(to);
    streams.enter(to);
  }

  step(node: Node): void {
    const t = this.task(node);
    this.tasks.delete(node);
    const { grads } = t;
    const last = this.running !== null && !this.running.has(node);
    // As in torch: hooks change what is captured only where the pass ends.
    if (!last) this.keep(node, grads);
    runHooks(node, grads, t);
    if (last) {
      this.keep(node, grads);
      return;
    }
    if (node instanceof AccumulateGrad) {
      const grad = grads[0] ?? null;
      if (grad !== null) accumulate(node.leaf, grad, t.fresh[0] === true);
      return;
    }
    const results = grads.every(isMissing) ? node.nothing() : node.apply(grads);
    this.spread(node, grads, results);
    if (!this.options.retainGraph) node.release();
  }

  private keep(node: Node, grads: Gradients): void {
    const at = this.captures.get(node);
    if (at === undefined) return;
    for (const { output, input } of at) this.captured[input] = grads[output] ?? null;
  }

  private spread(node: Node, grads: Gradients, results: Gradients): void {
    const repeated = repeatedIn(grads, results);
    for (let i = 0; i < node.next.length; i++) {
      const edge = node.next[i];
      if (edge === null || edge === undefined || !this.isNeeded(edge.node)) continue;
      const g = results[i] ?? null;
      const task = this.task(edge.node);
      if (g !== null) {
        // Of an example's storage nobody knows who else has the bytes behind it.
        const fresh = g._storage.claims === 1 && !g._storage.watched && !repeated.has(g);
        this.deliver(edge, task, g, fresh, node, i);
      }
      if (--task.pending === 0) this.ready.push(edge.node);
    }
  }
}

/** Whether summing over broadcast dimensions leads from a gradient's sizes to those that are wanted. */
function reduces(from: readonly number[], to: readonly number[]): boolean {
  const lead = from.length - to.length;
  if (lead < 0) return false;
  for (let d = 0; d < to.length; d++) if (to[d] !== 1 && to[d] !== from[d + lead]) return false;
  return true;
}

const sender = (from: Node | null): string => (from === null ? "" : `Function ${from.qualifiedName} returned an `);

/** The tensor's sizes were changed since without a record. */
function misfit(grad: Tensor, wanted: readonly number[], from: Node | null, at: number): never {
  throw texts.invalidGradientAt(undefined, sender(from), at, grad._shape, wanted);
}

/** A gradient where its tensor is: single elements stand beside tensors of any device, and theirs are moved. */
function placed(grad: Tensor, { device }: OutputMeta, from: Node | null, at: number): Tensor {
  const here = grad._storage.device;
  if (here === device) return grad;
  requireKept(grad._storage);
  if (grad._shape.length === 0) return grad.to(device);
  throw texts.gradientOnWrongDevice(undefined, sender(from), at, String(device), String(here));
}

const isMissing = (g: Tensor | null): boolean => g === null;

const NONE: ReadonlySet<Tensor | null> = new Set();

/** Gradients that stand at several places of a step: nothing may be added into those. */
function repeatedIn(grads: Gradients, results: Gradients): ReadonlySet<Tensor | null> {
  if (grads.length === 1 && results.length <= 2) {
    const [first, second] = results;
    if (first !== grads[0] && second !== grads[0] && first !== second) return NONE;
  }
  const seen = new Set(grads);
  let repeated: Set<Tensor | null> | null = null;
  for (const g of results) {
    if (g === null || !seen.has(g)) seen.add(g);
    else {
      repeated ??= new Set();
      repeated.add(g);
    }
  }
  return repeated ?? NONE;
}

/** Runs the hooks on the gradients of a node, and keeps those that tensors retain. */
function runHooks(node: Node, grads: Gradients, task: Task): void {
  if (node instanceof AccumulateGrad) {
    const hooks = node.leaf._extra?.hooks;
    if (hooks) for (const hook of [...hooks.values()]) applyHook(hook, grads, 0, task);
  }
  if (node.preHooks !== null) {
    for (const { index, hook } of [...node.preHooks.values()]) applyHook(hook, grads, index, task);
  }
  if (node.retained !== null) {
    for (const [index, t] of node.retained) {
      const g = grads[index] ?? null;
      if (g !== null) t._grad = t._grad === null ? g.clone() : G.accumulate(t._grad, g, false);
    }
  }
}

function applyHook(
  hook: (grad: Tensor) => Tensor | null | undefined | void,
  grads: Gradients,
  index: number,
  task: Task,
): void {
  const grad = grads[index] ?? null;
  if (grad === null) return;
  task.fresh[index] = false;
  const changed = hook(grad);
  if (changed === null || changed === undefined) return;
  checkHooked(hook.name || "<lambda>", grad, changed);
  grads[index] = changed;
}

/** What a hook gives in place of a gradient is like that one. */
function checkHooked(name: string, was: Tensor, got: Tensor): void {
  if (!(got instanceof Tensor)) throw texts.hookGaveNoTensor(undefined, typeName(got));
  if (got.dtype !== was.dtype || got.device.type !== was.device.type) {
    throw texts.hookChangedType(undefined, name, legacyType(was), legacyType(got));
  }
  if (got.device !== was.device) throw texts.hookChangedDevice(undefined, name);
  if (!sameSizes(got._shape, was._shape)) throw texts.hookChangedSize(undefined, name);
}

/** Adds a gradient into a leaf's `grad`. */
function accumulate(leaf: Tensor, grad: Tensor, fresh: boolean): void {
  if (gradFnOf(leaf) !== null) throw texts.leafMovedIntoGraph(undefined);
  if (!requiresGrad(leaf)) return;
  const old = leaf._grad;
  if (old === null) leaf._grad = take(G.firstGradient(leaf, grad, fresh));
  else if (gradMode.enabled) leaf._grad = take(G.accumulate(old, grad, false));
  else G.accumulate(old, grad, true);
  const posts = leaf._extra?.postHooks;
  if (posts) for (const hook of [...posts.values()]) hook(leaf);
}

/** Runs backward from `roots`, each with its gradient. Gives the gradients of `options.inputs`. */
export function run(roots: readonly Tensor[], gradients: readonly Tensor[], options: RunOptions): (Tensor | null)[] {
  const job = new Run(options);
  const edges = roots.map((t) => {
    const e = edgeOf(t);
    if (e === null) throw texts.noGradientNode(undefined, 0);
    return e;
  });
  gradModes.run(options.createGraph, "backward", () => {
    job.prepare(edges);
    job.start(edges, gradients);
    job.finish();
  });
  return job.captured;
}
