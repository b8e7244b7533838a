// Gradients of what stands beside tensors of another device, and streams after an error. Emulated by the stand-in.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary, emulated } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const cuda = { device: "cuda" } as const;
const placed = (t: z.Tensor | null | undefined): unknown => [String(t?.device), t?.tolist()];

describe.if(available)("gradients", () => {
  const onGpu = () => z.tensor([1, 2, 3], cuda);

  test("of a single element on the CPU come back to it", () => {
    const p = z.tensor(2, { requiresGrad: true });
    const seen: string[] = [];
    p.registerHook((g) => void seen.push(String(g.device)));
    for (const use of [() => onGpu().mul(p), () => p.div(onGpu()), () => z.atan2(p, onGpu().mul(0))]) {
      p.grad = null;
      use().sum().backward();
      expect(placed(p.grad)).toEqual(["cpu", expect.any(Number)]);
    }
    expect(seen).toEqual(["cpu", "cpu", "cpu"]);
    p.grad = z.tensor(1);
    onGpu().mul(p).sum().backward();
    expect(placed(p.grad)).toEqual(["cpu", 7]);
    expect(z.autograd.grad(onGpu().mul(p).sum(), p).map(placed)).toEqual([["cpu", 6]]);
  });

  test("of what such an element was made of have its sizes and device", () => {
    const w = z.tensor([1, 2, 3], { requiresGrad: true });
    const wanted: [(t: z.Tensor) => z.Tensor, number[]][] = [
      [(t) => t.mean(), [2, 2, 2]],
      [(t) => t.var(), [-6, 0, 6]],
      [(t) => t.at(1), [0, 6, 0]],
      [(t) => t.dot(t), [12, 24, 36]],
    ];
    for (const [single, gradient] of wanted) {
      w.grad = null;
      onGpu().mul(single(w)).sum().backward();
      expect(placed(w.grad)).toEqual(["cpu", gradient]);
    }
  });

  test("of gradients do so too", () => {
    const p = z.tensor(2, { requiresGrad: true });
    const [first] = z.autograd.grad(onGpu().mul(p.pow(3)).sum(), p, { createGraph: true }) as [z.Tensor];
    expect(placed(first.detach())).toEqual(["cpu", 72]);
    first.backward();
    expect(placed(p.grad)).toEqual(["cpu", 72]);
  });

  test("to start from may be single elements of another device, and nothing larger", () => {
    const x = z.ones(2, { ...cuda, requiresGrad: true });
    x.mul(3).sum().backward(z.tensor(2));
    expect(placed(x.grad)).toEqual(["cuda:0", [6, 6]]);
    const wrong = "invalid gradient at index 0 - expected device cuda:0 but got cpu";
    expect(() => x.mul(3).backward(z.ones(2))).toThrow(wrong);
    const gone = z.ones(2, cuda);
    gone.dispose();
    expect(() => x.mul(3).backward(gone)).toThrow(z.errors.DisposedError);
  });

  test("of another device that a hook gives are refused", () => {
    const x = z.ones(2, { ...cuda, requiresGrad: true });
    const y = x.mul(2);
    y.registerHook((g) => g.cpu());
    const changed = "hook '<lambda>' has changed the type of value (was torch.cuda.FloatTensor got torch.FloatTensor)";
    expect(() => y.sum().backward()).toThrow(changed);
  });

  test("of tensors that were disposed say so", () => {
    const a = z.ones(2, { ...cuda, requiresGrad: true });
    const w = z.ones(2, cuda);
    const y = a.mul(w).sum();
    w.dispose();
    expect(() => y.backward()).toThrow(z.errors.DisposedError);
    expect(() => z.ones(2, cuda).add(w)).toThrow(z.errors.DisposedError);
    expect(() => w.add(z.ones(2, cuda))).toThrow(z.errors.DisposedError);
  });
});

test.if(emulated)("the current stream is the caller's after an error at the start of a backward pass", () => {
  const code = `
    const side = new z.cuda.Stream();
    const w = z.ones(3_000_000, { device: "cuda", requiresGrad: true });
    const y = z.cuda.stream(side, () => w.mul(2));
    const ones = [1, 1].map(() => z.ones(3_000_000, { device: "cuda" }));
    z.cuda.emptyCache();
    z.cuda.setPerProcessMemoryFraction(0);
    const { name } = caught(() => z.autograd.backward([y, y], ones));
    console.log(JSON.stringify([name, z.cuda.currentStream().cudaStream]))`;
  expect(evaluate(code, { ZENSOR_LIBCUDA: driverLibrary() })).toEqual(["OutOfMemoryError", 0]);
});
