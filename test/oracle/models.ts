// Draws programs about the operators of models, whose arguments have to fit each other: images and filters, tables and
// indices, scores and targets. Some of the arguments are wrong on purpose; what follows is drawn as anywhere.
import type { Code, Encoded } from "../conformance/case-types.ts";
import { Drawer } from "./draw.ts";

interface Made {
  name: string;
  args: Encoded[];
  kw?: Record<string, Encoded>;
}

const F = (name: string): string => `nn.functional.${name}`;
const ACTIVATIONS = [
  ..."gelu silu mish softplus elu selu celu hardswish hardsigmoid hardtanh".split(" "),
  ..."leaky_relu logsigmoid softsign tanhshrink hardshrink softshrink relu6 glu".split(" "),
];
const REDUCTIONS = ["mean", "sum", "none"];

export class ModelDrawer extends Drawer {
  protected override baseCode(): Code {
    return this.pick<Code>(["f32", "f32", "f32", "f64", "f64", "f64", "bf16", "f16", "i64", "c64"]);
  }

  /** A leaf of a shape, seldom of another one, often a view that is not contiguous. */
  private of(...sizes: number[]): Encoded {
    const shape = this.chance(0.04) ? sizes.map((n) => (this.chance(0.3) ? n + 1 : n)) : sizes;
    const rank = shape.length;
    if (rank < 2 || this.chance(0.6)) return this.leaf(shape, this.base);
    const [a, b] = [this.int(0, rank), this.int(0, rank)];
    const swapped = [...shape];
    [swapped[a], swapped[b]] = [shape[b] as number, shape[a] as number];
    const { $v: id } = this.leaf(swapped, this.base) as { $v: number };
    const view = { id: this.ids++, name: "transpose", recv: id, args: [a, b], kw: {} };
    return this.perform(view) === "drawn" ? { $v: view.id } : { $v: id };
  }

  private indices(shape: number[], below: number): Encoded {
    return this.leaf(shape, "i64", below);
  }

  private maybe(value: () => Encoded, chance = 0.5): Encoded {
    return this.chance(chance) ? value() : null;
  }

  /** One number for all dimensions, or one for each. */
  private each(d: number, from: number, to: number): Encoded {
    return this.chance(0.5) ? this.int(from, to) : Array.from({ length: d }, () => this.int(from, to));
  }

  private image(d: number, channels: number, size = () => this.int(2, 6)): Encoded {
    const batch = this.chance(0.8) ? [this.int(this.chance(0.1) ? 0 : 1, 3)] : [];
    return this.of(...batch, channels, ...Array.from({ length: d }, size));
  }

  private convolution(): Made {
    const d = this.pick([1, 2, 2, 3]);
    const groups = this.pick([1, 1, 2, 3]);
    const [inner, outer] = [groups * this.int(1, 3), groups * this.int(1, 3)];
    const kernel = Array.from({ length: d }, () => this.int(1, 4));
    const input = this.image(d, inner);
    if (this.chance(0.35)) {
      const weight = this.of(inner, outer / groups, ...kernel);
      const args = [input, weight, this.maybe(() => this.of(outer)), this.each(d, 1, 3), this.each(d, 0, 3)];
      return {
        name: F(`conv_transpose${d}d`),
        args: [...args, this.each(d, 0, 2), this.chance(0.05) ? groups + 1 : groups, this.each(d, 1, 3)],
      };
    }
    const weight = this.of(outer, inner / groups, ...kernel);
    const padding = this.chance(0.15) ? this.pick(["same", "valid"]) : this.each(d, this.chance(0.05) ? -1 : 0, 3);
    const stride = padding === "same" && this.chance(0.9) ? 1 : this.each(d, 1, 3);
    const args = [input, weight, this.maybe(() => this.of(outer)), stride, padding, this.each(d, 1, 3)];
    return { name: F(`conv${d}d`), args: [...args, this.chance(0.05) ? groups + 1 : groups] };
  }

  private pooling(): Made {
    const d = this.pick([1, 2, 2, 3]);
    const input = this.image(d, this.int(1, 3));
    if (this.chance(0.3)) {
      const size = (): Encoded => (this.chance(0.1) ? null : this.int(1, 5));
      const sizes = this.chance(0.4) ? this.int(1, 5) : Array.from({ length: d }, size);
      return { name: F(`adaptive_${this.pick(["avg", "max"])}_pool${d}d`), args: [input, sizes] };
    }
    const kernel = this.each(d, 1, 4);
    const stride = this.maybe(() => this.each(d, 1, 3));
    const args = [input, kernel, stride, this.chance(0.5) ? 0 : this.each(d, 0, 2)];
    if (this.chance(0.5)) {
      return { name: F(`max_pool${d}d`), args: [...args, this.each(d, 1, 3)], kw: { ceil_mode: this.chance(0.4) } };
    }
    const divisor = d > 1 ? [this.maybe(() => this.int(1, 5), 0.2)] : [];
    return { name: F(`avg_pool${d}d`), args: [...args, this.chance(0.4), this.chance(0.5), ...divisor] };
  }

  private padding(): Made {
    const mode = this.pick(["constant", "reflect", "replicate", "circular"]);
    const d = this.int(1, 4);
    const input = this.image(d, this.int(1, 3));
    const pad = Array.from({ length: 2 * d }, () => this.int(this.chance(0.2) ? -1 : 0, 3));
    return {
      name: F("pad"),
      args: [input, pad, mode, ...(mode === "constant" && this.chance(0.5) ? [{ $f: 1.5 }] : [])],
    };
  }

  private resizing(): Made {
    const d = this.pick([1, 2, 2, 3]);
    const kinds = [["linear"], ["bilinear", "bicubic"], ["trilinear"]][d - 1] as string[];
    const mode = this.pick(["nearest", "nearest-exact", "area", ...kinds, ...kinds]);
    const input = this.of(this.int(1, 3), this.int(1, 3), ...Array.from({ length: d }, () => this.int(1, 6)));
    const how: Record<string, Encoded> = this.chance(0.5)
      ? { size: this.each(d, 1, 8) }
      : { scale_factor: { $f: this.pick([0.5, 1.5, 2, 2.3]) } };
    if (kinds.includes(mode) && this.chance(0.6)) how.align_corners = this.chance(0.5);
    return { name: F("interpolate"), args: [input], kw: { ...how, mode } };
  }

  private norm(): Made {
    const c = this.pick([2, 4, 6]);
    const affine = (...sizes: number[]): Encoded => this.maybe(() => this.of(...sizes));
    switch (this.int(0, 5)) {
      case 0: {
        const sizes = this.chance(0.5) ? [c] : [this.int(1, 4), c];
        const weights = [affine(...sizes), affine(...sizes)];
        return { name: F("layer_norm"), args: [this.of(this.int(1, 4), ...sizes), sizes, ...weights] };
      }
      case 1:
        return { name: F("rms_norm"), args: [this.of(this.int(1, 4), c), [c], affine(c)] };
      case 2:
        return {
          name: F("group_norm"),
          args: [this.image(this.int(0, 3), c), this.pick([1, 2, 3]), affine(c), affine(c)],
        };
      case 3:
        return { name: F("instance_norm"), args: [this.of(2, c, 3), null, null, affine(c), affine(c)] };
      default:
        return { name: F("batch_norm"), args: [this.of(this.int(1, 4), c, 2), null, null, affine(c), affine(c), true] };
    }
  }

  private attention(): Made {
    const [b, h, l, s, e] = [this.int(1, 3), this.pick([1, 2]), this.int(1, 5), this.int(1, 6), this.pick([1, 4, 5])];
    const causal = this.chance(0.3);
    const mask = this.maybe(() => (this.chance(0.5) ? this.leaf([l, s], "bool") : this.of(l, s)), causal ? 0.05 : 0.5);
    const args = [this.of(b, h, l, e), this.of(b, h, s, e), this.of(b, h, s, this.chance(0.8) ? e : e + 1), mask];
    const kw: Record<string, Encoded> = this.chance(0.3) ? { scale: { $f: 0.5 } } : {};
    return { name: F("scaled_dot_product_attention"), args: [...args, { $f: 0 }, causal], kw };
  }

  private classes(): Made {
    const [n, c] = [this.int(1, 4), this.int(1, 5)];
    const more = this.chance(0.3) ? [this.int(1, 3)] : [];
    const reduction = this.pick(REDUCTIONS);
    const weight = this.maybe(() => this.of(c), 0.3);
    if (this.chance(0.3)) {
      const target = this.indices([n, ...more], this.chance(0.05) ? c + 1 : c);
      return { name: F("nll_loss"), args: [this.of(n, c, ...more), target, weight], kw: { reduction } };
    }
    const target = this.chance(0.3)
      ? this.of(n, c, ...more)
      : this.indices([n, ...more], this.chance(0.05) ? c + 1 : c);
    const kw: Record<string, Encoded> = { reduction };
    if (this.chance(0.3)) kw.label_smoothing = { $f: this.pick([0.1, 0.5]) };
    if (this.chance(0.3)) kw.ignore_index = this.int(0, 2);
    return { name: F("cross_entropy"), args: [this.of(n, c, ...more), target, weight], kw };
  }

  private loss(): Made {
    const sizes = this.pick([[3], [2, 3], [2, 1, 3], []]);
    const pair = (): Encoded[] => [this.of(...sizes), this.of(...sizes)];
    const kw: Record<string, Encoded> = { reduction: this.pick(REDUCTIONS) };
    switch (this.int(0, 12)) {
      case 0: {
        const { $v: id } = this.of(...sizes) as { $v: number };
        const inside = { id: this.ids++, name: "sigmoid", recv: id, args: [], kw: {} };
        this.perform(inside);
        return { name: F("binary_cross_entropy"), args: [{ $v: inside.id }, this.leaf(sizes, this.base, 2)], kw };
      }
      case 1: {
        if (this.chance(0.3)) kw.pos_weight = this.of(...sizes.slice(-1));
        return { name: F("binary_cross_entropy_with_logits"), args: pair(), kw };
      }
      case 2:
        return { name: F("kl_div"), args: pair(), kw: { ...kw, log_target: this.chance(0.5) } };
      case 3:
        return { name: F("poisson_nll_loss"), args: [...pair(), this.chance(0.5), this.chance(0.5)], kw };
      case 4:
        return { name: F("gaussian_nll_loss"), args: [...pair(), { $f: 1.5 }, this.chance(0.5)], kw };
      case 5:
        return { name: F("smooth_l1_loss"), args: pair(), kw: { ...kw, beta: { $f: this.pick([0.5, 1, 0]) } } };
      case 6:
        return { name: F("huber_loss"), args: pair(), kw: { ...kw, delta: { $f: this.pick([0.5, 1]) } } };
      case 7:
        return {
          name: F(this.pick(["l1_loss", "mse_loss", "soft_margin_loss", "hinge_embedding_loss"])),
          args: pair(),
          kw,
        };
      case 8: {
        const target = this.leaf([3], this.base, 2);
        return { name: F("cosine_embedding_loss"), args: [this.of(3, 4), this.of(3, 4), target], kw };
      }
      case 9: {
        const three = [this.of(3, 4), this.of(3, 4), this.of(3, 4)];
        return { name: F("triplet_margin_loss"), args: three, kw: { ...kw, swap: this.chance(0.5) } };
      }
      case 10:
        return { name: F("margin_ranking_loss"), args: [...pair(), this.leaf(sizes, this.base, 2)], kw };
      default:
        return { name: F("multilabel_soft_margin_loss"), args: [this.of(2, 3), this.leaf([2, 3], this.base, 2)], kw };
    }
  }

  private table(): Made {
    const [rows, width] = [this.int(1, 5), this.int(1, 4)];
    const below = this.chance(0.04) ? rows + 1 : rows;
    const shape = this.pick([[3], [2, 3], [0], []]);
    switch (this.int(0, 4)) {
      case 0: {
        const kw: Record<string, Encoded> = { mode: this.pick(["sum", "mean", "max"]) };
        const flat = this.chance(0.4);
        const given = flat
          ? [this.indices([4], below), this.of(rows, width)]
          : [this.indices([2, 3], below), this.of(rows, width)];
        if (flat) {
          const { $v: id } = this.indices([2], 4) as { $v: number };
          const sorted = { id: this.ids++, name: "cumsum", recv: id, args: [0], kw: {} };
          this.perform(sorted);
          given.push({ $v: sorted.id });
        } else if (kw.mode === "sum" && this.chance(0.4)) kw.per_sample_weights = this.of(2, 3);
        if (this.chance(0.2)) kw.padding_idx = this.int(-1, rows);
        return { name: F("embedding_bag"), args: given, kw };
      }
      case 1:
        return { name: F("one_hot"), args: [this.indices(shape, below), this.pick([-1, rows])] };
      case 2:
        return {
          name: F("bilinear"),
          args: [this.of(2, 3), this.of(2, 4), this.of(width, 3, 4), this.maybe(() => this.of(width))],
        };
      default: {
        const kw: Record<string, Encoded> = {};
        if (this.chance(0.3)) kw.padding_idx = this.int(-rows, rows);
        if (this.chance(0.2)) kw.scale_grad_by_freq = true;
        return { name: F("embedding"), args: [this.indices(shape, below), this.of(rows, width)], kw };
      }
    }
  }

  private contraction(): Made {
    const [i, j, k, b] = [this.int(1, 4), this.int(1, 4), this.int(1, 4), this.int(1, 3)];
    switch (this.int(0, 5)) {
      case 0:
        return { name: "tensordot", args: [this.of(i, j, k), this.of(j, k, b), 2] };
      case 1: {
        const p = this.pick<Encoded>([{ $f: 2 }, { $f: 1 }, { $f: 3 }, { $f: "inf" }, { $f: 0 }]);
        return { name: "cdist", args: [this.of(b, i, k), this.of(b, j, k), p] };
      }
      case 2:
        return { name: F(this.pick(["cosine_similarity", "pairwise_distance"])), args: [this.of(i, j), this.of(i, j)] };
      case 3:
        return { name: F("linear"), args: [this.of(b, i, j), this.of(k, j), this.maybe(() => this.of(k))] };
      default: {
        const [equation, ...shapes] = this.pick<[string, ...number[][]]>([
          ["ij,jk->ik", [i, j], [j, k]],
          ["bij,bjk->bki", [b, i, j], [b, j, k]],
          ["ii->i", [i, i]],
          ["...ij,...jk", [b, i, j], [j, k]],
          ["ij,kj,k", [i, j], [k, j], [k]],
          ["i,j->ij", [i], [j]],
          ["ij->", [i, j]],
          ["ibj,jk->bk", [i, b, j], [j, k]],
        ]);
        return { name: "einsum", args: [equation, shapes.map((shape) => this.of(...shape))] };
      }
    }
  }

  private gathering(): Made {
    const [n, m] = [this.int(1, 4), this.int(1, 5)];
    const reduce = this.pick(["sum", "prod", "mean", "amax", "amin"]);
    const kw = { include_self: this.chance(0.5) };
    if (this.chance(0.5)) {
      return { name: "scatter_reduce", args: [this.of(n, m), 0, this.indices([n, m], n), this.of(n, m), reduce], kw };
    }
    const some = reduce === "sum" ? "mean" : reduce;
    return { name: "index_reduce", args: [this.of(n, m), 1, this.indices([3], m), this.of(n, 3), some], kw };
  }

  private activation(): Made {
    const name = this.pick(ACTIVATIONS);
    const kw: Record<string, Encoded> = name === "gelu" && this.chance(0.5) ? { approximate: "tanh" } : {};
    return { name: F(name), args: [this.of(this.int(1, 4), this.pick([2, 4, 3]))], kw };
  }

  private readonly kinds = [
    () => this.convolution(),
    () => this.convolution(),
    () => this.pooling(),
    () => this.padding(),
    () => this.resizing(),
    () => this.norm(),
    () => this.attention(),
    () => this.classes(),
    () => this.loss(),
    () => this.table(),
    () => this.contraction(),
    () => this.gathering(),
    () => this.activation(),
  ];

  /** One such call first. */
  override draw() {
    const { name, args, kw = {} } = this.pick(this.kinds)();
    if (this.perform({ id: this.ids++, name, recv: null, args, kw }) !== "drawn") return this.program;
    return this.chance(0.5) ? this.program : super.draw();
  }
}
