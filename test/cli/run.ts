// Runs the command line inside of the test's process, which is much faster than one process for each call.
import { spyOn } from "bun:test";
import { main } from "../../src/cli/main.ts";
import { copyMappedFiles } from "../../src/io/tensor-bytes.ts";

/** What a command printed and ended with. */
export interface Done {
  code: number;
  out: string;
  err: string;
}

/** Runs a command. */
export async function zensor(...args: string[]): Promise<Done> {
  const out: string[] = [];
  const err: string[] = [];
  const log = spyOn(console, "log").mockImplementation((...texts: unknown[]) => void out.push(texts.join(" ")));
  const error = spyOn(console, "error").mockImplementation((...texts: unknown[]) => void err.push(texts.join(" ")));
  try {
    const code = await main(args);
    return { code, out: out.join("\n"), err: Bun.stripANSI(err.join("\n")) };
  } finally {
    log.mockRestore();
    error.mockRestore();
    // Other tests of this process change tensors of mapped files.
    copyMappedFiles(false);
  }
}
