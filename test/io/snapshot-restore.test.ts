// Restoring snapshots into tensors that are there already: strided, mapped, within a memory budget, lazy stacks.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import "../../src/install.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import { counting, Room } from "./snapshot-helpers.ts";

const room = new Room();
afterAll(() => room.remove());
const fresh = () => room.fresh();

describe("restoring in place", () => {
  test("strided targets, other dtypes, tensors that want gradients", () => {
    const path = fresh();
    const source = counting(60).reshape(5, 4, 3);
    Snapshot.take({ path, appState: { m: new StateDict({ x: source, y: counting(3) }) }, maxChunkBytes: 64 });
    for (const memoryBudgetBytes of [undefined, 65536]) {
      const turned = zeros([3, 4, 5]).permute(2, 1, 0);
      const parameter = zeros([3]).requiresGrad_();
      const state = new StateDict({ x: turned, y: parameter });
      const options = memoryBudgetBytes === undefined ? {} : { memoryBudgetBytes };
      new Snapshot(path).restore({ appState: { m: state }, ...options });
      expect(state.values.x).toBe(turned);
      expect(turned.tolist()).toEqual(source.tolist());
      expect(state.values.y).toBe(parameter);
      expect(parameter.tolist()).toEqual([0, 1, 2]);
    }
    const other = new StateDict({ y: zeros([3], { dtype: "int64" }) });
    new Snapshot(path).restore({ appState: { m: other } });
    expect((other.values.y as Tensor).dtype.name).toBe("float32");
  });
  test("a strided target whose rows are larger than the budget", () => {
    const path = fresh();
    const source = counting(3 * 20_000).reshape(3, 20_000);
    Snapshot.take({ path, appState: { m: new StateDict({ x: source }) } });
    const target = zeros([20_000, 3]).t();
    new Snapshot(path).readObject("0/m/x", { into: target, memoryBudgetBytes: 65536 });
    expect(target.eq(source).all().item()).toBe(true);
    for (const memoryBudgetBytes of [0, 100, -1, 1.5, Number.NaN]) {
      expect(() => new Snapshot(path).readObject("0/m/x", { memoryBudgetBytes })).toThrow("at least 65536 bytes");
    }
  });
  test("256 MB into a mapped tensor with a budget of 16 MB", async () => {
    const path = fresh();
    mkdirSync(path);
    // Sparse: next to nothing of it is on the disk.
    const source = MemoryMappedTensor.empty([64, 2 ** 20], { filename: join(path, "source") });
    for (let row = 0; row < 64; row++) source.at(row).narrow(0, 0, 1000).fill_(row);
    const appState = { state: new StateDict({ tensor: source }), small: new StateDict({ x: zeros([1]) }) };
    Snapshot.take({ path: join(path, "snapshot"), appState, maxChunkBytes: 40 * 2 ** 20 });
    source.dispose();
    const growth = async (budget: number | "none") => {
      rmSync(join(path, "target"), { force: true });
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "snapshot-child.ts"), path, String(budget)], {
        stdout: "pipe",
        stderr: "inherit",
      });
      const [grown, sum] = (await new Response(child.stdout).text()).trim().split(" ").map(Number);
      expect(await child.exited).toBe(0);
      expect(sum).toBe((63 * 64 * 1000) / 2);
      return grown as number;
    };
    const [frugal, free] = [await growth(16 * 2 ** 20), await growth("none")];
    rmSync(path, { recursive: true });
    if (process.platform !== "linux") return;
    expect(frugal).toBeLessThan(16 * 2 ** 20);
    expect(free).toBeGreaterThan(200 * 2 ** 20);
  }, 60_000);
  test("lazy stacks", () => {
    const member = (n: number) => new TensorDict({ a: tensor([n, n]), n: { b: tensor([n]) } }) as unknown as Td;
    const stack = (...values: number[]) => TensorDict.lazyStack(values.map(member)) as unknown as Td;
    const source = stack(1, 2);
    const wrapped = (td: Td) => new StateDict({ td: td.stateDict({ keepVars: true }) });
    const path = fresh();
    const holder = (td: Td) => new TensorDict({ l: td, x: zeros([2]) }, [2]) as unknown as Td;
    const appState = { direct: source, wrapped: wrapped(source), inside: holder(source) };
    const snapshot = Snapshot.take({ path, appState });
    expect([...snapshot.manifest.keys()].filter((key) => key.startsWith("0/inside/"))).toEqual([
      "0/inside/l.a",
      "0/inside/l.n.b",
      "0/inside/x",
    ]);
    const [direct, other, inside] = [stack(0, 0), stack(0, 0), stack(0, 0)];
    snapshot.restore({ appState: { direct, wrapped: wrapped(other), inside: holder(inside) } });
    for (const td of [direct, inside]) {
      expect((td.at("a") as Tensor).tolist()).toEqual([
        [1, 1],
        [2, 2],
      ]);
      expect((td.at(["n", "b"]) as Tensor).tolist()).toEqual([[1], [2]]);
    }
    // What a lazy stack gives is a copy: filling that changes nothing, and is no error.
    expect((other.at("a") as Tensor).sum().item()).toBe(0);
  });
});
