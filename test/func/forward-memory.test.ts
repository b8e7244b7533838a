// How much memory tangents take: as many blocks as their formulas make, and each only until whoever takes it has it.
import { expect, test } from "bun:test";
import { cpu, func, ones, type Tensor } from "../../src/index.ts";

const N = 4096;

/** How many blocks of memory some work asks for, and how many of them are left behind it. */
function blocks(work: () => unknown): [made: number, left: number] {
  const count = (): [number, number] => {
    const stats = cpu.memoryStats();
    return [stats["allocation.all.allocated"] as number, stats["allocation.all.current"] as number];
  };
  const before = count();
  const kept = work();
  const after = count();
  expect(kept).toBeDefined();
  return [after[0] - before[0], after[1] - before[1]];
}

const PUSHES: Record<string, [f: (x: Tensor) => Tensor, made: number, left: number]> = {
  // The sine; the cosine and its product with the tangent.
  "a slope": [(x) => x.sin(), 3, 2],
  // The product; two products with the tangent, and their sum.
  "a square": [(x) => x.mul(x), 4, 2],
  // What the function made on its way is the program's.
  "a chain of kernels": [(x) => x.tanh().tanh().tanh().tanh(), 8, 5],
  views: [(x) => x.view(64, 64).t().unsqueeze(0), 0, 0],
};
for (const [name, [f, made, left]] of Object.entries(PUSHES)) {
  test(`blocks that a push takes: ${name}`, () => {
    const [x, v] = [ones(N), ones(N)];
    func.jvp(f, [x], [v]);
    expect(blocks(() => func.jvp(f, [x], [v]))).toEqual([made, left]);
    expect([v.sum().item(), x.sum().item()]).toEqual([N, N]);
  });
}

test("a long chain holds two tangents at a time", () => {
  const [x, v] = [ones(N), ones(N)];
  const f = (y: Tensor): Tensor => {
    let z = y;
    for (let i = 0; i < 50; i++) z = z.tanh();
    return z;
  };
  cpu.resetPeakMemoryStats();
  const before = cpu.memoryStats()["allocated_bytes.all.current"] as number;
  func.jvp(f, [x], [v]);
  const peak = (cpu.memoryStats()["allocated_bytes.all.peak"] as number) - before;
  // Beside what the function made.
  expect(peak / (4 * N)).toBeLessThanOrEqual(50 + 3);
});
