// Runs the example programs and compares what they print with the rows of the seeds' manifest, in their order.
import { expect, test } from "bun:test";
import { join } from "node:path";
import "../seeds/driver.ts";
import { SEEDS } from "../seeds/manifest.ts";

const EXAMPLES: Record<string, string> = {
  "000": "000-memory.ts",
  "001": "001-storage.ts",
  "003": "003-inplace.ts",
  "004": "004-saving.ts",
};
const root = join(import.meta.dir, "..", "..");

/** The rows' texts that a program has no reason to print: it has fewer statements than its document. */
const LEFT_OUT = /^(\{"c": |A filename was provided|\[Errno 2\]|torch\.Size\(\[3, 1\]\))/;

for (const [seed, file] of Object.entries(EXAMPLES)) {
  test(`examples/${file} prints what seed ${seed} prints`, async () => {
    const words = [process.execPath, join(root, "examples", file)];
    const child = Bun.spawn(words, { stdout: "pipe", stderr: "pipe", env: process.env });
    const [printed, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect(await child.exited, errors).toBe(0);
    const texts = (SEEDS.find((s) => s.seed === seed)?.rows ?? [])
      .map((row) => row.prints)
      .filter((text): text is string => typeof text === "string" && !LEFT_OUT.test(text));
    expect(texts.length).toBeGreaterThan(0);
    for (const text of new Set(texts)) expect(printed).toContain(text);
  }, 60_000);
}
