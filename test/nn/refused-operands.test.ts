// Hidden states, weights, masks, lengths and offsets that do not fit are refused in words, by no kernel.
import { describe, expect, test } from "bun:test";
import { nn, ones, randn, type Tensor, tensor, zeros } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: wrong values
type Any = any;

const { rnn } = nn.utils;
const F = nn.functional;
const OWN = /^(TypeError|RuntimeError|ValueError|IndexError|AssertionError|AttributeError)$/;

/** Errors of this library have a code; those of the language say where the library went wrong. */
function refusal(call: () => unknown): string {
  try {
    call();
  } catch (thrown) {
    const error = thrown as Any;
    expect([error.name, error.code, error.message]).toEqual([
      expect.stringMatching(OWN),
      expect.any(String),
      expect.not.stringMatching(/is not a function|is not an object|undefined|native call/),
    ]);
    return error.message;
  }
  throw new Error("not refused");
}

const packed = () => rnn.packSequence([ones(3, 2), ones(2, 2)]);
const inputs = (name: string): Any[] =>
  name.endsWith("Cell") ? [ones(1, 2), ones(2)] : [ones(4, 1, 2), ones(4, 2), packed()];
const make = (name: string): Any => new (nn as Any)[name](2, 3);

describe.each(["LSTM", "LSTMCell"])("%s takes two hidden states", (name) => {
  const h = () => (name === "LSTM" ? zeros(1, 1, 3) : zeros(1, 3));
  test("and nothing else", () => {
    const wrong = () => [h(), [h()], [h(), null], [null, h()], [], 3, "x", [h(), h(), h()], [h(), 3], [3, "x"], true];
    for (const at of inputs(name).keys()) {
      for (const hx of wrong()) refusal(() => make(name)(inputs(name)[at], hx));
    }
    const of = name === "LSTM" ? "lstm" : "lstm_cell";
    const call = (hx: unknown) => refusal(() => make(name)(inputs(name)[0], hx));
    expect(call(h())).toBe(`${of}(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor`);
    expect(call([h()])).toBe(`${of} expects two hidden states`);
    expect(call([h(), null])).toBe("expected Tensor as element 1 in argument 2, but got NoneType");
  });
});

test("a hidden state is a Tensor", () => {
  for (const name of ["RNN", "GRU", "RNNCell", "GRUCell"]) {
    for (const at of inputs(name).keys()) {
      for (const hx of [[zeros(1, 1, 3)], [], 3, "x", true, zeros(0), zeros(7), zeros(1, 1, 1, 3)]) {
        refusal(() => make(name)(inputs(name)[at], hx));
      }
    }
  }
});

test("weights of another shape are refused, whatever the kind", () => {
  for (const name of ["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"]) {
    const suffix = name.endsWith("Cell") ? "" : "_l0";
    for (const key of ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]) {
      for (const sizes of [[5], [5, 7], [12, 5], [3, 3, 3], [0], [13]]) {
        for (const at of inputs(name).keys()) {
          const module = make(name);
          module[key + suffix] = new nn.Parameter(ones(sizes));
          expect(refusal(() => module(inputs(name)[at]))).toContain(at === 2 ? "" : key);
        }
      }
    }
    for (const key of ["weight_ih", "weight_hh"]) {
      const module = make(name);
      module[key + suffix] = null;
      for (const x of inputs(name)) refusal(() => module(x));
    }
  }
  const lstm = new nn.LSTM(2, 3, { projSize: 2 });
  lstm.registerParameter("weight_hr_l0", new nn.Parameter(ones(3, 3)));
  expect(refusal(() => lstm(ones(4, 1, 2)))).toBe("weight_hr has to have the shape [2, 3], but has [3, 3]");
});

test("a packed sequence is of tensors", () => {
  const sizes = tensor([1], { dtype: "int64" });
  for (const parts of [[[null, null]], [[ones(1, 2), null]], [[3, sizes]], [3, sizes], [null, sizes], ["x", sizes]]) {
    refusal(() => make("GRU")(new (rnn.PackedSequence as Any)(...parts)));
    refusal(() => rnn.padPackedSequence(new (rnn.PackedSequence as Any)(...parts)));
  }
});

test("lengths are not far beyond the steps", () => {
  for (const length of [25, 1e6, 2 ** 28, 2 ** 40, 2 ** 52]) {
    for (const batchFirst of [false, true]) {
      for (const enforceSorted of [false, true]) {
        const x = batchFirst ? ones(2, 4, 3) : ones(4, 2, 3);
        const lengths = [length, 2];
        expect(refusal(() => rnn.packPaddedSequence(x, lengths, { batchFirst, enforceSorted }))).toContain(
          "Expected all lengths to be at most the number of steps, 4, but got ",
        );
      }
    }
  }
  expect(rnn.packPaddedSequence(ones(4, 2, 3), [4, 2]).data.shape as Any).toEqual([6, 3]);
});

describe("attention", () => {
  test("takes keys for as many examples as there are queries", () => {
    const apart = { kdim: 3, vdim: 5 };
    for (const needWeights of [true, false]) {
      for (const [n, m] of [
        [1, 2],
        [2, 1],
        [2, 4],
        [4, 2],
        [3, 2],
      ] as const) {
        const text = `shape '[5, ${2 * n}, 2]' is invalid for input of size ${20 * m}`;
        const key = ones(5, m, 4);
        const attention = new nn.MultiheadAttention(4, 2);
        expect(refusal(() => attention(ones(3, n, 4), key, key, { needWeights }))).toBe(text);
        const other = new nn.MultiheadAttention(4, 2, apart);
        expect(refusal(() => other(ones(3, n, 4), ones(5, m, 3), ones(5, m, 5), { needWeights }))).toBe(text);
        const first = new nn.MultiheadAttention(4, 2, { batchFirst: true });
        const turned = key.transpose(0, 1);
        expect(refusal(() => first(ones(n, 3, 4), turned, turned, { needWeights }))).toBe(text);
      }
    }
  });
  test("takes masks of its operands' dtype", () => {
    const x = ones(3, 2, 4);
    const attention = new nn.MultiheadAttention(4, 2);
    for (const [dtype, name] of [
      ["float16", "c10::Half"],
      ["float64", "double"],
      ["bfloat16", "c10::BFloat16"],
    ] as const) {
      const attnMask = zeros(3, 3, { dtype });
      const keyPaddingMask = zeros(2, 3, { dtype });
      for (const masks of [{ attnMask }, { keyPaddingMask }, { attnMask, keyPaddingMask }]) {
        expect(refusal(() => attention(x, x, x, masks))).toBe(
          `Input dtypes must be the same, got: input ${name}, batch1: float, batch2: float`,
        );
        refusal(() => attention(x, x, x, { ...masks, needWeights: false }));
      }
    }
    const [out] = attention(x, x, x, { attnMask: zeros(3, 3) });
    expect(out.shape as Any).toEqual([3, 2, 4]);
  });
});

describe("embeddingBag", () => {
  const weight = () => randn(4, 3);
  const indices = (...values: number[]) => tensor(values, { dtype: "int64" });
  test("takes offsets that do not decrease", () => {
    for (const mode of ["sum", "mean", "max"]) {
      for (const includeLastOffset of [false, true]) {
        for (const offsets of [
          [0, -5],
          [0, 3, 1],
          [0, 2, 1],
          [0, 2, -1, 3],
          [0, 3, 1, 3],
          [0, 2 ** 40, 3],
        ]) {
          const call = () =>
            F.embeddingBag(indices(0, 1, 2), weight(), indices(...offsets), { mode, includeLastOffset } as Any);
          expect(refusal(call)).toContain("offsets can not decrease, but offsets[");
        }
      }
    }
  });
  test("names the first row that there is not", () => {
    const call = (mode: string) => () => F.embeddingBag(indices(1, 9, -2), weight(), indices(0), { mode } as Any);
    const rows = weight().shape[0];
    expect(refusal(call("sum"))).toBe(`Index 1 of input takes value 9 which is not in the valid range [0, ${rows})`);
    expect(refusal(call("max"))).toContain("Expected idx >= 0 && idx < num_embeddings but found idx to be 9");
  });
  test("has no bags without offsets", () => {
    for (const mode of ["sum", "mean", "max"]) {
      const bags = (input: Tensor, offsets: Tensor, includeLastOffset = false) =>
        F.embeddingBag(input, weight(), offsets, { mode, includeLastOffset } as Any).shape as Any;
      for (const input of [indices(), indices(0, 1)]) {
        expect(bags(input, indices())).toEqual([0, 3]);
        expect(bags(input, indices(0), true)).toEqual([0, 3]);
        expect(refusal(() => bags(input, indices(), true))).toContain("number of offset should be at least 1");
      }
      expect(bags(indices(), indices(0, 0))).toEqual([2, 3]);
    }
    const table = weight().requiresGrad_();
    F.embeddingBag(indices(), table, indices()).sum().backward();
    expect(table.grad?.abs().sum().item()).toBe(0);
  });
});

test("a group of complex numbers has no gradient, not even of no elements", () => {
  const weight = ones(4, { dtype: "complex64", requiresGrad: true });
  const none = zeros(0, 4, 1, { dtype: "complex64" });
  expect(F.groupNorm(none, 1, weight.detach()).shape).toEqual(none.shape);
  expect(() => F.groupNorm(none, 1, weight)).toThrow("native_group_norm does not support automatic differentiation");
});
