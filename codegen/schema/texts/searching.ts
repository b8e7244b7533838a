/** Searching, sets, differences, special functions and what leaves NaN out. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "searchScalar",
    error: "RuntimeError",
    code: "runtime",
    text:
      "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we " +
      "got boundaries tensor dim({rank}) and input value's dim({dims}) numel({numel})",
  },
  {
    name: "searchNoRows",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension",
  },
  {
    name: "searchShapes",
    error: "RuntimeError",
    code: "runtime",
    text:
      "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of " +
      "boundaries tensor and input value tensor must match, but we got boundaries tensor {rows} and input " +
      "value tensor {values}",
  },
  {
    name: "sorterShape",
    error: "RuntimeError",
    code: "runtime",
    text:
      "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {rows}and " +
      "got sorter tensor {sorter}",
  },
  {
    name: "sorterDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {dtype}",
  },
  {
    name: "sorterRange",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.searchsorted(): sorter index out of range",
  },
  {
    name: "searchSide",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.searchsorted(): side can only be 'left' or 'right' but got {side}",
  },
  {
    name: "searchOpposites",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
  },
  {
    name: "searchOut",
    error: "RuntimeError",
    code: "runtime",
    text:
      "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) " +
      "depending on whether out_int32 flag is True, but we got output tensor's dtype {dtype} and out_int32 " +
      "flag is {flag}",
  },
  {
    name: "boundariesRank",
    error: "RuntimeError",
    code: "runtime",
    text: "boundaries tensor must be 1 dimension, but got dim({rank})",
  },
  {
    name: "isinDtype",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "Unsupported input type encountered for isin(): {dtype}",
  },
  {
    name: "polygammaOrder",
    error: "RuntimeError",
    code: "runtime",
    text: "polygamma(n, x) does not support negative n.",
  },
  {
    name: "uniqueOfNothing",
    error: "RuntimeError",
    code: "empty",
    text: "Number of zero sized dimensions is more than one, so unique cannot be applied ",
  },
  {
    name: "uniqueOfEmpty",
    error: "RuntimeError",
    code: "empty",
    text: "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
  },
  {
    name: "diffOrder",
    error: "RuntimeError",
    code: "runtime",
    text: "order must be non-negative but got {n}",
  },
  {
    name: "diffOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "diff expects input to be at least one-dimensional",
  },
  {
    name: "diffRank",
    error: "RuntimeError",
    code: "runtime",
    text: "diff expects prepend or append to be the same dimension as input",
  },
  {
    name: "diffSizes",
    error: "RuntimeError",
    code: "runtime",
    text:
      "diff expects the shape of tensor to prepend or append to match that of input except along the " +
      "differencing dimension; input.size({dim}) = {own}, but got tensor.size({dim}) = {other}",
  },
  {
    name: "nansumOfComplex",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "nansum on CPU does not support complex inputs",
  },
  {
    name: "nanmeanDtype",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "nanmean(): expected input to have floating point or complex dtype but got {dtype}",
  },
  {
    name: "nanmeanOutputDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. " +
      "Got: {got}",
  },
] as const satisfies readonly TextSchema[];
