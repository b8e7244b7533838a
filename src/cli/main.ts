#!/usr/bin/env bun
// The command line: looks into and converts files of tensors. Commands load what they need, so that help is instant.
import { parseArgs, styleText } from "node:util";
import { CliError, EXIT } from "./errors.ts";

const bold = (text: string) => styleText("bold", text);

const HELP = `${bold("zensor")} — look into and convert files of tensors

${bold("Usage")}
  zensor tree <directory>              show a directory as a tree
  zensor inspect <file or directory>   list the tensors of a safetensors file or a memory-mapped directory
  zensor convert <from> <to>           safetensors file to memory-mapped directory, or back

${bold("Options")}
  -h, --help         this text
  -V, --version      the version
  --json             machine-readable output (inspect)
  --branches         draw the tree with branches (tree)
  --depth <n>        deepest level (tree)
  --threads <n>      threads that write (convert)
  --force            replace an existing target (convert)
  --quiet            no progress (convert)

${bold("Exit codes")}
  0 done   1 the input is wrong or a file could not be used   2 the command line is wrong   130 interrupted`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
  json: { type: "boolean" },
  branches: { type: "boolean" },
  depth: { type: "string" },
  threads: { type: "string" },
  force: { type: "boolean" },
  quiet: { type: "boolean" },
} as const;

/** Parsed options of all commands. */
export type CliOptions = {
  -readonly [K in keyof typeof OPTIONS]?: (typeof OPTIONS)[K]["type"] extends "string" ? string : boolean;
};

function parse(argv: readonly string[]): { options: CliOptions; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    return { options: values as CliOptions, positionals };
  } catch (error) {
    throw new CliError(`${(error as Error).message}\nSee \`zensor --help\`.`, EXIT.usage);
  }
}

function operands(command: string, given: string[], names: readonly string[]): string[] {
  if (given.length === names.length) return given;
  const wanted = names.map((name) => `<${name}>`).join(" ");
  throw new CliError(`\`zensor ${command}\` takes ${wanted}, got ${given.length} argument(s).`, EXIT.usage);
}

async function version(): Promise<string> {
  const manifest = (await import("../../package.json", { with: { type: "json" } })).default as {
    version: string;
  };
  return manifest.version;
}

async function run(argv: readonly string[]): Promise<void> {
  const { options, positionals } = parse(argv);
  const [command, ...rest] = positionals;
  if (options.version) return void console.log(await version());
  if (options.help || command === undefined || command === "help") {
    if (command === undefined && !options.help) throw new CliError(HELP, EXIT.usage);
    return void console.log(HELP);
  }
  switch (command) {
    case "tree": {
      const [path] = operands(command, rest, ["directory"]) as [string];
      return (await import("./tree.ts")).tree(path, options);
    }
    case "inspect": {
      const [path] = operands(command, rest, ["file or directory"]) as [string];
      return (await import("./inspect.ts")).inspect(path, options);
    }
    case "convert": {
      const [from, to] = operands(command, rest, ["from", "to"]) as [string, string];
      return (await import("./convert.ts")).convert(from, to, options);
    }
    default:
      throw new CliError(`unknown command ${JSON.stringify(command)}. See \`zensor --help\`.`, EXIT.usage);
  }
}

/** Runs the command line; gives the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    await run(argv);
    return EXIT.done;
  } catch (error) {
    if ((error as { name?: string }).name === "AbortError") {
      console.error("interrupted; nothing was changed");
      return EXIT.interrupted;
    }
    const text = error instanceof Error ? error.message : String(error);
    console.error(
      error instanceof CliError && error.message === HELP
        ? text
        : `${styleText("red", "error:", { stream: process.stderr })} ${text}`,
    );
    return error instanceof CliError ? error.exitCode : EXIT.failed;
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
