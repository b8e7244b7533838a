// In which order the elements of a result of `einsum` lie: as its product of matrices gives them, the other way round
// where that is the order asked for. PyTorch 2.15's.
import { expect, test } from "bun:test";
import { einsum, ones } from "../../src/index.ts";

const SIZES: Record<string, number> = { a: 2, b: 3, c: 5, d: 7, j: 4, n: 6 };

/** The names of a result's dimensions, the one with the longest step first. */
function layout(equation: string): string {
  const [operands = "", out = ""] = equation.split("->");
  const list = operands.split(",").map((names) => ones([...names].map((name) => SIZES[name] as number)));
  const strides = einsum(equation, list).stride() as readonly number[];
  const order = [...out].map((name, i): [string, number] => [name, strides[i] as number]);
  return order
    .sort((x, y) => y[1] - x[1])
    .map(([name]) => name)
    .join("");
}

const CASES: [operands: string, layouts: string][] = [
  ["abj,cdj", "abcd>abcd abdc>abdc acbd>abcd adcb>abdc bcda>bacd cabd>abcd cdab>cdab cdba>cdba dacb>abdc dcba>dcba"],
  ["aj,bcj", "abc>abc acb>acb bac>abc bca>bca cab>acb cba>cba"],
  ["abj,cj", "abc>abc acb>abc bca>bac cab>cab cba>cba"],
  ["naj,ncj", "nac>nac nca>nca anc>nac acn>nac cna>nca can>nca"],
];

for (const [operands, layouts] of CASES) {
  for (const pair of layouts.split(" ")) {
    const [out, wanted] = pair.split(">");
    test(`${operands}->${out}`, () => expect(layout(`${operands}->${out}`)).toBe(wanted as string));
  }
}

test("a dimension that is added up and has one element", () => {
  const strides = (a: number[], b: number[]) => [...einsum("bij,bjk->bki", ones(a), ones(b)).stride()];
  expect(strides([2, 2, 1], [2, 1, 2])).toEqual([4, 1, 2]);
  expect(strides([2, 2, 1], [2, 3, 2])).toEqual([4, 2, 1]);
  expect(strides([2, 2, 3], [2, 1, 2])).toEqual([4, 1, 2]);
  expect(strides([1, 3, 1], [1, 1, 2])).toEqual([2, 1, 2]);
});
