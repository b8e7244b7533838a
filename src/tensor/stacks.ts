/**
 * Stacks of errors that begin at the line that called the library. `ZENSOR_STACK=full` leaves its own lines there.
 */

/** How deep a call may go inside of the library. */
const DEEPEST = 48;

const own = import.meta.path;
/** Where the sources are, when this is one of them; undefined in a bundle. */
const [, root] = /^(.*[\\/])src[\\/]tensor[\\/]stacks\.ts$/.exec(own) ?? [];

/** What the built files of the library are called up to their endings (`scripts/bundle/cells.ts`). */
const [, built] = /^(.*[\\/]zensor\.)compiled\.js$/.exec(own) ?? [];

function isOwn(file: string): boolean {
  if (root === undefined) return file === own || (built !== undefined && file.startsWith(built));
  return file.startsWith(`${root}src`) || file.startsWith(`${root}generated`);
}

/** The file of a line of a stack; undefined for the engine's own functions. */
function fileOf(line: string): string | undefined {
  return /\(?((?:\/|[A-Za-z]:[\\/]|file:)[^()]*):\d+:\d+\)?$/.exec(line)?.[1];
}

/** The lines of an error's stack. */
function linesIn({ message, stack }: { message: string; stack?: string }): string[] {
  if (typeof stack !== "string") return [];
  const header = message === "" ? "Error" : `Error: ${message}`;
  const body = stack.slice(stack.startsWith(header) ? header.length : stack.indexOf("\n    at "));
  return body.split("\n").slice(1);
}

/** The lines from the first that is none of the library's; none where there is no such. */
function foreignIn(lines: string[]): string[] {
  const first = lines.findIndex(isForeign);
  return first < 0 ? [] : lines.slice(first);
}

/** Whether the program makes its stacks by itself (`Error.prepareStackTrace`), and in another form. */
function isOfProgram({ message, stack }: Error): boolean {
  const makes = typeof (Error as { prepareStackTrace?: unknown }).prepareStackTrace === "function";
  if (!makes || stack === undefined) return false;
  return typeof stack !== "string" || !(stack.startsWith(`Error: ${message}`) || stack.includes("\n    at "));
}

/** The stack of this very place, as deep as the library goes; none where a program has frozen its errors. */
function deepLines(most: number): string[] {
  try {
    Error.stackTraceLimit = most + DEEPEST;
  } catch {
    return [];
  }
  const here = { message: "", stack: "" };
  Error.captureStackTrace(here);
  const lines = linesIn(here);
  Error.stackTraceLimit = most;
  return lines;
}

/**
 * The lines of the stack of an error that is being made, from the first that is none of the library's. All of them
 * where that is not known: the library is a part of the program's own file. Null for a stack that the program made.
 */
export function linesOf(error: Error): string | null {
  if (isOfProgram(error)) return null;
  const lines = linesIn(error);
  let kept = lines;
  if (own !== "" && lines.length > 0 && process.env.ZENSOR_STACK !== "full") {
    const most = Error.stackTraceLimit ?? lines.length;
    let found = foreignIn(lines);
    // What is cut off may be what matters.
    if (found.length === 0 && lines.length >= most) found = foreignIn(deepLines(most)).slice(0, most);
    if (found.length > 0) kept = found;
  }
  // bun prints an error where the first line of its stack says, if that names a function.
  if (kept.length > 0) kept[0] = (kept[0] as string).replace(/^( +at )(?!.*\()(.*)$/, "$1<anonymous> ($2)");
  return kept.map((line) => `\n${line}`).join("");
}

function isForeign(line: string): boolean {
  const file = fileOf(line);
  return file !== undefined && !isOwn(file);
}

/** Gives an error the name of a class that is none of this file's. */
export function nameError(error: Error, name: string): void {
  const { stack } = error;
  if (typeof stack === "string" && stack.startsWith(error.name)) error.stack = name + stack.slice(error.name.length);
  error.name = name;
}
