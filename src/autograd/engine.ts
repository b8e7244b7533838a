/** The backward pass. */

import * as texts from "../../generated/texts.ts";
import { isDense } from "../dispatch/allocate.ts";
import { gradMode, gradModes, requiresGrad } from "../dispatch/mode.ts";
import { scopeState, take } from "../tensor/scope-state.ts";
import { sameSizes } from "../tensor/size.ts";
import { DISPOSED, requireKept, type Storage } from "../tensor/storage.ts";
import {
  begin,
  collectReleased,
  finishTaken,
  giveUp,
  leaveAll,
  MOST_RELEASED,
  released,
  takeOver,
} from "../tensor/temporaries.ts";
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

/** What a node has received: one place for each of its outputs. */
interface Task {
  pending: number;
  grads: Gradients;
  /** A place has a claim of its own on the bytes of its gradient; the storage is what it was then. */
  held: (Storage | null)[];
  /** The object gave its claim to the place: nobody outside of the engine knows it. */
  own: boolean[];
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
      t = { pending: 0, grads: n > 1 ? new Array(n).fill(null) : [null], held: [], own: [] };
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
  deliver(edge: Edge, t: Task, grad: Tensor, own: boolean, from: Node | null, at: number): void {
    if (!streams.used) {
      this.add(edge, t, grad, own, from, at);
      return;
    }
    // As in torch it is added up where it will be used.
    const before = streams.current;
    streams.handOver(grad, before, edge.node.streams);
    streams.enter(edge.node.streams);
    try {
      this.add(edge, t, grad, own, from, at);
    } finally {
      streams.enter(before);
    }
  }

  private add(edge: Edge, t: Task, grad: Tensor, own: boolean, from: Node | null, at: number): void {
    const { node, index } = edge;
    const meta = node.outputs[index];
    if (meta !== undefined && !reduces(grad._shape, meta.shape)) misfit(grad, meta.shape, from, at);
    const fitting = meta === undefined ? grad : placed(G.conform(grad, meta), meta, from, at);
    const old = t.grads[index] ?? null;
    if (old === null) hold(t, index, fitting, own && fitting === grad);
    else {
      const sum = G.accumulate(old, fitting, this.mayWrite(t, index, fitting));
      if (sum !== old) {
        letGo(t, index);
        hold(t, index, sum, false);
      }
    }
  }

  /** Whether a gradient may be added into what a node has received. Examples are written into their like only. */
  private mayWrite(t: Task, at: number, grad: Tensor): boolean {
    if (!isSole(t, at) || gradMode.enabled || grad._storage.watched) return false;
    const old = t.grads[at] as Tensor;
    return old._base === null && isDense(old._shape, old._strides);
  }

  /** Runs everything, each node on the streams of its operator; the caller's wait for them. */
  finish(): void {
    try {
      while (this.ready.size > 0) {
        const node = this.ready.pop();
        if (streams.used) this.go(node.streams);
        this.step(node);
        if (released.bytes > 16 * MOST_RELEASED) collectReleased(true);
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
    if (!last) this.keep(node, t);
    runHooks(node, grads, t);
    if (last) this.keep(node, t);
    else if (node instanceof AccumulateGrad) {
      const grad = grads[0] ?? null;
      if (grad !== null) this.reach(node.leaf, grad, t);
    } else this.pass(node, t);
    for (let i = 0; i < t.held.length; i++) letGo(t, i);
  }

  /** A gradient has come to a leaf. */
  private reach(leaf: Tensor, grad: Tensor, t: Task): void {
    if (gradFnOf(leaf) !== null) throw texts.leafMovedIntoGraph(undefined);
    if (!requiresGrad(leaf)) return;
    // The place's claim is the object's from now on.
    if (accumulate(leaf, grad, isSole(t, 0))) t.held[0] = null;
    else letGo(t, 0);
    const posts = leaf._extra?.postHooks;
    if (posts) for (const hook of [...posts.values()]) hook(leaf);
  }

  /** Runs a node. What its formulas make on the way is given up; with a graph of the pass, that has it. */
  private pass(node: Node, t: Task): void {
    const { grads } = t;
    for (let i = 0; i < grads.length; i++) {
      const g = grads[i];
      if (g?._storage === DISPOSED) throw texts.gradientWasDisposed(undefined, node.name, g._shape);
    }
    const begun = !this.options.createGraph && begin();
    try {
      const results = grads.every(isMissing) ? node.nothing() : node.apply(grads);
      this.spread(node, t, results);
    } catch (error) {
      if (begun) leaveAll();
      throw error;
    }
    if (begun) finishTaken();
    if (!this.options.retainGraph) node.release();
  }

  private keep(node: Node, t: Task): void {
    const at = this.captures.get(node);
    if (at === undefined) return;
    for (const { output, input } of at) {
      handOut(t, output);
      this.captured[input] = t.grads[output] ?? null;
    }
  }

  private spread(node: Node, t: Task, results: Gradients): void {
    const { grads } = t;
    for (let i = 0; i < node.next.length; i++) {
      const edge = node.next[i];
      if (edge === null || edge === undefined || !this.isNeeded(edge.node)) continue;
      const g = results[i] ?? null;
      const task = this.task(edge.node);
      if (g !== null) {
        // It was passed on, or was given its place by an earlier edge; else it is made just now.
        const from = grads.indexOf(g);
        const own = from >= 0 ? t.own[from] === true : results.indexOf(g) < i;
        this.deliver(edge, task, g, own, node, i);
      }
      if (--task.pending === 0) this.ready.push(edge.node);
    }
  }
}

/** Puts a gradient into a place. One that was made just now gives it its claim. */
function hold(t: Task, at: number, grad: Tensor, own: boolean): void {
  const storage = grad._storage;
  const given = takeOver(grad);
  if (!given) storage.claims++;
  t.grads[at] = grad;
  t.held[at] = storage;
  t.own[at] = given || own;
}

/** The place gives up its claim. */
function letGo(t: Task, at: number): void {
  const storage = t.held[at] ?? null;
  if (storage === null) return;
  t.held[at] = null;
  giveUp(storage);
}

/** Nobody but the place has the gradient. */
function isSole(t: Task, at: number): boolean {
  return t.own[at] === true && (t.held[at] as Storage).claims === 1;
}

/** Somebody outside gets the object of a gradient: it has a claim as any other. */
function handOut(t: Task, at: number): void {
  const grad = t.grads[at] ?? null;
  if (grad === null || t.own[at] !== true) return;
  t.own[at] = false;
  grad._storage.claims++;
  scopeState.made?.push(grad);
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
      if (g !== null) requireKeptGradients(t, g);
      if (g !== null) t._grad = take(t._grad === null ? g.clone() : G.accumulate(t._grad, g, false));
    }
  }
}

/** Refuses to add up what was disposed: what a tensor has in `grad`, or what comes to it. */
function requireKeptGradients(t: Tensor, grad: Tensor): void {
  if (grad._storage === DISPOSED) throw texts.leafGradientDisposed(undefined, t._shape, "what a hook was given");
  if (t._grad !== null && (t._grad as Tensor)._storage === DISPOSED) {
    throw texts.leafGradientDisposed(undefined, t._shape, "what is in its `grad`");
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
  handOut(task, index);
  const changed = hook(grad);
  if (changed === null || changed === undefined) return;
  checkHooked(hook.name || "<lambda>", grad, changed);
  letGo(task, index);
  hold(task, index, changed, false);
}

/** What a hook gives in place of a gradient is like that one. */
function checkHooked(name: string, was: Tensor, got: Tensor): void {
  if (!(got instanceof Tensor)) throw texts.hookGaveNoTensor(undefined, typeName(got));
  if (got._storage === DISPOSED) throw texts.hookGaveDisposed(undefined, name);
  if (got.dtype !== was.dtype || got.device.type !== was.device.type) {
    throw texts.hookChangedType(undefined, name, legacyType(was), legacyType(got));
  }
  if (got.device !== was.device) throw texts.hookChangedDevice(undefined, name);
  if (!sameSizes(got._shape, was._shape)) throw texts.hookChangedSize(undefined, name);
}

/** Adds a gradient into a leaf's `grad`; true when it became that itself. */
function accumulate(leaf: Tensor, grad: Tensor, sole: boolean): boolean {
  const old = leaf._grad;
  requireKeptGradients(leaf, grad);
  if (old === null) {
    const first = G.firstGradient(leaf, grad, sole && isPlain(grad));
    leaf._grad = take(first);
    const isOwn = !gradMode.enabled && (first !== grad || sole);
    if (leaf._extra !== null) leaf._extra.ownGrad = isOwn ? first : null;
    return first === grad;
  }
  if (gradMode.enabled) leaf._grad = take(G.accumulate(old, grad, false));
  else G.accumulate(old, grad, true);
  return false;
}

/** Neither a view nor a part of a graph. */
function isPlain(t: Tensor): boolean {
  return t._base === null && t._gradFn === null && !t._requiresGrad;
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
  if (released.bytes > MOST_RELEASED) collectReleased(false);
  return job.captured;
}
