// Files of strangers: bytes changed at places all over small good files, and small files made to take all time or
// memory. Whatever they hold, they are read or refused, within limits of time and memory, in a process of its own.
// Some seconds by default; by environment:
//   ZENSOR_ATTACK_ROUNDS=5000   changed bytes of each format
//   ZENSOR_ATTACK_FORMAT=npz    one format, or "made"
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "../../src/install.ts";
import { rounds } from "../campaign.ts";
import { watchLines } from "../watched.ts";
import { MADE } from "./formats-made.ts";
import { FLIPPED, hdf5Engines } from "./formats-readers.ts";

const PROGRAM = join(import.meta.dir, "formats-program.ts");
const { ZENSOR_ATTACK_ROUNDS, ZENSOR_ATTACK_FORMAT } = process.env;
const ROUNDS = Number(ZENSOR_ATTACK_ROUNDS ?? rounds(40, 200));
/** A process that says nothing for so long hangs. */
const SILENT_MS = 30_000;
/** Old versions of the HDF5 library end the process for some damage. */
const MOST_ENDS = Math.ceil(ROUNDS / 100);

const parent = mkdtempSync(join(tmpdir(), "zensor-formats-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

let rooms = 0;

interface Outcome {
  failures: string[];
  ends: string[];
  cases: number;
  read: number;
  refused: number;
}

/** Runs cases in a process; after one that ends it, the next ones in another. */
async function run(kind: string, name: string, to: number, environment: Record<string, string> = {}): Promise<Outcome> {
  const room = join(parent, String(rooms++));
  mkdirSync(room);
  const outcome: Outcome = { failures: [], ends: [], cases: 0, read: 0, refused: 0 };
  for (let from = 0; from < to && outcome.ends.length <= MOST_ENDS; ) {
    const words = [PROGRAM, kind, name, room, String(from), String(to)];
    const env = { ...process.env, ...environment };
    const child = Bun.spawn([process.execPath, ...words], { env, stdout: "pipe", stderr: "pipe" });
    const errors = new Response(child.stderr).text();
    let last = from;
    let done = false;
    await watchLines(child, SILENT_MS, (line) => {
      if (line.startsWith("begin ")) last = Number(line.slice(6));
      else if (line.startsWith("failure ")) outcome.failures.push(line.replaceAll("\\n", "\n"));
      else if (line.startsWith("done ")) {
        done = true;
        const counts = JSON.parse(line.slice(5)) as Outcome;
        for (const key of ["cases", "read", "refused"] as const) outcome[key] += counts[key];
      }
    });
    if (done) break;
    const end = child.signalCode ?? `exit ${child.exitCode}`;
    outcome.ends.push(`${kind} ${name} ${last}: ${end} ${(await errors).slice(-500)}`);
    from = last + 1;
  }
  return outcome;
}

const wanted = (name: string) => ZENSOR_ATTACK_FORMAT === undefined || ZENSOR_ATTACK_FORMAT === name;
const limit = 120_000 + ROUNDS * 200;

for (const { name } of FLIPPED.filter((one) => one.name !== "hdf5" && wanted(one.name))) {
  test(
    `changed bytes: ${name}`,
    async () => {
      const { failures, ends, cases, read, refused } = await run("flips", name, ROUNDS);
      expect([...failures.slice(0, 10), ...ends]).toEqual([]);
      expect(cases).toBe(ROUNDS);
      expect(Math.min(read, refused)).toBeGreaterThan(ROUNDS / 60);
    },
    limit,
  );
}

for (const { name, environment } of hdf5Engines()) {
  test.skipIf(!wanted("hdf5"))(
    `changed bytes: HDF5 by ${name}`,
    async () => {
      const { failures, ends } = await run("flips", "hdf5", ROUNDS, environment);
      expect(failures.slice(0, 10)).toEqual([]);
      expect(ends.length).toBeLessThanOrEqual(MOST_ENDS);
    },
    limit,
  );

  test.skipIf(!wanted("made"))(
    `made files: HDF5 by ${name}`,
    async () => {
      const { failures, ends, cases } = await run("made", name, MADE.length, environment);
      expect([...failures, ...ends]).toEqual([]);
      expect(cases).toBeGreaterThanOrEqual(5);
    },
    limit,
  );
}

test.skipIf(!wanted("made"))(
  "made files",
  async () => {
    const { failures, ends, cases } = await run("made", "none", MADE.length);
    expect([...failures, ...ends]).toEqual([]);
    expect(cases).toBe(MADE.filter(({ hdf5 }) => hdf5 === undefined).length);
  },
  limit,
);
