/** Dtypes: promotion, casts, what an operator takes. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "notImplementedFor",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "\"{kernel}\" not implemented for '{dtype}'",
  },
  {
    name: "integersOnly",
    error: "NotImplementedError",
    code: "not_implemented",
    text: '"{kernel}" not implemented for \'{dtype}\'. {what} have to be integers: write [0, 1], or dtype: "int64".',
  },
  {
    name: "resultCast",
    error: "RuntimeError",
    code: "dtype",
    text: "result type {from} can't be cast to the desired output type {to}",
  },
  {
    name: "complexToReal",
    warning: "UserWarning",
    text: "Casting complex values to real discards the imaginary part",
  },
  {
    name: "outOfWrongDtype",
    error: "RuntimeError",
    code: "dtype",
    text: "Expected out tensor to have dtype {wanted}, but got {got} instead",
  },
  {
    name: "absInPlaceOfComplex",
    error: "RuntimeError",
    code: "runtime",
    text: "In-place abs is not supported for complex tensors.",
  },
  {
    name: "boolAlpha",
    error: "RuntimeError",
    code: "runtime",
    text: "Boolean alpha only supported for Boolean results.",
  },
  {
    name: "floatAlpha",
    error: "RuntimeError",
    code: "runtime",
    text: "For integral input tensors, argument alpha must not be a floating point number.",
  },
  {
    name: "complexAlpha",
    error: "RuntimeError",
    code: "runtime",
    text: "For non-complex input tensors, argument alpha must not be a complex number.",
  },
  {
    name: "subtractionOfBools",
    error: "NotImplementedError",
    code: "not_implemented",
    text:
      "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` " +
      "operator instead.",
  },
  {
    name: "subtractionWithBool",
    error: "NotImplementedError",
    code: "not_implemented",
    text:
      "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, " +
      "use the `~` or `logical_not()` operator instead.",
  },
  {
    name: "dtypeOfOperand",
    error: "RuntimeError",
    code: "runtime",
    text: "expected dtype {expected} for `{operand}` but got dtype {got}",
  },
  {
    name: "clampBoundOutOfRange",
    error: "RuntimeError",
    code: "runtime",
    text: "Clamp {side} value {value} is outside the representable range of {dtype}",
  },
  {
    name: "clampOfComplex",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "clamp is not supported for complex types",
  },
  {
    name: "whereConditionNotBool",
    error: "RuntimeError",
    code: "runtime",
    text: "where expected condition to be a boolean tensor, but got a tensor with dtype {dtype}",
  },
  {
    name: "outTypeMismatch",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected out type to be {expected} but got {got}",
  },
  {
    name: "catCannotCast",
    error: "TypeError",
    code: "type",
    text: "torch.cat(): input types can't be cast to the desired output type {out}",
  },
  {
    name: "resultDtypeDiffers",
    error: "RuntimeError",
    code: "dtype",
    text: "result dtype {out} does not match input dtype {input}",
  },
  {
    name: "foundDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "Found dtype {found} but expected {expected}",
  },
  {
    name: "float8Promotion",
    error: "RuntimeError",
    code: "runtime",
    text: "Promotion for Float8 Types is not supported, attempted to promote {a} and {b}",
  },
  {
    name: "unsignedPromotion",
    error: "RuntimeError",
    code: "runtime",
    text: "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a} and {b}",
  },
  {
    name: "noBcomplex32",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "zensor has no bcomplex32: a bfloat16 tensor cannot meet a complex operand here",
  },
  {
    name: "noComplex32",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "zensor has no complex32: a float16 tensor cannot meet a complex operand here",
  },
  {
    name: "closeDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "{self} did not match {other}",
  },
  {
    name: "unknownDtype",
    error: "TypeError",
    code: "type",
    text: "unknown dtype {dtype}",
  },
  {
    name: "badDefaultDtype",
    error: "TypeError",
    code: "type",
    text: "only floating-point types are supported as the default type: float16, bfloat16, float32, float64",
  },
  {
    name: "complexInputs",
    error: "NotImplementedError",
    code: "dtype",
    text: "{op} is not supported for complex inputs",
  },
  {
    name: "expectedScalarType",
    error: "RuntimeError",
    code: "dtype",
    text: "expected scalar_type {wanted} but found {got}",
  },
  {
    name: "complexDegrees",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "{name} is not supported for complex tensors.",
  },
  {
    name: "heavisideOfComplex",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "heaviside is not yet implemented for complex tensors.",
  },
  {
    name: "heavisideDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "heaviside is not yet implemented for tensors with different dtypes.",
  },
  {
    name: "ldexpCast",
    error: "RuntimeError",
    code: "runtime",
    text: "ldexp can't be cast to the desired output type {to}",
  },
  {
    name: "boolsOnly",
    error: "RuntimeError",
    code: "runtime",
    text: "{name} does not support non-boolean outputs.",
  },
  {
    name: "noComplexInputs",
    error: "TypeError",
    code: "type",
    text: "{name} does not support complex inputs.",
  },
  {
    name: "signbitOfComplex",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "signbit is not implemented for complex tensors.",
  },
  {
    name: "nanToNumDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "nan_to_num: dtype of out: {out} should be same as input: {input}",
  },
  {
    name: "finfoOfIntegers",
    error: "TypeError",
    code: "type",
    text: "finfo() requires a floating point input type. Use iinfo to handle integers",
  },
  {
    name: "iinfoOfFloats",
    error: "TypeError",
    code: "type",
    text: "iinfo() requires an integer input type. Use finfo to handle floating point types",
  },
  {
    name: "iinfoOfBools",
    error: "TypeError",
    code: "type",
    text: "torch.bool is not supported by iinfo",
  },
] as const satisfies readonly TextSchema[];
