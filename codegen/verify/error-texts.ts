// Errors of the core come from the table of texts: nothing builds one by itself.

import type { Violation } from "./source-files.ts";

const ROOMS = /^src\/(tensor|ffi|dispatch|autograd|api)\//;
const BUILT = /\bnew\s+(\w*Error)\s*\(/;

const BELOW = "lies below the error classes: what it throws ends the start of the library";

/** Files that do, and why. */
export const OWN_ERRORS: Readonly<Record<string, string>> = {
  "src/ffi/frame.ts": BELOW,
  "src/ffi/hdf5.ts": "lies below the error classes; src/io makes its message an error of the library",
  "src/ffi/library.ts": BELOW,
  "src/ffi/library-file.ts": BELOW,
};

/** Checks one file of the repository. */
export function checkErrorTexts(file: string, lines: readonly string[]): Violation[] {
  if (!ROOMS.test(file)) return [];
  const found: Violation[] = [];
  lines.forEach((line, index) => {
    const built = BUILT.exec(line);
    if (built === null || file in OWN_ERRORS) return;
    const message = `new ${built[1]}: name the text in codegen/schema/texts/ and throw what generated/texts.ts makes`;
    found.push({ file, line: index + 1, message });
  });
  if (file in OWN_ERRORS && !lines.some((line) => BUILT.test(line))) {
    found.push({ file, line: 0, message: "makes no error of its own any more: take it off OWN_ERRORS" });
  }
  return found;
}
