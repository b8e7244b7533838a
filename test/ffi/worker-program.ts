// What each Worker of workers.test.ts does: operators, gradients and random numbers of its own.
import * as z from "../../src/index.ts";

declare const self: { postMessage(value: unknown): void };

z.manualSeed(0);
let gradients = 0;
for (let i = 0; i < 100; i++) {
  const a = z.randn(100, 100);
  a.matmul(a).add(1).sum();
  const x = z.ones(10, { requiresGrad: true });
  x.mul(2).sum().backward();
  gradients += (x.grad as z.Tensor).sum().item() as number;
}
z.setDefaultDtype("float64");
z.manualSeed(0);
const first = z.rand(2, { dtype: "float32" }).tolist();
self.postMessage({ gradients, first, dtype: String(z.zeros(1).dtype), grad: z.isGradEnabled() });
