// Draws calls that write where it matters what lies there: into an `out` or in place, into elements that repeat, that
// lie in each other's windows, or that an operand reads as well. Every operator takes its turn.
import type { Any } from "../conformance/adapter.ts";
import type { Code, Encoded } from "../conformance/case-types.ts";
import { numelOf } from "../conformance/case-types.ts";
import { stepCall } from "../conformance/run-program.ts";
import { Drawer, nameOf, type Operator, snake } from "./draw.ts";
import type { Call, Leaf, Program } from "./program.ts";

export const KINDS = ["expanded", "windows", "shifted", "turned", "same", "spread"] as const;
export type Kind = (typeof KINDS)[number];

/** What has no values of its own. */
export const WITHOUT_TARGETS = /^empty|^_|^resize/;

const SHAPES = [[3, 3], [3], [1, 3, 3], [2, 3], [3, 1]];
const DTYPES: Code[] = ["f32", "f32", "f32", "i64", "bool", "f64", "c64"];

interface Made {
  leaves: Leaf[];
  args: Encoded[];
  kw: Record<string, Encoded>;
  /** Shape and dtype of each result. */
  results: { shape: number[]; dt: Code }[];
}

export class TargetDrawer extends Drawer {
  protected override wantsGradient(): boolean {
    return false;
  }

  /** Arguments that an operator takes, drawn until it does; null where none were found. */
  private made(op: Operator): Made | null {
    for (let tries = 0; tries < 300; tries++) {
      this.program.leaves.length = 0;
      this.known.length = 0;
      const drawn = this.required(op);
      if (drawn === null) return null;
      const results = this.resultsOf(op, drawn.args, drawn.kw);
      if (results !== null) return { leaves: [...this.program.leaves], ...drawn, results };
    }
    return null;
  }

  private required(op: Operator): { args: Encoded[]; kw: Record<string, Encoded> } | null {
    const args: Encoded[] = [];
    const kw: Record<string, Encoded> = {};
    const dt = this.pick(DTYPES);
    const shape = this.pick(SHAPES);
    for (const [name, role, fallback, place] of op.args) {
      // Dimensions and bounds that may be left out are given, where the call is another operator's without them.
      const given = fallback === "required" || (/^(Dims?|Scalar|Tensor)\?/.test(role) && this.chance(0.5));
      if (!given) continue;
      const value = this.given(op, name, role, this.chance(0.7) ? shape : this.pick(SHAPES), dt);
      if (value === undefined) return null;
      if (place === "positional" && args.length === op.args.findIndex(([other]) => other === name)) args.push(value);
      else kw[snake(name)] = value;
    }
    return { args, kw };
  }

  private given(op: Operator, name: string, role: string, shape: number[], dt: Code): Encoded | undefined {
    if (name === "value" && role === "Tensor") return this.leaf([], dt);
    if (/space/.test(op.key) && role === "Tensor|Scalar") return this.pick<Encoded>([1, 4]);
    switch (role.replace("?", "")) {
      case "Tensor":
      case "Tensor|Scalar":
        if (/mask|condition/.test(name)) return this.leaf(shape, "bool");
        return this.leaf(shape, /^q$|^p$|std|mean/.test(name) ? "f32" : dt, /^q$|^p$/.test(name) ? 2 : undefined);
      case "Tensor|Index":
        return this.leaf(shape, "i64", 1);
      case "Tensor[]":
        return [this.leaf([2], "i64", 2)];
      case "TensorList":
        return [this.leaf(shape, dt), this.leaf(shape, dt)];
      case "Scalar":
        return name === "from" || name === "start" || name === "low" ? 1 : this.pick<Encoded>([4, 2]);
      case "Int":
        return this.pick([1, 3]);
      case "Float":
        return { $f: 0.5 };
      case "Dim":
        return this.pick([0, 1]);
      case "Dims":
        return [0];
      case "Size":
      case "Sizes":
        return /stride/.test(name) ? [3, 1] : [3, 3];
      case "String":
        if (/_reduce/.test(op.key)) return this.pick(["prod", "amax"]);
        return op.key.startsWith("norm") ? "fro" : this.pick(["add", "multiply"]);
      default:
        return undefined;
    }
  }

  private resultsOf(op: Operator, args: Encoded[], kw: Record<string, Encoded>): Made["results"] | null {
    const list: Any[] = [];
    for (const { id, tensor } of this.known) list[id] = tensor;
    const inPlace = !op.variants.includes("out");
    const [self] = args as { $v?: number }[];
    if (inPlace && self?.$v === undefined) return null;
    const name = nameOf(op) + (inPlace ? "_" : "");
    const step = [null, name, inPlace ? self?.$v : null, inPlace ? args.slice(1) : args, kw] as const;
    try {
      const r = stepCall({ adapter: this.adapter }, { list, run: this.run }, step as never)();
      const all = this.adapter.isTensor(r) ? [r] : [...(r as Iterable<Any>)];
      return all.map((t) => {
        const { shape, code } = this.adapter.snapshot(t);
        return { shape: [...shape], dt: code };
      });
    } catch {
      return null;
    }
  }

  /** A program for each kind of target that this operator's results and operands allow. */
  programs(op: Operator): { kind: string; program: Program }[] {
    const found: { kind: string; program: Program }[] = [];
    const made = this.made(op);
    if (made === null) return found;
    for (const kind of KINDS) {
      for (const form of ["out", "inplace"]) {
        if (!op.variants.includes(form)) continue;
        const program = form === "out" ? this.intoOut(op, made, kind) : this.inPlace(op, made, kind);
        if (program !== null) found.push({ kind: `${form} ${kind}`, program });
      }
    }
    return found;
  }

  private plain(shape: number[], dt: Code): Leaf {
    return { id: this.ids++, dt, sh: shape, values: this.values(dt, numelOf(shape)), rg: false };
  }

  /** Leaves and calls that make a tensor of a kind, by itself or in the place of an operand. */
  private place(kind: Kind, shape: number[], dt: Code): { leaf: Leaf; calls: Call[]; id: number } | null {
    const call = (recv: number, name: string, args: Encoded[]): Call => ({ id: this.ids++, name, recv, args, kw: {} });
    const wide = shape.findIndex((n) => n > 1);
    if (wide < 0) return null;
    let leaf: Leaf;
    let made: Call;
    if (kind === "expanded") {
      leaf = this.plain(shape.with(wide, 1), dt);
      made = call(leaf.id, "expand", [shape]);
    } else if (kind === "windows") {
      if (shape.filter((n) => n > 1).length < 2) return null;
      leaf = this.plain([numelOf(shape)], dt);
      made = call(leaf.id, "as_strided", [shape, shape.map(() => 1)]);
    } else {
      const strides = shape.map((_, d) => 2 * numelOf(shape.slice(d + 1)));
      leaf = this.plain([2 * numelOf(shape)], dt);
      made = call(leaf.id, "as_strided", [shape, strides]);
    }
    return { leaf, calls: [made], id: made.id as number };
  }

  /** Two tensors that read the same memory: one as an operand was, and another of a given shape. */
  private pair(kind: Kind, operand: Leaf, shape: number[]): { leaf: Leaf; calls: Call[]; id: number } | null {
    const call = (recv: number, name: string, args: Encoded[]): Call => ({ id: this.ids++, name, recv, args, kw: {} });
    const n = numelOf(operand.sh);
    if (kind === "same") return { leaf: operand, calls: [], id: operand.id };
    if (kind === "turned") {
      if (operand.sh.length !== 2 || operand.sh[0] !== operand.sh[1] || n < 2) return null;
      const turned = call(operand.id, "t", []);
      return { leaf: operand, calls: [turned], id: turned.id as number };
    }
    if (n < 2 || numelOf(shape) !== n) return null;
    const leaf = this.plain([n + 1], operand.dt);
    leaf.values = [...operand.values, operand.values[0] as never];
    const low = call(leaf.id, "narrow", [0, 0, n]);
    const first: Call = { ...call(low.id as number, "view", [operand.sh]), id: operand.id };
    const high = call(leaf.id, "narrow", [0, 1, n]);
    const second = call(high.id as number, "view", [shape]);
    return { leaf, calls: [low, first, high, second], id: second.id as number };
  }

  private intoOut(op: Operator, made: Made, kind: Kind): Program | null {
    const at = this.int(0, made.results.length);
    const { shape, dt } = made.results[at] as Made["results"][number];
    let leaves = [...made.leaves];
    let target: { leaf: Leaf; calls: Call[]; id: number } | null;
    if (kind === "expanded" || kind === "windows" || kind === "spread") {
      target = this.place(kind, shape, dt);
      if (target !== null) leaves.push(target.leaf);
    } else {
      const operand = leaves.find((leaf) => leaf.dt === dt && (kind !== "same" || String(leaf.sh) === String(shape)));
      if (operand === undefined) return null;
      target = this.pair(kind, operand, shape);
      if (target !== null) leaves = leaves.map((leaf) => (leaf === operand ? (target?.leaf as Leaf) : leaf));
    }
    if (target === null) return null;
    const outs = made.results.map((r, k) => {
      if (k === at) return { $v: target.id };
      const other = this.plain(r.shape, r.dt);
      leaves.push(other);
      return { $v: other.id };
    });
    const out: Encoded = outs.length === 1 ? (outs[0] as Encoded) : outs;
    const last: Call = { id: null, name: nameOf(op), recv: null, args: made.args, kw: { ...made.kw, out } };
    return this.whole(kind, leaves, [...target.calls, last]);
  }

  private inPlace(op: Operator, made: Made, kind: Kind): Program | null {
    const [first, ...rest] = made.args as { $v?: number }[];
    const self = made.leaves.find((leaf) => leaf.id === first?.$v);
    if (self === undefined) return null;
    let leaves = [...made.leaves];
    let args: Encoded[] = rest as Encoded[];
    let calls: Call[];
    let recv = self.id;
    if (kind === "expanded" || kind === "windows" || kind === "spread") {
      const target = this.place(kind, self.sh, self.dt);
      if (target === null) return null;
      leaves = leaves.map((leaf) => (leaf === self ? target.leaf : leaf));
      calls = target.calls;
      recv = target.id;
    } else {
      const at = rest.findIndex((x) => leaves.some((leaf) => leaf.id === x?.$v && leaf.dt === self.dt));
      if (at < 0) return null;
      const pair = this.pair(kind, self, self.sh);
      if (pair === null) return null;
      leaves = leaves.map((leaf) => (leaf === self ? pair.leaf : leaf));
      calls = pair.calls;
      args = args.with(at, { $v: pair.id });
    }
    const last: Call = { id: null, name: `${nameOf(op)}_`, recv, args, kw: made.kw };
    return this.whole(kind, leaves, [...calls, last]);
  }

  private whole(kind: Kind, leaves: Leaf[], calls: Call[]): Program {
    return { leaves, calls, seed: 0, ...(kind === "spread" ? {} : { unordered: true }) };
  }
}
