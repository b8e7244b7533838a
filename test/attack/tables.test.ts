// Damaged and crafted tables: each is read or refused in one clear error, within seconds and within memory that fits
// it, and what cannot be read keeps nothing else from being read. To look further, by environment:
//   ZENSOR_ATTACK_ROUNDS=5000  every byte of the good files, and as many files of each format with other damage
//   ZENSOR_ATTACK_SEED=7       other damage
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchLines } from "../watched.ts";

const { ZENSOR_ATTACK_ROUNDS, ZENSOR_ATTACK_SEED = "1" } = process.env;
const rounds = Number(ZENSOR_ATTACK_ROUNDS ?? 0);
/** A file that takes longer hangs; machines with other work are slower. */
const HANGS_AFTER_MS = 20_000;
const MOST_HANGS = 5;
const room = mkdtempSync(join(tmpdir(), "zensor-tables-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));

/** Runs the cases of a format, past those that end the process. */
async function attack(what: string): Promise<{ failures: string[]; counts: Record<string, number> }> {
  const folder = join(room, what);
  const program = join(import.meta.dir, "tables-program.ts");
  mkdirSync(folder);
  if (what === "crafted") Bun.spawnSync([process.execPath, program, folder, ZENSOR_ATTACK_SEED, "0", "make"]);
  const failures: string[] = [];
  let from = 0;
  for (let hangs = 0; hangs < MOST_HANGS; hangs++) {
    const words = [folder, ZENSOR_ATTACK_SEED, String(rounds), what, String(from)];
    const child = Bun.spawn([process.execPath, program, ...words], { stdout: "pipe", stderr: "pipe" });
    const noise = new Response(child.stderr).text();
    let last = "";
    const done: Record<string, number>[] = [];
    await watchLines(child, HANGS_AFTER_MS, (line) => {
      if (line.startsWith("begin ")) last = line.slice(6);
      else if (line.startsWith("failure ")) failures.push(JSON.parse(line.slice(8)));
      else if (line.startsWith("done ")) done.push(JSON.parse(line.slice(5)));
    });
    const counts = done.at(-1);
    if (counts !== undefined) return { failures, counts };
    failures.push(`${last} ended the process with ${child.signalCode ?? child.exitCode}: ${(await noise).slice(-500)}`);
    from = Number.parseInt(last, 10) + 1;
  }
  return { failures, counts: { cases: 0 } };
}

for (const [what, least] of [
  ["arrow", 1500],
  ["parquet", 1500],
  ["csv", 100],
  ["json", 200],
  ["jsonl", 200],
  ["crafted", 110],
] as const) {
  test(
    `${what}: damaged tables`,
    async () => {
      const { failures, counts } = await attack(what);
      if (rounds > 0) console.log(what, counts);
      expect(failures.slice(0, 20)).toEqual([]);
      expect(counts.cases).toBeGreaterThan(what === "crafted" ? least : least + rounds);
    },
    240_000 + 100 * rounds,
  );
}
