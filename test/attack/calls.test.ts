// Random calls with tensors in every kind of trouble, in processes of their own: each gives a value or an error of
// ours, the process lives, and no other tensor's bytes change. To look further, by environment:
//   ZENSOR_ATTACK_SEED=7        other calls
//   ZENSOR_ATTACK_SECONDS=3600  as many as fit into so many seconds
//   ZENSOR_ATTACK_CASE=123      that call alone
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rounds } from "../campaign.ts";

const { ZENSOR_ATTACK_SEED, ZENSOR_ATTACK_SECONDS, ZENSOR_ATTACK_CASE } = process.env;
const USUAL_CASES = rounds(3000, 12_000);
/** A call that takes longer hangs. */
const HANGS_AFTER_MS = 60_000;
const room = mkdtempSync(join(tmpdir(), "zensor-attack-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));

async function attack(seed: string): Promise<string[]> {
  const journal = join(room, seed);
  const from = Number(ZENSOR_ATTACK_CASE ?? 0);
  let to = ZENSOR_ATTACK_SECONDS === undefined ? USUAL_CASES : Number.MAX_SAFE_INTEGER;
  if (ZENSOR_ATTACK_CASE !== undefined) to = from + 1;
  const words = [seed, String(from), String(to), ZENSOR_ATTACK_SECONDS ?? "0", journal];
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "calls-program.ts"), ...words], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const told = [new Response(child.stdout).text(), new Response(child.stderr).text()];
  let last = "";
  const watch = setInterval(() => {
    const now = readFileSync(journal, "utf8");
    if (now === last) child.kill("SIGKILL");
    last = now;
  }, HANGS_AFTER_MS);
  await child.exited;
  clearInterval(watch);
  const [output = "", noise = ""] = await Promise.all(told);
  const failures = output.split("\n").filter((line) => line.startsWith("failure "));
  if (!output.includes("\ndone ") && !output.startsWith("done ")) {
    const at = readFileSync(journal, "utf8").trim();
    failures.push(`seed ${seed}, case ${at}: ended with ${child.signalCode ?? child.exitCode}: ${noise.slice(-1500)}`);
  }
  return failures;
}

for (const seed of ZENSOR_ATTACK_SEED === undefined ? ["1", "2"] : [ZENSOR_ATTACK_SEED]) {
  test(
    `random calls, seed ${seed}`,
    async () => expect(await attack(seed)).toEqual([]),
    (Number(ZENSOR_ATTACK_SECONDS ?? 0) + 240) * 1000,
  );
}
