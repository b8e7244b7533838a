/** Views: shapes, strides and dtypes over the same bytes. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "movedimLengths",
    error: "RuntimeError",
    code: "runtime",
    text:
      "movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of " +
      "dims as destination ({destination} dims)",
  },
  {
    name: "movedimRepeatedSource",
    error: "RuntimeError",
    code: "runtime",
    text: "movedim: repeated dim in `source` ({source})",
  },
  {
    name: "movedimRepeatedDestination",
    error: "RuntimeError",
    code: "runtime",
    text: "movedim: repeated dim in `destination` ({destination})",
  },
  {
    name: "notMatrices",
    error: "RuntimeError",
    code: "runtime",
    text: "tensor.mT is only supported on matrices or batches of matrices. Got {rank}-D tensor.",
  },
  {
    name: "narrowOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "narrow() cannot be applied to a 0-dim tensor.",
  },
  {
    name: "narrowLengthNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "narrow(): length must be non-negative.",
  },
  {
    name: "narrowStartOutOfRange",
    error: "IndexError",
    code: "index",
    text: "start out of range (expected to be in range of [{low}, {high}], but got {start})",
  },
  {
    name: "narrowPastEnd",
    error: "RuntimeError",
    code: "runtime",
    text: "start ({start}) + length ({length}) exceeds dimension size ({size}).",
  },
  {
    name: "narrowStartNotInteger",
    error: "RuntimeError",
    code: "runtime",
    text: "start must be an 0-dim integral Tensor.",
  },
  {
    name: "chunkOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "chunk expects at least a 1-dimensional tensor",
  },
  {
    name: "chunksNotPositive",
    error: "RuntimeError",
    code: "runtime",
    text: "chunk expects `chunks` to be greater than 0, got: {chunks}",
  },
  {
    name: "sectionsNotPositive",
    error: "RuntimeError",
    code: "runtime",
    text: "number of sections must be larger than 0, got {sections}",
  },
  {
    name: "tensorSplitOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
  },
  {
    name: "tensorSplitDevice",
    error: "RuntimeError",
    code: "runtime",
    text: "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {device}",
  },
  {
    name: "tensorSplitDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "tensor_split expected tensor_indices_or_sections to have dtype of long, but got {dtype}",
  },
  {
    name: "tensorSplitRank",
    error: "RuntimeError",
    code: "runtime",
    text:
      "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but " +
      "got a tensor with {rank} dims",
  },
  {
    name: "flattenOrder",
    error: "RuntimeError",
    code: "runtime",
    text: "flatten() has invalid args: start_dim cannot come after end_dim",
  },
  {
    name: "unflattenEmpty",
    error: "RuntimeError",
    code: "runtime",
    text: "unflatten: sizes must be non-empty",
  },
  {
    name: "unflattenScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "unflatten got an unexpected error:\nDimension specified as {dim} but tensor has no dimensions",
  },
  {
    name: "unflattenProduct",
    error: "RuntimeError",
    code: "runtime",
    text: "unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} ({size}) in the input tensor",
  },
  {
    name: "imagOfReal",
    error: "TypeError",
    code: "type",
    text: "imag is not implemented for tensors with non-complex dtypes.",
  },
  {
    name: "notExpandable",
    error: "RuntimeError",
    code: "runtime",
    text: "size {{size}} is not expandable to size {{shape}}.",
  },
  {
    name: "twoInferredDims",
    error: "RuntimeError",
    code: "runtime",
    text: "only one dimension can be inferred",
  },
  {
    name: "invalidDimension",
    error: "RuntimeError",
    code: "runtime",
    text: "invalid shape dimension {n} at index {dim} of shape {shape}",
  },
  {
    name: "invalidShape",
    error: "RuntimeError",
    code: "runtime",
    text: "shape '{shape}' is invalid for input of size {count}",
  },
  {
    name: "ambiguousShape",
    error: "RuntimeError",
    code: "runtime",
    text:
      "cannot reshape tensor of 0 elements into shape {shape} because the unspecified dimension size -1 can be " +
      "any value and is ambiguous",
  },
  {
    name: "viewOfConjugate",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.",
  },
  {
    name: "viewDtypeOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "self.dim() cannot be 0 to view {from} as {to} (different element sizes)",
  },
  {
    name: "viewDtypeStride",
    error: "RuntimeError",
    code: "runtime",
    text: "self.stride(-1) must be 1 to {view} {stride}",
  },
  {
    name: "viewDtypeSize",
    error: "RuntimeError",
    code: "runtime",
    text: "self.size(-1) must be divisible by {k} to {view} {size}",
  },
  {
    name: "viewDtypeOffset",
    error: "RuntimeError",
    code: "runtime",
    text: "self.storage_offset() must be divisible by {k} to {view} {offset}",
  },
  {
    name: "viewDtypeStrides",
    error: "RuntimeError",
    code: "runtime",
    text: "self.stride({dim}) must be divisible by {k} to {view} {stride}",
  },
  {
    name: "viewAsRealOfReal",
    error: "TypeError",
    code: "type",
    text: "view_as_real is only supported for complex tensors",
  },
  {
    name: "viewAsRealOfConjugate",
    error: "RuntimeError",
    code: "runtime",
    text:
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can " +
      "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the " +
      "original.",
  },
  {
    name: "viewAsComplexDtype",
    error: "NotImplementedError",
    code: "not_implemented",
    text:
      "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar " +
      "type: {dtype}",
  },
  {
    name: "viewAsComplexOfComplex",
    error: "TypeError",
    code: "dtype",
    text: "view_as_complex is not supported for complex tensors",
  },
  {
    name: "noComplex32View",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "zensor has no complex32: a float16 tensor cannot be seen as complex numbers",
  },
  {
    name: "viewAsComplexOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "Input tensor must have one or more dimensions",
  },
  {
    name: "viewAsComplexSize",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor must have a last dimension of size 2",
  },
  {
    name: "viewAsComplexStride",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor must have a last dimension with stride 1",
  },
  {
    name: "viewAsComplexStrides",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor must have a stride divisible by 2 for all but last dimension",
  },
  {
    name: "viewAsComplexOffset",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor must have a storage_offset divisible by 2",
  },
  {
    name: "splitOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "split expects at least a 1-dimensional tensor",
  },
  {
    name: "splitSizesNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}",
  },
  {
    name: "splitSizesSum",
    error: "RuntimeError",
    code: "runtime",
    text:
      "split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), " +
      "but got split_sizes={sizes}",
  },
  {
    name: "splitSizeNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "split expects split_size be non-negative, but got split_size={size}",
  },
  {
    name: "splitSizeZero",
    error: "RuntimeError",
    code: "runtime",
    text: "split_size can only be 0 if dimension size is 0, but got dimension size of {size}",
  },
  {
    name: "viewIncompatible",
    error: "RuntimeError",
    code: "runtime",
    text:
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two " +
      "contiguous subspaces). Use .reshape(...) instead.",
  },
  {
    name: "stridesLength",
    error: "RuntimeError",
    code: "runtime",
    text: "mismatch in length of strides and shape",
  },
  {
    name: "asStridedNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "as_strided: Negative strides are not supported at the moment, got strides: {strides}",
  },
  {
    name: "expandRank",
    error: "RuntimeError",
    code: "runtime",
    text:
      "expand({type}{{shape}}, size={sizes}): the number of sizes provided ({given}) must be greater or equal to " +
      "the number of dimensions in the tensor ({rank})",
  },
  {
    name: "expandInferredLeading",
    error: "RuntimeError",
    code: "runtime",
    text: "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}",
  },
  {
    name: "expandMismatch",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "The expanded size of the tensor ({wanted}) must match the existing size ({existing}) at non-singleton " +
      "dimension {dim}.  Target sizes: {sizes}.  Tensor sizes: {shape}",
  },
  {
    name: "expandInvalidSize",
    error: "RuntimeError",
    code: "runtime",
    text: "expand: invalid size {size}",
  },
  {
    name: "transposeRank",
    error: "RuntimeError",
    code: "runtime",
    text: "{name}() expects a tensor with <= 2 dimensions, but self is {rank}D",
  },
  {
    name: "permuteLength",
    error: "RuntimeError",
    code: "runtime",
    text:
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired " +
      "ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {dims}",
  },
  {
    name: "permuteDuplicates",
    error: "RuntimeError",
    code: "runtime",
    text: "permute(): duplicate dims are not allowed.",
  },
  {
    name: "selectOfScalar",
    error: "IndexError",
    code: "index",
    text: "select() cannot be applied to a 0-dim tensor.",
  },
  {
    name: "selectOutOfRange",
    error: "IndexError",
    code: "index",
    text: "select(): index {index} out of range for tensor of size {shape} at dimension {dim}",
  },
  {
    name: "sliceStep",
    error: "RuntimeError",
    code: "runtime",
    text: "slice step must be positive",
  },
  {
    name: "diagonalSameDims",
    error: "RuntimeError",
    code: "runtime",
    text: "diagonal dimensions cannot be identical {dim1}, {dim2}",
  },
  {
    name: "unfoldSizeNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "size is {size} but must be >= 0",
  },
  {
    name: "unfoldSizeTooLarge",
    error: "RuntimeError",
    code: "runtime",
    text: "maximum size for tensor at dimension {dim} is {most} but size is {size}",
  },
  {
    name: "unfoldStep",
    error: "RuntimeError",
    code: "runtime",
    text: "step is {step} but must be > 0",
  },
  {
    name: "shiftsMissing",
    error: "RuntimeError",
    code: "runtime",
    text: "`shifts` required",
  },
  {
    name: "shiftsAndDims",
    error: "RuntimeError",
    code: "runtime",
    text: "shifts and dimensions must align. shifts: {shifts}, dims:{dims}",
  },
  {
    name: "rotationDims",
    error: "RuntimeError",
    code: "runtime",
    text: "expected total rotation dims == 2, but got dims = {dims}",
  },
  {
    name: "rotationRank",
    error: "RuntimeError",
    code: "runtime",
    text: "expected total dims >= 2, but got total dims = {rank}",
  },
  {
    name: "rotationSameDims",
    error: "RuntimeError",
    code: "runtime",
    text: "expected rotation dims to be different, but got dim0 = {dim0} and dim1 = {dim1}",
  },
  {
    name: "tooFewDimensions",
    error: "RuntimeError",
    code: "runtime",
    text: "Input must be >= {rank}-d.",
  },
] as const satisfies readonly TextSchema[];
