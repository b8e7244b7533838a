// What a native library says about itself: its kind and processor, the libraries that it needs, the functions that it
// exports, the C library that it was linked for. Reads ELF, Mach-O and PE files of 64 bits.

export interface Binary {
  /** The format and its number of the processor: "elf 62". */
  kind: string;
  /** Names of the libraries that have to be there. */
  needed: string[];
  exports: Set<string>;
  /** ELF: the newest version of glibc that a function is taken of. Mach-O: the oldest macOS. */
  since?: string;
}

const text = (b: Buffer, at: number) => b.toString("latin1", at, b.indexOf(0, at));

function newest(versions: string[]): string | undefined {
  const order = new Intl.Collator("en", { numeric: true }).compare;
  return versions.sort(order).at(-1);
}

interface Section {
  type: number;
  offset: number;
  size: number;
  /** The section with its texts. */
  link: number;
}

const DYNAMIC = 6;
const DYNSYM = 11;
const VERNEED = 0x6ffffffe;
const DT_NEEDED = 1;

function elf(b: Buffer): Binary {
  const [table, size, count] = [Number(b.readBigUInt64LE(40)), b.readUInt16LE(58), b.readUInt16LE(60)];
  const sections: Section[] = Array.from({ length: count }, (_, i) => {
    const at = table + i * size;
    const [offset, length] = [Number(b.readBigUInt64LE(at + 24)), Number(b.readBigUInt64LE(at + 32))];
    return { type: b.readUInt32LE(at + 4), offset, size: length, link: b.readUInt32LE(at + 40) };
  });
  const found: Binary = { kind: `elf ${b.readUInt16LE(18)}`, needed: [], exports: new Set() };
  const versions: string[] = [];
  for (const { type, offset, size: length, link } of sections) {
    const texts = sections[link]?.offset ?? 0;
    for (let at = offset; type === DYNAMIC && at < offset + length; at += 16) {
      if (Number(b.readBigInt64LE(at)) !== DT_NEEDED) continue;
      found.needed.push(text(b, texts + Number(b.readBigUInt64LE(at + 8))));
    }
    for (let at = offset; type === DYNSYM && at < offset + length; at += 24) {
      // A symbol of section 0 is one of another library.
      if (b.readUInt16LE(at + 6) !== 0) found.exports.add(text(b, texts + b.readUInt32LE(at)));
    }
    if (type === VERNEED) versions.push(...versionsOf(b, offset, texts));
  }
  const since = newest(versions.filter((name) => name.startsWith("GLIBC_")));
  return { ...found, ...(since === undefined ? {} : { since }) };
}

function versionsOf(b: Buffer, offset: number, texts: number): string[] {
  const names: string[] = [];
  for (let at = offset, next = -1; next !== 0; at += next) {
    let entry = at + b.readUInt32LE(at + 8);
    for (let left = b.readUInt16LE(at + 2); left > 0; left--) {
      names.push(text(b, texts + b.readUInt32LE(entry + 8)));
      entry += b.readUInt32LE(entry + 12);
    }
    next = b.readUInt32LE(at + 12);
  }
  return names;
}

const SYMTAB = 0x2;
const LOAD_DYLIB = 0xc;
const BUILD_VERSION = 0x32;
/** Bits of a symbol's type: exported; the mask of where it is and "in no section". */
const EXTERNAL = 0x01;
const PLACE = 0x0e;

function machO(b: Buffer): Binary {
  const found: Binary = { kind: `mach-o ${b.readUInt32LE(4)}`, needed: [], exports: new Set() };
  let at = 32;
  for (let left = b.readUInt32LE(16); left > 0; left--) {
    const command = b.readUInt32LE(at);
    if (command === LOAD_DYLIB) found.needed.push(text(b, at + b.readUInt32LE(at + 8)));
    if (command === BUILD_VERSION) {
      const version = b.readUInt32LE(at + 12);
      found.since = `macOS ${version >>> 16}.${(version >>> 8) & 0xff}`;
    }
    if (command === SYMTAB) {
      const [symbols, count, texts] = [b.readUInt32LE(at + 8), b.readUInt32LE(at + 12), b.readUInt32LE(at + 16)];
      for (let symbol = symbols; symbol < symbols + 16 * count; symbol += 16) {
        const type = b[symbol + 4] as number;
        // C functions have an underscore before their names.
        if (type & EXTERNAL && type & PLACE) found.exports.add(text(b, texts + b.readUInt32LE(symbol)).slice(1));
      }
    }
    at += b.readUInt32LE(at + 4);
  }
  return found;
}

function pe(b: Buffer): Binary {
  const head = b.readUInt32LE(60);
  const [sections, optional] = [b.readUInt16LE(head + 6), head + 24];
  const table = optional + b.readUInt16LE(head + 20);
  /** Where an address of the loaded library lies in the file. */
  const placed = (address: number): number => {
    for (let at = table; at < table + 40 * sections; at += 40) {
      const start = b.readUInt32LE(at + 12);
      if (address >= start && address < start + b.readUInt32LE(at + 16))
        return address - start + b.readUInt32LE(at + 20);
    }
    throw new Error(`the address ${address} is in no section`);
  };
  const found: Binary = { kind: `pe ${b.readUInt16LE(head + 4)}`, needed: [], exports: new Set() };
  const exported = placed(b.readUInt32LE(optional + 112));
  const names = placed(b.readUInt32LE(exported + 32));
  for (let i = 0; i < b.readUInt32LE(exported + 24); i++) {
    found.exports.add(text(b, placed(b.readUInt32LE(names + 4 * i))));
  }
  for (let at = placed(b.readUInt32LE(optional + 120)); b.readUInt32LE(at + 12) !== 0; at += 20) {
    found.needed.push(text(b, placed(b.readUInt32LE(at + 12))));
  }
  return found;
}

/** @throws for a file of another format */
export function readBinary(b: Buffer): Binary {
  if (b.length > 64 && b.readUInt32BE(0) === 0x7f454c46) return elf(b);
  if (b.length > 64 && b.readUInt32LE(0) === 0xfeedfacf) return machO(b);
  if (b.length > 64 && b.toString("latin1", 0, 2) === "MZ") return pe(b);
  throw new Error("this is no library of 64 bits for Linux, macOS or Windows");
}
