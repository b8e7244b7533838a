// HDF5 files: what h5py writes is read, in whole and in parts; what is written is read again; damage is an error.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange } from "../../generated/functional.ts";
import type { IndexPart } from "../../src/api/indexing-parse.ts";
import { findHdf5, type Hdf5Library, identifiersInUse } from "../../src/ffi/hdf5.ts";
import { FileNotFoundError, FormatError, OSError } from "../../src/io/base/errors.ts";
import type { UnknownArray } from "../../src/io/base/unknown-array.ts";
import { Hdf5File, hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import type { DTypeName } from "../../src/tensor/dtype.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";

const engine = hdf5Engine();
const reason = engine === null ? " (skipped: libhdf5 is not installed here)" : "";
const FIXTURES = join(import.meta.dir, "..", "fixtures", "hdf5");
const dir = mkdtempSync(join(tmpdir(), "zensor-h5-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let count = 0;
function fresh(): string {
  return join(dir, `${count++}.h5`);
}

function fixture(name: string): Hdf5File {
  return new Hdf5File(join(FIXTURES, name));
}

function values(t: Tensor): unknown {
  return t.to("float64").tolist();
}

function thrown(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

const ramp = (rows: number, columns: number): number[][] =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => i * columns + j));

describe.skipIf(engine === null)(`files of h5py${reason}`, () => {
  const NAMES: Record<string, string> = {
    u1: "uint8",
    u2: "uint16",
    u4: "uint32",
    u8: "uint64",
    i1: "int8",
    i2: "int16",
    i4: "int32",
    i8: "int64",
    f2: "float16",
    f4: "float32",
    f8: "float64",
    c8: "complex64",
    c16: "complex128",
  };
  test("every element type", () => {
    using file = fixture("h5py.h5");
    for (const [name, dtype] of Object.entries(NAMES)) {
      const t = file.read(`types/${name}`);
      expect(t.dtype.name).toBe(dtype);
      expect(values(dtype.startsWith("complex") ? (t.real as never) : t)).toEqual(ramp(2, 3));
    }
    expect(file.read("types/bool").tolist()).toEqual([true, false, true, false, true, false]);
    expect(file.read("types/big").dtype.name).toBe("int32");
    expect(file.read("types/big").tolist()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(file.read("types/bigfloat").tolist()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("layouts: chunks, gzip and shuffle, checksums, values that were never written, scalars, no elements", () => {
    using file = fixture("h5py.h5");
    expect(file.info("gzip").chunks).toEqual([4, 5]);
    expect(values(file.read("gzip"))).toEqual(ramp(20, 12));
    expect(file.info("grows").maxShape).toEqual([null]);
    expect(file.read("grows").tolist()).toEqual(ramp(1, 10)[0] as never);
    expect(file.read("checked").tolist()).toEqual(ramp(1, 10)[0] as never);
    expect(file.read("unwritten").tolist()).toEqual(new Array(3).fill([1.5, 1.5]));
    expect(file.read("scalar").item()).toBe(2.5);
    expect([...file.read("empty").shape]).toEqual([0, 4]);
  });

  test("an index reads what torch's index of the whole gives", () => {
    using file = fixture("h5py.h5");
    const whole = file.read("gzip");
    const mask = tensor(Array.from({ length: 20 }, (_, i) => i % 7 === 3));
    const indices: IndexPart[][] = [
      [0],
      [-1],
      ["3:9"],
      ["3:9:2", -1],
      ["...", 4],
      [null, "5:", null, "::5"],
      ["30:"],
      ["7:3"],
      ["-3:", "-2:"],
      [tensor([3n, 1n, 3n, -1n])],
      [[5, 2]],
      [mask],
      [tensor([[1n, 2n]])],
      ["1:3", tensor([0n, 4n])],
      [tensor([false]).expand([20])],
      [true],
      ["..."],
    ];
    for (const index of indices) {
      const part = file.read("gzip", ...index);
      const expected = whole.at(...(index as number[]));
      expect([...part.shape]).toEqual([...expected.shape]);
      expect(part.tolist()).toEqual(expected.tolist());
    }
    expect(() => file.read("gzip", 20)).toThrow("index 20 is out of bounds for dimension 0 with size 20");
    expect(() => file.read("gzip", 0, 0, 0)).toThrow("too many indices for tensor of dimension 2");
  });

  test("many small chunks are read in parts", () => {
    using file = new Hdf5File(fresh(), "w");
    const x = arange(60_000).float().view(40, 1500);
    file.put("x", x, { chunks: [1, 2] });
    expect(file.read("x").equal(x)).toBe(true);
    const part = ["1::3", "5::7"] as const;
    expect(file.read("x", ...part).equal(x.at(...part))).toBe(true);
    file.put("row", x.view(1, 60_000), { chunks: [1, 1] });
    expect(file.read("row", 0).equal(x.view(-1))).toBe(true);
  });

  test("texts, fixed texts, and values that NumPy kept as bytes", () => {
    using file = fixture("h5py.h5");
    expect(file.values("text")).toEqual({ values: ["zwölf"], shape: [], stack: null });
    expect(file.values("texts")).toEqual({ values: ["a", "bc", "", "déf"], shape: [2, 2], stack: null });
    expect(file.values("fixed").values).toEqual(["one", "three"]);
    expect(file.values("tagged").values).toEqual([7]);
    expect(file.values("tagged_words").values).toEqual(["x", "yz"]);
    const [record] = file.values("record").values;
    expect((record as UnknownArray).dtype).toBe("compound {id: int32, weight: float64}");
    expect(thrown(() => file.read("record")).message).toContain(
      "elements of class compound {id: int32, weight: float64}, which no tensor has",
    );
  });

  test("several paths to one group and one dataset give the same values", () => {
    using file = fixture("links/twice.h5");
    expect(file.keys()).toEqual(["a", "b", "c", "d"]);
    for (const path of ["a/x", "b/x", "c/x", "d"]) expect(values(file.read(path))).toEqual(ramp(2, 3));
    for (const path of ["a/text", "b/text", "c/text"]) expect(file.values(path).values).toEqual(["words"]);
    expect(new Set(["a", "b", "c"].map((path) => file._identity(path))).size).toBe(1);
  });

  test("what was listed is looked at again after a change through another path or another file", () => {
    const path = fresh();
    cpSync(join(FIXTURES, "links", "twice.h5"), path);
    using file = new Hdf5File(path, "r+");
    using other = new Hdf5File(path, "r+");
    for (const one of [file, other]) expect(one.keys("b")).toEqual(["text", "x"]);
    file.put("a/new", arange(2));
    other.remove("c/x");
    for (const one of [file, other]) {
      for (const group of ["a", "b", "c"]) expect(one.keys(group)).toEqual(["new", "text"]);
      expect([one.kind("b/x"), one.kind("b/new"), values(one.read("d"))]).toEqual([null, "dataset", ramp(2, 3)]);
    }
    file.move("b/new", "a/newer");
    expect([other.kind("c/newer"), other.kind("c/new")]).toEqual(["dataset", null]);
  });

  test("links inside the file are followed, all others are not", () => {
    using file = fixture("h5py.h5");
    expect(values(file.read("links/soft"))).toEqual(ramp(2, 3));
    expect(values(file.read("links/relative"))).toEqual(ramp(2, 3));
    expect(values(file.read("again/i4"))).toEqual(ramp(2, 3));
    expect(file.keys("links")).toEqual(["relative", "soft"]);
    expect(file.kind("links/dangling")).toBeNull();
    expect(file.kind("links/outside")).toBeNull();
    for (const path of ["links/outside", "links/through"]) {
      expect(thrown(() => file.read(path))).toBeInstanceOf(FormatError);
      expect(thrown(() => file.read(path)).message).toContain("a link into another file");
    }
    expect(thrown(() => file.read("links/circle")).message).toContain("a circle of links");
    for (const path of ["external/raw", "external/virtual"]) {
      expect(thrown(() => file.read(path)).message).toContain("keeps its elements in other files");
    }
    expect(thrown(() => file.read("null")).message).toContain("has no shape");
  });
});

describe.skipIf(engine === null)(`writing${reason}`, () => {
  test("what is written is read again, for every dtype and layout", () => {
    const path = fresh();
    const dtypes =
      "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128";
    const layouts = [{}, { compression: "gzip", shuffle: true }, { chunks: [2, 2] }, { maxShape: [null, 9] }] as const;
    {
      using file = new Hdf5File(path, "w");
      for (const dtype of dtypes.split(" ") as DTypeName[]) {
        for (const [i, layout] of layouts.entries()) file.put(`${dtype}/${i}`, tensor(ramp(5, 7)).to(dtype), layout);
        file.put(`${dtype}/turned`, tensor(ramp(5, 7)).to(dtype).t());
        file.put(`${dtype}/one`, tensor(3).to(dtype), { compression: "gzip" });
        file.put(`${dtype}/none`, zeros([0, 2]).to(dtype));
      }
    }
    using file = new Hdf5File(path);
    for (const dtype of dtypes.split(" ") as DTypeName[]) {
      const source = tensor(ramp(5, 7)).to(dtype);
      for (const i of layouts.keys()) {
        expect(file.read(`${dtype}/${i}`).dtype.name).toBe(dtype);
        expect(file.read(`${dtype}/${i}`).tolist()).toEqual(source.tolist());
      }
      expect(file.read(`${dtype}/turned`).tolist()).toEqual(source.t().tolist());
      expect(file.read(`${dtype}/one`).item()).toEqual(tensor(3).to(dtype).item());
      expect([...file.read(`${dtype}/none`).shape]).toEqual([0, 2]);
    }
  });

  test("dtypes that h5py does not know are refused, and nothing is left of them", () => {
    using file = new Hdf5File(fresh(), "w");
    expect(() => file.put("b", zeros([2]).to("bfloat16"))).toThrow("Got unsupported ScalarType BFloat16");
    expect(() => file.put("f", zeros([2]).to("float8_e4m3fn"))).toThrow("Got unsupported ScalarType Float8_e4m3fn");
    expect(() => file.put("g", zeros([2]).requiresGrad_())).toThrow("requires_grad=True");
    expect(file.keys()).toEqual([]);
  });

  test("writing through an index changes that part only", () => {
    using file = new Hdf5File(fresh(), "w");
    const indices: IndexPart[][] = [
      [],
      [1],
      ["1:4", "::3"],
      ["...", -1],
      [tensor([4n, 0n])],
      [tensor([true, false, false, true, false])],
      [tensor([[1n], [2n]]), tensor([0n, 3n])],
      ["2:2"],
    ];
    for (const [i, index] of indices.entries()) {
      file.put(`x${i}`, tensor(ramp(5, 7)), i % 2 === 0 ? {} : { compression: "gzip", chunks: [2, 3] });
      file.write(`x${i}`, tensor(-1), ...index);
      const expected = tensor(ramp(5, 7));
      expected.setAt((index.length === 0 ? "..." : index) as never, -1);
      expect(file.read(`x${i}`).tolist()).toEqual(expected.tolist());
    }
    file.write("x0", tensor([7, 6, 5, 4, 3, 2, 1]), 2);
    expect(file.read("x0", 2).tolist()).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(() => file.write("x0", tensor([1, 2]), 2)).toThrow();
  });

  test("datasets grow within their limits", () => {
    using file = new Hdf5File(fresh(), "w");
    file.put("x", tensor(ramp(2, 3)), { maxShape: [null, 3] });
    file.extend("x", [4, 3]);
    file.write("x", tensor(9), 3);
    expect(file.read("x").tolist()).toEqual([...ramp(2, 3), [0, 0, 0], [9, 9, 9]]);
    expect(() => file.extend("x", [4, 4])).toThrow("x can have the shape [any, 3] at most, not [4, 4]");
    file.put("fixed", zeros([2]));
    expect(() => file.extend("fixed", [3])).toThrow("at most");
  });

  test("replacing, moving, removing; keys that a file cannot have", () => {
    using file = new Hdf5File(fresh(), "w");
    file.put("a", arange(3));
    file.put("a", zeros([2, 2]));
    expect([...file.read("a").shape]).toEqual([2, 2]);
    expect(() => file.put("a", zeros([1]).to("bfloat16"))).toThrow();
    expect([...file.read("a").shape]).toEqual([2, 2]);
    file.createGroup("g");
    file.move("a", "g/deep/b");
    expect(file.keys("g")).toEqual(["deep"]);
    file.put("鍵 🔑", arange(2));
    expect(file.keys()).toEqual(["g", "鍵 🔑"]);
    file.remove("g");
    expect(file.keys()).toEqual(["鍵 🔑"]);
    expect(() => file.read("g/deep/b")).toThrow("'g/deep/b' is not in");
    expect(() => file.remove("g")).toThrow(FormatError);
    for (const key of ["", "a//b", ".", "a/.", "nul\0"])
      expect(() => file.put(key, arange(1))).toThrow("cannot be a key");
    expect(file.keys()).toEqual(["鍵 🔑"]);
  });

  test("texts, numbers and booleans that are no tensors", () => {
    using file = new Hdf5File(fresh(), "w");
    const kept: [string, unknown[], number[], boolean][] = [
      ["text", ["zwölf 🔑"], [], false],
      ["none", [""], [], false],
      ["stack", ["a", "b", "", "d"], [2, 2], true],
      ["whole", [7], [], false],
      ["real", [1.5, -2], [2], true],
      ["truth", [true], [], false],
    ];
    for (const [path, list, shape, stack] of kept) file.putValues(path, list, shape, stack);
    for (const [path, list, shape, stack] of kept) {
      expect(file.values(path)).toEqual({ values: list, shape, stack: stack ? shape : null });
    }
    // As h5py writes an empty list: Python's library opens no group in which texts alone are.
    file.putValues("empty", [], [0], false);
    expect(file.values("empty")).toEqual({ values: [], shape: [0], stack: null });
    expect(file.info("empty").other).toMatchObject({ kind: "opaque", tag: "NUMPY:<f8" });
    file.putValues("wide", [], [2 ** 40, 0], false);
    expect(() => file.values("wide")).toThrow("wide says that it has");
    expect(() => file.putValues("x", [null], [], false)).toThrow("texts, booleans and numbers of one kind");
    expect(() => file.putValues("x", ["a", 1], [2], false)).toThrow("of one kind");
    expect(() => file.putValues("x", ["a\0b"], [], false)).toThrow("NUL");
    expect(file.kind("x")).toBeNull();
    const many = Array.from({ length: 5000 }, (_, i) => `text ${i}`);
    file.putValues("many", many, [many.length], true);
    expect(file.values("many").values).toEqual(many);
  });

  test("layouts that make no sense are refused", () => {
    using file = new Hdf5File(fresh(), "w");
    const put = (layout: object) => () => file.put("x", zeros([4, 2]), layout);
    expect(put({ compression: "lzf" })).toThrow('unknown compression "lzf"');
    expect(put({ compression: "gzip", compressionOpts: 10 })).toThrow("integer from 0-9");
    expect(put({ chunks: [2] })).toThrow("dimensions");
    expect(put({ chunks: [5, 2] })).toThrow("Chunk shape must not be greater than data shape");
    expect(put({ chunks: [0, 2] })).toThrow("Chunk shape");
    expect(put({ maxShape: [3, 2] })).toThrow("smaller than the shape");
    expect(file.keys()).toEqual([]);
  });
});

describe.skipIf(engine === null)(`opening${reason}`, () => {
  test("modes", () => {
    const path = fresh();
    expect(() => new Hdf5File(path)).toThrow(FileNotFoundError);
    expect(() => new Hdf5File(path, "r+")).toThrow(FileNotFoundError);
    expect(existsSync(path)).toBe(false);
    for (const mode of ["x", "a", "r+", "w"] as const) {
      using file = new Hdf5File(path, mode);
      expect(file.keys()).toEqual(mode === "x" || mode === "w" ? [] : mode === "a" ? ["x"] : ["a", "x"]);
      file.put(mode === "r+" ? "plus" : mode, arange(2));
    }
    expect(() => new Hdf5File(path, "x")).toThrow("File exists");
    expect(() => new Hdf5File(path, "rb" as never)).toThrow("Invalid mode");
    using file = new Hdf5File(path);
    expect(file.keys()).toEqual(["w"]);
    for (const change of [
      () => file.put("x", arange(2)),
      () => file.remove("w"),
      () => file.move("w", "v"),
      () => file.createGroup("g"),
      () => file.write("w", tensor(1)),
    ]) {
      expect(change).toThrow("was opened for reading only");
    }
  });

  test("a closed file", () => {
    const file = new Hdf5File(fresh(), "w");
    file.close();
    file.close();
    expect(file.closed).toBe(true);
    for (const use of [() => file.keys(), () => file.read("a"), () => file.put("a", arange(2)), () => file.flush()]) {
      expect(use).toThrow(`the HDF5 file ${file.path} is closed`);
    }
  });

  test("what is no HDF5 file", () => {
    const path = fresh();
    for (const bytes of ["", "PK", "\x89HDF\r\n\x1a\n", "x".repeat(4096)]) {
      writeFileSync(path, bytes, "latin1");
      expect(thrown(() => new Hdf5File(path))).toBeInstanceOf(FormatError);
      expect(readFileSync(path, "latin1")).toBe(bytes);
    }
    expect(() => new Hdf5File(dir)).toThrow("not a regular file");
    expect(() => new Hdf5File(join(dir, "nowhere", "x.h5"), "w")).toThrow(OSError);
  });

  test("a file that another program writes is locked", () => {
    const path = fresh();
    using mine = new Hdf5File(path, "w");
    mine.put("a", arange(2));
    const program = `import { Hdf5File } from ${JSON.stringify(join(import.meta.dir, "../../src/io/hdf5/hdf5.ts"))};
      try { new Hdf5File(${JSON.stringify(path)}, "r+"); console.log("opened"); }
      catch (error) { console.log(error.name, error.errno, error.message.includes("unable to lock file")); }`;
    const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program], {
      env: { ...process.env, HDF5_USE_FILE_LOCKING: "TRUE" },
    });
    expect(stdout.toString().trim()).toBe("OSError 11 true");
    expect(stderr.toString()).toBe("");
  });
});

test("a missing library is one clear error", () => {
  const module = JSON.stringify(join(import.meta.dir, "../../src/io/hdf5/hdf5.ts"));
  const program = `import { Hdf5File, hdf5Engine } from ${module};
    console.log(hdf5Engine());
    try { new Hdf5File("x.h5"); } catch (error) { console.log(error.name, error.code, error.message); }`;
  const env = { ...process.env, ZENSOR_HDF5: "/nowhere/libhdf5.so" };
  const { stdout } = Bun.spawnSync([process.execPath, "-e", program], { env });
  expect(stdout.toString()).toMatch(
    /^null\nOSError hdf5_missing HDF5 files need the HDF5 library, which was not found/,
  );
});

describe.skipIf(engine === null || process.platform !== "linux")(`leaks${reason}`, () => {
  test("memory is flat over 1,000 rounds, in a process of its own", () => {
    const path = fresh();
    cpSync(join(FIXTURES, "h5py.h5"), path);
    const program = `import { leastGrowth } from ${JSON.stringify(join(import.meta.dir, "../tensordict/helpers.ts"))};
      import { arange } from ${JSON.stringify(join(import.meta.dir, "../../src/index.ts"))};
      import { Hdf5File } from ${JSON.stringify(join(import.meta.dir, "../../src/io/hdf5/hdf5.ts"))};
      const rounds = () => {
        for (let i = 0; i < 1000; i++) {
          using file = new Hdf5File(${JSON.stringify(path)}, "r+");
          file.read("gzip", "3:5");
          file.values("texts");
          file.put("new", arange(5), { compression: "gzip" });
          file.remove("new");
        }
      };
      rounds();
      console.log(leastGrowth(rounds));`;
    const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program]);
    expect(stderr.toString()).toBe("");
    expect(stdout.toString()).toMatch(/^-?\d+\n$/);
    expect(Number(stdout.toString())).toBeLessThan(16 * 2 ** 20);
  });
  const openFiles = () => readdirSync("/proc/self/fd").length;
  test("1,000 rounds of opening, reading, writing and failing leave no file open and no identifier", () => {
    const path = fresh();
    cpSync(join(FIXTURES, "h5py.h5"), path);
    const round = () => {
      using file = new Hdf5File(path, "r+");
      file.read("gzip", "3:5");
      file.values("texts");
      file.put("new", arange(5), { compression: "gzip" });
      expect(() => file.read("nowhere")).toThrow();
      expect(() => file.put("new", zeros([1]).to("bfloat16"))).toThrow();
      expect(() => file.read("external/raw")).toThrow();
      file.remove("new");
    };
    for (let i = 0; i < 50; i++) round();
    Bun.gc(true);
    const library = findHdf5().library as Hdf5Library;
    const [identifiers, files] = [identifiersInUse(library), openFiles()];
    const { size } = statSync(path);
    for (let i = 0; i < 1000; i++) round();
    Bun.gc(true);
    expect(identifiersInUse(library)).toBe(identifiers);
    expect(openFiles()).toBeLessThanOrEqual(files);
    expect(statSync(path).size).toBeLessThan(size + 64 * 1024);
  });

  test("a file that was forgotten is closed by the collector", async () => {
    const path = fresh();
    new Hdf5File(path, "w").close();
    const before = openFiles();
    (() => {
      for (let i = 0; i < 20; i++) new Hdf5File(path);
    })();
    for (let i = 0; i < 10 && openFiles() > before + 2; i++) {
      Bun.gc(true);
      await Bun.sleep(1);
    }
    expect(openFiles()).toBeLessThanOrEqual(before + 2);
  });
});

describe.skipIf(engine === null)(`damaged files${reason}`, () => {
  const SEEDS = 200;
  /** Damage that the library cannot stand: it ends the process. Newer versions stand more. */
  const MOST_CRASHES = 4;
  const NAMES = ["FormatError", "OSError", "KeyError", "ValueError", "RuntimeError"];

  const FILES = ["plain.h5", "types2.h5", "lazy.h5", "../odd/odd.h5"];
  test.each(FILES)(
    "%s: an error or what is left, never another end",
    (name) => {
      let [from, crashes, read, refused] = [0, 0, 0, 0];
      while (from < SEEDS) {
        const words = [join(import.meta.dir, "hdf5-damage.ts"), join(FIXTURES, name), dir, String(from), String(SEEDS)];
        const { stdout, exitCode } = Bun.spawnSync([process.execPath, ...words], { stderr: "ignore", timeout: 20_000 });
        const lines = stdout.toString().trim().split("\n");
        for (const line of lines) {
          if (line.startsWith("read")) read++;
          if (!line.startsWith("refused")) continue;
          refused++;
          expect(NAMES).toContain(line.split(" ")[2] as string);
        }
        const last = lines.at(-1) as string;
        if (exitCode === 0) {
          expect(Number(/^memory (\d+)$/.exec(last)?.[1])).toBeLessThan(2 ** 30);
          break;
        }
        // The library's own fault; what comes after it is tried in another process.
        expect(last).toMatch(/^begin \d+$/);
        crashes++;
        from = Number(last.slice("begin ".length)) + 1;
      }
      expect(read + refused + crashes).toBe(SEEDS);
      expect(refused).toBeGreaterThan(SEEDS / 4);
      expect(crashes).toBeLessThanOrEqual(MOST_CRASHES);
    },
    120_000,
  );
});
