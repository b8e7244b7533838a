/** Values on their way in and out: nested lists, numbers, typed arrays, printing. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "notAnInt",
    error: "TypeError",
    code: "type",
    text: "int(): {value} is no number",
  },
  {
    name: "notAFloat",
    error: "TypeError",
    code: "type",
    text: "float(): {value} is no number",
  },
  {
    name: "unknownPrintProfile",
    error: "ValueError",
    code: "value",
    text: "setPrintoptions: no profile '{profile}'",
  },
  {
    name: "printOptionNotACount",
    error: "ValueError",
    code: "value",
    text: "setPrintoptions: '{key}' must be a count, got {value}",
  },
  {
    name: "printPrecisionTooLarge",
    error: "ValueError",
    code: "value",
    text: "setPrintoptions: 'precision' must be at most 64",
  },
  {
    name: "tooManyDimensionsOf",
    error: "ValueError",
    code: "value",
    text: "too many dimensions '{type}'",
  },
  {
    name: "textIsNoData",
    error: "TypeError",
    code: "type",
    text: "new(): invalid data type 'str'",
  },
  {
    name: "cannotInferDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "Could not infer dtype of {type}",
  },
  {
    name: "notASequence",
    error: "TypeError",
    code: "type",
    text: "not a sequence",
  },
  {
    name: "raggedSequence",
    error: "ValueError",
    code: "value",
    text: "expected sequence of length {n} at dim {dim} (got {got})",
  },
  {
    name: "notASingleElement",
    error: "ValueError",
    code: "value",
    text: "only one element tensors can be converted to Python scalars",
  },
  {
    name: "negativeIsNotUnsigned",
    error: "RangeError",
    code: "range",
    text: "can't convert negative int to unsigned",
  },
  {
    name: "integerOverflow",
    error: "ValueError",
    code: "value",
    text: "Overflow when unpacking long long",
  },
  {
    name: "valueOverflow",
    error: "RuntimeError",
    code: "overflow",
    text: "value cannot be converted to type {dtype} without overflow",
  },
  {
    name: "notATypedArray",
    error: "TypeError",
    code: "type",
    text: "expected a typed array (got {type})",
  },
  {
    name: "resizableArrayBuffer",
    error: "ValueError",
    code: "value",
    text: "fromTypedArray(): a resizable ArrayBuffer cannot be shared; copy it with tensor(array)",
  },
  {
    name: "unsafeInteger",
    error: "RangeError",
    code: "unsafe_integer",
    text: "{op}(): {value} is no safe JavaScript integer; use bigint() for one element, or typedArray() for all",
  },
  {
    name: "notAScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "a Tensor with {count} elements cannot be converted to Scalar",
  },
  {
    name: "itemOnMeta",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor.item() cannot be called on meta tensors",
  },
  {
    name: "complexIsNoBigint",
    error: "TypeError",
    code: "type",
    text: "bigint(): a complex tensor has no integer",
  },
  {
    name: "noBigint",
    error: "RangeError",
    code: "range",
    text: "bigint(): cannot convert {value} to an integer",
  },
  {
    name: "tooManyEmptyLists",
    error: "RangeError",
    code: "range",
    text: "tolist(): a tensor of shape {shape} has {lists} empty lists",
  },
  {
    name: "typedArrayNeedsDetach",
    error: "RuntimeError",
    code: "runtime",
    text: "Can't call typedArray() on Tensor that requires grad. Use tensor.detach().typedArray() instead.",
  },
  {
    name: "typedArrayNotOnCpu",
    error: "TypeError",
    code: "type",
    text:
      "can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory " +
      "first.",
  },
  {
    name: "typedArrayNotContiguous",
    error: "RuntimeError",
    code: "runtime",
    text: "typedArray(): the tensor must be contiguous; call contiguous()",
  },
  {
    name: "typedArrayHasBits",
    error: "RuntimeError",
    code: "runtime",
    text: "typedArray(): resolve the conjugate or negative bit first, with resolveConj()",
  },
  {
    name: "typedArrayOfAnother",
    error: "RuntimeError",
    code: "runtime",
    text: "typedArray(): the tensor has dtype {dtype}, not {wanted}; use to()",
  },
  {
    name: "typedArrayOutOfBounds",
    error: "RuntimeError",
    code: "runtime",
    text: "typedArray(): {end} bytes are out of bounds for storage of size {size}",
  },
  {
    name: "noNumber",
    error: "TypeError",
    code: "type",
    text: "a list of numbers cannot hold {type}",
  },
  {
    name: "nestedTooDeep",
    error: "ValueError",
    code: "value",
    text: "too many dimensions in a nested list",
  },
  {
    name: "listWhereNumberWas",
    error: "ValueError",
    code: "value",
    text: "expected a number at dim {dim}, got a list",
  },
  {
    name: "complexHasNoNumber",
    error: "TypeError",
    code: "type",
    text: "a complex tensor has no number",
  },
  {
    name: "noNumberOfMany",
    error: "RuntimeError",
    code: "runtime",
    text:
      "a Tensor with {count} elements cannot be converted to Scalar: use a.mul(b) for a * b, a.sub(b) for a - b, " +
      "a.lt(b) for a < b; operators do not work on tensors",
  },
  {
    name: "tensorConstructor",
    error: "TypeError",
    code: "type",
    text: "tensors are not made by new Tensor(): use tensor([1, 2]) for data, empty(2, 3) for sizes",
  },
  {
    name: "functionIsNoDtype",
    error: "TypeError",
    code: "type",
    text: "dtype must be torch.dtype or the name of one, not the function {got}: write {wanted}",
  },
  {
    name: "noOperators",
    error: "TypeError",
    code: "type",
    text: "use a.add(b) for a + b, a.eq(b) for a == b: operators do not work on tensors",
  },
  {
    name: "notAReal",
    error: "TypeError",
    code: "type",
    text: "must be real number, not {type}",
  },
  {
    name: "notAnInteger",
    error: "TypeError",
    code: "type",
    text: "'{type}' object cannot be interpreted as an integer",
  },
] as const satisfies readonly TextSchema[];
