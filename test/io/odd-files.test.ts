// Files whose numbers stand beside elements that no tensor has: the numbers are read, and the others named and given.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, io, loadSafetensors, saveSafetensors, Tensor, TensorDict, tensordict } from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";

const ODD = join(import.meta.dir, "..", "fixtures", "odd");
const dir = mkdtempSync(join(tmpdir(), "zensor-odd-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const odd = (name: string) => join(ODD, name);
const out = (name: string) => join(dir, name);

/** What an unknown array is, as far as it can be told in one line. */
function facts(value: unknown): unknown {
  if (value instanceof Tensor) return value.tolist();
  if (!(value instanceof io.UnknownArray)) return value;
  const { dtype, shape, nbytes } = value;
  expect(value.bytes === null ? null : value.bytes.numel()).toBe(nbytes);
  expect(JSON.parse(JSON.stringify(value))).toMatchObject({ dtype, shape, nbytes });
  expect(String(value)).toContain(dtype);
  return [dtype, shape, nbytes];
}

const bytesOf = (value: unknown) => Buffer.from((value as io.UnknownArray).bytes?.typedArray() as Uint8Array);

const npz = (path: string) => io.loadNpz<Record<string, io.NpyValue>>(path);
const safetensors = (path: string) => loadSafetensors<Record<string, Tensor | io.UnknownArray>>(path);

describe("NumPy", () => {
  const RECORD = "[('id', '<i4'), ('', '|V4'), ('p', [('x', '<f8'), ('y', '<f8', (2, 3))]), ('s', '<U3'), ('', '|V4')]";
  const NAMES = "x words turned big ascii latin scalar none dates spans record void wide objects y".split(" ");

  test("the arrays of SciPy's sparse matrices", () => {
    const { data, indices, indptr, shape, ...others } = npz(odd("sparse.npz"));
    expect([data, indices, indptr, shape].map((array) => (array as Tensor).tolist())).toEqual([
      [1, 2],
      [0, 1],
      [0, 1, 2],
      [2, 2],
    ]);
    expect(others).toEqual({ format: "csr" });
    expect(Object.keys(io.loadNpz(odd("sparse.npz"), { unknown: "skip" }))).not.toContain("format");
    expect(() => io.loadNpz(odd("sparse.npz"), { unknown: "refuse" })).toThrow(/format.npy: .*texts are no tensors/);
  });

  test.each(["odd.npz", "packed.npz"])("all kinds in %s, at once and later", async (name) => {
    const now = npz(odd(name));
    const later = await io.loadNpzAsync<typeof now>(odd(name), { unknown: "describe" });
    for (const found of [now, later]) {
      expect(Object.keys(found)).toEqual(NAMES);
      const { x, y, ...others } = found;
      expect((x as Tensor).tolist()).toEqual([
        [0, 1, 2],
        [3, 4, 5],
      ]);
      expect((y as Tensor).tolist()).toEqual([0, 1, 2]);
      const { objects, ...rest } = Object.fromEntries(Object.entries(others).map(([key, v]) => [key, facts(v)]));
      expect(rest).toEqual({
        words: [
          ["a", "bcd"],
          ["", "zwölf"],
        ],
        turned: [
          ["a", "b", "c"],
          ["d", "e", "f"],
        ],
        big: ["ab", "c"],
        ascii: ["one", "three"],
        latin: ["|S2", [1], 2],
        scalar: "text",
        none: [],
        dates: ["<M8[ns]", [2], 16],
        spans: ["<m8[25s]", [2], 16],
        record: [RECORD, [2], 160],
        void: ["|V2", [2], 4],
        wide: ["<f16", [2], 32],
      });
      expect(objects).toEqual(["|O (pickled objects)", [2], expect.any(Number)]);
      expect(bytesOf(others.void).toString()).toBe("abcd");
    }
    expect(Object.keys(io.loadNpz(odd(name), { unknown: "skip" }))).toEqual(["x", "y"]);
    expect(Object.keys(await io.loadNpzAsync(odd(name), { unknown: "skip" }))).toEqual(["x", "y"]);
    await expect(io.loadNpzAsync(odd(name), { unknown: "refuse" })).rejects.toThrow(/texts are no tensors/);
  });

  test("what was described is written as it was", async () => {
    const all = npz(odd("odd.npz"));
    io.saveNpz(out("again.npz"), all);
    await io.saveNpzAsync(out("later.npz"), all, { compressed: true });
    for (const name of ["again.npz", "later.npz"]) {
      const again = npz(out(name));
      expect(Object.keys(again)).toEqual(NAMES);
      for (const key of NAMES) {
        expect(facts(again[key])).toEqual(facts(all[key]));
        if (all[key] instanceof io.UnknownArray) expect(bytesOf(again[key]).equals(bytesOf(all[key]))).toBe(true);
      }
    }
    expect(() => io.saveNpz(out("bad.npz"), { a: [["a"], ["b", "c"]] })).toThrow('"a" is no tensor');
    const { "layer.float8_e8m0fnu": scale } = safetensors(odd("odd.safetensors"));
    const other = scale as io.UnknownArray;
    expect(() => io.saveNpz(out("bad.npz"), { a: other })).toThrow('"a" is of F8_E8M0, which NumPy has no type for');
  });

  test("one array of a .npy file", () => {
    expect(() => io.loadNpy(odd("words.npy"))).toThrow("texts are no tensors");
    expect(() => io.loadNpy(odd("record.npy"), { unknown: "skip" })).toThrow("arrays of records are no tensors");
    expect(io.loadNpy<io.NpyValue>(odd("words.npy"), { unknown: "describe" })).toEqual([
      ["a", "bcd"],
      ["", "zwölf"],
    ]);
    expect(facts(io.loadNpy(odd("record.npy"), { unknown: "describe" }))).toEqual([RECORD, [2], 160]);
  });

  test("headers of strangers", () => {
    const made = (descr: string, shape: string, data: number) => {
      const text = `{'descr': ${descr}, 'fortran_order': False, 'shape': ${shape}, }\n`;
      const head = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, text.length & 255, text.length >> 8]);
      writeFileSync(out("made.npy"), Buffer.concat([head, Buffer.from(text), Buffer.alloc(data, 65)]));
      return io.loadNpy(out("made.npy"), { unknown: "describe" });
    };
    const deep = `${"[('a', ".repeat(40)}'<i4'${")]".repeat(40)}`;
    for (const [descr, shape, data, reason] of [
      ["'|S4'", "(3,)", 8, /12 bytes of elements are more than the 8/],
      ["'<U0'", "(1099511627776,)", 0, /texts without characters/],
      ["'<U9007199254740991'", "(2,)", 8, /is not known/],
      ["'<U999999999999999'", "(9,)", 8, /too large/],
      ["'|V1'", "(9007199254740993,)", 8, /too large/],
      ["[]", "(9007199254740993,)", 8, /too large/],
      ["[('a', '<i4')", "(1,)", 4, /is expected/],
      ["[('a', '<i5')]", "(1,)", 5, /is not known/],
      ["[('a' '<i4')]", "(1,)", 4, /is expected/],
      [deep, "(1,)", 4, /nested more than 32 levels/],
      ["'<Z4'", "(1,)", 4, /is not known/],
    ] as [string, string, number, RegExp][]) {
      expect(() => made(descr, shape, data)).toThrow(reason);
    }
    expect(facts(made("'<U1'", "(1,)", 4))).toEqual(["<U1", [1], 4]);
    expect(facts(made("[((' title', 'it\\'s'), '<i4', (2,)), ('b', 'O')]", "(1,)", 7))).toEqual([
      "[((' title', 'it\\'s'), '<i4', (2,)), ('b', 'O')] (pickled objects)",
      [1],
      7,
    ]);
    expect(facts(made("[]", "(5,)", 3))).toEqual(["[]", [5], 0]);
  });
});

describe("safetensors", () => {
  const CODES: Record<string, [string, number[], number]> = {
    "layer.float8_e8m0fnu": ["F8_E8M0", [2, 4], 8],
    "layer.float8_e4m3fnuz": ["F8_E4M3FNUZ", [2, 4], 8],
    "layer.float8_e5m2fnuz": ["F8_E5M2FNUZ", [2, 4], 8],
    "layer.float4_e2m1fn_x2": ["F4", [2, 8], 8],
  };
  const others = Object.keys(CODES).sort();

  test("known tensors are read, the others told, given and written back byte by byte", async () => {
    const path = odd("odd.safetensors");
    const tensors = loadSafetensors(path, { unknown: "skip" });
    expect(tensors.x?.tolist()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(Object.keys(tensors).length).toBe(7);
    const all = safetensors(path);
    for (const name of others) expect(facts(all[name])).toEqual(CODES[name]);
    expect(bytesOf(all[others[0] as string])).toEqual(Buffer.from([0, 1, 2, 3, 0, 1, 2, 3]));
    saveSafetensors(all, out("again.safetensors"), { metadata: { format: "pt" } });
    expect(readFileSync(out("again.safetensors")).equals(readFileSync(path))).toBe(true);
    expect(() => loadSafetensors(path, { unknown: "refuse" })).toThrow(/has elements of F.*, which no tensor has here/);
  });

  test("an open file", () => {
    const file = new io.SafetensorsFile(odd("odd.safetensors"));
    expect(file.keys().length).toBe(7);
    expect(file.unknownKeys().sort()).toEqual(others);
    expect(facts(file.unknown("layer.float4_e2m1fn_x2"))).toEqual(CODES["layer.float4_e2m1fn_x2"]);
    expect(() => file.tensor("layer.float4_e2m1fn_x2")).toThrow("has elements of F4, which no tensor has here");
    expect(() => file.unknown("x")).toThrow('no elements of an unknown type are named "x"');
    expect(file.tensors().size).toBe(7);
  });

  test("a TensorDict", () => {
    const td = tensordict.fromSafetensors(odd("odd.safetensors"));
    expect(facts(td.at(["layer", "float4_e2m1fn_x2"] as never))).toEqual(CODES["layer.float4_e2m1fn_x2"]);
    td.set("b", new TensorDict({ c: arange(2) }, [2]));
    tensordict.toSafetensors(td, out("td.safetensors"));
    const again = tensordict.fromSafetensors(out("td.safetensors"));
    expect(again.get(["b", "c"]).tolist()).toEqual([0, 1]);
    for (const name of others) expect(facts(again.at(name.split(".") as never))).toEqual(CODES[name]);
    const skipped = tensordict.fromSafetensors(out("td.safetensors"), { unknown: "skip" });
    expect([...(skipped.get("layer") as TensorDict).keys()].length).toBe(6);
    expect(() => tensordict.fromSafetensors(out("td.safetensors"), { unknown: "refuse" })).toThrow(
      "no tensor has here",
    );
    expect(() => td.memmap(out("folder"))).toThrow();
  });

  test("every code, sub-byte sizes and codes to come", () => {
    for (const [code, shape, nbytes] of [
      ["F4", [2, 3], 3],
      ["F6_E2M3", [4], 3],
      ["F6_E3M2", [2, 2], 3],
      ["F8_E8M0", [], 1],
      ["F99_X", [3], 3],
      ["I2", [16], 4],
      ["C256", [2], 32],
      ["F4", [0, 3], 0],
    ] as [string, number[], number][]) {
      const entries = JSON.stringify({
        x: { dtype: code, shape, data_offsets: [0, nbytes] },
        y: { dtype: "U8", shape: [2], data_offsets: [nbytes, nbytes + 2] },
      });
      const head = Buffer.alloc(8);
      head.writeBigUInt64LE(BigInt(entries.length));
      writeFileSync(out("made"), Buffer.concat([head, Buffer.from(entries), Buffer.alloc(nbytes + 2, 7)]));
      const { x, y } = safetensors(out("made"));
      expect(facts(x)).toEqual([code, shape, nbytes]);
      expect((y as Tensor).tolist()).toEqual([7, 7]);
      saveSafetensors({ x: x as io.UnknownArray, y: y as Tensor }, out("back"));
      expect(facts(safetensors(out("back")).x)).toEqual([code, shape, nbytes]);
    }
  });
});

describe.skipIf(hdf5Engine() === null)("HDF5", () => {
  const NONE: [string, null, null] = ["float32", null, null];
  const UNKNOWN: Record<string, unknown> = {
    compound: ["compound {a: int32, b: float64}", [2], 24],
    deep: ["compound {p: compound {a: int32, b: float64}, q: array int16[2]}", [1], 16],
    opaque: ["opaque of 2 bytes", [2], 4],
    dates: ['opaque "NUMPY:<M8[D]" of 8 bytes', [2], 16],
    enum: ["enumeration int8 {CAT = 0, DOG = 1}", [3], 3],
    empty: NONE,
    empty_text: ["text of 3 bytes", null, null],
    reference: ["reference", [1], 8],
    region: ["region reference", [1], 12],
    mixed: ["compound {id: int32, s: text, v: opaque of 2 bytes}", [1], null],
    wide: ["float of 16 bytes", [3], 48],
    bits: ["bit field of 1 bytes", [3], 3],
    time: ["time of 4 bytes", [3], 12],
    array: ["array int16[2, 2]", [3], 24],
    int24: ["integer of 3 bytes", [3], 9],
    packed: ["compound {a: int32}", [100], 400],
  };
  const VALUES: Record<string, unknown> = {
    lists: [
      [[1, 2, 3], []],
      [[], [4]],
    ],
    floats: [[1, 2.5], []],
    one_list: [2n ** 63n, 1],
    lists_of_texts: [["a", "bc"], []],
    records: [
      { id: 1, s: "hello", w: [1, 2.5], f: "abc" },
      { id: -5, s: "zwölf", w: [0, 0], f: "x" },
    ],
  };

  test("each is named and given, the numbers are read", () => {
    using file = TensorDict.fromH5(odd("odd.h5"));
    expect(file.get("x").tolist()).toEqual([0, 1, 2]);
    const td = file.toTensorDict();
    for (const [name, expected] of Object.entries({ ...UNKNOWN, ...VALUES })) {
      expect(facts(file.at(name as never))).toEqual(expected);
      expect(facts(td.at(name as never))).toEqual(expected);
    }
    expect(facts(td.at(["group", "record"] as never))).toEqual(["compound {k: uint8}", [1], 1]);
    expect(bytesOf(td.at("compound" as never)).readDoubleLE(16)).toBe(4.5);
    expect(bytesOf(td.at("packed" as never)).readInt32LE(4 * 99)).toBe(99);
    expect(String(file)).toContain("compound");
    expect([...file.keys()].sort()).toEqual(["group", "x", ...Object.keys(UNKNOWN), ...Object.keys(VALUES)].sort());
  });

  test("left out or refused", () => {
    using file = TensorDict.fromH5(odd("odd.h5"), { unknown: "skip" });
    expect([...file.keys()].sort()).toEqual(["group", "x", ...Object.keys(VALUES)].sort());
    expect([file.has("compound"), file.get("compound", null), file.has("x")]).toEqual([false, null, true]);
    expect([...(file.toTensorDict().get("group") as TensorDict).keys()]).toEqual([]);
    const refused = () => TensorDict.fromH5(odd("odd.h5"), { unknown: "refuse" });
    expect(refused).toThrow("'array' has elements of array int16[2, 2], which no tensor has");
  });

  test("are written back where their bytes say the same, refused by name elsewhere", () => {
    using file = TensorDict.fromH5(odd("odd.h5"));
    const kept = Object.keys(UNKNOWN).filter((name) => !["reference", "region", "mixed"].includes(name));
    const td = file.toTensorDict();
    using back = new tensordict.PersistentTensorDict({ filename: out("back.h5"), mode: "w" });
    for (const name of kept) back.set(name, td.at(name as never) as never);
    for (const name of kept) {
      expect(facts(back.at(name as never))).toEqual(UNKNOWN[name]);
      const { bytes } = td.at(name as never) as unknown as io.UnknownArray;
      if (bytes !== null) expect(bytesOf(back.at(name as never)).equals(bytesOf(td.at(name as never)))).toBe(true);
    }
    for (const name of ["reference", "region", "mixed"]) {
      expect(() => back.set(name, td.at(name as never) as never)).toThrow(`'${name}': elements of`);
    }
    const { "layer.float8_e8m0fnu": scale } = safetensors(odd("odd.safetensors"));
    expect(() => back.set("scale", scale as never)).toThrow("'scale': elements of F8_E8M0 cannot be written");
  });

  test("attributes of such types are in nobody's way, bytes of a closed file are not read", () => {
    using file = new io.Hdf5File(odd("odd.h5"));
    expect(file.read("x").tolist()).toEqual([0, 1, 2]);
    expect(() => file.read("compound")).toThrow(
      "elements of class compound {a: int32, b: float64}, which no tensor has",
    );
    expect(() => file.read("empty")).toThrow("has no shape");
    const [lazy] = file.exactValues("compound", true).values as [io.UnknownArray];
    file.close();
    expect(lazy.nbytes).toBe(24);
    expect(() => lazy.bytes).toThrow("is closed");
  });
});

test("a VARIANT of Parquet is the bytes that it consists of", () => {
  const bytes = readFileSync(odd("variant.parquet"));
  // The element of the group, after its name and its number of children: the annotation goes before its end.
  const found = bytes.indexOf(Buffer.concat([Buffer.from("odd"), Buffer.from([0x15, 0x04])]));
  const annotation = Buffer.from([0x5c, 0x0c, 0x20, 0x00, 0x00]);
  const marked = Buffer.concat([bytes.subarray(0, found + 5), annotation, bytes.subarray(found + 5)]);
  marked.writeUInt32LE(marked.readUInt32LE(marked.length - 8) + annotation.length, marked.length - 8);
  writeFileSync(out("variant.parquet"), marked);
  for (const path of [odd("variant.parquet"), out("variant.parquet")]) {
    const td = TensorDict.fromParquet(path);
    expect(td.get("x").tolist()).toEqual([1, 2]);
    const [row] = (td.get("odd") as { tolist(): unknown[] }).tolist() as { value: Uint8Array }[];
    expect(row?.value).toEqual(new Uint8Array([0x0c, 0x2a]));
  }
});
