// Tensors that are not contiguous on their way into files: which bytes are copied, when, and what stays in memory.
import { JobFlag } from "../../generated/abi.ts";
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import { addressOf } from "../../src/ffi/memory.ts";
import { arange, type Tensor, TensorDict, viewAsComplex, zeros } from "../../src/index.ts";
import { Slices } from "../../src/io/base/slices.ts";
import { FileJobs } from "../../src/io/disk/file-jobs.ts";
import { gather, gatheredWindows, gatherInSlices, type StridedBytes } from "../../src/io/disk/strided-bytes.ts";
import { bytesToWrite, nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";

const MIB = 2 ** 20;
const room = temporaryDirectory();
afterAll(room.remove);
const { fresh } = room;

const flat = arange(2 * 3 * 40 * 120);
const numbers = viewAsComplex(arange(18_000).float().view(9000, 2));
const SOURCES: Record<string, Tensor> = {
  transposed: flat.view(240, 120).t(),
  "three dimensions turned": flat.view(6, 40, 120).permute([2, 0, 1]),
  "every third column": flat.view(240, 120).narrow(1, 3, 90).slice(1, 0, 90, 3),
  "a narrow strip": flat.view(4, 7200).narrow(1, 100, 2500),
  expanded: arange(120).view(1, 120, 1).expand([40, 120, 3]),
  "one dimension with steps": flat.slice(0, 5, 28_000, 2),
  "bytes, one dimension of one": flat.view(1, 240, 120).to("uint8").transpose(1, 2),
  conjugate: numbers.conj(),
  "conjugate, transposed": numbers.view(90, 100).t().conj(),
  negative: numbers.conj().imag,
};

describe("parts have the bytes of the contiguous tensor", () => {
  for (const [name, tensor] of Object.entries(SOURCES)) {
    test(name, async () => {
      const source = bytesToWrite(tensor) as StridedBytes;
      expect(source.strided).toBeDefined();
      const plain = nativeBytes(tensor);
      const whole = new Uint8Array(plain.nbytes);
      gather({ tensor: plain.keep, offset: 0, nbytes: plain.nbytes }, addressOf(whole), whole);
      expect(source.nbytes).toBe(whole.length);
      const { itemsize } = tensor.dtype;
      const elements = whole.length / itemsize;
      for (const [from, to] of borders(elements)) {
        const part = { tensor: source.strided, offset: from * itemsize, nbytes: (to - from) * itemsize };
        for (const run of [gather, gatherInSlices]) {
          const bytes = new Uint8Array(part.nbytes + 2048).fill(77);
          await run(part, addressOf(bytes) + 1024, bytes, new Slices());
          expect(Buffer.compare(bytes.subarray(1024, -1024), whole.subarray(part.offset, to * itemsize))).toBe(0);
          expect(bytes.subarray(0, 1024).every((byte) => byte === 77)).toBe(true);
          expect(bytes.subarray(-1024).every((byte) => byte === 77)).toBe(true);
        }
      }
      const windows = Array.from(gatheredWindows(source, 1000 * itemsize), (window) => window.slice());
      expect(windows).toHaveLength(Math.ceil(elements / 1000));
      expect(Buffer.compare(Buffer.concat(windows), whole)).toBe(0);
    });
  }
});

/** Some first and last elements, rows' borders and others. */
function borders(elements: number): [number, number][] {
  const list: [number, number][] = [
    [0, elements],
    [0, 1],
    [elements - 1, elements],
    [1, elements - 1],
  ];
  let state = 7;
  const next = (n: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
  for (let i = 0; i < 40; i++) {
    const from = next(elements);
    list.push([from, from + 1 + next(elements - from)]);
  }
  return list;
}

test("what is small, contiguous or without bytes is not put off", () => {
  expect("address" in bytesToWrite(flat)).toBe(true);
  expect("address" in bytesToWrite(zeros(60, 60).t())).toBe(true);
  expect("address" in bytesToWrite(zeros(0, 60).t())).toBe(true);
  const gone = zeros(100, 100).t();
  gone.dispose();
  expect(() => bytesToWrite(gone)).toThrow("disposed");
});

describe("jobs in several batches", () => {
  /** More than half of what is copied at a time. */
  const LARGE = 130 * MIB;
  const expanded = (value: number) =>
    zeros(1)
      .add(value)
      .expand([LARGE / 4]) as Tensor;
  const jobsOf = (paths: readonly string[], sources: readonly Tensor[]) => {
    const jobs = new FileJobs();
    const flags = JobFlag.write | JobFlag.create | JobFlag.map | JobFlag.shared | JobFlag.writable;
    for (const [i, path] of paths.entries()) {
      const strided = { tensor: sources[i] as Tensor, offset: 0, nbytes: LARGE };
      jobs.add({ path, flags, nbytes: LARGE, strided });
    }
    return jobs;
  };
  const state = () => [native.zs_live_bytes(), native.zs_io_live_maps()];
  const run = { now: (jobs: FileJobs) => jobs.run(), later: (jobs: FileJobs) => jobs.runInBackground() };

  for (const [name, begin] of Object.entries(run)) {
    test(`${name}: after a failure no other batch begins, and everything is given back`, async () => {
      const folder = fresh();
      const sources = [1, 2, 3].map(expanded);
      Bun.gc(true);
      const before = state();
      const paths = ["a", "none/b", "c"].map((file) => join(folder, file));
      const jobs = jobsOf(paths, sources);
      expect(await begin(jobs)).toBe(1);
      expect(() => jobs.throwFirstFailure()).toThrow(/No such file or directory: '.*none\/b'/);
      expect(readdirSync(folder)).toEqual(["a"]);
      expect(statSync(paths[0] as string).size).toBe(LARGE);
      expect(new Float32Array(readFileSync(paths[0] as string).buffer).every((value) => value === 1)).toBe(true);
      expect(state()).toEqual(before);
      rmSync(folder, { recursive: true });
    });

    test(`${name}: so it is when a source cannot be read`, async () => {
      const folder = fresh();
      const sources = [1, 2, 3].map(expanded);
      Bun.gc(true);
      const before = state();
      const jobs = jobsOf(
        ["a", "b", "c"].map((file) => join(folder, file)),
        sources,
      );
      sources[1]?.dispose();
      let error: unknown;
      try {
        await begin(jobs);
      } catch (thrown) {
        error = thrown;
      }
      expect(String(error)).toContain("disposed");
      // In the background its turn comes while the first one is written.
      if (name === "now") expect(readdirSync(folder)).toEqual(["a"]);
      else expect(readdirSync(folder)).not.toContain("c");
      expect(state()).toEqual(before);
      rmSync(folder, { recursive: true });
    });
  }
});

test("tensors mapped from the files that are written over: turned, and each in the other's place", async () => {
  for (const later of [false, true]) {
    const path = join(fresh(), "saved");
    const make = (add: number) => arange(90_000).float().add(add).view(300, 300);
    (new TensorDict({ a: make(0), b: make(0.5) }, []) as unknown as Td).memmap(path);
    const mapped = TensorDict.loadMemmap(path);
    const td = new TensorDict({ a: mapped.at("b").t(), b: mapped.at("a").t() }, []) as unknown as Td;
    if (later) await td.memmapAsync(path, { copyExisting: true });
    else td.memmap(path, { copyExisting: true });
    const saved = TensorDict.loadMemmap(path);
    expect(saved.at("a").eq(make(0.5).t()).all().item()).toBe(true);
    expect(saved.at("b").eq(make(0).t()).all().item()).toBe(true);
  }
});

describe.skipIf(process.platform !== "linux")("600 MB of transposed tensors take 300 MB of memory at most", () => {
  for (const method of ["memmap", "memmapAsync", ".tdz"]) {
    test(method, () => {
      const folder = fresh();
      const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "strided-child.ts"), method, folder]);
      expect(child.stderr.toString()).toBe("");
      const { grown, equal, live, left } = JSON.parse(child.stdout.toString());
      expect(grown).toBeLessThan(300 * MIB);
      expect(equal).toBe(true);
      // Less where something else was collected meanwhile.
      expect(live).toBeLessThanOrEqual(0);
      expect(left).toEqual(method.endsWith("Async") ? ["saved"] : null);
      rmSync(folder, { recursive: true });
      expect(existsSync(folder)).toBe(false);
    }, 60_000);
  }
});

test("a tensor that reaches beyond its storage's present end is refused before it is its turn", () => {
  const tensor = zeros(100, 200).t();
  tensor.untypedStorage().resize_(8);
  expect(() => bytesToWrite(tensor)).toThrow("which was resized to 8 bytes since");
});
