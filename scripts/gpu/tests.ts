// The tests of tensors on devices, run on this one: they compare its results with the CPU's, most of them bit by bit.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Part } from "./parts.ts";

const home = join(import.meta.dir, "..", "..");
const folder = join("test", "cuda");

/** What bun says of tests: how many, and the names of those that fail. */
export function readOutcome(text: string): { passed: number; failed: number; skipped: number; failures: string[] } {
  const count = (word: string): number => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(text)?.[1] ?? 0);
  const failures = [...text.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/gm)].map(([, name]) => name as string);
  return { passed: count("pass"), failed: count("fail"), skipped: count("skip"), failures: [...new Set(failures)] };
}

export const tests: Part = async (run) => {
  // On the stand-in they run by themselves.
  if (run.results.record.kind !== "device") return { state: "left out" };
  if (!existsSync(join(home, folder))) return { state: "left out", note: "there are no tests here" };
  const child = Bun.spawn([process.execPath, "test", "--timeout", "120000", folder], {
    cwd: home,
    env: { ...process.env, ZENSOR_TEST_DRIVER: "libcuda.so.1", CI: "true", NO_COLOR: "1" },
    stdout: "ignore",
    stderr: "pipe",
    timeout: Math.max(1, run.until - performance.now()),
  });
  const text = await new Response(child.stderr).text();
  const code = await child.exited;
  const outcome = readOutcome(text);
  run.results.record.conformance["tests of devices"] = { ...outcome };
  if (child.signalCode !== null) return { state: "out of time" };
  if (code === 0 && outcome.passed > 0) return undefined;
  return { state: "failed", note: `${outcome.failed} tests fail` };
};
