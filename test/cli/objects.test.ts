// Checkpoints with objects of Python's classes in the command line: listed, compared, cut, and kept where a format can.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ones } from "../../src/index.ts";
import { PythonName, PythonObject } from "../../src/io/pickle/python-object.ts";
import { loadExactly, loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { objectText } from "../io/object-text.ts";
import { zensor } from "./run.ts";

const fixtures = join(import.meta.dir, "../fixtures/torch/objects");
const dir = mkdtempSync(join(tmpdir(), "zensor-cli-objects-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const only = (name: string) => join(fixtures, `${name}.pt`);
// Lists that contain themselves are levels without end.
const names = readdirSync(fixtures).flatMap((file) => (/^(?!graph).*\.pt$/.test(file) ? [file.slice(0, -3)] : []));

/** Texts without numbers for what is shared: a tree has each of its values once more. */
function unshared(name: string): string {
  const [value] = JSON.parse(JSON.stringify([objectText(loadExactly(name))]));
  return value.replace(/<\d+>/g, "<>");
}

describe.each(names)("%s", (name) => {
  test("is listed and verified", async () => {
    const seen = await zensor("inspect", only(name));
    expect(seen).toMatchObject({ code: 0, err: "" });
    expect(await zensor("inspect", only(name), "--json")).toMatchObject({ code: 0, err: "" });
    expect(await zensor("verify", only(name))).toMatchObject({ code: 0, err: "" });
  });
  test("is the same as a copy of it", async () => {
    const to = join(dir, `${name}.pt`);
    expect(await zensor("convert", only(name), to)).toMatchObject({ code: 0, err: "" });
    expect(await zensor("diff", only(name), to)).toEqual({ code: 0, out: "", err: "" });
    if (!/kinds/.test(name)) expect(unshared(to)).toBe(unshared(only(name)));
  });
  test("becomes any other format with a word about what stays behind", async () => {
    for (const target of ["out.safetensors", "out.npz", "out"]) {
      const to = join(dir, `${name}-${target}`);
      const told = await zensor("convert", only(name), to);
      if (told.code === 0) continue;
      expect(existsSync(to)).toBe(false);
      expect(told.err).toMatch(/Pass --lossy to agree|cannot be made of this|no tensor by itself/);
      const done = await zensor("convert", only(name), to, "--lossy");
      if (!/Pass --lossy/.test(told.err)) continue;
      expect([target, done.code]).toEqual([target, 0]);
      const tensors = (out: string) =>
        out
          .split("\n")
          .filter((line) => / {2}\[/.test(line))
          .sort();
      const [seen, again] = [await zensor("inspect", only(name)), await zensor("inspect", to)];
      expect(tensors(again.out)).toEqual(tensors(seen.out));
      // What was an object is a dictionary of its tensors or a text, also in Python.
      expect(await zensor("convert", to, `${to}.pt`)).toMatchObject({ code: 0, err: "" });
      loadTorch(`${to}.pt`);
    }
  });
});

describe("what is said of objects", () => {
  const lines = async (...words: string[]) => (await zensor(...words)).out.split("\n");
  test("a text for one without tensors, its class for one with them", async () => {
    const shown = await lines("inspect", only("ultralytics"));
    expect(shown).toContain('train_args.data = pathlib.PosixPath("coco8.yaml")');
    expect(shown).toContain("ema = ultralytics.nn.tasks.DetectionModel(...)");
    expect(shown.some((line) => /^ema\.model\.0\.conv\.weight +float16 +\[2, 1, 1, 1\]/.test(line))).toBe(true);
    const { values, rows } = JSON.parse((await zensor("inspect", only("timm"), "--json")).out);
    const found = values.find((row: { name: string }) => row.name === "args");
    expect(found.value).toStartWith('argparse.Namespace(model="resnet50", lr=0.5');
    expect(rows.length).toBe(26);
  });
  test("differences", async () => {
    const thing = (state: unknown) => new PythonObject(new PythonName("p", "Thing"), { state });
    const save = (name: string, value: unknown) => {
      saveTorch(value, join(dir, name));
      return join(dir, name);
    };
    const weight = ones(2);
    const a = save("a.pt", { v: thing({ lr: 1 }), w: thing({ weight, lr: 1 }), c: thing({}) });
    const b = save("b.pt", { v: thing({ lr: 2 }), w: thing({ weight, lr: 2 }), c: { is: "a dict" } });
    expect((await lines("diff", a, b)).sort()).toEqual([
      "c: in Python p.Thing and as it is here",
      'c: values differ: "p.Thing()" and {"is": "a dict"}',
      'v: values differ: "p.Thing(lr=1)" and "p.Thing(lr=2)"',
      "w: what the object is differs",
    ]);
  });
  test("a part of one is an object where it is whole, and a dictionary where it is not", async () => {
    const to = join(dir, "part.pt");
    const keys = "ema.model.0,ema.stride,epoch,train_args.data";
    expect(await zensor("slice", only("ultralytics"), to, "--keys", keys)).toMatchObject({ code: 0, err: "" });
    const value = loadTorch(to);
    expect(Object.keys(value)).toEqual(["epoch", "ema", "train_args"]);
    expect(value.ema.model["0"]?.className ?? value.ema.model.get("0").className).toBe(
      "ultralytics.nn.modules.conv.Conv",
    );
    expect([value.ema.stride.tolist(), String(value.train_args.data)]).toEqual([
      [8, 16],
      'pathlib.PosixPath("coco8.yaml")',
    ]);
  });
  test("kinds of lists, sets and dictionaries come back from any format", async () => {
    const value = loadExactly(only("kinds")) as Record<string, unknown>;
    const from = join(dir, "few.pt");
    const few = { lists: (value.lists as unknown[]).slice(1, 3), sets: value.sets, bytes: value.bytes, t: ones(1) };
    const [factory] = (value.dicts as unknown[]).slice(2, 3);
    saveTorch({ ...few, factory, n: loadTorch(only("numpy_2")).n }, from);
    for (const target of ["few.safetensors", "few.npz", "few"]) {
      const to = join(dir, target);
      expect(await zensor("convert", from, to)).toMatchObject({ code: 0, err: "" });
      expect(await zensor("convert", to, `${to}.back.pt`)).toMatchObject({ code: 0, err: "" });
      expect(objectText(loadExactly(`${to}.back.pt`))).toBe(objectText(loadExactly(from)));
    }
  });
});

describe("what is shared again and again", () => {
  const object = (state: unknown) => new PythonObject(new PythonName("p", "Thing"), { state });
  const doubled = (value: unknown, times: number): unknown => {
    let result = value;
    for (let i = 0; i < times; i++) result = object({ _modules: { x: result, y: [result, result] } });
    return result;
  };
  test("inside of an object it is listed once", async () => {
    const path = join(dir, "doubled.pt");
    saveTorch({ a: doubled(object({ _parameters: { t: ones(1) } }), 40) }, path);
    const seen = await zensor("inspect", path);
    expect(seen).toMatchObject({ code: 0, err: "" });
    expect(seen.out.split("\n").filter((line) => line.includes("float32")).length).toBe(1);
    expect((await zensor("convert", path, join(dir, "doubled-again.pt"))).code).toBe(0);
    expect(objectText(loadExactly(join(dir, "doubled-again.pt")))).toBe(objectText(loadExactly(path)));
  });
  test("in lists and dictionaries it is an error, and a quick one", async () => {
    for (const inner of [ones(1), object({ lr: 1 })]) {
      let list: unknown[] = [inner];
      for (let i = 0; i < 40; i++) list = [list, list];
      const path = join(dir, "lists.pt");
      saveTorch({ list }, path);
      const begin = performance.now();
      expect(await zensor("inspect", path)).toMatchObject({ code: 1, err: expect.stringContaining("beyond the") });
      expect(performance.now() - begin).toBeLessThan(10_000);
    }
  });
});
