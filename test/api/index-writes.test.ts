// What torch does with numbers under indices, with masks of bytes, and with one part beside a tuple of one part.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { Complex, type DType, float, type IndexPart, ones, slice, tensor, zeros } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

const first = tensor([0n, 1n]);
const INDICES: Record<string, IndexPart> = {
  mask: tensor([true, false, true]),
  indices: first,
  list: [[0, 1]],
  pairs: [first, true],
  shorts: first.to("int32"),
};

/** What `x[index] = value` leaves of three zeros, or its error. */
function written(dtype: DType, index: IndexPart, value: number | bigint | z.Int | z.Float | Complex): string {
  const x = zeros(3, { dtype });
  return thrown(() => x.setAt(index, value)).replace("no error", String(x.tolist()));
}

test.each(Object.entries(INDICES))("a number that the dtype cannot hold is refused: %s", (_, index) => {
  for (const [dtype, value, name] of [
    [z.uint8, 300, "uint8_t"],
    [z.uint8, -0.5, "uint8_t"],
    [z.int8, -129, "int8_t"],
    [z.int64, Number.POSITIVE_INFINITY, "int64_t"],
    [z.float32, float(1e39), "float"],
  ] as const) {
    const text = `RuntimeError: value cannot be converted to type ${name} without overflow`;
    expect(written(dtype, index, value)).toBe(text);
  }
  expect(written(z.uint8, index, -1)).toContain("255");
});

test("a number too large for a half is infinite where torch copies or puts it, and refused where it fills", () => {
  const refused = "RuntimeError: value cannot be converted to type c10::Half without overflow";
  expect(written(z.float16, 0, 70000)).toBe("Infinity,0,0");
  expect(written(z.float16, ["0:1"], 70000)).toBe("Infinity,0,0");
  expect(written(z.float16, [first, true], 70000)).toBe("Infinity,Infinity,0");
  expect(written(z.float16, first.to("int32"), 70000)).toBe("Infinity,Infinity,0");
  for (const index of ["0:2", first, tensor([true, false, true])] as IndexPart[]) {
    expect(written(z.float16, index, 70000)).toBe(refused);
  }
  expect(written(z.bfloat16, 0, float(1e39))).toBe("Infinity,0,0");
  const double = "RuntimeError: value cannot be converted to type double without overflow";
  expect(written(z.float16, [first, true], new Complex(1, 1))).toBe(double);
});

test("under one index of int64 no complex number is taken", () => {
  const text = "RuntimeError: index_fill_(): Converting complex Scalar to non-complex type is not supported";
  for (const index of [first, [[0, 1]], [tensor([[0n, 1n]])], [true]] as IndexPart[]) {
    expect(written(z.float32, index, new Complex(2, 0))).toBe(text);
  }
  expect(written(z.float32, true, new Complex(2, 0))).toBe("2,2,2");
});

test("an index out of range names its dimension", () => {
  const x = zeros(4, 1);
  expect(thrown(() => x.setAt(["...", tensor([2n])], 1))).toBe(
    "IndexError: index 2 is out of bounds for dimension 1 with size 1",
  );
  expect(thrown(() => zeros(0).setAt(tensor([0n]), 1))).toBe(
    "IndexError: index 0 is out of bounds for dimension 0 with size 0",
  );
});

test("a mask of bytes takes elements, but one value is not filled in through it", () => {
  const bytes = tensor([1, 0, 1], { dtype: z.uint8 });
  const text = "RuntimeError: masked_fill_ only supports boolean masks, but got mask with dtype unsigned char";
  expect(zeros(3).at(bytes).shape).toEqual(zeros(2).shape);
  for (const value of [1, tensor(1), tensor([1])]) expect(thrown(() => zeros(3).setAt(bytes, value))).toBe(text);
  expect(thrown(() => zeros(2, 3).setAt([":", bytes], 300))).toBe(text);
  expect(thrown(() => zeros(3).indexPut([bytes], tensor(1)))).toBe(text);
  expect(
    zeros(3)
      .setAt(bytes, tensor([1, 2]))
      .tolist(),
  ).toEqual([1, 0, 2]);
  expect(zeros(3).indexPut([bytes], tensor(1), true).tolist()).toEqual([1, 0, 1]);
});

test("what is written over through a mask of bytes has no gradient", () => {
  const x = ones(3, { requiresGrad: true });
  const bytes = tensor([1, 0, 1], { dtype: z.uint8 });
  x.mul(2)
    .setAt(bytes, tensor([1, 2]))
    .sum()
    .backward();
  expect(x.grad?.tolist()).toEqual([0, 2, 0]);
});

test("the message of a mask that does not fit names the dimension", () => {
  const x = zeros(3, 4, 2);
  const text = (mask: string, at: number, of: number): string =>
    `IndexError: The shape of the mask ${mask} at index ${at} does not match the shape of the indexed tensor ` +
    `[3, 4, 2] at index ${of}`;
  expect(thrown(() => x.at(ones(2).gt(0)))).toBe(text("[2]", 0, 0));
  expect(thrown(() => x.at(":", ones(2).gt(0)))).toBe(text("[2]", 0, 1));
  expect(thrown(() => x.at(":", ones(4, 3).gt(0)))).toBe(text("[4, 3]", 1, 2));
  // Writing one value looks at the mask before the other indices.
  expect(thrown(() => x.setAt([ones(2).gt(0), tensor([1, 2], { dtype: z.int8 })], 1))).toBe(text("[2]", 0, 0));
});

test("a slice alone is recorded as a slice, in a tuple as the tensor itself", () => {
  const x = zeros(3, { requiresGrad: true });
  expect(x.at(":").gradFn?.name).toBe("SliceBackward0");
  expect(x.at(slice(0, 3)).gradFn?.name).toBe("SliceBackward0");
  expect(x.at([":"]).gradFn?.name).toBe("AliasBackward0");
});

test("writing one part is not writing a tuple of it", () => {
  const x = zeros(3);
  expect(x.setAt(false, tensor([1])).version).toBe(0);
  expect(x.setAt([false], tensor([1])).version).toBe(1);
  expect(thrown(() => zeros([]).setAt(":", 1))).toBe("IndexError: slice() cannot be applied to a 0-dim tensor.");
  expect(thrown(() => zeros([]).setAt([":"], 1))).toContain("too many indices");
});

test("a tensor without dimensions has no element 0, and no other", () => {
  const none = /^IndexError: invalid index of a 0-dim tensor/;
  const other = "IndexError: index -1 is out of bounds for dimension 0 with size 0";
  expect(thrown(() => zeros([]).at(0))).toMatch(none);
  expect(thrown(() => zeros([]).at(-1))).toBe(other);
  expect(thrown(() => zeros([]).setAt(0, 1))).toMatch(none);
  expect(thrown(() => zeros([]).setAt(-1, 1))).toBe(other);
});

test("the text of a storage without elements keeps the space before them", () => {
  expect(String(zeros(0).untypedStorage())).toBe(" \n[torch.storage.UntypedStorage(device=cpu) of size 0]");
  const typed = " \n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 0]";
  expect(String(zeros(0).storage())).toBe(typed);
});
