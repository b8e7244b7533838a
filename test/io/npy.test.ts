// NumPy's files: what NumPy wrote is read and written again byte for byte; everything else is refused.
import "../../src/index.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FileNotFoundError, FormatError } from "../../src/io/base/errors.ts";
import { loadNpy, saveNpy } from "../../src/io/numpy/npy.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { zipPieces } from "../../src/io/zip/zip-write.ts";
import { type DType, dtypeByName } from "../../src/tensor/dtype.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import fixtures from "../fixtures/archives/numpy.json" with { type: "json" };
import { decoded, flipped, roomFor, survives } from "./archive-files.ts";

const room = roomFor("npy");
afterAll(room.remove);

interface Example {
  file: string;
  dtype: string;
  shape: number[];
  values: unknown;
  /** Our files of the same array are the same bytes. */
  same: boolean;
}

const ARRAYS = Object.entries(fixtures.arrays as Record<string, Example>);
const ARCHIVES = decoded(fixtures.archives);

function fixture(name: string): string {
  return room.file(
    `${name}.npy`,
    Buffer.from((fixtures.arrays as Record<string, Example>)[name]?.file ?? "", "base64"),
  );
}

/** Values as NumPy's description of the file has them. */
function valuesOf(t: Tensor): unknown {
  if (t.dtype.isComplex) return JSON.parse(JSON.stringify(t.contiguous().viewAsReal().tolist()));
  const wide = ["torch.int64", "torch.uint64"].includes(String(t.dtype));
  return wide ? (t.contiguous().reshape([-1]).tolist() as unknown[]).map(String) : t.tolist();
}

/** A file with this header text and so many bytes of data. */
function made(header: string, data = 0, version = 1): string {
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  length.writeUIntLE(header.length, 0, length.length);
  const magic = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0]);
  return room.file("made.npy", Buffer.concat([magic, length, Buffer.from(header, "latin1"), Buffer.alloc(data)]));
}

function header(shape: string, descr = "'<f4'", order = "False"): string {
  return `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }\n`;
}

describe("arrays", () => {
  for (const [name, example] of ARRAYS) {
    test(`${name} is read, and written again byte for byte`, () => {
      const found = loadNpy(fixture(name));
      expect([String(found.dtype), ...found.shape]).toEqual([`torch.${example.dtype}`, ...example.shape]);
      expect(valuesOf(found)).toEqual(example.values);
      const path = join(room.path, "again.npy");
      saveNpy(path, found);
      if (example.same) expect(readFileSync(path).equals(Buffer.from(example.file, "base64"))).toBe(true);
      expect(valuesOf(loadNpy(path))).toEqual(example.values);
    });
  }

  test("mapped: Fortran order is a matter of strides, writes reach the file when asked for", () => {
    const path = fixture("float64-fortran");
    const found = loadNpy(path);
    expect(found.stride()).toEqual([1, 2]);
    found.fill_(9);
    loadNpy(path, { mode: "r" }).fill_(9);
    expect(loadNpy(path).tolist()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    loadNpy(path, { mode: "r+" }).select(0, 1).fill_(7);
    expect(loadNpy(path).tolist()).toEqual([
      [0, 1, 2],
      [7, 7, 7],
    ]);
    expect(() => loadNpy(fixture("float32-big"), { mode: "r+" })).toThrow(/big-endian/);
  });

  test("large big-endian arrays are converted in parts", () => {
    const count = 5_000_000;
    const bytes = Buffer.alloc(4 * count);
    for (let i = 0; i < count; i += 1000) bytes.writeInt32BE(i, 4 * i);
    const path = made(header(`(${count},)`, "'>i4'"));
    writeFileSync(path, bytes, { flag: "a" });
    const found = loadNpy(path);
    expect([found.select(0, 1000).item(), found.select(0, count - 1000).item()]).toEqual([1000, count - 1000] as never);
  });

  test("strides without an order are written row by row; names get their ending", () => {
    const path = join(room.path, "view");
    saveNpy(path, tensor([1, 2, 3]).expand([2, 3]));
    expect(loadNpy(`${path}.npy`).tolist()).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect(loadNpy(`${path}.npy`).isContiguous()).toBe(true);
    const bfloat16 = dtypeByName("bfloat16") as DType;
    expect(() => saveNpy(join(room.path, "b"), zeros([1], { dtype: bfloat16 }))).toThrow(/NumPy has no dtype for/);
    expect(existsSync(join(room.path, "b.npy"))).toBe(false);
  });
});

describe("archives of arrays", () => {
  test("NumPy's, written again byte for byte", () => {
    for (const name of ["named", "list"]) {
      const found = loadNpz(room.file(`${name}.npz`, ARCHIVES.get(name) as Buffer));
      const path = join(room.path, "again.npz");
      saveNpz(path, name === "list" ? (Object.values(found) as Tensor[]) : found);
      expect(readFileSync(path).equals(ARCHIVES.get(name) as Buffer)).toBe(true);
    }
  });

  test("content, compressed or not", () => {
    const compressed = loadNpz(room.file("compressed.npz", ARCHIVES.get("compressed") as Buffer));
    const named = loadNpz(room.file("named.npz", ARCHIVES.get("named") as Buffer));
    expect(Object.keys(named)).toEqual(["a", "b/c", "f", "s", "e"]);
    for (const [name, found] of Object.entries(named)) {
      expect(compressed[name]?.tolist()).toEqual(found.tolist());
      expect(compressed[name]?.dtype).toBe(found.dtype);
    }
    expect([...(compressed.z as Tensor).shape]).toEqual([5000]);
    saveNpz(join(room.path, "packed"), compressed, { compressed: true });
    const again = loadNpz(join(room.path, "packed.npz"));
    expect(Object.keys(again)).toEqual(Object.keys(compressed));
    for (const [name, found] of Object.entries(again))
      expect(found.tolist()).toEqual(compressed[name]?.tolist() as never);
    expect(readFileSync(join(room.path, "packed.npz")).length).toBeLessThan(2500);
    expect(() => loadNpz(join(room.path, "packed.npz"), { mode: "r+" })).toThrow(/is compressed/);
  });

  test("names that no file can have, entries that are no arrays", () => {
    const one = zeros([1]);
    for (const name of ["../a", "/a", "a//b"]) {
      expect(() => saveNpz(join(room.path, "bad.npz"), { [name]: one })).toThrow(/no file can have it/);
    }
    expect(existsSync(join(room.path, "bad.npz"))).toBe(false);
    const archive = (name: string, data: Uint8Array) => {
      const { pieces } = zipPieces([{ name, data }], { style: "numpy" });
      return room.file("other.npz", (pieces[0] as { data: Uint8Array }).data);
    };
    expect(() => loadNpz(archive("text.txt", new Uint8Array(3)))).toThrow(/its name does not end with .npy/);
    expect(() => loadNpz(archive("a.npy", new Uint8Array(3)))).toThrow(/too short for a .npy file/);
    // The array must end with its entry, whatever follows in the archive.
    const bytes = readFileSync(fixture("rank1"));
    expect(() => loadNpz(archive("a.npy", bytes.subarray(0, bytes.length - 1)))).toThrow(/more than the 399/);
  });
});

describe("hostile files", () => {
  const REASONS: Record<string, RegExp> = {
    object: /pickles are not run/,
    text: /texts are no tensors/,
    bytes: /texts are no tensors/,
    void: /may be bfloat16/,
    record: /arrays of records/,
    date: /cannot be read/,
    longdouble: /cannot be read/,
  };
  for (const [name, bytes] of decoded(fixtures.refused)) {
    test(`${name} is refused with a reason`, () => {
      expect(() => loadNpy(room.file("refused.npy", bytes))).toThrow(REASONS[name] as RegExp);
    });
  }

  test("headers", () => {
    expect([...loadNpy(made(header("(2L, 3)"), 24)).shape]).toEqual([2, 3]);
    expect([...loadNpy(made(`{"shape":(2,),"descr":"<f4","fortran_order":False}`, 8)).shape]).toEqual([2]);
    const refused: [string, number, RegExp][] = [
      [header("(2)"), 8, /no tuple/],
      [header("2"), 8, /'\(' is expected/],
      [header("(-1,)"), 8, /a size is expected/],
      [header("(1 2)"), 8, /no tuple/],
      [header("(1, 2 3)"), 24, /'\)' is expected/],
      [header("(99999999999999999,)"), 8, /no tuple|too large/],
      [header("(9007199254740993,)"), 8, /too large/],
      [header(`(${"1, ".repeat(65)})`), 8, /more than 64 dimensions/],
      [header("(4503599627370496, 4503599627370496)"), 8, /is too large/],
      [header("(1000000000000,)"), 8, /more than the 8 that are there/],
      [header("(2,)", "'<f4'", "Maybe"), 8, /'False' is expected/],
      [header("(2,)", "'|f4'"), 8, /cannot be read/],
      [header("(2,)", "'<f5'"), 8, /cannot be read/],
      [header("(2,)", "__import__('os')"), 8, /a text is expected/],
      ["{'descr': '<f4', 'shape': (2,)}", 8, /its keys are not/],
      [`{'descr': '<f4', 'descr': '<f4', ${header("(2,)").slice(1)}`, 8, /occurs twice/],
      [`{'more': 1, ${header("(2,)").slice(1)}`, 8, /"more" is not known/],
      [`${header("(2,)")}x`, 8, /goes on after its end/],
      [header("(2,)").slice(0, 30), 8, /is expected/],
      ["", 8, /'{' is expected/],
    ];
    for (const [text, data, reason] of refused) expect(() => loadNpy(made(text, data))).toThrow(reason);
    expect(() => loadNpy(made(header("(2,)").padEnd(2 ** 21), 8, 2))).toThrow(/is too long/);
    expect(() => loadNpy(made(header("(2,)"), 8, 4))).toThrow(/version 4.0/);
    expect(() => loadNpy(room.file("other.npy", Buffer.alloc(100)))).toThrow(/its first bytes are others/);
    expect(() => loadNpy(join(room.path, "none.npy"))).toThrow(FileNotFoundError);
  });

  test("cuts and flipped bits", () => {
    for (const name of ["float32", "version2", "big-fortran"]) {
      const whole = readFileSync(fixture(name));
      for (let length = 0; length < whole.length; length++) {
        const cut = room.file("cut.npy", whole.subarray(0, length));
        expect(() => loadNpy(cut)).toThrow(FormatError);
      }
      let refused = 0;
      for (const bytes of flipped(whole, 1000, 3)) {
        const path = room.file("flipped.npy", bytes);
        if (survives(() => loadNpy(path).sum()) === "refused") refused++;
      }
      expect(refused).toBeGreaterThan(300);
    }
    for (const name of ["named", "compressed"]) {
      const whole = ARCHIVES.get(name) as Buffer;
      for (let length = 0; length < whole.length; length += 5) {
        const cut = room.file("cut.npz", whole.subarray(0, length));
        expect(() => loadNpz(cut)).toThrow(FormatError);
      }
      for (const bytes of flipped(whole, 500, 4)) {
        const path = room.file("flipped.npz", bytes);
        const outcome = survives(() => {
          for (const found of Object.values(loadNpz(path))) found.sum();
        });
        expect(["read", "refused"]).toContain(outcome);
      }
    }
  });
});
