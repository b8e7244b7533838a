// Operators called on the CPU and on a device, a real one or the stand-in: the same results are expected of both.
import { beforeAll, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { available, counter, driverLibrary, emulated } from "./standin-driver.ts";

export { available };

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

type Results = z.Tensor | readonly z.Tensor[];
const listOf = (r: Results): readonly z.Tensor[] => (r instanceof z.Tensor ? [r] : r);

/** Elements as numbers that can be compared: short floats widened, complex numbers as pairs. */
function plain(t: z.Tensor): NodeJS.TypedArray {
  const real = t.isComplex() ? z.viewAsReal(t.resolveConj()) : t;
  const wide = ["bfloat16", "float16"].includes(String(real.dtype).replace("torch.", "")) ? real.float() : real;
  return wide.contiguous().typedArray() as NodeJS.TypedArray;
}

/** How the operands of a call lie: made of a tensor without gaps, on each device by itself. */
export const LAYOUTS: Readonly<Record<string, (t: z.Tensor) => z.Tensor>> = {
  contiguous: (t) => t,
  transposed: (t) => (t.dim() < 2 ? t : t.transpose(0, -1).contiguous().transpose(0, -1)),
  sliced: (t) => {
    const padded = z.cat([t, t], t.dim() - 1);
    return padded.repeatInterleave(2, { dim: -1 }).at("...", z.slice(0, 2 * (t.shape.at(-1) as number), 2));
  },
};

/** A call with tensors, on the CPU and on the device. */
export function both(call: (...t: z.Tensor[]) => Results, operands: z.Tensor[], layout = (t: z.Tensor) => t): void {
  const wanted = listOf(call(...operands.map(layout)));
  const made = listOf(call(...operands.map((t) => layout(t.to("cuda")))));
  z.cuda.synchronize();
  expect(made.length).toBe(wanted.length);
  for (const [i, t] of wanted.entries()) {
    const other = made[i] as z.Tensor;
    expect([String(other.dtype), other.shape]).toEqual([String(t.dtype), t.shape]);
    if (t.isCuda === other.isCuda) throw new Error("a result is on the wrong device");
    expectSame(plain(other.cpu()), plain(t));
  }
}

/** Equal bytes, or else what differs is shown. */
function expectSame(made: NodeJS.TypedArray, wanted: NodeJS.TypedArray): void {
  const bytes = (x: NodeJS.TypedArray) => Buffer.from(x.buffer, x.byteOffset, x.byteLength);
  if (!bytes(made).equals(bytes(wanted))) expect([...made]).toEqual([...wanted]);
}

/** The error of a call on the device, at the latest when it is waited for. */
export function told(call: () => unknown): { name: string; message: string } | null {
  try {
    call();
    z.cuda.synchronize();
  } catch (e) {
    return { name: (e as Error).name, message: (e as Error).message };
  }
  return null;
}

/** No two warps touch the same shared memory without a barrier between, in any kernel of the file that calls this. */
export function expectNoRaces(): void {
  let before = 0;
  beforeAll(() => {
    before = counter("races");
  });
  test.if(emulated)("no kernel's threads race", () => {
    expect(counter("races")).toBe(before);
  });
}
