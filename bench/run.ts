// Runs benchmark families: `bun bench/run.ts [family...] [--rounds n] [--cpu] [--out file.jsonl]
// [--only text] [--write]`.
// With a Python that has torch (ZENSOR_BENCH_PYTHON, else python3), the same work runs there in turn with ours:
// ours, theirs, ours, theirs, one thread each, so that whatever else the computer does meets both. With `--cpu` the
// families overhead and collections count the time that each program computes, which is what says something on a
// computer that others use too. `--write` puts the tables into RESULTS.md. The family sweep runs when it is named
// (sweep.ts), and so does memory (memory.ts), which measures bytes; `--sample n` takes every nth row of the sweep,
// `--fresh` leaves results to the collector.
import { appendFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { type Case, type Clock, repetitions, type Side, sample } from "./case.ts";
import { putTable, type Result, table, writeTable } from "./compare.ts";
import { findPython, Peer } from "./peer.ts";

const FAMILIES = [
  "overhead",
  "kernels",
  "matmul",
  "layers",
  "conv",
  "optim",
  "models",
  "collections",
  "io",
  "formats",
  "import",
] as const;
/** Whose time can be counted as computing time. */
const COMPUTING: readonly string[] = ["overhead", "collections"];
/** Long enough that filling the caches again after the other side's turn counts little. */
const SAMPLE_SECONDS = 0.1;

async function otherSide(one: Case, peer: Peer | null, clock: Clock): Promise<{ side: Side; label: string } | string> {
  if (one.theirs !== undefined) return { side: one.theirs.side(), label: one.theirs.label };
  if (peer === null) return "no Python with torch";
  const [name, code] = typeof one.python === "object" ? [one.name, one.python] : [one.python ?? one.name];
  const side = await peer.side(name, clock, code);
  return typeof side === "string" ? side : { side, label: one.peer ?? "Python" };
}

async function runCase(family: string, one: Case, peer: Peer | null, rounds: number, clock: Clock): Promise<Result> {
  const ours = await one.ours();
  const other = await otherSide(one, peer, clock);
  const theirs = typeof other === "string" ? null : other.side;
  const counts = [
    await repetitions(ours, SAMPLE_SECONDS),
    theirs === null ? 1 : await repetitions(theirs, SAMPLE_SECONDS),
  ] as const;
  const result: Result = { family, name: one.name, ours: [], theirs: [], peer: null, notes: [] };
  if (typeof other === "string") result.notes.push(other);
  else result.peer = other.label;
  for (let round = 0; round < Math.min(rounds, one.rounds ?? rounds); round++) {
    // The side that begins changes, so that neither always follows the other.
    const sides = [
      () => timed(ours, counts[0], result.ours, clock),
      () => timed(theirs, counts[1], result.theirs, clock),
    ];
    if (round % 2 === 1) sides.reverse();
    for (const go of sides) await go();
  }
  for (const side of [ours, theirs]) if (side?.note) result.notes.push(side.note);
  ours.dispose?.();
  theirs?.dispose?.();
  return result;
}

async function timed(side: Side | null, n: number, into: number[], clock: Clock): Promise<void> {
  if (side !== null) into.push((await sample(side, n, clock)) / n);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "31" },
      only: { type: "string" },
      out: { type: "string" },
      cpu: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      sample: { type: "string", default: "1" },
    },
  });
  const rounds = Number(values.rounds);
  const sampled = Number(values.sample);
  const unknown = positionals.filter(
    (name) => name !== "sweep" && name !== "memory" && !FAMILIES.includes(name as never),
  );
  if (unknown.length > 0 || ![rounds, sampled].every((n) => Number.isInteger(n) && n >= 1)) {
    console.error(
      `usage: bun bench/run.ts [${FAMILIES.join("|")}...] [--rounds n] [--cpu] [--only text] [--out file] [--write]
       bun bench/run.ts memory [--only text] [--write]
       bun bench/run.ts sweep [--sample n] [--fresh] [--only text] [--out file] [--write]`,
    );
    return 2;
  }
  process.env.ZENSOR_NUM_THREADS ??= "1";
  const python = findPython();
  const peer = python === null ? null : new Peer(python);
  if (positionals.includes("sweep")) {
    if (peer === null) throw new Error("the sweep compares with PyTorch: set ZENSOR_BENCH_PYTHON");
    const { sweep } = await import("./sweep.ts");
    await sweep(await describe(peer, []), peer, { ...values, sample: sampled });
    await peer.close();
    return 0;
  }
  if (positionals.includes("memory")) {
    const { memoryTable } = await import("./memory.ts");
    const head = await describe(peer, []);
    const found = memoryTable(python, values.only ?? "", Math.min(3, rounds));
    console.log(`${head}\n\n${found}`);
    if (values.write) putTable("the table of memory", head, found);
    await peer?.close();
    return 0;
  }
  const families = FAMILIES.filter((name) => positionals.length === 0 || positionals.includes(name));
  const head = `${await describe(peer, families)}${values.cpu ? `; ${COMPUTING.join(" and ")} in computing time` : ""}`;
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify({ head })}\n`);
  const results: Result[] = [];
  for (const family of families) {
    const { cases } = (await import(`./${family}.ts`)) as { cases: readonly Case[] };
    for (const one of cases.filter(({ name }) => name.includes(values.only ?? ""))) {
      process.stderr.write(`${family}: ${one.name}\n`);
      const clock = values.cpu && COMPUTING.includes(family) ? "cpu" : "wall";
      const result = await runCase(family, one, peer, rounds, clock);
      results.push(result);
      if (values.out !== undefined) appendFileSync(values.out, `${JSON.stringify(result)}\n`);
    }
  }
  await peer?.close();
  console.log(`${head}\n\n${table(results)}`);
  if (values.write) writeTable(head, results);
  return 0;
}

/** Loads the library only here: it reads the number of threads when it starts. */
async function describe(peer: Peer | null, families: readonly string[]): Promise<string> {
  const processor = `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores`;
  const theirs = peer === null ? "no peer" : await peer.versions();
  const { instructionSet } = await import("../src/ffi/frame.ts");
  const ours = `Bun ${Bun.version}, ${instructionSet()} kernels`;
  const files = families.some((name) => name === "io" || name === "formats")
    ? `; files on ${(await import("./saves.ts")).fileSystem()}`
    : "";
  return `${processor}; ${ours}; ${theirs}; one thread each unless a row says otherwise${files}`;
}

process.exitCode = await main();
