// Every pointwise operator on the shipped kernels, run by the stand-in, beside the CPU: the same bits. Emulated.
import { beforeAll, describe, expect, test } from "bun:test";
import { loadModel } from "../../codegen/model/load.ts";
import * as z from "../../src/index.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

type Call = (x: z.Tensor, y: z.Tensor, w: z.Tensor) => z.Tensor;
type Functions = Record<string, (...args: unknown[]) => z.Tensor>;
const on = z as unknown as Functions;

const FLOATS = ["float32", "float64", "float16", "bfloat16"];
const INTEGERS = ["int64", "int32", "int16", "int8", "uint8"];
const DTYPES = [...FLOATS, ...INTEGERS, "bool", "complex64", "complex128"] as const;

/** Edge values, and enough others for a block with a ragged end. */
const EDGES = [0, -0, 1, -1, 0.5, -0.5, 2.5, 1e-40, 6e-8, 3e38, -3e38, 65504, 127, -128, 255, Infinity, -Infinity, NaN];
const [ROWS, COLUMNS] = [9, 37];

/** Numbers of a dtype, in another order for each operand. */
function operand(dtype: string, turn: number): z.Tensor {
  const integers = INTEGERS.includes(dtype) || dtype === "bool";
  const numbers = Array.from({ length: 2 * ROWS * COLUMNS }, (_, i) => {
    const at = (i * (2 * turn + 1) + 5 * turn) % (2 * ROWS * COLUMNS);
    const n = at < EDGES.length ? (EDGES[at] as number) : ((at * 7919) % 5000) / 250 - 10;
    // What does not fit an integer is no value of it, and what divides is not zero.
    if (dtype === "bool") return n > 0 ? 1 : 0;
    return integers ? Math.max(dtype === "uint8" ? 1 : -128, Math.min(127, Math.trunc(n) || 3)) : n;
  });
  const x = z.tensor(numbers, { dtype: dtype.startsWith("complex") ? "float64" : (dtype as never) });
  if (!dtype.startsWith("complex")) return x.view(2 * ROWS, COLUMNS);
  const parts = z.stack([x, x.roll(17)], -1);
  return z
    .viewAsComplex(parts)
    .to(dtype as never)
    .view(2 * ROWS, COLUMNS);
}

/** How operands lie: what the dense kernels take, and what only the strided ones do. */
const LAYOUTS: Record<string, (x: z.Tensor, turn: number) => z.Tensor> = {
  dense: (x) => x.narrow(0, 0, ROWS).clone(),
  strided: (x, turn) => (turn === 0 ? x.at("::2") : x.narrow(0, 1, ROWS).t().contiguous().t()),
  broadcast: (x, turn) => (turn === 0 ? x.narrow(0, 0, ROWS) : turn === 1 ? x.narrow(0, 3, 1) : x.at(2, 3)),
};

/** Numbers that operators ask for, by the name of the argument. */
const NUMBERS: Record<string, number> = { min: -1, max: 2, decimals: 1 };

/** Other ways to call some, which other kernels serve. */
const MORE: Record<string, Call> = {
  "add alpha": (x, y) => x.add(y, { alpha: 2 }),
  "sub alpha": (x, y) => x.sub(y, { alpha: 2 }),
  "div trunc": (x, y) => x.div(y, { roundingMode: "trunc" }),
  "div floor": (x, y) => x.div(y, { roundingMode: "floor" }),
  "mul by a number": (x) => x.mul(3),
  "clamp of tensors": (x, y, w) => x.clamp(y, w),
  "clamp to a least": (x) => x.clamp(1),
  "nan_to_num with numbers": (x) => x.nanToNum(1, 2, 3),
  "logit with eps": (x) => x.logit(0.25),
  "masked fill": (x, y) => x.maskedFill(y.ne(1), 2),
  smoothL1Loss: (x, y) => z.nn.functional.smoothL1Loss(x, y, { reduction: "none", beta: 0.5 }),
  huberLoss: (x, y) => z.nn.functional.huberLoss(x, y, { reduction: "none", delta: 0.5 }),
  polygamma: (x) => z.special.polygamma(2, x),
  "conj and neg": (x, y) => x.conj().mul(y.conj()),
  "to float32": (x) => x.to("float32"),
  "to int32": (x) => x.nanToNum().clamp(-100, 100).to("int32"),
  "to complex64": (x) => x.to("complex64"),
};

function calls(): Map<string, Call> {
  const found = new Map(Object.entries(MORE));
  for (const op of loadModel().ops) {
    const path = op.kernels?.cpu[0] ?? "";
    if (op.kind !== "pointwise" || op.internal || !/^(activation|unary|binary|ternary)\./.test(path)) continue;
    const f = on[op.publicName];
    if (f === undefined) throw new Error(`${op.publicName} is no function`);
    const needed = op.args.filter((a) => a.fallback === undefined || op.key.startsWith("clamp"));
    const named = needed.filter((a) => a.byName).map((a) => [a.name, NUMBERS[a.name] ?? 2]);
    found.set(op.key, (...tensors) => {
      let next = 0;
      const args = needed
        .filter((a) => !a.byName)
        .map((a): unknown => {
          if (a.name === "condition") return (tensors[next++] as z.Tensor).real.gt(0.5);
          return a.role.startsWith("Tensor") ? tensors[next++] : (NUMBERS[a.name] ?? 2);
        });
      return f(...args, ...(named.length > 0 ? [Object.fromEntries(named)] : []));
    });
  }
  return found;
}

/** Where the CPU's vectors take another way than its single elements: it divides by an approximate reciprocal. */
const DIVIDES: Record<string, number> = { tanh: 2, sigmoid: 2 };

const said = (call: () => z.Tensor): z.Tensor | string => {
  try {
    return call();
  } catch (error) {
    return (error as Error).message;
  }
};

/** Distance of two floats in units in the last place. */
function apart(a: number, b: number, dtype: string): number {
  if (Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b))) return 0;
  const bits = { float32: 23, complex64: 23, float64: 52, complex128: 52, float16: 10, bfloat16: 7 }[dtype];
  if (bits === undefined || !Number.isFinite(a) || !Number.isFinite(b) || a === b) return Infinity;
  return Math.abs(a - b) / 2 ** (Math.floor(Math.log2(Math.abs(b))) - bits);
}

/** What differs: where, and both numbers. */
function differences(name: string, here: z.Tensor, there: z.Tensor): unknown[] {
  const dtype = String(here.dtype).replace("torch.", "");
  if (String(there.dtype) !== String(here.dtype) || String(there.shape) !== String(here.shape)) return [there.dtype];
  const flat = (t: z.Tensor): z.Tensor => (t.isComplex() ? z.viewAsReal(t.resolveConj()) : t).contiguous().view(-1);
  if (!here.isFloatingPoint() && !here.isComplex()) return z.equal(here, there) ? [] : ["integers", here, there];
  const [a, b] = [flat(here).to("float64"), flat(there).to("float64")].map((t) => t.tolist() as number[]);
  const wrong = (a as number[]).map((x, i) => [i, x, b?.[i], apart(b?.[i] as number, x, dtype)] as const);
  return wrong.filter(([, , , ulps]) => ulps > (DIVIDES[name] ?? 0));
}

describe.if(available)("pointwise operators on a device give the CPU's bits", () => {
  const inputs = new Map<string, z.Tensor[]>();
  const devices = new Map<string, z.Tensor[]>();
  beforeAll(() => {
    for (const dtype of DTYPES) {
      const made = [0, 1, 2].map((turn) => operand(dtype, turn));
      inputs.set(dtype, made);
      devices.set(
        dtype,
        made.map((t) => t.to("cuda")),
      );
    }
  });

  let ran = 0;
  test.each([...calls()])("%s", (name, call) => {
    const wrong: unknown[] = [];
    for (const dtype of DTYPES) {
      for (const [layout, lay] of Object.entries(LAYOUTS)) {
        const [here, there] = [inputs, devices].map((all) => {
          const [x, y, w] = (all.get(dtype) as z.Tensor[]).map((t, turn) => lay(t, turn)) as [
            z.Tensor,
            z.Tensor,
            z.Tensor,
          ];
          return said(() => call(x, y, w));
        }) as [z.Tensor | string, z.Tensor | string];
        // As with torch, a device says nothing of an integer that is divided by zero.
        if (here === "ZeroDivisionError") continue;
        if (typeof here === "string" || typeof there === "string") {
          if (here !== there) wrong.push([dtype, layout, String(here), String(there)]);
          continue;
        }
        ran++;
        if (!there.isCuda) wrong.push([dtype, layout, "not on the device"]);
        const found = differences(name, here, there.cpu());
        if (found.length > 0) wrong.push([dtype, layout, found.length, ...found.slice(0, 2)]);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("most of them in most dtypes", () => {
    expect(ran).toBeGreaterThan(2500);
  });
});

test.if(available)("exp of every bfloat16 has the CPU's bits, which a shorter way gives", () => {
  const all = z.arange(65536, { dtype: "int32" }).to("int16").view("bfloat16");
  const known = all.maskedSelect(all.isnan().logicalNot());
  // From an odd element on it is the way of the others.
  for (const x of [known, known.slice(0, 1), known.slice(0, 30000, 30013)]) {
    const made = z.full([x.numel() + 8], 7, { dtype: "bfloat16", device: "cuda" });
    z.exp(x.to("cuda"), { out: made.slice(0, 0, x.numel()) });
    expect(z.equal(made.slice(0, 0, x.numel()).cpu().view("int16"), x.exp().view("int16"))).toBe(true);
    expect(made.slice(0, x.numel()).eq(7).all().item()).toBe(true);
  }
  expect(all.to("cuda").exp().isnan().sum().item<number>()).toBe(all.isnan().sum().item<number>());
});
