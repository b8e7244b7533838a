// HDF5 files without the C library: what the npm package h5wasm can do, and clear errors for what it cannot.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const h5wasm = join(root, ".cache", "engines", "h5wasm", "node_modules", "h5wasm", "dist", "node", "hdf5_hl.js");
const missing = !existsSync(h5wasm);
const reason = missing ? " (skipped: scripts/engines.sh has not installed h5wasm)" : "";
const FIXTURES = join(root, "test", "fixtures", "hdf5");
const dir = mkdtempSync(join(tmpdir(), "zensor-h5wasm-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Runs a program with the package as its engine, and gives what it printed as JSON. */
function run(program: string): unknown {
  const file = join(dir, "program.ts");
  const head = `import { arange, io, NonTensorStack, ones, TensorDict, tensor, zeros } from "${root}/src/index.ts";
    const engine = await io.loadHdf5(await import("${h5wasm}"));
    const fixture = (name: string) => "${FIXTURES}/" + name;
    const thrown = (run: () => unknown) => { try { run(); return null; } catch (error) {
      return (error as Error).name + ": " + (error as Error).message; } };`;
  writeFileSync(file, `${head}\n${program}`);
  const env = { ...process.env, ZENSOR_HDF5: "h5wasm" };
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, file], { env, cwd: dir });
  if (exitCode !== 0 || stderr.length > 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

describe.skipIf(missing)(`h5wasm${reason}`, () => {
  test("reads files of Python, in whole and in parts", () => {
    const found = run(`
      using file = new io.Hdf5File(fixture("h5py.h5"));
      const dtypes = ["u1","u2","u4","i1","i2","i4","f4","f8","bool"].map((n) => file.read("types/" + n).dtype.name);
      using td = TensorDict.fromH5(fixture("plain.h5"));
      using stack = TensorDict.fromH5(fixture("nts.h5"));
      console.log(JSON.stringify({ engine, dtypes, part: file.read("gzip", "3:9:2", -1).tolist(),
        one: file.read("scalar").item(),
        bool: file.read("types/bool").tolist(), i8: file.read("types/i8", 1).tolist(), batch: [...td.batchSize],
        a: td.get("a").tolist(), keys: td.keys({ includeNested: true }), s: stack.at("s"),
        outside: file.kind("links/outside") }));`);
    expect(found).toEqual({
      engine: "h5wasm",
      dtypes: ["uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "float64", "bool"],
      part: [47, 71, 95],
      one: 2.5,
      bool: [true, false, true, false, true, false],
      i8: [3, 4, 5],
      batch: [2],
      a: [
        [0, 1, 2],
        [3, 4, 5],
      ],
      keys: ["a", "bool", "n", ["n", "b"]],
      s: ["a", "b"],
      outside: null,
    });
  });

  test("names what no tensor has, and gives its bytes or values", () => {
    const found = run(`
      using td = TensorDict.fromH5("${join(root, "test", "fixtures", "odd", "odd.h5")}");
      const names = "compound opaque enum empty reference mixed array packed".split(" ");
      const factsOf = ({ dtype, shape, nbytes }: any) => [dtype, shape, nbytes];
      const facts = names.map((name) => factsOf(td.at(name)));
      const [x, lists, floats] = [td.get("x").tolist(), td.at("lists"), td.at("floats")];
      console.log(JSON.stringify({ x, lists, floats, facts }));`);
    expect(found).toEqual({
      x: [0, 1, 2],
      lists: [
        [[1, 2, 3], []],
        [[], [4]],
      ],
      floats: [[1, 2.5], []],
      facts: [
        ["compound {a: int32, b: float64}", [2], 24],
        ["opaque of 2 bytes", [2], 4],
        ["enumeration int8 {CAT = 0, DOG = 1}", [3], 3],
        ["float32", null, null],
        ["reference", [1], 8],
        ["compound {id: int32, s: text, v: opaque of 2 bytes}", [1], null],
        ["array int16[2, 2]", [3], 24],
        ["compound {a: int32}", [100], 400],
      ],
    });
  });

  test("writes files", () => {
    const found = run(`
      const source = new TensorDict({ a: arange(6).view(2, 3), n: { x: ones(2, 2) }, s: "text",
        z: new NonTensorStack(["p", "q"]) }, [2]);
      source.toH5("made.h5", { compression: "gzip" }).close();
      using td = TensorDict.fromH5("made.h5", { mode: "r+" });
      td.setAt_("a", tensor([7, 8, 9]).to("int64"), 1);
      td.set(["n", "y"], zeros(2, 2));
      td.add_(1);
      const kept = td.toTensorDict();
      const tensors = [kept.get("a").tolist(), kept.get(["n", "x"]).tolist()];
      console.log(JSON.stringify([...tensors, kept.at("s"), kept.at("z")]));`);
    expect(found).toEqual([
      [
        [1, 2, 3],
        [8, 9, 10],
      ],
      [
        [2, 2],
        [2, 2],
      ],
      "text",
      ["p", "q"],
    ]);
  });

  test("what it cannot do is named, and changes nothing", () => {
    const found = run(`
      using td = new TensorDict({ a: arange(2) }, [2]).toH5("limits.h5");
      using half = new io.Hdf5File(fixture("h5py.h5"));
      const errors = [() => td.del_("a"), () => td.set("a", zeros(2, 5)), () => td.renameKey_("a", "b"),
        () => td.set("h", zeros(2).to("float16")), () => td.set("t", zeros(2, { dtype: "bool" })),
        () => td.set("c", zeros(2).to("complex64")), () => half.read("types/f2"), () => half.read("types/f4", 9),
        () => new io.Hdf5File("nothing.h5"), () => new io.Hdf5File("program.ts")].map(thrown);
      console.log(JSON.stringify({ errors, keys: td.keys(), a: td.get("a").tolist() }));`) as {
      errors: string[];
      keys: unknown;
      a: unknown;
    };
    const verbs = ["delete", "delete, replace or move", "move", "write float16", "write bool", "write complex"];
    for (const [i, verb] of verbs.entries())
      expect(found.errors[i]).toStartWith(`NotImplementedError: h5wasm cannot ${verb}`);
    expect(found.errors[6]).toStartWith("NotImplementedError: h5wasm cannot read or write float16");
    expect(found.errors[7]).toContain("out of bounds");
    expect(found.errors[8]).toStartWith("FileNotFoundError");
    expect(found.errors[9]).toStartWith("FormatError");
    expect([found.keys, found.a]).toEqual([["a"], [0, 1]]);
  });
});

test("without the library and without the package there is no engine", () => {
  const file = join(dir, "none.ts");
  writeFileSync(file, `import { io } from "${root}/src/index.ts"; console.log(await io.loadHdf5());`);
  const { stdout } = Bun.spawnSync([process.execPath, file], { env: { ...process.env, ZENSOR_HDF5: "/nowhere.so" } });
  expect(["null", "h5wasm"]).toContain(stdout.toString().trim());
});
