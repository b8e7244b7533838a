// Tensors without elements that were disposed are refused as others are, by every function and method that takes them.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { membersOf } from "../members.ts";

const { linalg, ones, special, Tensor, zeros } = z;

function gone(...size: number[]): z.Tensor {
  const x = zeros(...size);
  x.dispose();
  return x;
}

/** Those that look at what stays known of a disposed tensor, give the tensor itself, or need none of its elements. */
const MAY =
  /^(size|stride|dim|numel|nelement|elementSize|storageOffset|is\w+|untypedStorage|storage|requiresGrad_|new\w+|detach_|conj|real|cpu|float|flatten|resize_|resizeAs_|sumToSize|dispose|contiguous|asTensor|resultType|get\w+|set\w+|initialSeed|seed|manualSeed|print|\w+Async|load\w*|save\w*|device|scope|warn|deepcopy|item|retainGrad|registerHook|to|typeAs|toShared|dropout)$/;

// biome-ignore lint/suspicious/noExplicitAny: arguments of any kind
type Any = any;

test("methods", () => {
  const lenient: string[] = [];
  for (const [name, { value: method }] of membersOf(Tensor.prototype)) {
    if (typeof method !== "function" || name.startsWith("_") || name === "constructor" || MAY.test(name)) continue;
    for (const args of [[], [0], [ones(0)], [0, 0], [[0]]]) {
      try {
        (gone(0) as Any)[name](...args);
      } catch {
        continue;
      }
      lenient.push(`${name}(${args})`);
    }
  }
  expect(lenient).toEqual([]);
});

test("functions, and lists and targets", () => {
  const forms: ((g: Any, o: Any) => Any[])[] = [
    (g) => [g],
    (g) => [[g]],
    (g, o) => [[o, g]],
    (g, o) => [o, g],
    (g, o) => [g, o],
    (g) => [g, 0],
    (g, o) => [g, o, o],
    (g, o) => [o, o, g],
    (g) => [g, 0, ones(0, { dtype: "int64" })],
  ];
  const lenient: string[] = [];
  for (const owner of [z, linalg, special, z.F] as Any[]) {
    for (const name of Object.keys(owner)) {
      if (typeof owner[name] !== "function" || /^[A-Z]/.test(name) || MAY.test(name)) continue;
      for (const make of forms) {
        try {
          owner[name](...make(gone(0), ones(0)));
        } catch {
          continue;
        }
        lenient.push(`${name} ${make}`);
      }
    }
  }
  expect(lenient).toEqual([]);
});

test("what stays known of it, and that it may be disposed again", () => {
  const x = gone(2, 0);
  expect([x.numel(), x.nelement(), x.nbytes, `${x.shape}`, x.dtype.name, x.ndim, x.isConj(), x.isNeg()]).toEqual([
    0,
    0,
    0,
    "torch.Size([2, 0])",
    "float32",
    2,
    false,
    false,
  ]);
  x.dispose();
  for (const call of [() => x.detach(), () => x.view(0), () => x.t(), () => String(x), () => x.tolist()]) {
    expect(call).toThrow("disposed");
  }
  for (const call of [() => gone(3).detach(), () => gone(3).view(3, 1)]) expect(call).toThrow("disposed");
  expect([...Object.keys(x)].includes("_numel")).toBe(false);
});
