// The ops of the first milestone: what `--scope foundation` runs.
import type { Case } from "./case-types.ts";
import { familyOf } from "./case-types.ts";

const FOUNDATION = new Set(
  `tensor zeros ones full empty arange linspace eye rand randn randint randperm zeros_like ones_like full_like
  empty_like rand_like randn_like new_zeros new_ones new_full new_empty new_tensor empty_strided as_tensor from_numpy
  scalar_tensor bernoulli normal multinomial tril_indices uniform exponential random
  view reshape view_as reshape_as as_strided expand expand_as t transpose permute movedim swapaxes squeeze unsqueeze
  select narrow slice diagonal unbind split split_with_sizes chunk tensor_split unfold flatten unflatten detach alias
  T mT broadcast_to view_as_real view_as_complex real imag ravel
  clone contiguous copy_ fill zero_ set_ resize_ resize_as_ to type_as item tolist
  __getitem__ __setitem__ index index_put index_select gather scatter scatter_add masked_fill masked_select where
  nonzero cat stack
  abs neg exp log sqrt tanh sigmoid relu sin isnan logical_not clamp
  add sub mul div floor_divide remainder fmod pow maximum eq ne lt le gt ge logical_and logical_or bitwise_and atan2
  copysign rsub lerp addcmul
  sum mean prod max min amax argmax all any var cumsum equal allclose matmul mm bmm addmm dot sort topk softmax
  nn.functional.linear nn.functional.relu nn.functional.softmax nn.functional.mse_loss
  __radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ __rmatmul__ __rand__ __ror__ __rxor__
  bfloat16 bool byte char double float half int long short cfloat`.split(/\s+/),
);

const FAMILIES = new Set(["promo", "index", "repr", "rng", "prog"]);

export const SCOPES: Record<string, (c: Case) => boolean> = {
  foundation: (c) => (FAMILIES.has(familyOf(c)) ? c.op !== "nn_init" : FOUNDATION.has(c.op)),
  all: () => true,
};
