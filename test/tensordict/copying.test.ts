// Conversions that copy between files: bytes of mapped tensors do not pass through this process's memory.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { arange, ones, type Tensor, TensorDict } from "../../src/index.ts";
import { copyMappedFiles } from "../../src/io/disk/tensor-bytes.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { fromSafetensors, loadMemmap, toSafetensors } from "../../src/tensordict/index.ts";
import { leastGrowth, temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(() => {
  copyMappedFiles(false);
  room.remove();
});

test("directory to archive to safetensors to directory, within a few megabytes", () => {
  const [first, archive, file, last] = ["first", "a.tdz", "b.safetensors", "last"].map((name) => join(room.path, name));
  const rows = 48 * 2 ** 20;
  new TensorDict({ big: arange(rows).to("float32"), n: { small: arange(7), odd: ones(3).t() } }).memmap(
    first as string,
  );
  copyMappedFiles(true);
  const convert = () => {
    loadMemmap(first as string, { mode: "r" }).memmap(archive as string);
    toSafetensors(loadMemmap(archive as string) as unknown as Td, file as string);
    fromSafetensors(file as string).memmap(last as string, { copyExisting: true });
  };
  expect(leastGrowth(convert)).toBeLessThan(64 * 2 ** 20);
  copyMappedFiles(false);
  const result = loadMemmap(last as string) as unknown as Td;
  const big = result.get("big") as Tensor;
  expect(big.shape.join()).toBe(String(rows));
  for (const at of [0, 12_345_678, rows - 1]) expect((big.at(at) as Tensor).item()).toBe(Math.fround(at));
  expect(big.equal(loadMemmap(first as string).get("big") as Tensor)).toBe(true);
  expect((result.get(["n", "small"]) as Tensor).tolist()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect((result.get(["n", "odd"]) as Tensor).tolist()).toEqual([1, 1, 1]);
}, 60_000);
