// Files out of a ZIP archive that is in memory.
import { inflateRawSync } from "node:zlib";

const END = 0x06054b50;
const ENTRY = 0x02014b50;

/** The files whose names end with one of these texts, by that text. */
export function unzipped(archive: Uint8Array, endings: readonly string[]): Map<string, Uint8Array> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  let end = archive.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw new Error("this is no ZIP archive");
  const files = new Map<string, Uint8Array>();
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (view.getUint32(at, true) !== ENTRY) throw new Error("the ZIP archive's directory is damaged");
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(archive.subarray(at + 46, at + 46 + nameLength));
    const ending = endings.find((text) => name.endsWith(text));
    if (ending !== undefined) {
      const local = view.getUint32(at + 42, true);
      const begin = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const bytes = archive.subarray(begin, begin + view.getUint32(at + 20, true));
      files.set(ending, view.getUint16(at + 10, true) === 0 ? bytes : inflateRawSync(bytes));
    }
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return files;
}
