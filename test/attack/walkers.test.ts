// Whatever walks through tensors and what holds them leaves their bytes where they are: nobody reads freed memory.
import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  arange,
  float64,
  fromTypedArray,
  full,
  Generator,
  NonTensorStack,
  nn,
  rand,
  type Tensor,
  TensorDict,
  tensor,
  zeros,
} from "../../src/index.ts";
import { cloneDeep, closeAll, reach, type Walker, walkers } from "./walkers.ts";

afterAll(closeAll);

const SIZES = [1, 2, 10, 16, 17, 60, 64, 100, 1000];
/** Numbers that no other tensor has. */
let count = 0;
const fresh = (n: number): Tensor => arange(n, { dtype: float64 }).add(1000 * ++count);

/** What holds tensors, and those in it. */
type Held = [thing: unknown, tensors: Tensor[]];

const holders: Record<string, (n: number) => Held> = {
  tensor: (n) => one(fresh(n), (x) => x),
  "one of few bytes": (n) => one(full([Math.min(n, 8)], ++count % 256, { dtype: "uint8" }), (x) => x),
  list: (n) => one(fresh(n), (x) => [0, x]),
  object: (n) => one(fresh(n), (x) => ({ a: 1, x, z: 2 })),
  Map: (n) => one(fresh(n), (x) => new Map<unknown, unknown>([["x", x]]).set(x, 1)),
  Set: (n) => one(fresh(n), (x) => new Set([x])),
  "instance of a class": (n) =>
    one(
      fresh(n),
      (x) =>
        new (class Holder {
          x = x;
          get again() {
            return this.x;
          }
        })(),
    ),
  "view of it": (n) => one(fresh(n + 1), (x) => [x.at("1:"), x.view(-1, 1).t()]),
  storage: (n) => one(fresh(n), (x) => x._storage),
  "untyped storage": (n) => one(fresh(n), (x) => x.untypedStorage()),
  "typed storage": (n) => one(fresh(n), (x) => x.storage()),
  size: (n) => one(fresh(n), (x) => [x.shape, x.stride(), x]),
  dtype: (n) => one(fresh(n), (x) => [x.dtype, x.device, x]),
  TensorDict: (n) => one(fresh(n), (x) => new TensorDict({ x, in: { text: "a" } }, [])),
  "lazy stack": (n) =>
    one(fresh(n), (x) => TensorDict.lazyStack([new TensorDict({ x }, []), new TensorDict({ x: x.add(1) }, [])])),
  "non-tensor stack": (n) =>
    one(fresh(n), (x) => new TensorDict({ x, n: new NonTensorStack(["a", "b"]).at(0) } as never, [])),
  parameter: (n) => one(fresh(n), (x) => new nn.Parameter(x)),
  module() {
    const layer = new nn.Linear(3, 2);
    layer.weight.data.copy_(fresh(6).view(2, 3));
    layer.bias?.data.fill_(++count);
    return [layer, [layer.weight, layer.bias as Tensor]];
  },
  gradient(n) {
    const x = fresh(n).requiresGrad_();
    x.mul(2).sum().backward();
    return [x, [x, x.grad as Tensor]];
  },
  "saved for backward"(n) {
    const [x, factor] = [fresh(n).requiresGrad_(), fresh(n)];
    return [x.mul(factor).exp(), [factor, x.detach()]];
  },
  "array of the user's"(n) {
    const array = new Float64Array(n).fill(++count);
    const x = fromTypedArray(array);
    return [[array, x], [x]];
  },
  "array over it": (n) => one(fresh(n), (x) => [x, x.typedArray()]),
};

function one(x: Tensor, hold: (x: Tensor) => unknown): Held {
  return [hold(x), [x]];
}

/** What was in tensors before something happened: nothing may have changed, also when memory is used again. */
class Watched {
  private readonly before: [Tensor, string][] = [];

  add(tensors: readonly Tensor[]): void {
    for (const x of tensors) this.before.push([x, x.tolist().join()]);
  }

  check(): void {
    Bun.gc(true);
    const others: Tensor[] = [];
    for (let i = 0; i < 500; i++) others.push(full([SIZES[i % SIZES.length] as number], -7, { dtype: float64 }));
    for (const [x, text] of this.before) expect(x.tolist().join()).toBe(text);
    for (const [x, text] of this.before) {
      x.detach().add_(1);
      expect(x.tolist().join()).not.toBe(text);
      x.detach().sub_(1);
      expect(x.tolist().join()).toBe(text);
    }
    for (const x of others) expect(x.eq(-7).all().item()).toBe(true);
  }
}

function walk(walker: Walker, thing: unknown): void {
  try {
    walker(thing);
  } catch {}
}

describe("each walker through each holder", () => {
  for (const [name, walker] of Object.entries(walkers)) {
    test(name, () => {
      const watched = new Watched();
      for (const make of Object.values(holders)) {
        for (const n of SIZES) {
          const [thing, tensors] = make(n);
          watched.add(tensors);
          walk(walker, thing);
        }
      }
      watched.check();
    });
  }
});

test("gradients are those of the numbers that were saved", () => {
  for (const [name, walker] of Object.entries(walkers)) {
    if (name.startsWith("Object.freeze")) continue;
    const x = tensor([1, 2, 3], { dtype: float64 }).requiresGrad_();
    const y = x.mul(tensor([2, 3, 4], { dtype: float64 })).pow(2);
    walk(walker, y);
    Bun.gc(true);
    const others = Array.from({ length: 100 }, () => full([3], 7, { dtype: float64 }));
    y.sum().backward();
    expect((x.grad as Tensor).tolist()).toEqual([8, 36, 96]);
    expect(others.length).toBe(100);
  }
});

test("generators go on with their stream", () => {
  for (const walker of Object.values(walkers)) {
    const g = new Generator().manualSeed(5);
    walk(walker, g);
    expect(rand(3, { generator: g }).tolist()).toEqual(rand(3, { generator: new Generator().manualSeed(5) }).tolist());
  }
});

test("heap snapshots", () => {
  const watched = new Watched();
  const kept = Object.values(holders).map((make) => make(10));
  for (const [, tensors] of kept) watched.add(tensors);
  Bun.generateHeapSnapshot();
  Bun.generateHeapSnapshot("v8");
  watched.check();
});

test("no array that holds a tensor's bytes can be reached, of any kind of storage", () => {
  for (const x of [zeros(3), zeros(100), zeros(10_000), zeros(3).at("1:"), new nn.Linear(2, 2).weight]) {
    for (const part of [x, x._storage, x.untypedStorage(), x.storage()]) {
      reach(part, (found) => expect(ArrayBuffer.isView(found) || found instanceof ArrayBuffer).toBe(false));
    }
  }
});

test("a walker that takes all buffers away takes no tensor's bytes", () => {
  const watched = new Watched();
  for (const [name, make] of Object.entries(holders)) {
    if (name.startsWith("array ")) continue;
    const [thing, tensors] = make(10);
    watched.add(tensors);
    reach(thing, (part) => part instanceof ArrayBuffer && part.transfer(0));
  }
  watched.check();
});

/** An object of the same class with the same properties. */
const copyOf = <T extends object>(x: T): T => Object.assign(Object.create(Object.getPrototypeOf(x)), x);

test("copies of tensor objects that others make never read freed memory", () => {
  const copies: [Tensor, string][] = [];
  for (const n of [...SIZES, 100_000]) {
    for (let k = 0; k < 20; k++) {
      const x = fresh(n);
      const text = x.tolist().join();
      expect(() => cloneDeep(x)).toThrow("cannot be cloned");
      copies.push([copyOf(x), text], [Object.assign(copyOf(x), { _storage: copyOf(x._storage) }), text]);
      if (k % 2 === 0) x.dispose();
    }
  }
  Bun.gc(true);
  const others = Array.from({ length: 2000 }, (_, i) =>
    full([SIZES[i % SIZES.length] as number], -7, { dtype: float64 }),
  );
  let refused = 0;
  for (const [copy, text] of copies) {
    let found: string;
    try {
      found = copy.tolist().join();
      copy.add_(1);
      copy.sub_(1);
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
      refused++;
      continue;
    }
    expect(found).toBe(text);
  }
  expect(refused).toBe((copies.length * 3) / 4);
  for (const x of others) expect(x.eq(-7).all().item()).toBe(true);
});

test("tensors with other elements are not equal to test runners", () => {
  for (const [a, b] of [
    [tensor([1, 2]), tensor([3, 4])],
    [zeros(1000), full([1000], 1)],
    [{ x: zeros(2) }, { x: full([2], 1) }],
  ]) {
    expect(Bun.deepEquals(a, b)).toBe(false);
    expect(a).not.toEqual(b);
  }
});

test("arrays of the user's: both sides see each other, whoever asks for the buffer", () => {
  for (const n of SIZES) {
    const array = new Float32Array(n).fill(3);
    const x = fromTypedArray(array);
    for (const walker of Object.values(walkers)) walk(walker, array);
    Bun.gc(true);
    const others = Array.from({ length: 100 }, () => full([n], 7));
    array[n - 1] = 5;
    expect(x.at(-1).item()).toBe(5);
    x.add_(1);
    expect(array[n - 1]).toBe(6);
    expect(others.length).toBe(100);
  }
});

test("random walkers through random collections", () => {
  let state = 12345;
  const next = (n: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
  const end = performance.now() + 1000 * Number(process.env.ZENSOR_ATTACK_SECONDS ?? 2);
  const makers = Object.values(holders);
  const ways = Object.values(walkers);
  while (performance.now() < end) {
    const watched = new Watched();
    for (let i = 0; i < 10; i++) {
      const parts = Array.from({ length: 1 + next(3) }, () => {
        const held = (makers[next(makers.length)] as (n: number) => Held)(SIZES[next(SIZES.length)] as number);
        watched.add(held[1]);
        return held[0];
      });
      const nested = [parts, { parts }, new Map(parts.map((x, k) => [k, x])), new Set(parts), [{ a: [parts] }]][
        next(5)
      ];
      for (let k = next(3); k >= 0; k--) walk(ways[next(ways.length)] as Walker, nested);
    }
    watched.check();
  }
});

const debugged = `
  import { arange, full } from ${JSON.stringify(join(import.meta.dir, "../../src/index.ts"))};
  globalThis.x = arange(10, { dtype: "float64" });
  globalThis.verdict = () => {
    Bun.gc(true);
    const others = Array.from({ length: 500 }, () => full([10], 7, { dtype: "float64" }));
    return String(x.tolist()) + (others.length === 500 ? "" : "?");
  };
  setInterval(() => {}, 1000);
`;

test("a debugger that shows all there is", async () => {
  const file = join(tmpdir(), `zensor-debugged-${process.pid}.ts`);
  writeFileSync(file, debugged);
  const program = Bun.spawn([process.execPath, "--inspect=127.0.0.1:0/walk", file], { stderr: "pipe", stdout: "pipe" });
  try {
    let text = "";
    for await (const chunk of program.stderr) {
      text += new TextDecoder().decode(chunk);
      if (/ws:\/\/\S+\s/.test(text)) break;
    }
    const socket = new WebSocket(/ws:\/\/\S+/.exec(text)?.[0] as string);
    const waiting = new Map<number, (answer: Answer) => void>();
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result: Answer };
      if (id !== undefined) waiting.get(id)?.(result);
    };
    await new Promise((done) => {
      socket.onopen = done;
    });
    let last = 0;
    const ask = (method: string, params: object) =>
      new Promise<Answer>((done) => {
        waiting.set(++last, done);
        socket.send(JSON.stringify({ id: last, method, params }));
      });
    const evaluate = (expression: string) => ask("Runtime.evaluate", { expression, generatePreview: true });
    await ask("Inspector.enable", {});
    await ask("Runtime.enable", {});
    let found: Answer = {};
    for (let i = 0; i < 100 && found.result?.objectId === undefined; i++) {
      await Bun.sleep(50);
      found = await evaluate("globalThis.x");
    }
    const open = [found.result?.objectId as string];
    const names: string[] = [];
    for (let i = 0; i < open.length && i < 300; i++) {
      for (const method of ["Runtime.getDisplayableProperties", "Runtime.getProperties"]) {
        const answer = await ask(method, { objectId: open[i], generatePreview: true });
        for (const { name, value } of answer.properties ?? []) {
          names.push(name);
          if (value?.objectId !== undefined && value.type === "object") open.push(value.objectId);
        }
      }
    }
    // It does see what keeps the bytes, and asks for the buffer.
    for (const name of ["_storage", "#anchor", "buffer"]) expect(names).toContain(name);
    expect((await evaluate("verdict()")).result?.value).toBe("0,1,2,3,4,5,6,7,8,9");
    socket.close();
  } finally {
    program.kill();
    await program.exited;
    rmSync(file);
  }
}, 60_000);

interface Answer {
  result?: { objectId?: string; value?: unknown };
  properties?: { name: string; value?: { objectId?: string; type: string } }[];
}
