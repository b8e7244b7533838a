/** Convolutions, pooling, padding and resizing of images. */
import type { TextSchema } from "../../model/types.ts";

const shape = { error: "RuntimeError", code: "shape_mismatch" } as const;
const value = { error: "RuntimeError", code: "runtime" } as const;

export const texts = [
  {
    ...shape,
    name: "convDims",
    text: "Expected {unbatched}D (unbatched) or {batched}D (batched) input to {name}, but got input of size: {size}",
  },
  {
    ...value,
    name: "convBiasDtype",
    text: "Input type ({input}) and bias type ({bias}) should be the same",
  },
  {
    ...value,
    name: "convWeightDtype",
    text: "Input type ({input}) and weight type ({weight}) should be the same",
  },
  {
    ...value,
    name: "convShortWeightDtype",
    text:
      "Input type ({input}) and weight type ({weight}) should be the same or input should be a MKLDNN tensor and " +
      "weight is a dense tensor",
  },
  { ...value, name: "convWeightDims", text: "weight should have at least three dimensions" },
  { ...value, name: "convGroups", text: "non-positive groups is not supported" },
  {
    ...value,
    name: "convParameter",
    text:
      "expected {name} to be a single integer value or a list of {dims} values to match the convolution dimensions, " +
      "but got {name}={given}",
  },
  { ...value, name: "convNegativePadding", text: "negative padding is not supported" },
  { ...value, name: "convNegativeOutputPadding", text: "negative output_padding is not supported" },
  { ...value, name: "convStride", text: "non-positive stride is not supported" },
  { ...value, name: "convNegativeDilation", text: "dilation should be greater than zero" },
  { ...value, name: "convDilation", text: "dilation should be greater than zero, but got {dilation}" },
  {
    ...shape,
    name: "convInputDims",
    text:
      "Expected {dims}-dimensional input for {dims}-dimensional weight {weight}, but got " +
      "{got}-dimensional input of size {size} instead",
  },
  {
    ...shape,
    name: "convSameDims",
    text:
      "Expected {dims}-dimensional input for {dims}-dimensional weight{weight}, but got " +
      "{got}-dimensional input of size {size} instead",
  },
  {
    ...shape,
    name: "convFewWeights",
    text:
      "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight " +
      "of size {size} instead",
  },
  {
    ...shape,
    name: "convIndivisible",
    text:
      "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size " +
      "[{size}] instead",
  },
  {
    ...shape,
    name: "convChannels",
    text:
      "Given groups={groups}, weight of size {weight}, expected input{input} to have {wanted} " +
      "channels, but got {got} " +
      "channels instead",
  },
  {
    ...shape,
    name: "convBias",
    text:
      "Given weight of size {weight}, expected bias to be 1-dimensional with {wanted} elements, but got bias of size " +
      "{bias} instead",
  },
  {
    ...shape,
    name: "convTransposedChannels",
    text:
      "Given transposed=1, weight of size {weight}, expected input{input} to have {wanted} channels, but got {got} " +
      "channels instead",
  },
  {
    ...shape,
    name: "convTransposedBias",
    text:
      "Given transposed=1, weight of size {weight}, expected bias to be 1-dimensional with {wanted} " +
      "elements, but got " +
      "bias of size {bias} instead",
  },
  {
    ...shape,
    name: "convKernelTooLarge",
    text:
      "Calculated padded input size per channel: ({input}). Kernel size: ({kernel}). Kernel size " +
      "can't be greater than " +
      "actual input size",
  },
  {
    ...shape,
    name: "convEmptyInput",
    text: "Only zero batch or zero channel inputs are supported, but got input shape: {size}",
  },
  {
    ...value,
    name: "convEmptyKernel",
    text: "kernel size should be greater than zero, but got kernel_height: {height} kernel_width: {width}",
  },
  {
    ...value,
    name: "convEmptyKernel3d",
    text: "kernel size should be greater than zero, but got: {depth} x {height} x {width} (TxHxW)",
  },
  { ...value, name: "convEmptyKernelDilated", text: "kernel size should be greater than zero, but got {kernel}" },
  {
    ...value,
    name: "convEmptyKernelTransposed",
    text:
      "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) " +
      "tensor expected for " +
      "weight, but got: {size}",
  },
  {
    ...value,
    name: "convOutputPadding",
    text: "output padding must be smaller than either stride or dilation, but got {facts}",
  },
  {
    ...shape,
    name: "convOutputTooSmall",
    text:
      "Given input size per channel: ({input}). Calculated output size per channel: ({output}). " +
      "Output size is too small",
  },
  { ...value, name: "convSameStride", text: "padding='same' is not supported for strided convolutions" },
  { ...value, name: "convSameBroadcast", text: "{name} cannot broadcast to {dims} dimensions" },
  { ...value, name: "convPaddingWord", text: "Invalid padding string: '{word}'" },
  { ...value, name: "padOdd", text: "Padding length must be divisible by 2" },
  {
    ...value,
    name: "padDims",
    text:
      "Padding length should be less than or equal to two times the input dimension but got padding length {length} " +
      "and input of dimension {dims}",
  },
  { ...value, name: "padValue", text: 'Padding mode "{mode}" doesn\'t take in value argument' },
  { error: "NotImplementedError", code: "not_implemented", name: "padMode", text: "Unrecognised padding mode {mode}" },
  {
    error: "NotImplementedError",
    code: "not_implemented",
    name: "padUnsupported",
    text:
      "Padding size {length} is not supported for {dims}D input tensor.\nSupported combinations for non-constant " +
      "padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 " +
      "(pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
  },
  {
    ...shape,
    name: "padEmpty",
    text:
      "Expected {unbatched}D or {batched}D (batch mode) tensor with possibly 0 batch size and other " +
      "non-zero dimensions " +
      "for input, but got: {size}",
  },
  {
    ...shape,
    name: "padReflects",
    text:
      "Argument #{place}: Padding size should be less than the corresponding input dimension, but got: padding " +
      "({front}, {behind}) at dimension {dim} of input {size}",
  },
  { ...shape, name: "padTooSmall", text: "input ({input}) is too small. Calculated output {output}" },
  {
    ...shape,
    name: "padOutput",
    text: "Calculated output {output} must be >= 1 in every dimension (input {input})",
  },
  { ...value, name: "padWraps", text: "Padding value causes wrapping around more than once." },
  { ...value, name: "padWrapsNothing", text: "Negative padding value is resulting in an empty dimension" },
  { error: "ValueError", code: "value", name: "sampleNothing", text: "either size or scale_factor should be defined" },
  {
    error: "ValueError",
    code: "value",
    name: "sampleBoth",
    text: "only one of size or scale_factor should be defined",
  },
  {
    error: "ValueError",
    code: "value",
    name: "sampleCorners",
    text: "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
  },
  {
    error: "ValueError",
    code: "value",
    name: "sampleSizes",
    text:
      "Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of " +
      "{input} and {given} {list}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {asked} in " +
      "{form} format.",
  },
  {
    error: "ValueError",
    code: "value",
    name: "sampleRecompute",
    text: "recompute_scale_factor is not meaningful with an explicit size.",
  },
  {
    error: "NotImplementedError",
    code: "not_implemented",
    name: "sampleNeeds",
    text: "Got {got}D input, but {mode} mode needs {wanted}D input",
  },
  {
    error: "NotImplementedError",
    code: "not_implemented",
    name: "sampleMode",
    text:
      "Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: nearest | " +
      "linear | bilinear " +
      "| bicubic | trilinear | lanczos | area | nearest-exact (got {mode})",
  },
  {
    error: "ValueError",
    code: "value",
    name: "sampleAntialias",
    text: "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input",
  },
  {
    error: "NotImplementedError",
    code: "not_implemented",
    name: "sampleAntialiasMissing",
    text: "interpolate with antialias or in mode lanczos is not there yet",
  },
  {
    ...shape,
    name: "sampleEmptySizes",
    text: "Input and output sizes should be greater than 0, but got input ({input}) {and}output ({output})",
  },
  {
    ...shape,
    name: "sampleEmpty",
    text: "Non-empty {dims}D data tensor expected but got a tensor with sizes {size}",
  },
  { ...value, name: "padLength", text: "Length of pad must be even but instead it equals {length}" },
  {
    ...value,
    name: "padTooLong",
    text:
      "Length of pad should be no more than twice the number of dimensions of the input. Pad length is {length}while " +
      "the input has {dims}dimensions.",
  },
  {
    ...value,
    name: "poolSizes",
    text: "{op}: {name} must {either}be {omitted}a single int, or a tuple of {count} ints",
  },
  { ...value, name: "poolZeroStride", text: "stride should not be zero" },
  { ...value, name: "poolNegativePadding", text: "pad must be non-negative, but got pad: {pad}" },
  {
    ...value,
    name: "poolPadding",
    text:
      "pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={kernel} and " +
      "dilation={dilation}",
  },
  {
    ...value,
    name: "poolOverflow",
    text: "effective kernel size overflows, but got kernel_size={kernel} and dilation={dilation}",
  },
  { ...value, name: "poolNotPositive", text: "{name} should be greater than zero, but got {facts}" },
  { ...value, name: "poolHalf", text: "pad should be smaller than or equal to half of kernel size, but got {facts}" },
  { ...shape, name: "poolDims", text: "non-empty {unbatched}D or {batched}D (batch mode) tensor expected for input" },
  {
    ...shape,
    name: "poolEmpty",
    text: "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{size}",
  },
  {
    ...shape,
    name: "poolEmptyDim",
    text:
      "{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {size} with " +
      "dimension {dim} being empty",
  },
  {
    ...shape,
    name: "poolOutput",
    text: "Given input size: ({input}). Calculated output size: ({output}). Output size is too small",
  },
  {
    ...shape,
    name: "poolSmallImage",
    text: "input image ({input}) smaller than kernel size ({kernel})",
  },
  { ...value, name: "poolDivisor", text: "divisor must be not zero" },
  { ...value, name: "pool1dCount", text: "max_pool1d() {name} must be {kinds} of size 1 but got size {size}" },
  { ...value, name: "pool1dPositive", text: "max_pool1d() {name} must be greater than zero, but got {got}" },
  { ...value, name: "pool1dNegative", text: "max_pool1d() padding must be non-negative, but got {got}" },
  {
    ...value,
    name: "pool1dPadding",
    text:
      "max_pool1d() padding should be at most half of kernel size, but got padding={padding} and " +
      "kernel_size={kernel}",
  },
  { ...value, name: "pool1dOutput", text: "max_pool1d() Invalid computed output size: {size}" },
  {
    ...shape,
    name: "pool1dInput",
    text: "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{size}",
  },
  {
    ...shape,
    name: "pool1dDims",
    text:
      "Expected 2 to 3 dimensions, but got {dims}-dimensional tensor for argument #1 'self' (while " +
      "checking arguments " +
      "for {name})",
  },
  { ...value, name: "poolOneInt", text: "{name}() argument '{argument}' should contain one int (got {count})" },
  { error: "ValueError", code: "value", name: "poolDefaults", text: "Input dimension should be at least {dims}" },
  { ...value, name: "adaptiveAverageSize", text: "{name}: output_size must be {count}" },
  { ...value, name: "adaptiveMaximumSize", text: "{name}(): internal error: output_size.size() must be {count}" },
  {
    ...value,
    name: "adaptiveNegative",
    text: "{name}: elements of output_size must be greater than or equal to 0 but received {sizes}",
  },
  {
    ...shape,
    name: "adaptiveDims",
    text: "{name}(): Expected {unbatched}D or {batched}D tensor, but got{colon} {size}",
  },
  {
    ...value,
    name: "shuffleDims",
    text: "{name} expects input to have at least 3 dimensions, but got input with {dims} dimension(s)",
  },
  { ...value, name: "shuffleFactor", text: "{name} expects a positive {factor}, but got {got}" },
  {
    ...value,
    name: "shuffleChannels",
    text:
      "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but " +
      "input.size(-3)={channels} is not divisible by {square}",
  },
  {
    ...value,
    name: "unshuffleSize",
    text:
      "pixel_unshuffle expects {side} to be divisible by downscale_factor, but input.size({dim})={size} is not " +
      "divisible by {factor}",
  },
  {
    ...value,
    name: "channelsDims",
    text: "channel_shuffle expects input with > 2 dims, but got input with sizes {size}",
  },
  {
    ...value,
    name: "channelsGroups",
    text: "Number of groups to divide channels in must be positive. Value of groups:{groups}",
  },
  {
    ...value,
    name: "channelsIndivisible",
    text: "Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.",
  },
] as const satisfies readonly TextSchema[];
