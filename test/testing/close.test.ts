// `testing.assertClose` says what PyTorch says, in its words (scripts/oracle/make_assert_close.py).
import { expect, test } from "bun:test";
import { Complex, nn, ones, TensorDict, tensor, testing, zeros } from "../../src/index.ts";
import recorded from "../fixtures/assert-close.json" with { type: "json" };
import { thrown } from "../thrown.ts";

const { assertClose } = testing;
const c = (re: number, im = 0) => new Complex(re, im);
const cases: Record<string, () => void> = {
  t: () => assertClose(tensor([1, 2, 3]), tensor([1, 4, 5])),
  "2d": () =>
    assertClose(
      tensor([
        [1, 2],
        [3, 4],
      ]),
      tensor([
        [1, 2],
        [3.1, 9],
      ]),
    ),
  nan: () => assertClose(tensor([1, NaN]), tensor([1, NaN])),
  int: () => assertClose(tensor([1n, 2n]), tensor([1n, 5n])),
  inttol: () => assertClose(tensor([1n, 2n]), tensor([1n, 5n]), { rtol: 0, atol: 1 }),
  zero: () => assertClose(tensor([0, 2]), tensor([1, 0])),
  scalar: () => assertClose(tensor(1), tensor(1.1)),
  scalari: () => assertClose(tensor(1n), tensor(3n)),
  num: () => assertClose(1.5, 2.5),
  numi: () => assertClose(1, 2),
  numtol: () => assertClose(1.5, 2.5, { rtol: 0.1, atol: 1e-9 }),
  shape: () => assertClose(zeros(2), zeros(3)),
  dtype: () => assertClose(zeros(2), zeros(2, { dtype: "float64" })),
  device: () => assertClose(zeros(2), zeros(2, { device: "meta" })),
  stride: () => assertClose(zeros(2, 3), zeros(3, 2).t(), { checkStride: true }),
  "one tol": () => assertClose(zeros(2), zeros(2), { rtol: 1 }),
  seq: () => assertClose([zeros(2)], [zeros(2), 1]),
  seqitem: () => assertClose({ a: [zeros(2), zeros(2)] }, { a: [zeros(2), ones(2)] }),
  keys: () => assertClose({ a: 1, b: 2 }, { c: 1, b: 2 }),
  none: () => assertClose(null, 1),
  bools: () => assertClose(true, false),
  types: () => assertClose(zeros(2), 1),
  strs: () => assertClose("a", "a"),
  boolt: () => assertClose(tensor([true, false]), tensor([true, true])),
  complex: () => assertClose(tensor([c(1, 2), c(3)]), tensor([c(1, 2), c(4)])),
  half: () => assertClose(tensor([1, 2], { dtype: "float16" }), tensor([1, 2.1], { dtype: "float16" })),
  bf: () => assertClose(tensor([1, 2], { dtype: "bfloat16" }), tensor([1, 2.1], { dtype: "bfloat16" })),
  f8: () => assertClose(tensor([1, 2]).to("float8_e4m3fn"), tensor([1, 3]).to("float8_e4m3fn")),
  msg: () => assertClose(zeros(1), ones(1), { msg: "own" }),
  msgf: () => assertClose(zeros(1), ones(1), { msg: (m) => `H\n${m}` }),
  f64: () => assertClose(tensor([1, 2], { dtype: "float64" }), tensor([1, 2.00001], { dtype: "float64" })),
  mixed: () => assertClose(tensor([1n, 2n]), tensor([1, 2.5]), { checkDtype: false }),
  "int and float": () => assertClose(tensor([1n, 2n]), tensor([1, 2])),
  complexnum: () => assertClose(c(1, 2), c(1, 3)),
  inf: () => assertClose(tensor([Infinity]), tensor([1])),
  param: () => assertClose(new nn.Parameter(zeros(1)), zeros(1), { allowSubclasses: false }),
  "empty list": () => assertClose([], [1]),
  scalarbool: () => assertClose(tensor(true), tensor(false)),
};

test("each case of PyTorch's", () => {
  expect(Object.keys(cases).sort()).toEqual(Object.keys(recorded).sort());
  for (const [name, call] of Object.entries(cases)) {
    const wanted = recorded[name as keyof typeof recorded] ?? "no error";
    expect(`${name}: ${thrown(call)}`).toBe(`${name}: ${wanted}`);
  }
});

test("what is close throws nothing", () => {
  const x = tensor([1, 2]).div(3);
  assertClose(x.mul(3), tensor([1, 2]));
  assertClose(
    { a: [x], m: new Map([["k", x]]), n: null, b: true },
    { a: [x.clone()], m: new Map([["k", x]]), n: null, b: true },
  );
  assertClose(new TensorDict({ x }, []), new TensorDict({ x: x.clone() }, []));
  assertClose(tensor([Number.NaN]), tensor([Number.NaN]), { equalNan: true });
  assertClose(zeros(2, { device: "meta" }), zeros(2, { device: "meta" }));
  assertClose(new Float32Array([1]), new Float32Array([1.0000001]));
  assertClose(1, 1.00000001);
  assertClose(5n, 5);
});

test("entries of TensorDicts are named", () => {
  const td = (n: number) => new TensorDict({ in: { x: tensor([n]) } }, []);
  expect(thrown(() => assertClose(td(1), td(2)))).toContain("The failure occurred for item ['in']['x']");
  expect(thrown(() => assertClose(ones(1), ones(1), { rtl: 1 } as never))).toBe(
    "TypeError: assertClose() got an unexpected keyword argument 'rtl'",
  );
});
