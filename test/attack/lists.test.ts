// Lists and options that change while they are read: every element counts as it was read the one time.
import { expect, test } from "bun:test";
import { arange, autograd, cat, ones, sort, stack, type Tensor, tensor, zeros } from "../../src/index.ts";

/** A list whose first element is computed; the others tell how often it was read. */
function computed<T>(list: T[], values: readonly T[]): { list: T[]; reads: () => number } {
  let reads = 0;
  Object.defineProperty(list, 0, { enumerable: true, get: () => values[Math.min(reads++, values.length - 1)] });
  return { list, reads: () => reads };
}

test("tensors that are joined", () => {
  for (const join of [cat, stack]) {
    const { list, reads } = computed([ones(3), ones(3)], [ones(3), ones(1_000_000), 5 as never]);
    expect(join(list).numel()).toBe(6);
    expect(reads()).toBe(1);
  }
});

test("results", () => {
  const out = computed([zeros(3), zeros(3, { dtype: "int64" })], [zeros(3), ones(1), null as never]);
  const [values] = sort(tensor([3, 1, 2]), { out: out.list as never }) as unknown as [Tensor];
  expect(values.tolist()).toEqual([1, 2, 3]);
  expect(out.reads()).toBe(1);
});

test("sizes, dimensions, indices and gradients", () => {
  const sizes = computed([2, 3], [2, 1e9]);
  expect([...ones(6).view(sizes.list as never).shape]).toEqual([2, 3]);
  expect(sizes.reads()).toBe(1);
  const dims = computed([1, 0], [1, 7]);
  expect([...ones(2, 3).permute(dims.list as never).shape]).toEqual([3, 2]);
  const x = ones(2, { requiresGrad: true });
  const inputs = computed([x], [x, ones(3)]);
  expect(autograd.grad(x.mul(3).sum(), inputs.list)[0]?.tolist()).toEqual([3, 3]);
});

test("a list that grows while it is read has no more elements than it had", () => {
  const row: number[] = [0, 1];
  Object.defineProperty(row, 0, { enumerable: true, get: () => row.push(1, 1, 1, 1, 1, 1, 1, 1) && 0 });
  expect(() => arange(4).at([row, [2, 3]])).toThrow();
  const data: number[] = [0, 1];
  Object.defineProperty(data, 0, { enumerable: true, get: () => data.push(9, 9, 9) && 4 });
  expect(tensor(data).tolist()).toEqual([4, 1]);
});

test("data that makes tensors while it is read", () => {
  const data = [0, 1, 2];
  Object.defineProperty(data, 2, { enumerable: true, get: () => tensor([7, 7, 7]).numel() - 1 });
  expect(tensor(data).tolist()).toEqual([0, 1, 2]);
});

test("an option that resizes what the call uses", () => {
  const x = ones(1000);
  const options = {
    get alpha(): number {
      x.untypedStorage().resize_(0);
      return 2;
    },
  };
  expect(() => x.add(ones(1000), options)).toThrow("its data is not allocated yet");
});
