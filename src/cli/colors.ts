// Colours: where somebody looks, unless the user or the environment says otherwise.
import { isatty } from "node:tty";
import { styleText } from "node:util";
import { CliError, EXIT } from "./errors.ts";

/** When there are colours. */
export const COLOR_TIMES = ["auto", "always", "never"] as const;

type Style = Parameters<typeof styleText>[0];

const OUTPUT = 1;
const ERRORS = 2;
let time: (typeof COLOR_TIMES)[number] = "auto";
const known = new Map<number, boolean>();

/** What `--color` says; without it the environment decides. Throws `CliError` for another word. */
export function colorOption(text: string | undefined): void {
  const word = COLOR_TIMES.find((name) => name === (text ?? "auto"));
  if (word === undefined) {
    throw new CliError(`--color takes ${COLOR_TIMES.join(", ")}, got ${JSON.stringify(text)}.`, EXIT.usage);
  }
  time = word;
  known.clear();
}

/** FORCE_COLOR counts before NO_COLOR, as in the runtime. */
function wanted(fd: number): boolean {
  if (time !== "auto") return time === "always";
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = process.env;
  if (force !== undefined) return force !== "0" && force !== "false";
  if (no !== undefined && no !== "") return false;
  return terminal !== "dumb" && isatty(fd);
}

function styled(fd: number, style: Style, text: string): string {
  let is = known.get(fd);
  if (is === undefined) known.set(fd, (is = wanted(fd)));
  return is ? styleText(style, text, { validateStream: false }) : text;
}

/** A text of the output in a style. */
export function color(style: Style, text: string): string {
  return styled(OUTPUT, style, text);
}

/** The same for what goes to the standard error. */
export function errorColor(style: Style, text: string): string {
  return styled(ERRORS, style, text);
}
