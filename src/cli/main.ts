#!/usr/bin/env bun
// The command line: looks into, compares and converts files of tensors.
import { CommanderError } from "commander";
import { isUndecoded } from "../io/base/byte-names.ts";
import { colorOption } from "./colors.ts";
import { commandLine, type Ended, misspelt } from "./commands.ts";
import { CliError, EXIT } from "./errors.ts";
import { endCommand, interrupted } from "./lifetime.ts";
import { complain } from "./output.ts";

async function version(): Promise<string> {
  const manifest = (await import("../../package.json", { with: { type: "json" } })).default as { version: string };
  return manifest.version;
}

/** What went wrong first: tidying up after an error may fail, too. */
function firstOf(error: unknown): unknown {
  const { name, suppressed } = error as { name?: string; suppressed?: unknown };
  return name === "SuppressedError" && suppressed !== undefined ? firstOf(suppressed) : error;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" ? error.name : error.message;
}

async function run(argv: readonly string[], ended: Ended): Promise<void> {
  const program = commandLine(await version(), ended);
  const wrong = misspelt(program, argv);
  if (wrong !== null) {
    const { command, text } = wrong;
    const { nearest } = await import("./near.ts");
    const known = command === program ? command.commands.map((one) => one.name()) : longNames(command.options);
    const near = nearest(/'(.*)'$/.exec(text)?.[1] as string, known, 1);
    command.error(`error: ${text}${near.length === 0 ? "" : `\n(Did you mean ${near[0]}?)`}`);
  }
  await program.parseAsync([...argv], { from: "user" });
}

function longNames(options: readonly { long?: string | undefined }[]): string[] {
  return options.flatMap(({ long }) => (long === undefined ? [] : [long]));
}

/** Runs the command line; gives the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const ended: Ended = { code: EXIT.done, failed: EXIT.failed };
  try {
    await run(argv, ended);
    return ended.code;
  } catch (thrown) {
    const error = firstOf(thrown);
    // The library has printed what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if ((error as { name?: string }).name === "AbortError") {
      const { exitCode, word } = interrupted();
      console.error(`${word}; nothing was changed`);
      return exitCode;
    }
    complain(textOf(error));
    return error instanceof CliError ? Math.max(error.exitCode, ended.failed) : ended.failed;
  } finally {
    colorOption(undefined);
    endCommand();
  }
}

/** The arguments, and with them those that the runtime could not decode. */
async function argumentsNow(): Promise<readonly string[]> {
  const decoded = process.argv.slice(2);
  if (!decoded.some(isUndecoded)) return decoded;
  return (await import("./byte-paths.ts")).argumentsOf(decoded);
}

/** Ends the program. What a signal gave up may still wait for an answer, and does not hold it. */
export function endWith(code: number): void {
  process.exitCode = code;
  if (code > EXIT.signalled) process.exit();
}

// Compiled code has no await at its top level.
if (import.meta.main) {
  argumentsNow().then(main).then(endWith);
}
