// What a clone has after its first command: programs that start under their plain names.
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { STEPS } from "../../scripts/test-steps.ts";
import { ensureInstalled, root } from "../../scripts/toolchain.mjs";

test.if(process.platform !== "win32")(
  "node_modules/.bin has bun itself, not a text that asks for its install script",
  () => {
    ensureInstalled();
    const { version } = JSON.parse(readFileSync(join(root, "node_modules", "bun", "package.json"), "utf8"));
    for (const name of ["bun", "bunx"]) {
      const { stdout, status } = spawnSync(join(root, "node_modules", ".bin", name), ["--version"], {
        encoding: "utf8",
      });
      expect([name, status, stdout.trim()]).toEqual([name, 0, version]);
    }
  },
);

test("what only `npm test -- --all` runs says what it is, and everything else is run by `npm test`", () => {
  const beyond = STEPS.filter((step) => step.beyond !== undefined);
  const names = ["built", "docs", "foreign", "isa", "mutants", "ptxas", "test/package"];
  expect(beyond.map((step) => step.name).sort()).toEqual(names);
  for (const step of beyond) expect(step.beyond).toMatch(/\w+/);
});
