// Readers of files and damage: the outcome is a value or an error of ours, soon, without much memory, and nothing
// outside changes. The same cases each time; to look further, by environment:
//   ZENSOR_FUZZ_READER=npz       one reader        ZENSOR_FUZZ_SEED=7     other cases
//   ZENSOR_FUZZ_SECONDS=600      as many cases as fit into so many seconds per reader
//   ZENSOR_FUZZ_CASE=123         that case alone
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rounds } from "../campaign.ts";
import { READERS } from "./reader-table.ts";
import { roomFor, runReader } from "./run-readers.ts";

const { ZENSOR_FUZZ_READER, ZENSOR_FUZZ_SECONDS, ZENSOR_FUZZ_SEED = "1", ZENSOR_FUZZ_CASE } = process.env;

const parent = mkdtempSync(join(tmpdir(), "zensor-fuzz-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

for (const { name, cases: usual, unreadable } of READERS) {
  if (ZENSOR_FUZZ_READER !== undefined && ZENSOR_FUZZ_READER !== name) continue;
  const budget = ZENSOR_FUZZ_SECONDS === undefined ? 300 : Number(ZENSOR_FUZZ_SECONDS) * 2 + 300;
  test(
    `damaged files: ${name}`,
    async () => {
      const from = Number(ZENSOR_FUZZ_CASE ?? 0);
      let to = ZENSOR_FUZZ_SECONDS === undefined ? rounds(Math.ceil(usual / 4), usual) : Number.MAX_SAFE_INTEGER;
      if (ZENSOR_FUZZ_CASE !== undefined) to = from + 1;
      const outcome = await runReader({
        table: join(import.meta.dir, "reader-table.ts"),
        reader: name,
        seed: ZENSOR_FUZZ_SEED,
        room: roomFor(parent, name),
        from,
        to,
        ...(ZENSOR_FUZZ_SECONDS === undefined ? {} : { seconds: ZENSOR_FUZZ_SECONDS }),
      });
      if (outcome.counts !== null) {
        const { cases = 0, read = 0, refused = 0, slowest, grownMiB } = outcome.counts;
        const text = `${cases} cases, ${read} read, ${refused} refused, ${slowest} ms at most, ${grownMiB} MiB more`;
        console.log(`${name}: ${text}`);
        // Without damage every file is read; with it some are.
        expect(outcome.refusedWhole.filter((text) => unreadable?.test(text) !== true)).toEqual([]);
        expect(cases).toBe(read + refused);
        if (cases >= 300) expect(Math.min(read, refused)).toBeGreaterThan(20);
      }
      expect(outcome.failures.slice(0, 20)).toEqual([]);
      expect(outcome.counts).not.toBeNull();
    },
    budget * 1000,
  );
}
