// Arrow files and streams: messages, one after the other, each a description and the bytes that it describes.
import { FormatError } from "../base/errors.ts";
import { BadCode } from "../codec/bad-code.ts";
import { Growth } from "../columns/growth.ts";
import { BatchReader } from "./batch.ts";
import { BadBuffer, Flatbuffer, type FlatTable } from "./flatbuffer.ts";
import { fieldsOf } from "./schema.ts";
import { type ArrowBatch, type ArrowData, type ArrowField, type ArrowTable, type ArrowType, KIND } from "./types.ts";

/** Bytes that are read where they are needed. */
export interface ArrowBytes {
  size: number;
  read(at: number, length: number): Uint8Array;
}

const MAGIC = [65, 82, 82, 79, 87, 49];
const SCHEMA = 1;
const DICTIONARY = 2;
const BATCH = 3;

interface Message {
  kind: number;
  said: FlatTable;
  version: number;
  /** Where its body is, and where it ends. */
  body: number;
  end: number;
}

/** The whole number of 4 bytes. */
function word(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return a | (b << 8) | (c << 16) | (d << 24);
}

function isMagic(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, i) => bytes[i] === byte);
}

/** The dictionary types of fields, by their numbers. */
function dictionariesOf(fields: readonly ArrowField[], found = new Map<number, ArrowType>()): Map<number, ArrowType> {
  for (const { type } of fields) {
    const values = type.dictionary;
    if (values !== undefined && !found.has(type.id as number)) found.set(type.id as number, values);
    dictionariesOf((values ?? type).children ?? [], found);
  }
  return found;
}

/** Reads the batches of a file or of a stream. Nothing of it is believed that its bytes do not hold. */
export class ArrowReader {
  readonly fields: ArrowField[];
  private readonly dictionaries = new Map<number, readonly ArrowData[]>();
  private readonly types: Map<number, ArrowType>;
  private readonly root: ArrowType;
  /** Where the batches of a file are; null for a stream. */
  private readonly blocks: number[] | null;
  private first = 0;

  constructor(
    private readonly bytes: ArrowBytes,
    private readonly path: string | undefined,
    readonly growth: Growth,
  ) {
    try {
      const head = bytes.size >= 8 ? bytes.read(0, 8) : new Uint8Array(0);
      if (head[0] === 70 && head[1] === 69 && head[2] === 65 && head[3] === 49) {
        throw new BadBuffer("it is of the first version of Feather, which is not read");
      }
      const schema = isMagic(head) ? this.footer() : this.opening();
      this.fields = fieldsOf(schema.said);
      this.blocks = schema.blocks;
    } catch (error) {
      throw this.named(error);
    }
    this.types = dictionariesOf(this.fields);
    this.root = { typeId: KIND.struct, children: this.fields };
  }

  private named(error: unknown): unknown {
    if (!(error instanceof BadBuffer || error instanceof BadCode)) return error;
    return new FormatError(`it is no Arrow file or stream that can be read: ${error.message}`, this.path, error);
  }

  private opening(): { said: FlatTable; blocks: null } {
    const message = this.message(0);
    if (message === null || message.kind !== SCHEMA) throw new BadBuffer("it does not begin with a schema");
    this.first = message.end;
    return { said: message.said, blocks: null };
  }

  private footer(): { said: FlatTable; blocks: number[] } {
    const { size } = this.bytes;
    const tail = size >= 20 ? this.bytes.read(size - 10, 10) : null;
    if (tail === null || !isMagic(tail.subarray(4))) throw new BadBuffer("its end is missing");
    const length = word(tail, 0);
    if (!(length > 0 && length <= size - 18)) throw new BadBuffer(`its footer claims ${length} bytes`);
    const footer = new Flatbuffer(this.bytes.read(size - 10 - length, length)).root();
    const said = footer.table(1);
    if (said === null) throw new BadBuffer("it has no schema");
    const blocks = [2, 3].flatMap((number) => {
      const { start, count } = footer.vector(number, 24);
      return Array.from({ length: count }, (_, i) => footer.buffer.long(start + 24 * i));
    });
    if (new Set(blocks).size !== blocks.length) throw new BadBuffer("its footer names a batch twice");
    return { said, blocks };
  }

  /** The message at a place; null at the end. */
  private message(at: number): Message | null {
    const { size } = this.bytes;
    if (at + 4 > size) return null;
    const head = this.bytes.read(at, Math.min(8, size - at));
    let start = at + 4;
    let length = word(head, 0);
    if (length === -1) {
      if (head.length < 8) throw new BadBuffer("a message is cut off");
      length = word(head, 4);
      start += 4;
    }
    if (length === 0) return null;
    if (length < 0 || start + length > size) throw new BadBuffer(`a message at ${at} claims ${length} bytes`);
    const table = new Flatbuffer(this.bytes.read(start, length)).root();
    const [version, kind, said, bodyLength] = [table.short(0), table.byte(1), table.table(2), table.long(3)];
    if (said === null) throw new BadBuffer("a message says nothing");
    const body = start + length;
    if (bodyLength < 0 || body + bodyLength > size)
      throw new BadBuffer(`a message at ${at} claims ${bodyLength} bytes`);
    return { kind, said, version, body, end: body + bodyLength };
  }

  /** The batches, one after the other. */
  *batches(): Generator<ArrowBatch> {
    let at = this.first;
    // Batches that lie over each other would be read as often as the footer names them.
    let spans = 0;
    for (let i = 0; this.blocks === null || i < this.blocks.length; i++) {
      let made: ArrowBatch | null = null;
      try {
        const place = this.blocks?.[i] ?? at;
        if (place < 0) throw new BadBuffer(`its footer names a batch at ${place}`);
        const message = this.message(place);
        if (message === null) {
          if (this.blocks === null) return;
          throw new BadBuffer(`there is no batch at ${place}`);
        }
        spans += message.end - place;
        if (spans > this.bytes.size) throw new BadBuffer("its batches lie over each other");
        at = message.end;
        made = this.read(message);
      } catch (error) {
        throw this.named(error);
      }
      if (made !== null) yield made;
    }
  }

  private read({ kind, said, version, body, end }: Message): ArrowBatch | null {
    if (kind !== BATCH && kind !== DICTIONARY) throw new BadBuffer(`a message is of the kind ${kind}`);
    const inner = kind === BATCH ? said : said.table(1);
    if (inner === null) throw new BadBuffer("a dictionary has no values");
    const reading = { growth: this.growth, plainUnions: version >= 4, dictionaries: this.dictionaries };
    const reader = new BatchReader(inner, this.bytes.read(body, end - body), reading);
    if (kind === BATCH) return reader.batch(this.fields, this.root);
    const id = said.long(0);
    const type = this.types.get(id);
    if (type === undefined) throw new BadBuffer(`it has a dictionary ${id} that no column uses`);
    const values = reader.column(type, `the dictionary ${id}`);
    const before = said.byte(2) === 0 ? [] : (this.dictionaries.get(id) ?? []);
    if (before.length > 10_000) throw new BadBuffer(`the dictionary ${id} has too many parts`);
    this.dictionaries.set(id, [...before, values]);
    return null;
  }
}

/** Bytes that are all there. */
export function bytesHere(all: Uint8Array): ArrowBytes {
  return { size: all.length, read: (at, length) => all.subarray(at, at + length) };
}

/** A table of a file's or a stream's bytes. */
export function tableOfBytes(bytes: Uint8Array, path?: string): ArrowTable & { growth: Growth } {
  const growth = new Growth(bytes.length, path);
  const reader = new ArrowReader(bytesHere(bytes), path, growth);
  const batches: ArrowBatch[] = [];
  for (const batch of reader.batches()) if (batch.numRows > 0) batches.push(batch);
  const numRows = batches.reduce((n, one) => n + one.numRows, 0);
  return { schema: { fields: reader.fields }, numRows, batches, growth };
}

/** The fields of a schema that stands by itself. @throws FormatError where it is none */
export function schemaOf(message: Uint8Array, path?: string): ArrowField[] {
  return new ArrowReader(bytesHere(message), path, Growth.free()).fields;
}
