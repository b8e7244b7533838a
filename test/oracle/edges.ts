// Draws programs of one or two operators on values where derivatives have cases of their own: zeros with their signs,
// ties, the ends of domains, infinities, NaN and numbers below the least normal one. Every leaf has a gradient.
import type { Code, Encoded } from "../conformance/case-types.ts";
import { numelOf } from "../conformance/case-types.ts";
import { isComplexCode } from "../conformance/elements.ts";
import type { Raw } from "../ops/random-run.ts";
import { Drawer, type Operator } from "./draw.ts";
import type { Program } from "./program.ts";

/** What has no values of its own, draws random numbers, or gives what has no derivative. */
export const WITHOUT_EDGES =
  /empty|rand|normal|bernoulli|cauchy|exponential|geometric|uniform|multinomial|dropout|rrelu|multi_head|resize|^set$|cpu|^type$|device|other$|\.to$|indexing|source|as_tuple|is_|^to$|allclose|^equal$|scalar_tensor|^full|new_|space|^arange|_like$|^zeros|^ones|^eye|indices$|^bitwise|^logical|nextafter|isin|count|argsort|topk|kthvalue|^unique/;

const USUAL = [0, 0, -0, 1, -1, 0.5, -0.5, 2, 3, 2, -2, 1.5];
const RARE: Raw[] = ["inf", "-inf", "nan"];
const FIXED: Readonly<Record<string, number[][]>> = {
  addmv: [[3], [3, 2], [2]],
  addbmm: [
    [3, 2],
    [2, 3, 2],
    [2, 2, 2],
  ],
};
const SHAPES = [[3], [4], [2, 3], [2, 2], [3, 3], [], [1], [2, 1], [2, 2, 2]];

export class EdgeDrawer extends Drawer {
  /** How often an element is no number or infinite; the same for a program. */
  private readonly rarely = this.base === "c128" || this.chance(0.5) ? 0 : 0.15;

  protected override baseCode(): Code {
    return this.pick<Code>(["f64", "f64", "f64", "f64", "f32", "c128"]);
  }

  protected override values(dt: Code, n: number, below?: number): Raw[] {
    if (below !== undefined || !/^[fc]/.test(dt)) return super.values(dt, n, below);
    const tiny = dt === "f64" || dt === "c128" ? 5e-324 : 2 ** -149;
    const same = this.pick(USUAL);
    const one = (): number | string => {
      if (this.chance(this.rarely)) return this.pick(RARE) as string;
      if (this.chance(0.02)) return tiny;
      if (this.chance(0.2)) return same;
      return this.chance(0.15) ? this.int(-10, 11) / 4 : this.pick(USUAL);
    };
    return Array.from({ length: n }, () => (isComplexCode(dt) ? [one(), one()] : one())) as Raw[];
  }

  protected override leaf(shape = this.pick(SHAPES), dt?: Code, below?: number): Encoded {
    return super.leaf(shape, dt ?? (below === undefined ? this.base : undefined), below);
  }

  /** Other dtypes round elsewhere than torch, which is no matter of edges. */
  protected override value(op: Operator, name: string, role: string, self: number): Encoded | undefined {
    if (/^Float/.test(role)) return this.pick<Encoded>([{ $f: 0 }, { $f: 0.5 }, { $f: 1 }]);
    return /^DType/.test(role) ? undefined : super.value(op, name, role, self);
  }

  /** Products of fixed sizes, where those drawn seldom fit. */
  protected override tensor(op: Operator, name: string, self: number, shape: number[]): Encoded {
    const sizes = FIXED[op.key]?.[op.args.findIndex(([other]) => other === name)];
    return sizes === undefined ? super.tensor(op, name, self, shape) : this.leaf(sizes);
  }

  protected override number(): Encoded {
    const endless: Encoded[] = this.base === "c128" ? [] : [{ $f: "inf" }, { $f: "-inf" }];
    return this.pick<Encoded>([0, 1, 2, 3, -1, { $f: 0.5 }, { $f: 1.5 }, { $f: -1.5 }, ...endless]);
  }

  protected override sizes(op: Operator, shape: number[]): Encoded | undefined {
    return /layer_norm/.test(op.key) ? shape.slice(-1) : super.sizes(op, shape);
  }

  override draw(): Program {
    this.program.second = true;
    this.leaf();
    for (let n = this.chance(0.3) ? 2 : 1, tries = 0; n > 0 && tries < 30; tries++) {
      const before = { calls: this.program.calls.length, leaves: this.program.leaves.length };
      const more = this.operator();
      if (more === "drawn") n--;
      else {
        this.program.calls.length = before.calls;
        for (const { id } of this.program.leaves.splice(before.leaves)) this.forget(id);
      }
    }
    for (const leaf of this.program.leaves) if (numelOf(leaf.sh) > 0 && /^[fc]/.test(leaf.dt)) leaf.rg = true;
    return this.program;
  }

  private forget(id: number): void {
    this.known.splice(
      this.known.findIndex((k) => k.id === id),
      1,
    );
  }
}
