// Saving and loading the 184 tensors of a Transformer (176 MB) in the format that Python's tensordict uses.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nn, TensorDict } from "zensor";
import { type Case, loop, type Side } from "./case.ts";

const root = () => process.env.ZENSOR_BENCH_DIR ?? tmpdir();

let weights: TensorDict | null = null;
function transformer(): TensorDict {
  weights ??= TensorDict.fromModule(new nn.Transformer());
  return weights;
}

/** Saves to a fresh folder each time; removing it does not count. */
function saveSeconds(td: TensorDict, numThreads: number): number {
  const folder = mkdtempSync(join(root(), "zensor-bench-"));
  try {
    const start = performance.now();
    td.memmap(join(folder, "td"), { numThreads });
    return (performance.now() - start) / 1000;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The number of threads that was fastest in a few trials. */
function bestThreads(td: TensorDict): number {
  let best = { threads: 1, seconds: Number.POSITIVE_INFINITY };
  for (const threads of [1, 2, 4]) {
    const seconds = Math.min(...[0, 1, 2].map(() => saveSeconds(td, threads)));
    if (seconds < best.seconds) best = { threads, seconds };
  }
  return best.threads;
}

/** With so many threads, or with the number that is fastest here. */
function save(wanted?: number): Side {
  const td = transformer();
  const threads = wanted ?? bestThreads(td);
  return {
    note: `${threads} thread(s)`,
    run(n) {
      let seconds = 0;
      for (let i = 0; i < n; i++) seconds += saveSeconds(td, threads);
      return seconds;
    },
  };
}

function saved(body: (path: string) => unknown): Side {
  const folder = mkdtempSync(join(root(), "zensor-bench-"));
  const path = join(folder, "td");
  transformer().memmap(path);
  return {
    ...loop(() => body(path)),
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What it is compared with, Python's case, and the number of threads where both have the same. */
const saves: [string, string, number?][] = [
  ["tensordict memmap", "save memmap"],
  ["torch.save", "save torch.save"],
  ["a plain write loop, 1 thread", "save write loop 1", 1],
  ["a plain write loop, 2 threads", "save write loop 2", 2],
];

export const cases: readonly Case[] = [
  ...saves.map(
    ([peer, python, threads]): Case => ({
      name: `memmap, against ${peer}`,
      peer,
      python,
      ours: () => save(threads),
      rounds: 15,
    }),
  ),
  {
    name: "loadMemmap, against load_memmap",
    python: "load_memmap",
    ours: () => saved((path) => TensorDict.loadMemmap(path)),
  },
  {
    name: "loadMemmap and sum every tensor",
    python: "load_memmap, sum",
    ours: () =>
      saved((path) => {
        for (const leaf of TensorDict.loadMemmap(path).values({ includeNested: true, leavesOnly: true })) {
          (leaf as { sum(): unknown }).sum();
        }
      }),
  },
];
