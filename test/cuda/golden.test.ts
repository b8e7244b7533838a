// Golden cases, forward and backward, and torch's answers to random programs, on a device: emulated by the stand-in.
// What was launched and what was refused is compared with the kernels that the schema names for CUDA.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import * as z from "../../src/index.ts";
import { LIST_CALLS } from "../conformance/list-calls.ts";
import { OnDevice } from "../conformance/on-device.ts";
import { DRAWING, type Launches, named, watchLaunches } from "./launched.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

/** Calls of kernels that no case reaches: of an operator's less common arguments. */
const MORE: readonly ((x: z.Tensor) => z.Tensor | readonly z.Tensor[])[] = [
  (x) => x.ldexp(x.to("int64")),
  (x) => x.clamp(1, 2),
  (x) => [x.cummax(0), x.cummin(0), x.logcumsumexp(0)].flat(),
  (x) => {
    const [a, b] = [x.clone().requiresGrad_(), x.clone().requiresGrad_()];
    z.F.gelu(a, { approximate: "tanh" }).sum().backward();
    z.F.elu_(b.mul(1)).sum().backward();
    return [a.grad, b.grad] as z.Tensor[];
  },
  (x) => z.F.binaryCrossEntropyWithLogits(x, x.sigmoid(), { posWeight: x.abs() }),
  ...Object.values(LIST_CALLS).map((call) => (x: z.Tensor) => [call(x.view(2, 3))].flat(2) as z.Tensor[]),
  ...[0, 1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((p) => (x: z.Tensor) => x.norm(p)),
];

/** Programs with an integer division by zero, an error on the CPU alone, or sections on a device. */
const DRAWN = [81, 144, 149, 311, 390, 414, 453, 606, 802, 873, 977, 1085, 1181, 1281, 1377, 1475];
const OTHERWISE_DRAWN = DRAWN.map((n) => `oracle/${3_000_000 + n}`);

describe.if(available)("golden cases on a device", () => {
  let watched: Launches;
  beforeAll(() => {
    watched = watchLaunches();
  });
  afterAll(() => watched.restore());

  test.each([
    ["cases-small", 720, ["promo/fmod/i8_bool_d0"]],
    ["cases-oracle", 700, OTHERWISE_DRAWN],
    ["cases-activations", 100, []],
  ] as const)(
    "%s: what they give on the CPU",
    async (name, least, others) => {
      const run = await OnDevice.load(join(import.meta.dir, "../fixtures", name));
      const { passed, wrong, otherwise, lacking: missing } = run.all();
      expect(wrong).toEqual([]);
      // What devices lack is refused by its name.
      expect(Object.keys(missing).filter((path) => named.has(path))).toEqual([]);
      expect(otherwise).toEqual([...others]);
      expect(passed).toBeGreaterThan(least);
    },
    120_000,
  );

  test("what no case calls", () => {
    const data = [0.5, -1.25, 3, 2, 2, -4];
    const shown = (given: z.Tensor | readonly z.Tensor[]) => [given].flat().map((t) => (t as z.Tensor).tolist());
    for (const call of MORE) {
      const there = shown(call(z.tensor(data, { device: "cuda" })));
      const here = shown(call(z.tensor(data)));
      for (const [i, value] of there.flat(9).entries()) expect(value).toBeCloseTo(here.flat(9)[i] as never, 5);
    }
  });

  // Each of the tests above compares the values of what it launches.
  test("every kernel that the schema names for CUDA was compared, and no other is there", () => {
    const { launched, lacking } = watched;
    expect([...lacking].filter((path) => named.has(path))).toEqual([]);
    expect([...launched].filter((path) => !named.has(path)).sort()).toEqual([]);
    expect([...named].filter((path) => !launched.has(path) && !DRAWING.includes(path)).sort()).toEqual([]);
  });
});
