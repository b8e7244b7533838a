// Draws random programs: operators from generated/ops.json, arguments from their roles. Each call is run here while it
// is drawn, so that the shapes of results are known; a call that fails ends its program.
import { readFileSync } from "node:fs";
import type { Adapter, Any } from "../conformance/adapter.ts";
import type { Case, Code, Encoded } from "../conformance/case-types.ts";
import { numelOf } from "../conformance/case-types.ts";
import { Run } from "../conformance/decode.ts";
import { isComplexCode } from "../conformance/elements.ts";
import { firstOf, makeLeaf, stepCall } from "../conformance/run-program.ts";
import { bytesOf, type Raw } from "../ops/random-run.ts";
import type { Call, Leaf, Program } from "./program.ts";

type Arg = [name: string, role: string, fallback: string, place: "positional" | "named"];

export interface Operator {
  key: string;
  args: Arg[];
  variants: string[];
  internal: boolean;
}

/** What has no one answer, draws random numbers, or is about storages and not about values. */
const LEFT_OUT =
  /empty|rand|normal|bernoulli|cauchy|exponential|geometric|uniform|multinomial|dropout|rrelu|multi_head|resize|^set$|cpu|^type$|device|sort|topk|arg(max|min)|other$|\.to$|indexing|source|as_tuple|is_|^to$|allclose|^equal$|layer_norm|scalar_tensor|^full$|new_|space|^arange|_like$|^zeros|^ones|^eye|indices$|^index_put$/;
const CODES: Code[] = [
  "f32",
  "f32",
  "f32",
  "f32",
  "f64",
  "f64",
  "i64",
  "i32",
  "u8",
  "i8",
  "i16",
  "bool",
  "f16",
  "bf16",
];
const ALL: Code[] = [...new Set(CODES), "c64", "c128"];
const SHAPES = [[2, 3], [2, 3], [3], [2, 2, 3], [3, 2], [1, 3], [2, 1], [4], [], [0, 3], [1], [3, 3], [5, 1, 2]];
export const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

export function operators(file: string, leftOut = LEFT_OUT): Operator[] {
  const all = JSON.parse(readFileSync(file, "utf8")) as Operator[];
  return all.filter((op) => !op.internal && !op.key.startsWith("_") && !leftOut.test(op.key) && op.args.length > 0);
}

/** Numbers from 0 to 1, the same for a seed. */
export function generatorOf(seed: number): () => number {
  let state = (seed * 0x9e3779b1 + 0x165667b1) | 0;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x3c6ef372;
    const mixed = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** What an operator is called by: its key without the overload. */
export function nameOf(op: Operator): string {
  const namespaces = op.key.startsWith("nn.") ? 2 : /^(linalg|special)\./.test(op.key) ? 1 : 0;
  return op.key
    .split(".")
    .slice(0, namespaces + 1)
    .join(".");
}

interface Known {
  id: number;
  tensor: Any;
}

export class Drawer {
  readonly program: Program = { leaves: [], calls: [] };
  protected readonly known: Known[] = [];
  protected readonly run: Run;
  protected readonly base: Code;
  protected ids = 0;

  constructor(
    protected readonly adapter: Adapter,
    protected readonly ops: readonly Operator[],
    protected readonly random: () => number,
  ) {
    const nothing: Case = { id: "", op: "", args: [], S: [] };
    this.run = new Run(adapter, { cases: [], blob: new Uint8Array(0) }, nothing);
    this.base = this.baseCode();
  }

  protected wantsGradient(): boolean {
    return this.chance(0.6);
  }

  protected baseCode(): Code {
    return this.pick(this.chance(0.1) ? (["c64", "c128"] as Code[]) : CODES);
  }

  protected chance(p: number): boolean {
    return this.random() < p;
  }

  protected int(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from));
  }

  protected pick<T>(list: readonly T[]): T {
    return list[this.int(0, list.length)] as T;
  }

  draw(): Program {
    this.leaf();
    for (let n = this.int(1, 7), tries = 0; n > 0 && tries < 30; tries++) {
      const more = this.chance(0.35) ? this.view() : this.operator();
      if (more === "failed") break;
      if (more === "drawn") n--;
    }
    return this.program;
  }

  protected values(dt: Code, n: number, below?: number): Raw[] {
    const one = (): number => {
      if (below !== undefined) return this.int(0, Math.max(below, 1));
      if (dt === "bool") return this.int(0, 2);
      if (dt === "u8") return this.int(0, 6);
      return dt[0] === "i" ? this.int(-4, 5) : this.int(-10, 11) / 4;
    };
    return Array.from({ length: n }, () => (isComplexCode(dt) ? [one(), one()] : one()));
  }

  protected leaf(shape = this.pick(SHAPES), dt?: Code, below?: number): Encoded {
    const code = dt ?? (this.chance(0.85) ? this.base : this.pick(ALL));
    const rg = below === undefined && /^(f|b?f|c)\d/.test(code) && this.wantsGradient();
    const leaf: Leaf = {
      id: this.ids++,
      dt: code,
      sh: [...shape],
      values: this.values(code, numelOf(shape), below),
      rg,
    };
    const storage = this.adapter.storage(bytesOf(code, leaf.values));
    const run = { adapter: this.adapter, storage: () => storage } as unknown as Run;
    this.program.leaves.push(leaf);
    this.known.push({ id: leaf.id, tensor: makeLeaf(run, { s: 0, dt: code, sh: leaf.sh, ...(rg ? { rg: 1 } : {}) }) });
    return { $v: leaf.id };
  }

  /** The later ones first: they are what the program is about. */
  protected some(): Known {
    return this.chance(0.6) ? (this.known[this.known.length - 1] as Known) : this.pick(this.known);
  }

  protected shapeOf(id: number): number[] {
    return Array.from((this.known.find((k) => k.id === id) as Known).tensor.shape as number[]);
  }

  /** A layout: a view that is no operator of interest by itself. */
  private view(): "drawn" | "failed" | "none" {
    const { id } = this.some();
    const shape = this.shapeOf(id);
    const rank = shape.length;
    const dim = this.int(0, Math.max(rank, 1));
    const size = shape[dim] ?? 1;
    const views: [string, Encoded[]][] = [
      ["transpose", [this.int(-rank, Math.max(rank, 1)), dim]],
      ["narrow", [dim, this.int(0, size + 1) % Math.max(size, 1), Math.min(1, size)]],
      ["unfold", [dim, Math.min(size, 1), 2]],
      ["expand", [[2, ...shape]]],
      ["select", [dim, this.int(0, Math.max(size, 1))]],
      ["unsqueeze", [this.int(0, rank + 1)]],
      ["flip", [[dim]]],
      ["diagonal", []],
      ["as_strided", [[Math.min(size, 2)], [2]]],
    ];
    const [name, args] = this.pick(views);
    return this.perform({ id: this.ids++, name, recv: id, args, kw: {} });
  }

  protected operator(): "drawn" | "failed" | "none" {
    const op = this.pick(this.ops);
    const name = nameOf(op);
    const forms = op.variants.filter((v) => v === "function" || v === "method" || v === "inplace");
    if (forms.length === 0) return "none";
    const form = this.pick(forms);
    const before = { leaves: this.program.leaves.length, known: this.known.length };
    const made = this.arguments(op);
    if (made === null) {
      this.program.leaves.length = before.leaves;
      this.known.length = before.known;
      return "none";
    }
    const [self, ...rest] = made.args;
    const id = (self as { $v?: number } | undefined)?.$v;
    if (form !== "function" && id === undefined) return "none";
    const recv = form === "function" ? null : (id as number);
    const args = form === "function" ? made.args : rest;
    const inPlace = form === "inplace";
    return this.perform({
      id: inPlace ? null : this.ids++,
      name: inPlace ? `${name}_` : name,
      recv,
      args,
      kw: made.kw,
    });
  }

  private arguments(op: Operator): { args: Encoded[]; kw: Record<string, Encoded> } | null {
    const args: Encoded[] = [];
    const kw: Record<string, Encoded> = {};
    let self = -1;
    let placed = true;
    for (const [name, role, fallback, place] of op.args) {
      const needed = fallback === "required";
      const value = needed || this.chance(0.3) ? this.value(op, name, role, self) : undefined;
      if (value === undefined) {
        if (needed) return null;
        placed = false;
      } else if (place === "positional" && placed) args.push(value);
      else kw[snake(name)] = value;
      if (self < 0) self = (value as { $v?: number } | undefined)?.$v ?? -1;
    }
    return { args, kw };
  }

  /** A value for a role; undefined where roles do not tell. */
  protected value(op: Operator, name: string, role: string, self: number): Encoded | undefined {
    const shape = self >= 0 ? this.shapeOf(self) : [];
    const rank = shape.length;
    const dim = (): number => (rank === 0 ? 0 : this.chance(0.04) ? rank : this.int(-rank, rank));
    switch (role) {
      case "Tensor":
      case "Tensor?":
        return this.tensor(op, name, self, shape);
      case "Tensor|Scalar":
        return self >= 0 && this.chance(0.35) ? this.number() : this.tensor(op, name, self, shape);
      case "Tensor|Index":
        return this.leaf(this.chance(0.5) ? shape : [this.int(0, 4)], "i64", Math.min(...shape, 3));
      case "TensorList": {
        const first = this.some();
        return [{ $v: first.id }, { $v: this.chance(0.5) ? first.id : this.some().id }];
      }
      case "Scalar":
      case "Scalar?":
        return this.number();
      case "Dim":
      case "Dim?":
        return dim();
      case "Dims":
      case "Dims?":
        return [...shape.keys()].filter(() => this.chance(0.5));
      case "Size":
      case "Sizes":
      case "Ints":
        return this.sizes(op, shape);
      case "Int":
        return this.int(this.chance(0.1) ? -1 : 0, 4);
      case "Bool":
        return name === "requiresGrad" || name === "sparseGrad" ? undefined : this.chance(0.5);
      case "DType":
      case "DType?":
        return { $dt: this.pick(ALL) };
      case "String?":
        return this.pick(["floor", "trunc"]);
      case "String":
        return name === "reduction" ? this.pick(["mean", "sum", "none"]) : this.pick(["add", "multiply"]);
      default:
        return undefined;
    }
  }

  protected number(): Encoded {
    return this.pick<Encoded>([
      2,
      -1,
      3,
      { $f: 0.5 },
      { $f: 2 },
      { $f: -1.5 },
      true,
      ...(this.chance(0.2) ? [{ $c: [1, 2] }] : []),
    ] as Encoded[]);
  }

  protected tensor(op: Operator, name: string, self: number, shape: number[]): Encoded {
    if (/mask|condition/.test(name)) return this.leaf(self >= 0 ? this.near(shape) : this.pick(SHAPES), "bool");
    if (self < 0) return this.chance(0.85) ? { $v: this.some().id } : this.leaf();
    const last = shape[shape.length - 1] ?? 1;
    if (/^(mm|matmul|addmm)$/.test(op.key)) return this.leaf([last, this.int(1, 4)]);
    if (/^(mv|dot|vdot|inner)$/.test(op.key)) return this.leaf([last]);
    if (op.key === "bmm") return this.leaf([shape[0] ?? 1, last, 2]);
    if (this.chance(0.5)) return { $v: this.some().id };
    return this.leaf(this.near(shape));
  }

  private near(shape: number[]): number[] {
    if (this.chance(0.5)) return shape;
    return this.chance(0.5) ? shape.slice(1) : shape.map((n) => (this.chance(0.5) ? 1 : n));
  }

  protected sizes(op: Operator, shape: number[]): Encoded | undefined {
    if (/^(permute)/.test(op.key)) return [...shape.keys()].sort(() => this.random() - 0.5);
    if (/^flip/.test(op.key)) return [...shape.keys()].filter(() => this.chance(0.5));
    if (/view|reshape/.test(op.key)) return this.pick<Encoded>([[-1], [...shape].reverse(), [1, ...shape]]);
    if (/expand|broadcast/.test(op.key)) return [2, ...shape];
    if (/sum_to_size/.test(op.key)) return shape.map((n) => (this.chance(0.5) ? 1 : n));
    if (/tile|repeat/.test(op.key)) return [...shape.map(() => this.int(0, 3)), 2];
    return undefined;
  }

  /** Runs a call, and keeps it unless its result is no tensor. */
  protected perform(call: Call): "drawn" | "failed" | "none" {
    const list: Any[] = [];
    for (const { id, tensor } of this.known) list[id] = tensor;
    const step = [call.id, call.name, call.recv, call.args, call.kw] as const;
    try {
      const r = firstOf(stepCall({ adapter: this.adapter }, { list, run: this.run }, step as never)());
      if (!this.adapter.isTensor(r) || (r as Any).numel() > 200) return "none";
      if (call.id !== null) this.known.push({ id: call.id, tensor: r });
    } catch {
      this.program.calls.push(call);
      return "failed";
    }
    this.program.calls.push(call);
    return "drawn";
  }
}
