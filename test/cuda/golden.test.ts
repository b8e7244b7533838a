// Golden cases, forward and backward, and torch's answers to random programs, on a device: emulated by the stand-in.
// What was launched and what was refused is compared with the kernels that the schema names for CUDA.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadModel } from "../../codegen/model/load.ts";
import { buildStandin } from "../../scripts/standin.ts";
import { backends } from "../../src/dispatch/backend.ts";
import * as z from "../../src/index.ts";
import { toDevice } from "../../src/tensor/device.ts";
import { OnDevice } from "../conformance/on-device.ts";
import { available } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = buildStandin();

/** Kernels that were launched, and those that the device does not have. */
const launched = new Set<string>();
const lacking = new Set<string>();

/** Calls of kernels that no case reaches. */
const MORE: readonly ((x: z.Tensor) => unknown)[] = [
  (x) => x.ldexp(x.to("int64")),
  (x) => x.clamp(1, 2),
  (x) => [Infinity, -Infinity, 0, 1].map((p) => z.linalg.vectorNorm(x, p)),
  (x) => [x.cummax(0), x.cummin(0), x.logcumsumexp(0)],
  // What is drawn is the device's own: no case tells it.
  (x) => [x.uniform_(), x.normal_(), x.logNormal_(), x.exponential_(), x.cauchy_(), x.geometric_(0.5)],
  (x) => [x.bernoulli_(0.5), z.bernoulli(x), x.random_(), x.random_(0, 5), x.to("int64").random_(-(2n ** 63n), null)],
  (x) => [z.randperm(5, { device: x.device }), z.multinomial(x.fill_(1), 2), z.multinomial(x, 2, true)],
];

/** What a device's generator is asked is answered by the host. */
const ON_HOST = new Set(["get_state", "initial_seed", "seed", "set_state"].map((name) => `random.${name}`));

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
    ["cases-small", 640],
    ["cases-oracle", 700],
  ])(
    "%s: what they give on the CPU, or the kernel that is missing",
    async (name, least) => {
      const run = await OnDevice.load(join(import.meta.dir, "../fixtures", name));
      const { passed, wrong } = run.all();
      expect(wrong).toEqual([]);
      expect(passed).toBeGreaterThan(least);
    },
    120_000,
  );

  test("every kernel that the schema names for CUDA is there, and no other", () => {
    for (const call of MORE) call(z.ones(3, { device: "cuda" }));
    expect([...lacking].filter((path) => named.has(path))).toEqual([]);
    expect([...launched].filter((path) => !named.has(path)).sort()).toEqual([]);
    expect([...named].filter((path) => !launched.has(path) && !ON_HOST.has(path)).sort()).toEqual([]);
  });
});
