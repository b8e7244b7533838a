// What is computed of elements: statistics, differences, other dtypes, piece by piece.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareElements, type Tolerance } from "../../src/cli/elements.ts";
import { indexAt, numberText, pieces } from "../../src/cli/pieces.ts";
import { statisticsOf } from "../../src/cli/stats.ts";
import { arange, complex64, manualSeed, nn, ones, randn, tensor, zeros } from "../../src/index.ts";
import { loadSafetensors, saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { dtypes as allDtypes, type DType } from "../../src/tensor/dtype.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-numbers-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const at = (name: string) => join(dir, name);
const EXACT: Tolerance = { atol: 0, rtol: 0, exact: false };

describe("pieces", () => {
  test.each([[[0, 3]], [[]], [[7]], [[2, 3]], [[3, 5, 7]], [[2, 0, 3]], [[1, 1, 11]], [[5, 1, 3, 2]]] as const)(
    "of [%p] are all elements in order",
    (shape) => {
      const whole = arange((shape as readonly number[]).reduce((product, n) => product * n, 1)).view(
        ...(shape as readonly number[]),
      );
      const turned = whole.clone().transpose(0, -1 as never);
      for (const most of [1, 2, 3, 4, 7, 1000]) {
        for (const t of shape.length > 1 ? [whole, turned] : [whole]) {
          const flat: unknown[] = [];
          for (const piece of pieces(t.shape, most)) {
            const part = piece.of(t);
            expect([piece.begin, part.ndim, part.numel() <= most]).toEqual([flat.length, 1, true]);
            flat.push(...(part.tolist() as unknown[]));
          }
          expect(flat).toEqual(t.reshape(-1).tolist() as unknown[]);
        }
      }
    },
  );
  test("places", () => {
    expect(indexAt(0, [])).toEqual([]);
    expect(indexAt(23, [2, 3, 4])).toEqual([1, 2, 3]);
    expect(indexAt(5, [2, 3, 4])).toEqual([0, 1, 1]);
  });
  test("numbers for people", () => {
    const all = [0, -1, 2 ** 53, 1 / 3, 1e-9, 2.5, 1e300, 100000.25, 123456789.5];
    expect(all.map(numberText)).toEqual([
      "0",
      "-1",
      "9.0072e+15",
      "0.333333",
      "1e-9",
      "2.5",
      "1e+300",
      "100000",
      "1.23457e+8",
    ]);
  });
});

describe("statistics", () => {
  manualSeed(5);
  const real = allDtypes.filter((dtype) => !dtype.isComplex);
  test.each(real.map((dtype) => [dtype.name, dtype] as const))("%s", async (_, dtype) => {
    const values = randn(37, 11).mul(20).abs();
    const t = dtype.name === "bool" ? values.gt(10) : values.to(dtype);
    const numbers = (t.to("float64").reshape(-1).tolist() as number[]).slice();
    const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
    const squares = numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0);
    for (const one of [t, t.t()]) {
      const found = await statisticsOf(one);
      expect(found).toMatchObject({
        count: 407,
        min: Math.min(...numbers),
        max: Math.max(...numbers),
        nan: 0,
        inf: 0,
        zero: numbers.filter((x) => x === 0).length,
      });
      expect(found?.mean as number).toBeCloseTo(mean, 10);
      expect(found?.std as number).toBeCloseTo(Math.sqrt(squares / 406), 10);
    }
  });
  test("of more than a piece, as torch has them", async () => {
    const t = randn(3, 700_001).add(1000);
    const found = await statisticsOf(t);
    const wide = t.to("float64");
    expect(found?.mean as number).toBeCloseTo(wide.mean().item() as number, 9);
    expect(found?.std as number).toBeCloseTo(wide.std().item() as number, 9);
    expect([found?.min, found?.max]).toEqual([t.min().item(), t.max().item()] as never);
  });
  test("what is not finite is counted, and no part of the others", async () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    expect(await statisticsOf(tensor([nan, 1, inf, 3, -inf, -0]))).toEqual({
      count: 6,
      min: -0,
      max: 3,
      mean: 4 / 3,
      std: Math.sqrt(7 / 3),
      nan: 1,
      inf: 2,
      zero: 1,
    });
    expect(await statisticsOf(tensor([nan, inf]))).toMatchObject({ min: null, max: null, mean: null, std: null });
    expect(await statisticsOf(zeros([0]))).toMatchObject({ count: 0, min: null, mean: null, std: null });
    const large = Number.MAX_VALUE;
    expect(await statisticsOf(tensor([large, large], { dtype: "float64" }))).toMatchObject({
      mean: large,
      std: 0,
    });
    expect(await statisticsOf(ones(2, { device: "meta" } as never))).toBeNull();
    expect(await statisticsOf(ones(2).to(complex64))).toMatchObject({ min: null, mean: [1, 0], std: 0 });
  });
});

describe("differences", () => {
  const random = (bits: number) => {
    manualSeed(bits);
    return randn(50).mul(100);
  };
  test.each(allDtypes.map((dtype) => [dtype.name, dtype] as const))("%s", async (name, dtype) => {
    const a = name === "bool" ? random(1).gt(0) : random(1).abs().to(dtype);
    expect(await compareElements(a, a.clone(), EXACT)).toBeNull();
    expect(await compareElements(a, a.clone(), { ...EXACT, exact: true })).toBeNull();
    const b = a.clone();
    const changed = name === "bool" ? a.select(0, 7).logicalNot() : zeros([]).to(dtype);
    b.select(0, 7).copy_(changed);
    const found = await compareElements(a, b, EXACT);
    expect(found).toMatchObject({ differing: 1, total: 50, at: [7], notFinite: 0 });
    expect(await compareElements(a, b, { ...EXACT, exact: true })).toMatchObject({ differing: 1, at: [7] });
    expect(await compareElements(a, b, { atol: 1e6, rtol: 0, exact: false })).toBeNull();
  });
  test("the tolerance is that of the second, as torch.allclose has it", async () => {
    for (let i = 0; i < 60; i++) {
      const [a, b] = [random(i), random(i).add(random(i + 100).mul(0.001))];
      const [atol, rtol] = [0.05 * (i % 3), 0.001 * (i % 5)];
      const far = a.to("float64").sub(b.to("float64")).abs();
      const expected = far.gt(b.to("float64").abs().mul(rtol).add(atol)).sum().item();
      expect((await compareElements(a, b, { atol, rtol, exact: false }))?.differing ?? 0).toBe(Number(expected));
    }
  });
  test("64-bit integers have all digits", async () => {
    const [a, b] = [tensor([2n ** 62n, 5n]), tensor([2n ** 62n + 1n, 5n])];
    expect(await compareElements(a, b, EXACT)).toMatchObject({ differing: 1, maxAbs: 1, at: [0] });
  });
  test("what is not finite", async () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    const [a, b] = [tensor([nan, inf, 1, -inf, nan]), tensor([nan, inf, inf, inf, 0])];
    expect(await compareElements(a, b, { atol: 1e9, rtol: 1, exact: false })).toMatchObject({
      differing: 3,
      notFinite: 3,
      maxAbs: null,
      at: [2],
    });
  });
});

describe("cast", () => {
  const values = (dtype: DType) => tensor([0, 1, 1, 0, 1, 1]).view(2, 3).to(dtype);
  const all = at("all.pt");
  saveTorch(
    Object.fromEntries(allDtypes.map((dtype) => [dtype.name, { x: values(dtype), y: values(dtype).t() }])),
    all,
  );
  test.each(allDtypes.map((dtype) => [dtype.name, dtype] as const))("of every dtype to %s", async (name, dtype) => {
    const [kind, every] = [at(`kind-${name}.pt`), at(`every-${name}.pt`)];
    expect(await zensor("cast", all, kind, "--dtype", name)).toMatchObject({ code: 0, err: "" });
    expect(await zensor("cast", all, every, "--dtype", name, "--all")).toMatchObject({ code: 0, err: "" });
    const [of, ofAll] = [kind, every].map((path) => loadTorch(path) as Record<string, { x: Tensor; y: Tensor }>);
    for (const from of allDtypes) {
      expect(of?.[from.name]?.x.dtype).toBe(from.category === dtype.category ? dtype : from);
      const made = ofAll?.[from.name] as { x: Tensor; y: Tensor };
      expect([made.x.dtype, made.y.dtype]).toEqual([dtype, dtype]);
      const expected = values(from).to("complex128");
      expect(made.x.to("complex128").equal(expected) && made.y.to("complex128").equal(expected.t())).toBe(true);
    }
  });
  test("parameters and tied tensors stay what they are", async () => {
    const [a, b] = [at("tied.pt"), at("tied-cast.pt")];
    const w = new nn.Parameter(ones(4, 2));
    saveTorch({ w, tied: w, part: w.detach().narrow(0, 0, 2), frozen: ones(1) }, a);
    expect(await zensor("cast", a, b, "--dtype", "float16")).toMatchObject({ code: 0, err: "" });
    const made = loadTorch(b) as Record<string, Tensor>;
    expect(made.w).toBeInstanceOf(nn.Parameter);
    expect([made.w?.requiresGrad, made.frozen?.requiresGrad]).toEqual([true, false]);
    expect(made.w?._storage === made.tied?._storage).toBe(true);
    expect(made.part?.tolist()).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });
  test("files of more than a piece, into every format", async () => {
    manualSeed(3);
    const big = randn(3, 500_000);
    saveSafetensors({ "l.big": big, "l.long": arange(3) }, at("big.safetensors"));
    for (const ending of [".safetensors", ".npz", ".tdz", "", ".pt", ".consolidated"]) {
      const to = at(`big-cast${ending}`);
      expect(await zensor("cast", at("big.safetensors"), to, "--dtype", "float64")).toMatchObject({ code: 0, err: "" });
      expect(await zensor("diff", at("big.safetensors"), to, "--ignore-dtype")).toMatchObject({ code: 0, out: "" });
    }
    expect(loadSafetensors(at("big-cast.safetensors"))["l.big"]?.equal(big.to("float64"))).toBe(true);
  });
  test("batch sizes, values and lists stay", async () => {
    new TensorDict({ a: ones(2, 3), n: { b: ones(2) } }, [2]).memmap(at("batched"));
    expect((await zensor("cast", at("batched"), at("batched-cast"), "--dtype", "f16")).code).toBe(0);
    expect([...TensorDict.loadMemmap(at("batched-cast")).batchSize]).toEqual([2]);
    saveTorch({ l: [ones(1), Object.freeze([ones(2)])], v: "text" }, at("lists.pt"));
    expect((await zensor("cast", at("lists.pt"), at("lists-cast.pt"), "--dtype", "f16", "--keys", "l.0")).code).toBe(0);
    const { l, v } = loadTorch(at("lists-cast.pt")) as { l: [Tensor, [Tensor]]; v: string };
    expect([l[0].dtype.name, l[1][0].dtype.name, v]).toEqual(["float16", "float32", "text"]);
  });
});

describe("rename", () => {
  test("there and back is the same, in every format", async () => {
    const value = new Map<string, unknown>([
      ["model", new Map(["head.weight", "head.bias", "body.0.w"].map((key, i) => [key, ones(i + 1)]))],
      [
        "state",
        new Map([
          [0, { m: ones(1) }],
          [1, { m: zeros([1]) }],
        ]),
      ],
      ["pair", Object.freeze([ones(1), zeros([2])])],
      ["step", 3],
    ]);
    saveTorch(value, at("there.pt"));
    const steps: string[][][] = [
      [
        ["--prefix", "model=net"],
        ["--prefix", "net=model"],
      ],
      [
        ["--prefix", "=all."],
        ["--prefix", "all.="],
      ],
      [
        ["--regex", "s/head/tail/"],
        ["--regex", "s/tail/head/"],
      ],
      [
        ["--regex", "s|^model\\.(\\w+)\\.(\\d)|deep.\\1.layers.\\2|"],
        ["--regex", "s/^deep\\.(\\w+)\\.layers/model.$1/"],
      ],
      [
        ["--prefix", "step=epoch", "--prefix", "pair=two"],
        ["--prefix", "two=pair", "--regex", "s/epoch/step/g"],
      ],
    ];
    for (const ending of [".pt", ".safetensors", ".npz", "", ".tdz"]) {
      const from = at(`there-from${ending}`);
      expect(await zensor("convert", at("there.pt"), from)).toMatchObject({ code: 0, err: "" });
      for (const [i, [there, back]] of steps.entries()) {
        const [a, b] = [at(`there-${i}${ending}`), at(`back-${i}${ending}`)];
        expect(await zensor("rename", from, a, ...(there as string[]))).toMatchObject({ code: 0, err: "" });
        expect((await zensor("diff", from, a)).code).toBe(1);
        expect(await zensor("rename", a, b, ...(back as string[]))).toMatchObject({ code: 0, err: "" });
        const done = await zensor("diff", from, b);
        expect([ending, i, done.out, done.code]).toEqual([ending, i, "", 0]);
      }
    }
  }, 60_000);
});

test("a single element that has a stride, and bits that are turned when they are read", async () => {
  const pair = tensor([1, 2]).to("complex64");
  const odd = {
    one: arange(8).to("float32").asStrided([1, 1], [8, 2], 3),
    real: pair.real.narrow(0, 1, 1),
    imaginary: pair.conj().imag,
    conj: pair.clone().conj(),
    wide: arange(4).asStrided([1], [3], 2),
  };
  const plain = Object.fromEntries(
    Object.entries(odd).map(([name, x]) => [name, x.resolveConj().resolveNeg().clone()]),
  );
  expect([(await statisticsOf(odd.one))?.mean, (await statisticsOf(odd.real))?.max]).toEqual([3, 2]);
  saveTorch(odd, at("odd.pt"));
  saveSafetensors(plain, at("plain.safetensors"));
  for (const more of [[], ["--exact"]]) {
    expect(await zensor("diff", at("odd.pt"), at("plain.safetensors"), ...more)).toMatchObject({ code: 0, out: "" });
  }
  expect(await zensor("cast", at("odd.pt"), at("odd16.pt"), "--dtype", "f16", "--all")).toMatchObject({ code: 0 });
  expect((loadTorch(at("odd16.pt")) as typeof odd).real.tolist()).toEqual([2]);
});

test("the deviation of 64-bit integers with more digits than numbers have", async () => {
  const near = 2n ** 62n;
  for (const dtype of ["int64", "uint64"] as const) {
    const { mean, std, min } = (await statisticsOf(tensor([near, near + 1n, near + 2n], { dtype }))) ?? {};
    expect({ mean, std, min }).toEqual({ mean: 2 ** 62, std: 1, min: near });
  }
  const { mean, std } = (await statisticsOf(tensor([-(2n ** 53n) - 1n, -(2n ** 53n) - 3n]))) ?? {};
  expect({ mean, std }).toEqual({ mean: -(2 ** 53) - 2, std: Math.SQRT2 });
});

test("what a dtype without infinities cuts off is lost", async () => {
  saveSafetensors({ fit: tensor([448, -464, NaN]), far: tensor([1e5, -465, Infinity, 1]) }, at("far.safetensors"));
  const { code, err } = await zensor("cast", at("far.safetensors"), at("far8.safetensors"), "--dtype", "float8_e4m3fn");
  expect([code, err]).toEqual([1, expect.stringContaining("far: 3 of 4 elements")]);
  expect(err).not.toContain("fit");
});
