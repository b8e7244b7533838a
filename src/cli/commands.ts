// The commands with their options and help. Each loads what it needs when it runs, so that help is instant.
import { Command } from "commander";
import { COLOR_TIMES, colorOption } from "./colors.ts";
import { EXIT } from "./errors.ts";
import { FORMATS } from "./formats.ts";
import { output, say } from "./output.ts";

const NOTES = `
Formats (found out by themselves, or named with --from and --to):
${Object.entries(FORMATS)
  .map(([name, { title, extensions, written }]) => {
    const notes = [...extensions, ...(written ? [] : ["read only"])].join(" ");
    return `  ${name.padEnd(14)} ${title}${notes === "" ? "" : ` (${notes})`}`;
  })
  .join("\n")}

Entries (--keys) are named alike in every format: names of levels and entries, joined by dots or slashes, whether a
dot separates levels or is part of a key. A name stands for the tensor or value that has it, and where there is none
for all whose names begin with it. * and ? stand for parts of a name, ** for any levels; "a\\.b" is a key with a dot.

Every format is read from and written to S3 stores, s3://bucket/key. Of directories and .safetensors files only what
is needed is transferred; all else passes as a whole through the folder for temporary files ($TMPDIR).
Folders are not left by symbolic links without --follow-links; archives that become more than 1 GiB, and more
than 200 times what they are, are read up to --max-bytes.
What a target cannot hold is told before anything is written; --lossy leaves it out.
Colours are for terminals; NO_COLOR, FORCE_COLOR and --color say otherwise.

Exit codes:
  0 done   1 the input is wrong, a file could not be used or is damaged   2 the command line is wrong
  diff: 0 the same   1 something differs   2 trouble, of whatever kind
  129, 130, 143: ended by SIGHUP, SIGINT, SIGTERM; a target is as it was before`;

/** Exit codes of one command. */
const CODES = "\nExit codes: 0 done, 1 the input or a file is wrong, 2 the command line is wrong.";
const VERIFY_CODES = "\nExit codes: 0 whole, 1 damaged or not readable, 2 the command line is wrong.";
const DIFF_CODES = `
Elements are the same if |first - second| <= atol + rtol * |second|; NaN is the same as NaN. Told are how many
differ, the largest difference, where it is, and the largest one relative to the second where that is not 0.

Exit codes: 0 the same, 1 something differs, 2 trouble.`;

/** Help has no colours. */
const OUTPUT = {
  writeOut: (text: string) => output.write(text),
  writeErr: (text: string) => console.error(text.replace(/\n$/, "")),
  getOutHelpWidth: () => output.width(),
  getErrHelpWidth: () => output.width(),
  getOutHasColors: () => false,
  getErrHasColors: () => false,
};

/** What a command ends with, beside errors. */
export interface Ended {
  code: number;
  /** The code of an error that says none itself. */
  failed: number;
}

const more = (text: string, before: string[] = []) => [...before, text];

/** A command that reads, with the options of those. */
function reading(made: Command): Command {
  return made
    .option("--follow-links", "follow symbolic links that lead out of a folder")
    .option("--max-bytes <size>", "most bytes that compressed entries of an archive may become, such as 2GiB");
}

function withKeys(made: Command, what: string): Command {
  return made.option("--keys <names>", `${what}, separated by commas (repeatable; see zensor --help)`, more);
}

function withSource(made: Command): Command {
  return made.option("--from <format>", "format of the source, where it cannot be seen");
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

type Adding = (text: string, description: string, codes?: string) => Command;

function addReaders(command: Adding, ended: Ended, program: Command): void {
  command("tree <directory>", "show a directory as a tree")
    .option("--branches", "draw the tree with branches")
    .option("--depth <n>", "deepest level")
    .option("--follow-links", "show what is in directories that symbolic links lead to")
    .option("--json", "machine-readable output")
    .action(async (path, options) => await (await import("./tree.ts")).tree(path, options));
  const inspect = command("inspect <path>", "list the tensors and values of a file or a directory");
  withKeys(withSource(reading(inspect)), "entries")
    .option("--json", "machine-readable output")
    .action(async (path, options) => await (await import("./inspect.ts")).inspect(path, options));
  const stats = command("stats <path>", "least, greatest, mean, deviation, zeros, NaN and infinities of each tensor");
  withKeys(withSource(reading(stats)), "entries")
    .option("--json", "machine-readable output")
    .action(async (path, options) => await (await import("./stats.ts")).stats(path, options));
  const diff = command("diff <first> <second>", "say what differs between two files or directories", DIFF_CODES);
  withKeys(reading(diff), "entries to compare")
    .option("--atol <x>", "absolute tolerance (0)")
    .option("--rtol <x>", "tolerance relative to the second (0)")
    .option("--exact", "compare bits: -0 is not 0, and NaN has to have the same bits")
    .option("--ignore-dtype", "compare values of different dtypes as numbers")
    .option("--json", "machine-readable output")
    .action(async (first, second, options) => {
      ended.failed = EXIT.usage;
      const same = await (await import("./diff.ts")).diff(first, second, options);
      if (!same) ended.code = EXIT.failed;
    });
  const verify = command("verify <path>", "check a file or a directory: structure, sizes and checksums", VERIFY_CODES);
  withSource(reading(verify))
    .option("--sums <file>", "compare with the checksums of this file")
    .option("--write-sums <file>", "write the checksum of every tensor")
    .option("--force", "replace an existing file of checksums")
    .option("--json", "machine-readable output")
    .option("--quiet", "problems only")
    .action(async (path, options) => {
      const whole = await (await import("./verify.ts")).verify(path, options);
      if (!whole) ended.code = EXIT.failed;
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
}

function addWriters(command: Adding): void {
  const convert = command("convert <from> <to>", "convert one format into another");
  withKeys(withSource(writing(reading(convert))), "entries to take").action(
    async (from, to, options) => await (await import("./convert.ts")).convert(from, to, options),
  );
  const slice = command("slice <from> <to>", "write some entries or some rows of a source");
  withKeys(withSource(writing(reading(slice))), "entries to take")
    .option("--rows <start:stop>", "rows along the first batch dimension; without a batch size, of each of --keys")
    .action(async (from, to, options) => await (await import("./slice.ts")).slice(from, to, options));
  const text = "merge sources into a target, which is named last: all entries of all of them";
  withKeys(writing(reading(command("merge <paths...>", text))), "entries to take from each source")
    .option("--last", "of entries that several sources have, take the last")
    .option("--stack", "stack sources that are alike along a new first dimension")
    .option("--cat", "concatenate sources that are alike along their first batch dimension, or each of --keys")
    .action(async (paths, options) => await (await import("./merge.ts")).merge(paths, options));
  const rename = command("rename <from> <to>", "write a source with other names");
  withKeys(withSource(writing(reading(rename))), "entries that may get another name")
    .option("--prefix <old=new>", "names that begin with old begin with new; either may be empty (repeatable)", more)
    .option("--regex <s/old/new/>", "replace what a regular expression finds; flags g, i, u (repeatable)", more)
    .option("--map <file>", "JSON object of old and new names, or beginnings")
    .action(async (from, to, options) => await (await import("./rename.ts")).rename(from, to, options));
  const cast = command("cast <from> <to>", "write a source with tensors in another dtype");
  withKeys(withSource(writing(reading(cast))), "entries to cast")
    .option("--dtype <dtype>", "the dtype, such as bfloat16; tensors of the same kind (floating point, ...) get it")
    .option("--all", "cast tensors of all kinds")
    .action(async (from, to, options) => await (await import("./cast.ts")).cast(from, to, options));
}

/** The commands; `ended` receives what a command ends with. */
export function commandLine(version: string, ended: Ended): Command {
  const program = new Command("zensor")
    .description("look into, check, compare, convert, slice, merge, rename and cast files of tensors")
    .version(version, "-V, --version")
    .addHelpText("after", NOTES)
    .showHelpAfterError("See `zensor --help`.")
    .configureOutput(OUTPUT)
    .exitOverride();
  const command: Adding = (text, description, codes = CODES) =>
    program
      .command(text)
      .description(description)
      .addHelpText("after", codes)
      .exitOverride()
      .showHelpAfterError(`See \`zensor ${text.replace(/ .*/, "")} --help\`.`);
  addReaders(command, ended, program);
  addWriters(command);
  for (const made of [program, ...program.commands]) {
    made.option("--color <when>", `colours: ${COLOR_TIMES.join(", ")}`);
    made.hook("preAction", (_, action) => colorOption(action.opts().color ?? program.opts().color));
  }
  return program;
}

/** A command or an option that is none: `--help` beside it would hide that. */
export function misspelt(program: Command, argv: readonly string[]): { command: Command; text: string } | null {
  const end = argv.indexOf("--");
  const words = end < 0 ? argv : argv.slice(0, end);
  const helps = words.some((word) => word === "-h" || word === "--help");
  const [first, ...rest] = words[0] === "help" ? words.slice(1) : words.filter((word) => !isHelp(word));
  if (first === undefined || !(helps || words[0] === "help")) return null;
  const known = program.commands.find((command) => command.name() === first);
  if (known === undefined) {
    return first.startsWith("-") || first === "help" ? null : { command: program, text: `unknown command '${first}'` };
  }
  for (let i = 0; i < rest.length; i++) {
    const [flag, value] = (rest[i] as string).split("=", 2) as [string, string | undefined];
    if (!flag.startsWith("-") || flag === "-") continue;
    const option = known.options.find(({ long, short }) => long === flag || short === flag);
    if (option === undefined) return { command: known, text: `unknown option '${flag}'` };
    if (option.required && value === undefined) i++;
  }
  return null;
}

function isHelp(word: string): boolean {
  return word === "-h" || word === "--help";
}
