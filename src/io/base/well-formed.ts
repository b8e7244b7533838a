// Texts that files can hold: UTF-8 has no half of a surrogate pair. An encoder would put U+FFFD in its place, for many
// different texts the same.
import { ValueError } from "../../tensor/errors.ts";

/** What keeps a text out of every file, null when nothing does. */
export function textProblem(text: string): string | null {
  return text.isWellFormed() ? null : "it holds half of a surrogate pair, which no file can hold";
}

/** Throws `ValueError` for a text that no file can hold; `what` tells which one it is, such as 'the key "a"'. */
export function requireText(text: string, what: () => string): void {
  const problem = textProblem(text);
  if (problem !== null) throw new ValueError(`${what()} cannot be saved: ${problem}.`);
}

/** `requireText` for every text in a value that is written as JSON. */
export function requireTexts(value: unknown, what: () => string): void {
  if (typeof value === "string") requireText(value, () => `${what()}: the text ${JSON.stringify(value)}`);
  else if (Array.isArray(value)) for (const item of value) requireTexts(item, what);
  else if (value !== null && typeof value === "object") {
    for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
      requireText(String(key), () => `${what()}: the key ${JSON.stringify(key)}`);
      requireTexts(item, what);
    }
  }
}
