// What programs have in memory at once, beside PyTorch: `bun bench/run.ts memory [--only text] [--write]`. Each program
// of peers/memory-programs.ts runs in processes of its own; the resident bytes count that came on top of
// what the process had when the program began.
import { join } from "node:path";
import { median } from "./statistics.ts";

/** What a program told at its end. */
interface Told {
  need: number;
  before: number;
  peak: number;
  seconds: number;
}

const MB = 2 ** 20;
const PEERS = join(import.meta.dir, "peers");

/** Programs, and the bytes that are alive at once in them if all goes back as soon as nobody uses it, where known. */
const PROGRAMS: Readonly<Record<string, number | null>> = {
  "language model": null,
  "language model, scope": null,
  "50 x tanh of 4 MB": 51 * 4 * MB,
  "50 x tanh of 4 MB, scope": 51 * 4 * MB,
  "1,000 LSTM cells": null,
  "3,000 LSTM cells": null,
  "3,000 LSTM cells, scope": null,
  "10,000 LSTM cells": null,
  training: 13 * MB,
  inference: 8 * MB,
  dictionaries: 12 * MB,
  "loop, 4 KB": 0,
  "loop, 64 KB": 192 * 1024,
  "loop, 4 MB": 12 * MB,
  "loop, 64 MB": 192 * MB,
  "10 GB in one scope": 12 * MB,
};

function told(words: string[]): Told | null {
  const env = { ...process.env, OMP_NUM_THREADS: "1", MKL_NUM_THREADS: "1", PYTHONWARNINGS: "ignore" };
  const child = Bun.spawnSync(words, { env, stderr: "inherit" });
  return child.exitCode === 0 ? (JSON.parse(child.stdout.toString()) as Told) : null;
}

const over = ({ before, peak }: Told): number => (peak - before) / MB;
const cells = (all: readonly Told[]): string[] =>
  all.length === 0
    ? ["", ""]
    : [median(all.map(over)).toFixed(0), `${Math.min(...all.map(({ seconds }) => seconds)).toFixed(2)} s`];

/** The table, of programs whose name has the text in it. */
export function memoryTable(python: string | null, only: string, rounds = 3): string {
  const lines = [
    "| program | needs, MB | ours, MB | time | PyTorch, MB | time | memory | time |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const [name, need] of Object.entries(PROGRAMS)) {
    if (!name.includes(only)) continue;
    process.stderr.write(`memory: ${name}\n`);
    const [ours, theirs]: [Told[], Told[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const mine = told([process.execPath, join(PEERS, "memory-programs.ts"), name]);
      if (mine !== null) ours.push(mine);
      if (python === null || name === "10 GB in one scope") continue;
      const other = told([python, join(PEERS, "memory_torch.py"), name]);
      if (other !== null) theirs.push(other);
    }
    const ratio = (of: (t: Told) => number, pick: (list: number[]) => number): string =>
      theirs.length === 0 ? "" : (pick(ours.map(of)) / pick(theirs.map(of))).toFixed(2);
    const needed = need === null ? "" : (need / MB).toFixed(0);
    const ratios = [
      ratio(over, median),
      ratio(
        ({ seconds }) => seconds,
        (list) => Math.min(...list),
      ),
    ];
    lines.push(`| ${[name, needed, ...cells(ours), ...cells(theirs), ...ratios].join(" | ")} |`);
  }
  return lines.join("\n");
}
