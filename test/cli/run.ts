// Runs the command line: inside of the test's process, which is much faster, or as a program of its own.
import { spyOn } from "bun:test";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { output } from "../../src/cli/output.ts";
import { copyMappedFiles } from "../../src/io/disk/tensor-bytes.ts";

/** What a command printed and ended with. */
export interface Done {
  code: number;
  out: string;
  err: string;
}

const MAIN = join(import.meta.dir, "..", "..", "src", "cli", "main.ts");

/** A command that runs as a program. */
export function started(args: readonly string[], environment: Record<string, string>) {
  const env = { ...process.env, NO_COLOR: "1", ...environment };
  return Bun.spawn([process.execPath, MAIN, ...args], { stdout: "pipe", stderr: "pipe", env });
}

/** Runs a command as a program, with these variables in its environment beside the present ones. */
export async function program(args: readonly string[], environment: Record<string, string>): Promise<Done> {
  const child = started(args, environment);
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out: out.trim(), err: err.trim() };
}

/** Runs a command. */
export async function zensor(...args: string[]): Promise<Done> {
  const out: string[] = [];
  const err: string[] = [];
  const log = spyOn(output, "write").mockImplementation((text) => void out.push(text));
  const error = spyOn(console, "error").mockImplementation((...texts: unknown[]) => void err.push(texts.join(" ")));
  try {
    const code = await main(args);
    return { code, out: out.join("").trimEnd(), err: Bun.stripANSI(err.join("\n")) };
  } finally {
    log.mockRestore();
    error.mockRestore();
    // Other tests of this process change tensors of mapped files.
    copyMappedFiles(false);
  }
}
