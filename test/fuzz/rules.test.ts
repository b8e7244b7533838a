// The rules that readers are held to can fail: each is broken by a reader made for that.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { READERS } from "./bad-readers.ts";
import { roomFor, runReader } from "./run-readers.ts";

const parent = mkdtempSync(join(tmpdir(), "zensor-rules-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

const EXPECTED: Record<string, RegExp | null> = {
  good: null,
  refuses: null,
  crashes: /CASE=0 ended the process with SIGSEGV/,
  exits: /CASE=0 ended the process with 0/,
  slow: /it took \d+ ms/,
  hangs: /CASE=0 ended the process with SIGKILL/,
  "waits for ever": /CASE=0 ended the process with SIGKILL/,
  "takes memory": /it took \d{3} MiB of memory/,
  "throws what is no error": /an error of another kind: null/,
  "throws an error of the language": /an error of another kind: TypeError/,
  "throws an error of the runtime": /an error of another kind: .*ENOENT/,
  "says what the language says": /an error of another kind: FormatError/,
  "writes outside": /it changed .*outside/,
  "changes a file outside": /it changed .*outside/,
  "rewrites a file outside": /it changed .*outside/,
  "removes a file outside": /it changed .*outside/,
  "changes rights outside": /it changed .*outside/,
  "renames outside": /it changed .*outside/,
  "leaves a temporary file": /it changed .*temporary/,
  "leaves a file where it works": /it changed .*work/,
  "changes what it reads": /it changed .*case/,
  "writes next to what it reads": /it changed .*case/,
};

test("every bad reader is here", () => {
  expect(Object.keys(EXPECTED).sort()).toEqual(READERS.map(({ name }) => name).sort());
});

for (const [name, pattern] of Object.entries(EXPECTED)) {
  test.concurrent(`the rules for: ${name}`, async () => {
    const { failures, counts } = await runReader({
      table: join(import.meta.dir, "bad-readers.ts"),
      reader: name,
      seed: "1",
      room: roomFor(parent, name.replaceAll(" ", "-")),
      from: 0,
      to: 1,
      hangsAfter: pattern?.source.includes("SIGKILL") ? 3000 : 60_000,
      environment: name === "slow" ? { ZENSOR_FUZZ_LIMIT_MS: "300" } : {},
    });
    if (pattern === null) {
      expect(failures).toEqual([]);
      expect(counts).toMatchObject({ cases: 1, seeds: 1, whole: 1 });
    } else {
      // On a busy machine one rule may take another with it: what is slow twice took too long.
      expect(failures.join("\n")).toMatch(pattern);
    }
  }, 60_000);
}
