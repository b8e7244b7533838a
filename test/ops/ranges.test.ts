// Ranges and evenly spaced numbers at the ends of what dtypes and lengths hold, as torch gives them.
import { expect, test } from "bun:test";
import { arange, Complex, float, int, linspace, logspace, tensor, zeros } from "../../src/index.ts";

test("a range longer than a tensor can be is refused", () => {
  for (const call of [
    () => arange(0, 1e300),
    () => arange(0, 1e300, { dtype: "int64" }),
    () => arange(0, 9.3e18, { dtype: "int64" }),
    () => arange(0, float(1e19), { device: "meta" }),
    () => arange(-(2n ** 62n), 2n ** 63n - 1n, { device: "meta" }),
    () => arange(0, 10, 1e-300),
  ]) {
    expect(call).toThrow("invalid size, possible overflow?");
  }
  expect(() => arange(0, 2n ** 63n)).toThrow("value cannot be converted to type int64_t without overflow");
  expect(() => arange(0, int(2n ** 64n))).toThrow("Overflow when unpacking long long");
});

test("a short range of large numbers is exact", () => {
  const top = 2n ** 63n;
  expect([...arange(top - 10n, top - 1n, 3)].map((x) => x.bigint())).toEqual([top - 10n, top - 7n, top - 4n]);
  expect(arange(top - 10n, top - 1n).shape[0]).toBe(9);
});

const spaced = (from: number, to: number, steps: number, dtype: "uint8" | "int8") =>
  linspace(from, to, steps, { dtype }).tolist();

test("bounds are elements first: negative ones wrap around in unsigned dtypes", () => {
  expect(spaced(0, -1, 3, "uint8")).toEqual([0, 127, 255]);
  expect(spaced(0, -5, 6, "uint8")).toEqual([0, 50, 100, 150, 200, 251]);
  expect(spaced(-1, 1, 3, "uint8")).toEqual([255, 128, 1]);
  expect(spaced(10, -5, 4, "uint8")).toEqual([10, 90, 170, 251]);
  expect(spaced(-5.5, 5, 6, "int8")).toEqual([-5, -3, -1, 1, 3, 5]);
  expect(linspace(tensor(0), tensor(-1), 3, { dtype: "uint8" }).tolist()).toEqual([0, 127, 255]);
  expect(logspace(0, -1, 3, { dtype: "uint8" }).tolist()).toEqual([1, 0, 0]);
});

test("bounds that are no elements are refused", () => {
  const text = (type: string) => `value cannot be converted to type ${type} without overflow`;
  expect(() => spaced(0, 300, 3, "uint8")).toThrow(text("uint8_t"));
  expect(() => spaced(-0.5, 1, 3, "uint8")).toThrow(text("uint8_t"));
  expect(() => spaced(-200, 1, 5, "int8")).toThrow(text("int8_t"));
  expect(() => linspace(0, 1e300, 3)).toThrow(text("float"));
  expect(() => logspace(0, 2 ** 40, 3, { dtype: "int32" })).toThrow(text("int"));
  expect(() => linspace(0, 300, 3, { out: zeros(3, { dtype: "uint8" }) })).toThrow(text("uint8_t"));
  // Without elements nothing is asked.
  expect(spaced(0, 300, 0, "uint8")).toEqual([]);
  expect([...linspace(0, 300, 3, { dtype: "uint8", device: "meta" }).shape]).toEqual([3]);
});

test("one number is the start, or its power, whatever the end", () => {
  expect(linspace(0.5, 1e300, 1).tolist()).toEqual([0.5]);
  expect(logspace(0.5, 3, 1, { dtype: "int64" }).tolist()).toEqual([3]);
  expect(() => spaced(-0.5, 3, 1, "uint8")).toThrow("uint8_t");
  expect(String(linspace(new Complex(1, 2), 3, 1))).toBe("tensor([1.+2.j])");
});
