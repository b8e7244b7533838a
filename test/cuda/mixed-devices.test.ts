// Operands on several devices: single elements that torch reads wherever they are, and the words in which it refuses
// the others. Emulated by the stand-in driver with two devices.
import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

const HEAD = `
  const on = (device) => {
    const x = z.tensor([1, 2, 3], { device });
    const index = z.tensor([0n, 2n], { device });
    return { x, index, mask: z.tensor([true, false, true], { device }), one: z.tensor(7, { device }) };
  };
  const [cpu, gpu, other] = ["cpu", "cuda:0", "cuda:1"].map(on);
  const text = (f) => { try { f(); return null; } catch (e) { return e.name + ": " + e.message; } };
`;

const value = (body: string): unknown =>
  evaluate(`${HEAD} const f = () => { ${body} }; console.log(JSON.stringify(f()))`, {
    ZENSOR_LIBCUDA: driver,
    ZENSOR_STANDIN: "devices=2",
  });

describe.if(emulated)("a single element of another device", () => {
  test("is read by what takes values, and its gradient goes back there", () => {
    const body = `
      const seen = [];
      for (const [{ x, index, mask }, { one }] of [[cpu, gpu], [gpu, other], [other, gpu], [gpu, cpu]]) {
        const set = x.clone();
        set.setAt(mask, one);
        const results = [x.clone().fill_(one), x.indexFill(0, index, one), x.clone().indexPut_([index], one), set];
        if (x.isCuda) results.push(x.maskedFill(mask, one), z.where(mask, one, x), x.clone().maskedFill_(mask, one));
        for (const r of results) seen.push(r.device === x.device, r.tolist().join());
        const p = one.clone().requiresGrad_();
        x.indexFill(0, index, p).add(x.indexPut([index], p)).sum().backward();
        seen.push(p.grad.device === one.device, p.grad.item());
      }
      const single = cpu.one.clone();
      single.fill_(gpu.one.mul(2));
      const right = seen.filter((s) => s === true).length;
      return [seen.filter((s) => s !== true), right, single.item(), String(single.device)];`;
    const some = ["7,7,7", "7,2,7", "7,2,7", "7,2,7"];
    const all = [...some, "7,2,7", "7,2,7", "7,2,7", 4];
    expect(value(body)).toEqual([[...some, 4, ...all, ...all, ...all], 5 + 3 * 8, 14, "cpu"]);
  });

  test("is refused elsewhere, and what is larger everywhere", () => {
    const body = `
      return [() => cpu.x.add(gpu.one), () => cpu.x.maskedFill(cpu.mask, gpu.one),
        () => cpu.x.fill_(z.empty([], { device: "meta" })),
        () => gpu.x.indexPut_([gpu.index], other.x.at("0:2"))].map(text);`;
    expect(value(body)).toEqual([
      "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
      "RuntimeError: masked_fill_: Expected inputs to be on same device",
      "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!",
      "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!",
    ]);
  });
});

test.if(emulated)("what is refused is said in torch's words", () => {
  const body = `
    const same = [() => cpu.x.add(gpu.x), () => gpu.x.add(cpu.x), () => cpu.x.mul(other.x), () => gpu.x.lt(other.x),
      () => z.add(cpu.x, cpu.x, { out: gpu.x.clone() }), () => cpu.x.clone().mul_(gpu.x)];
    const own = [() => cpu.x.at(gpu.index), () => gpu.x.at(other.mask), () => cpu.x.clone().setAt(gpu.index, 1),
      () => gpu.x.maskedFill(cpu.mask, 1), () => cpu.x.maskedFill(gpu.mask, 1), () => z.quantile(gpu.x, cpu.one),
      () => z.quantile(gpu.x, 0.5, { out: z.empty(0) })];
    const found = "Expected all tensors to be on the same device, but found at least two devices, ";
    return [same.map((f) => text(f).split(found)[1]), own.map(text)];`;
  expect(value(body)).toEqual([
    [
      "cuda:0 and cpu!",
      "cuda:0 and cpu!",
      "cuda:1 and cpu!",
      "cuda:0 and cuda:1!",
      "cuda:0 and cpu!",
      "cuda:0 and cpu!",
    ],
    [
      "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
      "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cuda:0)",
      "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
      "RuntimeError: expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
      "RuntimeError: expected self and mask to be on the same device, but got mask on cuda:0 and self on cpu",
      "RuntimeError: quantile() q tensor must be on the same device as the input tensor",
      "RuntimeError: quantile() out tensor must be on the same device as the input tensor",
    ],
  ]);
});
