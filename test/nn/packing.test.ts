// Packed sequences: each goes through a recurrent module as it does alone, whatever the others are.
import { describe, expect, test } from "bun:test";
import { autograd, manualSeed, nn, ones, randn, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { rounds } from "../campaign.ts";

const { rnn } = nn.utils;
type Recurrent = nn.RNN | nn.LSTM | nn.GRU;
// biome-ignore lint/suspicious/noExplicitAny: states are one tensor or two
type Any = any;

function drawn(draw: () => number): { module: Recurrent; lengths: number[] } {
  const pick = (n: number) => Math.floor(draw() * n);
  const options = {
    numLayers: 1 + pick(2),
    bidirectional: pick(2) === 1,
    bias: pick(3) > 0,
    dtype: "float64" as const,
  };
  const kind = ["RNN", "GRU", "LSTM"][pick(3)] as "RNN" | "GRU" | "LSTM";
  const more =
    kind === "LSTM" && pick(2) === 1 ? { projSize: 2 } : kind === "RNN" ? { nonlinearity: "relu" as const } : {};
  const module = new (nn[kind] as Any)(3, 4, { ...options, ...more }) as Recurrent;
  return { module, lengths: Array.from({ length: 1 + pick(5) }, () => 1 + pick(6)) };
}

/** A generator of numbers from a seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const close = (got: Tensor, want: Tensor) => expect(got.sub(want).abs().max().item()).toBeLessThan(1e-12);
const listOf = (last: Any): Tensor[] => (Array.isArray(last) ? last : [last]);

test("a sequence comes out as it does alone, with its gradients", () => {
  for (let seed = 0; seed < rounds(60, 600); seed++) {
    const { module, lengths } = drawn(numbers(seed));
    manualSeed(seed);
    const sequences = lengths.map((n) => randn(n, 3, { dtype: "float64", requiresGrad: true }));
    const packed = rnn.packSequence(sequences, { enforceSorted: false });
    const [output, last] = (module as Any)(packed) as [Any, Any];
    const alone = sequences.map((one) => (module as Any)(one) as [Tensor, Any]);
    const unpacked = rnn.unpackSequence(output);
    for (const [b, [want, ends]] of alone.entries()) {
      close(unpacked[b] as Tensor, want);
      for (const [k, end] of listOf(ends).entries()) close(listOf(last)[k]?.select(1, b) as Tensor, end);
    }
    const params = [...sequences, ...module.parameters()];
    const total = (tensors: Tensor[]) => tensors.map((t) => t.square().sum()).reduce((a, b) => a.add(b));
    const together = autograd.grad(total([output.data, ...listOf(last)]), params) as Tensor[];
    const apart = autograd.grad(total(alone.flatMap(([out, ends]) => [out, ...listOf(ends)])), params) as Tensor[];
    for (const [k, g] of together.entries()) close(g, apart[k] as Tensor);
  }
});

describe("padding and packing are each other's inverse", () => {
  test("for any lengths", () => {
    const draw = numbers(11);
    for (let i = 0; i < 60; i++) {
      const lengths = Array.from({ length: 1 + Math.floor(draw() * 5) }, () => 1 + Math.floor(draw() * 6));
      const batchFirst = draw() < 0.5;
      const sequences = lengths.map((n) => randn(n, 2));
      const padded = rnn.padSequence(sequences, { batchFirst, paddingValue: 7 });
      const packed = rnn.packPaddedSequence(padded, lengths, { batchFirst, enforceSorted: false });
      const [again, found] = rnn.padPackedSequence(packed, { batchFirst, paddingValue: 7 });
      expect(found.tolist().map(Number)).toEqual(lengths);
      expect(again.equal(padded)).toBe(true);
      const kept = tensor(lengths, { dtype: "int64" });
      for (const parts of [rnn.unpackSequence(packed), rnn.unpadSequence(padded, kept, { batchFirst })]) {
        expect(parts.every((one, b) => one.equal(sequences[b] as Tensor))).toBe(true);
      }
    }
  });
  test("with gradients", () => {
    const x = randn(4, 3, 2, { dtype: "float64", requiresGrad: true });
    const packed = rnn.packPaddedSequence(x, [2, 4, 1], { enforceSorted: false });
    const [padded] = rnn.padPackedSequence(packed);
    padded.mul(3).sum().backward();
    const [want] = rnn.padPackedSequence(rnn.packPaddedSequence(ones(4, 3, 2), [2, 4, 1], { enforceSorted: false }));
    expect(x.grad?.tolist()).toEqual(want.mul(3).tolist());
  });
  test("what is unpadded shares nothing, and the batch stays as it is", () => {
    const batch = ones(3, 2);
    const [first] = rnn.unpadSequence(batch, tensor([2, 3], { dtype: "int64" }));
    first?.fill_(5);
    expect([batch.shape, batch.sum().item()]).toEqual([[3, 2] as Any, 6]);
  });
});

test("second derivatives go through a packed layer", () => {
  const lstm = new nn.LSTM(2, 3, { dtype: "float64" });
  const x = randn(5, 2, { dtype: "float64", requiresGrad: true });
  const run = (data: Tensor) => {
    const packed = new rnn.PackedSequence(data, tensor([3, 1, 1], { dtype: "int64" }));
    return lstm(packed)[0].data.square().sum();
  };
  const [g] = autograd.grad(run(x), [x], { createGraph: true }) as [Tensor];
  const direction = randn(5, 2, { dtype: "float64" });
  const [h] = autograd.grad(g.mul(direction).sum(), [x]) as [Tensor];
  const step = 1e-5;
  const gradAt = (at: Tensor) => {
    const leaf = at.detach().requiresGrad_();
    return (autograd.grad(run(leaf), [leaf]) as [Tensor])[0];
  };
  const numeric = gradAt(x.add(direction.mul(step)))
    .sub(gradAt(x.sub(direction.mul(step))))
    .div(2 * step);
  expect(h.sub(numeric).abs().max().item()).toBeLessThan(1e-6);
});

describe("PackedSequence", () => {
  const packed = rnn.packSequence([tensor([1, 2]), tensor([3, 4, 5])], { enforceSorted: false });
  test("is a tuple, and prints as PyTorch's", () => {
    const [data, batchSizes, sorted, unsorted] = packed;
    expect([data, batchSizes, sorted, unsorted].map(String)).toEqual(
      ["data", "batchSizes", "sortedIndices", "unsortedIndices"].map((key) => String((packed as Any)[key])),
    );
    expect(String(packed)).toBe(
      "PackedSequence(data=tensor([3., 1., 4., 2., 5.]), batch_sizes=tensor([2, 2, 1]), " +
        "sorted_indices=tensor([1, 0]), unsorted_indices=tensor([1, 0]))",
    );
  });
  test("is converted where its data is", () => {
    expect(packed.to("float32")).toBe(packed);
    expect(packed.cpu()).toBe(packed);
    const names = "double float half long int short char byte".split(" ") as "double"[];
    expect(names.map((name) => String(packed[name]().data.dtype))).toEqual(
      "float64 float32 float16 int64 int32 int16 int8 uint8".split(" ").map((name) => `torch.${name}`),
    );
    expect(packed.double().sortedIndices?.tolist().map(Number)).toEqual([1, 0]);
    expect(packed.to({ device: "meta" }).unsortedIndices?.device.type).toBe("meta");
    expect([packed.isCuda, packed.isPinned()]).toEqual([false, false]);
  });
  test("of a scope outlives it when it is given", () => {
    const lstm = new nn.LSTM(1, 2);
    const kept = rnn.packSequence([ones(3, 1), ones(2, 1)]);
    const [out, [hn]] = scope(() => lstm(kept));
    expect([out.data.shape, hn.shape]).toEqual([[5, 2] as Any, [1, 2, 2] as Any]);
  });
  test("does not take batch sizes that do not fit", () => {
    const gru = new nn.GRU(2, 3);
    const make = (sizes: number[], dtype: "int64" | "int32" = "int64", data = ones(6, 2)) =>
      new rnn.PackedSequence(data, tensor(sizes, { dtype }));
    const refused: readonly [() => unknown, string][] = [
      [() => gru(make([4, 3])), "start (4) + length (3) exceeds dimension size (6)."],
      [() => gru(make([1, 2, 3])), "output with shape [1, 3] doesn't match the broadcast shape [2, 3]"],
      [() => gru(make([])), "index 0 is out of bounds for dimension 0 with size 0"],
      [() => gru(make([3], "int32")), "expected scalar type Long but found Int"],
      [() => gru(make([3, 2], "int64", ones(6))), "input must have 2 dimensions, got 1"],
      [() => gru(make([3, 2], "int64", ones(6, 3))), "input.size(-1) must be equal to input_size. Expected 2, got 3"],
      [() => gru(make([3, 2]), zeros(1, 2, 3)), "Expected hidden size (1, 3, 3), got [1, 2, 3]"],
      [
        () => gru(make([3, 2]), zeros(1, 3, 3).double()),
        "mat1 and mat2 must have the same dtype, but got Double and Float",
      ],
    ];
    for (const [call, text] of refused) expect(call).toThrow(text);
  });
  test("may have more data than its batch sizes say", () => {
    const gru = new nn.GRU(2, 3);
    const sizes = tensor([2, 1], { dtype: "int64" });
    const x = randn(5, 2);
    const [got] = gru(new rnn.PackedSequence(x, sizes));
    expect(got.data.equal(gru(new rnn.PackedSequence(x.narrow(0, 0, 3), sizes))[0].data)).toBe(true);
  });
});

test("a hidden state of another dtype is refused by all recurrent modules, not read as one of theirs", () => {
  const text = "mat1 and mat2 must have the same dtype, but got Float and Double";
  for (const name of ["RNN", "GRU", "LSTM"] as const) {
    const pair = (t: Tensor): Any => (name === "LSTM" ? [t, t] : t);
    const layer = new nn[name](2, 3).double() as Any;
    const cell = new (nn as Any)[`${name}Cell`](2, 3).double();
    expect(() => layer(ones(4, 1, 2).double(), pair(zeros(1, 1, 3)))).toThrow(text);
    expect(() => cell(ones(1, 2).double(), pair(zeros(1, 3)))).toThrow(text);
  }
  const lstm = new nn.LSTM(2, 3).double();
  expect(() => lstm(ones(4, 1, 2).double(), [zeros(1, 1, 3).double(), zeros(1, 1, 3)])).toThrow(text);
});
