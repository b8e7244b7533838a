// Whether pieces fill a tensor exactly, beside a count of every element.
import { expect, test } from "bun:test";
import { type Box, fillExactly } from "../../src/io/base/boxes.ts";
import { randomNumbers } from "./archive-files.ts";

/** The same by looking at each element. */
function counted(shape: readonly number[], boxes: readonly Box[]): boolean {
  const seen = new Map<string, number>();
  for (const { offsets, sizes } of boxes) {
    const total = sizes.reduce((a, b) => a * b, 1);
    for (let n = 0; n < total; n++) {
      let rest = n;
      const place = [...sizes.keys()].reverse().map((dim) => {
        const at = rest % (sizes[dim] as number);
        rest = Math.floor(rest / (sizes[dim] as number));
        return at + (offsets[dim] as number);
      });
      if (place.reverse().some((at, dim) => at >= (shape[dim] as number))) return false;
      seen.set(place.join(), (seen.get(place.join()) ?? 0) + 1);
    }
  }
  return seen.size === shape.reduce((a, b) => a * b, 1) && [...seen.values()].every((times) => times === 1);
}

test("boxes that were cut from a whole, some of them moved or resized", () => {
  const next = randomNumbers(7);
  let exact = 0;
  for (let round = 0; round < 3000; round++) {
    const shape = Array.from({ length: 1 + (next() % 3) }, () => 1 + (next() % 5));
    const boxes: Box[] = [{ offsets: shape.map(() => 0), sizes: shape }];
    for (let cuts = next() % 6; cuts > 0; cuts--) {
      const i = next() % boxes.length;
      const { offsets, sizes } = boxes[i] as Box;
      const dim = next() % shape.length;
      const size = sizes[dim] as number;
      if (size < 2) continue;
      const at = 1 + (next() % (size - 1));
      const low = { offsets, sizes: sizes.map((n, k) => (k === dim ? at : n)) };
      const high = {
        offsets: offsets.map((n, k) => (k === dim ? n + at : n)),
        sizes: sizes.map((n, k) => (k === dim ? n - at : n)),
      };
      boxes.splice(i, 1, low, high);
    }
    if (next() % 2 === 0) {
      const i = next() % boxes.length;
      const { offsets, sizes } = boxes[i] as Box;
      const dim = next() % shape.length;
      const other = (n: number, k: number) => (k === dim ? Math.max(0, n + (next() % 3) - 1) : n);
      boxes[i] = { offsets: offsets.map(other), sizes: sizes.map(other) };
    }
    const expected = counted(shape, boxes);
    expect(fillExactly(shape, boxes)).toBe(expected);
    if (expected) exact++;
  }
  expect(exact).toBeGreaterThan(1000);
});

test("any number of boxes in whatever order, in many dimensions", () => {
  const n = 30_000;
  const rows = Array.from({ length: n }, (_, i) => ({ offsets: [i, 0], sizes: [1, n] }));
  const columns = Array.from({ length: n }, (_, i) => ({ offsets: [0, i], sizes: [n / 2, 1] }));
  const halves = Array.from({ length: n / 2 }, (_, i) => ({ offsets: [n / 2 + i, 0], sizes: [1, n] }));
  const start = performance.now();
  expect(fillExactly([n, n], rows)).toBe(true);
  expect(fillExactly([n, n], [...columns, ...halves])).toBe(true);
  expect(fillExactly([n, n], [...columns, ...rows.slice(0, n / 2)])).toBe(false);
  expect(performance.now() - start).toBeLessThan(10_000);
  const rank = 10;
  const whole = Array.from({ length: rank }, () => 2);
  const corners = Array.from({ length: 2 ** rank }, (_, i) => ({
    offsets: whole.map((_n, dim) => (i >> dim) & 1),
    sizes: whole.map(() => 1),
  }));
  expect(fillExactly(whole, corners)).toBe(true);
  expect(fillExactly(whole, [...corners.slice(1), corners[1] as Box])).toBe(false);
});
