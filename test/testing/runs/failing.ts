// Tests that fail; matchers.test.ts runs them and reads what is printed.
import { expect, mock, test } from "bun:test";
import { nn, TensorDict, tensor } from "../../../src/index.ts";

const td = () => new TensorDict({ a: tensor([1, 2]), b: { c: tensor([[1], [2]]), text: "t" } }, [2]);
const called = mock((x: unknown) => x);
called(tensor([1]));

test("elements", () => {
  expect(
    tensor([
      [1, 2],
      [3, 4],
    ]),
  ).toEqual(
    tensor([
      [1, 2],
      [3, 5],
    ]),
  );
});
test("an entry", () => {
  expect(td()).toEqual(td().set("a", tensor([1, 3])));
});
test("a list", () => {
  expect(tensor([1, 2])).toEqual([1, 2] as never);
});
test("another object", () => {
  expect(tensor([1, 2])).toBe(tensor([1, 2]));
});
test("a call", () => {
  expect(called).toHaveBeenCalledWith(tensor([2]));
});
test("no tensor", () => {
  expect({ a: 1 }).toEqual({ a: 2 });
});
test("some of an object", () => {
  expect({ x: [tensor([1])] }).toMatchObject({ x: [tensor([2])] });
});
test("a promise", async () => {
  await expect(Promise.resolve(tensor([1]))).resolves.toEqual(tensor([2]));
});
test("not equal", () => {
  expect(tensor([1])).not.toEqual(tensor([1]));
});
test("a class", () => {
  expect(tensor([1])).toStrictEqual(new nn.Parameter(tensor([1])));
});
test("an element", () => {
  expect([tensor([1])]).toContainEqual(tensor([2]));
});
test("null", () => {
  expect(tensor([1])).toBeNull();
});
test("a result", () => {
  expect(called).toHaveReturnedWith(tensor([2]));
});
