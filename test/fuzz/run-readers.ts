// Runs the cases of a reader in processes of their own and says which rules were broken.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { watchLines } from "../watched.ts";

const PROGRAM = join(import.meta.dir, "readers-program.ts");
const MOST_CRASHES = 10;

/** What is run: a reader of a table, and which cases. */
export interface Run {
  /** The file with the table. */
  table: string;
  reader: string;
  seed: string;
  /** A folder for it alone. */
  room: string;
  from: number;
  to: number;
  /** As many cases as fit into so many seconds. */
  seconds?: string;
  /** A process that says nothing for so long hangs. */
  hangsAfter?: number;
  environment?: Record<string, string>;
}

/** What came of it. */
export interface Outcome {
  failures: string[];
  /** Undamaged files that were refused, and why. */
  refusedWhole: string[];
  /** Of the last process; null when it did not come to its end. */
  counts: Record<string, number> | null;
}

/** A folder for one reader, with things around it that no file may make it touch. */
export function roomFor(parent: string, name: string): string {
  const room = join(parent, name);
  for (const part of ["outside", "temporary", "work"]) mkdirSync(join(room, part), { recursive: true });
  writeFileSync(join(room, "outside", "secret"), "secret");
  // Where there is no such command, links to it lead nowhere.
  if (process.platform !== "win32") Bun.spawnSync(["mkfifo", join(room, "outside", "pipe")]);
  return room;
}

/** Runs cases in a process of their own until they are done, or it ends. */
async function runProcess(run: Run, from: number): Promise<Outcome & { last: number; ended: string }> {
  const { table, reader, seed, room, to, seconds } = run;
  const words = [table, reader, seed, room, String(from), String(to), ...(seconds === undefined ? [] : [seconds])];
  const temporary = join(room, "temporary");
  const child = Bun.spawn([process.execPath, PROGRAM, ...words], {
    cwd: join(room, "work"),
    env: { ...process.env, ...run.environment, TMPDIR: temporary, TMP: temporary, TEMP: temporary },
    stdout: "pipe",
    stderr: "pipe",
  });
  const outcome: Outcome & { last: number; ended: string } = {
    last: from - 1,
    failures: [],
    refusedWhole: [],
    counts: null,
    ended: "",
  };
  const stderr = new Response(child.stderr).text();
  const take = (line: string): void => {
    if (line.startsWith("begin ")) outcome.last = Number(line.slice(6));
    else if (line.startsWith("done ")) outcome.counts = JSON.parse(line.slice(5));
    else if (line.startsWith("refused ")) outcome.refusedWhole.push(line.slice(8));
    else if (line.startsWith("failure ")) outcome.failures.push(line.replaceAll("\\n", "\n"));
  };
  // Until it is ready it may take longer.
  await watchLines(child, run.hangsAfter ?? 60_000, take, 120_000);
  outcome.ended = `${child.signalCode ?? child.exitCode}: ${(await stderr).slice(-2000)}`;
  return outcome;
}

/** Runs all cases; after one that ends the process it goes on with the next. */
export async function runReader(run: Run): Promise<Outcome> {
  const failures: string[] = [];
  let from = run.from;
  for (let crashes = 0; from < run.to && crashes < MOST_CRASHES; crashes++) {
    const { last, ended, ...outcome } = await runProcess(run, from);
    failures.push(...outcome.failures);
    if (outcome.counts !== null) return { ...outcome, failures };
    const name = `ZENSOR_FUZZ_READER=${run.reader} ZENSOR_FUZZ_SEED=${run.seed}`;
    failures.push(`${name} ZENSOR_FUZZ_CASE=${last} ended the process with ${ended}`);
    from = last + 1;
  }
  return { failures, refusedWhole: [], counts: null };
}
