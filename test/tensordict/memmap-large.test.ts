// Memory-mapped tensors larger than the memory: mappings of sparse files, of which the used pages exist only.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { MemoryMappedTensor } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

function residentBytes(): number {
  if (process.platform !== "linux") return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}

test("hundreds of gigabytes, of which only the used pages exist", () => {
  const images = MemoryMappedTensor.empty([1_000_000, 3, 480, 480], { dtype: "uint8" });
  expect(images.nbytes).toBe(691_200_000_000);
  const batch = images.at("0:10");
  expect(batch).toBeInstanceOf(MemoryMappedTensor);
  expect(batch.shape).toEqual([10, 3, 480, 480] as never);
  images.at(999_999).fill_(3);
  expect(images.at(-1, 2, 479, 479).item()).toBe(3);
  expect(images.at(500_000, 0, 0, 0).item()).toBe(0);
});

test("a slice of a sparse file of 691 GB reads and writes its own pages only", () => {
  const path = join(room.path, "images.memmap");
  const images = MemoryMappedTensor.empty([1_000_000, 3, 480, 480], { dtype: "uint8", filename: path });
  expect(statSync(path).size).toBe(691_200_000_000);
  const before = residentBytes();
  images.at("700000:700010").fill_(7);
  // Ten images of 675 KiB, in memory and on the disk.
  expect((images.at("700000:700020") as Tensor).sum().item()).toBe(7 * 10 * 3 * 480 * 480);
  expect(residentBytes() - before).toBeLessThan(64 * 2 ** 20);
  expect(statSync(path).blocks * 512).toBeLessThan(16 * 2 ** 20);
  const again = MemoryMappedTensor.fromFilename(path, { dtype: "uint8", shape: [1_000_000, 3, 480, 480] });
  expect((again.at(700_009, 2, 479, 479) as Tensor).item()).toBe(7);
  expect((again.at(999_999) as Tensor).sum().item()).toBe(0);
});

test("typed arrays over parts of what no buffer can hold", () => {
  const huge = MemoryMappedTensor.empty([1200, 1024, 1024], { filename: join(room.path, "huge") });
  const [first, second, last] = [0, 1, 1199].map((i) => huge.at(i).typedArray() as Float32Array);
  for (const [i, part] of [first, second, last].entries()) {
    expect(part?.length).toBe(1024 * 1024);
    (part as Float32Array)[7] = i + 1;
  }
  expect([0, 1, 1199].map((i) => huge.at(i, 0, 7).item())).toEqual([1, 2, 3]);
  expect(() => huge.typedArray()).toThrow("a typed array holds at most 4294967296 bytes, not 5033164800");
  expect(huge.untypedStorage().dataPtr()).toBeGreaterThan(0);
  // Each part owns the mapping as well.
  huge.dispose();
  expect([first, second, last].map((part) => part?.[7])).toEqual([1, 2, 3]);
});
