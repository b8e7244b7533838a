// Numbers of windows that no image has, and words that are properties of every object: refused, never computed.
import { expect, test } from "bun:test";
import { cdist, nn, ones, rand, scope, type Tensor, tensor } from "../../src/index.ts";
import { scopeState } from "../../src/tensor/scope-state.ts";
import { generatorOf } from "../oracle/draw.ts";

const F = nn.functional;
const refused = (run: () => unknown): string => {
  try {
    run();
  } catch (e) {
    return (e as { code?: string }).code === undefined ? `without a code: ${e}` : "refused";
  }
  return "computed";
};

test("strides, paddings and dilations whose products wrap", () => {
  const [x, w] = [rand(1, 2, 6, 6), rand(1, 2, 2, 2)];
  const [half, most] = [2 ** 30, 2 ** 31 - 1];
  expect(refused(() => F.conv2d(x, w, null, 2 ** 31, [half, half / 2], [most, half - 1]))).toBe("refused");
  expect(refused(() => F.conv2d(x, w, null, most, [half, half / 2], [most, half - 1]))).toBe("refused");
  expect(refused(() => F.conv2d(x, w, null, 2 ** 40, 2 ** 31, 2 ** 32 - 1))).toBe("refused");
  expect(refused(() => F.conv2d(x, rand(2, 1, 2, 2), null, 1, half, most, 2))).toBe("refused");
  for (const m of [most, 2 ** 61, 2 ** 62]) {
    expect(refused(() => F.conv1d(rand(1, 2, 6), rand(1, 2, 2), null, m, m, m))).toBe("refused");
  }
  expect(refused(() => F.convTranspose1d(rand(1, 2, 6), rand(2, 1, 2), null, 1, half, 0, 1, most))).toBe("refused");
  const y = x.clone().requiresGrad_();
  expect(
    refused(() =>
      F.conv2d(y, w, null, 2 ** 20, 2 ** 20, 2 ** 20)
        .sum()
        .backward(),
    ),
  ).toBe("refused");
});

test("random numbers of convolutions and pooling, up to the largest, never end the process", () => {
  const random = generatorOf(7);
  const pick = (): number =>
    [0, 1, 2, 3, 2 ** 29, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 53, -1][Math.floor(random() * 10)] as number;
  const outcomes = new Set<string>();
  for (let i = 0; i < 150; i++) {
    const [s, p, d, k] = [pick(), pick(), pick(), pick()];
    outcomes.add(refused(() => F.conv2d(rand(1, 2, 5, 5), rand(2, 2, 2, 2), null, s, p, d)));
    outcomes.add(refused(() => F.maxPool2d(rand(1, 1, 5, 5), k, s, p, d, random() < 0.5)));
    outcomes.add(refused(() => F.avgPool2d(ones(1, 1, 5, 5, { dtype: "int64" }), k, s, p, random() < 0.5)));
  }
  expect([...outcomes].sort()).toEqual(["computed", "refused"]);
});

test("places of windows that are padding alone are PyTorch's", () => {
  const options = { stride: [2 ** 30, 1], padding: [1, 0], dilation: [2 ** 29, 1], ceilMode: true };
  const [, indices] = F.maxPool2d(rand(1, 1, 4, 8), [2, 2], { ...options, returnIndices: true }) as unknown as Tensor[];
  expect(Math.min(...((indices as Tensor).flatten().tolist() as number[]))).toBe(2 ** 32 - 8);
});

test("words that every object has are no reductions", () => {
  for (const word of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    const reduction = word as "mean";
    const [a, b] = [rand(2), rand(2)];
    for (const run of [
      () => F.l1Loss(a, b, { reduction }),
      () => F.mseLoss(a, b, { reduction }),
      () => F.klDiv(a, b, { reduction }),
      () => F.gaussianNllLoss(a, b, ones(2), { reduction }),
      () => F.crossEntropy(rand(2, 2), [0, 1], { reduction }),
      () => F.hingeEmbeddingLoss(a, b, { reduction }),
      () => a.indexReduce(0, [0], rand(1), word as "prod"),
      () => a.scatterReduce(0, [0], rand(1), word as "prod"),
      () => a.scatter(0, [0], rand(1), { reduce: word as "add" }),
      () => cdist(rand(2, 2), rand(2, 2), { computeMode: word as "use_mm_for_euclid_dist" }),
    ]) {
      expect([word, run.toString(), refused(run)]).toEqual([word, run.toString(), "refused"]);
    }
  }
});

test("what is called outside of a scope is held by nobody, whatever it makes inside", () => {
  const q = rand(2, 3, 8);
  for (let i = 0; i < 5; i++) new nn.MultiheadAttention(8, 2)(q, q, q);
  new nn.GRUCell(8, 4)(rand(2, 8));
  expect(scopeState.called.size).toBe(0);
  scope(() => {
    new nn.MultiheadAttention(8, 2)(q, q, q);
    expect(scopeState.called.size).toBeGreaterThan(0);
  });
  expect(scopeState.called.size).toBe(0);
});

test("a short tail of a storage is not read over by windows side by side", () => {
  const random = generatorOf(11);
  for (let i = 0; i < 200; i++) {
    const [h, w] = [1 + Math.floor(random() * 9), 1 + Math.floor(random() * 40)];
    const flat = rand(h * w);
    const x = flat.view(1, 1, h, w);
    const kernel = [1 + Math.floor(random() * Math.min(h, 3)), 1 + Math.floor(random() * Math.min(w, 4))];
    const stride = [1, 1 + Math.floor(random() * 2)];
    const values = x.flatten(1).tolist()[0] as number[];
    const wide = Math.floor((w - (kernel[1] as number)) / (stride[1] as number)) + 1;
    const expected: number[] = [];
    for (let r = 0; r + (kernel[0] as number) <= h; r++) {
      for (let c = 0; c < wide; c++) {
        let best = -1;
        for (let a = 0; a < (kernel[0] as number); a++) {
          for (let b = 0; b < (kernel[1] as number); b++) {
            best = Math.max(best, values[(r + a) * w + c * (stride[1] as number) + b] as number);
          }
        }
        expected.push(best);
      }
    }
    const found = F.maxPool2d(x, kernel, stride);
    expect(found.flatten().equal(tensor(expected))).toBe(true);
  }
});
