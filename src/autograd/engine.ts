/** The backward pass. */
import { gradMode } from "../dispatch/mode.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { edgeOf } from "./history.ts";
import { AccumulateGrad, type Edge, type Gradients, type Node } from "./node.ts";
import { formulas as F } from "./registry.ts";

export interface RunOptions {
  readonly retainGraph: boolean;
  readonly createGraph: boolean;
  /** Gradients to return instead of accumulating into leaves. */
  readonly inputs: readonly Tensor[] | null;
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
  readonly ready: Node[] = [];
  readonly captures = new Map<Node, Map<number, number>>();
  readonly captured: (Tensor | null)[];
  needed: Set<Node> | null = null;

  constructor(readonly options: RunOptions) {
    this.captured = (options.inputs ?? []).map(() => null);
    options.inputs?.forEach((t, i) => {
      const edge = edgeOf(t);
      if (edge === null) {
        throw new RuntimeError("One of the differentiated Tensors does not require grad");
      }
      const at = this.captures.get(edge.node) ?? new Map<number, number>();
      at.set(edge.index, i);
      this.captures.set(edge.node, at);
    });
  }

  /** Counts how many gradients each node waits for. */
  prepare(roots: readonly Edge[]): void {
    if (this.options.inputs !== null) this.needed = this.findNeeded(roots);
    const stack = [...new Set(roots.map((r) => r.node))];
    const seen = new Set<Node>(stack);
    while (stack.length > 0) {
      const node = stack.pop() as Node;
      for (const e of node.next) {
        if (e === null || !this.isNeeded(e.node)) continue;
        this.task(e.node).pending++;
        if (!seen.has(e.node)) {
          seen.add(e.node);
          stack.push(e.node);
        }
      }
    }
  }

  /** The nodes from which a captured node can be reached. */
  private findNeeded(roots: readonly Edge[]): Set<Node> {
    const needed = new Set<Node>(this.captures.keys());
    const state = new Map<Node, boolean>();
    const stack: { node: Node; at: number }[] = roots.map((r) => ({ node: r.node, at: 0 }));
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { node: Node; at: number };
      if (!state.has(top.node)) state.set(top.node, needed.has(top.node));
      const edge = top.node.next[top.at++];
      if (edge === undefined) {
        if (state.get(top.node)) needed.add(top.node);
        stack.pop();
        const parent = stack[stack.length - 1];
        if (parent !== undefined && needed.has(top.node)) state.set(parent.node, true);
      } else if (edge !== null) {
        if (needed.has(edge.node)) state.set(top.node, true);
        else if (!state.has(edge.node)) stack.push({ node: edge.node, at: 0 });
      }
    }
    return needed;
  }

  private isNeeded(node: Node): boolean {
    return this.needed === null || this.needed.has(node);
  }

  task(node: Node): Task {
    let t = this.tasks.get(node);
    if (t === undefined) {
      t = { pending: 0, grads: new Array(Math.max(1, node.outputs.length)).fill(null), fresh: [] };
      this.tasks.set(node, t);
    }
    return t;
  }

  /** Adds a gradient to what a node has received. */
  deliver(edge: Edge, grad: Tensor, fresh: boolean): void {
    const meta = edge.node.outputs[edge.index];
    const fitting = meta === undefined ? grad : F.conform(grad, meta);
    const t = this.task(edge.node);
    const old = t.grads[edge.index] ?? null;
    if (old === null) {
      t.grads[edge.index] = fitting;
      t.fresh[edge.index] = fresh || fitting !== grad;
    } else {
      t.grads[edge.index] = F.accumulate(old, fitting, t.fresh[edge.index] === true && !gradMode.enabled);
      t.fresh[edge.index] = true;
    }
  }

  /** The ready node that was made last; leaves' accumulators come first. */
  next(): Node {
    const list = this.ready;
    let best = 0;
    for (let i = 1; i < list.length; i++) {
      if ((list[i] as Node).sequence > (list[best] as Node).sequence) best = i;
    }
    const node = list[best] as Node;
    list[best] = list[list.length - 1] as Node;
    list.pop();
    return node;
  }

  step(node: Node): void {
    const t = this.task(node);
    this.tasks.delete(node);
    const grads = runHooks(node, t.grads, t);
    this.keep(node, grads);
    if (node instanceof AccumulateGrad) {
      const grad = grads[0] ?? null;
      if (grad !== null && this.options.inputs === null) accumulate(node.leaf, grad, t.fresh[0] === true);
      return;
    }
    if (this.needed !== null && !node.next.some((e) => e !== null && this.isNeeded(e.node))) return;
    const any = grads.some((g) => g !== null);
    const results = any ? node.apply(grads) : node.nothing();
    if (!this.options.retainGraph) node.release();
    this.spread(node, grads, results);
  }

  private keep(node: Node, grads: Gradients): void {
    const at = this.captures.get(node);
    if (at === undefined) return;
    for (const [index, i] of at) this.captured[i] = grads[index] ?? null;
  }

  private spread(node: Node, grads: Gradients, results: Gradients): void {
    for (let i = 0; i < node.next.length; i++) {
      const edge = node.next[i];
      if (edge === null || edge === undefined || !this.isNeeded(edge.node)) continue;
      const g = results[i] ?? null;
      if (g !== null) {
        const alone = g._base === null && g._storage.claims === 1 && !grads.includes(g);
        this.deliver(edge, g, alone && results.indexOf(g) === results.lastIndexOf(g));
      }
      const task = this.task(edge.node);
      if (--task.pending === 0) this.ready.push(edge.node);
    }
  }
}

function runHooks(node: Node, grads: Gradients, task: Task): Gradients {
  let out = grads;
  if (node instanceof AccumulateGrad) {
    const hooks = node.leaf._extra?.hooks;
    if (hooks) for (const hook of [...hooks.values()]) out = applyHook(hook, out, 0, task);
  }
  if (node.preHooks !== null) {
    for (const { index, hook } of [...node.preHooks.values()]) out = applyHook(hook, out, index, task);
  }
  if (node.retained !== null) {
    for (const [index, t] of node.retained) {
      const g = out[index] ?? null;
      if (g !== null) t._grad = t._grad === null ? g : F.accumulate(t._grad, g, false);
    }
  }
  return out;
}

function applyHook(
  hook: (grad: Tensor) => Tensor | null | undefined | void,
  grads: Gradients,
  index: number,
  task: Task,
): Gradients {
  const grad = grads[index] ?? null;
  if (grad === null) return grads;
  task.fresh[index] = false;
  const changed = hook(grad);
  if (changed === null || changed === undefined) return grads;
  if (!sameSizes(changed._shape, grad._shape)) {
    throw new RuntimeError(`hook '${hook.name || "<lambda>"}' has changed the size of value`);
  }
  const out = [...grads];
  out[index] = changed;
  return out;
}

/** Adds a gradient into a leaf's `grad`. */
function accumulate(leaf: Tensor, grad: Tensor, fresh: boolean): void {
  const old = leaf._grad;
  if (old === null) leaf._grad = take(F.firstGradient(leaf, grad, fresh));
  else if (gradMode.enabled) leaf._grad = take(F.accumulate(old, grad, false));
  else F.accumulate(old, grad, true);
  const posts = leaf._extra?.postHooks;
  if (posts) for (const hook of [...posts.values()]) hook(leaf);
}

/** Runs backward from `roots`, each with its gradient. Gives the gradients of `options.inputs`. */
export function run(roots: readonly Tensor[], gradients: readonly Tensor[], options: RunOptions): (Tensor | null)[] {
  const job = new Run(options);
  const edges = roots.map((t) => {
    const e = edgeOf(t);
    if (e === null) {
      throw new RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn");
    }
    return e;
  });
  const before = gradMode.enabled;
  gradMode.enabled = options.createGraph;
  try {
    job.prepare(edges);
    edges.forEach((e, i) => {
      job.deliver(e, gradients[i] as Tensor, false);
    });
    for (const node of new Set(edges.map((e) => e.node))) {
      if (job.task(node).pending === 0) job.ready.push(node);
    }
    while (job.ready.length > 0) job.step(job.next());
  } finally {
    gradMode.enabled = before;
  }
  return job.captured;
}
