// Which tests a changed file reaches: the folder of its room, and those above that are about the same thing.

/** By the beginning of a path, the longest that fits; tests by folder or file. */
const REACH: readonly (readonly [prefix: string, tests: readonly string[]])[] = [
  ["src/runtime/", ["test/io", "test/tensordict", "test/durability"]],
  ["src/tensor/", ["test/tensor", "test/api", "test/attack/storages.test.ts"]],
  ["src/ffi/", ["test/ffi", "test/tensor", "test/io", "test/attack"]],
  ["src/dispatch/", ["test/ops", "test/conformance", "test/tensor", "test/autograd/gradcheck.test.ts"]],
  ["src/autograd/", ["test/autograd", "test/conformance"]],
  ["src/api/", ["test/api", "test/conformance"]],
  ["src/nn/", ["test/nn", "test/attack/room-arguments.test.ts"]],
  ["src/optim/", ["test/optim", "test/conformance/cases-optim.test.ts"]],
  ["src/func/", ["test/func", "test/tensordict"]],
  ["src/distributions/", ["test/distributions", "test/tensordict", "test/attack/room-arguments.test.ts"]],
  ["src/tensordict/", ["test/tensordict", "test/attack/tensordict-arguments.test.ts"]],
  ["src/io/", ["test/io", "test/cli", "test/durability", "test/attack/room-arguments.test.ts"]],
  ["src/cli/", ["test/cli"]],
  ["src/cuda/", ["test/cuda"]],
  ["src/profiler/", ["test/profiler"]],
  ["src/testing/", ["test/testing", "test/errors"]],
  ["codegen/", ["test/codegen", "test/docs"]],
  ["codegen/schema/", ["test/codegen", "test/docs", "test/ops", "test/conformance", "test/autograd/gradcheck.test.ts"]],
  ["generated/", []],
  ["zig/src/cpu/", ["test/ops", "test/conformance"]],
  ["zig/src/cpu/random", ["test/ops", "test/conformance", "test/api", "test/nn"]],
  ["zig/src/io/", ["test/io", "test/durability", "test/attack/workers.test.ts"]],
  ["zig/src/cuda/", ["test/cuda"]],
  ["zig/src/gpu/", ["test/cuda"]],
  ["zig/", ["test/ops", "test/ffi", "test/conformance"]],
  ["docs/", ["test/docs"]],
  ["README.md", ["test/docs"]],
  ["examples/", ["test/docs"]],
  ["scripts/", ["test/codegen"]],
  ["scripts/docs/", ["test/docs"]],
];

/** Folders and files of tests, each once, none inside of another. */
export function reachedTests(paths: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    if (/\.test\.ts$/.test(path)) found.add(path);
    else if (path.startsWith("test/")) found.add(path.split("/").slice(0, 2).join("/"));
    let best: (typeof REACH)[number] | undefined;
    for (const row of REACH) if (path.startsWith(row[0]) && row[0].length > (best?.[0].length ?? -1)) best = row;
    for (const test of best?.[1] ?? []) found.add(test);
  }
  const all = [...found].sort();
  return all.filter((test) => !all.some((other) => other !== test && test.startsWith(`${other}/`)));
}
