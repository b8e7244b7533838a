// Programs that are a little smaller than a given one.
import type { Encoded } from "../conformance/case-types.ts";
import { numelOf } from "../conformance/case-types.ts";
import { isComplexCode } from "../conformance/elements.ts";
import type { Raw } from "../ops/random-run.ts";
import { type Leaf, type Program, usedBy } from "./program.ts";

function without(p: Program, at: number): Program | null {
  const { id } = p.calls[at] as { id: number | null };
  const calls = p.calls.filter((_, k) => k !== at);
  const used = calls.some((c) => id !== null && (c.recv === id || [...usedBy(c.args), ...usedBy(c.kw)].includes(id)));
  return used || calls.length === 0 ? null : { ...p, calls };
}

/** A call's result in place of the call: its receiver, or its first argument that is a variable. */
function skipped(p: Program, at: number): Program | null {
  const call = p.calls[at] as Program["calls"][number];
  const [other] = call.recv === null ? usedBy(call.args) : [call.recv];
  if (call.id === null || other === undefined) return null;
  const swap = (v: Encoded): Encoded => {
    if (v === null || typeof v !== "object") return v;
    if (Array.isArray(v)) return v.map(swap);
    return "$v" in v && v.$v === call.id ? { $v: other } : v;
  };
  const calls = p.calls
    .filter((_, k) => k !== at)
    .map((c) => ({
      ...c,
      recv: c.recv === call.id ? other : c.recv,
      args: c.args.map(swap),
      kw: Object.fromEntries(Object.entries(c.kw).map(([k, v]) => [k, swap(v)])),
    }));
  return calls.length === 0 ? null : { ...p, calls };
}

function ofLeaf(p: Program, at: number, change: Partial<Leaf>): Program {
  return { ...p, leaves: p.leaves.map((leaf, k) => (k === at ? { ...leaf, ...change } : leaf)) };
}

function resized({ dt, values }: Leaf, sh: number[]): Partial<Leaf> {
  const zero: Raw = isComplexCode(dt) ? [0, 0] : 0;
  return { sh, values: Array.from({ length: numelOf(sh) }, (_, i) => values[i] ?? zero) };
}

/** Fewer calls first, then fewer and smaller leaves, plainer dtypes, values and options. */
export function* smaller(p: Program): Generator<Program> {
  for (let at = p.calls.length - 1; at >= 0; at--) {
    for (const candidate of [without(p, at), skipped(p, at)]) if (candidate !== null) yield candidate;
  }
  const used = new Set(p.calls.flatMap((c) => [c.recv ?? -1, ...usedBy(c.args), ...usedBy(c.kw)]));
  for (const [at, leaf] of p.leaves.entries()) {
    if (!used.has(leaf.id) && p.leaves.length > 1) yield { ...p, leaves: p.leaves.filter((_, k) => k !== at) };
    if (leaf.rg) yield ofLeaf(p, at, { rg: false });
    for (const d of leaf.sh.keys()) {
      if ((leaf.sh[d] as number) > 1) yield ofLeaf(p, at, resized(leaf, leaf.sh.with(d, (leaf.sh[d] as number) - 1)));
    }
    if (leaf.sh.length > 0) yield ofLeaf(p, at, resized(leaf, leaf.sh.slice(1)));
    if (/^(f16|bf16|f64)$/.test(leaf.dt)) yield ofLeaf(p, at, { dt: "f32" });
    const plain = leaf.values.map((): Raw => (isComplexCode(leaf.dt) ? [1, 1] : 1));
    if (String(plain) !== String(leaf.values)) yield ofLeaf(p, at, { values: plain });
  }
  for (const [at, call] of p.calls.entries()) {
    for (const key of Object.keys(call.kw)) {
      const kw = Object.fromEntries(Object.entries(call.kw).filter(([k]) => k !== key));
      yield { ...p, calls: p.calls.map((c, k) => (k === at ? { ...c, kw } : c)) };
    }
  }
}
