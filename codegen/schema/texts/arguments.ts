/** What a call was given: kinds, numbers and values of arguments. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "wrongArgument",
    error: "TypeError",
    code: "type",
    text: "{name}(): argument '{argument}' must be {wanted}, not {got}",
  },
  {
    name: "unknownKeyword",
    error: "TypeError",
    code: "type",
    text: "{name}() got an unexpected keyword argument '{key}'",
  },
  {
    name: "attributeElsewhere",
    error: "AttributeError",
    code: "attribute",
    text: "'{owner}' object has no attribute '{name}': it is {place} here",
  },
  {
    name: "misspeltKeyword",
    error: "TypeError",
    code: "type",
    text: "{name}() got an unexpected keyword argument '{key}', which is called '{right}' here",
  },
  {
    name: "notIterable",
    error: "TypeError",
    code: "type",
    text: "'{type}' object is not iterable{advice}",
  },
  {
    name: "multipleValues",
    error: "TypeError",
    code: "type",
    text: "{name}() got multiple values for argument '{key}'",
  },
  {
    name: "onePositionalArgument",
    error: "TypeError",
    code: "type",
    text: "{op}() takes one positional argument and an options object",
  },
  {
    name: "requiresGradNotBool",
    error: "TypeError",
    code: "type",
    text: "{op}(): argument 'requiresGrad' must be bool",
  },
  {
    name: "stridedOnly",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "layout: zensor has strided tensors only, got {layout}",
  },
  {
    name: "invalidCombination",
    error: "TypeError",
    code: "type",
    text: "{op}() received an invalid combination of arguments - got ({got}), but expected {expected}",
  },
  {
    name: "optionsNotAnObject",
    error: "TypeError",
    code: "type",
    text: "{op}() takes a trailing options object, not {got}",
  },
  {
    name: "unknownRoundingMode",
    error: "RuntimeError",
    code: "runtime",
    text: "div expected roundingMode to be one of null, 'trunc', or 'floor' but found '{mode}'",
  },
  {
    name: "clampWithoutBounds",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.clamp: At least one of 'min' or 'max' must not be None",
  },
  {
    name: "zeroDivision",
    error: "RuntimeError",
    code: "zero_division",
    text: "ZeroDivisionError",
  },
  {
    name: "negativePowers",
    error: "RuntimeError",
    code: "runtime",
    text: "Integers to negative integer powers are not allowed.",
  },
  {
    name: "negativePower",
    error: "RuntimeError",
    code: "negative_power",
    text: "Integers to negative integer powers are not allowed.",
  },
  {
    name: "operandNotATensor",
    error: "TypeError",
    code: "type",
    text: "unsupported operand: expected a Tensor or a number, got {got}",
  },
  {
    name: "notADtype",
    error: "TypeError",
    code: "type",
    text: "{op}(): {place} must be torch.dtype, not {got}",
  },
  {
    name: "negativeTolerance",
    error: "RuntimeError",
    code: "runtime",
    text: "{name} must be greater than or equal to zero, but got {value}",
  },
  {
    name: "argumentKindTwice",
    error: "RuntimeError",
    code: "runtime",
    text: "the kind {name} of arguments is there already",
  },
  {
    name: "missingArgument",
    error: "TypeError",
    code: "type",
    text: "{op}() missing 1 required {kind} argument: '{name}'",
  },
  {
    name: "tooManyArguments",
    error: "TypeError",
    code: "type",
    text: "{op}() takes at most {most} arguments but {given} were given",
  },
  {
    name: "bodyNotAFunction",
    error: "TypeError",
    code: "type",
    text: "{op}(): argument 'body' must be a function, not {type}",
  },
  {
    name: "badThreadCount",
    error: "ValueError",
    code: "value",
    text: "set_num_threads expects a positive integer, but got {count}",
  },
  {
    name: "bodyIsAsync",
    error: "TypeError",
    code: "mode_async",
    text:
      "{op}() takes a function that is not async: other code would run inside of it, and what follows an await " +
      "outside. Write {op}(() => …) around each part between two awaits",
  },
  {
    name: "modesOverlap",
    error: "RuntimeError",
    code: "mode_overlap",
    text:
      "{op}() was open across an await (or a yield) while another task opened or closed one: code of each ran in " +
      "the mode of the other. {advice}",
  },
  {
    name: "listLengths",
    error: "RuntimeError",
    code: "shape",
    text: "Tensor lists must have the same number of tensors, got {first} and {other}",
  },
  {
    name: "listDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "Tensors at one place of the lists must have one dtype, got {first} and {other}",
  },
  {
    name: "listShapes",
    error: "RuntimeError",
    code: "shape",
    text: "Tensors at one place of the lists must have one shape, got {first} and {other}",
  },
  {
    name: "listSteps",
    error: "RuntimeError",
    code: "dtype",
    text: "Numbers of steps must be single floats or doubles, got {dtype} of shape {shape}",
  },
] as const satisfies readonly TextSchema[];
