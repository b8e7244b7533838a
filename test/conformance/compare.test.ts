// The comparison by itself, without the library: a snapshot equal to its descriptor passes, any tampering fails.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Snapshot } from "./adapter.ts";
import { camel } from "./adapter.ts";
import { loadCaseSet, storageBytes } from "./case-set.ts";
import type { Case, TensorDesc } from "./case-types.ts";
import { contiguousStrides, numelOf, tensorDescs } from "./case-types.ts";
import { AliasMap, compareElements, compareStorage, compareTensor, Findings } from "./compare.ts";
import { cotangentBytes, halfToNumber, positions, readElements } from "./elements.ts";
import { spoil } from "./tamper.ts";
import { resultTolerance } from "./tolerances.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-small"));
const EXACT = { exact: true, rtol: 0, atol: 0 };

/** What a perfect library would return for a descriptor. */
function perfect(c: Case, d: TensorDesc): Snapshot {
  return {
    code: d.dt,
    shape: [...d.sh],
    stride: d.st ?? contiguousStrides(d.sh),
    offset: d.off ?? 0,
    bytes: storageBytes(set, c, d.s),
    storage: {},
    nbytes: storageBytes(set, c, d.s).length,
    requiresGrad: d.rg === 1,
    gradFn: d.gf ?? null,
    conj: d.cj === 1,
    neg: d.ng === 1,
  };
}

function findings(c: Case, got: Snapshot, d: TensorDesc): string[] {
  const f = new Findings();
  const want = { desc: d, bytes: storageBytes(set, c, d.s) };
  const tolerance = resultTolerance(c, d.dt);
  compareTensor("result", got, want, { tolerance, softStrides: false, isView: true, checkGrad: true }, f);
  return f.hard;
}

const samples = set.cases.flatMap((c) =>
  tensorDescs(c.out)
    .filter((d) => !d.nv && d.s >= 0 && numelOf(d.sh) > 0)
    .map((d) => ({ c, d })),
);

describe("compareTensor", () => {
  test("accepts what the descriptor says", () => {
    expect(samples.length).toBeGreaterThan(200);
    for (const { c, d } of samples) expect(findings(c, perfect(c, d), d)).toEqual([]);
  });

  test("sees a changed value in every sample", () => {
    for (const { c, d } of samples) {
      const got = perfect(c, d);
      got.bytes = spoil(got.bytes, d.dt, d.off ?? 0);
      expect(findings(c, got, d).join()).toContain("values differ");
    }
  });

  test("sees shape, dtype, stride, offset and requires_grad", () => {
    for (const { c, d } of samples) {
      const spoiled: [Partial<Snapshot>, string][] = [
        [{ shape: [...d.sh, 1], stride: [...(d.st ?? contiguousStrides(d.sh)), 1] }, "shape"],
        [{ code: d.dt === "f32" ? "i32" : "f32" }, "dtype"],
        [{ offset: (d.off ?? 0) + 1 }, "storage offset"],
        [{ requiresGrad: d.rg !== 1 }, "requires_grad"],
      ];
      const long = d.sh.findIndex((n) => n > 1);
      if (long >= 0) {
        const stride = (d.st ?? contiguousStrides(d.sh)).map((x, i) => (i === long ? x + 1 : x));
        spoiled.push([{ stride }, "strides"]);
      }
      for (const [change, word] of spoiled) {
        expect(findings(c, { ...perfect(c, d), ...change }, d).join()).toContain(word);
      }
    }
  });
});

describe("elements", () => {
  const f32 = { exact: false, rtol: 1e-6, atol: 1e-6 };
  const floats = (...x: number[]) => Float64Array.from(x);

  test("NaN matches NaN, infinities keep their sign, exact comparison tells -0 from 0", () => {
    expect(compareElements(floats(Number.NaN), floats(Number.NaN), "f32", EXACT)).toBeNull();
    expect(compareElements(floats(Number.NaN), floats(1), "f32", f32)).not.toBeNull();
    expect(compareElements(floats(Infinity), floats(-Infinity), "f32", f32)).not.toBeNull();
    expect(compareElements(floats(Infinity), floats(3e38), "f32", f32)).not.toBeNull();
    expect(compareElements(floats(-0), floats(0), "f32", EXACT)).not.toBeNull();
    expect(compareElements(floats(-0), floats(0), "f32", f32)).toBeNull();
    expect(compareElements(floats(1, 2), floats(1, 2.1), "c64", f32)).not.toBeNull();
  });

  test("64-bit integers are compared beyond 2^53", () => {
    const a = BigInt64Array.of(2n ** 53n + 1n);
    expect(compareElements(a, BigInt64Array.of(2n ** 53n), "i64", EXACT)).not.toBeNull();
    expect(compareElements(a, BigInt64Array.of(2n ** 53n + 1n), "i64", EXACT)).toBeNull();
  });

  test("windows follow strides, offsets and the conj bit; reaching outside is an error", () => {
    expect([...positions([2, 3], [1, 2], 4)]).toEqual([4, 6, 8, 5, 7, 9]);
    expect([...positions([2, 2], [0, -1], 3)]).toEqual([3, 2, 3, 2]);
    const bytes = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer);
    const w = { code: "c64" as const, shape: [2], stride: [1], offset: 0, bytes };
    expect([...(readElements({ ...w, conj: true }) as Float64Array)]).toEqual([1, -2, 3, -4]);
    expect(() => readElements({ ...w, offset: 1 })).toThrow("outside its storage");
  });

  test("half floats and cotangents decode to their values", () => {
    expect([0x3c00, 0xc000, 0x0001, 0x7c00].map(halfToNumber)).toEqual([1, -2, 2 ** -24, Infinity]);
    for (const code of ["f16", "bf16", "f32", "f64"] as const) {
      const bytes = cotangentBytes(code, 3, 1);
      const got = readElements({ code, shape: [3], stride: [1], offset: 0, bytes });
      expect([...(got as Float64Array)]).toEqual([0.75, -0.25, -1.25]);
    }
  });
});

describe("aliases and storages", () => {
  const at = (storage: unknown) => ({
    ...perfect(set.cases[0] as Case, { s: 0, dt: "f32", sh: [1] }),
    storage,
  });

  test("a view must be on its input, a fresh result must not, equal numbers share", () => {
    const [input, other] = [{}, {}];
    const check = (s: number, storage: unknown) => {
      const map = new AliasMap();
      map.addInput(0, input);
      const f = new Findings();
      map.check("first", s, at(storage), f);
      map.check("second", s, at(storage === input ? input : other), f);
      return f.hard.join();
    };
    expect(check(0, input)).toBe("");
    expect(check(0, other)).toContain("not a view of input storage");
    expect(check(3, input)).toContain("shares input storage");
    expect(check(3, other)).toBe("");
    expect(check(3, {})).toContain("does not share its storage");
  });

  test("whole storages: length and contents", () => {
    const a = new Uint8Array(Float32Array.of(1, 2).buffer);
    expect(compareStorage("x", a, a.slice(), "f32", EXACT)).toBeNull();
    expect(compareStorage("x", a, spoil(a, "f32", 1), "f32", EXACT)).toContain("contents");
    expect(compareStorage("x", a, a.slice(0, 4), "f32", EXACT)).toContain("bytes");
  });

  test("torch names in camelCase", () => {
    expect(["index_put_", "conv_transpose2d", "__radd__", "mT", "atleast_1d"].map(camel)).toEqual([
      "indexPut_",
      "convTranspose2d",
      "__radd__",
      "mT",
      "atleast1d",
    ]);
  });
});
