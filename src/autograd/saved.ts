/** Tensors kept for the backward pass, with the check that nobody wrote to them since. */
import { isScalar, type Scalar } from "../tensor/complex.ts";
import { type DType, getDefaultDtype } from "../tensor/dtype.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { listText } from "../tensor/size.ts";
import { type GradientNode, Tensor } from "../tensor/tensor.ts";
import { gradFnOf, typeName } from "./history.ts";
import { freedError, type Node } from "./node.ts";

class SavedTensor {
  readonly tensor: Tensor;
  readonly version: number;
  readonly shape: readonly number[];
  readonly gradFn: GradientNode | null;
  readonly outputNr: number;
  /** A result of the node that saved it. */
  readonly isResult: boolean;

  constructor(tensor: Tensor, gradFn: GradientNode | null, outputNr: number, isResult: boolean) {
    this.tensor = tensor;
    this.version = tensor._version.value;
    this.shape = tensor._shape;
    this.gradFn = gradFn;
    this.outputNr = outputNr;
    this.isResult = isResult;
    tensor._storage.claims++;
  }
}

/** A tensor, a number, a list of either, or nothing. */
export type Saved = SavedTensor | Scalar | null | readonly Saved[] | typeof FREED;

/** What is left after the graph was released. */
export const FREED: unique symbol = Symbol("freed");

/** Keeps an argument. */
export function save(x: Tensor | Scalar | null | undefined | readonly (Tensor | null)[]): Saved {
  if (x === null || x === undefined) return null;
  if (x instanceof Tensor) return new SavedTensor(x, gradFnOf(x), x._outputNr, false);
  if (Array.isArray(x)) return x.map((t) => save(t));
  return x as Scalar;
}

/** Keeps a result of the node itself. */
export function saveResult(x: Tensor, node: Node, outputNr: number): Saved {
  return new SavedTensor(x, node, outputNr, true);
}

/** Gives up the claims of what was saved. */
export function drop(x: Saved): void {
  if (x instanceof SavedTensor) x.tensor._storage.release();
  else if (Array.isArray(x)) for (const y of x) drop(y);
}

/** The saved value again; an error when it was written to or freed. */
export function unpack(x: Saved, node: Node): Tensor | Scalar | null | (Tensor | Scalar | null)[] {
  if (x === FREED || node.released) {
    if (x === FREED) freedError();
  }
  if (x === null || isScalar(x)) return x as Scalar | null;
  if (Array.isArray(x)) return x.map((y) => unpack(y, node) as Tensor);
  const s = x as SavedTensor;
  const t = s.tensor;
  if (t._version.value !== s.version) changedError(s);
  if (t._gradFn === s.gradFn && t._outputNr === s.outputNr) return t;
  return rebuilt(s);
}

/** The tensor object moved on in the graph, but its elements are those that were saved. */
function rebuilt(s: SavedTensor): Tensor {
  const t = s.tensor;
  const copy = new Tensor(t._storage, t._offset, t._shape, t._strides, t.dtype, t._numel, t._contiguous, t._version);
  copy._bits = t._bits;
  copy._gradFn = s.gradFn;
  copy._outputNr = s.outputNr;
  return copy;
}

function changedError(s: SavedTensor): never {
  const t = s.tensor;
  const fn = s.isResult ? s.gradFn : gradFnOf(t);
  const index = s.isResult ? s.outputNr : t._outputNr;
  const maker = fn === null ? "" : `, which is output ${index} of ${shortName(fn.name)},`;
  throw new RuntimeError(
    "one of the variables needed for gradient computation has been modified by an inplace operation: " +
      `[torch.${typeName(t.dtype)} ${listText(s.shape)}]${maker} is at version ${t._version.value}; ` +
      `expected version ${s.version} instead. Hint: enable anomaly detection to find the operation that failed to ` +
      "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).",
    { code: "version" },
  );
}

function shortName(name: string): string {
  return name === "CopySlices" ? "torch::autograd::CopySlices" : name.replace(/Backward\d*$/, "");
}

/** Shape and dtype of a tensor argument, without its bytes. */
export interface Geometry {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly dtype: DType;
  readonly ndim: number;
}

export function geometry(x: Tensor | Scalar | null | readonly Tensor[]): Geometry {
  // Of a list: the shapes of its members.
  // biome-ignore lint/suspicious/noExplicitAny: shapes of a list stand where sizes do
  if (Array.isArray(x)) return { ...geometry(x[0] ?? null), shape: x.map((t) => t._shape) as any };
  if (!(x instanceof Tensor)) return { shape: [], strides: [], offset: 0, dtype: getDefaultDtype(), ndim: 0 };
  return { shape: x._shape, strides: x._strides, offset: x._offset, dtype: x.dtype, ndim: x._shape.length };
}
