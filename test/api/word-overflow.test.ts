// Integers that no word of 64 bits holds: one error for every argument of every operator that takes numbers, positions,
// sizes or counts, and the same where indices and values are written down by hand.
import { expect, test } from "bun:test";
import schema from "../../generated/ops.json";
import * as z from "../../src/index.ts";
import { Choices } from "../fuzz/choices.ts";

const { int, ones, tensor, TensorDict, zeros } = z;
const MESSAGE = "Overflow when unpacking long long";
const HIGH = 2n ** 64n;
const LOW = -(2n ** 63n) - 1n;

type Arg = [name: string, role: string, fallback: string, place: string];
interface Op {
  key: string;
  args: Arg[];
  variants: string[];
  internal: boolean;
}
type Call = (...args: unknown[]) => unknown;

const ONE = /^(Dim|Int|Scalar|Tensor\|Scalar)\??$/;
const SEVERAL = /^(Dims|Size|Sizes|Ints)\??$/;
const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

/** Something that an argument takes. */
function usual(role: string, name: string, dtype: z.DTypeLike): unknown {
  switch (role.replace("?", "")) {
    case "Tensor":
    case "Tensor|Scalar":
      return /mask|condition/.test(name) ? ones(2, 2, { dtype: "bool" }) : ones(2, 2, { dtype });
    case "Tensor|Index":
      return zeros(2, { dtype: "int64" });
    case "Tensor[]":
      return [zeros(2, { dtype: "int64" })];
    case "TensorList":
      return [ones(2, 2, { dtype }), ones(2, 2, { dtype })];
    case "Dims":
      return [0];
    case "Size":
    case "Sizes":
    case "Ints":
      return [2, 2];
    case "Bool":
      return false;
    case "Float":
      return 0.5;
    case "DType":
      return "float32";
    case "String":
      return "sum";
    default:
      return role.startsWith("Dim") ? 0 : 1;
  }
}

/** A call of an operator with one argument too large; null where a form has no such argument. */
function call(op: Op, form: string, at: number, large: unknown, dtype: z.DTypeLike): (() => unknown) | null {
  const positional: unknown[] = [];
  const named: Record<string, unknown> = {};
  for (const [i, [name, role, fallback, place]] of op.args.entries()) {
    const wanted = fallback === "required" || i === at || (place === "positional" && i < at);
    if (!wanted) continue;
    const value = i === at ? (SEVERAL.test(role) ? [large] : large) : usual(role, name, dtype);
    if (place === "positional" && positional.length === i) positional.push(value);
    else named[camel(name)] = value;
  }
  const given = Object.keys(named).length > 0 ? [...positional, named] : positional;
  const parts = op.key.split(".");
  const depth = op.key.startsWith("nn.") ? 2 : /^(linalg|special)\./.test(op.key) ? 1 : 0;
  const path = parts.slice(0, depth + 1).map(camel);
  if (form === "function") {
    const fn = path.reduce<unknown>((home, part) => (home as Record<string, unknown>)?.[part], z) as Call | undefined;
    return fn === undefined ? null : () => fn(...given);
  }
  const [self, ...rest] = given;
  const method = (self as Record<string, unknown>)[`${path.at(-1)}${form === "inplace" ? "_" : ""}`] as
    | Call
    | undefined;
  return self instanceof z.Tensor && method !== undefined ? () => method.apply(self, rest) : null;
}

test("every argument of every operator", () => {
  const wrong: string[] = [];
  let calls = 0;
  const choices = new Choices(7);
  for (const op of schema as unknown as Op[]) {
    if (op.internal || op.key.startsWith("_")) continue;
    for (const form of op.variants.filter((v) => v !== "out")) {
      op.args.forEach(([name, role], at) => {
        if (!ONE.test(role) && !SEVERAL.test(role)) return;
        const beyond = 1n << BigInt(choices.below(100));
        for (const large of [HIGH, LOW, HIGH + beyond, LOW - beyond, int(HIGH), int(2 ** 64)]) {
          const made = call(op, form, at, large, choices.pick(["float32", "int64", "int32", "bool"]));
          if (made === null) continue;
          calls++;
          let said = "no error";
          try {
            made();
          } catch (e) {
            said = (e as Error).message;
          }
          if (said !== MESSAGE) wrong.push(`${op.key} ${form}, ${name} = ${large}: ${said.slice(0, 80)}`);
        }
      });
    }
  }
  expect(wrong).toEqual([]);
  expect(calls).toBeGreaterThan(2500);
});

test("indices, values that are written, seeds, collections", () => {
  const x = () => tensor([5n]);
  const td = () => new TensorDict({ a: x() }, [1]);
  const calls: (() => unknown)[] = [
    () => x().at(HIGH),
    () => x().at(LOW),
    () => x().at(int(HIGH)),
    () => x().at([[HIGH]]),
    () => x().setAt(HIGH, 1),
    () => x().setAt(0, HIGH),
    () => x().setAt(0, 2n ** 64n + 5n),
    () => tensor([1.5]).setAt(0, HIGH),
    () => x().setAt([[0]], [HIGH]),
    () => x().setAt([[0]], [2n ** 63n]),
    () => x().indexSelect(0, [HIGH] as never),
    () => z.manualSeed(HIGH),
    () => new z.Generator().manualSeed(LOW),
    () => td().add(HIGH),
    () => td().mul_(LOW),
    () => td().eq(HIGH),
    () => td().clampMin(LOW),
    () => td().at(HIGH),
    () => z.full([2], HIGH, { dtype: "float32" }),
    () => z.tensor(HIGH),
    () => z.where(tensor([true]), HIGH, 1n),
    () => z.func.vmap((y: z.Tensor) => y.add(HIGH))(x()),
  ];
  for (const one of calls) expect(one).toThrow(MESSAGE);
});

test("factors of more digits than a double has are not rounded", () => {
  const factor = 2n ** 60n + 1n;
  const [one, ...shapes] = [[1], [1, 1], [1, 1, 1]].map((shape) => ones(shape, { dtype: "int64" })) as [z.Tensor];
  const [matrix, batch] = shapes as unknown as [z.Tensor, z.Tensor];
  const found = {
    add: one.add(one, { alpha: factor }).sub(1),
    addcmul: z.addcmul(one.sub(one), one, one, { value: factor }),
    "addcmul of int32": z.addcmul(one.sub(one), one.int(), one.int(), { value: factor }),
    addcmul_: one.clone().addcmul_(one, one, { value: factor }).sub(1),
    addmm: z.addmm(matrix, matrix, matrix, { alpha: factor }).sub(1),
    "addmm, beta": z.addmm(matrix, matrix, matrix, { beta: factor }).sub(1),
    addmv: z.addmv(one, matrix, one, { alpha: factor }).sub(1),
    addr: z.addr(matrix, one, one, { alpha: factor }).sub(1),
    addbmm: z.addbmm(matrix, batch, batch, { beta: factor }).sub(1),
    baddbmm: z.baddbmm(batch, batch, batch, { alpha: factor }).sub(1),
    indexAdd: one.indexAdd(0, tensor([0n]), one, { alpha: factor }).sub(1),
  };
  for (const [name, x] of Object.entries(found)) expect(`${name} ${x.reshape(1).bigint()}`).toBe(`${name} ${factor}`);
});

test("beyond int64 only elements of uint64 and of floating dtypes are numbers", () => {
  const half = 2n ** 63n;
  const overflow = "value cannot be converted to type int64_t without overflow";
  for (const dtype of ["int64", "int32", "uint8", "bool"] as const) {
    const x = tensor([1n]).to(dtype);
    for (const one of [() => x.add(half), () => x.eq(half), () => x.lt(2n ** 64n - 1n), () => x.fmod(half)]) {
      expect(one).toThrow(overflow);
    }
  }
  const large = tensor([2n ** 64n - 1n], { dtype: "uint64" });
  expect(large.eq(2n ** 64n - 1n).tolist()).toEqual([true]);
  expect(large.eq(half).tolist()).toEqual([false]);
  expect(large.clone().fill_(half).bigint()).toBe(half);
  const stored = large.clone();
  stored.setAt([[0]], [half + 1n]);
  expect(stored.bigint()).toBe(half + 1n);
  expect(tensor([1.5]).add(half).item()).toBe(2 ** 63);
  expect(
    tensor([-(2n ** 63n)])
      .eq(-half)
      .tolist(),
  ).toEqual([true]);
  expect(
    tensor([half - 1n])
      .eq(half - 1n)
      .tolist(),
  ).toEqual([true]);
});
