// Every Worker has its own modes, generator and frames; the thread pool is shared.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { getDefaultDtype, isGradEnabled, noGrad, rand, randn } from "../../src/index.ts";

function workerResult(): Promise<unknown> {
  const worker = new Worker(join(import.meta.dir, "worker-program.ts"));
  return new Promise((resolve, reject) => {
    worker.onmessage = (event) => {
      resolve(event.data);
      worker.terminate();
    };
    worker.onerror = (event) => reject(new Error(event.message));
  });
}

test("Workers compute side by side with states of their own", async () => {
  using _ = noGrad();
  const results = Promise.all([workerResult(), workerResult(), workerResult()]);
  for (let i = 0; i < 20; i++) {
    randn(200, 200).matmul(rand(200, 200));
    await Bun.sleep(1);
  }
  for (const result of await results) {
    expect(result).toEqual({
      gradients: 2000,
      first: [0.49625658988952637, 0.7682217955589294],
      dtype: "torch.float64",
      grad: true,
    });
  }
  expect(isGradEnabled()).toBe(false);
  expect(String(getDefaultDtype())).toBe("torch.float32");
}, 60_000);
