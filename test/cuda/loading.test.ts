// Files that are loaded to devices: every reader gives there what it gives on the CPU.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import * as z from "../../src/index.ts";
import { runSteps } from "../../src/io/base/steps.ts";
import { type GpuRead, readingToGpu } from "../../src/io/disk/gpu-reads.ts";
import { fileBehind } from "../../src/io/disk/mapping.ts";
import { placeAll } from "../../src/io/disk/placing.ts";
import { TensorFile } from "../../src/io/disk/tensor-file.ts";
import { toDevice } from "../../src/tensor/device.ts";
import { LOADERS, writeSamples } from "../io/loaders.ts";
import { available, control, counter, driverLibrary, emulated } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const folder = mkdtempSync(join(tmpdir(), "zensor-loading-"));
beforeAll(() => writeSamples(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const all = (tensors: Record<string, z.Tensor>) =>
  Object.entries(tensors).map(([name, t]) => [name, String(t.dtype), t.stride(), t.cpu().tolist()]);

describe.if(available)("loading to a device", () => {
  test.each(Object.entries(LOADERS))("%s", (_, load) => {
    const there = load(folder, { device: "cuda" });
    expect([...new Set(Object.values(there).map((t) => String(t.device)))]).toEqual(["cuda:0"]);
    expect(all(there)).toEqual(all(load(folder, {})));
  });
});

const at = (name: string) => join(folder, name);
const readToGpu = (reads: GpuRead[]) => runSteps(readingToGpu(reads, toDevice("cuda")));

/** A safetensors file whose data begins at any byte. */
function unaligned(path: string, data: Buffer, entries: Record<string, [string, number[], number, number]>): void {
  const outline = Object.fromEntries(
    Object.entries(entries).map(([name, [dtype, shape, begin, end]]) => [
      name,
      { dtype, shape, data_offsets: [begin, end] },
    ]),
  );
  const text = JSON.stringify(outline);
  const header = Buffer.from(text.padEnd(text.length + ((text.length + 1) % 2)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path, Buffer.concat([length, header, data]));
}

/** Bytes that tensors have on the device, and those of pinned blocks that somebody has. */
const held = () => [z.cuda.memoryAllocated(), native.zs_cuda_host_live_bytes()];

describe.if(available)("what is read into pinned memory", () => {
  test.if(emulated)(
    "in more pieces than there are blocks, by streams that run late",
    () => {
      const count = 25 * 2 ** 20;
      const tensors = { small: z.arange(1000), large: z.arange(count, { dtype: "float32" }), last: z.ones(3) };
      z.saveSafetensors(tensors, at("large.safetensors"));
      z.cuda.emptyCache();
      const [blocks, copies] = [counter("host_allocations"), counter("copies")];
      control("later", 1);
      try {
        const there = z.loadSafetensors(at("large.safetensors"), { device: "cuda" });
        expect(counter("copies") - copies).toBe(6);
        for (const [name, t] of Object.entries(tensors)) {
          expect(z.equal((there[name] as z.Tensor).cpu(), t)).toBe(true);
        }
        const sent = counter("host_allocations") - blocks;
        for (const t of Object.values(there)) t.dispose();
        // The way back needs no more than the way there.
        expect(sent).toBeLessThanOrEqual(3);
      } finally {
        z.cuda.synchronize();
        control("later", 0);
      }
    },
    20_000,
  );

  test("from any byte, in any order of bytes and dimensions", () => {
    const data = Buffer.alloc(29);
    [1.5, -2, 3].forEach((n, i) => void data.writeFloatLE(n, 4 * i));
    data.writeUInt8(7, 12);
    [0.1, 1e300].forEach((n, i) => void data.writeDoubleLE(n, 13 + 8 * i));
    unaligned(at("odd.safetensors"), data, {
      a: ["F32", [3], 0, 12],
      b: ["U8", [1], 12, 13],
      c: ["F64", [2], 13, 29],
    });
    const odd = z.loadSafetensors(at("odd.safetensors"), { device: "cuda" });
    expect(Object.values(odd).map((t) => t.tolist())).toEqual([[1.5, -2, 3], [7], [0.1, 1e300]]);
    const header = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }".padEnd(69).concat("\n");
    const npy = Buffer.concat([Buffer.from("\x93NUMPY\x01\0", "latin1"), Buffer.from([70, 0]), Buffer.from(header)]);
    const values = Buffer.alloc(24);
    [0, 3, 1, 4, 2, 5].forEach((n, i) => void values.writeInt32BE(n, 4 * i));
    writeFileSync(at("big.npy"), Buffer.concat([npy, values]));
    const big = z.io.loadNpy(at("big.npy"), { device: "cuda" });
    expect([big.tolist(), big.stride()]).toEqual([
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      [1, 2],
    ] as never);
  });

  test("comes from the file, unless somebody had it before", () => {
    z.io.saveNpy(at("own.npy"), z.arange(4));
    const mapped = new TensorFile(at("own.npy"), 160).tensor(z.int64, [4], 128);
    mapped.fill_(9);
    expect(placeAll([mapped], toDevice("cuda"), "test")[0]?.tolist()).toEqual([0, 1, 2, 3]);
    expect(mapped.to("cuda").tolist()).toEqual([9, 9, 9, 9]);
    // What is only read from there needs no copy at a better address.
    const odd = new TensorFile(at("own.npy"), 160, "c", { device: toDevice("cuda") }).tensor(z.int64, [3], 129);
    expect(fileBehind(odd._storage)?.path).toBe(at("own.npy"));
    z.save({ x: z.ones(3) }, at("own.pt"));
    const changed = (storage: z.UntypedStorage) => (storage.fill_(0), "cuda" as const);
    expect(z.io.loadTorch(at("own.pt"), { mapLocation: changed }).x.tolist()).toEqual([0, 0, 0]);
  });

  test("tensors far from one another, twice the same, and of several files", () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, i) => i % 251));
    writeFileSync(at("x.bin"), bytes);
    writeFileSync(at("y.bin"), bytes.subarray(1));
    const spots: [string, number, number][] = [
      ["x.bin", 90_000, 10_000],
      ["x.bin", 3, 5],
      ["y.bin", 7, 40_000],
      ["x.bin", 3, 5],
      ["x.bin", 5, 60_000],
      ["x.bin", 100, 10],
    ];
    const tensors = spots.map(([, , n]) => z.zeros(n, { dtype: "uint8", device: "cuda" }));
    readToGpu(spots.map(([name, offset], i) => ({ to: tensors[i] as z.Tensor, path: at(name), offset })));
    const right = spots.map(([name, offset, n]) => {
      const begin = offset + (name === "y.bin" ? 1 : 0);
      return [...bytes.subarray(begin, begin + n)];
    });
    expect(tensors.map((t) => t.tolist()) as unknown).toEqual(right);
  });
});

describe.if(available)("loads that fail", () => {
  const names = ["a", "b", "c"];
  const save = () =>
    z.saveSafetensors(Object.fromEntries(names.map((n) => [n, z.arange(1000)])), at("some.safetensors"));
  const load = () => z.loadSafetensors(at("some.safetensors"), { device: "cuda" });

  test("say why, and hold nothing", () => {
    save();
    const before = held();
    const to = z.zeros(2000, { dtype: "uint8", device: "cuda" });
    const read =
      (path: string, offset = 0) =>
      () =>
        readToGpu([{ to, path, offset }]);
    writeFileSync(at("short.bin"), Buffer.alloc(1500));
    expect(read(at("short.bin"))).toThrow(`${at("short.bin")}: the file became shorter while it was read`);
    expect(read(at("short.bin"), 9000)).toThrow("became shorter");
    expect(read(at("none.bin"))).toThrow("No such file");
    expect(read(folder)).toThrow(/is not a regular file|Is a directory/);
    to.dispose();
    const file = new z.io.SafetensorsFile(at("some.safetensors"), { device: "cuda" });
    file.tensor("a").dispose();
    z.saveSafetensors({ a: z.zeros(1000) }, at("other.safetensors"));
    renameSync(at("other.safetensors"), at("some.safetensors"));
    expect(() => file.tensor("b")).toThrow(/was replaced/);
    expect(held()).toEqual(before);
  });

  test.if(emulated)("for want of memory on the device", () => {
    save();
    // Whoever finds no memory collects first.
    Bun.gc(true);
    z.cuda.emptyCache();
    const before = held();
    for (const left of [0, 1, 2]) {
      control("allocations_left", left);
      try {
        expect(() =>
          placeAll(
            [1, 2, 3].map(() => z.ones(2 ** 22)),
            toDevice("cuda"),
            "test",
          ),
        ).toThrow(/out of memory/);
      } finally {
        control("allocations_left", 2 ** 40);
      }
      expect(held()).toEqual(before);
      z.cuda.emptyCache();
    }
    for (const t of Object.values(load())) t.dispose();
    expect(held()).toEqual(before);
  });

  test.if(emulated)("for a device that is lost", () => {
    save();
    for (const t of Object.values(load())) t.dispose();
    const before = held();
    control("lost", 999);
    try {
      expect(load).toThrow("CUDA error: unknown error");
    } finally {
      control("lost", 0);
    }
    expect(held()).toEqual(before);
    const again = load();
    expect(again.a?.tolist()).toEqual(z.arange(1000).tolist());
    for (const t of Object.values(again)) t.dispose();
  });

  test("give all of it back when they are dropped, a thousand times", () => {
    save();
    const gone = new z.io.SafetensorsFile(at("some.safetensors"), { device: "cuda" });
    gone.tensor("a").dispose();
    save();
    z.cuda.emptyCache();
    const [before, blocks] = [held(), counter("host_allocations")];
    for (let i = 0; i < 1000; i++) {
      for (const t of Object.values(load())) t.dispose();
      expect(() => gone.tensor("b")).toThrow("was replaced");
    }
    expect(held()).toEqual(before);
    z.cuda.emptyCache();
    expect(counter("host_allocations")).toBe(blocks);
  });
});
