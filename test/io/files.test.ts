// File jobs and mappings: what they do, what they refuse, and that nothing is left behind.
import { JobFlag } from "../../generated/abi.ts";
import "../../src/install.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressOf, native } from "../../src/ffi/library.ts";
import { FileNotFoundError, OSError } from "../../src/io/base/errors.ts";
import { FileJobs, writing } from "../../src/io/disk/file-jobs.ts";
import { anonymousStorage, mapFile, mapFiles, mappedFileOf, sparseFile } from "../../src/io/disk/mapping.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { MemoryMappedTensor } from "../../src/tensordict/index.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "zensor-io-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function bytesAt(storage: { buffer(): ArrayBuffer }): Uint8Array {
  return new Uint8Array(storage.buffer());
}

describe("file jobs", () => {
  test("write many files with threads, in one call", () => {
    const jobs = new FileJobs();
    const data = Uint8Array.from({ length: 4096 }, (_, i) => i % 251);
    for (let i = 0; i < 40; i++) {
      const flags = JobFlag.write | JobFlag.create;
      jobs.add({ path: join(dir, `m${i}`), nbytes: 100 * i, data: addressOf(data), flags, keep: data });
    }
    expect(jobs.run(3)).toBe(0);
    for (let i = 0; i < 40; i++)
      expect(readFileSync(join(dir, `m${i}`))).toEqual(Buffer.from(data.subarray(0, 100 * i)));
  });

  test("a batch goes on after a failure and names it", () => {
    const jobs = new FileJobs();
    const data = new Uint8Array(8);
    const flags = JobFlag.write | JobFlag.create;
    jobs.add({ path: join(dir, "no", "such", "directory"), nbytes: 8, data: addressOf(data), flags });
    jobs.add({ path: join(dir, "fine"), nbytes: 8, data: addressOf(data), flags });
    expect(jobs.run()).toBe(1);
    expect(statSync(join(dir, "fine")).size).toBe(8);
    expect(() => jobs.throwFirstFailure()).toThrow(FileNotFoundError);
  });

  test("symbolic links are not followed when asked", () => {
    writeFileSync(join(dir, "target"), "untouched");
    symlinkSync(join(dir, "target"), join(dir, "link"));
    const data = new Uint8Array(4);
    const jobs = new FileJobs();
    jobs.add({
      path: join(dir, "link"),
      nbytes: 4,
      data: addressOf(data),
      flags: JobFlag.write | JobFlag.create | JobFlag.noFollow,
    });
    expect(jobs.run()).toBe(1);
    expect(() => jobs.throwFirstFailure()).toThrow("Refusing to write memory-mapped tensor through symlink");
    expect(readFileSync(join(dir, "target"), "utf8")).toBe("untouched");
  });

  test("an existing file can be an error", () => {
    writeFileSync(join(dir, "there"), "x");
    expect(() => sparseFile(join(dir, "there"), 10, { existsok: false })).toThrow(
      `The file ${join(dir, "there")} already exists.`,
    );
  });

  test("replacing a file of another size keeps old mappings whole", () => {
    const path = join(dir, "replaced");
    writeFileSync(path, Buffer.alloc(8192, 7));
    const old = mapFile(path, "r+");
    const jobs = new FileJobs();
    const data = new Uint8Array(16).fill(1);
    const flags = JobFlag.write | JobFlag.create | JobFlag.replace;
    jobs.add({ path, nbytes: 16, data: addressOf(data), flags });
    expect(jobs.run()).toBe(0);
    expect(statSync(path).size).toBe(16);
    expect(bytesAt(old).every((b) => b === 7)).toBe(true);
  });

  test("in the background, with progress and abort", async () => {
    const jobs = new FileJobs();
    const data = new Uint8Array(1 << 16);
    for (let i = 0; i < 8; i++) {
      const part = writing(data, 0, data.length);
      jobs.add({ ...part, path: join(dir, `b${i}`), flags: part.flags | JobFlag.create });
    }
    const seen: number[] = [];
    expect(await jobs.runInBackground(2, { onProgress: (done) => seen.push(done) })).toBe(0);
    expect(seen.at(-1)).toBe(8);
    const aborted = AbortSignal.abort();
    expect(jobs.runInBackground(1, { signal: aborted })).rejects.toThrow();
  });

  test("bad arguments have a status, not a crash", () => {
    expect(native.zs_io_run(3, 1, 1)).toBe(-1);
    expect(native.zs_io_run(Number.NaN, 1, 1)).toBe(-1);
    expect(native.zs_io_done(0)).toBe(-1);
    expect(native.zs_io_unmap(-1, 5)).toBeLessThan(0);
    const jobs = new FileJobs();
    jobs.add({ path: join(dir, "bad"), nbytes: -3, flags: JobFlag.map });
    expect(jobs.run()).toBe(1);
    expect(() => jobs.throwFirstFailure()).toThrow("bad arguments");
    expect(() => jobs.add({ path: "a\0b", nbytes: 0, flags: 0 })).toThrow("null byte");
  });
});

describe("mappings", () => {
  test("shared mappings write through, private ones do not", () => {
    const path = join(dir, "modes");
    writeFileSync(path, Buffer.alloc(64));
    bytesAt(mapFile(path, "c"))[0] = 9;
    bytesAt(mapFile(path, "r"))[1] = 9;
    expect(readFileSync(path).subarray(0, 2)).toEqual(Buffer.from([0, 0]));
    bytesAt(mapFile(path, "r+"))[0] = 9;
    expect(readFileSync(path)[0]).toBe(9);
  });

  test("a file that is too small is an error and stays as it is", () => {
    const path = join(dir, "small");
    writeFileSync(path, Buffer.alloc(4));
    expect(() => mapFile(path, "r+", 40)).toThrow(
      `file <${path}> size <4> is smaller than the required mapping size <40>`,
    );
    expect(statSync(path).size).toBe(4);
    truncateSync(path, 0);
    expect(() => mapFile(path, "r+", 4)).toThrow("smaller than");
  });

  test("many files are mapped all or none", () => {
    const before = native.zs_io_live_maps();
    writeFileSync(join(dir, "x1"), Buffer.alloc(10));
    const requests = [
      { path: join(dir, "x1"), nbytes: 10 },
      { path: join(dir, "missing"), nbytes: 10 },
    ];
    expect(() => mapFiles(requests, "r+")).toThrow(FileNotFoundError);
    expect(native.zs_io_live_maps()).toBe(before);
  });

  test("directories and pipes are refused", () => {
    expect(() => mapFile(dir, "r")).toThrow(OSError);
    expect(() => mapFile("/dev/zero", "r", 10)).toThrow();
  });

  test("a sparse file of hundreds of gigabytes takes no space", () => {
    const storage = anonymousStorage(1_000_000 * 3 * 480 * 480);
    expect(storage.nbytes).toBe(691_200_000_000);
    expect(mappedFileOf(storage)?.path).toBeNull();
    const path = join(dir, "sparse");
    sparseFile(path, 2 ** 36);
    expect(statSync(path).size).toBe(2 ** 36);
    expect(statSync(path).blocks).toBeLessThan(100);
  });

  test("the collector gives mappings back", () => {
    const path = join(dir, "collected");
    writeFileSync(path, Buffer.alloc(1 << 20));
    Bun.gc(true);
    const before = native.zs_io_live_maps();
    for (let i = 0; i < 300; i++) bytesAt(mapFile(path, "c"))[0] = i;
    Bun.gc(true);
    expect(native.zs_io_live_maps()).toBeLessThan(before + 150);
  });
});

describe.if(process.platform === "linux")("a file that is mapped already", () => {
  test("is not mapped twice for writing through", () => {
    const path = join(dir, "again");
    writeFileSync(path, Buffer.alloc(8192));
    const before = native.zs_io_live_maps();
    const [first, second] = [mapFile(path, "r+"), mapFile(path, "r+", 4096)];
    expect(native.zs_io_live_maps()).toBe(before + 1);
    expect(second.nbytes).toBe(4096);
    bytesAt(first)[7] = 9;
    expect(bytesAt(second)[7]).toBe(9);
    // Each owner goes for itself.
    first.claim();
    first.release();
    expect(native.zs_io_live_maps()).toBe(before + 1);
    bytesAt(second)[8] = 5;
    expect(readFileSync(path).subarray(6, 10)).toEqual(Buffer.from([0, 9, 5, 0]));
    second.claim();
    second.release();
    expect(native.zs_io_live_maps()).toBe(before);
  });

  test("is mapped anew when changes stay private, more is wanted, or another file has its name", () => {
    const path = join(dir, "anew");
    writeFileSync(path, Buffer.alloc(4096));
    const first = mapFile(path, "r+");
    const before = native.zs_io_live_maps();
    bytesAt(mapFile(path, "r"))[0] = 1;
    expect(bytesAt(first)[0]).toBe(0);
    truncateSync(path, 8192);
    const longer = mapFile(path, "r+");
    expect(longer.nbytes).toBe(8192);
    expect(native.zs_io_live_maps()).toBe(before + 2);
    rmSync(path);
    writeFileSync(path, Buffer.alloc(4096, 3));
    const other = mapFile(path, "r+");
    expect(native.zs_io_live_maps()).toBe(before + 3);
    expect([first, longer, other].map((storage) => bytesAt(storage)[0])).toEqual([0, 0, 3]);
  });

  test("is mapped anew when pages of the old mapping were lost", () => {
    const path = join(dir, "lost");
    writeFileSync(path, Buffer.alloc(16384, 1));
    const first = MemoryMappedTensor.fromFilename(path, { dtype: "uint8", shape: 16384 });
    truncateSync(path, 0);
    expect(() => first.sum()).toThrow("is shorter than when it was mapped");
    writeFileSync(path, Buffer.alloc(16384, 2));
    expect(MemoryMappedTensor.fromFilename(path, { dtype: "uint8", shape: 16384 }).sum().item()).toBe(32768);
  });
});

describe("a file that is cut short while it is mapped", () => {
  // Every way to its bytes: kernels, one element, all elements, copies, printed text.
  const uses: [string, (t: MemoryMappedTensor) => unknown][] = [
    ["sum", (t) => t.sum().item()],
    ["exp", (t) => t.exp()],
    ["item", (t) => (t.at(65535) as { item(): unknown }).item()],
    ["tolist", (t) => t.tolist()],
    ["clone", (t) => t.clone()],
    ["fill_", (t) => t.fill_(1)],
    ["String", (t) => String(t)],
    ["storage at", (t) => t.untypedStorage().at(65535)],
    ["storage tolist", (t) => t.untypedStorage().tolist()],
    ["storage String", (t) => String(t.untypedStorage())],
    ["storage clone", (t) => t.untypedStorage().clone()],
    ["storage fill_", (t) => t.untypedStorage().fill_(0)],
    ["typed storage String", (t) => String((t as Tensor).storage())],
    ["typed storage at", (t) => t.storage().at(65535)],
    ["integers String", (t) => String(t.view("int64"))],
    ["integer String", (t) => String(t.view("int64").at(-1))],
    ["bigint", (t) => (t.view("int64").at(-1) as Tensor).bigint()],
    ["typed storage of integers", (t) => String((t.view("int64") as Tensor).storage())],
    ["typedArray", (t) => t.typedArray()],
    ["typedArray of a part", (t) => (t.at("2:") as Tensor).typedArray()],
  ];
  for (const [name, use] of uses) {
    test(name, () => {
      const path = join(dir, `shrunk-${name.replaceAll(" ", "-")}.memmap`);
      const t = MemoryMappedTensor.full([65536], 3, { filename: path });
      truncateSync(path, 4096);
      const reason = `the file ${path} is shorter than when it was mapped`;
      expect(() => use(t)).toThrow(reason);
      if (process.platform === "linux") {
        // Each time, and for whoever else shows the file.
        expect(() => use(t)).toThrow(reason);
        expect(() => t.view(256, 256).at(200).clone()).toThrow(reason);
      }
      // The program goes on, with this file's first page and with everything else.
      const filled: Record<string, number> = { fill_: 1, "storage fill_": 0 };
      expect((t.at(0) as { item(): unknown }).item()).toBe(filled[name] ?? 3);
      expect(zeros([3]).sum().item()).toBe(0);
    });
  }
});
