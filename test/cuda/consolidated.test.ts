// Consolidated TensorDicts on devices, emulated: one block there, moved, saved and loaded as one.
import { describe, expect, test } from "bun:test";
import { emulated } from "./standin-driver.ts";
import { value as evaluated } from "./tensordict-child.ts";

const HEAD = `
  const { dlopen, FFIType, ptr } = await import("bun:ffi");
  const { zsStandinCounter: count } = dlopen(process.env.ZENSOR_LIBCUDA, {
    zsStandinCounter: { args: [FFIType.ptr], returns: FFIType.u64_fast } }).symbols;
  const copies = (body) => { const before = Number(count(ptr(Buffer.from("copies\\0")))); const made = body();
    return [Number(count(ptr(Buffer.from("copies\\0")))) - before, made]; };
  const { TensorDict, arange, ones, zeros, tensor, cuda } = z;
  const td = (device = null) => new TensorDict({ a: arange(3).byte(), n: { b: ones(3, 2).add(1).t(), v: "x" },
    c: arange(4).view(2, 2).to("complex128"), e: zeros(0, 2), s: ones(1).expand(3) }, [], { device });
  const tensors = (t) => [t.get("a"), t.get(["n", "b"]), t.get("c"), t.get("e"), t.get("s")];
  const values = (t) => JSON.stringify(tensors(t).map((x) => x.tolist())) === JSON.stringify(tensors(td()).map((x) =>
    x.tolist()));
  const text = (f) => { try { f(); return null; } catch (e) { return e.message; } };
  /** Where it is, whether all lies in one block, whether the values are those of td(). */
  const seen = (t) => [String(t.device), String(t.get("n").device), [...new Set(tensors(t).map((x) =>
    String(x.device)))].join(), new Set(tensors(t).map((x) => x._storage)).size, t.isConsolidated(), t.isLocked,
    values(t), t.get(["n", "v"]).data];
`;

const value = (body: string): unknown => evaluated(HEAD, body);

const at = (device: string, level = device, locked = true) => [level, level, device, 1, true, locked, true, "x"];

describe.if(emulated)("a consolidated TensorDict", () => {
  test("is made where the collection is, or where it is asked for", () => {
    const body = `
      const onto = td("cuda:1");
      const same = onto.consolidate({ inplace: true });
      const back = td("cuda").consolidate({ device: "cpu", inplace: true });
      return [seen(td("cuda").consolidate()), seen(td().consolidate({ device: "cuda:1" })),
        seen(td("cuda:0").consolidate({ device: "cuda:1" })), same === onto, seen(onto), seen(back),
        seen(td("cuda").consolidate({ shareMemory: true }))];`;
    expect(value(body)).toEqual([
      at("cuda:0"),
      at("cuda:1", "null"),
      at("cuda:1"),
      true,
      at("cuda:1"),
      at("cpu"),
      at("cuda:0"),
    ]);
  });

  test("goes to a device and back as one block", () => {
    const body = `
      const [there, gpu] = copies(() => td().consolidate().to("cuda"));
      const [across, other] = copies(() => gpu.to("cuda:1"));
      const [back, cpu] = copies(() => other.cpu());
      const own = td().consolidate();
      const same = own.to("cuda", { inplace: true }) === own;
      gpu.get("a").fill_(9);
      return [there, seen(other), across, seen(cpu), back, same, seen(own), gpu.to("cuda") === gpu,
        cpu.get("a").tolist(), gpu.to("float32").isConsolidated()];`;
    expect(value(body)).toEqual([1, at("cuda:1"), 1, at("cpu"), 1, true, at("cuda:0"), true, [0, 1, 2], false]);
  });

  test("one whose tensors lie elsewhere by now is moved tensor by tensor", () => {
    const body = `
      const one = td().consolidate();
      one.get("a").set_(ones(5, { dtype: "uint8" }));
      const moved = one.to("cuda");
      const two = td().consolidate();
      const b = two.get(["n", "b"]).requiresGrad_();
      const graph = two.to("cuda");
      graph.get(["n", "b"]).sum().backward();
      return [moved.get("a").tolist(), moved.isConsolidated(), moved.get("c").tolist().length, b.grad.tolist()];`;
    expect(value(body)).toEqual([
      [1, 1, 1, 1, 1],
      false,
      2,
      [
        [1, 1, 1],
        [1, 1, 1],
      ],
    ]);
  });

  test("elements of sixteen bytes where eight fit, views that are given up one by one", () => {
    const body = `
      const odd = () => new TensorDict({ u: tensor([7]).byte(), c: tensor([1, 2]).to("complex128") }, []);
      const block = odd().consolidate({ device: "cuda" });
      block.get("c").mul_(2);
      const moved = block.to("cuda:1");
      const before = cuda.memoryAllocated(1);
      const c = moved.get("c");
      moved.get("u").dispose();
      const kept = cuda.memoryAllocated(1);
      const list = c.cpu().real.tolist();
      c.dispose();
      return [block.isConsolidated(), moved.isConsolidated(), list, kept - before, before - cuda.memoryAllocated(1),
        odd().consolidate().to("cuda").get("c").real.tolist()];`;
    expect(value(body)).toEqual([true, true, [2, 4], 0, 512, [1, 2]]);
  });

  test("files: written from a device, loaded to one in one piece", () => {
    const body = `
      const path = dir + "/one.td";
      const written = td("cuda").consolidate({ filename: path });
      const own = td("cuda");
      own.consolidate({ filename: dir + "/own.td", inplace: true });
      const [count, there] = copies(() => z.fromConsolidated(path, { device: "cuda" }));
      const gpu = td("cuda").consolidate();
      z.save(gpu, dir + "/a.pt");
      gpu.memmap(dir + "/tree");
      z.save(td("cuda"), dir + "/b.pt");
      const plain = z.load(dir + "/b.pt", { device: "cuda:1" });
      return [String(written.device), String(written.get("a").device), values(written), String(own.device),
        values(own), count, seen(there), seen(z.load(dir + "/a.pt")), seen(z.load(dir + "/a.pt", { device: "cuda:1" })),
        values(z.loadMemmap(dir + "/tree")), String(plain.device), String(plain.get("n").device), values(plain),
        text(() => td().consolidate({ filename: path, device: "cuda" }))];`;
    expect(value(body)).toEqual([
      "cpu",
      "cpu",
      true,
      "null",
      true,
      1,
      at("cuda:0", "cuda:0", false),
      at("cpu", "cpu", false),
      at("cuda:1", "cuda:1", false),
      true,
      "cuda:1",
      "cuda:1",
      true,
      "device and filename are mutually exclusive arguments.",
    ]);
  });

  test("lazy stacks, tensors on several devices, what was consolidated already", () => {
    const body = `
      const lazy = z.lazyStack([new TensorDict({ x: ones(2).cuda(1) }, []), new TensorDict({ x: zeros(3) }, [])]);
      const block = lazy.consolidate({ device: "cuda" });
      const [first, second] = block.members.map((m) => m.get("x"));
      const mixed = new TensorDict({ a: ones(2).cuda(0).add(1), b: ones(2).cuda(1).add(2), c: ones(2) }, []);
      const back = mixed.cpu();
      const gpu = td("cuda").consolidate();
      const told = [];
      process.emitWarning = (w) => void told.push(String(w.message ?? w));
      const again = gpu.consolidate({ device: "cpu" }) === gpu;
      return [first._storage === second._storage, first.tolist(), second.tolist(), block.isConsolidated(),
        block.to("cuda:1").members.map((m) => String(m.device)), back.get("a").tolist(), back.get("b").tolist(),
        again, told.length, told[0]?.startsWith("consolidate() ignores device='cpu'")];`;
    expect(value(body)).toEqual([true, [1, 1], [0, 0, 0], true, ["cuda:1", "cuda:1"], [2, 2], [3, 3], true, 1, true]);
  });
});
