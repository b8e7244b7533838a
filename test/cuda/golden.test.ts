// Golden cases, forward and backward, and torch's answers to random programs, on a device: emulated by the stand-in.
// What was launched and what was refused is compared with the kernels that the schema names for CUDA.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadModel } from "../../codegen/model/load.ts";
import { backends } from "../../src/dispatch/backend.ts";
import * as z from "../../src/index.ts";
import { toDevice } from "../../src/tensor/device.ts";
import { OnDevice } from "../conformance/on-device.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

/** Kernels that were launched, and those that the device does not have. */
const launched = new Set<string>();
const lacking = new Set<string>();

/** Calls of kernels that no case reaches: of an operator's less common arguments. */
const MORE: readonly ((x: z.Tensor) => unknown)[] = [
  (x) => x.ldexp(x.to("int64")),
  (x) => x.clamp(1, 2),
  (x) => [x.cummax(0), x.cummin(0), x.logcumsumexp(0)],
  // Draws of a device differ from the CPU's; test/cuda/random.test.ts looks at their values.
  (x) => [x.random_(), x.random_(0, 5), x.to("int64").random_(-(2n ** 63n), null)],
  (x) => [x.uniform_(), x.normal_(), x.cauchy_(), x.exponential_(), x.geometric_(0.5), x.logNormal_()],
  (x) => [
    x.bernoulli_(0.5),
    x.bernoulli(),
    ...[true, false].map((again) => x.abs().add(1).multinomial(2, again)),
    z.randperm(9, { device: "cuda" }),
  ],
  ...[0, 1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((p) => (x: z.Tensor) => x.norm(p)),
];

/** Programs with an integer division by zero, an error on the CPU alone, or sections on a device. */
const DRAWN = [81, 144, 149, 311, 390, 414, 453, 606, 802, 873, 977, 1085, 1181, 1281, 1377, 1475];
const OTHERWISE_DRAWN = DRAWN.map((n) => `oracle/${3_000_000 + n}`);

/** The CPU's generator, which is asked by itself and never for a device. */
const GENERATOR = ["random.get_state", "random.initial_seed", "random.seed", "random.set_state"];

describe.if(available)("golden cases on a device", () => {
  const named = new Set(loadModel().ops.flatMap((op) => op.kernels?.cuda ?? []));
  let restore = (): void => undefined;

  beforeAll(() => {
    toDevice("cuda");
    const cuda = backends.cuda as NonNullable<(typeof backends)["cuda"]>;
    const { launch } = cuda;
    restore = () => void (cuda.launch = launch);
    cuda.launch = (kernel, device) => {
      try {
        const status = launch(kernel, device);
        launched.add(kernel.path);
        return status;
      } catch (error) {
        if ((error as { code?: string }).code === "cuda_no_kernel") lacking.add(kernel.path);
        throw error;
      }
    };
  });
  afterAll(() => restore());

  test.each([
    ["cases-small", 720, ["promo/fmod/i8_bool_d0"]],
    ["cases-oracle", 700, OTHERWISE_DRAWN],
  ] as const)(
    "%s: what they give on the CPU",
    async (name, least, others) => {
      const run = await OnDevice.load(join(import.meta.dir, "../fixtures", name));
      const { passed, wrong, otherwise, lacking: missing } = run.all();
      expect([wrong, missing]).toEqual([[], {}]);
      expect(otherwise).toEqual([...others]);
      expect(passed).toBeGreaterThan(least);
    },
    120_000,
  );

  test("every kernel that the schema names for CUDA is there, and no other", () => {
    for (const call of MORE) call(z.ones(3, { device: "cuda" }));
    expect([...lacking].filter((path) => named.has(path))).toEqual([]);
    expect([...launched].filter((path) => !named.has(path)).sort()).toEqual([]);
    expect([...named].filter((path) => !launched.has(path)).sort()).toEqual(GENERATOR);
  });
});
