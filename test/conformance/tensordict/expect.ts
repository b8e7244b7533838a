// Compares what a call gave, and what its arguments are afterwards, with what the case says.
import * as z from "../../../src/index.ts";
import { Float, Int } from "../../../src/tensor/complex.ts";
import { Collection } from "../../../src/tensordict/core/state.ts";
import type { Adapter, Any, Snapshot } from "../adapter.ts";
import { AliasMap, compareTensor, type Findings } from "../compare.ts";
import { floatPart } from "../decode.ts";
import { resultTolerance } from "../tolerances.ts";
import type { CollectionDesc, Encoded, TdCase, TdCaseSet, TensorDesc } from "./case.ts";
import type { Scene } from "./scene.ts";

function word(x: unknown): string {
  if (x instanceof Collection) return `a ${x._className}`;
  const text = typeof x === "string" ? JSON.stringify(x) : String(x);
  return text.length > 90 ? `${text.slice(0, 90)}…` : text;
}

const isObject = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null;

export class Expectation {
  readonly aliases = new AliasMap();

  constructor(
    private readonly adapter: Adapter,
    private readonly set: TdCaseSet,
    private readonly c: TdCase,
    private readonly scene: Scene,
    private readonly f: Findings,
  ) {
    for (const [s, storage] of scene.storages) this.aliases.addInput(s, storage);
  }

  /** A value, at a place that is named in findings. */
  value(at: string, got: unknown, want: Encoded): void {
    if (want === null) {
      if (got !== null && got !== undefined) this.f.fail(`${at}: ${word(got)}, expected nothing`);
    } else if (typeof want === "number") this.number(at, got, want);
    else if (typeof want !== "object") {
      if (got !== want) this.f.fail(`${at}: ${word(got)}, expected ${word(want)}`);
    } else if (Array.isArray(want)) this.list(at, got, want);
    else this.tagged(at, got, want);
  }

  private number(at: string, got: unknown, want: number): void {
    const plain = got instanceof Int || got instanceof Float ? got.value : got;
    const value = typeof plain === "bigint" ? Number(plain) : plain;
    const same = Object.is(value, want) || value === want || (Number.isNaN(want) && Number.isNaN(value));
    if (!same) this.f.fail(`${at}: ${word(got)}, expected ${want}`);
  }

  private list(at: string, got: unknown, want: Encoded[]): void {
    const iterable =
      isObject(got) && Symbol.iterator in got && !(got instanceof Collection) && !(got instanceof z.Tensor);
    if (!iterable) {
      this.f.fail(`${at}: ${word(got)}, expected a list of ${want.length}`);
      return;
    }
    const items = [...(got as unknown as Iterable<unknown>)];
    if (items.length !== want.length) this.f.fail(`${at}: ${items.length} items, expected ${want.length}`);
    for (const [i, one] of want.entries()) if (i < items.length) this.value(`${at}[${i}]`, items[i], one);
  }

  private tagged(at: string, got: unknown, want: Encoded): void {
    const tag = Object.keys(want)[0] as string;
    const x = want[tag];
    switch (tag) {
      case "$t":
        this.tensor(at, got, x);
        return;
      case "$td":
        this.collection(at, got, x);
        return;
      case "$ref":
        if (got !== this.scene.objects.get(x)) this.f.fail(`${at}: ${word(got)}, expected the very object ${x}`);
        return;
      case "$f":
        this.number(at, got, floatPart(x));
        return;
      case "$tu":
      case "$sz":
      case "$it":
        this.list(at, got, x);
        return;
      case "$d":
        this.pairs(at, got, x);
        return;
      case "$nt":
        this.pairs(at, got, x);
        return;
      case "$dt":
        if (got !== this.adapter.dtype(x)) this.f.fail(`${at}: ${word(got)}, expected the dtype ${x}`);
        return;
      case "$dev":
        if (String(got) !== x) this.f.fail(`${at}: ${word(got)}, expected the device ${x}`);
        return;
      case "$ty":
        if ((got as Any)?.name !== x) this.f.fail(`${at}: ${word(got)}, expected the type ${x}`);
        return;
      case "$np":
        this.array(at, got, x);
        return;
      case "$set":
        this.list(at, isObject(got) ? [...(got as unknown as Iterable<unknown>)].sort() : got, x);
        return;
      default:
        if (!Bun.deepEquals(got, this.scene.value(want)))
          this.f.fail(`${at}: ${word(got)}, expected ${JSON.stringify(want)}`);
    }
  }

  /** What Python has as a NumPy array is a tensor or a typed array here. */
  private array(at: string, got: unknown, want: TensorDesc): void {
    if (got instanceof z.Tensor || !ArrayBuffer.isView(got)) {
      this.tensor(at, got, want);
      return;
    }
    const array = z.fromTypedArray(got as Float32Array).reshape(want.sh);
    // An array over the memory of an input is a view of it.
    const input = this.aliases.isInput(want.s)
      ? [...this.scene.storages.values()].find((one) => (one as Any).buffer() === got.buffer)
      : undefined;
    const place = got.byteOffset / array.dtype.itemsize;
    this.tensor(
      at,
      input === undefined ? array : this.adapter.tensor(input, want.dt, want.sh, [...array.stride()], place),
      want,
    );
  }

  private pairs(at: string, got: unknown, want: [Encoded, Encoded][]): void {
    if (!isObject(got) || got instanceof Collection) {
      this.f.fail(`${at}: ${word(got)}, expected a dictionary`);
      return;
    }
    const entries = got instanceof Map ? [...got] : Object.entries(got);
    this.inOrder(at, entries, want);
  }

  private inOrder(at: string, got: [unknown, unknown][], want: [Encoded, Encoded][]): void {
    const [keys, wanted] = [got.map(([key]) => String(key)), want.map(([key]) => String(this.scene.value(key)))];
    if (keys.join("\0") !== wanted.join("\0")) {
      this.f.fail(`${at}: keys [${keys}], expected [${wanted}]`);
      if ([...keys].sort().join("\0") !== [...wanted].sort().join("\0")) return;
    }
    for (const [i, [, one]] of want.entries()) {
      const found = got.find(([key]) => String(key) === wanted[i]);
      this.value(`${at}.${wanted[i]}`, found?.[1], one);
    }
  }

  private tensor(at: string, got: unknown, want: TensorDesc): void {
    if (!(got instanceof z.Tensor)) {
      this.f.fail(`${at}: ${word(got)}, expected a tensor`);
      return;
    }
    const snapshot = this.adapter.snapshot(got) as Snapshot;
    const isView = this.aliases.isInput(want.s);
    const options = {
      tolerance: resultTolerance({ op: this.c.m.replace(/^torch\./, ""), dt: want.dt } as Any, want.dt),
      softStrides: false,
      isView,
      checkGrad: false,
      ignoreLayout: want.sh.includes(0),
    };
    const desc = this.c.rand && !isView ? { ...want, nv: 1 as const } : want;
    compareTensor(at, snapshot, { desc, bytes: this.bytesOf(want.s) }, options, this.f);
    if (snapshot.requiresGrad !== (want.rg === 1)) this.f.fail(`${at}: requires_grad ${snapshot.requiresGrad}`);
    if (got instanceof z.nn.Buffer !== (want.bf === 1)) this.f.fail(`${at}: ${want.bf ? "no" : "a"} buffer`);
    const isParameter = (z as Any).nn.Parameter !== undefined && got instanceof (z as Any).nn.Parameter;
    if (isParameter !== (want.pa === 1)) this.f.fail(`${at}: ${isParameter ? "a" : "no"} parameter`);
    if (got instanceof z.UnbatchedTensor !== (want.ub === 1)) this.f.fail(`${at}: ${word(got.constructor.name)}`);
    if (!want.sh.includes(0)) this.aliases.check(at, want.s, snapshot, this.f);
  }

  /** The contents that a storage of the case has afterwards. */
  private bytesOf(s: number): Uint8Array {
    if (s < 0) return new Uint8Array(0);
    return this.set.bytes(this.c, this.c.pb?.[s] ?? s);
  }

  private collection(at: string, got: unknown, want: CollectionDesc): void {
    if (!(got instanceof Collection)) {
      this.f.fail(`${at}: ${word(got)}, expected a ${want.c}`);
      return;
    }
    if (want["#"] !== undefined && this.scene.objects.get(want["#"]) !== got) this.f.fail(`${at}: another object`);
    if (got._className !== want.c.replace(/^@/, "")) {
      this.f.fail(`${at}: a ${got._className}, expected a ${want.c}`);
      return;
    }
    if (want.c.startsWith("@") && want.td?.$ref !== undefined) {
      this.around(at, got, this.scene.objects.get(want.td.$ref) as Collection);
      return;
    }
    const inner = want.td === undefined || want.c === "TensorDictParams" ? undefined : (want.td.$td as CollectionDesc);
    if (inner?.m !== undefined) {
      this.value(`${at}.td`, (got as Any)._source, want.td as Encoded);
      return;
    }
    if (inner !== undefined) {
      this.common(at, got, { ...inner, lk: inner.lk ?? want.lk });
      this.entries(at, got, inner.e ?? []);
      return;
    }
    if (want.td !== undefined) {
      this.value(`${at}.td`, (got as Any)._wrapped, want.td);
      if (got._locked !== (want.lk === 1)) this.f.fail(`${at}: ${got._locked ? "locked" : "not locked"}`);
      return;
    }
    this.common(at, got, want);
    if (want.m !== undefined) this.members(at, got, want);
    else if ("v" in want) this.value(`${at}.data`, (got as Any).data, want.v);
    else this.entries(at, got, want.e ?? []);
  }

  /** An object of a class has the entries of the collection that it was made around. */
  private around(at: string, got: Collection, of: Collection): void {
    if ((got as Any)._source === of) return;
    const [keys, wanted] = [[...got._keys()], [...of._keys()]];
    if (`${keys}` !== `${wanted}`) this.f.fail(`${at}: keys [${keys}], expected [${wanted}]`);
    for (const key of wanted) {
      if (got._own(key) !== of._own(key)) this.f.fail(`${at}.${key}: another object`);
    }
    if (`${got._batchSize}` !== `${of._batchSize}`) this.f.fail(`${at}: batch size ${got._batchSize}`);
  }

  private entries(at: string, got: Collection, want: [Encoded, Encoded][]): void {
    const keys = [...got._keys()];
    this.inOrder(
      at,
      keys.map((key) => [key, got._own(key)]),
      want,
    );
  }

  private members(at: string, got: Collection, want: CollectionDesc): void {
    const dim = (got as Any).stackDim;
    if (dim !== want.sd) this.f.fail(`${at}: stacked along ${dim}, expected ${want.sd}`);
    const members = (got as Any).tensordicts as unknown[];
    if (members.length !== want.m?.length) this.f.fail(`${at}: ${members.length} members, expected ${want.m?.length}`);
    for (const [i, one] of (want.m ?? []).entries()) if (i < members.length) this.value(`${at}<${i}>`, members[i], one);
  }

  private common(at: string, got: Collection, want: CollectionDesc): void {
    const td = got as Any;
    const size = [...got._batchSize];
    if (`${size}` !== `${want.bs}`) this.f.fail(`${at}: batch size [${size}], expected [${want.bs}]`);
    const device = td.device === null || td.device === undefined ? undefined : String(td.device);
    if (device !== want.dev && want.m === undefined) this.f.fail(`${at}: device ${device}, expected ${want.dev}`);
    const names = got._names === null ? undefined : JSON.stringify(got._names);
    const wanted = want.n === undefined ? undefined : JSON.stringify(want.n);
    if (names !== wanted && want.m === undefined) this.f.fail(`${at}: names ${names}, expected ${wanted}`);
    if (got._locked !== (want.lk === 1)) this.f.fail(`${at}: ${got._locked ? "locked" : "not locked"}`);
  }

  /** Storages of the inputs keep their bytes, unless the case says what they have then. */
  storages(): void {
    for (const [s, storage] of this.scene.storages) {
      const [got, want] = [this.adapter.bytesOf(storage), this.bytesOf(s)];
      if (got.length !== want.length || got.some((byte, i) => byte !== want[i])) {
        if (this.c.pb?.[s] !== undefined && this.c.rand) continue;
        if (!this.isResult(s, got, want)) this.f.fail(`input storage ${s} has other bytes`);
      }
    }
  }

  /** Whether a storage of `out` has a result of a mathematical function, as exact as such a result has to be. */
  private isResult(s: number, got: Uint8Array, want: Uint8Array): boolean {
    const out = JSON.stringify(this.c.kw?.out ?? null);
    if (got.length !== want.length || !out.includes(`{"s":${s},"dt":"f32"`)) return false;
    const { rtol, atol } = resultTolerance({ op: this.c.m.replace(/^torch\./, ""), dt: "f32" } as Any, "f32");
    const [own, other] = [got, want].map((bytes) => new Float32Array(bytes.slice().buffer)) as [
      Float32Array,
      Float32Array,
    ];
    return own.every((x, i) => Object.is(x, other[i]) || Math.abs(x - other[i]!) <= atol + rtol * Math.abs(other[i]!));
  }
}
