// Small neighbours are written together: the file must hold every piece at its place all the same.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, type Tensor } from "../../src/index.ts";
import type { Piece } from "../../src/io/disk/pieces.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { FileWrite } from "../../src/io/store/single-file.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-joined-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Pieces of these many bytes, each so far behind the one before it; every third holds a tensor's bytes. */
function laidOut(sizes: readonly number[], gaps: readonly number[]): { pieces: Piece[]; expected: Uint8Array } {
  const pieces: Piece[] = [];
  const total = sizes.reduce((sum, n) => sum + n, 0) + gaps.reduce((sum, n) => sum + n, 0);
  const expected = new Uint8Array(total);
  let offset = 0;
  for (const [i, size] of sizes.entries()) {
    offset += gaps[i] ?? 0;
    const values: Tensor = arange(size).add(i).remainder(251).to("uint8");
    const bytes = Uint8Array.from(values.tolist() as number[]);
    pieces.push({ offset, data: i % 3 === 0 ? nativeBytes(values) : bytes });
    expected.set(bytes, offset);
    offset += size;
  }
  return { pieces, expected };
}

const cases: [string, number[], number[]][] = [
  ["neighbours", [3, 5, 0, 7, 1], []],
  ["gaps between them", [3, 5, 7, 9, 11], [0, 0, 4, 0, 2]],
  ["large ones between them", [10, 20_000, 30, 40, 16_384, 16_385, 5], []],
  ["more than is joined at once", new Array(150).fill(16_000), []],
  ["only empty ones", [0, 0], []],
  ["a gap at the start", [6, 6], [100]],
];

for (const [name, sizes, gaps] of cases) {
  test(name, async () => {
    const { pieces, expected } = laidOut(sizes, gaps);
    if (expected.length === 0) pieces.push({ offset: 0, data: new Uint8Array(1) });
    const path = join(folder, name);
    new FileWrite(path, pieces).run();
    const wanted = expected.length === 0 ? new Uint8Array(1) : expected;
    expect(Buffer.compare(readFileSync(path), wanted)).toBe(0);
    await new FileWrite(path, pieces, { numThreads: 2 }).runInBackground();
    expect(Buffer.compare(readFileSync(path), wanted)).toBe(0);
    expect(readdirSync(folder).filter((entry) => entry.includes(".tmp-"))).toEqual([]);
  });
}
