/**
 * Tangents through a graph that was recorded, from the inputs of a function to what it gave: each node's results change
 * by what the formula of its operator says of its operands (generated/tangents.ts), with what the node saved.
 */
import { alias, zeros } from "../../generated/ops.ts";
import { pushOf } from "../../generated/tangents.ts";
import { run } from "../autograd/engine.ts";
import { copyToRegion, sliceOf, stridedTangent } from "../autograd/gradients.ts";
import { edgeOf } from "../autograd/history.ts";
import { type Edge, freedError, type Node, type OutputMeta, streams } from "../autograd/node.ts";
import { AsStridedBackward, CopySlices } from "../autograd/view-nodes.ts";
import { gradMode, gradModes, requiresGrad } from "../dispatch/mode.ts";
import { detach } from "../dispatch/views.ts";
import { scopeState } from "../tensor/scope-state.ts";
import type { Storage } from "../tensor/storage.ts";
import { begin, finishTaken, giveUp, leaveAll, takeOver } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Alias } from "./alias.ts";
import { fitted, type Push, type Pushed, type Tangents, type Through } from "./tangents-common.ts";

type Optional = Tensor | null;

/** Makes the gradients with which a node is transposed. */
type Dummy = (meta: OutputMeta) => Tensor;

/** What lies between inputs and outputs. */
export interface Paths {
  /** Each behind those that it depends on. */
  readonly nodes: readonly Node[];
  /** Where inputs and outputs stand; null for an output that depends on no input. */
  readonly starts: readonly (Edge | null)[];
  readonly ends: readonly (Edge | null)[];
  /** How many of the nodes, and outputs, take something from a node. */
  readonly takers: ReadonlyMap<Node, number>;
}

/** The nodes through which outputs depend on inputs. */
export function pathsBetween(inputs: readonly Tensor[], outputs: readonly Tensor[]): Paths {
  const starts = inputs.map(edgeOf);
  const leads = new Map<Node, boolean>();
  for (const edge of starts) if (edge !== null) leads.set(edge.node, true);
  const nodes: Node[] = [];
  const path: { node: Node; at: number; leads: boolean }[] = [];
  const enter = (node: Node): void => {
    // Until it is left: nothing leads back to it.
    leads.set(node, false);
    path.push({ node, at: 0, leads: false });
  };
  const ends = outputs.map((t) => {
    const end = edgeOf(t);
    if (end === null) return null;
    if (!leads.has(end.node)) enter(end.node);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      if (top.at === top.node.next.length) {
        path.pop();
        if (top.leads) {
          leads.set(top.node, true);
          nodes.push(top.node);
        }
        const before = path.at(-1);
        if (before !== undefined && top.leads) before.leads = true;
        continue;
      }
      const next = top.node.next[top.at++]?.node;
      if (next === undefined) continue;
      const known = leads.get(next);
      if (known === undefined) enter(next);
      else if (known) top.leads = true;
    }
    return leads.get(end.node) === true ? end : null;
  });
  return { nodes, starts, ends, takers: takersOf(nodes, ends, leads) };
}

function takersOf(nodes: readonly Node[], ends: readonly (Edge | null)[], leads: ReadonlyMap<Node, boolean>) {
  const takers = new Map<Node, number>();
  const count = (edge: Edge | null): void => {
    if (edge !== null && leads.get(edge.node) === true) takers.set(edge.node, (takers.get(edge.node) ?? 0) + 1);
  };
  for (const node of nodes) node.next.forEach(count);
  ends.forEach(count);
  return takers;
}

/** The tangents of a node's results, and its claims on their bytes. */
interface Place {
  readonly tangents: readonly Optional[];
  readonly held: readonly Storage[];
  takers: number;
}

/** One push. Bytes of tangents go back once all who take them have done so, unless a graph of the push has them. */
class Pushing {
  private readonly places = new Map<Node, Place>();
  /** Whose objects gave their claims to places: nobody outside knows them. */
  private readonly own = new WeakSet<Tensor>();

  constructor(
    private readonly paths: Paths,
    private readonly dummy: Dummy,
    /** Nobody pushes through these nodes again: what they saved goes back at once. */
    private readonly last: boolean,
  ) {}

  run(tangents: readonly Tensor[]): Optional[] {
    const { nodes, starts, ends } = this.paths;
    if (streams.used) joinAll(nodes);
    for (const [i, edge] of starts.entries()) {
      if (edge === null || !this.paths.takers.has(edge.node)) continue;
      const meta = edge.node.outputs[edge.index] as OutputMeta;
      this.place(edge.node, [fitted(tangents[i] as Tensor, meta)]);
    }
    for (const node of nodes) this.step(node);
    const results = ends.map((edge) => this.at(edge));
    for (const t of results) if (t !== null && this.own.delete(t)) handOut(t);
    for (const edge of ends) this.taken(edge);
    return results;
  }

  private at(edge: Edge | null): Optional {
    return edge === null ? null : (this.places.get(edge.node)?.tangents[edge.index] ?? null);
  }

  private place(node: Node, tangents: readonly Optional[]): void {
    const held: Storage[] = [];
    for (const t of tangents) {
      if (t === null) continue;
      if (takeOver(t)) this.own.add(t);
      else t._storage.claims++;
      held.push(t._storage);
    }
    this.places.set(node, { tangents, held, takers: this.paths.takers.get(node) ?? 0 });
  }

  private taken(edge: Edge | null): void {
    const place = edge === null ? undefined : this.places.get(edge.node);
    if (place === undefined || --place.takers > 0) return;
    this.places.delete((edge as Edge).node);
    for (const storage of place.held) giveUp(storage);
  }

  private step(node: Node): void {
    const given = node.next.map((edge) => this.at(edge));
    if (given.some((t) => t !== null)) this.push(node, given);
    if (this.last) node.release();
    for (const edge of node.next) this.taken(edge);
  }

  private push(node: Node, given: Tangents): void {
    const begun = !gradMode.enabled && begin();
    try {
      this.place(node, this.pushed(node, given));
    } catch (error) {
      if (begun) leaveAll();
      throw error;
    }
    if (begun) finishTaken();
  }

  private pushed(node: Node, given: Tangents): Optional[] {
    if (node instanceof Alias) return [...given];
    if (node instanceof CopySlices) return [this.slices(node, given)];
    if (node instanceof AsStridedBackward) return [stridedTangent(given[0] as Tensor, node.base, node.view)];
    const rule = ruleOf(node);
    return fittedTo(node, rule === undefined ? transposed(node, given, this.dummy) : rule(node, given, this.through));
  }

  /** The base's tangent, with that of what was written where the view lies. */
  private slices(node: CopySlices, given: Tangents): Tensor {
    if (node.released) freedError();
    const { base, view, replay, inner } = node;
    const [meta] = node.outputs as [OutputMeta];
    const own = given[0] ?? zeros(meta.shape, meta.dtype, meta.device, false);
    const whole = copyToRegion(spreadOver(own, given), base);
    const slice = replay === null ? sliceOf(whole, base, view) : replay(whole);
    const [found = null] = this.pushed(inner, [given[0] ? slice.clone() : null, ...given.slice(1)]);
    if (found === null) slice.zero_();
    else slice.copy_(found);
    return whole;
  }

  /** For what one kernel computes, and a formula computes again with recorded operators. */
  private readonly through: Through = (inputs, tangents, body) => {
    const places = tangents.flatMap((t, i) => (t !== null && (inputs[i] ?? null) !== null ? [i] : []));
    const createGraph = gradMode.enabled;
    const [own, results] = gradModes.run(true, "jvp", () => {
      const fresh = inputs.map((t, i) => {
        if (t === null || !places.includes(i)) return t;
        return createGraph && requiresGrad(t) ? alias(t) : detach(t).requiresGrad_(true);
      });
      return [places.map((i) => fresh[i] as Tensor), body(...fresh)] as const;
    });
    const there = results.flatMap((t, k) => (t === null ? [] : [k]));
    const paths = pathsBetween(
      own,
      there.map((k) => results[k] as Tensor),
    );
    const found = new Pushing(paths, this.dummy, !createGraph).run(places.map((i) => tangents[i] as Tensor));
    return results.map((_, k) => found[there.indexOf(k)] ?? null);
  };
}

/** The object that somebody gets has a claim of its own, as any other. */
function handOut(t: Tensor): void {
  t._storage.claims++;
  scopeState.made?.push(t);
}

function fittedTo(node: Node, pushed: Pushed): Optional[] {
  const list = Array.isArray(pushed) ? (pushed as readonly Optional[]) : [pushed as Optional];
  return list.map((t, i) => {
    const meta = node.outputs[i];
    return t === null || t === undefined || meta === undefined || meta.dtype.category < 2 ? null : fitted(t, meta);
  });
}

let rules: Map<unknown, Push | undefined> | undefined;

function ruleOf(node: Node): Push | undefined {
  rules ??= new Map();
  if (!rules.has(node.constructor)) rules.set(node.constructor, pushOf(node) as Push | undefined);
  return rules.get(node.constructor);
}

/** A tangent that stands for as many examples as any of the others. */
function spreadOver(t: Tensor, others: Tangents): Tensor {
  const watched = others.filter((x): x is Tensor => x !== null && x !== t && x._storage.watched);
  return watched.reduce((sum, x) => sum.add(x.newZeros([])), t);
}

/** Of an operator without a formula: what its gradient is linear in is the gradient, so that its own is the tangent. */
function transposed(node: Node, tangents: Tangents, dummy: Dummy): Optional[] {
  const createGraph = gradMode.enabled;
  const dummies = node.outputs.map((meta) => (meta.dtype.category < 2 ? null : dummy(meta)));
  const parts = gradModes.run(true, "jvp", () => node.apply(dummies));
  const places = parts.flatMap((g, i) => (g !== null && tangents[i] && requiresGrad(g) ? [i] : []));
  const wanted = dummies.flatMap((t, k) => (t === null ? [] : [k]));
  if (places.length === 0) return [];
  const found = run(
    places.map((i) => parts[i] as Tensor),
    places.map((i) => tangents[i] as Tensor),
    { retainGraph: createGraph, createGraph, inputs: wanted.map((k) => dummies[k] as Tensor), capture: true },
  );
  return node.outputs.map((_, k) => found[wanted.indexOf(k)] ?? null);
}

/** What was made on other streams is there for what is done now. */
function joinAll(nodes: readonly Node[]): void {
  for (const place of new Set(nodes.map((node) => node.streams))) streams.join(streams.current, place);
}

/** The tangents of outputs, null for zeros. Recorded where gradients are. */
export function pushedThrough(paths: Paths, tangents: readonly Tensor[], dummy: Dummy, last: boolean): Optional[] {
  return new Pushing(paths, dummy, last).run(tangents);
}
