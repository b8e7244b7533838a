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

test.if(emulated)("operators whose functions compare devices name the function and the argument", () => {
  const body = `
    const m = [cpu, gpu].map(({ x }) => x.reshape(1, 3));
    const at = { cpu: z.tensor([[0n]]), gpu: z.tensor([[0n]], { device: "cuda:0" }) };
    const layer = new z.nn.Linear(3, 2).to("cuda:0");
    const found = /but got (.*) is on (.*), different from other tensors on (.*) \\(.* in method wrapper_CUDA_(.*)\\)$/;
    const rest = (e) => e.match(found)?.slice(1).join(" ") ?? e;
    const calls = [() => z.mm(m[1], m[0].t()), () => z.mm(m[0], m[1].t()),
      () => z.mm(m[1], m[1].t(), { out: z.empty(1, 1) }), () => layer.forward(m[0]),
      () => new z.nn.Linear(3, 2).forward(m[1]), () => m[1].takeAlongDim(at.cpu, 1), () => z.cat([gpu.x, cpu.x]),
      () => z.stack([cpu.x, gpu.x]), () => m[1].gather(1, at.cpu), () => m[1].scatter(1, at.cpu, m[1]),
      () => m[1].clone().scatter_(1, at.cpu, 2), () => m[1].scatterAdd(1, at.gpu, m[0]),
      () => gpu.x.indexSelect(0, cpu.index), () => gpu.x.clone().indexAdd_(0, cpu.index, gpu.x.at("0:2")),
      () => gpu.x.take(cpu.index), () => gpu.x.maskedSelect(cpu.mask), () => z.isin(gpu.x, cpu.x),
      () => gpu.x.equal(cpu.x), () => gpu.x.dot(cpu.x), () => gpu.x.amax(0, { out: cpu.x.clone() }),
      () => z.searchsorted(gpu.x, cpu.x), () => gpu.x.indexFill(0, cpu.index, 1),
      () => z.addcmul(gpu.x, cpu.one, cpu.one)];
    return calls.map((f) => rest(text(f) ?? "taken"));`;
  expect(value(body)).toEqual([
    "mat2 cpu cuda:0 mm",
    "mat2 cuda:0 cpu mm",
    "self cuda:0 cpu mm_out_out",
    "mat1 cpu cuda:0 addmm",
    "mat1 cuda:0 cpu addmm",
    "index cpu cuda:0 gather",
    "tensors cpu cuda:0 cat",
    "tensors cuda:0 cpu cat",
    "index cpu cuda:0 gather",
    "index cpu cuda:0 scatter_src",
    "index cpu cuda:0 scatter__value",
    "src cpu cuda:0 scatter_add",
    "index cpu cuda:0 _index_select",
    "index cpu cuda:0 index_add_",
    "index cpu cuda:0 _take",
    "mask cpu cuda:0 _masked_select",
    "test_elements cpu cuda:0 isin_Tensor_Tensor",
    "other cpu cuda:0 _equal",
    "tensor cpu cuda:0 _dot",
    "self cuda:0 cpu amax_out_out",
    "self cpu cuda:0 Tensor_searchsorted",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "RuntimeError: Trying to pass too many CPU scalars to non-CPU kernel!",
  ]);
});

test.if(emulated)("indices that are lists and indices of an index may be written anywhere", () => {
  const body = `
    const { x } = gpu;
    return [x.indexSelect(0, [2, 0]), x.take([1]), x.gather(0, [0, 0]), x.scatter(0, [1], 9), x.indexFill(0, [0], 5),
      x.at(cpu.index), x.at([[0, 1]]), x.at(cpu.mask)].map((r) => [String(r.device), r.tolist().join()].join(" "));`;
  expect(value(body)).toEqual([
    "cuda:0 3,1",
    "cuda:0 2",
    "cuda:0 1,1",
    "cuda:0 1,9,3",
    "cuda:0 5,2,3",
    "cuda:0 1,3",
    "cuda:0 1,2",
    "cuda:0 1,3",
  ]);
});
