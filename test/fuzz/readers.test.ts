// Readers of files and damage: the outcome is a value or an error of ours, soon, without much memory, and nothing
// outside changes. The same cases each time; to look further, by environment:
//   ZENSOR_FUZZ_READER=npz       one reader        ZENSOR_FUZZ_SEED=7     other cases
//   ZENSOR_FUZZ_SECONDS=600      as many cases as fit into so many seconds per reader
//   ZENSOR_FUZZ_CASE=123         that case alone
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { READERS, type Reader } from "./reader-table.ts";

const { ZENSOR_FUZZ_READER, ZENSOR_FUZZ_SECONDS, ZENSOR_FUZZ_SEED = "1", ZENSOR_FUZZ_CASE } = process.env;
const PROGRAM = join(import.meta.dir, "readers-program.ts");
/** A process that says nothing for so long hangs. */
const HANGS_MS = 60_000;
const MOST_CRASHES = 10;

const parent = mkdtempSync(join(tmpdir(), "zensor-fuzz-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** A folder for one reader, with things around it that no file may make it touch. */
function roomFor(reader: Reader): string {
  const room = join(parent, reader.name);
  for (const part of ["outside", "temporary", "work"]) mkdirSync(join(room, part), { recursive: true });
  writeFileSync(join(room, "outside", "secret"), "secret");
  // Where there is no such command, links to it lead nowhere.
  if (process.platform !== "win32") Bun.spawnSync(["mkfifo", join(room, "outside", "pipe")]);
  return room;
}

interface Outcome {
  /** The case that was read last. */
  last: number;
  failures: string[];
  counts: Record<string, number> | null;
  ended: string;
}

/** Runs cases in a process of their own until they are done, or it ends. */
async function runCases(reader: Reader, room: string, from: number, to: number, seconds: string[]): Promise<Outcome> {
  const words = [reader.name, ZENSOR_FUZZ_SEED, room, String(from), String(to), ...seconds];
  const temporary = join(room, "temporary");
  const child = Bun.spawn([process.execPath, PROGRAM, ...words], {
    cwd: join(room, "work"),
    env: { ...process.env, TMPDIR: temporary, TMP: temporary, TEMP: temporary },
    stdout: "pipe",
    stderr: "pipe",
  });
  const outcome: Outcome = { last: from - 1, failures: [], counts: null, ended: "" };
  const stderr = new Response(child.stderr).text();
  let silent = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    clearTimeout(silent);
    silent = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) {
      if (line.startsWith("begin ")) outcome.last = Number(line.slice(6));
      else if (line.startsWith("done ")) outcome.counts = JSON.parse(line.slice(5));
      else if (line.startsWith("failure ")) outcome.failures.push(line.replaceAll("\\n", "\n"));
    }
  }
  clearTimeout(silent);
  await child.exited;
  outcome.ended = `${child.signalCode ?? child.exitCode}: ${(await stderr).slice(-2000)}`;
  return outcome;
}

for (const reader of READERS) {
  if (ZENSOR_FUZZ_READER !== undefined && ZENSOR_FUZZ_READER !== reader.name) continue;
  const budget = ZENSOR_FUZZ_SECONDS === undefined ? 300 : Number(ZENSOR_FUZZ_SECONDS) * 2 + 300;
  test(
    `damaged files: ${reader.name}`,
    async () => {
      const room = roomFor(reader);
      const seconds = ZENSOR_FUZZ_SECONDS === undefined ? [] : [ZENSOR_FUZZ_SECONDS];
      let from = Number(ZENSOR_FUZZ_CASE ?? 0);
      let to = seconds.length === 0 ? reader.cases : Number.MAX_SAFE_INTEGER;
      if (ZENSOR_FUZZ_CASE !== undefined) to = from + 1;
      const failures: string[] = [];
      for (let crashes = 0; from < to && crashes < MOST_CRASHES; crashes++) {
        const outcome = await runCases(reader, room, from, to, seconds);
        failures.push(...outcome.failures);
        if (outcome.counts !== null) {
          const { seeds = 0, whole = 0, cases = 0, read = 0, refused = 0, slowest, grownMiB } = outcome.counts;
          const text = `${cases} cases, ${read} read, ${refused} refused, ${slowest} ms at most, ${grownMiB} MiB more`;
          console.log(`${reader.name}: ${text}`);
          // Without damage most files are read; with it some are.
          expect(whole).toBeGreaterThan(seeds / 2);
          expect(cases).toBe(read + refused);
          if (cases >= 1000) expect(Math.min(read, refused)).toBeGreaterThan(20);
          break;
        }
        const name = `ZENSOR_FUZZ_READER=${reader.name} ZENSOR_FUZZ_SEED=${ZENSOR_FUZZ_SEED}`;
        failures.push(`${name} ZENSOR_FUZZ_CASE=${outcome.last} ended the process with ${outcome.ended}`);
        from = outcome.last + 1;
      }
      expect(failures.slice(0, 20)).toEqual([]);
    },
    budget * 1000,
  );
}
