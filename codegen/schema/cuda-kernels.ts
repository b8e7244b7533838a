/**
 * The kernels that CUDA devices have, `family.name`, or `family.*` for all of a family. Each has a plan in
 * zig/src/cuda/launch.zig; test/cuda/golden.test.ts finds a kernel that is named here without one, or has one unnamed.
 */
export const cudaKernels = [
  "activation.*",
  "binary.*",
  "copy.*",
  "index.*",
  "index_mask.*",
  "matmul.*",
  "random.*",
  "range.*",
  "reduce.*",
  "scan.*",
  "search.*",
  "softmax.*",
  "sort.*",
  "ternary.*",
  "unary.*",
] as const satisfies readonly string[];
