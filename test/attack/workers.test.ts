// Workers that are terminated while native threads write for them: the process lives, and nothing of theirs stays.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rounds } from "../campaign.ts";

const room = mkdtempSync(join(tmpdir(), "zensor-attack-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));

/** Tensors and copies of one Worker. */
const WORKER_BYTES = 96 * 2 ** 20;

test("terminated in the middle of saves", async () => {
  const terminations =
    process.env.ZENSOR_ATTACK_SECONDS === undefined ? rounds(8, 16) : Number(process.env.ZENSOR_ATTACK_SECONDS);
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "terminated-program.ts"), room, String(terminations)],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const told = [new Response(child.stdout).text(), new Response(child.stderr).text()];
  const code = await child.exited;
  const [output = "", noise = ""] = await Promise.all(told);
  expect([child.signalCode, code, noise]).toEqual([null, 0, ""]);
  const { midway, kept, over, ...rest } = JSON.parse(output);
  expect(rest).toEqual({ maps: true, after: [] });
  expect(midway).toBeGreaterThan(0);
  // On a busy machine the runtime lets the heap of a terminated Worker stand now and then, or ends one between the
  // making of a block and its owner: not the rule.
  expect(kept).toBeLessThan(terminations / 2);
  expect(over).toBeLessThan((terminations / 4) * WORKER_BYTES);
}, 600_000);
