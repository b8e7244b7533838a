/** What the allocator of a device counts. */
import { releaseParked } from "../ffi/device-blocks.ts";
import { addressOf, native } from "../ffi/library.ts";

/** As zig/src/cuda/statistics.zig has them. */
const FIGURES = [
  "allocation",
  "segment",
  "active",
  "inactive_split",
  "allocated_bytes",
  "reserved_bytes",
  "active_bytes",
  "inactive_split_bytes",
  "requested_bytes",
] as const;
const POOLS = ["all", "small_pool", "large_pool"] as const;
const FIELDS = ["current", "peak", "allocated", "freed"] as const;
const COUNTS = [
  "num_alloc_retries",
  "num_ooms",
  "num_sync_all_streams",
  "num_device_alloc",
  "num_device_free",
] as const;

/** Blocks are split whatever their size, so that none is over-size; and the driver is always asked. */
const UNUSED = ["oversize_allocations", "oversize_segments"] as const;

const ROW = POOLS.length * FIELDS.length;
/** Over a buffer of its own: the compiler moves the bytes of a small array that is a constant of compiled code. */
const numbers = new Float64Array(new ArrayBuffer(8 * (FIGURES.length * ROW + COUNTS.length)));

/** One number of a device, over both pools. */
export function figure(index: number, name: (typeof FIGURES)[number], field: "current" | "peak"): number {
  native.zs_cuda_memory_stats(index, addressOf(numbers));
  return numbers[FIGURES.indexOf(name) * ROW + FIELDS.indexOf(field)] as number;
}

/** All numbers under torch's names, sorted; null for a device that was not used yet. */
export function allFigures(index: number): Record<string, number> | null {
  // Their free neighbours are counted with them then.
  releaseParked();
  const used = native.zs_cuda_memory_stats(index, addressOf(numbers)) === 1;
  if (!used) return null;
  const found: [string, number][] = [["max_split_size", -1]];
  let i = 0;
  const next = (): number => numbers[i++] as number;
  for (const name of FIGURES) for (const p of POOLS) for (const f of FIELDS) found.push([`${name}.${p}.${f}`, next()]);
  for (const name of COUNTS) found.push([name, next()]);
  for (const name of UNUSED) for (const f of FIELDS) found.push([`${name}.${f}`, 0]);
  found.push(["num_oom_rejections", 0]);
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}
