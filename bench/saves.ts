// Saving to fresh folders, one after the other.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tensor, TensorDict } from "zensor";
import type { Side } from "./case.ts";

const root = () => process.env.ZENSOR_BENCH_DIR ?? tmpdir();

/** The file systems that benchmarks of files have been run on, by the number that the system gives them. */
const FILE_SYSTEMS: Record<number, string> = { 61267: "ext4", 16914836: "tmpfs", 1481003842: "XFS" };

/** Where the files lie, for the head of a table. */
export function fileSystem(): string {
  const { type } = statfsSync(root());
  return FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`;
}

/** An empty folder for files. */
export function benchFolder(): string {
  return mkdtempSync(join(root(), "zensor-bench-"));
}

/** Gives back what a save mapped. */
function giveBack(result: unknown): void {
  if (!(result instanceof TensorDict)) return;
  for (const leaf of result.values({ includeNested: true, leavesOnly: true })) {
    if (leaf instanceof Tensor) leaf.dispose();
  }
}

/**
 * Saves to a fresh folder each time; removing it does not count. Giving the result back does, as Python's result goes
 * when its last reference does: files that are removed while they are mapped would keep their memory.
 */
export function saves(save: (folder: string) => unknown): Side {
  const once = () => {
    const folder = benchFolder();
    try {
      const start = performance.now();
      giveBack(save(folder));
      return (performance.now() - start) / 1000;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return {
    run(n) {
      let seconds = 0;
      for (let i = 0; i < n; i++) seconds += once();
      return seconds;
    },
  };
}
