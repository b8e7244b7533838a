// The only file of the conformance runner that knows the library's API: how tensors are built over raw bytes,
// how torch names map to ours, how scalars, dtypes and indices are spelt, how results are observed.
import type { Code } from "./case-types.ts";

// biome-ignore lint/suspicious/noExplicitAny: the library is looked up by torch names at run time
export type Any = any;
export type Fn = (...args: unknown[]) => unknown;

/** Modules whose classes inputs are made of. */
const ROOMS = ["tensor/complex", "tensor/dtype", "tensor/errors", "tensor/storage", "tensor/tensor"].concat(
  "dispatch/memory-format",
);

/** A case that cannot exist in this language: it is skipped with its reason. */
export class NotApplicable extends Error {}

/** A torch name that the library does not have. */
export class NoSuchOp extends Error {}

/** Our names of dtypes, by the codes of the cases. */
export const DTYPE_NAME: Readonly<Record<Code, string>> = {
  bool: "bool",
  u8: "uint8",
  u16: "uint16",
  u32: "uint32",
  u64: "uint64",
  i8: "int8",
  i16: "int16",
  i32: "int32",
  i64: "int64",
  f16: "float16",
  bf16: "bfloat16",
  f32: "float32",
  f64: "float64",
  c32: "complex32",
  c64: "complex64",
  c128: "complex128",
};
const CODE_OF = new Map(Object.entries(DTYPE_NAME).map(([code, name]) => [name, code as Code]));

/** Everything about a result tensor that a case can state. */
export interface Snapshot {
  code: Code;
  shape: number[];
  stride: number[];
  offset: number;
  bytes: Uint8Array;
  storage: unknown;
  /** Size of the storage, which on meta has no bytes. */
  nbytes: number;
  requiresGrad: boolean;
  gradFn: string | null;
  conj: boolean;
  neg: boolean;
}

/** torch name to ours: `index_put_` is `indexPut_`, dunder names and capitals stay. */
export function camel(name: string): string {
  if (name.startsWith("__")) return name;
  return name.replace(/_+([a-z0-9])/g, (_, c: string) => c.toUpperCase());
}

export class Adapter {
  readonly lib: Any;
  private readonly memory: Any;
  private readonly tensors: Any;

  private constructor(lib: Any, memory: Any, tensors: Any) {
    this.lib = lib;
    this.memory = memory;
    this.tensors = tensors;
  }

  /** Loads the library under test. Inputs are made with its inner classes, so that they depend on no operator. */
  static async load(): Promise<Adapter> {
    const src = new URL("../../src/", import.meta.url).href;
    const lib = await import(`${src}index.ts`);
    const memory = await import(`${src}ffi/memory.ts`);
    const rooms = ROOMS.map((name) => import(`${src}${name}.ts`));
    return new Adapter(lib, memory, Object.assign({}, ...(await Promise.all(rooms))));
  }

  // ---- building values ----

  hasDtype(code: Code): boolean {
    return this.tensors.dtypeByName(DTYPE_NAME[code]) !== undefined;
  }

  dtype(code: Code): unknown {
    const d = this.tensors.dtypeByName(DTYPE_NAME[code]);
    if (d === undefined) throw new NoSuchOp(`no dtype ${DTYPE_NAME[code]}`);
    return d;
  }

  /** A float scalar, whatever its value: only integral ones need the marker. */
  float(x: number): unknown {
    return Number.isInteger(x) && !Object.is(x, -0) ? new this.tensors.Float(x) : x;
  }

  /** An int where a plain number would be read as data of the default dtype. */
  int(x: number | bigint): unknown {
    return new this.tensors.Int(x);
  }

  complex(re: number, im: number): unknown {
    return new this.tensors.Complex(re, im);
  }

  memoryFormat(name: string): unknown {
    return this.tensors[camel(name)] ?? name;
  }

  layout(name: string): unknown {
    return this.lib[camel(name)] ?? name;
  }

  slice(start: unknown, stop: unknown, step: unknown): unknown {
    return this.lib.slice(start, stop, step);
  }

  /** A fresh, writable, resizable storage holding these bytes, small ones in the library's own small form. */
  storage(bytes: Uint8Array): unknown {
    const s = this.tensors.Storage.allocate(bytes.length);
    if (bytes.length > 0) {
      const words = new Float64Array((bytes.length + 7) >> 3);
      new Uint8Array(words.buffer).set(bytes);
      this.memory.copyBytes(s.ptr, this.memory.addressOf(words), bytes.length);
    }
    return s;
  }

  /** A storage on a device that a test has made up. */
  deviceStorage: (bytes: Uint8Array) => unknown = () => {
    throw new Error("no device was made up");
  };

  /** The bytes of such a storage. */
  deviceBytes: (storage: unknown) => Uint8Array = () => {
    throw new Error("no device was made up");
  };
  /** Waits for the device: what kernels find wrong is told then. */
  deviceWait: () => void = () => {};

  /** A storage that has a size and no bytes. */
  metaStorage(nbytes: number): unknown {
    return this.tensors.Storage.meta(nbytes);
  }

  /** A leaf over a storage. */
  tensor(storage: unknown, code: Code, shape: number[], stride: number[], offset: number, conj = false): Any {
    const { Tensor, VersionCounter, isContiguousGeometry } = this.tensors;
    const numel = shape.reduce((p, q) => p * q, 1);
    const dense = isContiguousGeometry(shape, stride);
    const t = new Tensor(storage, offset, shape, stride, this.dtype(code), numel, dense, new VersionCounter());
    return conj ? t.conj().detach() : t;
  }

  requireGrad(t: Any): Any {
    return t.requiresGrad_(true);
  }

  isTensor(x: unknown): boolean {
    return x instanceof this.tensors.Tensor;
  }

  // ---- observing ----

  isMeta(t: Any): boolean {
    return Boolean(t.isMeta);
  }

  /** A copy of a storage's bytes; none of a storage without bytes. */
  bytesOf(storage: unknown): Uint8Array {
    const s = storage as { ptr: number; nbytes: number; kind: string };
    if (s.kind === "device") return this.deviceBytes(storage);
    if (s.kind === "none") return new Uint8Array(0);
    const words = new Float64Array((s.nbytes + 7) >> 3);
    if (s.nbytes > 0) this.memory.copyBytes(this.memory.addressOf(words), s.ptr, s.nbytes);
    return new Uint8Array(words.buffer, 0, s.nbytes);
  }

  /** The storage object of a tensor: the identity that aliases share. */
  storageOf(t: Any): unknown {
    return t._storage;
  }

  snapshot(t: Any): Snapshot {
    const storage = this.storageOf(t);
    const code = CODE_OF.get(t.dtype.name);
    if (code === undefined) throw new Error(`dtype ${t.dtype.name} has no code`);
    return {
      code,
      shape: Array.from(t.shape as number[]),
      stride: Array.from(t.stride() as number[]),
      offset: Number(t.storageOffset()),
      bytes: this.bytesOf(storage),
      storage,
      nbytes: Number((storage as { nbytes: number }).nbytes),
      requiresGrad: Boolean(t.requiresGrad),
      gradFn: this.gradFnName(t),
      conj: typeof t.isConj === "function" && Boolean(t.isConj()),
      neg: typeof t.isNeg === "function" && Boolean(t.isNeg()),
    };
  }

  private gradFnName(t: Any): string | null {
    const node = t.gradFn;
    if (node === null || node === undefined) return null;
    const name = typeof node.name === "function" ? node.name() : node.name;
    return String(name);
  }

  /** A scalar result as [kind, value parts]; null when it is not a scalar. */
  scalar(x: unknown): ["bool" | "number" | "complex" | "str", unknown[]] | null {
    if (typeof x === "boolean") return ["bool", [x]];
    if (typeof x === "number" || typeof x === "bigint") return ["number", [x]];
    if (typeof x === "string") return ["str", [x]];
    if (x instanceof this.tensors.Complex) return ["complex", [(x as Any).re, (x as Any).im]];
    return null;
  }

  version(t: Any): number {
    return Number(t.version);
  }

  isView(t: Any): boolean {
    return Boolean(t.isView());
  }

  isLeaf(t: Any): boolean {
    return Boolean(t.isLeaf);
  }

  text(t: unknown): string {
    return String(t);
  }

  // ---- calling ----

  /** The function of a dotted torch name. */
  fn(name: string): Fn {
    const parts = name.split(".");
    let at: Any = this.lib;
    for (const p of parts.slice(0, -1)) at = at?.[camel(p)];
    const f = at?.[camel(parts[parts.length - 1] as string)];
    if (typeof f !== "function") throw new NoSuchOp(`no such op: ${name}`);
    return (...args) => f.apply(at, args);
  }

  hasFn(name: string): boolean {
    try {
      this.fn(name);
      return true;
    } catch {
      return false;
    }
  }

  /** A bound method of a tensor. */
  method(self: Any, name: string): Fn {
    const f = self?.[camel(name)];
    if (typeof f !== "function") throw new NoSuchOp(`no such method: ${name}`);
    return (...args) => f.apply(self, args);
  }

  /** The reading of a tensor's property. */
  property(self: Any, name: string): () => unknown {
    if (!(name in self)) throw new NoSuchOp(`no such property: ${name}`);
    return () => self[name];
  }

  getItem(x: Any, index: unknown, isTuple: boolean): unknown {
    return isTuple ? x.at(...(index as unknown[])) : x.at(this.listIndex(index));
  }

  setItem(x: Any, index: unknown, isTuple: boolean, value: unknown): void {
    x.setAt(isTuple ? index : this.listIndex(index), value);
  }

  /** Python's list of numbers is an array inside of one here; torch takes a list of lists or slices for a tuple. */
  private listIndex(index: unknown): unknown {
    const isPart = (x: unknown) => typeof x === "number" || typeof x === "bigint" || typeof x === "boolean";
    return Array.isArray(index) && index.every(isPart) ? [index] : index;
  }

  manualSeed(seed: number): void {
    this.lib.manualSeed(seed);
  }

  noGrad<T>(body: () => T): T {
    return this.lib.noGrad(body);
  }

  /** Gradients of outs with respect to ins, null where unused; one backward pass. */
  gradients(outs: unknown[], ins: unknown[], cotangents: unknown[], createGraph = false): unknown[] {
    const grad = this.lib.autograd?.grad ?? this.lib.grad;
    if (typeof grad !== "function") throw new NoSuchOp("no such op: autograd.grad");
    return Array.from(grad(outs, ins, { gradOutputs: cotangents, allowUnused: true, createGraph }) as unknown[]);
  }

  /** The change of a function's result when its arguments change by tangents. */
  change(f: (...args: unknown[]) => unknown, primals: unknown[], tangents: unknown[]): unknown {
    return this.lib.func.jvp(f, primals, tangents)[1];
  }

  backward(t: Any, cotangent: unknown): void {
    t.backward(cotangent);
  }

  resultType(a: unknown, b: unknown): Code {
    const d = this.fn("result_type")(a, b) as { name: string };
    return CODE_OF.get(d.name) ?? (d.name as Code);
  }

  setPrintOptions(options: Record<string, unknown>): void {
    const set = this.lib.setPrintoptions ?? this.lib.setPrintOptions;
    if (typeof set !== "function") throw new NoSuchOp("no such op: set_printoptions");
    set(options);
  }

  /** The instruction set in use. */
  isa(): string {
    return String(this.lib.cpu?.isa?.() ?? "unknown");
  }

  newModule(name: string, args: unknown[]): unknown {
    const ctor = this.lib.nn?.[name];
    if (typeof ctor !== "function") throw new NoSuchOp(`no such op: nn.${name}`);
    return new ctor(...args);
  }

  stateDict(module: Any): [string, unknown][] {
    const d = module.stateDict();
    return d instanceof Map ? [...d.entries()] : Object.entries(d);
  }

  // ---- errors ----

  /** True for an error that the library raised on purpose (not one of the JavaScript engine's). */
  isLibraryError(e: unknown): boolean {
    return e instanceof this.tensors.ZensorError;
  }

  /** Class names of an error, most derived first. */
  errorClasses(e: unknown): string[] {
    const names: string[] = [(e as Error).name];
    for (let p = Object.getPrototypeOf(e); p !== null && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
      names.push(p.constructor.name.replace(/OfZensor$/, ""));
    }
    return names;
  }
}
