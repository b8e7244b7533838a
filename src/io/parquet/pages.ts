// The pages of one column of one row group: levels, which say where values are, and the values.
import { inflate } from "../codec/inflate.ts";
import type { Growth } from "../columns/growth.ts";
import { BadFile } from "./bad-file.ts";
import { type Chunk, PHYSICAL, type SchemaNode } from "./footer.ts";
import { readHybrid, readPackedLevels } from "./hybrid.ts";
import { type Read, type Shape, Thrift } from "./thrift.ts";
import { ValueReader, type Values } from "./values.ts";

/** What a column has in one row group. */
export interface Leaf {
  /** Places, each a value or none. */
  entries: number;
  /** At which level a place ends; null where all are values. */
  definition: Uint8Array | null;
  /** Which list a place goes on with; null without lists. */
  repeated: Uint8Array | null;
  values: Values;
  /** As many of `values` are there. */
  count: number;
}

const PAGE: Shape = {
  1: "number",
  2: "number",
  3: "number",
  5: { 1: "number", 2: "number", 3: "number", 4: "number" },
  7: { 1: "number", 2: "number" },
  8: { 1: "number", 4: "number", 5: "number", 6: "number", 7: "truth" },
};
const DATA = 0;
const DICTIONARY = 2;
const DATA_2 = 3;
const PACKED = 4;
/** Some old writers do not count the head of a dictionary. */
export const SPARE = 100;

function bitsOf(level: number): number {
  return 32 - Math.clz32(level);
}

/** Reads the pages of one column of one row group. */
class ChunkReader {
  private entries = 0;
  private readonly definition: Uint8Array | null;
  private readonly repeated: Uint8Array | null;
  private readonly values: ValueReader;

  constructor(
    private readonly node: SchemaNode,
    private readonly chunk: Chunk,
    private readonly growth: Growth,
    path: string | undefined,
  ) {
    const { values } = chunk;
    growth.spend(2 * values);
    this.definition = node.definition > 0 ? new Uint8Array(values) : null;
    this.repeated = node.repeated > 0 ? new Uint8Array(values) : null;
    this.values = new ValueReader(node, values, growth, path);
  }

  read(bytes: Uint8Array): Leaf {
    const { chunk } = this;
    const thrift = new Thrift(bytes);
    while (this.entries < chunk.values) {
      if (thrift.at >= Math.min(chunk.size, bytes.length)) {
        throw new BadFile(`the column '${this.node.name}' has ${this.entries} values, not ${chunk.values}`);
      }
      const head = thrift.struct(PAGE);
      const [kind, whole, size] = [head[1], head[2], head[3]] as (number | undefined)[];
      if (size === undefined || whole === undefined || size < 0 || whole < 0 || thrift.at + size > bytes.length) {
        throw new BadFile(`a page of the column '${this.node.name}' claims ${size} bytes`);
      }
      const page = bytes.subarray(thrift.at, thrift.at + size);
      thrift.at += size;
      if (kind === DATA) this.first(page, whole, (head[5] as Read | undefined) ?? {});
      else if (kind === DATA_2) this.second(page, whole, (head[8] as Read | undefined) ?? {});
      else if (kind === DICTIONARY) {
        const [count, encoding] = [(head[7] as Read | undefined)?.[1], (head[7] as Read | undefined)?.[2]];
        if (encoding !== 0 && encoding !== 2) throw new BadFile(`a dictionary is written in the encoding ${encoding}`);
        this.values.takeDictionary(this.inflated(page, whole), (count as number | undefined) ?? -1);
      }
    }
    const { entries, definition, repeated, values } = this;
    return { entries, definition, repeated, values: values.array, count: values.count };
  }

  private inflated(page: Uint8Array, size: number): Uint8Array {
    const { codec, method } = this.chunk;
    if (codec === null) {
      const name = method === 3 ? "LZO" : `the method ${method}`;
      throw new BadFile(`the column '${this.node.name}' is compressed by ${name}, which is not read`);
    }
    if (codec === "none") return page;
    this.growth.spend(size);
    return inflate(codec, page, size);
  }

  /** How many places a page has. */
  private places(count: unknown): number {
    const left = this.chunk.values - this.entries;
    if (typeof count !== "number" || count < 0 || count > left) {
      throw new BadFile(`a page of the column '${this.node.name}' claims ${count} values of ${left}`);
    }
    return count;
  }

  /** Takes levels; says how many of a page's places are values. */
  private valued(count: number): number {
    const { definition, entries, node } = this;
    if (definition === null) return count;
    let valued = 0;
    for (let i = entries; i < entries + count; i++) {
      const level = definition[i] as number;
      if (level > node.definition) throw new BadFile(`a page has the level ${level} of ${node.definition}`);
      if (level === node.definition) valued++;
    }
    return valued;
  }

  private levels(bytes: Uint8Array, level: number, count: number, into: Uint8Array): void {
    readHybrid(bytes, bitsOf(level), count, into.subarray(this.entries, this.entries + count));
  }

  /** A page of the first kind: levels say their own size, and are compressed. */
  private first(page: Uint8Array, whole: number, head: Read): void {
    const count = this.places(head[1]);
    const bytes = this.inflated(page, whole);
    let at = 0;
    const levels = (level: number, encoding: unknown, into: Uint8Array | null) => {
      if (into === null) return;
      if (encoding === PACKED) {
        at += readPackedLevels(
          bytes.subarray(at),
          bitsOf(level),
          count,
          into.subarray(this.entries, this.entries + count),
        );
        return;
      }
      if (at + 4 > bytes.length) throw new BadFile("a page is cut off");
      const size = new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
      at += 4;
      if (at + size > bytes.length) throw new BadFile(`the levels of a page claim ${size} bytes`);
      this.levels(bytes.subarray(at, at + size), level, count, into);
      at += size;
    };
    levels(this.node.repeated, head[4], this.repeated);
    levels(this.node.definition, head[3], this.definition);
    this.values.take(head[2] as number, bytes.subarray(at), this.valued(count));
    this.entries += count;
  }

  /** A page of the second kind: levels stand before what is compressed. */
  private second(page: Uint8Array, whole: number, head: Read): void {
    const count = this.places(head[1]);
    const [definitions, repeats] = [(head[5] as number | undefined) ?? 0, (head[6] as number | undefined) ?? 0];
    const start = definitions + repeats;
    if (definitions < 0 || repeats < 0 || start > page.length || start > whole) {
      throw new BadFile(`the levels of a page claim ${start} bytes`);
    }
    if (this.repeated !== null) this.levels(page.subarray(0, repeats), this.node.repeated, count, this.repeated);
    if (this.definition !== null) {
      this.levels(page.subarray(repeats, start), this.node.definition, count, this.definition);
    }
    const rest = page.subarray(start);
    const isPlain = head[7] === false || rest.length === 0;
    this.values.take(head[4] as number, isPlain ? rest : this.inflated(rest, whole - start), this.valued(count));
    this.entries += count;
  }
}

/** Reads a column of a row group from its bytes. @throws BadFile where they make no sense */
export function readLeaf(node: SchemaNode, chunk: Chunk, bytes: Uint8Array, growth: Growth, path?: string): Leaf {
  if (!PHYSICAL.includes(node.physical)) throw new BadFile(`the column '${node.name}' is of no kind`);
  return new ChunkReader(node, chunk, growth, path).read(bytes);
}
