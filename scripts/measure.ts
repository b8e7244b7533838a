// Figures of the library that are the same at every run, as JSON: what small calls ask of the native side, and which
// public operators have cases made by torch. Hardware counters of instructions are rare where CI runs; these are not.

import { K } from "../generated/kernels.ts";
import ops from "../generated/ops.json";
import { native } from "../src/ffi/library.ts";
import * as z from "../src/index.ts";
import { memoryCounters } from "../src/tensor/system.ts";
import { namesWithoutCases, publicNames } from "../test/conformance/covered.ts";

/** What is counted of one call. */
export interface CallPath {
  name: string;
  /** Native functions that it calls: kernels, allocations, everything. */
  natives: number;
  /** Blocks that it takes from the allocator, and their bytes. */
  blocks: number;
  bytes: number;
}

let calls = 0;

type Call = (...args: number[]) => number;

function counted(call: Call): Call {
  return (...args) => {
    calls++;
    return call(...args);
  };
}

/** Lets every native function and kernel count its calls. */
function watch(): void {
  const functions = native as unknown as Record<string, Call>;
  for (const [name, call] of Object.entries(functions)) functions[name] = counted(call);
  for (const kernel of Object.values(K)) {
    const open = kernel as unknown as { call: Call; fast: Call | null };
    open.call = counted(open.call);
    if (open.fast !== null) open.fast = counted(open.fast);
  }
}

function smallCalls(): Record<string, () => unknown> {
  const [x, y, row] = [z.ones(10), z.ones(10), z.ones(4, 1)];
  const [matrix, column] = [z.ones(4, 8), z.ones(8, 4)];
  const leaf = z.ones(10).requiresGrad_();
  const [large, whole] = [z.ones(400, 256), z.arange(10)];
  return {
    add: () => x.add(y),
    add_: () => x.add_(y),
    "add a number": () => x.add(2),
    "add, mixed dtypes": () => x.add(whole),
    "add, broadcast": () => row.add(x.narrow(0, 0, 4)),
    view: () => x.view(2, 5),
    at: () => x.at(3),
    "sum of a dimension": () => matrix.sum(0),
    softmax: () => matrix.softmax(1),
    matmul: () => matrix.matmul(column),
    cat: () => z.cat([x, y]),
    "transposed copy": () => matrix.t().contiguous(),
    "index select": () => x.indexSelect(0, whole),
    backward: () => leaf.mul(leaf).sum().backward(),
    "add, 400 KiB": () => large.add(large),
  };
}

/** Counts each call once, after the first one has made what stays. */
export function callPaths(): CallPath[] {
  watch();
  const kept: unknown[] = [];
  return Object.entries(smallCalls()).map(([name, call]) => {
    call();
    call();
    // A collection that is due would take part otherwise.
    Bun.gc(true);
    const before = memoryCounters();
    calls = 0;
    // It stays alive, so that what it holds is counted.
    kept.push(call());
    const natives = calls;
    const after = memoryCounters();
    const blocks = after.allocations - before.allocations;
    return { name, natives, blocks, bytes: after.requested - before.requested };
  });
}

if (import.meta.main) {
  const [names, missing] = [publicNames(), namesWithoutCases()];
  const open = ops.filter((op) => !op.internal);
  const onCuda = open.filter((op) => !("lacksOnCuda" in op)).length / open.length;
  const covered = names.size - missing.length;
  console.log(JSON.stringify({ operators: names.size, covered, onCuda, paths: callPaths() }));
}
