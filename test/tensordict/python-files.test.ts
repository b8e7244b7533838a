// Directories written by Python's tensordict 0.15.3: every one is read with equal content, and written back byte
// for byte.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Td } from "../../src/tensordict/core/state.ts";
import { type LoadOptions, PythonClass, setTensorDictPrintoptions, TensorDict } from "../../src/tensordict/index.ts";
import "./classes.ts";
import {
  describeEntry,
  EXAMPLES,
  type Example,
  filesBelow,
  inFileOrder,
  normalizeExpected,
  temporaryDirectory,
  unpack,
} from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

/** Examples that cannot be loaded, with the reason. */
const REFUSED: Record<string, RegExp> = {
  dtype_complex32: /unsupported dtype "torch.complex32"/,
  dtype_float8_e4m3fnuz: /unsupported dtype/,
  dtype_float8_e5m2fnuz: /unsupported dtype/,
  dtype_float8_e8m0fnu: /unsupported dtype/,
  nontensor_pickle: /Refusing to load pickled/,
  nontensor_special: /Refusing to load pickled/,
  nontensor_stack_pickle: /Refusing to load pickled/,
  tensorclass_pickle_field: /Refusing to load pickled/,
};

/** Examples that are read but whose files differ from what we write, with the reason. */
const REWRITTEN: Record<string, string> = {
  legacy_v0: "format version 0 becomes version 1",
  params_in_td: "a TensorDictParams is saved again as a TensorDict",
  reserved_shape: "Python lost the tensor and left its file",
  reserved_device: "Python lost the tensor and left its file",
  reserved__type: "Python lost the tensor and left its file",
  reserved__names: "Python lost the names; we refuse to lose them, and here there are none",
};

/** How Python prints the directory of an old version. */
const LEGACY_TEXT = `TensorDict(batch_size=[2], device=cpu, fields={
    a: f32[3],
    l: LazyStackedTensorDict{q: f32[-1]},
    n: {b: f32[]},
    s: str,
    sp ace: f32[]})`;

const directories = Object.keys(EXAMPLES).filter((name) => !name.endsWith(".safetensors"));

function load(path: string, options: LoadOptions = {}): Td {
  return TensorDict.loadMemmap(path, options) as unknown as Td;
}

/** Files of the source device: NonTensorStacks record it. */
function withSourceDevice(td: Td, name: string): Td {
  return name === "nontensor_stack_dev" ? td : td.clearDevice_();
}

function edit(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

describe("reading", () => {
  for (const name of directories) {
    test(name, () => {
      const path = unpack(name, room.path);
      const reason = REFUSED[name];
      if (reason !== undefined) {
        expect(() => load(path)).toThrow(reason);
        return;
      }
      const td = load(path);
      if (name === "legacy_v0") {
        using _ = setTensorDictPrintoptions({ compact: true });
        expect(String(td)).toBe(LEGACY_TEXT);
        return;
      }
      const expected = normalizeExpected((EXAMPLES[name] as Example).expect) as {
        entries: Record<string, unknown>;
      };
      // Python drops this key without a word: it does not look for the raw name of an old file.
      if (name === "odd_keys_legacy")
        expected.entries["back\\slash"] = {
          kind: "tensor",
          dtype: "torch.int64",
          shape: [],
          hex: "0a00000000000000",
        };
      // Python cannot load float8 at all: its description is that of the source, without a device.
      if (name.startsWith("dtype_float8")) td.clearDevice_();
      expect(describeEntry(td)).toEqual(expected as never);
    });
  }
});

describe("writing the same content gives the same bytes", () => {
  for (const name of directories) {
    if (REFUSED[name] !== undefined || REWRITTEN[name] !== undefined) continue;
    test(name, () => {
      const path = unpack(name, room.path);
      const td = load(path);
      if (name !== "odd_keys_legacy") inFileOrder(td, path);
      withSourceDevice(td, name);
      const target = join(room.path, "again", name);
      td.memmap(target, { copyExisting: true, robustKey: name !== "odd_keys_legacy" });
      const before = filesBelow(path);
      const after = filesBelow(target);
      expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
      for (const [file, bytes] of before)
        expect([file, after.get(file)?.toString("latin1")]).toEqual([file, bytes.toString("latin1")]);
    });
  }
});

describe("pickles", () => {
  const value = (td: Td, key: string) => td.at(key) as unknown;
  test("everything else can be read, and the bytes stay", () => {
    const td = load(unpack("nontensor_pickle", join(room.path, "keep")), { pickles: "keep" });
    expect(td.at("np")).toBe(2.5);
    expect((td.at("bytes") as { bytes: Uint8Array }).bytes.length).toBeGreaterThan(10);
  });
  test("plain values are read", () => {
    const path = unpack("nontensor_pickle", join(room.path, "plain"));
    expect(() => load(path, { pickles: "plain" })).toThrow(/fr.other\.pickle.*fractions\.Fraction/);
    edit(join(path, "meta.json"), (text) => text.replace('"fr": {"type": "NonTensorData"}, ', ""));
    const td = load(path, { pickles: "plain" });
    expect(value(td, "bytes")).toEqual(new Uint8Array([97, 98, 99]));
    expect(value(td, "set")).toEqual(new Set([1, 2]));
    expect(String(value(td, "type"))).toBe("<class 'collections.OrderedDict'>");
    const special = load(unpack("nontensor_special", join(room.path, "plain")), { pickles: "plain" });
    expect(value(special, "intkey")).toEqual(new Map([[1, 2]]));
    td.set_("set", "now text");
    expect(value(load(path, { pickles: "plain" }), "set")).toBe("now text");
    const box = load(unpack("tensorclass_pickle_field", join(room.path, "plain")), { pickles: "plain" });
    expect(value(box, "meta")).toEqual(new Set([1, 2, 3]));
  });
  test("a class that was saved is told without its pickle, as long as both belong together", () => {
    const path = unpack("nontensor_pickle", join(room.path, "class"));
    const only = { subpath: "type" } as const;
    expect((load(path, only) as unknown as { data: unknown }).data).toBeInstanceOf(PythonClass);
    const file = join(path, "type", "json_types.json");
    const text = readFileSync(file, "utf8");
    for (const other of [text.replace("88e1", "0000"), text.replace("OrderedDict", "system"), "{}"]) {
      writeFileSync(file, other);
      expect(() => load(path, only)).toThrow("Refusing to load pickled");
    }
    writeFileSync(file, "{");
    expect(() => load(path, only)).toThrow(file);
  });
  test("stacks of values", () => {
    const path = unpack("nontensor_stack_pickle", join(room.path, "plain"));
    expect(() => load(path, { pickles: "plain" })).toThrow("fractions.Fraction");
    const file = join(path, "s", "pickle.pkl");
    // [{1}, (1, 2)] of protocol 4.
    writeFileSync(file, Buffer.from("80045d94288f94284b01904b014b028694652e", "hex"));
    expect(load(path, { pickles: "plain" }).get("s").tolist()).toEqual([new Set([1]), [1, 2]] as never);
    writeFileSync(file, Buffer.from("80044b052e", "hex"));
    expect(() => load(path, { pickles: "plain" })).toThrow("is not a list");
  });
  test("a pickle without the value", () => {
    const path = unpack("nontensor_pickle", join(room.path, "hostile"));
    const file = join(path, "set", "other.pickle");
    for (const bytes of ["80045d2e", "80047d2e", "80044e2e", "80048c01612e"]) {
      writeFileSync(file, Buffer.from(bytes, "hex"));
      expect(() => load(path, { pickles: "plain", subpath: "set" })).toThrow('the pickle has no "data"');
    }
    writeFileSync(file, "");
    expect(() => load(path, { pickles: "plain", subpath: "set" })).toThrow(file);
  });
});

describe("options", () => {
  test("subpath", () => {
    const path = unpack("nested", room.path);
    expect(load(path, { subpath: "n/m" }).keys()).toEqual(["c"]);
    expect(load(path, { subpath: ["n", "m"] }).batchSize).toEqual([2, 3] as never);
    expect(load(path, { subpath: "/n//m/" }).keys()).toEqual(["c"]);
    expect(load(path, { subpath: "" }).keys()).toEqual(load(path).keys());
    expect(() => load(path, { subpath: [] })).toThrow("subpath must be a string path or a (nested) tuple of strings.");
    expect(() => load(path, { subpath: "../nested" })).toThrow(join(path, "%2E%2E", "nested"));
    expect(() => load(path, { subpath: "nope" })).toThrow(
      `No tensordict found under subpath 'nope' (missing meta.json in ${join(path, "nope")}).`,
    );
  });
  test("meta device reads no bytes", () => {
    const td = load(unpack("plain", room.path), { device: "meta" });
    expect(String((td.at("a") as unknown as { device: unknown }).device)).toBe("meta");
  });
  test("changes are private with mode r", () => {
    const path = unpack("plain", room.path);
    const td = load(path, { mode: "r" });
    td.zero_();
    expect(load(path).at("b").tolist()).toEqual([0, 1]);
    const shared = load(path, { mode: "r+" });
    shared.zero_();
    expect(load(path).at("b").tolist()).toEqual([0, 0]);
    expect(() => load(path, { mode: "c" as "r" })).toThrow("mode must be 'r', 'r+' or None, got 'c'.");
  });
  test("loading into keeps levels that are there and drops what is not on disk", () => {
    const path = unpack("nested", room.path);
    const out = new TensorDict({ n: { old: 1 }, a: { was: 1 }, z: 1 }) as unknown as Td;
    const level = out.at("n");
    expect(load(path, { out })).toBe(out);
    expect(out.at("n")).toBe(level);
    expect([...out.keys()].sort()).toEqual([...load(path).keys()].sort());
    expect([...level.keys()].sort()).toEqual(["b", "m"]);
    const locked = new TensorDict({ a: 1 }).lock_() as unknown as Td;
    expect(() => load(path, { out: locked })).toThrow("Cannot modify locked TensorDict");
  });
  test("names as they are, where both forms of a name are there", () => {
    const path = join(room.path, "names");
    const save = (value: number, robustKey: boolean) =>
      new TensorDict({ "sp ace": value, "n d": { "x y": value } }).memmap(path, { robustKey });
    save(1, true);
    save(2, false);
    const found = (td: Td) => [td.at("sp ace").item(), td.at(["n d", "x y"]).item()];
    expect(found(load(path))).toEqual([1, 1] as never);
    expect(found(load(path, { robustKey: false }))).toEqual([2, 2] as never);
  });
});
