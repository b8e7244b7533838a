// Resident memory stays near what lives and what may be kept, whatever sizes come and go.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isWhole } from "../campaign.ts";
import { type Found, PATTERNS } from "./resident-patterns.ts";

const MB = 2 ** 20;
/** What may be kept: little, so that a pattern shows soon what it loses. */
const CACHE_LIMIT = 64 * MB;
/** Of JavaScript's own heap, and of what lies on pages with live blocks; each Worker has a heap. */
const other = (name: string) => (name === "workers" ? 128 : 32) * MB;

async function run(name: string, env: Record<string, string>) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "resident-patterns.ts"), name], {
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, noise] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, noise]).toEqual([0, ""]);
  return JSON.parse(output) as Found;
}

describe("resident memory", () => {
  for (const [i, name] of Object.keys(PATTERNS).entries()) {
    // Every other one is enough to see that something is wrong.
    test.concurrent.skipIf(!isWhole && i % 2 === 0)(
      name,
      async () => {
        const { over, reserved, after, looks } = await run(name, { ZENSOR_CACHE_LIMIT: String(CACHE_LIMIT) });
        expect(looks).toBeGreaterThan(2);
        expect(over).toBeLessThan(other(name));
        // `memoryReserved` tells of all of it.
        expect(reserved).toBeLessThan(other(name));
        expect(after).toBeLessThan(other(name));
      },
      120_000,
    );
  }
});
