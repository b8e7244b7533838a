// Checkpoints with objects of Python's classes in them: all is read, nothing is run, and it is written as it was read.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { float, io, load, loadAsync, nn, ones, save, Tensor, TensorDict } from "../../src/index.ts";
import { FormatError } from "../../src/io/base/errors.ts";
import { PythonName, PythonObject } from "../../src/io/pickle/python-object.ts";
import { loadExactly, loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { Complex } from "../../src/tensor/complex.ts";
import { objectText } from "./object-text.ts";

const fixtures = join(import.meta.dir, "../fixtures/torch/objects");
const texts: Record<string, string> = await Bun.file(join(fixtures, "texts.json")).json();
const tensors: Record<string, Record<string, [number[], number | null]>> = await Bun.file(
  join(fixtures, "tensors.json"),
).json();
const names = readdirSync(fixtures).flatMap((file) => (file.endsWith(".pt") ? [file.slice(0, -3)] : []));
const dir = mkdtempSync(join(tmpdir(), "zensor-objects-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const fixture = (name: string) => join(fixtures, `${name}.pt`);

/** What a program finds under a name or a number. */
function inside(value: unknown, key: string): unknown {
  if (value instanceof PythonObject) return value.get(key) ?? value.listItems?.[Number(key)];
  if (value instanceof Map) return value.get(key);
  return (value as Record<string, unknown>)[key];
}

describe.each(names)("%s", (name) => {
  test("is read as Python has it", () => {
    expect(objectText(loadExactly(fixture(name)))).toBe(texts[name] as string);
  });
  test("is written as it was read", () => {
    const copy = join(dir, `${name}.pt`);
    saveTorch(loadExactly(fixture(name)), copy);
    // Protocol 2 knows no classes inside of others, and says so by a call that gives the same class.
    expect(objectText(loadExactly(copy))).toBe(texts[name] as string);
  });
  test("has its numbers where Python has them", () => {
    // Paths of these lead through what only Python knows.
    if (name === "kinds" || name === "newer") return;
    const value = load(fixture(name));
    for (const [path, [shape, sum]] of Object.entries(tensors[name] as object)) {
      const keys = path.split("/").slice(1);
      if (name === "numpy_kinds" && keys[0] === "odd") continue;
      const found = keys.reduce(inside, value) as Tensor;
      expect([path, found instanceof Tensor]).toEqual([path, true]);
      expect([path, [...found.shape]]).toEqual([path, shape]);
      if (sum === null) continue;
      const own = found.detach().to("float64").sum().item() as number;
      expect(Math.abs(own - sum)).toBeLessThan(1e-6 * Math.max(1, Math.abs(sum)));
    }
  });
});

// With $ZENSOR_ORACLE_PYTHON, a Python with torch, it is asked what it has of the files that were written.
const python = process.env.ZENSOR_ORACLE_PYTHON;
test.skipIf(python === undefined)("Python reads what is written as what it was", () => {
  for (const name of names) {
    const copy = join(dir, `again-${name}.pt`);
    saveTorch(loadExactly(fixture(name)), copy);
    const script = join(import.meta.dir, "../../scripts/oracle/make_objects.py");
    const { stdout } = Bun.spawnSync([python as string, "-W", "ignore", script, fixture(name), copy]);
    const [first, second] = stdout.toString().trim().split("\n");
    expect([name, first?.length ?? 0]).not.toEqual([name, 0]);
    expect([name, second]).toEqual([name, first]);
  }
});

describe("what becomes of objects", () => {
  test("describe, which is what is done without a word", async () => {
    for (const value of [load(fixture("timm")), loadTorch(fixture("timm"), { unknown: "describe" })]) {
      const { args } = value;
      expect([args instanceof PythonObject, args.className, args.how]).toEqual([true, "argparse.Namespace", "new"]);
      expect([args.get("lr"), args.state.opt, args.get("no")]).toEqual([0.5, "adamw", undefined]);
      expect(String(args)).toStartWith(
        'argparse.Namespace(model="resnet50", lr=0.5, opt="adamw", epochs=300, mean=None',
      );
    }
    expect((await loadAsync(fixture("timm"))).args).toBeInstanceOf(PythonObject);
  });
  test("skip", async () => {
    for (const value of [
      load(fixture("timm"), { unknown: "skip" }),
      await loadAsync(fixture("timm"), { unknown: "skip" }),
    ]) {
      expect(Object.keys(value)).not.toContain("args");
      expect([value.metric, value.state_dict["0.weight"] instanceof Tensor]).toEqual([77.5, true]);
    }
    // Lists keep the places of what stands behind.
    expect(loadTorch(fixture("lightning"), { unknown: "skip" }).strategy).toEqual([null, null, null]);
    expect(loadTorch(fixture("legacy"), { unknown: "skip" })).toEqual({ metric: 1 });
  });
  test("refuse, by name; NumPy's numbers and arrays are data", async () => {
    const wanted = 'names "argparse.Namespace", which is no data';
    expect(() => load(fixture("timm"), { unknown: "refuse" })).toThrow(wanted);
    expect(() => loadTorch(fixture("legacy"), { unknown: "refuse" })).toThrow("torch.nn.modules.container.Sequential");
    expect(loadAsync(fixture("timm"), { unknown: "refuse" })).rejects.toThrow(wanted);
    expect(loadTorch(fixture("numpy_1"), { unknown: "refuse" }).w).toBeInstanceOf(Tensor);
    expect(() => loadTorch(fixture("timm"), { unknown: "run" as never })).toThrow("unknown");
  });
  test("what is no data is refused by its name, or described", () => {
    const own = (name: string) => join(fixtures, "..", `${name}.pt`);
    const reasons = {
      sparse: ["sparse tensors", "torch._utils._rebuild_sparse_tensor"],
      quantized: ["quantized tensors", "torch._utils._rebuild_qtensor"],
      module: ["torch.nn.modules.container.Sequential", "torch.nn.modules.container.Sequential"],
    };
    for (const [name, [refused, described]] of Object.entries(reasons)) {
      expect(() => loadTorch(own(name), { unknown: "refuse" })).toThrow(refused as string);
      expect(() => loadTorch(own(name), { unknown: "skip" })).toThrow(`all of it is a ${described}`);
      const value = loadTorch(own(name));
      expect([value instanceof PythonObject, value.className]).toEqual([true, described]);
    }
  });
  test.each(["odd_tensors", "legacy_odd_tensors"])("tensors of kinds that are not here, in %s", (name) => {
    const own = join(fixtures, "..", `${name}.pt`);
    const odd = "scales parameter sparse quantized half meta noted".split(" ");
    const value = loadTorch(own);
    expect(value.weight.tolist()).toEqual([1, 2, 4]);
    expect(value.module.stateDict()).toEqual({ weight: expect.any(Tensor), bias: expect.any(Tensor) });
    for (const key of odd) {
      const found = key === "scales" ? value.scales[0] : value[key];
      expect([key, found instanceof PythonObject]).toEqual([key, true]);
    }
    expect(value.scales[0]).toBe(value.scales[1]);
    expect(value.names).toEqual(["\udce9", "caf\ud800".repeat(9), "\ufeffx"]);
    expect(() => saveTorch(value, join(dir, "names.pt"))).toThrow("half of a surrogate pair");
    value.names = [];
    saveTorch(value, join(dir, `${name}.pt`));
    expect(objectText(loadExactly(join(dir, `${name}.pt`)))).toBe(
      objectText({ ...(loadExactly(own) as object), names: [] }),
    );
    expect(Object.keys(loadTorch(own, { unknown: "skip" })).join()).toBe("weight,scales,names");
    expect(() => loadTorch(own, { unknown: "refuse" })).toThrow("tensors of this dtype");
  });
  test("a tensorclass that is not known, with its TensorDict", () => {
    const path = join(dir, "tensorclass.pt");
    const state = { tensordict: new TensorDict({ a: ones(2) }, { batchSize: [2] }), non_tensordict: {} };
    saveTorch(new PythonObject(new PythonName("readings", "NotKnown"), { state }), path);
    const described = loadTorch(path);
    expect([described.className, described.state.tensordict.get("a").tolist()]).toEqual(["readings.NotKnown", [1, 1]]);
  });
  test("a whole module: its tensors, and its state in a module here", () => {
    const module = load(fixture("root_module"));
    expect(module.get("0").get("weight")).toBeInstanceOf(nn.Parameter);
    expect(Object.keys(module.stateDict())).toEqual([
      "0.weight",
      "0.bias",
      "1.weight",
      "1.bias",
      "1.running_mean",
      "1.running_var",
      "1.num_batches_tracked",
    ]);
    const own = new nn.Linear(3, 2);
    own.loadStateDict(module.get("0").stateDict());
    expect(own.weight.equal(module.get("0").get("weight"))).toBe(true);
  });
  test("what is shared and what contains itself", () => {
    const read = (path: string) => {
      const { family, loop, knot, shared, tied, outside, keys } = load(path);
      const [parent, child] = family;
      expect([parent.get("children")[0], child.get("parent"), loop[0]]).toEqual([child, parent, loop]);
      const tuple = knot.get("tuple");
      expect([tuple[0], tuple[1][0], tuple[2].me]).toEqual([knot, knot, knot]);
      expect([shared[1], shared[3].get("same")]).toEqual([shared[0], shared[0]]);
      expect(shared[3].get("view").untypedStorage().dataPtr()).toBe(shared[0].untypedStorage().dataPtr());
      expect([tied.get("1"), tied.get("first"), tied.get("0").get("weight")]).toEqual([
        tied.get("0"),
        tied.get("0"),
        outside,
      ]);
      expect([...keys.keys()][0]).toBe(child);
    };
    read(fixture("graph"));
    save(load(fixture("graph")), join(dir, "graph-again.pt"));
    read(join(dir, "graph-again.pt"));
  });
});

describe("NumPy", () => {
  test("numbers are numbers, and what was too large a bigint", () => {
    const { scalars, texts: words, keys } = load(fixture("numpy_kinds"));
    expect(scalars.slice(0, 14)).toEqual([true, ...Array(11).fill(1), new Complex(1, 0), new Complex(1, 0)]);
    expect(scalars.slice(14)).toEqual([-1, NaN, -Infinity, new Complex(1, -2), 2n ** 64n - 1n, -(2n ** 60n), -0]);
    expect(words).toEqual(["ab", "é😀", ""]);
    expect([...keys]).toEqual([
      [1, "one"],
      ["k", true],
      [2, null],
      ["z", 2],
    ]);
  });
  test("a number that is the whole file", () => {
    expect(load(fixture("root_scalar"))).toBe(2);
  });
  test("arrays of every kind are tensors of their own", () => {
    const { arrays, big, fortran, shapes, odd, random, shared } = load(fixture("numpy_kinds"));
    for (const array of [...Object.values(arrays), ...big, ...fortran.slice(0, 2)] as Tensor[]) {
      const plain = array.isComplex() ? array.real : array;
      const whole =
        array.dtype.name === "bool"
          ? [
              [0, 1, 1],
              [1, 1, 1],
            ]
          : [
              [0, 1, 2],
              [3, 4, 5],
            ];
      expect(plain.to("float64").tolist()).toEqual(whole);
    }
    expect(fortran[0].stride()).toEqual([1, 2]);
    expect(shapes.map((array: Tensor) => [...array.shape])).toEqual([[], [], [0], [3, 0, 2], [1, 1, 1, 2]]);
    expect([shapes[0].item(), shapes[1].item()]).toEqual([5, 2.5]);
    expect([shared[1], shared[2].again]).toEqual([shared[0], shared[0]]);
    expect(random.state[1].dtype.name).toBe("uint32");
    // Texts, dates, objects and records are no numbers: they are described.
    expect(odd.map((item: unknown) => item instanceof PythonObject)).toEqual(odd.map(() => true));
  });
  test("a tensor that was changed is written as the array that it is now", () => {
    const path = join(dir, "changed.pt");
    const value = load(fixture("numpy_2"));
    value.w.mul_(2);
    value.f.fill_(7);
    saveTorch([value.w, value.f, value.w.clone()], path);
    expect(objectText(loadExactly(path))).toMatch(/^\[ndarray\(<f4, .*, ndarray\(<f8, \[2, 2\], F, .*, Tensor\(/);
    expect(load(path)[0].tolist()).toEqual([
      [0, 2, 4],
      [6, 8, 10],
    ]);
    value.w.requiresGrad_(true);
    saveTorch(value.w, path);
    expect(load(path).requiresGrad).toBe(true);
  });
});

describe("objects that a program makes", () => {
  const back = (value: unknown): unknown => {
    saveTorch(value, join(dir, "made.pt"));
    return loadExactly(join(dir, "made.pt"));
  };
  const thing = (parts: object) => new PythonObject(new PythonName("project.things", "Thing"), parts);
  test("are written with all that they were given", () => {
    const value = thing({
      args: [1, float(2)],
      kwargs: { k: [1] },
      listItems: ["a"],
      dictItems: { b: 1 },
      state: { c: null },
    });
    expect(objectText(back(value))).toBe(
      'new name(project.things.Thing)(1, 2.0, )dict{"k": [1]} items ["a"] pairs {"b": 1} state dict{"c": None}',
    );
  });
  test("names of any letters stay names", () => {
    for (const [module, name] of [
      ["modül", "Größe"],
      ["a.b", "C.D.E"],
      ["a\nb", "c\n.\nd"],
      ["__proto__", "constructor"],
    ]) {
      const made = back(new PythonName(module as string, name as string)) as PythonName;
      expect([made.module, made.name]).toEqual([module as string, name as string]);
    }
    expect(() => back(new PythonName("\ud800", "x"))).toThrow();
    // A text that looks like what the writer remembers of a name is a text.
    expect(back([new PythonName("os", "system"), "\0os\nsystem\n", "os\nsystem\n"])).toEqual([
      new PythonName("os", "system"),
      "\0os\nsystem\n",
      "os\nsystem\n",
    ]);
  });
  test("a tuple that a list leads back to is one", () => {
    const inner: unknown[] = [];
    inner.push(Object.freeze([inner]));
    expect(objectText(back(thing({ args: [inner] })))).toBe("new name(project.things.Thing)([(<3>, )], )");
  });
  test("what cannot be written is refused by name", () => {
    const called = new PythonObject(new PythonName("m", "f"), { how: "call", kwargs: { a: 1 } });
    expect(() => back(called)).toThrow("the call of m.f with named arguments cannot be saved");
    expect(() => back(thing({ how: "persistent", args: [1] }))).toThrow("a persistent id by itself cannot be saved");
    expect(() => back(thing({ state: new Date() }))).toThrow("a Date cannot be saved");
  });
  test("keys that are names of prototypes are keys", () => {
    const { objects } = load(fixture("kinds"));
    expect(Object.keys(objects[0].state)).toEqual(["a", "b", "__proto__", "constructor"]);
    expect([objects[0].get("__proto__"), objects[0].get("toString")]).toEqual([3, undefined]);
    expect(Object.getPrototypeOf(objects[0].state)).toBe(Object.prototype);
  });
});

/** A pickle in a file of torch before 1.6, which needs no archive. */
function pickled(name: string, code: string): string {
  const path = join(dir, `${name}.pt`);
  const system = "\x80\x02\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";
  writeFileSync(path, Buffer.from(`${system}\x80\x02${code}.\x80\x02].`, "latin1"));
  return path;
}

describe("hostile pickles", () => {
  const refused: Record<string, [code: string, reason: RegExp]> = {
    "a list as a key": ["cm\nC\n)\x81]Ns", /a list as a key/],
    "a dict in a tuple as a key": ["cm\nC\n)\x81}\x85Ns", /a dict as a key/],
    "a set as a member": ["c__builtin__\nfrozenset\n]\x85R\x8f(\x8f\x90", /a set as a key/],
    "two states": ["cm\nC\n)\x81K\x01bK\x02b", /two states/],
    "items after the state": ["cm\nC\n)\x81}bK\x01a", /items of an object after its state/],
    "a call of a number": ["K\x01)R", /no listed name/],
    "arguments that are a list": ["cm\nC\n]R", /no tuple/],
    "named arguments without names": ["cm\nC\n)}K\x01K\x02s\x92", /named argument without a name/],
    "a name that is a number": ["K\x01K\x02\x93", /no string/],
    "calls of calls without end": ["cm\nf\n".padEnd(5) + ")R".repeat(2000), /nested too deeply/],
    "states without end": [`${"cm\nC\n)\x81".repeat(2000)}${"b".repeat(1999)}`, /nested too deeply/],
    "an array that is too short": [
      "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tC\x01btR(K\x01(K\x05tcnumpy\ndtype\n(X\x02\0\0\0f8\x89\x88tR\x89C\x01btb",
      /an array of shape \[5\] and torch.float64 has 1 bytes/,
    ],
    "an array of endless size": [
      "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tC\x01btR(K\x01(K\0\x8a\x06\xff\xff\xff\xff\xff\x1f\x8a\x06\xff\xff\xff\xff\xff\x1ftcnumpy\ndtype\n(X\x02\0\0\0f8\x89\x88tR\x89C\0tb",
      /an array of shape/,
    ],
  };
  test.each(Object.keys(refused))("%s", (name) => {
    const [code, reason] = refused[name] as [string, RegExp];
    for (const unknown of ["describe", "skip"] as const) {
      if (unknown === "skip" && /nested too deeply/.test(reason.source)) continue;
      try {
        loadTorch(pickled("hostile", code), { unknown });
        throw new Error("it was read");
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError);
        expect((error as Error).message).toMatch(reason);
      }
    }
  });
  test("a record that doubles is as small as its pickle, and so is its text", () => {
    let code = "cm\nC\n)\x81q\0";
    for (let i = 1; i < 200; i++) {
      const [before, own] = [String.fromCharCode(i - 1), String.fromCharCode(i)];
      code += `cm\nC\n)\x81q${own}h${before}h${before}\x86b`;
    }
    const value = loadTorch(pickled("doubling", code));
    expect(String(value).length).toBeLessThan(2000);
    expect(Bun.inspect(value).length).toBeLessThan(2000);
    saveTorch(value, join(dir, "doubled.pt"));
    expect(objectText(loadTorch(join(dir, "doubled.pt")))).toBe(objectText(value));
    expect(Object.keys(value.stateDict())).toEqual([]);
  });
  test("what it names is never run", () => {
    const mark = join(dir, "run");
    const command = `touch ${mark}`;
    const text = `X${String.fromCharCode(command.length)}\0\0\0${command}`;
    const value = loadTorch(pickled("command", `cposix\nsystem\n(${text}tR`));
    expect([value.className, value.how, value.args]).toEqual(["posix.system", "call", [command]]);
    String(value);
    saveTorch(value, join(dir, "command-again.pt"));
    expect(readdirSync(dir)).not.toContain("run");
  });
  test("a persistent id that names no storage is read, and not written", () => {
    const value = loadTorch(pickled("id", "K\x07Q"));
    expect([value.how, value.args]).toEqual(["persistent", [7]]);
    expect(() => saveTorch(value, join(dir, "id-again.pt"))).toThrow("cannot be saved");
  });
});

test("the names of the room", () => {
  expect([io.PythonName, io.PythonObject] as unknown[]).toEqual([PythonName, PythonObject]);
});
