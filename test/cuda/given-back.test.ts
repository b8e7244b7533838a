// Memory of a device that backward gives back as it goes, emulated: while the program holds all that it was given.
import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

describe.if(emulated)("what backward gives back", () => {
  test("a chain has two gradients at once; a layer norm leaves its result", () => {
    const code = `
      const place = { device: "cuda" };
      const block = 64 * 64 * 4;
      const blocks = (work) => {
        Bun.gc(true);
        const before = z.cuda.memoryAllocated();
        z.cuda.resetPeakMemoryStats();
        const result = work();
        const left = z.cuda.memoryAllocated() - before;
        return [Math.round(left / block) + 0, Math.round((z.cuda.maxMemoryAllocated() - before) / block), result];
      };
      const x = z.ones(64, 64, place).requiresGrad_();
      const held = [x];
      for (let i = 0; i < 10; i++) held.push(held[i].tanh());
      const out = held[10].sum();
      const chain = blocks(() => out.backward()).slice(0, 2);
      const norm = blocks(() => z.noGrad(() => z.nn.functional.layerNorm(x, [64])))[0];
      console.log(JSON.stringify([chain, norm, x.grad.cpu().sum().item() > 0]));`;
    type Found = [chain: [number, number], norm: number, some: boolean];
    const [chain, norm, some] = evaluate(code, { ZENSOR_LIBCUDA: driver }) as Found;
    expect(chain[0]).toBe(1);
    expect(chain[1]).toBeLessThanOrEqual(3);
    expect(norm).toBe(1);
    expect(some).toBe(true);
  }, 60_000);

  test("operators, methods of lazy stacks and indexing leave their results", () => {
    const code = `
      const place = { device: "cuda" };
      const values = (...shape) => z.randn(shape).to("cuda");
      const storages = (value) => value instanceof z.Tensor ? [value._storage]
        : value instanceof z.TensorDict ? [...value.values(true, true)].flatMap(storages)
        : Array.isArray(value) ? value.flatMap(storages) : [];
      const bytes = (value) => [...new Set(storages(value))].filter((s) => s.kind === "device")
        .reduce((sum, s) => sum + Math.ceil(s.nbytes / 512) * 512, 0);
      const x = values(64, 64), y = values(64, 64);
      const member = () => new z.TensorDict({ a: values(8, 512) }, [8]);
      const stack = z.tensordict.lazyStack([member(), member()]);
      const calls = {
        allclose: () => x.allclose(y), nonzero: () => x.nonzero(), mask: () => x.at(x.gt(0)), equal: () => x.equal(y),
        logsumexp: () => x.logsumexp(0), softmax: () => x.t().softmax(0), argmax: () => x.t().argmax(),
        norm: () => x.norm(3), take: () => x.t().take(z.zeros(64, 64).long().to("cuda")),
        sum: () => stack.sum(), mean: () => stack.mean(0), clone: () => stack.toTensordict(), norms: () => stack.norm(),
      };
      const left = {};
      for (const [name, call] of Object.entries(calls)) {
        call();
        Bun.gc(true);
        const before = z.cuda.memoryAllocated();
        const result = z.noGrad(call);
        left[name] = z.cuda.memoryAllocated() - before - (typeof result === "object" ? bytes(result) : 0);
      }
      console.log(JSON.stringify(left));`;
    const left = evaluate(code, { ZENSOR_LIBCUDA: driver }) as Record<string, number>;
    const { mask, take, ...others } = left;
    // The operands that the program made itself are its own.
    expect(mask).toBeLessThanOrEqual(64 * 64);
    expect(take).toBeLessThanOrEqual(64 * 64 * 8);
    expect(Object.entries(others).filter(([, n]) => n > 4096)).toEqual([]);
  }, 60_000);

  test("a scope leaves to the collector what goes over, and gives back the rest at its end", () => {
    const code = `
      const make = () => z.empty(2 ** 20, { device: "cuda" });
      make().dispose();
      const of = (work) => {
        Bun.gc(true);
        const before = z.cuda.memoryAllocated();
        z.cuda.resetPeakMemoryStats();
        work();
        return [z.cuda.maxMemoryAllocated() - before, z.cuda.memoryAllocated() - before].map((n) => n / 2 ** 20);
      };
      const loop = (n) => { for (let i = 0; i < n; i++) make(); };
      const plain = of(() => loop(1000));
      const scoped = of(() => z.scope(() => loop(1000)));
      const small = of(() => z.scope(() => loop(6)));
      console.log(JSON.stringify([plain, scoped, small]));`;
    type Found = [plain: [number, number], scoped: [number, number], small: [number, number]];
    const [plain, scoped, small] = evaluate(code, { ZENSOR_LIBCUDA: driver }) as Found;
    expect(scoped[0]).toBeLessThanOrEqual(plain[0] + 32 + 64);
    expect(scoped[0]).toBeLessThan(2000);
    expect(small).toEqual([24, 0]);
  }, 60_000);
});
