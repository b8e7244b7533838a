// Rules about dtypes and numbers, each over all of its values: promotion, rounding, what fits, how numbers are told.
import { expect, test } from "bun:test";
import { checkFactor, checkFits, shortNumber } from "../../src/dispatch/fits.ts";
import { narrowed, roundTo } from "../../src/dispatch/narrowing.ts";
import { describe as named, promoteTypes } from "../../src/dispatch/promotion.ts";
import { trilIndices, triuIndices } from "../../src/dispatch/ranges.ts";
import * as z from "../../src/index.ts";
import { Complex, type DType, tensor } from "../../src/index.ts";

const INTEGERS = "bool uint8 int8 int16 int32 int64";
const FLOATS = "float16 bfloat16 float32 float64 complex64 complex128";
const NAMES = `${INTEGERS} ${FLOATS} uint16 uint32 uint64 float8_e4m3fn float8_e5m2`.split(" ");
const dtypeOf = (name: string): DType => (z as unknown as Record<string, DType>)[name] as DType;

/** torch.promote_types: the place in NAMES, u and f for its two refusals. */
const PROMOTED = [
  "0 1 2 3 4 5 6 7 8 9 10 11 u u u f f",
  "1 1 3 3 4 5 6 7 8 9 10 11 u u u f f",
  "2 3 2 3 4 5 6 7 8 9 10 11 u u u f f",
  "3 3 3 3 4 5 6 7 8 9 10 11 u u u f f",
  "4 4 4 4 4 5 6 7 8 9 10 11 u u u f f",
  "5 5 5 5 5 5 6 7 8 9 10 11 u u u f f",
  "6 6 6 6 6 6 6 8 8 9 10 11 6 6 6 f f",
  "7 7 7 7 7 7 8 7 8 9 10 11 7 7 7 f f",
  "8 8 8 8 8 8 8 8 8 9 10 11 8 8 8 f f",
  "9 9 9 9 9 9 9 9 9 9 11 11 9 9 9 f f",
  "10 10 10 10 10 10 10 10 10 11 10 11 u u u f f",
  "11 11 11 11 11 11 11 11 11 11 11 11 u u u f f",
  "u u u u u u 6 7 8 9 u u 12 u u f f",
  "u u u u u u 6 7 8 9 u u u 13 u f f",
  "u u u u u u 6 7 8 9 u u u u 14 f f",
  "f f f f f f f f f f f f f f f 15 f",
  "f f f f f f f f f f f f f f f f 16",
].map((row) => row.split(" "));

test("every pair of dtypes is promoted as torch does it", () => {
  NAMES.forEach((a, i) =>
    NAMES.forEach((b, j) => {
      const want = PROMOTED[i]?.[j] as string;
      const call = () => promoteTypes(dtypeOf(a), dtypeOf(b));
      const text = `${a} ${b}`;
      if (want === "u") expect(call, text).toThrow("Promotion for uint16, uint32, uint64 types is not supported");
      else if (want === "f")
        expect(call, text).toThrow("Promotion for Float8 Types is not supported, attempted to promote");
      else expect(`${text} ${call()}`).toBe(`${text} torch.${NAMES[Number(want)]}`);
    }),
  );
});

test("what is no operand is named", () => {
  expect([null, undefined, "x", 3, true, [], {}, new Map()].map(named)).toEqual([
    "null",
    "undefined",
    "string",
    "number",
    "boolean",
    "Array",
    "Object",
    "Map",
  ]);
});

/** The nearest value that has so many digits after the first, ties to even. */
function nearest(x: number, digits: number): number {
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - digits);
  const below = Math.floor(x / unit);
  const rest = x / unit - below;
  return unit * (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below);
}

test("numbers are rounded to short dtypes, to the nearest and to even between two", () => {
  const numbers = [
    1,
    1.00390625,
    1.01171875,
    -1.00390625,
    -1.01171875,
    3.1459,
    257,
    259,
    -1000.5,
    1e-3,
    65280,
    3e38,
    0.1,
    1 + 2 ** -7,
  ];
  for (const x of numbers) expect(`${x} ${roundTo(z.bfloat16, x)}`).toBe(`${x} ${nearest(Math.fround(x), 7)}`);
  expect([Infinity, -Infinity, 3.4e38, -3.4e38, 0, 3.3963e38].map((x) => roundTo(z.bfloat16, x))).toEqual([
    Infinity,
    -Infinity,
    Infinity,
    -Infinity,
    0,
    Infinity,
  ]);
  expect(roundTo(z.bfloat16, 3.3895313892515355e38)).toBe(3.3895313892515355e38);
  expect(roundTo(z.bfloat16, Number.NaN)).toBeNaN();
  expect(Object.is(roundTo(z.bfloat16, -0), -0)).toBe(true);
  expect([
    roundTo(z.float16, 2049),
    roundTo(z.float16, 65520),
    roundTo(z.float32, 16777217),
    roundTo(z.float64, 0.1),
  ]).toEqual([2048, Infinity, 16777216, 0.1]);
});

test("operands become values of the short dtype that is computed in", () => {
  const ints = ["bool", "uint8", "int8", "int16", "int32", "int64"];
  for (const to of ["uint8", "int8", "int16"]) {
    for (const from of [...ints, "float32"]) {
      const x = tensor([1, 0], { dtype: dtypeOf(from) });
      const [got] = narrowed([x], dtypeOf(to)) as [z.Tensor];
      const [a, b] = [ints.indexOf(from), ints.indexOf(to)];
      const held = from === to || from === "bool" || (to === "int16" && a >= 0 && a < b);
      expect(`${from} ${to} ${got === x}`).toBe(`${from} ${to} ${held}`);
      if (!held) expect(got.dtype).toBe(dtypeOf(to));
    }
  }
  for (const to of ["float16", "bfloat16"]) {
    for (const from of [...ints, "float32", "float64", to]) {
      const x = tensor([1, 0], { dtype: dtypeOf(from) });
      const held = [to, "bool", "uint8", "int8"].includes(from);
      expect(`${from} ${to} ${narrowed([x], dtypeOf(to))[0] === x}`).toBe(`${from} ${to} ${held}`);
    }
  }
  const of = (x: z.Scalar, d: DType) => narrowed([x], d)[0];
  expect([300, -1, 127, 128, 255, 256, 0].map((x) => Number(of(x, z.uint8)))).toEqual([44, 255, 127, 128, 255, 0, 0]);
  expect([300, -1, 127, 128, -129].map((x) => Number(of(x, z.int8)))).toEqual([44, -1, 127, -128, 127]);
  expect([32768, -32769, 40000n].map((x) => Number(of(x, z.int16)))).toEqual([-32768, 32767, -25536]);
  expect([2.5, true, 1e300].map((x) => of(x, z.int8))).toEqual([2.5, true, of(1e300, z.int8)]);
  const c = new Complex(1, 2);
  expect([of(c, z.int8), of(c, z.float16)]).toEqual([c, c]);
  expect([of(2049, z.float16), of(1.00390625, z.bfloat16)]).toEqual([2048, 1]);
});

/** The least and the largest number that each dtype takes, and the next ones. */
const ENDS: Record<
  string,
  [low: number | bigint, lower: number | bigint, high: number | bigint, higher: number | bigint]
> = {
  uint8: [-256, -257, 255, 256],
  int8: [-128, -129, 127, 128],
  int16: [-32768, -32769, 32767, 32768],
  int32: [-(2 ** 31), -(2 ** 31) - 1, 2 ** 31 - 1, 2 ** 31],
  int64: [-(2n ** 63n), -(2n ** 63n) - 1n, 2n ** 63n - 1n, 2n ** 63n],
  float16: [-65504, -65505, 65504, 65505],
  bfloat16: [-3.3895313892515355e38, -3.39e38, 3.3895313892515355e38, 3.39e38],
  float32: [-3.4028234663852886e38, -3.41e38, 3.4028234663852886e38, 3.41e38],
  float8_e4m3fn: [-448, -449, 448, 449],
  float8_e5m2: [-57344, -57345, 57344, 57345],
};

test("numbers that a dtype holds", () => {
  for (const [name, [low, lower, high, higher]] of Object.entries(ENDS)) {
    const d = dtypeOf(name);
    for (const x of [low, high, 0, 1]) expect(() => checkFits(x, d), `${name} ${x}`).not.toThrow();
    for (const x of [lower, higher]) expect(() => checkFits(x, d), `${name} ${x}`).toThrow("without overflow");
    const endless = name.startsWith("float") || name === "bfloat16";
    for (const x of [Infinity, -Infinity, Number.NaN]) {
      if (endless) expect(() => checkFits(x, d)).not.toThrow();
      else expect(() => checkFits(x, d), `${name} ${x}`).toThrow("without overflow");
    }
    expect(() => checkFits(new Complex(1, 0), d)).not.toThrow();
    expect(() => checkFits(new Complex(1, 2), d)).toThrow("without overflow");
  }
  expect(() => checkFits(-0.5, z.uint8)).toThrow("without overflow");
  for (const d of [z.bool, z.complex128, z.float64]) expect(() => checkFits(1e300, d)).not.toThrow();
  for (const d of [z.bool, z.complex64]) expect(() => checkFits(new Complex(1, 2), d)).not.toThrow();
});

test("factors of short dtypes are read as float32", () => {
  for (const d of [z.float16, z.bfloat16, z.float32]) {
    for (const x of [1, 1e5, 3.4e38]) expect(() => checkFactor(x, d)).not.toThrow();
    expect(() => checkFactor(1e39, d)).toThrow("float without overflow");
  }
  expect(() => checkFactor(1e39, z.float64)).not.toThrow();
  expect(() => checkFactor(128, z.int8)).toThrow("without overflow");
  expect(() => checkFactor(2.5e9, z.int32)).toThrow("int without overflow");
});

test("numbers are told with six digits", () => {
  const texts: [number, string][] = [
    [0, "0"],
    [-0, "-0"],
    [1, "1"],
    [0.5, "0.5"],
    [123456, "123456"],
    [1234567, "1.23457e+06"],
    [999999.5, "1e+06"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [0.000123456789, "0.000123457"],
    [-2.5, "-2.5"],
    [1e100, "1e+100"],
    [3.4028234663852886e38, "3.40282e+38"],
    [99999.95, "99999.9"],
    [9.9999995, "10"],
    [Number.NaN, "nan"],
    [Infinity, "inf"],
    [-Infinity, "-inf"],
    [-1e-7, "-1e-07"],
    [1.5e-5, "1.5e-05"],
    [0.00009999999, "0.0001"],
  ];
  for (const [x, text] of texts) expect(shortNumber(x)).toBe(text);
});

test("indices of triangles are those of the elements on their side of a diagonal", () => {
  for (const rows of [0, 1, 2, 3, 5]) {
    for (const columns of [0, 1, 2, 4]) {
      for (let offset = -6; offset <= 6; offset++) {
        const places: [number, number][] = [];
        for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) places.push([r, c]);
        const listed = (keep: (r: number, c: number) => boolean) => {
          const kept = places.filter(([r, c]) => keep(r, c));
          return [kept.map(([r]) => r), kept.map(([, c]) => c)];
        };
        const text = `${rows} ${columns} ${offset}`;
        const lower = trilIndices(rows, columns, offset, null, null);
        expect([text, lower.tolist()]).toEqual([text, listed((r, c) => c - r <= offset)]);
        expect(triuIndices(rows, columns, offset, z.int32, null).tolist()).toEqual(listed((r, c) => c - r >= offset));
        const shape = trilIndices(rows, columns, offset, null, z.device("meta")).shape;
        expect([text, ...shape]).toEqual([text, ...lower.shape]);
      }
    }
  }
  for (const d of ["bool", "uint8", "int16", "float32"])
    expect(() => trilIndices(2, 2, 0, dtypeOf(d), null)).toThrow("not implemented");
});

test.each(["uint16", "uint32", "uint64"] as const)("beside %s a complex number of lower priority decides", (dtype) => {
  const [many, one] = [z.ones(2, { dtype }), z.ones([], { dtype })];
  const imaginary = new Complex(0, 1);
  const zero = tensor(imaginary, { dtype: z.complex128 });
  expect(z.resultType(many, imaginary)).toBe(z.complex64);
  expect(z.resultType(many, zero)).toBe(z.complex128);
  expect(many.sub(zero).dtype).toBe(z.complex128);
  expect(z.resultType(one, z.ones(2, { dtype: z.complex64 }))).toBe(z.complex64);
  for (const alike of [() => z.resultType(one, zero), () => z.resultType(many, many.to(z.complex64))]) {
    expect(alike).toThrow("Promotion for uint16, uint32, uint64 types is not supported");
  }
});

test("a number beyond float32 is refused in either part of complex64, and by where", () => {
  const [x, mask, at] = [z.zeros(2, { dtype: z.complex64 }), tensor([true, false]), tensor([0n])];
  const refusal = "value cannot be converted to type c10::complex<float> without overflow";
  const calls: ((v: number | Complex) => unknown)[] = [
    (v) => x.clone().fill_(v),
    (v) => z.full([2], v, { dtype: z.complex64 }),
    (v) => x.maskedFill(mask, v),
    (v) => x.clone().setAt(0, v),
    (v) => x.clone().setAt(at, v),
    (v) => z.where(mask, x, v),
    (v) => x.add(x, { alpha: v }),
    (v) => x.indexFill(0, at, v),
    (v) => x.scatter(0, at, v),
  ];
  for (const call of calls) {
    for (const v of [1e39, new Complex(0, 1e39), new Complex(1, -1e300)]) expect(() => call(v)).toThrow(refusal);
    for (const v of [3.4e38, Number.POSITIVE_INFINITY, new Complex(Number.NaN, 1)]) call(v);
  }
  expect(x.to(z.complex128).fill_(1e300).tolist()[0]).toEqual(new Complex(1e300, 0));
  expect(() => z.where(mask, tensor([1n, 2n]), 1e39)).toThrow("converted to type float without overflow");
  expect(z.where(mask, tensor([1n, 2n]).half(), 1e39).tolist()).toEqual([1, Number.POSITIVE_INFINITY]);
});
