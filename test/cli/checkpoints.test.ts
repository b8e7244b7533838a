// Training checkpoints through every format and back: what comes back is what torch.load reads, with all types.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHdf5 } from "../../src/ffi/hdf5.ts";
import { float, fromTypedArray, ones } from "../../src/index.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { FileWrite } from "../../src/io/store/single-file.ts";
import { loadExactly } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { zipPieces } from "../../src/io/zip/zip-write.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { equalText, pythonText } from "../io/python-text.ts";
import { zensor } from "./run.ts";

const fixtures = join(import.meta.dir, "../fixtures/torch/checkpoints");
const texts: Record<string, string> = await Bun.file(join(fixtures, "texts.json")).json();
const dir = mkdtempSync(join(tmpdir(), "zensor-checkpoints-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);

const hasHdf5 = findHdf5().library !== null;
const TARGETS = ["out", "out.tdz", "out.consolidated", "out.safetensors", "out.pt", "out.npz"].concat(
  hasHdf5 ? ["out.h5"] : [],
  ["out.snapshot"],
);
const NAMES_ONLY = new Set(["first_torch", "flat"]);
/** What cannot be written, or only with `--lossy`. */
const REFUSED: Record<string, [targets: RegExp, reason: string]> = {
  kinds: [/h5|snapshot/, "cannot be made of this"],
  kinds_legacy: [/h5|snapshot/, "cannot be made of this"],
  lightning: [/h5/, "it has a slash or a NUL: callbacks.ModelCheckpoint"],
  slashes: [/h5/, "it has a slash or a NUL: logs/a"],
  parameters: [
    /out$|tdz|consolidated|safetensors|npz|h5|snapshot/,
    "attributes that a program set on tensors: note; list.0\n  requires_grad: list.0; wants",
  ],
  rare: [/out$|tdz|consolidated|safetensors|npz|h5|snapshot/, "tensors without bytes (meta) cannot be written: empty"],
};
const names = readdirSync(fixtures).flatMap((file) => (file.endsWith(".pt") ? [file.slice(0, -3)] : []));

describe.each(names)("%s", (name) => {
  const from = join(fixtures, `${name}.pt`);
  const folder = mkdtempSync(join(dir, "case-"));

  test.each(TARGETS)("to %s and back", async (target) => {
    const to = join(folder, target);
    const back = join(folder, `back-${target}.pt`);
    const done = await zensor("convert", from, to);
    const [refused, reason = ""] = REFUSED[name] ?? [];
    if (refused?.test(target)) {
      expect(done).toMatchObject({ code: 1, out: "", err: expect.stringContaining(reason) });
      expect(existsSync(to)).toBe(false);
      return;
    }
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(await zensor("diff", from, to)).toEqual({ code: 0, out: "", err: "" });
    expect(await zensor("verify", to)).toMatchObject({ code: 0, err: "" });
    expect(await zensor("convert", to, back)).toMatchObject({ code: 0, err: "" });
    const value = loadExactly(back);
    expect(equalText(value)).toBe(equalText(loadExactly(from)));
    // Without anything that names cannot tell, no structure is written, and an OrderedDict becomes a dict.
    if (target === "out.pt" || !NAMES_ONLY.has(name)) expect(pythonText(value)).toBe(texts[name] as string);
    const [seen, again] = [await zensor("inspect", from), await zensor("inspect", to)];
    const lines = ({ out }: { out: string }) => out.split("\n").slice(0, -1).sort();
    expect(lines(again)).toEqual(lines(seen));
  });
});

const only = (name: string) => join(fixtures, `${name}.pt`);

describe("parts", () => {
  const parts: [source: string, keys: string, text: RegExp][] = [
    ["sgd", "step", /^dict\{"step": 3\}$/],
    [
      "sgd",
      "optimizer_state.state.0",
      /^dict\{"optimizer_state": dict\{"state": dict\{0: dict\{"momentum_buffer": T.*\}$/,
    ],
    ["sgd", "model_state.conv.bias", /^dict\{"model_state": OrderedDict\{"conv.bias": Tensor.*\)\}.*\}$/],
    ["adamw", "ema.shadow_params.1", /^dict\{"ema": dict\{"shadow_params": \[Tensor[^[]*\[3\][^[]*\]\}\}$/],
    ["adamw", "pair.1,schedulers", /^dict\{"schedulers": \[None, dict\{.*\}\], "pair": \(dict\{"mean": .*\}, \)\}$/],
    ["adam", "rng.python", /^dict\{"rng": dict\{"python": \(3, \(\d+, .*, \), None, \)\}\}$/],
    ["kinds", "tensors by others.[1, 2].0", /^dict\{"tensors by others": dict\{\(1, 2, \): \[Tensor.*\]\}\}$/],
    ["root_dots", "b.c.1", /^OrderedDict\{"b.c": \[1\]\}$/],
    ["root_list", "2.3", /^\[dict\{3: 1.0\}\]$/],
  ];
  test.each(parts)("of %s: %s", async (source, keys, text) => {
    const folder = mkdtempSync(join(dir, "part-"));
    const sources = [only(source)];
    for (const target of TARGETS) {
      const whole = join(folder, target);
      if ((await zensor("convert", only(source), whole)).code === 0) sources.push(whole);
    }
    expect(sources.length).toBeGreaterThan(6);
    for (const [i, from] of sources.entries()) {
      const to = join(folder, `part-${i}.pt`);
      expect(await zensor("slice", from, to, "--keys", keys)).toMatchObject({ code: 0, err: "" });
      expect(pythonText(loadExactly(to))).toMatch(text);
      // Part of what is in a format is that part in any other.
      const again = join(folder, `part-${i}.npz`);
      expect(await zensor("slice", from, again, "--keys", keys)).toMatchObject({ code: 0, err: "" });
      expect(await zensor("diff", to, again)).toEqual({ code: 0, out: "", err: "" });
    }
  });
  test("that are not there", async () => {
    const done = await zensor("slice", only("sgd"), join(dir, "none.pt"), "--keys", "optimizer_state.state.7");
    expect(done).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no entry "optimizer_state.state.7"'),
    });
  });
});

describe("differences", () => {
  const save = (name: string, value: unknown): string => {
    saveTorch(value, join(dir, name));
    return join(dir, name);
  };
  test("in types that names and values do not show", async () => {
    const a = save("a.pt", { t: [ones(1)], k: new Map([[0, ones(1)]]), v: [1, 2], f: float(2) });
    const b = save("b.pt", { t: Object.freeze([ones(1)]), k: { 0: ones(1) }, v: Object.freeze([1, 2]), f: 2 });
    const { code, out } = await zensor("diff", a, b);
    expect(code).toBe(1);
    expect(out.split("\n")).toEqual([
      "f: values differ: 2.0 and 2",
      "t: in Python list and tuple",
      "k: in Python keys 0 and as it is here",
      "v: in Python as it is here and tuple",
    ]);
  });
  test("an OrderedDict is equal to a dict", async () => {
    const a = save("c.pt", { n: new Map([["x", ones(1)]]) });
    const b = save("d.pt", { n: { x: ones(1) } });
    expect(await zensor("diff", a, b)).toEqual({ code: 0, out: "", err: "" });
  });
});

describe("several checkpoints", () => {
  test("merged, levels of both have their types", async () => {
    const [a, b, to] = [join(dir, "m1.pt"), join(dir, "m2.npz"), join(dir, "merged.pt")];
    expect((await zensor("slice", only("sgd"), a, "--keys", "optimizer_state.state.0,step")).code).toBe(0);
    expect(
      (await zensor("slice", only("sgd"), b, "--keys", "optimizer_state.state.1,optimizer_state.param_groups")).code,
    ).toBe(0);
    expect(await zensor("merge", a, b, to)).toMatchObject({ code: 0, err: "" });
    const value = loadExactly(to) as { optimizer_state: { state: Map<unknown, unknown> } };
    expect([...value.optimizer_state.state.keys()]).toEqual([0, 1]);
  });
  test("merged, a key that is a number in one and a text in another", async () => {
    const [a, b] = [join(dir, "k1.pt"), join(dir, "k2.pt")];
    saveTorch({ k: new Map([[0, { a: ones(1) }]]) }, a);
    saveTorch({ k: { 0: { b: ones(1) } } }, b);
    const done = await zensor("merge", a, b, join(dir, "k3.pt"));
    expect(done).toMatchObject({ code: 1, err: expect.stringContaining('the key "0" is a text in one source') });
  });
  test("stacked, they are what each of them is", async () => {
    const [a, to] = [only("root_list"), join(dir, "stacked.pt")];
    expect(await zensor("merge", "--stack", a, a, to)).toMatchObject({ code: 0, err: "" });
    const value = loadExactly(to) as Tensor[];
    expect([Array.isArray(value), value[0]?.shape[0]]).toEqual([true, 2]);
  });
  test("stacked, what the stack cannot tell is named", async () => {
    const [a, b, to] = [join(dir, "list.pt"), join(dir, "tuple.pt"), join(dir, "stacked")];
    saveTorch([ones(2)], a);
    saveTorch(Object.freeze([ones(2)]), b);
    const done = await zensor("merge", "--stack", a, b, to);
    expect(done).toMatchObject({ code: 1, err: expect.stringContaining("lists, tuples and keys of Python: ") });
    expect((await zensor("merge", "--stack", "--lossy", a, b, to)).code).toBe(0);
  });
});

/** A pickle in a file of torch.save. */
function pickled(name: string, ...codes: (string | number)[]): string {
  const path = join(dir, name);
  const bytes = codes.flatMap((code) => (typeof code === "number" ? [code] : [...Buffer.from(code, "latin1")]));
  const data = Uint8Array.from([0x80, 2, ...bytes, 0x2e]);
  new FileWrite(path, zipPieces([{ name: "archive/data.pkl", data }], { style: "torch" }).pieces).run();
  return path;
}

describe("hostile files", () => {
  const refusals: Record<string, [codes: (string | number)[], reason: RegExp]> = {
    "a list in itself": [["]q\0h\0a"], /"0" contains itself/],
    "a dict in itself": [["}q\0X\x01\0\0\0kh\0s"], /"k" contains itself/],
    "a list in a tuple in itself": [["}X\x01\0\0\0k]q\0h\0\x85as"], /"k\.0\.0" contains itself/],
    "levels without end": [["]".repeat(400), "a".repeat(399)], /has more than 100 levels below each other/],
    "lists that double": [["]q\0", "]q\x01h\0ah\0a".repeat(1), ...doubled(40)], /is beyond the 4000000 values/],
    "a set of what is no value": [["c__builtin__\nset\n(]}X\x01\0\0\0kK\x01sa\x85R"], /.*/],
  };
  test.each(Object.keys(refusals))(
    "%s",
    async (name) => {
      const [codes, reason] = refusals[name] as (typeof refusals)[string];
      const path = pickled(`${name}.pt`, ...codes);
      for (const command of [
        ["inspect", path],
        ["convert", path, join(dir, "hostile")],
      ]) {
        const { code, err } = await zensor(...command);
        expect(code).toBe(1);
        expect(err).toMatch(/^error: /);
        expect(err).toMatch(reason);
      }
      expect(existsSync(join(dir, "hostile"))).toBe(false);
    },
    60_000,
  );

  /** Doubles the list on top again and again. */
  function doubled(times: number): string[] {
    return Array.from({ length: times }, (_, i) => {
      const [before, after] = [String.fromCharCode(i + 1), String.fromCharCode(i + 2)];
      return `0]q${after}h${before}ah${before}a`;
    });
  }

  const structures: Record<string, [structure: unknown, reason: RegExp]> = {
    "no JSON": ["{", /is no JSON/],
    "another version": ['{"version":2}', /is not of version 1/],
    "no entries": ['{"version":1,"root":{}}', /has no entries/],
    "a list as entries": ['{"version":1,"root":{"entries":[]}}', /has entries that are none/],
    "a class that is a number": ['{"version":1,"root":{"is":3,"entries":{}}}', /has a class that is none/],
    "a class that is code": ['{"version":1,"root":{"entries":{"a":{"is":"os.system","value":"x"}}}}', /a os.system/],
    "a level of such a class": ['{"version":1,"root":{"is":"os.system","entries":{"a":null}}}', /a os.system/],
    "a dtype that is none": [
      '{"version":1,"root":{"entries":{"b":{"is":"torch.dtype","value":"os"}}}}',
      /a torch.dtype/,
    ],
    "a device that is none": [
      '{"version":1,"root":{"entries":{"b":{"is":"torch.device","value":"a b"}}}}',
      /"a b" is no/,
    ],
    "a size that is none": ['{"version":1,"root":{"entries":{"b":{"is":"torch.Size","value":[-1]}}}}', /a torch.Size/],
    "a key that is a list": [
      '{"version":1,"root":{"keys":{"a":{"value":[1]}},"entries":{"a":null}}}',
      /a key or a member of a set/,
    ],
    "a set of lists": [
      '{"version":1,"root":{"entries":{"a":null,"b":{"is":"set","value":[[1]]}}}}',
      /a key or a member of a set/,
    ],
    "attributes that are no dict": [
      '{"version":1,"root":{"attributes":{"value":1},"entries":{"a":null}}}',
      /has attributes that are no dict/,
    ],
    "names of one key": [
      '{"version":1,"root":{"keys":{"a":1,"b":1},"entries":{"a":null,"b":{"value":2}}}}',
      /same key/,
    ],
    "too many levels": [
      `{"version":1,"root":${'{"entries":{"a":'.repeat(500)}null${"}}".repeat(500)}}`,
      /is no JSON: nesting/,
    ],
  };
  test.each(Object.keys(structures))("a structure with %s", async (name) => {
    const [structure, reason] = structures[name] as (typeof structures)[string];
    const from = join(dir, `${name}.safetensors`);
    saveSafetensors({ a: ones(2) }, from, { metadata: { "zensor.structure": structure as string } });
    const { code, err } = await zensor("convert", from, join(dir, `${name}.pt`));
    expect(code).toBe(1);
    expect(err).toMatch(reason);
    expect(existsSync(join(dir, `${name}.pt`))).toBe(false);
  });
  test("a structure says nothing about what is not there, and nothing is lost that it does not say", async () => {
    const [from, to] = [join(dir, "other.safetensors"), join(dir, "other.pt")];
    const structure =
      '{"version":1,"root":{"keys":{"0":0},"entries":{"0":null,"gone":null,"__proto__":{"entries":{"x":null}}}}}';
    saveSafetensors({ "0": ones(1), more: ones(2), "__proto__.x": ones(3) }, from, {
      metadata: { "zensor.structure": structure, format: "pt" },
    });
    expect(await zensor("convert", from, to)).toMatchObject({ code: 0, err: "" });
    const value = loadExactly(to) as Map<unknown, unknown>;
    expect([...value.keys()]).toEqual([0, "__proto__", "more", "__metadata__"]);
    expect(Object.getPrototypeOf(value.get("__proto__"))).toBe(Object.prototype);
  });

  test("damaged structures: an error that says so, or a value, never anything else", async () => {
    const from = join(dir, "whole.npz");
    expect((await zensor("convert", only("kinds"), from)).code).toBe(0);
    const arrays = loadNpz(from);
    const header = JSON.parse(Buffer.from(arrays.__metadata__?.tolist() as number[]).toString("utf8"));
    const text = header["zensor.structure"] as string;
    let seed = 1;
    const random = (n: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % n;
    };
    const pieces = [
      "null",
      "[]",
      "{}",
      '"x"',
      "1",
      "tuple",
      "set",
      "torch.Size",
      "entries",
      "value",
      "keys",
      "is",
      "~",
      "0",
    ];
    for (let round = 0; round < 150; round++) {
      const [at, length] = [random(text.length), random(12)];
      const damaged = text.slice(0, at) + (pieces[random(pieces.length)] as string) + text.slice(at + length);
      const path = join(dir, "damaged.npz");
      saveNpz(path, {
        ...arrays,
        __metadata__: fromTypedArray(new TextEncoder().encode(JSON.stringify({ "zensor.structure": damaged }))),
      });
      const { code, err } = await zensor("convert", path, join(dir, "damaged.pt"), "--force");
      if (code === 0) loadExactly(join(dir, "damaged.pt"));
      else expect(err).toMatch(/structure|is no device|cannot be saved|stand for the same key/);
    }
  }, 60_000);
});
