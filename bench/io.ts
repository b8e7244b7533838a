// Saving and loading the 184 tensors of a Transformer (176 MB) in the format that Python's tensordict uses.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { nn, TensorDict } from "zensor";
import { type Case, loop, type Side } from "./case.ts";
import { benchFolder, saves } from "./saves.ts";

let weights: TensorDict | null = null;
function transformer(): TensorDict {
  weights ??= TensorDict.fromModule(new nn.Transformer());
  return weights;
}

function save(numThreads: number): Side {
  const td = transformer();
  return saves((folder) => td.memmap(join(folder, "td"), { numThreads }));
}

function saved(body: (path: string) => unknown): Side {
  const folder = benchFolder();
  const path = join(folder, "td");
  transformer().memmap(path);
  return {
    ...loop(() => body(path)),
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What it is compared with, and Python's case. The loop of writes has as many threads as we. */
const peers: [string, (threads: number) => string][] = [
  ["tensordict memmap", () => "save memmap"],
  ["torch.save", () => "save torch.save"],
  ["a plain write loop", (threads) => `save write loop ${threads}`],
];

export const cases: readonly Case[] = [
  ...[1, 2].flatMap((threads) =>
    peers.map(
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
