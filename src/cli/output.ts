// What commands print. The runtime's console says nothing when the output cannot be written; here that ends a command.
import { fstatSync, writeSync } from "node:fs";
import { shownName } from "../io/base/byte-names.ts";
import { errorColor } from "./colors.ts";
import { CliError } from "./errors.ts";
import { withPlaces } from "./lifetime.ts";
import { printable, withFlags } from "./text.ts";

const STANDARD_OUTPUT = 1;
/** Milliseconds until somebody has read what a full pipe holds. */
const PAUSE = 5;
/** The reader of a pipe has gone: nobody wants the rest, and that is no mistake. */
let unread = false;

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STANDARD_OUTPUT, bytes, at, bytes.length - at);
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code === "EAGAIN") Bun.sleepSync(PAUSE);
      else if (code === "EPIPE") {
        unread = true;
        return;
      } else throw new CliError(`the output cannot be written: ${message}`);
    }
  }
}

/** Where commands print. */
export const output = {
  /** Prints a text as it is. Throws `CliError` when it cannot be written. */
  write(text: string): void {
    if (!unread) writeAll(new TextEncoder().encode(shownName(text)));
  },
  /** Columns of a line. The runtime's stream for a terminal takes as long to make as all else that help needs. */
  width(): number {
    return fstatSync(STANDARD_OUTPUT).isCharacterDevice() ? (process.stdout.columns ?? 80) : 80;
  },
};

/** Tells an error or a warning, which may name files and what is in them. */
function tell(word: string, text: string): void {
  console.error(`${word} ${printable(withFlags(withPlaces(text)))}`);
}

/** Prints a mistake to the standard error. */
export function complain(text: string): void {
  tell(errorColor("red", "error:"), text);
}

/** Prints a warning there. */
export function warn(text: string): void {
  tell(errorColor("yellow", "warning:"), text);
}

/** Prints a line. */
export function say(text: string): void {
  output.write(`${text}\n`);
}
