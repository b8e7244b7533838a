// Formats that hold something else, taken apart and put together again around parts that were damaged.
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";

/** A file of an archive. */
export interface ZipPart {
  name: string;
  content: Uint8Array;
  deflate: boolean;
  /** The size that the archive says instead of the true one. */
  claimed?: number;
}

type Change = (part: Uint8Array) => Uint8Array;

/** The entries of an archive that is known to be good and small. */
function unpackZip(bytes: Buffer): ZipPart[] {
  const end = bytes.lastIndexOf("PK\x05\x06");
  const parts: ZipPart[] = [];
  let at = bytes.readUInt32LE(end + 16);
  for (let i = bytes.readUInt16LE(end + 10); i > 0; i--) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((n) => bytes.readUInt16LE(at + n)) as [
      number,
      number,
      number,
    ];
    const header = bytes.readUInt32LE(at + 42);
    const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
    const payload = bytes.subarray(start, start + bytes.readUInt32LE(at + 20));
    const deflate = bytes.readUInt16LE(at + 10) === 8;
    const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
    parts.push({ name, content: deflate ? inflateRawSync(payload) : payload, deflate });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return parts;
}

/** The bytes of an archive with other entries, whose checksums and places are right. */
export function packZip(bytes: Uint8Array, change: (parts: ZipPart[]) => ZipPart[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  const parts = change(unpackZip(Buffer.from(bytes)));
  for (const { name, content, deflate, claimed } of parts) {
    const payload = deflate ? deflateRawSync(content, { level: 1 }) : content;
    const nameBytes = Buffer.from(name);
    // What the local header and the directory have in common, from the version on.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(deflate ? 8 : 0, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(payload.length, 14);
    common.writeUInt32LE(claimed ?? content.length, 18);
    common.writeUInt16LE(nameBytes.length & 0xffff, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\0", "latin1"), common, rest, nameBytes);
    pieces.push(Buffer.from("PK\x03\x04", "latin1"), common, nameBytes, payload);
    at += 30 + nameBytes.length + payload.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...pieces, ...directory, end]);
}

function length64(n: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(n));
  return bytes;
}

const unchanged: Change = (part) => part;

/** Safetensors: eight bytes say how long the header is that follows. */
export function packWithLength(bytes: Uint8Array, change: Change, changeData = unchanged): Uint8Array {
  const end = 8 + Number(Buffer.from(bytes).readBigUInt64LE(0));
  const header = change(bytes.subarray(8, end));
  return Buffer.concat([length64(header.length), header, changeData(bytes.subarray(end))]);
}

/** Consolidated files: data, its description, and eight bytes that say how long that is. */
export function packTail(bytes: Uint8Array, change: Change, changeData = unchanged): Uint8Array {
  const at = bytes.length - 8;
  const start = at - Number(Buffer.from(bytes).readBigUInt64LE(at));
  const text = change(bytes.subarray(start, at));
  return Buffer.concat([changeData(bytes.subarray(0, start)), text, length64(text.length)]);
}

/** NumPy's arrays, version 1: eight bytes, two that say how long the header is, the header and the data. */
export function packNpy(bytes: Uint8Array, change: Change, changeData = unchanged): Uint8Array {
  const end = 10 + Buffer.from(bytes).readUInt16LE(8);
  const header = change(bytes.subarray(10, end)).subarray(0, 65535);
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([bytes.subarray(0, 8), length, header, changeData(bytes.subarray(end))]);
}
