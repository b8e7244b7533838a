// Which test files run a line, and how long each takes: from one run of each with coverage.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

export interface Reach {
  test: string;
  seconds: number;
  /** file -> lines that ran. */
  lines: Map<string, Set<number>>;
}

/** Reads an lcov report: lines that ran at least once. */
export function readLcov(text: string, root: string): Map<string, Set<number>> {
  const files = new Map<string, Set<number>>();
  let lines = new Set<number>();
  for (const row of text.split("\n")) {
    if (row.startsWith("SF:")) {
      const name = row.slice(3);
      lines = new Set();
      files.set(name.startsWith("/") ? relative(root, name) : name, lines);
    }
    const hit = /^DA:(\d+),(\d+)/.exec(row);
    if (hit !== null && Number(hit[2]) > 0) lines.add(Number(hit[1]));
  }
  return files;
}

/** Runs a test file; false when it fails or takes too long. */
export async function runTest(
  root: string,
  test: string,
  seconds: number,
  flags: readonly string[] = [],
  variables: Record<string, string> = {},
): Promise<boolean> {
  const words = [process.execPath, "test", "--timeout", "120000", "--bail", ...flags, test];
  const env = { ...process.env, CI: "true", NO_COLOR: "1", ...variables };
  const options = { cwd: root, env, stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  const child = Bun.spawn(words, { ...options, timeout: Math.ceil(seconds * 1000), killSignal: "SIGKILL" });
  return (await child.exited) === 0;
}

/** Runs a test file with coverage. A test that fails as it is would see every mutant: that is an error. */
export async function reachOf(root: string, test: string): Promise<Reach> {
  const folder = mkdtempSync(join(tmpdir(), "zensor-reach-"));
  try {
    const start = performance.now();
    const flags = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${folder}`];
    if (!(await runTest(root, test, 300, flags))) throw new Error(`${test} fails without any change`);
    const seconds = (performance.now() - start) / 1000;
    // A test that loads nothing of the library leaves no report.
    const report = join(folder, "lcov.info");
    return { test, seconds, lines: readLcov(existsSync(report) ? readFileSync(report, "utf8") : "", root) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
