// Runs an opinfo or error case with every tensor on the meta device and compares what a meta tensor has (shape, dtype,
// layout, aliasing, requires_grad, errors) with what torch's meta device gave (scripts/oracle/make_meta_cases.py).
//
// Expected is what torch says. Where its two devices disagree the cpu's answer passes too, and is noted:
// - both raise, in other words or classes: many of torch's meta functions are written in Python apart from the kernels;
// - only the cpu raises: its meta function forgot the check;
// - the layouts of fresh results differ;
// - it has no meta kernel (NotImplementedError): shape and dtype as on the cpu, or any error of the library.
// Where torch's meta raises anything else, a result is a failure: somebody read data that is not there.
import { readFileSync } from "node:fs";
import { type Any, NoSuchOp } from "./adapter.ts";
import { errorMismatch, hasMethodForm, inPlaceCall, methodCall, plainCall, type Ready } from "./call.ts";
import type { CaseSet } from "./case-set.ts";
import type { Case, Encoded, ErrPair, ErrSpec, TensorDesc } from "./case-types.ts";
import { familyOf, tensorDescs } from "./case-types.ts";
import { compareTensor, Findings } from "./compare.ts";
import { Run } from "./decode.ts";
import { aliasMap, type Context, compareResult, firstLine, pairSpec } from "./run-opinfo.ts";
import type { Outcome, Runner } from "./runner.ts";
import { resultTolerance } from "./tolerances.ts";

/** What torch's meta device does otherwise than the case says; absent fields: the same. */
export interface MetaLine {
  id: string;
  out?: Encoded;
  err?: ErrPair | null;
  merr?: ErrPair | null;
  iperr?: ErrPair | null;
  ip?: TensorDesc;
  dev?: "cpu";
}

/** Reads the lines of a set by case id. */
export function readMetaLines(file: string): Map<string, MetaLine> {
  const lines = new Map<string, MetaLine>();
  for (const text of readFileSync(file, "utf8").split("\n")) {
    if (text === "") continue;
    const line = JSON.parse(text) as MetaLine;
    if (lines.has(line.id)) throw new Error(`${file}: ${line.id} occurs twice`);
    lines.set(line.id, line);
  }
  return lines;
}

/** Families that are replayed on meta; the others look at values. */
export function hasMetaForm(c: Case): boolean {
  return familyOf(c) === "opinfo" || familyOf(c) === "error";
}

interface Form {
  name: string;
  ready: Ready;
  cpu: ErrSpec | undefined;
  /** undefined: raises as on the cpu; null: does not raise. */
  meta: ErrPair | null | undefined;
}

const AS_ON_CPU = "as on the cpu";

/** Checks a thrown error. */
function checkError(ctx: Context, form: Form, e: unknown, f: Findings): void {
  const { name, cpu, meta } = form;
  const mismatch = (want: ErrSpec) => errorMismatch(ctx.adapter, e, want, () => {});
  if (meta?.[0] === "NotImplementedError" && cpu === undefined && ctx.adapter.isLibraryError(e)) return;
  const wrong = meta ? mismatch(pairSpec(meta)) : cpu === undefined ? `raised ${firstLine(e)}` : null;
  if (meta && wrong === null) return;
  if (cpu !== undefined) {
    const other = mismatch(cpu);
    if (other === null) {
      if (meta !== undefined) f.note(`${name}: error ${AS_ON_CPU}`);
      return;
    }
    f.fail(`${name}: ${meta === null ? `raised ${firstLine(e)}, expected no error` : other}`);
    return;
  }
  f.fail(`${name}: ${wrong}`);
}

/** Runs one form; `check` looks at what it returns. */
function runForm(ctx: Context, form: Form, check: (value: unknown) => void, f: Findings): void {
  const { name, cpu, meta } = form;
  let value: unknown;
  try {
    value = form.ready();
  } catch (e) {
    if (e instanceof NoSuchOp) throw e;
    checkError(ctx, form, e, f);
    return;
  }
  const expected = meta === undefined ? cpu && [cpu.got ?? cpu.type, cpu.msg] : meta;
  if (expected && !(cpu === undefined && expected[0] === "NotImplementedError")) {
    f.fail(`${name}: no error, expected ${expected[0]}: ${expected[1]?.split("\n")[0]}`);
    return;
  }
  check(value);
}

/** The same encoded result without contents. */
function withoutContents(v: Encoded): Encoded {
  if (typeof v !== "object" || v === null) return v;
  if (Array.isArray(v)) return v.map(withoutContents);
  if (v.$t) return { $t: { ...v.$t, nv: 1 } };
  return v.$tu ? { $tu: v.$tu.map(withoutContents) } : v;
}

/** A result is torch's on meta or, where the two differ, on the cpu. */
function checkResult(ctx: Context, run: Run, name: string, got: unknown, line: MetaLine, f: Findings): void {
  const wanted = [line.out, run.c.out].filter((v) => v !== undefined);
  const tries = wanted.map((want) => {
    const findings = new Findings();
    const flat = compareResult(ctx, run, name, got, withoutContents(want), aliasMap(run), findings);
    const elsewhere = flat.filter((t) => ctx.adapter.isMeta(t) !== (line.dev === undefined));
    if (elsewhere.length > 0) findings.fail(`${name}: not on ${line.dev ?? "meta"}`);
    return findings;
  });
  const passed = tries.findIndex((t) => t.hard.length === 0);
  if (passed > 0) f.note(`${name}: layout ${AS_ON_CPU}`);
  if (passed < 0) for (const reason of tries[0]?.hard ?? [`${name}: nothing to compare with`]) f.fail(reason);
}

/** Factories that no tensor puts on the device of a run are told so. */
export function placed(c: Case, line: Pick<MetaLine, "out" | "dev"> = {}): Case {
  const fromTensor = [...c.args, ...Object.values(c.kw ?? {})].some((v) => tensorDescs(v).length > 0);
  const makes = tensorDescs(line.out ?? c.out).length > 0 && line.dev === undefined;
  return fromTensor || !makes || c.kw?.device !== undefined ? c : { ...c, kw: { ...c.kw, device: "cpu" } };
}

function runInPlace(ctx: Context, c: Case, line: MetaLine, f: Findings): void {
  const d = tensorDescs(c.args[0])[0] as TensorDesc;
  const run = new Run(ctx.adapter, ctx.set, c, false, "meta");
  const self: Any = run.privateCopy(d);
  const before = ctx.adapter.snapshot(self);
  const want: TensorDesc = line.ip ?? {
    s: 0,
    dt: before.code,
    sh: before.shape,
    st: before.stride,
    off: before.offset,
  };
  const form = { name: "in-place", ready: inPlaceCall(run, self), cpu: c.iperr && pairSpec(c.iperr), meta: line.iperr };
  const check = (value: unknown) => {
    if (value !== self) f.fail("in-place: the result is not self");
    const after = ctx.adapter.snapshot(self);
    const o = { tolerance: resultTolerance(c, want.dt), softStrides: false, isView: true };
    compareTensor("in-place", after, { desc: { ...want, nv: 1 }, bytes: new Uint8Array(0) }, o, f);
  };
  runForm(ctx, form, check, f);
}

function runCase(ctx: Context, c: Case, line: MetaLine, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, "meta");
  const form = { name: "call", ready: plainCall(run), cpu: c.err, meta: line.err };
  runForm(ctx, form, (value) => checkResult(ctx, run, "result", value, line, f), f);
  const first = c.args[0];
  const hasSelf = tensorDescs(first).length > 0 && !Array.isArray(first);
  if ((c.m || c.merr) && hasMethodForm(c) && hasSelf) {
    const again = new Run(ctx.adapter, ctx.set, c, true, "meta");
    const method = { name: "method", ready: methodCall(again), cpu: c.merr && pairSpec(c.merr), meta: line.merr };
    runForm(ctx, method, (value) => checkResult(ctx, again, "method", value, line, f), f);
  }
  if (c.ip || c.iperr) runInPlace(ctx, c, line, f);
}

/** Runs a case on meta. An operator that the library lacks makes a skipped outcome that names it. */
export function runOnMeta(runner: Runner, set: CaseSet, c: Case, line: MetaLine | undefined): Outcome {
  const ctx: Context = { adapter: runner.adapter, set, options: { softStrides: false } };
  const f = new Findings();
  const outcome = (status: Outcome["status"], reasons: string[]): Outcome => ({
    id: c.id,
    op: c.op,
    status,
    reasons,
    soft: f.soft,
  });
  if (line === undefined) return outcome("failed", ["no line of expectations: make them with make_meta_cases.py"]);
  const there = placed(c, line);
  const absent = runner.absent(ctx, there);
  if (absent !== null) return outcome("skipped", [absent]);
  try {
    runCase(ctx, there, line, f);
  } catch (e) {
    f.fail(e instanceof NoSuchOp ? e.message : `runner: ${firstLine(e)}`);
  }
  return outcome(f.hard.length > 0 ? "failed" : "passed", f.hard);
}
