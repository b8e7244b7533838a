#!/usr/bin/env bun
// The command line: looks into, compares and converts files of tensors. Commands load what they need, so that help is
// instant.
import { fstatSync } from "node:fs";
import { styleText } from "node:util";
import { Command, CommanderError } from "commander";
import { CliError, EXIT } from "./errors.ts";
import { FORMATS } from "./formats.ts";
import { endCommand, withPlaces } from "./lifetime.ts";
import { output, say } from "./output.ts";
import { printable, withFlags } from "./text.ts";

const NOTES = `
Formats (found out by themselves, or named with --from and --to):
${Object.entries(FORMATS)
  .map(([name, { title, extensions, written }]) => {
    const notes = [...extensions, ...(written ? [] : ["read only"])].join(" ");
    return `  ${name.padEnd(14)} ${title}${notes === "" ? "" : ` (${notes})`}`;
  })
  .join("\n")}

Every format is read from and written to S3 stores, s3://bucket/key. Of directories and .safetensors files only what
is needed is transferred; all else passes as a whole through the folder for temporary files ($TMPDIR).
Folders are not left by symbolic links without --follow-links; archives that become more than 1 GiB, and more
than 200 times what they are, are read up to --max-bytes.
What a target cannot hold is told before anything is written; --lossy leaves it out.

Exit codes:
  0 done   1 the input is wrong, a file could not be used or is damaged, or two differ
  2 the command line is wrong   130 interrupted`;

/** The runtime's stream for a terminal takes as long to make as all else that help needs; help has no colours. */
const OUTPUT = {
  writeOut: output.write,
  getOutHelpWidth: () => (fstatSync(1).isCharacterDevice() ? (process.stdout.columns ?? 80) : 80),
  getOutHasColors: () => false,
};

/** A command that reads, with the options of those. */
function reading(made: Command): Command {
  return made
    .option("--follow-links", "follow symbolic links that lead out of a folder")
    .option("--max-bytes <size>", "most bytes that compressed entries of an archive may become, such as 2GiB");
}

/** A command that writes a target, likewise. */
function writing(made: Command): Command {
  return made
    .option("--to <format>", "format of the target, where its name does not tell")
    .option("--threads <n>", "threads that write")
    .option("--force", "replace an existing target")
    .option("--lossy", "leave out what the target cannot hold, and say so")
    .option("--json", "machine-readable output")
    .option("--quiet", "no progress and no summary");
}

/** The commands; `exitCode` receives what a command ends with. */
function commandLine(version: string, ended: (exitCode: number) => void = () => {}): Command {
  const program = new Command("zensor")
    .description("look into, check, compare, convert, slice and merge files of tensors")
    .version(version, "-V, --version")
    .addHelpText("after", NOTES)
    .showHelpAfterError("See `zensor --help`.")
    .configureOutput(OUTPUT)
    .exitOverride();
  const command = (text: string, description: string) =>
    program.command(text).description(description).exitOverride().showHelpAfterError("See `zensor --help`.");
  command("tree <directory>", "show a directory as a tree")
    .option("--branches", "draw the tree with branches")
    .option("--depth <n>", "deepest level")
    .option("--json", "machine-readable output")
    .action(async (path, options) => await (await import("./tree.ts")).tree(path, options));
  reading(command("inspect <path>", "list the tensors of a file or a directory"))
    .option("--json", "machine-readable output")
    .option("--from <format>", "the format, where it cannot be seen")
    .action(async (path, options) => await (await import("./inspect.ts")).inspect(path, options));
  writing(reading(command("convert <from> <to>", "convert one format into another")))
    .option("--from <format>", "format of the source, where it cannot be seen")
    .action(async (from, to, options) => await (await import("./convert.ts")).convert(from, to, options));
  const more = (text: string, before: string[] = []) => [...before, text];
  writing(reading(command("slice <from> <to>", "write some entries or some rows of a source")))
    .option("--from <format>", "format of the source, where it cannot be seen")
    .option("--keys <names>", "entries, separated by commas; a dot leads into a level (repeatable)", more)
    .option("--rows <start:stop>", "rows along the first batch dimension; without a batch size, of each of --keys")
    .action(async (from, to, options) => await (await import("./slice.ts")).slice(from, to, options));
  writing(
    reading(
      command("merge <paths...>", "merge sources into a target, which is named last: all entries of all of them"),
    ),
  )
    .option("--last", "of entries that several sources have, take the last")
    .option("--stack", "stack sources that are alike along a new first dimension")
    .option("--cat", "concatenate sources that are alike along their first batch dimension")
    .action(async (paths, options) => await (await import("./merge.ts")).merge(paths, options));
  reading(command("diff <first> <second>", "say what differs between two files or directories of any format"))
    .option("--json", "machine-readable output")
    .action(async (first, second, options) => {
      const same = await (await import("./diff.ts")).diff(first, second, options);
      if (!same) ended(EXIT.failed);
    });
  reading(command("verify <path>", "check a file or a directory: structure, sizes and checksums"))
    .option("--from <format>", "the format, where it cannot be seen")
    .option("--sums <file>", "compare with the checksums of this file")
    .option("--write-sums <file>", "write the checksum of every tensor")
    .option("--force", "replace an existing file of checksums")
    .option("--json", "machine-readable output")
    .option("--quiet", "problems only")
    .action(async (path, options) => {
      const whole = await (await import("./verify.ts")).verify(path, options);
      if (!whole) ended(EXIT.failed);
    });
  command("bench [folder]", "measure saves and loads in a folder, beside a plain loop that writes and reads")
    .option("--size <size>", "bytes to save, such as 100MB (the default) or 2GiB")
    .option("--json", "machine-readable output")
    .action(async (folder, options) => await (await import("./bench.ts")).bench(folder, options));
  command("doctor", "say what zensor found on this machine, and what that means")
    .option("--json", "machine-readable output")
    .action(async (options) => (await import("./doctor.ts")).doctor(program.version() ?? "", options));
  command("completion <shell>", "print the completion script for bash, zsh or fish").action(async (shell) =>
    say((await import("./completion.ts")).completion(shell, program)),
  );
  return program;
}

async function version(): Promise<string> {
  const manifest = (await import("../../package.json", { with: { type: "json" } })).default as { version: string };
  return manifest.version;
}

/** Runs the command line; gives the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  try {
    const program = commandLine(await version(), (ended) => {
      code = ended;
    });
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    // The library has printed what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if ((error as { name?: string }).name === "AbortError") {
      console.error("interrupted; nothing was changed");
      return EXIT.interrupted;
    }
    const text = error instanceof Error ? error.message : String(error);
    console.error(
      `${styleText("red", "error:", { stream: process.stderr })} ${printable(withFlags(withPlaces(text)))}`,
    );
    return error instanceof CliError ? error.exitCode : EXIT.failed;
  } finally {
    endCommand();
  }
}

// Compiled code has no await at its top level.
if (import.meta.main) {
  main(process.argv.slice(2)).then((code) => {
    process.exitCode = code;
  });
}
