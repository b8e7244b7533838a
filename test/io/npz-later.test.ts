// Archives of arrays that are read while the program goes on: what `loadNpz` reads, without holding anything up.
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { arange, io, ones, randn, type Tensor, zeros } from "../../src/index.ts";
import { FileNotFoundError, FormatError } from "../../src/io/base/errors.ts";
import { refreshArchiveChecksums } from "../../src/io/memmap/archive-tools.ts";
import { npyHeader } from "../../src/io/numpy/npy-header.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { loadNpz, loadNpzAsync } from "../../src/io/numpy/npz-load.ts";
import { zipPieces } from "../../src/io/zip/zip-write.ts";
import type { DType } from "../../src/tensor/dtype.ts";
import { dtypeByName } from "../../src/tensor/dtype.ts";
import fixtures from "../fixtures/archives/numpy.json" with { type: "json" };
import { decoded, flipped, randomNumbers, roomFor } from "./archive-files.ts";

const room = roomFor("npz-later");
afterAll(room.remove);
const ARCHIVES = decoded(fixtures.archives);
const at = (name: string) => `${room.path}/${name}`;

function expectSame(found: Record<string, Tensor>, expected: Record<string, Tensor>): void {
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  for (const [name, tensor] of Object.entries(expected)) {
    const mine = found[name] as Tensor;
    expect([name, mine.dtype, [...mine.shape], mine.stride()]).toEqual([
      name,
      tensor.dtype,
      [...tensor.shape],
      tensor.stride(),
    ]);
    expect([name, mine.equal(tensor)]).toEqual([name, true]);
  }
}

/** An archive of one array in bytes of its own. */
function archive(name: string, content: Uint8Array, deflate: boolean, dtype?: string): string {
  const { pieces } = zipPieces([{ name: dtype ?? "a.npy", data: content, deflate }], { style: "numpy" });
  writeFileSync(at(name), "");
  for (const { data } of pieces) writeFileSync(at(name), data as Uint8Array, { flag: "a" });
  return at(name);
}

/** An array whose elements have their highest byte first. */
function bigEndian(dtype: string, shape: readonly number[], fortran: boolean): Uint8Array {
  const type = dtypeByName(dtype) as DType;
  const count = shape.reduce((product, n) => product * n, 1);
  const header = Buffer.from(npyHeader(type, shape, fortran))
    .toString("latin1")
    .replace("'<", "'>");
  const data = Buffer.alloc(count * type.itemsize);
  for (let i = 0; i < data.length; i++) data[i] = (i * 7 + (i >> 8)) & 63;
  return Buffer.concat([Buffer.from(header, "latin1"), data]);
}

describe("the same as loadNpz", () => {
  test("files of NumPy", async () => {
    for (const [name, bytes] of ARCHIVES) {
      if (!["named", "list", "compressed"].includes(name)) continue;
      const path = room.file(`${name}.npz`, bytes);
      expectSame(await io.loadNpzAsync(path), loadNpz(path));
    }
  });

  for (const compressed of [false, true]) {
    test(`large, small, empty and turned arrays${compressed ? ", compressed" : ""}`, async () => {
      const arrays = {
        large: randn(300, 1000),
        s: arange(3),
        none: zeros(0, 4),
        turned: randn(200, 300).t(),
        // Behind a name of odd length nothing is aligned.
        odd: arange(100_001),
        complex: randn(40_000, { dtype: "complex64" }),
        bytes: zeros(70_000, { dtype: "uint8" }),
        constant: ones(1000, 1000),
      };
      saveNpz(at("all.npz"), arrays, { compressed });
      const seen: [number, number][] = [];
      const found = await loadNpzAsync(at("all.npz"), { onProgress: (done, total) => void seen.push([done, total]) });
      expectSame(found, loadNpz(at("all.npz")));
      expect(seen.map(([done]) => done)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(seen.at(-1)).toEqual([8, 8]);
      // Changes are private, unless they are to reach the file.
      found.large?.fill_(0);
      expect((await loadNpzAsync(at("all.npz"))).large?.equal(arrays.large)).toBe(true);
    });

    test(`elements with their highest byte first${compressed ? ", compressed" : ""}`, async () => {
      for (const dtype of ["int16", "float32", "float64", "complex64", "complex128"]) {
        for (const [shape, fortran] of [
          [[50_003], false],
          [[251, 199], true],
          [[3], false],
        ] as const) {
          const path = archive("big.npz", bigEndian(dtype, shape, fortran), compressed);
          expectSame(await loadNpzAsync(path), loadNpz(path));
        }
      }
    });
  }

  test("stored arrays are compared with their checksums", async () => {
    const path = at("damaged.npz");
    // One that can be mapped, one that is copied, and one that takes several steps.
    saveNpz(path, { a: arange(3), bb: ones(5), ccc: zeros(1_000_000, { dtype: "uint8" }) });
    const bytes = readFileSync(path);
    for (const name of ["a", "bb", "ccc"]) {
      const from = bytes.indexOf(`${name}.npy`);
      const damaged = Buffer.from(bytes);
      const place = bytes.indexOf("NUMPY", from) + (name === "ccc" ? 900_000 : 130);
      damaged[place] = (damaged[place] as number) ^ 1;
      writeFileSync(path, damaged);
      const message = `entry "${name}.npy": its content does not match its checksum`;
      expect(() => loadNpz(path)).toThrow(message);
      await expect(loadNpzAsync(path)).rejects.toThrow(message);
      expect(Object.keys(loadNpz(path, { verify: false }))).toEqual(["a", "bb", "ccc"]);
      expect(Object.keys(await loadNpzAsync(path, { verify: false }))).toEqual(["a", "bb", "ccc"]);
    }
  });

  test("writes reach the file when asked for", async () => {
    saveNpz(at("shared.npz"), { a: zeros(100_000, { dtype: "uint8" }) });
    (await loadNpzAsync(at("shared.npz"), { mode: "r+" })).a?.fill_(7);
    const last = (of: Record<string, Tensor>) => (of.a as Tensor).select(0, 99_999).item();
    expect(last(loadNpz(at("shared.npz"), { verify: false }))).toBe(7);
    // The checksum is that of the zeros, until it is computed again.
    expect(() => loadNpz(at("shared.npz"))).toThrow('entry "a.npy": its content does not match its checksum');
    await expect(loadNpzAsync(at("shared.npz"))).rejects.toThrow("does not match its checksum");
    refreshArchiveChecksums(at("shared.npz"));
    expect(last(loadNpz(at("shared.npz")))).toBe(7);
    saveNpz(at("packed.npz"), { a: zeros(3) }, { compressed: true });
    await expect(loadNpzAsync(at("packed.npz"), { mode: "r+" })).rejects.toThrow(/is compressed/);
  });
});

describe("hostile files", () => {
  /** Changes a number of the archive's local header and directory. */
  function lying(content: Uint8Array, change: (bytes: Buffer, local: number, central: number) => void): string {
    const path = archive("lying.npz", content, true);
    const bytes = readFileSync(path);
    change(bytes, bytes.indexOf("PK\x03\x04"), bytes.indexOf("PK\x01\x02"));
    writeFileSync(path, bytes);
    return path;
  }
  const next = randomNumbers(1);
  const random = new Uint8Array(400_000).map(() => next() & 127);
  const array = Buffer.concat([npyHeader(dtypeByName("uint8") as DType, [random.length], false), random]);
  const both = async (path: string) => {
    const messages = [];
    for (const load of [loadNpz, loadNpzAsync]) {
      const error = await (async () => await load(path))().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(FormatError);
      messages.push((error as Error).message);
    }
    expect(messages[1]).toBe(messages[0]);
    return messages[0] as string;
  };

  test("sizes, checksums and deflate data that are wrong", async () => {
    expect(loadNpz(archive("good.npz", array, true)).a?.numel()).toBe(random.length);
    const size = (n: number) => (bytes: Buffer, local: number, central: number) => {
      // Local headers of NumPy have both sizes elsewhere, unless these are there.
      bytes.writeUInt32LE(bytes.readUInt32LE(central + 20), local + 18);
      bytes.writeUInt32LE(n, local + 22);
      bytes.writeUInt32LE(n, central + 24);
    };
    for (const n of [array.length + 1, array.length * 2]) {
      expect(await both(lying(array, size(n)))).toMatch(/its sizes are not those of its content/);
    }
    expect(await both(lying(array, size(2 ** 29)))).toMatch(/it cannot grow to the size it claims/);
    expect(await both(lying(array, size(2 ** 31)))).toMatch(/bytes would become 2147483648: more than 1073741824 are/);
    expect(
      await both(
        lying(array, (bytes, local, central) => {
          bytes.writeUInt32LE(1, local + 14);
          bytes.writeUInt32LE(1, central + 16);
        }),
      ),
    ).toMatch(/does not match its checksum/);
    expect(await both(lying(array, (bytes) => bytes.fill(0xff, 200_000, 200_100)))).toMatch(
      /damaged deflate data|checksum|sizes/,
    );
    // More than the directory says: it stops there, however much would follow.
    const shorter = lying(array, size(array.length - 1000));
    await expect(loadNpzAsync(shorter)).rejects.toThrow(FormatError);
  });

  test("a bomb is stopped at the size that was claimed", async () => {
    const zeroes = deflateRawSync(Buffer.alloc(2 ** 28));
    const claimed = 100_000;
    const path = archive("bomb.npz", array, true);
    const bytes = readFileSync(path);
    const [central, end] = [bytes.indexOf("PK\x01\x02"), bytes.indexOf("PK\x05\x06")];
    const local = Buffer.from(bytes.subarray(0, 30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28)));
    for (const [buffer, offset] of [
      [local, 18],
      [bytes, central + 20],
    ] as const) {
      buffer.writeUInt32LE(zeroes.length, offset);
      buffer.writeUInt32LE(claimed, offset + 4);
    }
    bytes.writeUInt32LE(local.length + zeroes.length, end + 16);
    writeFileSync(path, Buffer.concat([local, zeroes, bytes.subarray(central)]));
    const before = process.memoryUsage().rss;
    await expect(loadNpzAsync(path)).rejects.toThrow(/sizes are not those of its content/);
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 27);
  });

  test("cuts and flipped bits", async () => {
    const whole = ARCHIVES.get("compressed") as Buffer;
    for (let length = 0; length < whole.length; length += 50) {
      await expect(loadNpzAsync(room.file("cut.npz", whole.subarray(0, length)))).rejects.toThrow(FormatError);
    }
    const large = readFileSync(archive("flip.npz", array, true));
    for (const bytes of flipped(large, 60, 5)) {
      const path = room.file("flipped.npz", bytes);
      const outcomes = await Promise.allSettled([(async () => loadNpz(path))(), loadNpzAsync(path)]);
      expect(outcomes[1].status).toBe(outcomes[0].status);
      if (outcomes[1].status === "rejected") expect(outcomes[1].reason).toBeInstanceOf(FormatError);
    }
  });

  test("files that change meanwhile, that are none, or are no arrays", async () => {
    await expect(loadNpzAsync(at("nothing.npz"))).rejects.toThrow(FileNotFoundError);
    await expect(loadNpzAsync(room.path)).rejects.toThrow(/not a regular file|directory/);
    await expect(loadNpzAsync(archive("text.npz", array, true, "a.txt"))).rejects.toThrow(/does not end with .npy/);
    const path = archive("shrinks.npz", array, true);
    const loading = loadNpzAsync(path);
    truncateSync(path, statSync(path).size >> 1);
    await expect(loading).rejects.toThrow(/has changed|became shorter/);
  });
});

describe("while the program goes on", () => {
  const large = { a: randn(5_000_000), b: zeros(20_000_000), c: arange(1000) };

  test("a signal ends it with its reason, and no file stays open", async () => {
    saveNpz(at("large.npz"), large, { compressed: true });
    const open = () => (process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0);
    const before = open();
    await expect(loadNpzAsync(at("large.npz"), { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    const controller = new AbortController();
    const loading = loadNpzAsync(at("large.npz"), { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 20);
    const start = performance.now();
    await expect(loading).rejects.toThrow("enough");
    expect(performance.now() - start).toBeLessThan(1000);
    for (let i = 0; i < 100 && open() > before; i++) await Bun.sleep(5);
    expect(open()).toBeLessThanOrEqual(before);
  });

  test("a file that is replaced meanwhile is read again", async () => {
    saveNpz(at("replaced.npz"), { a: zeros(2_000_000), b: zeros(1) }, { compressed: true });
    const before = statSync(at("replaced.npz")).ino;
    let replaced = false;
    const onProgress = () => {
      if (!replaced) saveNpz(at("replaced.npz"), { a: ones(2_000_000), b: ones(1), c: ones(2) });
      replaced = true;
    };
    const found = await loadNpzAsync(at("replaced.npz"), { onProgress });
    expect(statSync(at("replaced.npz")).ino).not.toBe(before);
    expectSame(found, loadNpz(at("replaced.npz")));
    expect(Object.keys(found)).toEqual(["a", "b", "c"]);
  });

  test("the loop goes round often", async () => {
    saveNpz(at("large.npz"), large, { compressed: true });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const start = performance.now();
    const found = await loadNpzAsync(at("large.npz"));
    const time = performance.now() - start;
    clearInterval(timer);
    expect(turns).toBeGreaterThan(time / 40);
    expectSame(found, loadNpz(at("large.npz")));
  });
});
