// What is done the shortest way is what the general way does: each call here has another form that goes the long way.
import { expect, test } from "bun:test";
import { attention } from "../../src/dispatch/seam.ts";
import * as z from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: entries of any kind
type Any = any;

const SEEDS = 400;

/** Numbers that follow from a seed. */
function drawing(seed: number) {
  let state = (seed * 2654435761 + 1) >>> 0;
  const below = (n: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  return { below, one: <T>(list: readonly T[]): T => list[below(list.length)] as T };
}

type Draw = ReturnType<typeof drawing>;

const counted = (size: number[]) => z.arange(size.reduce((a, b) => a * b, 1)).reshape(size);

function tensorOf({ one }: Draw, batch: number[]): z.Tensor {
  const size = [...batch, ...one([[], [3], [2, 2], [0]])];
  const plain = counted(size).to(z.float32);
  switch (one(["float", "float", "int", "half", "transposed", "expanded", "leaf", "result", "part"])) {
    case "int":
      return counted(size);
    case "half":
      return plain.to(z.float16);
    case "transposed":
      return size.length > 1 ? counted([...size].reverse()).permute(size.map((_, i) => size.length - 1 - i)) : plain;
    case "expanded":
      return z.ones(size.slice(1)).expand(size);
    case "leaf":
      return plain.requiresGrad_();
    case "result":
      return plain.requiresGrad_().mul(2);
    case "part":
      return z.stack([plain, plain.add(1)]).at(1);
    default:
      return plain;
  }
}

function dictOf(draw: Draw, batch: number[], depth = 0): Any {
  const { below, one } = draw;
  const entries: Record<string, Any> = {};
  for (const key of ["a", "b", "c", "d"].slice(0, 1 + below(4))) {
    const kind = one(["tensor", "tensor", "tensor", "tensor", "nested", "longer", "text", "lazy", "unbatched"]);
    if (kind === "text") entries[key] = "text";
    else if (kind === "unbatched") entries[key] = new z.UnbatchedTensor(z.ones(2));
    else if (kind === "lazy" && batch.length > 0) {
      const [rows = 0, ...rest] = batch;
      const members = Array.from({ length: rows }, () => new z.TensorDict({ x: counted([...rest, 2]) }, rest));
      entries[key] = rows > 0 ? z.lazyStack(members) : tensorOf(draw, batch);
    } else if (kind === "nested" && depth < 2) entries[key] = dictOf(draw, batch, depth + 1);
    else if (kind === "longer" && depth < 2) entries[key] = dictOf(draw, [...batch, 2], depth + 1);
    else entries[key] = tensorOf(draw, batch);
  }
  const names = depth === 0 && below(8) === 0 ? { names: batch.map((_, i) => `n${i}`) } : {};
  const made = new z.TensorDict(entries, { batchSize: batch, ...names });
  if (depth === 0 && below(6) === 0) made.lock_();
  return made;
}

/** All that can be told of a result. */
function told(x: Any): unknown {
  if (x instanceof z.Tensor) {
    const t = x as Any;
    const form = [t.constructor.name, String(t.dtype), [...t._shape], [...t._strides], t._offset, t._version.value];
    return [...form, t.requiresGrad, t.gradFn?.name ?? null, t.tolist()];
  }
  if (!z.isTensorCollection(x)) return x;
  const td = x as Any;
  const state = [td.constructor.name, [...td.batchSize], td.names, td.isLocked, String(td.device)];
  if (z.tensordict.isNonTensor(td)) return [...state, td.tolist()];
  return [...state, [...td._entries()].map(([key, entry]: [string, unknown]) => [key, told(entry)])];
}

function outcome(body: () => unknown, after?: () => unknown): unknown {
  let result: unknown;
  try {
    result = told(body());
  } catch (error) {
    result = (error as Error).constructor.name;
  }
  return [result, told(after?.())];
}

const batchOf = ({ one }: Draw): number[] => [...one([[4], [4], [3, 2], [1], [0], []])];

const partOf = ({ one, below }: Draw): Any =>
  one<Any>([below(5), -1 - below(5), z.slice(1, 3), z.slice(-2, null), z.slice(0, 4, 2), z.slice(3, 1), z.slice(0, 9)]);

test("rows that are read", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const draw = drawing(seed);
    const td = dictOf(draw, batchOf(draw));
    const part = partOf(draw);
    expect([
      seed,
      outcome(
        () => td.at(part),
        () => td,
      ),
    ]).toEqual([
      seed,
      outcome(
        () => td.at([part]),
        () => td,
      ),
    ]);
  }
});

/** A value for rows: what they hold, in one way or another. */
function valueFor(draw: Draw, td: Any, part: Any): Any {
  const other = z.noGrad(() => td.at([part]).clone());
  other.unlock_();
  const [first] = other.keys() as string[];
  const entry = other.get(first);
  switch (draw.one(["same", "same", "same", "fewer", "more", "dtype", "one", "leaf", "own", "number", "wrong"])) {
    case "fewer":
      return other.select(first);
    case "more":
      return other.set("new", z.ones([...other.batchSize, 2]));
    case "dtype":
      return entry instanceof z.Tensor ? other.set(first, entry.to(z.float64)) : other;
    case "one":
      return entry instanceof z.Tensor && entry.ndim > other.ndim ? other.set(first, entry.at("...", "0:1")) : other;
    case "leaf":
      if (!(entry instanceof z.Tensor && entry.isFloatingPoint())) return other;
      return other.set(first, entry.clone().requiresGrad_());
    case "own":
      return td.at([part]);
    case "number":
      return 7;
    case "wrong":
      return new z.TensorDict({ a: z.ones(7) }, [7]);
    default:
      return other;
  }
}

test("rows that are written", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const results = [false, true].map((long) => {
      const draw = drawing(seed);
      const td = dictOf(draw, batchOf(draw));
      const part = partOf(draw);
      let value: Any;
      try {
        value = valueFor(draw, td, part);
      } catch {
        value = 1;
      }
      return outcome(
        () => td.setAt(long ? [part] : part, value),
        () => td,
      );
    });
    expect([seed, results[0]]).toEqual([seed, results[1]]);
  }
});

test("updates, selections and lists", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const batch = batchOf(drawing(seed));
    const make = (k: number) => dictOf(drawing(seed + 1000 * k), batch);
    const both = (short: (td: Any) => unknown, long: (td: Any) => unknown) => {
      const [one, two] = [make(1), make(1)];
      expect([
        seed,
        outcome(
          () => short(one),
          () => one,
        ),
      ]).toEqual([
        seed,
        outcome(
          () => long(two),
          () => two,
        ),
      ]);
    };
    const source = make(2);
    both(
      (td) => td.update(source),
      (td) => td.update(new Map(source._entries())),
    );
    both(
      (td) => td.select("a", "c"),
      (td) => td.select("a", "c", { strict: true }),
    );
    both(
      (td) => td.exclude("b", "missing"),
      (td) => td.exclude("b", "missing", { inplace: false }),
    );
    const listed = (list: [string, unknown][]) => list.map(([key, entry]) => [key, told(entry)]);
    const td = make(3);
    expect([seed, listed(td.items())]).toEqual([seed, listed(td.items({}))]);
    for (const [path] of td.items(true, true)) {
      if (!Array.isArray(path)) continue;
      expect(told(td.get(path))).toEqual(told(td.get([path.slice(0, 1), path.slice(1)] as never)));
    }
  }
});

test("stacks and joins are those of the leaves", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const draw = drawing(seed);
    const batch = batchOf(draw);
    // Sometimes of other keys, kinds or shapes.
    const list = Array.from({ length: 1 + draw.below(3) }, (_, i) => {
      const other = draw.below(5) === 0 ? i : 0;
      return dictOf(drawing(seed + other), batch);
    });
    for (const join of [z.stack, z.cat] as Any[]) {
      let made: Any;
      try {
        made = join(list);
      } catch {
        continue;
      }
      for (const [path, entry] of made.items(true, true)) {
        if (!(entry instanceof z.Tensor) || entry instanceof z.UnbatchedTensor) continue;
        const parts = list.map((td) => td.get(path) as z.Tensor);
        if (!parts.every((t) => t instanceof z.Tensor)) continue;
        expect([seed, path, told(entry)]).toEqual([seed, path, told(join(parts))]);
      }
    }
  }
});

test("what is rehearsed leaves no operator slower", () => {
  const before = attention.bits;
  attention.bits = 0;
  const td = new z.TensorDict({ a: z.zeros(4, 3), b: z.zeros(4) }, [4]);
  td.setAt([[0, 2]] as never, td.at([[1, 3]] as never));
  td.setAt(z.tensor([true, false, true, false]), 1);
  td.update_({ a: z.ones(4, 3).t().contiguous().t() });
  td.set_("b", z.ones(4));
  expect(attention.bits).toBe(0);
  attention.bits = before;
});
