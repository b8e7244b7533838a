// Whoever asks takes the calls of operators: in their order, with what they change, and no longer than they may.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Taker, taking } from "../../src/dispatch/seam.ts";
import { attention, TAKERS } from "../../src/ffi/attention.ts";
import { nn, ones, type Tensor } from "../../src/index.ts";

type Call = Taker["take"];
const observer = (take: Call): Taker => ({ observes: true, take });
const transform = (take: Call): Taker => ({ observes: false, take });

test("every generated operator asks first", () => {
  const text = readFileSync(join(import.meta.dir, "../../generated/ops.ts"), "utf8");
  const functions = text.split(/^export function /m).slice(1);
  expect(functions.length).toBeGreaterThan(350);
  for (const f of functions) {
    const name = f.slice(0, f.indexOf("("));
    expect(f).toContain(`if ($A.attention.bits !== 0) { const r = $A.attend($O("${name}", ${name}), [`);
  }
});

test("a taker may answer, change the arguments, or pass a call on", () => {
  const x = ones(2);
  const seen: string[] = [];
  const answers = transform((op, args, next) => {
    seen.push(op.name);
    if (op.name === "exp") return "answered";
    return op.name === "add" ? next([args[0], 10, args[2], args[3]]) : next();
  });
  const found = taking(answers, "test", () => [x.exp(), x.add(1).tolist(), x.mul(3).tolist()]);
  expect(found).toEqual(["answered" as never, [11, 11], [3, 3]]);
  expect(seen).toEqual(["exp", "add", "mul"]);
});

test("a transform does not see what it calls itself; an observer sees what operators call", () => {
  const x = ones(2, 3);
  const seen: string[] = [];
  taking(
    transform((op, _args, next) => {
      seen.push(op.name);
      x.exp();
      return next();
    }),
    "test",
    () => nn.functional.linear(x, ones(4, 3)),
  );
  expect(seen).toEqual(["ones", "linear"]);
  const all: string[] = [];
  taking(
    observer((op, _args, next) => {
      all.push(op.name);
      return next();
    }),
    "test",
    () => nn.functional.linear(x, ones(4, 3)),
  );
  expect(all.slice(0, 2)).toEqual(["ones", "linear"]);
  expect(all.length).toBeGreaterThan(2);
});

test("takers take in turn: the last that came is asked first", () => {
  const order: string[] = [];
  const named = (name: string, make: typeof observer) =>
    make((op, _args, next) => {
      order.push(`${name} ${op.name}`);
      return next();
    });
  for (const make of [observer, transform]) {
    order.length = 0;
    taking(named("outer", make), "test", () => taking(named("inner", make), "test", () => ones(2)));
    expect(order).toEqual(["inner ones", "outer ones"]);
  }
  order.length = 0;
  taking(named("observer", observer), "test", () =>
    taking(named("transform", transform), "test", () => ones(2).add_(1)),
  );
  expect(order).toEqual(["transform ones", "observer ones", "transform add_", "observer add_"]);
});

test("an error on the way leaves nobody behind", () => {
  const x = ones(2);
  for (const make of [observer, transform]) {
    const passes = make((_op, _args, next) => next());
    const throws = make(() => {
      throw new Error("refused");
    });
    expect(() => taking(throws, "test", () => x.add(1))).toThrow("refused");
    expect(() => taking(passes, "test", () => x.add(ones(3)))).toThrow("must match");
    expect(() => taking(passes, "test", () => taking(throws, "test", () => x.add(1)))).toThrow("refused");
    expect(attention.bits & TAKERS).toBe(0);
    const after: string[] = [];
    taking(
      make((op, _args, next) => {
        after.push(op.name);
        return next();
      }),
      "test",
      () => x.add(1),
    );
    expect(after).toEqual(["add"]);
  }
});

test("an operator that a taker calls in the middle of a call is a call of its own", () => {
  const x = ones(2);
  const seen: string[] = [];
  taking(
    observer((op, _args, next) => {
      seen.push(op.name);
      const result = next() as Tensor;
      if (op.name === "exp") result.neg();
      return result;
    }),
    "test",
    () => x.exp(),
  );
  expect(seen).toEqual(["exp", "neg"]);
});

test("a taker may begin another one in the middle of a call", () => {
  const inner: string[] = [];
  const notes = observer((op, _args, next) => {
    inner.push(op.name);
    return next();
  });
  const outer: string[] = [];
  const begins = transform((op, _args, next) => {
    outer.push(op.name);
    taking(notes, "test", () => ones(3));
    return next();
  });
  const found = taking(begins, "test", () => [ones(2).exp(), ones(1)]);
  expect([outer, inner, found.length]).toEqual([["ones", "exp", "ones"], ["ones", "ones", "ones"], 2]);
  expect(attention.bits & TAKERS).toBe(0);
});
