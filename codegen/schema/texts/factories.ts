/** Tensors made from sizes, ranges and layouts. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "outDtypeDiffers",
    error: "RuntimeError",
    code: "runtime",
    text: "dtype {dtype} does not match dtype of out parameter ({out})",
  },
  {
    name: "outDeviceDiffers",
    error: "RuntimeError",
    code: "device",
    text: "device type {device} does not match device type of out parameter ({out})",
  },
  {
    name: "negativeZerosSize",
    error: "RuntimeError",
    code: "runtime",
    text: "zeros: Dimension size must be non-negative.",
  },
  {
    name: "emptyPreserves",
    error: "RuntimeError",
    code: "runtime",
    text: "unsupported memory format Preserve",
  },
  {
    name: "sizesAndStrides",
    error: "RuntimeError",
    code: "runtime",
    text: "dimensionality of sizes ({sizes}) must match dimensionality of strides ({strides})",
  },
  {
    name: "storageSizeOverflow",
    error: "RuntimeError",
    code: "runtime",
    text: "Storage size calculation overflowed with sizes={sizes} and strides={strides}",
  },
  {
    name: "storageSizesOverflow",
    error: "RuntimeError",
    code: "runtime",
    text: "Storage size calculation overflowed with sizes={sizes}",
  },
  {
    name: "physicalLayoutLength",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {rank} is " +
      "not equal to len(physical_layout) = {length}",
  },
  {
    name: "physicalLayoutDim",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Dimension out of range (expected to be between 0 and {high}, but got {dim} at index {index}).  NB: " +
      "negative dims not currently supported; file an issue if you want it.",
  },
  {
    name: "physicalLayoutDuplicate",
    error: "RuntimeError",
    code: "runtime",
    text: "Duplicate dim not allowed",
  },
  {
    name: "eyeRowsNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "n must be greater or equal to 0, got {n}",
  },
  {
    name: "eyeColumnsNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "m must be greater or equal to 0, got {m}",
  },
  {
    name: "negativeRow",
    error: "RuntimeError",
    code: "runtime",
    text: "row must be non-negative, got{row}",
  },
  {
    name: "negativeColumn",
    error: "RuntimeError",
    code: "runtime",
    text: "col must be non-negative, got{column}",
  },
  {
    name: "doubleOverflow",
    error: "RuntimeError",
    code: "runtime",
    text: "value cannot be converted to type double without overflow",
  },
  {
    name: "zeroStep",
    error: "RuntimeError",
    code: "runtime",
    text: "step must be nonzero",
  },
  {
    name: "unsupportedRange",
    error: "RuntimeError",
    code: "runtime",
    text: "unsupported range: {from} -> {to}",
  },
  {
    name: "stepSign",
    error: "RuntimeError",
    code: "runtime",
    text: "upper bound and lower bound inconsistent with step sign",
  },
  {
    name: "rangeTooLong",
    error: "RuntimeError",
    code: "runtime",
    text: "invalid size, possible overflow?",
  },
  {
    name: "boundsNotScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "{op} only supports 0-dimensional start and end tensors, but got {got}.",
  },
  {
    name: "negativeSteps",
    error: "RuntimeError",
    code: "runtime",
    text: "number of steps must be non-negative",
  },
  {
    name: "complexBoundsCast",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.{op}(): inferred dtype {inferred} can't be safely cast to passed dtype {dtype}",
  },
] as const satisfies readonly TextSchema[];
