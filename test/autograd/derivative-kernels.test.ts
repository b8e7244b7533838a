// The gradients of tanh, sigmoid and relu are one kernel each: torch's values, at infinities and NaN too, and gradients
// of these gradients. test/fixtures/derivative-kernels.json was made with torch 2.15.
import { expect, test } from "bun:test";
import { autograd, cpu, type DTypeName, ones, randn, type Tensor, tensor } from "../../src/index.ts";
import recorded from "../fixtures/derivative-kernels.json";

type Cell = number | "nan";
type Row = [dtype: DTypeName, name: "tanh" | "sigmoid" | "relu", ...values: Cell[][]];

const numbers = (cells: readonly Cell[]): number[] => cells.map((v) => (v === "nan" ? Number.NaN : Math.min(v, 1e30)));
const read = (t: Tensor): number[] => t.detach().double().clamp(-1e30, 1e30).tolist();

function near(found: readonly number[], wanted: readonly number[], relative: number): void {
  found.forEach((v, i) => {
    const w = wanted[i] as number;
    if (Number.isNaN(w)) expect(v).toBeNaN();
    else expect(Math.abs(v - w)).toBeLessThanOrEqual(relative * Math.max(1, Math.abs(w)));
  });
}

const ROUNDING: Partial<Record<DTypeName, number>> = { float32: 1e-6, float64: 1e-14, bfloat16: 2e-2, float16: 2e-3 };

for (const [dtype, name, x, g, first, ofInput, ofGradient] of recorded as unknown as Row[]) {
  test(`${name} of ${dtype}`, () => {
    const input = tensor(
      numbers(x as Cell[]).map((v) => (v === 1e30 ? Number.POSITIVE_INFINITY : v)),
      { dtype },
    ).requiresGrad_();
    const gradient = tensor(numbers(g as Cell[]), { dtype }).requiresGrad_();
    const [r] = autograd.grad(input[name](), input, { gradOutputs: gradient, createGraph: true }) as [Tensor];
    const relative = ROUNDING[dtype] as number;
    near(read(r), numbers(first as Cell[]), relative);
    const [a, b] = autograd.grad(r.narrow(0, 0, 6).sum(), [input, gradient]) as [Tensor, Tensor];
    near(read(a).slice(0, 6), numbers(ofInput as Cell[]), 2 * relative);
    near(read(b).slice(0, 6), numbers(ofGradient as Cell[]), relative);
  });
}

test("each asks for one block, and its node has torch's name", () => {
  for (const name of ["tanh", "sigmoid", "relu"] as const) {
    const x = randn(4096).requiresGrad_();
    const y = x[name]();
    const g = ones(4096);
    const made = (): number => cpu.memoryStats()["allocation.all.allocated"] as number;
    const before = made();
    y.backward(g, { retainGraph: true });
    expect(made() - before).toBe(1);
    const [r] = autograd.grad(y, x, { gradOutputs: g, createGraph: true }) as [Tensor];
    const names = { tanh: "Tanh", sigmoid: "Sigmoid", relu: "Threshold" };
    expect(r.gradFn?.name).toBe(`${names[name]}BackwardBackward0`);
  }
});
