// How TensorDict keys become file names and back: the characters that a file system could misread are percent-encoded,
// so that a key such as "../../x" stays one name inside its directory.

import { textProblem } from "./well-formed.ts";

const ESCAPE = /[/<>:"|?*\\ %\u0000-\u001f\u007f]/g;
// Limit of Linux and macOS file systems, in bytes.
const MAX_NAME_BYTES = 255;

function percent(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** File name for `key`, without an extension. */
export function encodeKey(key: string): string {
  if (key === "") return "%";
  if (key === "." || key === "..") return "%2E".repeat(key.length);
  return key.replace(ESCAPE, percent);
}

/** The key that `encodeKey` turned into `name`; null when no key encodes to it. */
export function decodeKey(name: string): string | null {
  if (name === "%") return "";
  let valid = true;
  const key = name.replace(/%([0-9A-F]{2})?/g, (_whole, hex: string | undefined) => {
    if (hex === undefined) valid = false;
    return hex === undefined ? "" : String.fromCharCode(Number.parseInt(hex, 16));
  });
  return valid && encodeKey(key) === name ? key : null;
}

/** Checks that a key can be a file name at all; returns what is wrong with it, or null. */
export function keyProblem(key: string, extension = ""): string | null {
  const problem = textProblem(key);
  if (problem !== null) return problem;
  const bytes = Buffer.byteLength(encodeKey(key) + extension);
  if (bytes > MAX_NAME_BYTES) return `its file name would take ${bytes} bytes, more than ${MAX_NAME_BYTES}`;
  return null;
}

/**
 * True when a raw key may be looked up as a file name written by an old library, without leaving the directory. With an
 * extension behind it even an empty key or dots are plain names.
 */
export function isSafeRawName(key: string, hasExtension = false): boolean {
  if (/[/\0]/.test(key)) return false;
  if (process.platform === "win32" && (key.includes("\\") || /^[A-Za-z]:/.test(key))) return false;
  return hasExtension || (key !== "" && key !== "." && key !== "..");
}
