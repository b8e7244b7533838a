// What scenarios share: running all writers, and noting what is not as it should be.
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/io/base/errors.ts";
import { WRITERS, type Writer } from "./writers.ts";

/** By writer. */
export type Problems = Record<string, string[]>;

export const TREE = { recursive: true, force: true };
export const NOBODY = 65534;
export const SMALL = 600;
/** More than the small disk holds. */
export const LARGE = 2 ** 18;

/** Collects what is not as it should be. */
export class Findings {
  readonly list: string[] = [];
  check(right: boolean, what: string): void {
    if (!right) this.list.push(what);
  }
}

export async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
    return null;
  } catch (error) {
    return error ?? "nothing";
  }
}

/** Whether an error is the system's, names a file below `directory`, and has one of the codes. */
export function checkError(findings: Findings, error: unknown, codes: readonly string[], directory: string): void {
  if (!(error instanceof Error)) {
    findings.check(false, "it did not fail");
    return;
  }
  const { code } = error as { code?: string };
  const text = `${error.name} ${code}: ${error.message}`;
  findings.check(error instanceof OSError, `not an OSError: ${text}\n${error.stack}`);
  findings.check(codes.includes(code ?? ""), `not ${codes.join(" or ")}: ${text}`);
  findings.check(error.message.includes(directory), `names no file: ${text}`);
}

/** Runs a scenario for each writer in a directory of its own. */
export async function forEach(
  root: string,
  run: (writer: Writer, directory: string, findings: Findings) => Promise<void>,
): Promise<Problems> {
  const problems: Problems = {};
  for (const [i, writer] of WRITERS.entries()) {
    const findings = new Findings();
    const directory = join(root, `w${i}`);
    mkdirSync(directory);
    try {
      await run(writer, directory, findings);
    } catch (error) {
      findings.check(false, (error as Error).stack ?? String(error));
    }
    chmodSync(directory, 0o755);
    rmSync(directory, { recursive: true, force: true });
    Bun.gc(true);
    problems[writer.name] = findings.list;
  }
  return problems;
}

/** Whether a disk has as many free blocks again, once what nobody uses any more is collected. */
export async function hasFree(path: string, blocks: number): Promise<boolean> {
  for (let i = 0; i < 5; i++) {
    // The collector takes what the stack still shows for used.
    await Bun.sleep(1);
    Bun.gc(true);
    if (statfsSync(path).bfree >= blocks) return true;
  }
  return false;
}

export async function freeBlocks(path: string): Promise<number> {
  await hasFree(path, Number.POSITIVE_INFINITY);
  return statfsSync(path).bfree;
}

/** Fills what is left of the disk. */
export function fill(root: string): string {
  const path = join(root, "filler");
  const fd = openSync(path, "w");
  const block = new Uint8Array(4096);
  for (;;) {
    try {
      writeFileSync(fd, block);
    } catch {
      closeSync(fd);
      return path;
    }
  }
}
