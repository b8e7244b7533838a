// Directories written by Python's tensordict 0.15.3: every one is read with equal content, and written back byte
// for byte.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type LoadOptions, setTensorDictPrintoptions, TensorDict } from "../../src/tensordict/index.ts";
import type { Td } from "../../src/tensordict/state.ts";
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
  nested_strided: /is a nested tensor/,
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
  test("everything else can be read, and the bytes stay", () => {
    const td = load(unpack("nontensor_pickle", room.path), { pickles: "keep" });
    expect(td.at("np")).toBe(2.5);
    expect((td.at("bytes") as { bytes: Uint8Array }).bytes.length).toBeGreaterThan(10);
  });
});

describe("options", () => {
  test("subpath", () => {
    const path = unpack("nested", room.path);
    expect(load(path, { subpath: "n/m" }).keys()).toEqual(["c"]);
    expect(load(path, { subpath: ["n", "m"] }).batchSize).toEqual([2, 3] as never);
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
  });
});
