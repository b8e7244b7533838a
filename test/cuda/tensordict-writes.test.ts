// Writes into parts of TensorDicts on a device, and arithmetic in place: what both find out before they write, they
// find without the device.
import { describe, expect, test } from "bun:test";
import { emulated } from "./standin-driver.ts";
import { value as evaluated } from "./tensordict-child.ts";

const HEAD = `
  const { TensorDict, NonTensorStack, ones, zeros, arange, tensor, cuda } = z;
  const D = "cuda:1";
  class Pair extends z.tensorclass({ a: z.Tensor, n: z.Tensor }) {}
  const text = (f) => { try { f(); return null; } catch (e) { return e.message; } };
  const list = (x) => JSON.parse(JSON.stringify(x.tolist(), (_, v) => (typeof v === "bigint" ? Number(v) : v)));
  const make = (device = D) => new TensorDict({ a: zeros(3), n: { b: zeros(3, { dtype: "int64" }) } }, [3], { device });
  const part = (n, device = D) => new TensorDict({ a: arange(1, n + 1).float(), n: { b: arange(1, n + 1) } }, [n],
    { device });
  const both = (td) => [list(td.get("a")), list(td.get(["n", "b"])), String(td.get("a").device)];
`;

const value = (body: string): unknown => evaluated(HEAD, body);

describe.if(emulated)("writing into a part of a TensorDict on a device", () => {
  const INDICES = `{
    mask: (d) => tensor([true, false, true]).to(d), list: (d) => tensor([0n, 2n]).to(d), array: () => [[0, 2]],
    back: (d) => [tensor([-3n, -1n]).to(d)], bytes: (d) => tensor([1, 0, 1], { dtype: "uint8" }).to(d),
    slice: () => "0:3:2" }`;

  test("by lists and masks of the device or the CPU, whatever it is that is written, from whatever device", () => {
    const body = `
      const wrong = [];
      const check = (what, td, a, b) => {
        const seen = JSON.stringify(both(td));
        if (seen !== JSON.stringify([a, b, D])) wrong.push(what + " " + seen);
      };
      for (const [name, index] of Object.entries(${INDICES})) for (const at of ["cpu", D]) {
        const run = (what, write, a = [1, 0, 2], b = a) => {
          const td = make();
          write(td, index(at));
          check([name, at, what], td, a, b);
        };
        // One value is filled in, which is refused through a mask of bytes.
        const refused = (td, i, write) => {
          try { write(td, i); wrong.push([name, at, "taken"].join()); } catch (e) {
            if (!e.message.startsWith("masked_fill_ only supports boolean masks")) throw e;
          }
        };
        const single = (what, write, ...rest) => name === "bytes"
          ? run(what, (td, i) => refused(td, i, write), [0, 0, 0]) : run(what, write, ...rest);
        for (const from of ["cpu", "cuda:0", D]) {
          run("tree of " + from, (td, i) => td.setAt(i, part(2, from)));
          run("locked, " + from, (td, i) => td.lock_().setAt(i, part(2, from)));
          run("dictionary of " + from, (td, i) => td.setAt(i, part(2, from).toDict()));
          run("setAt_ of " + from, (td, i) => td.setAt_("a", part(2, from).get("a"), i), [1, 0, 2], [0, 0, 0]);
          run("updateAt_ of " + from, (td, i) => td.updateAt_(part(2, from), i));
          single("one of " + from, (td, i) => td.setAt_("a", tensor(4).to(from), i), [4, 0, 4], [0, 0, 0]);
        }
        single("a number", (td, i) => td.setAt(i, 5), [5, 0, 5]);
      }
      return wrong;`;
    expect(value(body)).toEqual([]);
  }, 60_000);

  test("of stacks, objects of classes, values, and new keys", () => {
    const body = `
      const mask = tensor([true, false, true], { device: D });
      const stack = z.lazyStack([0, 1, 2].map(() => new TensorDict({ a: zeros(2), c: zeros([]) }, [], { device: D })));
      stack.setAt(mask, new TensorDict({ a: ones(2, 2), c: ones(2) }, [2]));
      stack.setAt(tensor([1n], { device: D }), tensor(7, { device: "cuda:0" }));
      stack.setAt(tensor([false, false, false], { device: D }), tensor(9, { device: D }));
      const pair = new Pair({ a: zeros(3), n: zeros(3) }, { batchSize: [3], device: D });
      pair.setAt(mask, new Pair({ a: ones(2), n: ones(2) }, { batchSize: [2] }));
      const words = new TensorDict({ a: zeros(3), s: ["x", "y", "z"] }, [3], { device: D });
      words.setAt(mask, new TensorDict({ a: ones(2), s: ["p", "q"], more: ones(2) }, [2]));
      const big = new TensorDict({ s: Array.from({ length: 2000 }, (_, i) => "s" + i) }, [2000], { device: D });
      const two = tensor([3n, 1n], { device: D });
      return [list(stack.get("a")), list(stack.get("c")), list(pair.a), list(pair.n), list(words.get("a")),
        words.get("s").tolist(), list(words.get("more")), String(words.get("more").device),
        big.at(two).get("s").tolist(), big.gather(0, two).get("s").tolist()];`;
    expect(value(body)).toEqual([
      [
        [1, 1],
        [7, 7],
        [1, 1],
      ],
      [1, 7, 1],
      [1, 0, 1],
      [1, 0, 1],
      [1, 0, 1],
      ["p", "y", "q"],
      [1, 0, 1],
      "cuda:1",
      ["s3", "s1"],
      ["s3", "s1"],
    ]);
  });

  test("stacks on the CPU are indexed where another device is the default", () => {
    const body = `
      const rows = [0, 1, 2].map(() => new TensorDict({ a: zeros(2), s: "x" }, []));
      const stack = z.lazyStack(rows.map((row) => new TensorDict({ a: row.get("a") }, [2])));
      const words = new TensorDict({ s: new NonTensorStack("a", "b", "c") }, [3]);
      const last = tensor([2n, 0n]);
      z.setDefaultDevice(D);
      stack.setAt([[0, 2], [1, 0]], 5);
      stack.setAt(tensor([[false, false], [true, true], [false, false]], { device: "cpu" }),
        new TensorDict({ a: tensor([1, 2]) }, [2], { device: "cpu" }));
      stack.setAt_("a", [[7], [8]], ["1:3", "1:"]);
      words.setAt([[1]], new TensorDict({ s: new NonTensorStack("z") }, [1]));
      const seen = [list(stack.get("a")), stack.at([[2, 0], [1, 0]]).get("a").tolist(), words.get("s").tolist(),
        words.gather(0, last).get("s").tolist(), String(stack.get("a").device)];
      z.setDefaultDevice(null);
      return seen;`;
    expect(value(body)).toEqual([
      [
        [0, 5],
        [1, 7],
        [5, 8],
      ],
      [8, 0],
      ["a", "z", "c"],
      ["c", "a"],
      "cpu",
    ]);
  });

  test("one value for the elements of a mask does not wait for the device, nor does a list", () => {
    const body = `
      const mask = tensor([true, false, true]).to(D);
      const some = tensor([0n, 2n]).to(D);
      const [left, right] = [part(2), make()];
      return cuda.device(1, () => {
        cuda.synchronize();
        const idle = [];
        const run = (write) => { write(make()); idle.push(cuda.currentStream().query()); };
        run((td) => td.setAt(mask, 5));
        run((td) => td.setAt(some, 5));
        run((td) => td.setAt(some, left));
        run((td) => td.mul_(tensor(2, { device: D }).long()));
        return idle;
      });`;
    expect(value(body)).toEqual([false, false, false, false]);
  });

  test("all of it or nothing: entries on several devices, or without one", () => {
    const body = `
      const td = () => new TensorDict({ a: zeros(3).cuda(0), b: zeros(3).cuda(1), c: zeros(3) }, [3]);
      const tried = (write) => {
        const one = td();
        return [text(() => write(one)), ...["a", "b", "c"].map((key) => list(one.get(key)))];
      };
      const first = tensor([0n]);
      return [tried((x) => x.setAt(first.cuda(), 5)), tried((x) => x.setAt(first, ones(1).cuda())),
        tried((x) => x.add_(tensor(1, { device: "cuda:0" }))), tried((x) => x.add_(ones(3).cuda())),
        tried((x) => x.setAt(first, 5)), tried((x) => x.setAt(first, tensor(6, { device: D }))),
        tried((x) => x.setAt("0:1", tensor(7, { device: D }))), tried((x) => x.add_(tensor(1)))];`;
    const devices = (a: string, b: string) =>
      `Expected all tensors to be on the same device, but found at least two devices, ${a} and ${b}!`;
    const none = [
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ];
    const all = (n: number) => [null, [n, 0, 0], [n, 0, 0], [n, 0, 0]];
    expect(value(body)).toEqual([
      [devices("cuda:1", "cuda:0"), ...none],
      [devices("cuda:1", "cuda:0"), ...none],
      [devices("cuda:1", "cuda:0"), ...none],
      [devices("cuda:1", "cuda:0"), ...none],
      all(5),
      all(6),
      all(7),
      [null, [1, 1, 1], [1, 1, 1], [1, 1, 1]],
    ]);
  });
});

describe.if(emulated)("arithmetic in place on a device", () => {
  test("with a tensor of one number, of every dtype", () => {
    const body = `
      const ops = { add_: [4, 5], sub_: [0, 1], mul_: [4, 6], pow_: [4, 9], remainder_: [0, 1], fmod_: [0, 1],
        maximum_: [2, 3], minimum_: [2, 2], clampMin_: [2, 3], clampMax_: [2, 2] };
      const wrong = [];
      for (const dtype of ["float32", "float16", "int64", "int32"]) for (const [name, want] of Object.entries(ops)) {
        const entry = () => tensor([2, 3]).to(dtype).to(D);
        const trees = [new TensorDict({ a: entry(), n: { b: entry() } }, [2], { device: D }),
          z.lazyStack([new TensorDict({ a: entry() }, [2]), new TensorDict({ a: entry() }, [2])], 1),
          new Pair({ a: entry(), n: entry() }, { batchSize: [2] })];
        for (const [i, td] of trees.entries()) {
          td[name](tensor(2).to(dtype).to(D));
          const seen = list(td.get("a"));
          const flat = i === 1 ? seen.map((row) => row[1]) : seen;
          if (JSON.stringify(flat) !== JSON.stringify(want)) wrong.push([dtype, name, i, seen]);
        }
      }
      const lerp = new TensorDict({ a: zeros(2), b: zeros(2) }, [], { device: D });
      lerp.lerp_(new TensorDict({ a: ones(2), b: ones(2) }, [], { device: D }), tensor(0.5, { device: D }));
      return [wrong, list(lerp.get("a")), text(() => lerp.add_(tensor(1, { device: "cuda:0" })))];`;
    expect(value(body)).toEqual([
      [],
      [0.5, 0.5],
      "Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!",
    ]);
  });

  test("whole numbers are divided by 0 there as tensors are, and not on the CPU", () => {
    const body = `
      const td = (device) => new TensorDict({ a: tensor([7n, 8n]).to(device), b: tensor([7n, 8n]).to(device) }, [2]);
      return [D, "cpu"].map((d) => text(() => td(d).remainder_(0)));`;
    expect(value(body)).toEqual([null, "ZeroDivisionError"]);
  });
});

describe.if(emulated)("a tensor on a device", () => {
  test("takes a number of another device, and masks of the CPU with gradients", () => {
    const body = `
      const x = zeros(3, { device: D });
      x.setAt("0:2", tensor(5, { device: "cuda:0" }));
      x.setAt(tensor([2n]), tensor(6, { device: "cuda:0" }));
      const y = zeros(3).setAt("1:", tensor(7, { device: D }));
      const w = ones(3, { device: D, requiresGrad: true });
      const g = w.mul(2);
      g.setAt(tensor([true, false, true]), 5);
      g.sum().backward();
      return [x.tolist(), y.tolist(), g.tolist(), w.grad.tolist()];`;
    expect(value(body)).toEqual([
      [5, 5, 6],
      [0, 7, 7],
      [5, 2, 5],
      [0, 2, 0],
    ]);
  });
});
