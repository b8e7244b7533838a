/** Convolutions as people call them: one image or a batch, paddings by name, complex numbers by real ones. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { typeText } from "../dispatch/convolution.ts";
import { Complex } from "../tensor/complex.ts";
import { warn } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Ints = readonly number[];

/** What stands behind the operands, in the operator's order. */
interface Geometry {
  readonly stride: Ints;
  readonly padding: string | Ints;
  readonly dilation: Ints;
  readonly transposed: boolean;
  readonly outputPadding: Ints;
  readonly groups: number;
}

/** How PyTorch's errors call a dtype here: `long int`. */
const C_NAMES: Readonly<Record<string, string>> = {
  float16: "c10::Half",
  bfloat16: "c10::BFloat16",
  float32: "float",
  float64: "double",
  int64: "long int",
  int32: "int",
  int16: "short int",
  int8: "signed char",
  uint8: "unsigned char",
  bool: "bool",
  complex64: "c10::complex<float>",
  complex128: "c10::complex<double>",
};

const cName = (t: Tensor): string => C_NAMES[t.dtype.name] ?? t.dtype.name;

/** Runs on a batch; a single image is a batch of one, of which the first is given. */
function batched(name: string, dims: number, input: Tensor, run: (batch: Tensor) => Tensor): Tensor {
  if (input.ndim === dims + 2) return run(input);
  if (input.ndim !== dims + 1) throw texts.convDims(name, dims + 1, dims + 2, name, `[${input._shape.join(", ")}]`);
  return O.squeeze_dim(run(O.unsqueeze(input, 0)), 0);
}

function real(input: Tensor, weight: Tensor, bias: Tensor | null, g: Geometry): Tensor {
  const { padding } = g;
  if (typeof padding !== "string") return onBatch(input, weight, bias, { ...g, padding });
  if (padding === "same") return same(input, weight, bias, g);
  if (padding !== "valid") throw texts.convPaddingWord("convolution", padding);
  return onBatch(input, weight, bias, { ...g, padding: [0] });
}

function onBatch(input: Tensor, weight: Tensor, bias: Tensor | null, g: Geometry & { padding: Ints }): Tensor {
  return O.convolution(input, weight, bias, g.stride, g.padding, g.dilation, g.transposed, g.outputPadding, g.groups);
}

const sizes = (t: Tensor): string => `[${t._shape.join(", ")}]`;

/** As many zeros as keep the size; where those cannot be split, the input gets the odd one behind its end. */
function same(input: Tensor, weight: Tensor, bias: Tensor | null, g: Geometry): Tensor {
  const rank = weight.ndim;
  if (rank <= 2) throw texts.convWeightDims("convolution");
  if (g.groups <= 0) throw texts.convGroups("convolution");
  if (rank !== input.ndim) throw texts.convSameDims("convolution", rank, sizes(weight), input.ndim, sizes(input));
  const dims = rank - 2;
  for (const name of ["stride", "dilation"] as const) {
    const { length } = g[name];
    if (length !== 1 && length !== dims) throw texts.convSameBroadcast("convolution", name, dims);
  }
  if (g.stride.some((n) => n !== 1)) throw texts.convSameStride("convolution");
  const totals = weight._shape.slice(2).map((k, i) => (g.dilation[i] ?? (g.dilation[0] as number)) * (k - 1));
  const padding = totals.map((n) => Math.trunc(n / 2));
  if (totals.every((n) => n % 2 === 0)) return onBatch(input, weight, bias, { ...g, padding });
  warn(
    "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be " +
      "created",
  );
  const pad = totals.flatMap((_, i) => [0, Math.abs((totals[dims - 1 - i] as number) % 2)]);
  return onBatch(O.constant_pad_nd(input, pad, 0), weight, bias, { ...g, padding });
}

/** Of the real and imaginary parts: three products for four. */
function complex(input: Tensor, weight: Tensor, bias: Tensor | null, g: Geometry): Tensor {
  for (const [what, t] of [
    ["weight", weight],
    ["bias", bias],
  ] as const) {
    if (t === null || t.dtype === input.dtype) continue;
    const text = what === "weight" ? texts.convWeightDtype : texts.convBiasDtype;
    throw text("convolution", typeText(input), typeText(t));
  }
  const [xr, xi] = parts(input);
  const [wr, wi] = parts(weight);
  const [br, bi] = bias === null ? [null, null] : parts(bias);
  const a = real(xr, wr, br, g);
  const b = real(xi, wi, null, g);
  const c = real(O.add(xr, xi, 1), O.add(wr, wi, 1), br === null || bi === null ? null : O.add(br, bi, 1), g);
  const imaginary = O.mul(O.sub(O.sub(c, a, 1), b, 1), new Complex(0, 1));
  return O.add(O.sub(a, b, 1), imaginary, 1);
}

function parts(t: Tensor): [Tensor, Tensor] {
  const pairs = O.view_as_real(t.resolveConj());
  return [O.select(pairs, -1, 0), O.select(pairs, -1, 1)];
}

/** One number for all dimensions of the images is one for each, whatever the filters have. */
function eachOf<T extends string | Ints>(given: T, dims: number): T | number[] {
  return typeof given !== "string" && given.length === 1 ? new Array<number>(dims).fill(given[0] as number) : given;
}

function run(name: string, dims: number, input: Tensor, weight: Tensor, bias: Tensor | null, given: Geometry): Tensor {
  const g = {
    ...given,
    stride: eachOf(given.stride, dims),
    padding: eachOf(given.padding, dims),
    dilation: eachOf(given.dilation, dims),
    outputPadding: eachOf(given.outputPadding, dims),
  };
  if (bias !== null && bias.dtype !== input.dtype && typeof g.padding !== "string" && !g.transposed) {
    throw texts.convBiasDtype(name, cName(input), cName(bias));
  }
  const by = input.dtype.category === 3 ? complex : real;
  return batched(name, dims, input, (x) => by(x, weight, bias, g));
}

function forward(dims: number, input: Tensor, weight: Tensor, bias: Tensor | null, rest: Forward): Tensor {
  const [stride, padding, dilation, groups] = rest;
  const g = { stride, padding, dilation, transposed: false, outputPadding: [0], groups };
  return run(`conv${dims}d`, dims, input, weight, bias, g);
}

type Forward = readonly [stride: Ints, padding: string | Ints, dilation: Ints, groups: number];

export function conv1d(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: string | Ints,
  dilation: Ints,
  groups: number,
): Tensor {
  return forward(1, input, weight, bias, [stride, padding, dilation, groups]);
}

export function conv2d(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: string | Ints,
  dilation: Ints,
  groups: number,
): Tensor {
  return forward(2, input, weight, bias, [stride, padding, dilation, groups]);
}

export function conv3d(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: string | Ints,
  dilation: Ints,
  groups: number,
): Tensor {
  return forward(3, input, weight, bias, [stride, padding, dilation, groups]);
}

type Back = readonly [stride: Ints, padding: Ints, outputPadding: Ints, groups: number, dilation: Ints];

function back(dims: number, input: Tensor, weight: Tensor, bias: Tensor | null, rest: Back): Tensor {
  const [stride, padding, outputPadding, groups, dilation] = rest;
  const g = { stride, padding, dilation, transposed: true, outputPadding, groups };
  return run(`conv_transpose${dims}d`, dims, input, weight, bias, g);
}

export function convTranspose1d(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: Ints,
  outputPadding: Ints,
  groups: number,
  dilation: Ints,
): Tensor {
  return back(1, input, weight, bias, [stride, padding, outputPadding, groups, dilation]);
}

export function convTranspose2d(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: Ints,
  outputPadding: Ints,
  groups: number,
  dilation: Ints,
): Tensor {
  return back(2, input, weight, bias, [stride, padding, outputPadding, groups, dilation]);
}

export function convTranspose3d(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: Ints,
  outputPadding: Ints,
  groups: number,
  dilation: Ints,
): Tensor {
  return back(3, input, weight, bias, [stride, padding, outputPadding, groups, dilation]);
}
