// Reads and writes at given positions, and masks, on a device: what the CPU gives, bit for bit where sums are exact.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { available, both, expectNoRaces, LAYOUTS, told } from "./both.ts";

/** Numbers that repeat after a while, as positions below `n`. */
const positions = (count: number, n: number, step = 7): z.Tensor => z.arange(count).mul(step).remainder(n);
const ints = (...list: number[]): z.Tensor => z.tensor(list, { dtype: "int64" });
const values = (...shape: number[]): z.Tensor => z.arange(shape.reduce((a, b) => a * b, 1)).view(shape);

const DTYPES = ["float32", "bfloat16", "float16", "float64", "int8", "int16", "int32", "int64", "bool", "complex64"];
const layouts = Object.entries(LAYOUTS);

describe.skipIf(!available)("reads", () => {
  describe.each(layouts)("%s", (_, layout) => {
    test.each(DTYPES)("of %s", (dtype) => {
      const x = values(6, 10, 4)
        .sub(100)
        .to(dtype as "float32");
      both((t) => t.at(ints(5, 0, -1, 0, 3).to(t.device)), [x], layout);
      both((t) => t.indexSelect(1, ints(9, 0, 0, 4).to(t.device)), [x], layout);
      both((t) => t.at(":", [1, 2], [0, 3]), [x], layout);
    });

    test("with index tensors that lie so, too, in two dtypes", () => {
      const x = values(9, 11).float();
      const i = positions(60, 9).view(12, 5);
      const j = positions(60, 11, 5).view(12, 5);
      both((t, a, b) => t.at(a as z.Tensor, (b as z.Tensor).int()), [x, i, j], layout);
      both((t, a) => t.gather(1, (a as z.Tensor).at(":9")), [x, i], layout);
      both((t, a) => t.take(a as z.Tensor), [x, i], layout);
      both((t, a) => t.takeAlongDim((a as z.Tensor).at(":9"), { dim: 1 }), [x, i], layout);
    });
  });

  test.each([1, 2, 3, 4, 8, 16, 17, 24])("rows of %d elements, in units of up to 16 bytes", (n) => {
    for (const dtype of ["uint8", "float16", "float32", "float64", "complex128"] as const) {
      both((t) => t.indexSelect(0, positions(50, 20).to(t.device)), [values(20, n).remainder(120).to(dtype)]);
      both((t) => t.at("1:").indexSelect(0, positions(50, 19).to(t.device)), [values(20, n).remainder(120).to(dtype)]);
    }
  });

  test("of expanded tensors, of conjugates, of nothing", () => {
    both((t) => t.expand(6, 5).at([[1, 5, 0]]), [values(5).float()]);
    both((t) => t.expand(5, 6).gather(1, positions(30, 6).view(5, 6).to(t.device)), [values(5, 1).float()]);
    both((t) => t.conj().at([[2, 0]]), [z.viewAsComplex(values(3, 2).float())]);
    both((t) => t.at(z.zeros(0, { dtype: "int64" }).to(t.device)), [values(4, 3)]);
    both((t) => t.at("0:0").at(":", [1, 1]), [values(4, 3)]);
    both((t) => t.indexSelect(0, z.tensor(0, { dtype: "int64" }).to(t.device)), [z.tensor(5)]);
  });

  test("with more index tensors than most calls have", () => {
    const rows = [0, 1, 1].map((i) => Array.from({ length: 6 }, (_, d) => (i + d) % 2));
    const lists = (t: z.Tensor) => rows[0]?.map((_, d) => ints(...rows.map((r) => r[d] as number)).to(t.device)) ?? [];
    both((t) => t.at(...lists(t)), [values(2, 2, 2, 2, 2, 2)]);
    both((t) => t.indexPut(lists(t), ints(5, 6, 7).to(t.device), true), [values(2, 2, 2, 2, 2, 2)]);
  });

  test("of more elements than a block, and more dimensions than a kernel takes", () => {
    both((t) => t.at(positions(5000, 3001).to(t.device)), [values(3001)]);
    const shape = Array.from({ length: 14 }, () => 2);
    const turned = shape.map((_, i) => (i * 5) % 14);
    both(
      (t) =>
        t
          .view(shape)
          .permute(turned)
          .indexSelect(3, ints(1, 0, 1).to(t.device)),
      [values(2 ** 14)],
    );
  });
});

describe.skipIf(!available)("writes", () => {
  describe.each(layouts)("%s", (_, layout) => {
    test.each(DTYPES)("to %s", (dtype) => {
      const x = values(6, 4).to(dtype as "float32");
      const v = values(5, 4)
        .remainder(3)
        .to(dtype as "float32");
      const i = ints(5, 0, -1, 0, 3);
      for (const add of [false, true])
        both((t, w) => t.clone().indexPut_([i.to(t.device)], w as z.Tensor, add), [x, v], layout);
      if (dtype !== "bool") both((t, w) => t.indexAdd(0, i.remainder(6).to(t.device), w as z.Tensor), [x, v], layout);
      both((t, w) => t.indexCopy(0, i.remainder(6).to(t.device), w as z.Tensor), [x, v], layout);
      both((t) => t.indexFill(1, ints(3, 0).to(t.device), 1), [x], layout);
    });

    test("with a place for each element", () => {
      const x = values(9, 11).float();
      const i = positions(60, 9).view(6, 10);
      const v = values(6, 10).float();
      both((t, a, w) => t.scatter(0, a as z.Tensor, w as z.Tensor), [x, i, v], layout);
      both((t, a, w) => t.scatterAdd(1, a as z.Tensor, w as z.Tensor), [x, i, v], layout);
      both((t, a) => t.scatter(1, a as z.Tensor, 5), [x, i], layout);
      both((t, a) => t.scatter(1, a as z.Tensor, 2, { reduce: "multiply" }), [x, i], layout);
      both((t, a, w) => t.put(a as z.Tensor, w as z.Tensor, true), [x, i, v], layout);
      both((t, a, w) => t.put(a as z.Tensor, w as z.Tensor, false), [x, i, v], layout);
    });
  });

  // A thread combines up to 255 values of a place, a block more; a chunk of 1024 is sorted at once, more in tiles.
  test.each([2, 255, 256, 257, 1023, 1024, 1025, 2049, 5000])("%d values, many for a place", (n) => {
    for (const places of [1, 2, 3, 40, 4000]) {
      const i = positions(n, places, 13);
      both((t) => t.indexAdd(0, i.to(t.device), values(n).to(t.device)), [z.zeros(places, { dtype: "int64" })]);
      both(
        (t) => t.indexPut([i.to(t.device)], values(n, 3).remainder(100).float().to(t.device), true),
        [z.ones(places, 3)],
      );
      both(
        (t) => t.indexPut([i.to(t.device)], values(n, 3).remainder(100).float().to(t.device), false),
        [z.ones(places, 3)],
      );
    }
  });

  test.each([1, 2, 31, 32, 33, 255, 256, 257, 600])("rows of %d elements", (n) => {
    const i = positions(300, 3);
    const v = values(300, n).remainder(1000).float();
    both((t) => t.indexAdd(0, i.to(t.device), v.to(t.device)), [z.ones(3, n)]);
    both((t) => t.indexAdd(1, i.to(t.device), v.t().to(t.device)), [z.ones(n, 3)]);
    both((t) => t.indexCopy(0, i.to(t.device), v.to(t.device)), [z.ones(3, n)]);
  });

  test("the last of several stays, where places are claimed and where they are sorted", () => {
    for (const places of [1, 5, 65_536, 65_537, 200_000]) {
      for (const n of [1, 2, 700, 3000]) {
        const i = positions(n, places, 104_729).remainder(Math.max(1, Math.floor(n / 3)));
        both((t) => t.indexPut([i.to(t.device)], values(n).to(t.device)), [z.zeros(places, { dtype: "int64" })]);
      }
    }
  });

  test("repeated positions, one value for all", () => {
    both(
      (t) => t.expand(5, 7).scatterAdd(0, z.zeros(1, 1, { dtype: "int64" }).expand(5, 7).to(t.device), t.expand(5, 7)),
      [values(7).float()],
    );
    both((t) => t.indexPut([[2, 2, 0]], z.tensor(5).to(t.device), true), [values(4, 3).float()]);
    both(
      (t) =>
        t.indexPut(
          [
            [[0], [2]],
            [1, 1],
          ],
          ints(5, 6).to(t.device),
          true,
        ),
      [values(4, 3)],
    );
  });

  test("positions beyond 32 bits", () => {
    // Of memory that nobody touches the stand-in has enough.
    const far = 2 ** 32 + 5;
    const x = z.empty(far + 3, { dtype: "int8", device: "cuda" });
    const i = ints(far, 3, far + 2, far).to("cuda");
    x.indexPut_([i], z.tensor([1, 2, 3, 4], { dtype: "int8", device: "cuda" }));
    expect(x.at(ints(3, far, far + 2).to("cuda")).tolist()).toEqual([2, 4, 3]);
    x.indexPut_([i], z.tensor([1, 2, 3, 4], { dtype: "int8", device: "cuda" }), true);
    expect(x.at(ints(3, far, far + 2).to("cuda")).tolist()).toEqual([4, 9, 6]);
    expect(x.at(far).item()).toBe(9);
    x.dispose();
  });

  test("sums of floats do not depend on the run", () => {
    const i = positions(20_000, 7).to("cuda");
    const v = z.arange(20_000).mul(0.37).sin().to("cuda");
    const sum = () => z.zeros(7, { device: "cuda" }).indexAdd_(0, i, v).cpu().typedArray();
    const first = sum();
    for (let k = 0; k < 3; k++) expect(sum()).toEqual(first);
    const exact = z.zeros(7, { dtype: "float64" }).indexAdd(0, i.cpu(), v.cpu().double());
    expect(z.allclose(z.tensor([...(first as Float32Array)]), exact.float())).toBe(true);
  });

  test("gradients of reads", () => {
    const run = (device: "cpu" | "cuda") => {
      const x = values(6, 4).float().to(device).requiresGrad_();
      const y = x.at(ints(1, 1, 5, 0, 1).to(device)).mul(values(5, 4).to(device));
      const g = x.gather(1, ints(0, 0, 3, 1).view(2, 2).to(device)).mul(3);
      z.autograd.backward([y, g], [z.ones(5, 4, { device }), z.ones(2, 2, { device })]);
      return (x.grad as z.Tensor).cpu().tolist();
    };
    expect(run("cuda")).toEqual(run("cpu"));
  });
});

describe.skipIf(!available)("masks", () => {
  // A thread takes 8 bytes, a block 2048, and one block adds up 256 tiles at a time.
  test.each([0, 1, 7, 8, 9, 2047, 2048, 2049, 20_000, 600_000])("of %d elements", (n) => {
    const x = values(n).float();
    const mask = z.arange(n).mul(7919).remainder(11).lt(4);
    both((t, m) => t.maskedSelect(m as z.Tensor), [x, mask]);
    both((t, m) => t.at(m as z.Tensor), [x, mask]);
    both((_, m) => (m as z.Tensor).nonzero(), [x, mask]);
    both((t, m) => t.maskedScatter(m as z.Tensor, t.add(0.5)), [x, mask]);
  });

  describe.each(layouts)("%s", (_, layout) => {
    test.each(DTYPES)("over %s", (dtype) => {
      const x = values(6, 5, 7)
        .remainder(100)
        .to(dtype as "float32");
      const mask = values(6, 5, 7).remainder(3).eq(1);
      both((t, m) => t.maskedSelect(m as z.Tensor), [x, mask], layout);
      both((t, m) => t.maskedScatter(m as z.Tensor, t), [x, mask], layout);
      both((t, m) => t.maskedFill(m as z.Tensor, 1), [x, mask], layout);
      both((t) => t.nonzero(), [x], layout);
      both((t, m) => t.clone().setAt([m as z.Tensor], 0), [x, mask], layout);
    });
  });

  test("that are broadcast, all true, all false, without dimensions", () => {
    both((t) => t.maskedSelect(z.tensor([true, false, true]).to(t.device)), [values(4, 3)]);
    for (const all of [true, false]) both((t) => t.maskedSelect(z.full([50], all).to(t.device)), [values(50)]);
    both((t) => t.nonzero(), [z.tensor(3)]);
    both((t) => t.at("1:").nonzero(), [values(4000).remainder(5)]);
    both((t) => t.gt(1).at("3:").nonzero(), [values(4000).remainder(5)]);
  });
});

describe.skipIf(!available)("indices out of range", () => {
  const x = () => values(3, 2).float().to("cuda");
  const at = (...i: number[]) => ints(...i).to("cuda");

  test("are told in the operator's words, the next time that the device is waited for", () => {
    const calls: Record<string, () => unknown> = {
      index: () => x().at(at(1, 5)),
      indexPut: () => x().indexPut([at(1, -4)], z.ones(2, 2, { device: "cuda" })),
      indexSelect: () => x().indexSelect(0, at(3)),
      indexAdd: () => x().indexAdd(1, at(2), z.ones(3, 1, { device: "cuda" })),
      indexCopy: () => x().indexCopy(0, at(7), z.ones(1, 2, { device: "cuda" })),
      gather: () => x().gather(0, at(3).view(1, 1)),
      scatter: () => x().scatter(0, at(-1).view(1, 1), 1),
      take: () => x().take(at(6)),
      put: () => x().put(at(-7), z.ones(1, { device: "cuda" })),
      searchsorted: () => z.searchsorted(at(1, 2), at(1), { sorter: at(0, 2) }),
    };
    for (const [name, call] of Object.entries(calls)) {
      expect([name, told(call)]).toEqual([name, WORDS[name] as never]);
      // Once: the device goes on.
      expect(told(() => x().add(1))).toBeNull();
    }
  });

  const WORDS: Record<string, { name: string; message: string }> = {
    index: { name: "IndexError", message: "index 5 is out of bounds for dimension 0 with size 3" },
    indexPut: { name: "IndexError", message: "index -4 is out of bounds for dimension 0 with size 3" },
    indexSelect: { name: "IndexError", message: "index out of range in self" },
    indexAdd: { name: "IndexError", message: "index out of range in self" },
    indexCopy: { name: "IndexError", message: "index_copy_(): index 7 is out of bounds for dimension 0 with size 3" },
    gather: { name: "RuntimeError", message: "index 3 is out of bounds for dimension 0 with size 3" },
    scatter: { name: "RuntimeError", message: "index -1 is out of bounds for dimension 0 with size 3" },
    take: { name: "IndexError", message: "out of range: tried to access index 6 on a tensor of 6 elements." },
    put: { name: "IndexError", message: "out of range: tried to access index -7 on a tensor of 6 elements." },
    searchsorted: { name: "RuntimeError", message: "torch.searchsorted(): sorter index out of range" },
  };

  test.each([
    ["a copy to the host", (t: z.Tensor) => t.cpu()],
    ["a number", (t: z.Tensor) => t.at(0, 0).item()],
    ["a count", (t: z.Tensor) => t.nonzero()],
    ["a comparison", (t: z.Tensor) => z.equal(t, t.add(1))],
    ["text", (t: z.Tensor) => String(t)],
  ])("are found by %s", (_, wait) => {
    const wrong = x().at(at(1, 9));
    expect(() => wait(wrong)).toThrow("index 9 is out of bounds for dimension 0 with size 3");
    expect(() => wait(x())).not.toThrow();
  });

  test("leave out what they would write, and nothing else", () => {
    const t = z.zeros(4, { device: "cuda" });
    t.indexPut_([at(1, 100, 3, -100)], ints(1, 2, 3, 4).float().to("cuda"));
    expect(() => z.cuda.synchronize()).toThrow(/index -?100 is out of bounds for dimension 0 with size 4/);
    expect(t.tolist()).toEqual([0, 1, 0, 3]);
  });

  test("of many one is told", () => {
    const [t, wrong] = [x(), at(...Array(3000).fill(4))];
    for (let i = 0; i < 5; i++) t.at(wrong);
    expect(() => z.cuda.synchronize()).toThrow("index 4 is out of bounds");
    expect(() => z.cuda.synchronize()).not.toThrow();
  });
});

if (available) expectNoRaces();
