// Functions of tensors that are called on collections too: src/tensordict/ops/torch-functions.ts does it, and the
// generator declares it.

/** Functions that make a tensor after the model of another. */
export const MODELLED = new Set(["emptyLike", "fullLike", "onesLike", "randLike", "randnLike", "zerosLike"]);
/** Functions of a tensor and of what it should be. */
export const LOSSES = new Set(["huberLoss", "l1Loss", "mseLoss", "smoothL1Loss"]);
/** Functions of two operands, of which only the second is a collection. */
export const OF_BOTH = new Set([
  "add",
  "bitwiseAnd",
  "bitwiseOr",
  "bitwiseXor",
  "div",
  "maximum",
  "minimum",
  "mul",
  "pow",
  "sub",
]);

/** Functions that do what the method of the first argument does. */
export const METHODS = new Set([
  ...["unbind", "unflatten", "flatten", "reshape", "flip", "fliplr", "flipud", "roll", "rot90", "narrow", "tile"],
  ...["repeatInterleave", "broadcastTo", "atleast1d", "atleast2d", "atleast3d", "transpose", "swapaxes", "swapdims"],
  ...["gather", "clone", "squeeze", "unsqueeze", "maskedSelect", "permute", "movedim", "moveaxis", "split", "chunk"],
  ...["tensorSplit", "where", "var", "std", "mean", "sum", "logsumexp", "softmax"],
  ...["abs", "add", "addcdiv", "addcmul", "bitwiseAnd", "bitwiseOr", "bitwiseXor", "clamp", "clampMax", "clampMin"],
  ...["cos", "div", "exp", "isfinite", "isnan", "isneginf", "isposinf", "isreal", "lerp", "log", "log1p", "logicalAnd"],
  ...["maximum", "minimum", "mul", "neg", "pow", "sigmoid", "sin", "sqrt", "square", "sub", "tanh"],
]);
