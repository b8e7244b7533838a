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

function save(threads: number): Side {
  const td = transformer();
  return {
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

/** What it is compared with, and Python's case. The loop of writes has as many threads as we. */
const saves: [string, (threads: number) => string][] = [
  ["tensordict memmap", () => "save memmap"],
  ["torch.save", () => "save torch.save"],
  ["a plain write loop", (threads) => `save write loop ${threads}`],
];

export const cases: readonly Case[] = [
  ...[1, 2].flatMap((threads) =>
    saves.map(
      ([peer, python]): Case => ({
        name: `memmap, ${threads} thread(s), against ${peer}`,
        peer,
        python: python(threads),
        ours: () => save(threads),
        rounds: 15,
      }),
    ),
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
