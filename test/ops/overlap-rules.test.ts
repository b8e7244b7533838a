// Rules about layouts, each against a list of all places that a tensor's elements take.
import { expect, test } from "bun:test";
import { isCanonical, isDense, preservedStrides } from "../../src/dispatch/allocate.ts";
import { formatStrides, isContiguousIn, sameElements, suggestedFormat } from "../../src/dispatch/copy.ts";
import { channelsLast, channelsLast3d, contiguousFormat } from "../../src/dispatch/memory-format.ts";
import {
  hasInternalOverlap,
  mayOverlap,
  requireNoOverlap,
  requireNoPartialOverlap,
} from "../../src/dispatch/overlap.ts";
import { asStrided, emptyStrided, float64, int8, type Tensor, zeros } from "../../src/index.ts";

/** Where the elements lie, in bytes from the start of the storage. */
function places(shape: readonly number[], strides: readonly number[], offset = 0): number[] {
  let found = [offset];
  shape.forEach((n, d) => {
    found = found.flatMap((at) => Array.from({ length: n }, (_, i) => at + i * (strides[d] as number)));
  });
  return found;
}

const SHAPES = [[], [1], [3], [0], [2, 3], [3, 2], [1, 3], [2, 1], [2, 2], [0, 2], [2, 1, 3], [2, 2, 2], [1, 2, 1]];

/** Shapes with strides of many kinds: dense in each order, with gaps, repeated, overlapping. */
function* layouts(): Generator<[shape: number[], strides: number[]]> {
  for (const shape of SHAPES) {
    const choices = [0, 1, 2, 3, 4, 6];
    const count = choices.length ** shape.length;
    for (let k = 0; k < count; k++) {
      yield [shape, shape.map((_, d) => choices[Math.floor(k / choices.length ** d) % choices.length] as number)];
    }
  }
}

const view = (shape: readonly number[], strides: readonly number[], offset = 0): Tensor =>
  asStrided(zeros(64), [...shape], [...strides], offset);

test("a dense layout fills a block, an overlapping one has an element twice", () => {
  let dense = 0;
  let overlapping = 0;
  for (const [shape, strides] of layouts()) {
    const at = places(shape, strides);
    const text = `${shape} / ${strides}`;
    const fills = at.length > 0 && new Set(at).size === at.length && Math.max(...at) === at.length - 1;
    if (at.length > 0) expect(`${text} ${isDense(shape, strides)}`).toBe(`${text} ${fills}`);
    const twice = new Set(at).size < at.length;
    const t = view(shape, strides);
    // It may say yes where interleaved elements do not meet, but never no where they do.
    if (twice) expect(`${text} ${mayOverlap(t)}`).toBe(`${text} true`);
    if (fills) expect(`${text} ${mayOverlap(t)}`).toBe(`${text} false`);
    const repeated = shape.some((n, d) => n > 1 && strides[d] === 0);
    if (at.length > 0) expect(`${text} ${hasInternalOverlap(t)}`).toBe(`${text} ${repeated}`);
    dense += Number(fills);
    overlapping += Number(twice);
  }
  expect([dense > 30, overlapping > 100]).toEqual([true, true]);
});

test("strides that leave room between elements do not overlap, also in another order", () => {
  for (const [shape, strides] of [
    [
      [2, 3],
      [1, 2],
    ],
    [
      [2, 3],
      [9, 3],
    ],
    [
      [3, 2],
      [2, 7],
    ],
    [
      [2, 2, 2],
      [10, 1, 3],
    ],
    [
      [2, 3, 2],
      [1, 4, 13],
    ],
  ] as const) {
    expect(`${shape} / ${strides} ${mayOverlap(view(shape, strides))}`).toBe(`${shape} / ${strides} false`);
  }
  for (const [shape, strides] of [
    [
      [3, 2],
      [1, 2],
    ],
    [
      [2, 3],
      [2, 1],
    ],
    [
      [3, 3],
      [2, 1],
    ],
    [
      [2, 2, 2],
      [1, 2, 3],
    ],
  ] as const) {
    expect(`${shape} / ${strides} ${mayOverlap(view(shape, strides))}`).toBe(`${shape} / ${strides} true`);
  }
});

test("dense tensors that share some elements, but not all, are refused", () => {
  const base = zeros(16);
  const dense = [
    [[4], [1]],
    [
      [2, 2],
      [2, 1],
    ],
    [
      [2, 2],
      [1, 2],
    ],
    [[1], [1]],
    [[0], [1]],
    [[2], [1]],
    [
      [1, 4],
      [4, 1],
    ],
  ] as const;
  const views = dense.flatMap(([shape, strides]) =>
    [0, 1, 2, 3, 4, 5].map((o) => asStrided(base, [...shape], [...strides], o)),
  );
  let refused = 0;
  for (const a of views) {
    for (const b of views) {
      const [x, y] = [
        new Set(places(a.shape, a.stride(), a.storageOffset())),
        places(b.shape, b.stride(), b.storageOffset()),
      ];
      const shared = y.filter((at) => x.has(at)).length;
      const text = `${a.shape}/${a.stride()}+${a.storageOffset()} ${b.shape}/${b.stride()}+${b.storageOffset()}`;
      const throws = (call: () => void): boolean => {
        try {
          call();
          return false;
        } catch {
          return true;
        }
      };
      const all = shared === x.size && shared === y.length && a.stride().join() === b.stride().join();
      expect(`${text} ${throws(() => requireNoPartialOverlap(a, b))}`).toBe(`${text} ${shared > 0 && a !== b && !all}`);
      expect(`${text} ${throws(() => requireNoOverlap(a, b))}`).toBe(`${text} ${a === b || shared > 0}`);
      refused += Number(shared > 0);
    }
  }
  expect(refused).toBeGreaterThan(300);
  // With gaps nothing is known, and other storages share nothing.
  expect(() => requireNoPartialOverlap(asStrided(base, [2], [2], 0), asStrided(base, [3], [1], 0))).not.toThrow();
  expect(() => requireNoOverlap(asStrided(base, [2], [2], 0), asStrided(base, [3], [1], 0))).not.toThrow();
  expect(() => requireNoOverlap(zeros(2), base)).not.toThrow();
  // Bytes count, not elements.
  const wide = base.view(float64);
  const bytes = base.view(int8);
  for (const [a, b, shares] of [
    [wide.narrow(0, 4, 4), bytes.narrow(0, 0, 32), false],
    [wide.narrow(0, 4, 4), bytes.narrow(0, 0, 33), true],
    [bytes.narrow(0, 0, 33), wide.narrow(0, 4, 4), true],
    [bytes.narrow(0, 32, 8), wide.narrow(0, 0, 4), false],
    [bytes.narrow(0, 31, 8), wide.narrow(0, 0, 4), true],
    [bytes.narrow(0, 40, 8), base.narrow(0, 0, 10), false],
    [bytes.narrow(0, 39, 8), base.narrow(0, 0, 10), true],
  ] as [Tensor, Tensor, boolean][]) {
    for (const check of [requireNoPartialOverlap, requireNoOverlap]) {
      if (shares) expect(() => check(a, b)).toThrow("some elements");
      else expect(() => check(a, b)).not.toThrow();
    }
  }
});

/** torch's guess of a memory format, from its definition of channels-last strides. */
function channelsGuess(shape: readonly number[], strides: readonly number[]): boolean {
  const order = shape.length === 4 ? [1, 3, 2, 0] : [1, 4, 3, 2, 0];
  if (strides[1] === 0) return false;
  let least = 0;
  for (const d of order) {
    const [n, s] = [shape[d] as number, strides[d] as number];
    if (n === 0 || s < least || (d === 0 && least === strides[1])) return false;
    least = n > 1 ? s * n : s;
  }
  return true;
}

test("memory formats of four and five dimensions", () => {
  let channels = 0;
  for (const rank of [3, 4, 5, 6]) {
    const last = rank === 5 ? channelsLast3d : channelsLast;
    for (let k = 0; k < 3 ** rank; k++) {
      const shape = Array.from({ length: rank }, (_, d) => Math.floor(k / 3 ** d) % 3);
      const kinds = [contiguousFormat, ...(rank === 4 || rank === 5 ? [last] : [])].map((f) => formatStrides(shape, f));
      for (const strides of [
        ...kinds,
        shape.map((_, d) => 2 ** (rank - d)),
        shape.map((_, d) => (d === 1 ? 1 : 3 * 2 ** (rank - d))),
      ]) {
        const t = strides === null ? zeros(shape) : emptyStrided(shape, [...strides]);
        const text = `${shape} / ${t.stride()}`;
        const guess = (rank === 4 || rank === 5) && channelsGuess(shape, t.stride());
        expect(`${text} ${suggestedFormat(t).name}`).toBe(`${text} ${(guess ? last : contiguousFormat).name}`);
        channels += Number(guess);
        if (rank !== 4 && rank !== 5) expect(isContiguousIn(t, last)).toBe(false);
        else {
          const wanted = formatStrides(shape, last) as number[];
          const same = shape.includes(0) || shape.every((n, d) => n === 1 || wanted[d] === t.stride()[d]);
          expect(`${text} ${isContiguousIn(t, last)}`).toBe(`${text} ${same}`);
          expect(isContiguousIn(t, rank === 4 ? channelsLast3d : channelsLast)).toBe(false);
        }
      }
    }
  }
  expect(channels).toBeGreaterThan(60);
});

test("row-major strides, and those of a copy", () => {
  for (const [shape, strides] of layouts()) {
    if (shape.includes(0)) continue;
    const t = view(shape, strides);
    const rowMajor = shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));
    expect(`${shape} / ${strides} ${isCanonical(t)}`).toBe(
      `${shape} / ${strides} ${strides.join() === rowMajor.join()}`,
    );
    const kept = preservedStrides(t);
    if (isDense(shape, strides)) expect(kept).toEqual(strides);
    else expect(isDense(shape, kept)).toBe(true);
  }
});

test("a tensor is itself only where all of its layout is", () => {
  const base = zeros(16);
  const a = asStrided(base, [2, 2], [2, 1], 1);
  expect(sameElements(a, asStrided(base, [2, 2], [2, 1], 1))).toBe(true);
  for (const b of [
    asStrided(base, [2, 2], [2, 1], 0),
    asStrided(base, [2, 2], [1, 2], 1),
    asStrided(base, [2], [2], 1),
    asStrided(zeros(16), [2, 2], [2, 1], 1),
    base.view(float64),
  ]) {
    expect(sameElements(a, b)).toBe(false);
  }
});
