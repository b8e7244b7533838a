// Files that another program replaces while they are read: a reader gets the old one or the new one, whole.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whileUnreplaced } from "../../src/io/disk/unreplaced.ts";
import { loadNpy } from "../../src/io/numpy/npy.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { loadSafetensors, SafetensorsFile, saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { fromConsolidated, fromSafetensors } from "../../src/tensordict/index.ts";

const room = mkdtempSync(join(tmpdir(), "zensor-unreplaced-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));

const entries = (td: { items(): Iterable<[unknown, unknown]> }) =>
  Object.fromEntries([...td.items()]) as Record<string, Tensor>;
const LOADERS: Record<string, ((path: string) => Record<string, Tensor>)[]> = {
  safetensors: [loadSafetensors, (path) => entries(fromSafetensors(path) as never)],
  npz: [loadNpz],
  npy: [(path) => ({ a: loadNpy(path) })],
  pt: [loadTorch],
  consolidated: [(path) => entries(fromConsolidated(path) as never)],
};

describe("a reader beside a writer", () => {
  for (const [format, loaders] of Object.entries(LOADERS)) {
    test(format, async () => {
      const folder = join(room, format);
      mkdirSync(folder);
      const program = join(import.meta.dir, "unreplaced-writer.ts");
      const child = Bun.spawn([process.execPath, program, folder, format], { stdout: "pipe", stderr: "inherit" });
      await child.stdout.getReader().read();
      const versions = new Set<number>();
      try {
        for (let i = 0; i < 1500 || versions.size < 10; i++) {
          for (const load of loaders) {
            const found = Object.values(load(join(folder, `saved.${format}`)));
            const values = found.flatMap((t) => t.tolist() as number[]);
            const n = values[0] as number;
            expect(values.every((value) => value === n)).toBe(true);
            expect(found[0]?.shape as readonly number[]).toEqual([40 + 8 * (n % 7)]);
            versions.add(n);
          }
        }
      } finally {
        child.kill("SIGKILL");
        await child.exited;
      }
    }, 60_000);
  }
});

test("an open file that was replaced before its bytes were asked for is an error; mapped before, it stays", () => {
  const [path, other] = [join(room, "one.safetensors"), join(room, "two.safetensors")];
  saveSafetensors({ a: zeros([100]) }, path);
  const [late, early] = [new SafetensorsFile(path), new SafetensorsFile(path)];
  const a = early.tensor("a");
  saveSafetensors({ b: zeros([100]).add(1) }, other);
  renameSync(other, path);
  expect(() => late.tensor("a")).toThrow("was replaced since it was opened");
  expect(early.tensor("a").max().item()).toBe(0);
  expect(a.max().item()).toBe(0);
});

test("what never stays the same ends, and errors of a file that stays are thrown at once", () => {
  const path = join(room, "changing.safetensors");
  const change = () => saveSafetensors({ a: zeros([1]) }, path);
  change();
  let runs = 0;
  const read = () => {
    runs++;
    change();
  };
  expect(() => whileUnreplaced(path, read)).toThrow("was replaced again and again");
  expect(runs).toBe(50);
  const failing = () => {
    runs++;
    throw new Error("damaged");
  };
  runs = 0;
  expect(() => whileUnreplaced(path, failing)).toThrow("damaged");
  expect(runs).toBe(1);
});

test.skipIf(process.platform === "win32")("a named pipe is refused, not waited for", () => {
  const path = join(room, "pipe.safetensors");
  expect(spawnSync("mkfifo", [path]).status).toBe(0);
  expect(() => loadSafetensors(path)).toThrow("not a regular file");
});
