// Arrow streams and files made by hand, so that they can say what no writer would.
import { zstdCompressSync } from "node:zlib";

/** A field of a flatbuffer's table: a number of so many bytes, or what it refers to. */
type Slot = [id: number, value: Flat | number | bigint, bytes?: 1 | 2 | 4 | 8];
interface Table {
  slots: Slot[];
}
/** Tables, a text, or structs of 8-byte words. */
type Flat = Table | Table[] | string | { words: (number | bigint)[]; bytes: number };

const table = (...slots: Slot[]): Table => ({ slots });
const words = (list: (number | bigint)[], bytes = 16) => ({ words: list, bytes });

/** Writes a flatbuffer forwards: what refers to something comes before it. */
class Writer {
  private bytes = Buffer.alloc(1 << 16);
  private end = 4;

  private take(count: number): number {
    const at = (this.end + 7) & ~7;
    while (at + count > this.bytes.length) this.bytes = Buffer.concat([this.bytes, Buffer.alloc(this.bytes.length)]);
    this.end = at + count;
    return at;
  }

  private write(flat: Flat): number {
    if (typeof flat === "string") {
      const at = this.take(5 + flat.length);
      this.bytes.writeUInt32LE(flat.length, at);
      this.bytes.write(flat, at + 4);
      return at;
    }
    if ("words" in flat) {
      const at = this.take(8 + 8 * flat.words.length) + 4;
      this.bytes.writeUInt32LE((8 * flat.words.length) / flat.bytes, at);
      for (const [i, value] of flat.words.entries()) this.bytes.writeBigInt64LE(BigInt(value), at + 4 + 8 * i);
      return at;
    }
    if (Array.isArray(flat)) {
      const at = this.take(4 + 4 * flat.length);
      this.bytes.writeUInt32LE(flat.length, at);
      // The same table may be meant several times.
      const places = new Map<Table, number>();
      for (const [i, one] of flat.entries()) {
        const place = places.get(one) ?? this.write(one);
        places.set(one, place);
        this.bytes.writeUInt32LE(place - (at + 4 + 4 * i), at + 4 + 4 * i);
      }
      return at;
    }
    const count = Math.max(0, ...flat.slots.map(([id]) => id + 1));
    const size = 8 + 8 * flat.slots.length;
    const vtable = this.take(4 + 2 * count);
    const at = this.take(size);
    this.bytes.writeUInt16LE(4 + 2 * count, vtable);
    this.bytes.writeUInt16LE(size, vtable + 2);
    this.bytes.writeInt32LE(at - vtable, at);
    for (const [i, [id, value, bytes = 4]] of flat.slots.entries()) {
      const slot = at + 8 + 8 * i;
      this.bytes.writeUInt16LE(slot - at, vtable + 4 + 2 * id);
      if (typeof value === "object" || typeof value === "string") {
        const place = this.write(value);
        this.bytes.writeUInt32LE(place - slot, slot);
      } else if (bytes === 8) this.bytes.writeBigInt64LE(BigInt(value), slot);
      else this.bytes.writeIntLE(Number(value), slot, bytes);
    }
    return at;
  }

  static root(flat: Table): Uint8Array {
    const writer = new Writer();
    const place = writer.write(flat);
    writer.bytes.writeUInt32LE(place, 0);
    return writer.bytes.subarray(0, (writer.end + 7) & ~7);
  }
}

const SCHEMA = 1;
const DICTIONARY = 2;
const BATCH = 3;

/** One message and the bytes behind it; it may claim others. */
function message(
  kind: number,
  said: Table,
  body: Uint8Array = new Uint8Array(0),
  claimed: number | bigint = body.length,
): Buffer {
  const head = Writer.root(table([0, 4, 2], [1, kind, 1], [2, said], [3, claimed, 8]));
  const sizes = Buffer.alloc(8);
  sizes.writeInt32LE(-1, 0);
  sizes.writeInt32LE(head.length, 4);
  return Buffer.concat([sizes, head, body]);
}

/** Types by their numbers in Arrow's schema. */
const field = (type: number, said: Table = table(), children: Table[] = [], ...more: Slot[]) =>
  table([0, "x"], [1, 1, 1], [2, type, 1], [3, said], [5, children], ...more);
const NULL = 1;
const INT64 = field(2, table([0, 64], [1, 1, 1]));
const INT32 = field(2, table([0, 32], [1, 1, 1]));
const schema = (...fields: Table[]) => message(SCHEMA, table([1, fields]));

interface Said {
  rows: number | bigint;
  /** Rows and rows without a value, of each column. */
  nodes: (number | bigint)[];
  buffers: Uint8Array[];
  counts?: number[];
  codec?: number;
}

function parts({ rows, nodes, buffers, counts = [], codec }: Said): [Table, Buffer] {
  const places: number[] = [];
  let at = 0;
  const padded = buffers.map((bytes) => {
    places.push(at, bytes.length);
    const whole = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 7)]);
    at += whole.length;
    return whole;
  });
  const slots: Slot[] = [
    [0, rows, 8],
    [1, words(nodes)],
    [2, words(places)],
    [4, words(counts, 8)],
  ];
  if (codec !== undefined) slots.push([3, table([0, codec, 1])]);
  return [table(...slots), Buffer.concat(padded)];
}

const batch = (said: Said) => message(BATCH, ...parts(said));
const none = new Uint8Array(0);
const ints = (list: number[]) => new Uint8Array(Int32Array.from(list).buffer);
const MANY = 2 ** 20;

function nested(levels: number, width: number): Table {
  let inner = INT64;
  for (let i = 0; i < levels; i++) inner = field(13, table(), new Array<Table>(width).fill(inner));
  return inner;
}

/** A file whose footer names one batch many times. */
function repeated(times: number): Buffer {
  const one = batch({ rows: MANY, nodes: [MANY, 0], buffers: [none, new Uint8Array(8 * MANY)] });
  const start = Buffer.from("ARROW1\0\0");
  const block = [8n, BigInt(one.length - 8 * MANY), BigInt(8 * MANY)];
  const footer = Writer.root(table([1, table([1, [INT64]])], [3, words(new Array(times).fill(block).flat(), 24)]));
  const size = Buffer.alloc(4);
  size.writeInt32LE(footer.length);
  return Buffer.concat([start, one, footer, size, Buffer.from("ARROW1")]);
}

function views(rows: number): Buffer {
  const places = new Int32Array(4 * rows);
  for (let i = 0; i < rows; i++) places.set([MANY, 0x61616161, 0, 0], 4 * i);
  const said = {
    rows,
    nodes: [rows, 0],
    buffers: [none, new Uint8Array(places.buffer), Buffer.alloc(MANY, "a")],
    counts: [1],
  };
  return Buffer.concat([schema(field(24)), batch(said)]);
}

function packed(): Buffer {
  const bytes = zstdCompressSync(Buffer.alloc(2 ** 29));
  const size = Buffer.alloc(8);
  size.writeBigInt64LE(2n ** 29n);
  const said = { rows: 2 ** 26, nodes: [2 ** 26, 0], buffers: [none, Buffer.concat([size, bytes])], codec: 1 };
  return Buffer.concat([schema(INT64), batch(said)]);
}

/** A dictionary whose values are named by itself, again and again. */
function itself(times: number): Buffer {
  const encoding = table([0, 0, 8], [1, table([0, 32], [1, 1, 1])]);
  const inner = field(5, table(), [], [4, encoding]);
  const outer = field(13, table(), [inner], [4, encoding]);
  const [said, body] = parts({ rows: 1, nodes: [1, 0, 1, 0], buffers: [none, none, ints([0])] });
  const one = message(DICTIONARY, table([0, 0, 8], [1, said]), body);
  const last = batch({ rows: 1, nodes: [1, 0], buffers: [none, ints([0])] });
  return Buffer.concat([schema(outer), ...new Array<Buffer>(times).fill(one), last]);
}

/** Arrow files that ask for all time or memory, by what they do. */
export const arrowFiles: Readonly<Record<string, () => Uint8Array>> = {
  "a schema of 1,000 levels": () => schema(nested(1000, 1)),
  "a schema that doubles 40 times": () => schema(nested(40, 2)),
  "2 ** 50 rows without a value": () =>
    Buffer.concat([schema(field(NULL)), batch({ rows: 2n ** 50n, nodes: [2n ** 50n, 2n ** 50n], buffers: [] })]),
  "rows of no column": () => Buffer.concat([schema(), batch({ rows: 2n ** 50n, nodes: [], buffers: [] })]),
  "2 ** 50 empty lists": () =>
    Buffer.concat([
      schema(field(16, table([0, 0]), [INT64])),
      batch({ rows: 2n ** 50n, nodes: [2n ** 50n, 0, 0, 0], buffers: [none, none, none] }),
    ]),
  "a run of 2 ** 31 rows": () =>
    Buffer.concat([
      schema(field(22, table(), [INT32, INT64])),
      batch({
        rows: 2 ** 31 - 1,
        nodes: [2 ** 31 - 1, 0, 1, 0, 1, 0],
        buffers: [none, ints([2 ** 31 - 1]), none, ints([1, 0])],
      }),
    ]),
  "texts that are all one megabyte": () => views(20_000),
  "lists that are all one long list": () => {
    const rows = 20_000;
    const sizes = ints(new Array(rows).fill(rows));
    const said = {
      rows,
      nodes: [rows, 0, rows, 0],
      buffers: [none, new Uint8Array(4 * rows), sizes, none, new Uint8Array(8 * rows)],
    };
    return Buffer.concat([schema(field(25, table(), [INT64])), batch(said)]);
  },
  "512 MiB of zeros": packed,
  "a dictionary that names itself": () => itself(20_000),
  "a batch that is named 10,000 times": () => repeated(10_000),
  "a body of 2 ** 60 bytes": () => Buffer.concat([schema(INT64), message(BATCH, table([0, 1, 8]), none, 2n ** 60n)]),
  "a hundred thousand empty batches": () => {
    const empty = batch({ rows: 0, nodes: [0, 0], buffers: [none, none] });
    return Buffer.concat([schema(INT64), ...new Array<Buffer>(100_000).fill(empty)]);
  },
  "10,000 columns": () => {
    const columns = 10_000;
    const fields = Array.from({ length: columns }, (_, i) =>
      table([0, `c${i}`], [2, 2, 1], [3, table([0, 64], [1, 1, 1])], [5, []]),
    );
    const said = {
      rows: 1,
      nodes: new Array(columns).fill([1, 0]).flat(),
      buffers: new Array(columns).fill([none, Buffer.alloc(8)]).flat(),
    };
    return Buffer.concat([schema(...fields), batch(said)]);
  },
};
