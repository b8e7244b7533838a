// Compares observed tensors with their descriptors. Works on snapshots only, so it needs no library.
import type { Snapshot } from "./adapter.ts";
import type { Code, TensorDesc } from "./case-types.ts";
import { contiguousStrides, numelOf } from "./case-types.ts";
import type { Elements } from "./elements.ts";
import { ITEM_SIZE, isComplexCode, readElements } from "./elements.ts";
import type { Tolerance } from "./tolerances.ts";

/** Collects what is wrong with one case; soft findings never fail it. */
export class Findings {
  readonly hard: string[] = [];
  readonly soft: string[] = [];

  fail(what: string): void {
    this.hard.push(what);
  }
  note(what: string): void {
    this.soft.push(what);
  }
}

function show(x: number | bigint | undefined): string {
  return Object.is(x, -0) ? "-0" : String(x);
}

function sameNumber(a: number | bigint, b: number | bigint): boolean {
  return Object.is(a, b) || (Number.isNaN(a as number) && Number.isNaN(b as number));
}

function near(a: number, b: number, t: Tolerance): boolean {
  if (Object.is(a, b) || a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  return Math.abs(a - b) <= t.atol + t.rtol * Math.abs(b);
}

function nearComplex(a: Elements, b: Elements, i: number, t: Tolerance): boolean {
  const [ar, ai, br, bi] = [a[i], a[i + 1], b[i], b[i + 1]] as [number, number, number, number];
  if ([ar, ai, br, bi].every(Number.isFinite)) {
    return Math.hypot(ar - br, ai - bi) <= t.atol + t.rtol * Math.hypot(br, bi);
  }
  return near(ar, br, t) && near(ai, bi, t);
}

/** Differences of two element lists, worded; null when they agree. */
export function compareElements(got: Elements, want: Elements, code: Code, t: Tolerance): string | null {
  if (got.length !== want.length) return `${got.length} elements, expected ${want.length}`;
  const step = isComplexCode(code) ? 2 : 1;
  let bad = 0;
  let first = -1;
  for (let i = 0; i < got.length; i += step) {
    let ok: boolean;
    if (t.exact) {
      ok = sameNumber(got[i] as number, want[i] as number);
      if (step === 2) ok &&= sameNumber(got[i + 1] as number, want[i + 1] as number);
    } else if (step === 2) ok = nearComplex(got, want, i, t);
    else ok = near(got[i] as number, want[i] as number, t);
    if (ok) continue;
    bad++;
    if (first < 0) first = i;
  }
  if (bad === 0) return null;
  const at = (e: Elements) => (step === 2 ? `${show(e[first])}${"+"}${show(e[first + 1])}j` : show(e[first]));
  return `${bad} of ${got.length / step} values differ, [${first / step}] is ${at(got)}, expected ${at(want)}`;
}

function sameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}

/** Strides that matter: those of dims longer than 1. */
function strideMismatch(got: Snapshot, want: number[]): boolean {
  return got.shape.some((n, i) => n !== 1 && got.stride[i] !== want[i]);
}

export interface Expected {
  desc: TensorDesc;
  /** Contents of the described storage. */
  bytes: Uint8Array;
}

export interface CompareOptions {
  tolerance: Tolerance;
  /** Strides of fresh results: failures, or notes only. */
  softStrides: boolean;
  /** A result on an input's storage: offset and strides always count. */
  isView: boolean;
  checkGrad?: boolean;
  /** Leave layout out altogether (gradients). */
  ignoreLayout?: boolean;
  ignoreDtype?: boolean;
}

function compareLayout(name: string, got: Snapshot, d: TensorDesc, o: CompareOptions, f: Findings): void {
  if (o.ignoreLayout || numelOf(d.sh) === 0) return;
  const want = d.st ?? contiguousStrides(d.sh);
  const say = (s: string) => (o.softStrides && !o.isView ? f.note(s) : f.fail(s));
  if (strideMismatch(got, want)) say(`${name}: strides (${got.stride}), expected (${want})`);
  if (got.offset !== (d.off ?? 0)) say(`${name}: storage offset ${got.offset}, expected ${d.off ?? 0}`);
}

/** Compares one tensor; returns false when shape or dtype already differ. */
export function compareTensor(name: string, got: Snapshot, want: Expected, o: CompareOptions, f: Findings): boolean {
  const d = want.desc;
  if (got.code !== d.dt && !o.ignoreDtype) f.fail(`${name}: dtype ${got.code}, expected ${d.dt}`);
  if (!sameList(got.shape, d.sh)) f.fail(`${name}: shape [${got.shape}], expected [${d.sh}]`);
  if (!sameList(got.shape, d.sh) || (got.code !== d.dt && !o.ignoreDtype)) return false;
  if (!d.nv) compareValues(name, got, want, o.tolerance, f);
  compareLayout(name, got, d, o, f);
  if (o.checkGrad && got.requiresGrad !== (d.rg === 1)) {
    f.fail(`${name}: requires_grad ${got.requiresGrad}, expected ${d.rg === 1}`);
  }
  if (o.checkGrad && !o.ignoreLayout) compareSoft(name, got, want, f);
  return true;
}

function compareValues(name: string, got: Snapshot, want: Expected, t: Tolerance, f: Findings): void {
  const d = want.desc;
  try {
    const a = readElements(got);
    const b = readElements({
      code: d.dt,
      shape: d.sh,
      stride: d.st ?? contiguousStrides(d.sh),
      offset: d.off ?? 0,
      bytes: want.bytes,
      conj: d.cj === 1,
      neg: d.ng === 1,
    });
    const diff = compareElements(a, b, d.dt, t);
    if (diff !== null) f.fail(`${name}: ${diff}`);
  } catch (e) {
    f.fail(`${name}: ${(e as Error).message}`);
  }
}

function compareSoft(name: string, got: Snapshot, want: Expected, f: Findings): void {
  const d = want.desc;
  if ((got.gradFn ?? null) !== (d.gf ?? null)) f.note(`${name}: grad_fn ${got.gradFn}, expected ${d.gf ?? null}`);
  if (!d.nv && d.s >= 0 && got.bytes.length !== want.bytes.length) {
    f.note(`${name}: storage of ${got.bytes.length} bytes, expected ${want.bytes.length}`);
  }
}

/** Whole-storage comparison: exact bytes for data that must be unchanged, element-wise for computed contents. */
export function compareStorage(
  name: string,
  got: Uint8Array,
  want: Uint8Array,
  code: Code,
  t: Tolerance,
): string | null {
  if (got.length !== want.length) return `${name}: storage of ${got.length} bytes, expected ${want.length}`;
  if (got.every((b, i) => b === want[i])) return null;
  const size = ITEM_SIZE[code];
  const n = Math.floor(got.length / size);
  const window = (bytes: Uint8Array) => readElements({ code, shape: [n], stride: [1], offset: 0, bytes });
  const diff = compareElements(window(got), window(want), code, t);
  return diff === null ? null : `${name}: storage contents: ${diff}`;
}

/** Remembers which storage each described `s` turned out to be. */
export class AliasMap {
  private readonly known = new Map<number, unknown>();
  private readonly inputs = new Map<unknown, number>();

  addInput(s: number, storage: unknown): void {
    if (s < 0) return;
    this.known.set(s, storage);
    this.inputs.set(storage, s);
  }

  isInput(s: number): boolean {
    const st = this.known.get(s);
    return st !== undefined && this.inputs.has(st);
  }

  /** Checks that a result lives where its descriptor says. */
  check(name: string, s: number, got: Snapshot, f: Findings): void {
    if (s < 0 || got.nbytes === 0) return;
    const want = this.known.get(s);
    if (want !== undefined) {
      if (want !== got.storage) {
        f.fail(`${name}: ${this.inputs.has(want) ? `not a view of input storage ${s}` : "does not share its storage"}`);
      }
      return;
    }
    const input = this.inputs.get(got.storage);
    if (input !== undefined) f.fail(`${name}: shares input storage ${input}, expected fresh memory`);
    this.known.set(s, got.storage);
  }
}
