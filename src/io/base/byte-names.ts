// Names of Linux are bytes, and need not be UTF-8. The runtime decodes them, and what is no UTF-8 becomes U+FFFD: such
// a text names nothing. Here a byte that is no UTF-8 stands as Python has it in its texts: 0xE9 as the lone surrogate
// U+DCE9, which no other text has.

import { readdirSync } from "../../runtime/node.ts";

const ESCAPE = 0xdc00;
/** Stands for what could not be decoded. */
const LOST = "\ufffd";

/** Bytes of the UTF-8 sequence that begins with a byte, by its value. */
function lengthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/** The text for a name. */
export function nameOfBytes(bytes: Uint8Array): string {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  if (!whole.includes(LOST)) return whole;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOf(bytes[at] as number);
    try {
      if (length === 0 || at + length > bytes.length) throw new RangeError();
      text += decoder.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      text += String.fromCharCode(ESCAPE + (bytes[at] as number));
      at++;
    }
  }
  return text;
}

/** The bytes of a name that is no UTF-8; null for any other. */
export function bytesOfName(text: string): Buffer | null {
  if (text.isWellFormed()) return null;
  const parts = text.split(/([\udc80-\udcff])/).map((part, i) => {
    return i % 2 === 1 ? Buffer.from([part.charCodeAt(0) - ESCAPE]) : Buffer.from(part);
  });
  return Buffer.concat(parts);
}

/** A path in a folder: the runtime's functions for paths lose bytes that are no UTF-8. */
export function pathIn(folder: string, name: string): string {
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

/** A name for the runtime's calls. */
export function systemName(text: string): string | Buffer {
  return bytesOfName(text) ?? text;
}

/** The names in a directory, those that are no UTF-8 as well. */
export function namesIn(path: string): string[] {
  const place = systemName(path);
  const names = readdirSync(place);
  return names.some(isUndecoded) ? readdirSync(place, { encoding: "buffer" }).map((name) => nameOfBytes(name)) : names;
}

/** A name for people: bytes that are no UTF-8 as `\xe9`. */
export function shownName(text: string): string {
  return text.isWellFormed()
    ? text
    : text.replace(/(?<![\ud800-\udbff])[\udc80-\udcff]/g, (unit) => {
        return `\\x${(unit.charCodeAt(0) - ESCAPE).toString(16)}`;
      });
}

/** A name as a key that every format can have: bytes that are no UTF-8 as `%E9`. */
export function keyOfName(text: string): string {
  return shownName(text).replace(/\\x([0-9a-f]{2})/g, (whole, digits: string) => {
    return text.includes(whole) ? whole : `%${digits.toUpperCase()}`;
  });
}

/** Whether the runtime could not decode a name. */
export function isUndecoded(name: string): boolean {
  return name.includes(LOST);
}
