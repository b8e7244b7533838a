// Arguments that no program should pass: each gives one clear error of this package, and the process lives on.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import * as z from "../../src/index.ts";
import { errors, ones, type Tensor, tensor, zeros } from "../../src/index.ts";
import { evaluate } from "../ffi/child.ts";

const any = z as unknown as Record<string, (...args: unknown[]) => unknown>;
const loosely = (x: Tensor) => x as unknown as Record<string, (...args: unknown[]) => Tensor>;
const call = (x: Tensor, name: string, ...args: unknown[]) =>
  (loosely(x)[name] as (...a: unknown[]) => Tensor)(...args);

/** The error that a call gives; it must be one of this package's classes. */
function failure(body: () => unknown): Error {
  let result: unknown;
  try {
    result = body();
  } catch (e) {
    const classes = Object.values(errors).filter((c) => typeof c === "function") as unknown as (new () => Error)[];
    const own = classes.some((c) => c.prototype instanceof Error && e instanceof c) && "code" in (e as Error);
    if (!own) throw new Error(`not an error of this package: ${(e as Error)?.stack ?? e}`);
    return e as Error;
  }
  throw new Error(`no error, but ${typeof result}`);
}

const ring: unknown[] = [1];
ring.push(ring);

describe("lists that contain themselves", () => {
  for (const name of ["add", "remainder", "where", "indexCopy", "stdMean", "sort"]) {
    test(name, () => expect(failure(() => any[name]?.(ones(2), ring, ring)).message).not.toBe(""));
  }
  test("tensor", () => void failure(() => tensor(ring as never)));
});

describe("sizes", () => {
  const bad = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53), 2 ** 47, "3", null, {}, Symbol("s")];
  for (const size of bad) {
    test(`zeros(${String(size)}), resize_, expand, narrow, view`, () => {
      failure(() => any.zeros?.([size]));
      failure(() => call(zeros(3), "resize_", [size]));
      failure(() => call(zeros(3), "narrow", 0, 0, size));
      if (size !== -1) failure(() => call(zeros(3), "view", [size]));
      if (size !== -1) failure(() => call(zeros(2), "expand", [3, size]));
    });
  }
  test("a product of sizes beyond every memory", () => {
    failure(() => any.zeros?.([2 ** 31, 2 ** 31]));
    failure(() => any.ones?.([2 ** 20, 2 ** 20, 2 ** 20]));
    failure(() => any.eye?.(2 ** 40));
    failure(() => any.arange?.(0, 1e18));
    failure(() => any.tensorSplit?.(zeros(3), 2 ** 40));
  });
  test("more repeated elements than can be counted", () => {
    const sizes = [2 ** 31, 2 ** 31, 2 ** 31];
    for (const body of [
      () => zeros(1).expand(sizes),
      () => zeros(1).asStrided(sizes, [0, 0, 0]),
      () => any.broadcastTo?.(zeros(1), sizes),
    ]) {
      expect(failure(body).message).toBe("numel: integer multiplication overflow");
    }
    expect(
      zeros(1)
        .expand(2 ** 31, 2 ** 21)
        .numel(),
    ).toBe(2 ** 52);
  });
});

describe("strides outside of the storage", () => {
  const x = zeros(4);
  const cases: [string, unknown[]][] = [
    ["asStrided", [[2], [4]]],
    ["asStrided", [[5], [1]]],
    ["asStrided", [[1], [1], 4]],
    ["asStrided", [[2], [2 ** 52]]],
    ["asStrided", [[2], [-1], 2]],
    ["asStrided", [[2], [1], -1]],
    ["asStrided", [[2], [1], 2 ** 53]],
    ["asStrided", [[2], [1, 1]]],
    ["asStrided", [[Number.NaN], [1]]],
  ];
  for (const [name, args] of cases) {
    test(`${name}(${JSON.stringify(args)})`, () => void failure(() => call(x, name, ...args)));
  }
  test("set_ with an offset or a stride that is negative", () => {
    const bytes = x.untypedStorage();
    failure(() => call(zeros(1), "set_", bytes, -1, [1], [1]));
    failure(() => call(zeros(1), "set_", bytes, 0, [2], [-1]));
    failure(() => call(zeros(1), "set_", bytes, 2 ** 53, [1], [1]));
  });
});

describe("bytes that went away", () => {
  test("a storage without bytes", () => {
    const x = ones(1000);
    const view = x.view(10, 100);
    x.untypedStorage().resize_(0);
    expect(failure(() => x.add(1)).message).toContain("its data is not allocated yet");
    failure(() => view.sum());
    failure(() => x.fill_(1));
    failure(() => x.tolist());
    failure(() => x.clone());
    x.untypedStorage().resize_(4000);
    expect(x.fill_(2).sum().item()).toBe(2000);
  });

  test("a storage that became shorter than its tensors", () => {
    for (const n of [10, 1000]) {
      const x = ones(n);
      x.untypedStorage().resize_(4);
      expect(x.untypedStorage().nbytes()).toBe(4);
      // No operator and no export reaches bytes that are not there.
      failure(() => x.add(1));
      failure(() => x.typedArray());
      x.untypedStorage().resize_(4 * n);
      expect(x.at(0).item()).toBe(1);
    }
  });

  test("an ArrayBuffer that was transferred", () => {
    const array = new Float32Array([1, 2, 3]);
    const x = z.fromTypedArray(array);
    expect(x.sum().item()).toBe(6);
    array.buffer.transfer();
    expect(failure(() => x.sum()).message).toContain("an ArrayBuffer that was transferred");
    failure(() => x.fill_(1));
    failure(() => x.typedArray());
    for (const n of [3, 3000]) {
      const own = ones(n);
      (own.typedArray().buffer as ArrayBuffer).transfer(0);
      expect(failure(() => own.add(1)).message).toContain("an ArrayBuffer that was transferred");
      own.dispose();
    }
  });

  test("a typed array that begins inside of its buffer is shared both ways", () => {
    const whole = new Float32Array([1, 2, 3, 4]);
    const x = z.fromTypedArray(whole.subarray(2));
    const back = x.typedArray() as Float32Array;
    back[0] = 9;
    expect([x.tolist(), whole[2]]).toEqual([[9, 4], 9]);
  });

  test("a resizable ArrayBuffer cannot be shared", () => {
    const buffer = new ArrayBuffer(16, { maxByteLength: 64 });
    const error = failure(() => z.fromTypedArray(new Float32Array(buffer)));
    expect(error.message).toContain("a resizable ArrayBuffer cannot be shared");
    expect(z.tensor(new Float32Array(buffer)).tolist()).toEqual([0, 0, 0, 0]);
  });

  test("disposed tensors", () => {
    const x = zeros(3);
    x.dispose();
    for (const use of [
      () => x.add(1),
      () => ones(3).add(x),
      () => ones(3).add_(x),
      () => any.cat?.([ones(3), x]),
      () => x.view(3, 1).tolist(),
      () => x.tolist(),
      () => x.resize_(5),
      () => x.typedArray(),
      () => x.backward(),
    ]) {
      failure(use);
    }
  });
});

describe("things of another kind", () => {
  const things = [undefined, null, "x", Symbol("s"), {}, [], [{}], () => 0, new Map(), new Date(), 10n ** 30n];
  test("in place of tensors, dtypes and functions", () => {
    for (const thing of things) {
      failure(() => any.promoteTypes?.(z.float32, thing));
      failure(() => any.canCast?.(thing, z.float32));
      failure(() => any.lazyStack?.(thing));
      failure(() => any.maybeDenseStack?.(thing));
      if (!Array.isArray(thing)) failure(() => z.autograd.backward(thing as never));
      if (!Array.isArray(thing)) failure(() => z.autograd.grad(ones(1).requiresGrad_().sum(), thing as never));
      failure(() => {
        (ones(2) as { data: unknown }).data = thing;
      });
    }
    failure(() => z.slice(Symbol("s") as never));
  });
});

/** Calls with random arguments, in a process of its own: a crash would end it. */
const STORM = `
const { membersOf } = await import(${JSON.stringify(join(import.meta.dir, "../members.ts"))});
let s = SEED;
const random = () => {
  s = (s + 0x6d2b79f5) | 0;
  let t = Math.imul(s ^ (s >>> 15), 1 | s);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const pick = (list) => list[Math.floor(random() * list.length)];
process.emitWarning = () => {};
const shapes = [[], [0], [1], [3], [2, 3], [0, 3], [2, 1, 3], [4, 4], [600]];
const dtypes = [z.float32, z.float64, z.int64, z.bool, z.uint8, z.bfloat16, z.complex64, z.int32, z.float8_e5m2];
const attempt = (f, otherwise) => { try { return f(); } catch { return otherwise; } };
function make() {
  let x = z.ones(pick(shapes), { dtype: pick(dtypes) });
  const r = random();
  if (r < 0.1) x = attempt(() => x.transpose(0, -1), x);
  else if (r < 0.2) x = attempt(() => x.asStrided(pick(shapes), pick([[1], [0], [2, 1], [0, 0], [0, 1]])), x);
  else if (r < 0.25) x = attempt(() => { x.untypedStorage().resize_(pick([0, 1, 3, 9])); return x; }, x);
  else if (r < 0.3) x = attempt(() => x.to("meta"), x);
  else if (r < 0.33) x.dispose();
  else if (r < 0.36) x = attempt(() => { x.typedArray().buffer.transfer(0); return x; }, x);
  else if (r < 0.42) x = attempt(() => x.requiresGrad_(), x);
  return x;
}
const numbers = [0, 1, -1, 2, 3, -7, 64, 0.5, NaN, Infinity, 2 ** 31, 2 ** 53, -(2 ** 53)];
numbers.push(2n ** 64n, true, null, undefined, "a", ":");
const few = [0, 1, 2, -1, 3, NaN, 2 ** 53];
function argument() {
  const r = random();
  if (r < 0.45) return make();
  if (r < 0.75) return pick(numbers);
  if (r < 0.9) return Array.from({ length: Math.floor(random() * 4) }, () => pick(few));
  if (r < 0.95) return Array.from({ length: Math.floor(random() * 3) }, make);
  return { [pick(["dim", "keepdim", "dtype", "out", "alpha", "size"])]: pick(numbers) };
}
const left = /^(_|constructor|print|repeat|broadcastTo|expand|set[A-Z]|tensorSplit)/;
const names = [...membersOf(z.Tensor.prototype)].flatMap(
  ([k, { value }]) => (!left.test(k) && typeof value === "function" ? [k] : []));
const strange = [];
for (let i = 0; i < 1500; i++) {
  const name = pick(names);
  const x = make();
  const given = Array.from({ length: Math.floor(random() * 4) }, argument);
  try {
    const y = x[name](...given);
    if (y instanceof z.Tensor && y.numel() < 5000) y.add(0);
  } catch (e) {
    if (e instanceof Error && e.code !== undefined) continue;
    strange.push(name + ": " + (e?.stack ?? e).split("\\n").slice(0, 4).join(" "));
  }
}
console.log(JSON.stringify({ names: names.length, strange: [...new Set(strange)].slice(0, 10) }));
`;

for (const seed of [1, 2]) {
  test(`a storm of random calls on tensors, seed ${seed}`, () => {
    const { names, strange } = evaluate(STORM.replace("SEED", String(seed))) as { names: number; strange: string[] };
    expect(strange).toEqual([]);
    expect(names).toBeGreaterThan(200);
  }, 120_000);
}

test("more empty lists than memory holds are refused", () => {
  const text = evaluate("console.log(JSON.stringify(caught(() => z.zeros([2 ** 40, 0]).tolist())))");
  expect(text).toMatchObject({ name: "RangeError" });
});
