// topk and sort without `stable` pick any of several equal elements: results are checked through the input, not index
// by index.
import type { Any } from "./adapter.ts";
import type { Case, Encoded } from "./case-types.ts";
import { contiguousStrides, tensorDescs } from "./case-types.ts";
import type { Findings } from "./compare.ts";
import { compareTensor } from "./compare.ts";
import { describedBytes, type Run } from "./decode.ts";
import type { Elements } from "./elements.ts";
import { readElements } from "./elements.ts";
import type { Context } from "./run-opinfo.ts";

const EXACT = { exact: true, rtol: 0, atol: 0 };

/** torch leaves the order of equal elements open. */
export function ordersTiesFreely(c: Case): boolean {
  return c.op === "topk" || (c.op === "sort" && c.kw?.stable !== true);
}

function dimOf(run: Run, rank: number): number {
  const d = (run.c.args[run.c.op === "topk" ? 2 : 1] ?? run.c.kw?.dim ?? -1) as number;
  return d < 0 ? d + Math.max(rank, 1) : d;
}

/** Sorts the elements of each line along a dim, so that an unsorted result can be compared. */
function sortLines(e: Elements, shape: number[], dim: number): (number | bigint)[] {
  const st = contiguousStrides(shape);
  const n = shape[dim] ?? 1;
  const step = st[dim] ?? 1;
  const out = Array.from(e as Float64Array) as (number | bigint)[];
  for (let i = 0; i < out.length; i++) {
    if (Math.floor(i / step) % n !== 0) continue;
    const line = Array.from({ length: n }, (_, j) => out[i + j * step] as number | bigint);
    line.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [j, v] of line.entries()) out[i + j * step] = v;
  }
  return out;
}

/** Values equal torch's (as a set when sorted is false); indices are distinct and point at those values. */
export function checkTopk(ctx: Context, run: Run, name: string, got: Any[], f: Findings): void {
  const [dv, di] = tensorDescs(run.c.out as Encoded);
  const input = tensorDescs(run.c.args[0])[0];
  if (!dv || !di || !input) {
    f.fail(`${name}: malformed case`);
    return;
  }
  const [sv, si] = [ctx.adapter.snapshot(got[0]), ctx.adapter.snapshot(got[1])];
  const sorted = run.c.op === "sort" || (run.c.args[4] ?? run.c.kw?.sorted ?? true) !== false;
  const o = { tolerance: EXACT, softStrides: ctx.options.softStrides, isView: false, checkGrad: true };
  if (sorted) {
    if (!compareTensor(`${name}[0]`, sv, { desc: dv, bytes: describedBytes(ctx.set, run.c, dv) }, o, f)) return;
  } else if (!compareTensor(`${name}[0]`, sv, { desc: { ...dv, nv: 1 }, bytes: new Uint8Array(0) }, o, f)) return;
  if (!compareTensor(`${name}[1]`, si, { desc: { ...di, nv: 1 }, bytes: new Uint8Array(0) }, o, f)) return;
  const values = readElements(sv);
  const dim = dimOf(run, input.sh.length);
  const full = (bytes: Uint8Array, d: typeof dv) =>
    readElements({
      code: d.dt,
      shape: d.sh,
      stride: d.st ?? contiguousStrides(d.sh),
      offset: d.off ?? 0,
      bytes,
    });
  if (!sorted) {
    const want = sortLines(full(describedBytes(ctx.set, run.c, dv), dv), dv.sh, dim);
    const have = sortLines(values, dv.sh, dim);
    if (have.some((v, i) => !Object.is(v, want[i]))) f.fail(`${name}[0]: other values than torch's`);
  }
  const source = full(describedBytes(ctx.set, run.c, input), input);
  const indices = readElements(si);
  const [ist, ost] = [contiguousStrides(input.sh), contiguousStrides(dv.sh)];
  const seen = new Set<number>();
  for (let i = 0; i < values.length; i++) {
    let at = 0;
    for (let d = 0; d < input.sh.length; d++) {
      const k = d === dim ? Number(indices[i]) : Math.floor(i / (ost[d] as number)) % (dv.sh[d] as number);
      at += k * (ist[d] as number);
    }
    if (!Object.is(source[at], values[i])) {
      f.fail(`${name}[1]: index ${indices[i]} does not hold value ${values[i]}`);
      return;
    }
    if (input.sh.length > 0 && seen.has(at)) {
      f.fail(`${name}[1]: index ${indices[i]} occurs twice`);
      return;
    }
    seen.add(at);
  }
}
