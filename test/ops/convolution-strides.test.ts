// Dimensions of one element, whose strides say nothing, in every layout that may reach a convolution.
import { expect, test } from "bun:test";
import { autograd, channelsLast, nn, rand, type Tensor } from "../../src/index.ts";
import { generatorOf } from "../oracle/draw.ts";

const F = nn.functional;

/** The same elements, with other strides at dimensions of one element. */
function odd(t: Tensor, random: () => number): Tensor {
  const strides = t.stride() as number[];
  const other = [...t.shape].map((n, d) => (n === 1 ? 1 + Math.floor(random() * 50) : (strides[d] as number)));
  return t.asStrided([...t.shape], other);
}

test("results and gradients do not depend on strides of single elements", () => {
  const random = generatorOf(3);
  const pick = (list: readonly number[]): number => list[Math.floor(random() * list.length)] as number;
  for (let i = 0; i < 150; i++) {
    const dims = pick([1, 2, 2, 3]);
    const [batch, inner, outer] = [pick([1, 2]), pick([1, 2, 3]), pick([1, 2])];
    const sizes = Array.from({ length: dims }, () => pick([1, 1, 3, 4]));
    const kernel = sizes.map((n) => pick(n === 1 ? [1] : [1, 2]));
    const transposed = random() < 0.4;
    const name = `conv${transposed ? "Transpose" : ""}${dims}d` as "conv2d";
    let x = rand(batch, inner, ...sizes, { dtype: "float64" });
    if (dims === 2 && random() < 0.5) x = x.contiguous({ memoryFormat: channelsLast });
    const w = rand(...(transposed ? [inner, outer] : [outer, inner]), ...kernel, { dtype: "float64" });
    const run = (a: Tensor, b: Tensor): Tensor[] => {
      const [p, q] = [a.detach().requiresGrad_(), b.detach().requiresGrad_()];
      const y = F[name](p, q);
      const g = y.detach().cos();
      return [y, ...autograd.grad([y], [p, q], { gradOutputs: [odd(g, random)] })] as Tensor[];
    };
    const wanted = run(x.contiguous(), w);
    const found = run(odd(x, random), odd(w, random));
    for (const [k, t] of found.entries()) {
      const apart = t.sub(wanted[k] as Tensor).abs();
      expect([name, sizes, kernel, k, (apart.max().item() as number) < 1e-12]).toEqual([name, sizes, kernel, k, true]);
    }
  }
});
