/** Is a library file whole? The loader maps what its headers promise, and a missing part kills the process. */
import { readBytes } from "./system.ts";

const HEADER = 64;
const ELF = 0x7f454c46;

/** Bytes that an ELF file's segments need, 0 for any other kind of file. */
function promisedBytes(file: string): number {
  const head = new DataView(new ArrayBuffer(HEADER));
  if (readBytes(file, new Uint8Array(head.buffer), 0) < HEADER || head.getUint32(0) !== ELF) return 0;
  const [offset, size, count] = [
    Number(head.getBigUint64(32, true)),
    head.getUint16(54, true),
    head.getUint16(56, true),
  ];
  const table = new DataView(new ArrayBuffer(size * count));
  let end = offset + table.byteLength;
  if (size < 56 || readBytes(file, new Uint8Array(table.buffer), offset) < table.byteLength) return end;
  for (let at = 0; at < table.byteLength; at += size) {
    end = Math.max(end, Number(table.getBigUint64(at + 8, true) + table.getBigUint64(at + 32, true)));
  }
  return end;
}

/** Throws for a file that was cut off, as by an interrupted copy. */
export function checkWhole(file: string): void {
  // Other systems have other kinds of libraries.
  if (process.platform !== "linux") return;
  const { size } = Bun.file(file);
  const needed = promisedBytes(file);
  if (needed > size) {
    throw new Error(
      `zensor: ${file} is incomplete (${size} of at least ${needed} bytes). Rebuild it with \`bun run build\`.`,
    );
  }
}
