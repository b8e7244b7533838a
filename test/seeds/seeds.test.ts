// Runs every row of the seeds' manifest, in order, with one scope per document, and compares what it prints.
import "./driver.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SEEDS } from "./manifest.ts";
import { type BaseScope, captured, isWithoutEngine, openScope, type Row } from "./row.ts";

// Some rows draw a hundred million numbers, or map a hundred gigabytes.
const LIMIT_MS = 60_000;

function check(row: Row<BaseScope>, printed: string): void {
  if (row.prints instanceof RegExp) expect(printed).toMatch(row.prints);
  else expect(printed).toBe(row.prints ?? "");
}

for (const { seed, rows } of SEEDS) {
  describe(`seed ${seed}`, () => {
    let opened: ReturnType<typeof openScope>;
    beforeAll(() => {
      opened = openScope();
    });
    afterAll(() => opened.remove());
    for (const row of rows) {
      const name = `line ${row.line}: ${row.python}`;
      test.skipIf(isWithoutEngine(row))(
        name,
        async () => check(row, await captured(() => row.code(opened.scope))),
        LIMIT_MS,
      );
    }
  });
}

test("the manifest's rows are in the order of their documents", () => {
  for (const { seed, rows } of SEEDS) {
    expect(rows.length, seed).toBeGreaterThan(0);
    for (let i = 1; i < rows.length; i++) {
      expect((rows[i] as Row<BaseScope>).line).toBeGreaterThanOrEqual((rows[i - 1] as Row<BaseScope>).line);
    }
  }
});
