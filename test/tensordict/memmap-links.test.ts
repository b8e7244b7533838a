// Symbolic links in memory-mapped directories: those that stay inside are followed wherever they lead, as long as that
// comes to an end soon; a graph of folders is read as the tree of its paths, or refused.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, io, loadMemmapAsync, TensorDict } from "../../src/index.ts";
import { randomNumbers } from "../io/archive-files.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-links-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const LEVEL = { shape: [], device: "cpu", _type: "<class 'tensordict._td.TensorDict'>" };
const INNER = { type: "TensorDict" };

/** Writes folders below one root, with a link for each edge; the root leads to all of them. */
function write(root: string, edges: readonly (readonly number[])[]): void {
  mkdirSync(root);
  const name = (i: number) => `n${i}`;
  const write = (at: string, keys: readonly string[]) => {
    const entries = Object.fromEntries(keys.map((key) => [key, INNER]));
    writeFileSync(join(at, "meta.json"), JSON.stringify({ ...entries, ...LEVEL }));
  };
  write(
    root,
    edges.map((_, i) => name(i)),
  );
  for (const [i, targets] of edges.entries()) {
    const at = join(root, name(i));
    mkdirSync(at);
    write(
      at,
      targets.map((_, k) => `l${k}`),
    );
    for (const [k, target] of targets.entries()) symlinkSync(`../${name(target)}`, join(at, `l${k}`));
  }
}

/** How many levels the paths of a graph make; infinite where one leads to itself. */
function levels(edges: readonly (readonly number[])[]): number {
  const below = (i: number, above: readonly number[]): number => {
    if (above.includes(i)) return Number.POSITIVE_INFINITY;
    return (edges[i] as readonly number[]).reduce((sum, next) => sum + below(next, [...above, i]), 1);
  };
  return edges.reduce((sum, _, i) => sum + below(i, []), 1);
}

function count(td: TensorDict): number {
  return [...td.values()].reduce((sum: number, inner) => sum + count(inner as unknown as TensorDict), 1);
}

test("graphs of folders are trees, or are refused at once", async () => {
  let [read, refused] = [0, 0];
  for (let seed = 0; seed < 60; seed++) {
    const next = randomNumbers(seed + 1);
    const nodes = 1 + (next() % 12);
    // Most lead forward: those end.
    const edges = Array.from({ length: nodes }, (_, i) =>
      Array.from({ length: next() % 4 }, () => (next() % 40 === 0 ? next() % nodes : i + 1 + (next() % 3))).filter(
        (target) => target < nodes,
      ),
    );
    const root = join(dir, `graph${seed}`);
    write(root, edges);
    const expected = levels(edges);
    const start = performance.now();
    const outcome = await loadMemmapAsync(root).catch((error: Error) => error);
    expect(performance.now() - start).toBeLessThan(5000);
    if (outcome instanceof Error) {
      expect(outcome.message).toMatch(/it is a link to a folder that it lies in|again and again/);
      expect(expected).toBeGreaterThan(5000);
      refused++;
    } else {
      expect(count(outcome as unknown as TensorDict)).toBe(expected);
      expect(io.readDirectory(root).kind).toBe("tensordict");
      read++;
    }
  }
  expect(read).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(3);
}, 60_000);

test("writes go through links that stay inside; saving over such a directory makes files of them", () => {
  const root = join(dir, "writes");
  new TensorDict({ a: arange(3), n: new TensorDict({ b: arange(3) }, []) }, []).memmap(root);
  rmSync(join(root, "a.memmap"));
  symlinkSync("n/b.memmap", join(root, "a.memmap"));
  const td = TensorDict.loadMemmap<Record<string, never>>(root, { mode: "r+" });
  (td.get("a") as unknown as { fill_(value: number): void }).fill_(7);
  expect(String(td.get(["n", "b"] as never))).toBe("MemoryMappedTensor([7, 7, 7])");
});
