// What `bun test` makes of tensors and what holds them: what is equal, what fails and how that is told, snapshots.
import { afterAll, describe, expect, mock, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  arange,
  Complex,
  type DTypeName,
  device,
  full,
  Generator,
  NonTensorData,
  NonTensorStack,
  nested,
  nn,
  noGrad,
  ones,
  randn,
  Tensor,
  TensorDict,
  TensorDictParams,
  tensor,
  tensorclass,
  zeros,
} from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-matchers-"));
afterAll(() => rmSync(folder, { recursive: true }));

class Point extends tensorclass({ x: Tensor, label: String }) {}

class Holder {
  constructor(readonly x: unknown) {}
}

const DTYPES: DTypeName[] = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"];
const FLOATS: DTypeName[] = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "complex64", "complex128"];

const linear = (by: number) => {
  const layer = new nn.Linear(2, 1);
  noGrad(() => layer.weight.copy_(full([1, 2], by)) && layer.bias?.zero_());
  return layer;
};

/** What makes things that are equal for the same number, and differ for another. */
const makers: Record<string, (n: number) => unknown> = {
  "tensor without dimensions": (n) => tensor(n),
  "tensor that is a view": (n) => tensor([0, n, 1]).at("1:"),
  "tensor that is no row-major one": (n) => arange(6).add(n).view(2, 3).t(),
  "expanded tensor": (n) => tensor([n]).expand(3),
  "conjugate view": (n) => tensor([new Complex(1, n)]).conj(),
  "large tensor": (n) => full([5000], n),
  "with a gradient": (n) => tensor([n]).requiresGrad_().mul(2),
  parameter: (n) => new nn.Parameter(tensor([n])),
  TensorDict: (n) => new TensorDict({ a: tensor([n]), in: { b: ones(1) } }, [1]),
  "text in a TensorDict": (n) => new TensorDict({ a: zeros(1), text: `${n}` }, [1]),
  "value in a TensorDict": (n) => new TensorDict({ a: new NonTensorData({ deep: [n] }) } as never, []),
  "lazy stack": (n) =>
    TensorDict.lazyStack([new TensorDict({ a: zeros(1) }, []), new TensorDict({ a: tensor([n]) }, [])]),
  "lazy stack of different sizes": (n) =>
    TensorDict.lazyStack([new TensorDict({ a: zeros(1) }, []), new TensorDict({ a: full([2], n) }, [])]),
  "non-tensor stack": (n) => new NonTensorStack(["a", `${n}`]),
  tensorclass: (n) => new Point({ x: tensor([n]), label: "a" } as never),
  TensorDictParams: (n) => new TensorDictParams(new TensorDict({ a: tensor([n]) }, [])),
  "nested tensor": (n) => nested.asNestedTensor([zeros(2), full([3], n)]),
  module: linear,
  "module in a module": (n) => new nn.Sequential(linear(1), new nn.ReLU(), linear(n)),
  "state of a module": (n) => linear(n).stateDict(),
  generator: (n) => new Generator().manualSeed(n),
  "typed storage": (n) => tensor([n]).storage(),
  "untyped storage": (n) => tensor([n]).untypedStorage(),
  size: (n) => zeros(n).shape,
  dtype: (n) => zeros(1, { dtype: n === 1 ? "float32" : "int64" }).dtype,
  device: (n) => device(n === 1 ? "cpu" : "meta"),
};
for (const dtype of [...DTYPES, ...FLOATS]) {
  makers[`tensor of ${dtype}`] = (n) => tensor(dtype === "bool" ? [n === 1] : [n, 1]).to(dtype);
}

/** What holds a thing. */
const holders: Record<string, (x: unknown) => unknown> = {
  itself: (x) => x,
  object: (x) => ({ a: 1, x, undefined }),
  "list of lists": (x) => [0, [x, "b"]],
  Map: (x) => new Map([["k", { x }]]),
  Set: (x) => new Set([x]),
  "object of a class": (x) => new Holder(x),
  circle: (x) => {
    const circle: Record<string, unknown> = { x };
    circle.self = circle;
    return circle;
  },
};

describe("what is equal", () => {
  for (const [name, make] of Object.entries(makers)) {
    test(name, () => {
      for (const hold of Object.values(holders)) {
        expect(hold(make(1))).toEqual(hold(make(1)));
        expect(hold(make(1))).toStrictEqual(hold(make(1)));
        expect(hold(make(1))).not.toEqual(hold(make(2)));
        expect(hold(make(1))).not.toStrictEqual(hold(make(2)));
        expect([hold(make(1))]).toContainEqual(hold(make(1)));
        expect([hold(make(1))]).not.toContainEqual(hold(make(2)));
      }
      expect({ x: make(1), y: 2 }).toMatchObject({ x: make(1) });
      expect({ x: make(1), y: 2 }).not.toMatchObject({ x: make(2) });
      const [there, inside] = [make(1), { n: 1 }];
      const kept = { x: there, inside };
      expect(kept).toMatchObject({ x: make(1), inside: { n: expect.any(Number) } });
      expect([kept.x === there, kept.inside === inside, inside.n]).toEqual([true, true, 1]);
      expect({ x: make(1), y: 2 }).toEqual(expect.objectContaining({ x: make(1) }));
      expect({ x: make(1), y: 2 }).not.toEqual(expect.objectContaining({ x: make(2) }));
      expect([make(1), 2]).toEqual(expect.arrayContaining([make(1)]));
      expect({ a: { x: make(1) } }).toHaveProperty("a.x", make(1));
      expect({ a: { x: make(1) } }).not.toHaveProperty("a.x", make(2));
      const called = mock((x: unknown) => x);
      called(make(1));
      expect(called).toHaveBeenCalledWith(make(1));
      expect(called).not.toHaveBeenCalledWith(make(2));
      expect(called).toHaveReturnedWith(make(1));
      expect(called).toHaveBeenNthCalledWith(1, make(1));
    });
  }

  test("no two things of different kinds", () => {
    const told = (x: unknown) => `${x instanceof Tensor ? `${x.dtype} ${x.detach().tolist()}` : String(x)}`;
    const all = Object.values(makers).map((make) => make(1));
    for (const [i, a] of all.entries()) {
      for (const b of all.slice(i + 1)) if (told(a) !== told(b)) expect(a).not.toEqual(b);
    }
  });

  test("shape, dtype, device, values: each counts", () => {
    expect(zeros(2, 3)).not.toEqual(zeros(3, 2));
    expect(zeros(2)).not.toEqual(zeros(2, { dtype: "float64" }));
    expect(zeros(2)).not.toEqual(zeros(2, { device: "meta" }));
    expect(zeros(2, { device: "meta" })).toEqual(zeros(2, { device: "meta" }));
    expect(zeros(0)).toEqual(zeros(0));
    expect(zeros(0)).not.toEqual(zeros(0, 1));
    expect(tensor([Number.NaN, Infinity])).toEqual(tensor([Number.NaN, Infinity]));
    expect(tensor([0])).not.toEqual(tensor([-0]));
    expect(new TensorDict({ a: zeros(2) }, [2])).not.toEqual(new TensorDict({ a: zeros(2) }, []));
    expect(tensor([1])).toEqual(new nn.Parameter(tensor([1])));
    expect(tensor([1])).not.toStrictEqual(new nn.Parameter(tensor([1])));
    const gone = ones(2);
    gone.dispose();
    expect(gone).not.toEqual(ones(2));
    expect(ones(2)).not.toEqual(gone);
  });

  test("comparing leaves tensors as they are", () => {
    const x = tensor([1, 2]).requiresGrad_();
    const kind = x._storage.kind;
    expect(x).toEqual(tensor([1, 2]));
    expect([x._storage.kind, x._version.value, x._storage.watched]).toEqual([kind, 0, false]);
  });

  test("asymmetric matchers beside tensors", () => {
    expect({ x: ones(2), n: 5 }).toEqual({ x: ones(2), n: expect.any(Number) });
    expect({ x: ones(2), n: 5 }).toEqual({ x: expect.any(Tensor), n: expect.anything() });
    expect(ones(2)).toEqual(expect.anything());
  });

  test("the calls of expect are counted as they stand", () => {
    expect.assertions(4);
    expect({ x: ones(2) }).toEqual({ x: ones(2) });
    expect(tensor([1])).toMatchInlineSnapshot(`
      Tensor {
        "dtype": "torch.float32",
        "shape": "[1]",
        "values": "[1]",
      }
    `);
    expect(() => expect(tensor([1])).toEqual(tensor([2]))).toThrow("values");
  });
});

test("random tensors that differ in one element are told apart", () => {
  let state = 7;
  const next = (n: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
  const end = performance.now() + 1000 * Number(process.env.ZENSOR_ATTACK_SECONDS ?? 1);
  let rounds = 0;
  while (performance.now() < end || rounds < 20) {
    rounds++;
    const dtype = [...DTYPES, ...FLOATS][next(DTYPES.length + FLOATS.length)] as DTypeName;
    const shape = Array.from({ length: next(4) }, () => 1 + next(5));
    const x = randn(...shape)
      .mul(10)
      .to(dtype);
    const y = x.clone();
    expect({ in: [y] }).toEqual({ in: [x] });
    const flat = y.view(-1);
    const at = next(flat.numel());
    const old = flat.at(at).clone();
    flat.setAt(at, dtype === "bool" ? old.logicalNot() : old.add(8).to(dtype));
    if (flat.at(at).equal(old)) continue;
    expect({ in: [y] }).not.toEqual({ in: [x] });
  }
});

interface Failure {
  /** What is printed before the place. */
  text: string;
  file: string;
  line: number;
}

/** Runs tests of a file and gives what is printed of each that fails. */
async function failures(file: string): Promise<Map<string, Failure>> {
  const run = Bun.spawn([process.execPath, "test", file], { stderr: "pipe", stdout: "pipe", cwd: folder });
  const text = await new Response(run.stderr).text();
  await run.exited;
  const found = new Map<string, Failure>();
  let rest = text;
  for (const ends = /\n\s+at .*\((.*):(\d+):\d+\)\n(?:\s+at .*\n)*\(fail\) (.*?)(?: \[.*)?\n/; ; ) {
    const match = ends.exec(rest);
    if (match === null) return found;
    const start = rest.lastIndexOf("error: ", match.index);
    const [, place = "", line, name = ""] = match;
    found.set(name, { text: rest.slice(start, match.index), file: place, line: Number(line) });
    rest = rest.slice(match.index + match[0].length);
  }
}

test("what fails is told with its elements, at the line of the test, without addresses", async () => {
  const source = join(import.meta.dir, "runs", "failing.ts");
  const file = join(folder, "failing.test.ts");
  const index = JSON.stringify(join(import.meta.dir, "../../src/index.ts"));
  writeFileSync(file, readFileSync(source, "utf8").replace('"../../../src/index.ts"', index));
  const lines = readFileSync(file, "utf8").split("\n");
  const found = await failures(file);
  expect(found.size).toBe(lines.filter((line) => line.startsWith("test(")).length);
  for (const [name, failure] of found) {
    expect([name, failure.file]).toEqual([name, file]);
    expect(lines[failure.line - 1]).toMatch(/expect\(|\.toEqual\(/);
    expect(failure.text).not.toMatch(/_storage|address|Zensor|_version/);
  }
  const text = (name: string) => found.get(name)?.text ?? "";
  expect(text("elements")).toContain('-     "[3, 5]",\n+     "[3, 4]",');
  expect(text("an entry")).toContain('-       "values": "[1, 3]",\n+       "values": "[1, 2]",');
  expect(text("no tensor")).toBe(
    'error: expect(received).toEqual(expected)\n\n  {\n-   "a": 2,\n+   "a": 1,\n  }\n\n' +
      "- Expected  - 1\n+ Received  + 1",
  );
  expect(text("a class")).toContain("+ Tensor {");
  expect(text("not equal")).toContain("not.toEqual");
  expect(text("a call")).toContain('"values": "[2]"');
}, 60_000);

const SNAPSHOTS = `
  import { expect, test } from "bun:test";
  import { arange, device, Generator, nn, TensorDict, tensor } from INDEX;
  test("snapshots", () => {
    const layer = new nn.Linear(1, 1);
    layer.weight.data.fill_(2);
    layer.bias.data.fill_(0.1);
    expect(tensor([[1.5, -0], [NaN, 1e-7]])).toMatchSnapshot();
    expect({ td: new TensorDict({ a: tensor([1]), b: { text: "t" } }, []), layer }).toMatchSnapshot("named");
    expect(arange(5000)).toMatchSnapshot();
    expect([tensor(1).dtype, device("cpu"), tensor([1]).storage(), tensor(1n)]).toMatchSnapshot();
    expect(tensor([0.1])).toMatchInlineSnapshot();
  });
`;

test("snapshots are the same in each run, and differ when an element does", async () => {
  const file = join(folder, "snapshots.test.ts");
  const source = SNAPSHOTS.replace("INDEX", JSON.stringify(join(import.meta.dir, "../../src/index.ts")));
  const run = async (text: string) => {
    writeFileSync(file, text);
    // New snapshots are not written where the runner takes the machine for one of CI.
    const env = { ...process.env, CI: "false" };
    const program = Bun.spawn([process.execPath, "test", file], { stderr: "pipe", stdout: "pipe", cwd: folder, env });
    const told = await new Response(program.stderr).text();
    return { code: await program.exited, told, text: readFileSync(file, "utf8") };
  };
  const first = await run(source);
  expect([first.code, first.told]).toEqual([0, expect.stringContaining("+5 added")]);
  const kept = readFileSync(join(folder, "__snapshots__", "snapshots.test.ts.snap"), "utf8");
  expect(kept).not.toMatch(/_storage|address|_version/);
  const golden = join(import.meta.dir, "runs", "snapshots.golden");
  if (process.env.ZENSOR_GOLDEN === "write") writeFileSync(golden, kept);
  expect(kept).toBe(readFileSync(golden, "utf8"));
  expect(first.text).toContain('"values": "[0.1]"');
  expect((await run(first.text)).code).toBe(0);
  for (const [from, to] of [
    ["1e-7", "2e-7"],
    ["arange(5000)", "arange(5000).setAt(2500, 1)"],
    ["fill_(0.1)", "fill_(0.2)"],
    ["tensor([0.1])", "tensor([0.1001])"],
  ] as const) {
    expect((await run(first.text.replace(from, to))).code).toBe(1);
  }
}, 60_000);

test("shapes match lists", () => {
  const x = ones(2, 3);
  expect(x).toMatchObject({ shape: [2, 3], requiresGrad: false });
  expect({ shape: x.shape, more: 1 }).toMatchObject({ shape: [2, 3] });
  expect({ shape: [2, 3], more: 1 }).toMatchObject({ shape: x.shape });
  expect(() => expect(x).toMatchObject({ shape: [2, 4] })).toThrow();
  expect(x.shape).toStrictEqual(zeros(2, 3).shape);
  expect(x.shape).not.toEqual(zeros(2, 4).shape);
});

test("what holds itself", () => {
  class Child extends nn.Module {
    parent = { child: this };
    lin = new nn.Linear(1, 1);
  }
  const [a, b, c] = [new Child(), new Child(), new Child()];
  b.loadStateDict(a.stateDict());
  c.loadStateDict(a.stateDict());
  noGrad(() => c.lin.weight.add_(1));
  expect(a).toEqual(b);
  expect(a).not.toEqual(c);
  expect(() => expect(a).toEqual(c)).toThrow("toEqual");
  expect(() => expect(a).toBeNull()).toThrow("circular: true");
  const box: Record<string, unknown> = {};
  box.td = new TensorDict({ x: ones(1) }, []).setNonTensor("box", box);
  expect(() => expect(box).toBeNull()).toThrow("circular: true");
});

test("what cannot be walked through is the runner's", () => {
  const trap = () => {
    throw new Error("trap");
  };
  const proxy = new Proxy({}, { ownKeys: trap, getOwnPropertyDescriptor: trap });
  expect(() => expect(proxy).toBeNull()).toThrow("toBeNull");
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  expect(() => expect(revoked.proxy).toBe(1)).toThrow("toBe(");
  expect([expect(0).toBe.length, expect(0).toEqual.length]).toEqual([1, 1]);
});

test("a program that says that it is a test, and none, is left alone", async () => {
  const program = `import { tensor } from ${JSON.stringify(join(import.meta.dir, "../../src/index.ts"))};
    console.log(String(tensor([1])));`;
  const run = Bun.spawn([process.execPath, "-e", program], {
    env: { ...process.env, NODE_ENV: "test" },
    stdout: "pipe",
  });
  expect(await new Response(run.stdout).text()).toBe("tensor([1.])\n");
});
