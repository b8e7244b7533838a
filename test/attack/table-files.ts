// Tables to damage, and crafted ones: small files that ask for all time or all memory.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { arrowFiles } from "./arrow-files.ts";

export type Format = "csv" | "json" | "jsonl" | "parquet" | "arrow";

export interface Good {
  name: string;
  format: Format;
  path: string;
  bytes: Uint8Array;
  /** In the short run every so many bytes are damaged. */
  every: number;
}

const TABLES = join(import.meta.dir, "..", "fixtures", "tables");

/** Good files of every format. */
export function goodFiles(): Good[] {
  const file = (name: string, format: Format, every: number): Good => {
    const path = join(TABLES, name);
    return { name, format, path, bytes: readFileSync(path), every };
  };
  return [
    file("nulls.arrow", "arrow", 2),
    file("kinds.arrow", "arrow", 3),
    file("compressed.arrow", "arrow", 11),
    file("kinds/all.arrows", "arrow", 67),
    file("kinds/lz4.arrow", "arrow", 151),
    file("nulls.parquet", "parquet", 5),
    file("kinds.parquet", "parquet", 3),
    file("groups.parquet", "parquet", 19),
    file("kinds/plain.parquet", "parquet", 97),
    file("kinds/gzip.parquet", "parquet", 101),
    file("kinds/delta1.parquet", "parquet", 97),
    file("flat.csv", "csv", 1),
    file("flat.json", "json", 1),
    file("flat.jsonl", "jsonl", 1),
  ];
}

interface Crafted {
  name: string;
  format: Format;
  make(): Uint8Array | string;
}

// ---- Parquet: thrift's compact protocol

type Field = [number, number | bigint | string | Uint8Array | boolean | Struct | Struct[]];
type Struct = Field[];

function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest <= 127n) return bytes;
  }
}

const zigzag = (value: number | bigint) => varint(BigInt(value) < 0n ? -2n * BigInt(value) - 1n : 2n * BigInt(value));

function struct(fields: Struct): Uint8Array {
  const parts: Uint8Array[] = [];
  let last = 0;
  for (const [id, value] of fields) {
    const head = (kind: number) => parts.push(Uint8Array.of(((id - last) << 4) | kind));
    if (typeof value === "boolean") head(value ? 1 : 2);
    else if (typeof value === "number" || typeof value === "bigint") {
      head(6);
      parts.push(Uint8Array.from(zigzag(value)));
    } else if (typeof value === "string" || value instanceof Uint8Array) {
      const bytes = Buffer.from(value as string);
      head(8);
      parts.push(Uint8Array.from(varint(bytes.length)), bytes);
    } else if (value.length > 0 && !Array.isArray((value[0] as Field)[0])) {
      head(12);
      parts.push(struct(value as Struct));
    } else {
      head(9);
      const count = value.length;
      parts.push(Uint8Array.from(count < 15 ? [(count << 4) | 12] : [0xfc, ...varint(count)]));
      for (const one of value as Struct[]) parts.push(struct(one));
    }
    last = id;
  }
  return Buffer.concat([...parts, Uint8Array.of(0)]);
}

const word = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

interface Page {
  kind?: number;
  count: number;
  encoding?: number;
  bytes: Uint8Array;
  whole?: number;
}

/** Pages of the first kind, each behind its head. */
function pagesOf(pages: readonly Page[]): Uint8Array {
  return Buffer.concat(
    pages.flatMap(({ kind = 0, count, encoding = 0, bytes, whole = bytes.length }) => {
      const own: Field =
        kind === 0
          ? [
              5,
              [
                [1, count],
                [2, encoding],
                [3, 3],
                [4, 3],
              ],
            ]
          : [
              7,
              [
                [1, count],
                [2, encoding],
              ],
            ];
      return [struct([[1, kind], [2, whole], [3, bytes.length], own]), bytes];
    }),
  );
}

interface ColumnSaid {
  element: Struct;
  pages?: readonly Page[];
  rows: number | bigint;
  codec?: number;
}

/** A file of one row group whose columns say what they want. */
function parquet(columns: readonly ColumnSaid[], rows: number | bigint, change: Struct = []): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from("PAR1")];
  let at = 4;
  const chunks = columns.map(({ element, pages = [], rows: values, codec = 0 }): Struct => {
    const bytes = pagesOf(pages);
    parts.push(bytes);
    at += bytes.length;
    const kind = element.find(([id]) => id === 1)?.[1] as number;
    const data: Struct = [
      [1, kind],
      [4, codec],
      [5, values],
      [6, bytes.length],
      [7, bytes.length],
      [9, at - bytes.length],
    ];
    return [[3, data]];
  });
  const elements: Struct[] = [
    [
      [4, "root"],
      [5, columns.length],
    ],
    ...columns.map(({ element }) => element),
  ];
  const fields = new Map<number, Field[1]>([
    [1, 2],
    [2, elements],
    [3, rows],
    [
      4,
      [
        [
          [1, chunks],
          [2, 1],
          [3, rows],
        ],
      ],
    ],
    ...change,
  ]);
  const footer = struct([...fields].sort(([a], [b]) => a - b));
  return Buffer.concat([...parts, footer, word(footer.length), Buffer.from("PAR1")]);
}

const INT64: Struct = [
  [1, 2],
  [3, 0],
  [4, "x"],
];
const MAYBE_INT64: Struct = [
  [1, 2],
  [3, 1],
  [4, "x"],
];
const TEXT: Struct = [
  [1, 6],
  [3, 0],
  [4, "x"],
  [6, 0],
];
/** Levels or indices that are all one number. */
const run = (count: number, value: number) => Uint8Array.from([...varint(2 * count), value]);
const sized = (bytes: Uint8Array) => Buffer.concat([word(bytes.length), bytes]);

/** A number, another one behind it, and then that one again and again, as differences. */
function deltas(count: number, first: number, second = first): Uint8Array {
  const least = Math.min(0, second - first);
  const block = Buffer.alloc(128 * 4);
  for (let i = 0; i < 128; i++) block.writeUInt32LE((i === 0 ? second - first : 0) - least, 4 * i);
  const rest = Array.from({ length: Math.ceil((count - 1) / 128) - 1 }, () => [0, 0, 0, 0, 0]);
  const head = [...varint(128), ...varint(4), ...varint(count), ...zigzag(first), ...zigzag(least), 32, 32, 32, 32];
  return Buffer.concat([Uint8Array.from(head), block, Uint8Array.from(rest.flat())]);
}

const ROWS = 2 ** 30;
const manyLevels: Struct[] = [
  [
    [4, "root"],
    [5, 1],
  ],
  ...Array.from(
    { length: 1000 },
    (): Struct => [
      [3, 0],
      [4, "g"],
      [5, 1],
    ],
  ),
  INT64,
];

const SAME = 100_000;

/** Texts of which each is all of the one before, which the first alone has. */
function samePrefix(): Page {
  const length = 100_000;
  const bytes = Buffer.concat([deltas(SAME, 0, length), deltas(SAME, length, 0), Buffer.alloc(length, "a")]);
  return { count: SAME, encoding: 7, bytes };
}

const parquetOf = (name: string, make: () => Uint8Array): Crafted => {
  return { name: `Parquet, ${name}`, format: "parquet", make };
};

function parquets(): Crafted[] {
  const of = parquetOf;
  return [
    of("a schema of 1,000 levels", () =>
      parquet([], 0, [
        [2, manyLevels],
        [4, []],
      ]),
    ),
    of("a billion rows without a value", () =>
      parquet([{ element: MAYBE_INT64, rows: ROWS, pages: [{ count: ROWS, bytes: sized(run(ROWS, 0)) }] }], ROWS),
    ),
    of("a billion rows of one value", () =>
      parquet(
        [
          {
            element: INT64,
            rows: ROWS,
            pages: [
              { kind: 2, count: 1, bytes: Buffer.alloc(8) },
              { count: ROWS, encoding: 8, bytes: Uint8Array.from([1, ...run(ROWS, 0)]) },
            ],
          },
        ],
        ROWS,
      ),
    ),
    of("2 ** 62 rows", () => parquet([{ element: INT64, rows: 2n ** 62n }], 2n ** 62n)),
    of("a footer of other rows than its row groups", () =>
      parquet([{ element: INT64, rows: 2, pages: [{ count: 2, bytes: Buffer.alloc(16) }] }], 2, [[3, 1]]),
    ),
    of("rows of no column", () => parquet([], 2 ** 40)),
    of("a billion row groups", () =>
      Buffer.concat([Buffer.from("PAR1\x15\x04\x49\xfc\xff\xff\xff\xff\x03"), word(9), Buffer.from("PAR1")]),
    ),
    of("50,000 columns", () => {
      const columns = Array.from({ length: 50_000 }, (_, i): ColumnSaid => {
        return {
          element: [
            [1, 2],
            [3, 0],
            [4, `c${i}`],
          ],
          rows: 1,
          pages: [{ count: 1, bytes: Buffer.alloc(8) }],
        };
      });
      return parquet(columns, 1);
    }),
    of("a schema that lists itself", () =>
      parquet(
        [
          {
            element: [
              [1, 2],
              [3, 0],
              [4, "x"],
              [5, 100_000],
            ],
            rows: 0,
          },
        ],
        0,
      ),
    ),
  ];
}

/** Bytes that become many more. */
function packedParquets(): Crafted[] {
  const of = parquetOf;
  const zeros = Buffer.alloc(2 ** 28);
  const packed = (codec: number, bytes: Uint8Array) =>
    parquet(
      [{ element: INT64, rows: 2 ** 25, codec, pages: [{ count: 2 ** 25, bytes, whole: zeros.length }] }],
      2 ** 25,
    );
  return [
    of("256 MiB of zeros in gzip", () => packed(2, gzipSync(zeros))),
    of("256 MiB of zeros in brotli", () => packed(4, brotliCompressSync(zeros, { params: { 1: 1 } }))),
    of("256 MiB of zeros in zstd", () => packed(6, zstdCompressSync(zeros))),
    of("snappy that copies without end", () =>
      packed(1, Uint8Array.from([...varint(zeros.length), 0, 0, ...new Array(1000).fill([0xfe, 1, 0]).flat()])),
    ),
    of("texts that begin as the one before", () =>
      parquet([{ element: TEXT, rows: SAME, pages: [samePrefix()] }], SAME),
    ),
    of("a long text in a dictionary, named a million times", () =>
      parquet(
        [
          {
            element: TEXT,
            rows: 2 ** 20,
            pages: [
              { kind: 2, count: 1, bytes: sized(Buffer.alloc(2 ** 20, "a")) },
              { count: 2 ** 20, encoding: 8, bytes: Uint8Array.from([1, ...run(2 ** 20, 0)]) },
            ],
          },
        ],
        2 ** 20,
      ),
    ),
    of("differences of 0 bits without end", () =>
      parquet(
        [{ element: INT64, rows: ROWS, pages: [{ count: ROWS, encoding: 5, bytes: deltas(ROWS >> 10, 0) }] }],
        ROWS,
      ),
    ),
    of("a million empty pages", () =>
      parquet(
        [
          {
            element: INT64,
            rows: 1,
            pages: Array.from({ length: 200_000 }, () => ({ count: 0, bytes: new Uint8Array(0) })),
          },
        ],
        1,
      ),
    ),
    of("bytes of levels that are not there", () =>
      parquet([{ element: MAYBE_INT64, rows: 10, pages: [{ count: 10, bytes: word(2 ** 31) }] }], 10),
    ),
  ];
}

// ---- CSV and JSON

const MANY = 2 ** 20;

const textOf = (name: string, format: Format, make: () => Uint8Array | string): Crafted => {
  return { name: `${format}, ${name}`, format, make };
};
const list = (count: number, one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i));

function csvs(): Crafted[] {
  const of = textOf;
  return [
    of("30 MB of quotes", "csv", () => '"'.repeat(30 * MANY)),
    of("30 MB of quotes and one", "csv", () => `a\n${'"'.repeat(30 * MANY + 1)}`),
    of("quotes that open and close", "csv", () => `a\n${'"" '.repeat(8 * MANY)}`),
    of("a quote that stays open", "csv", () => `a,b\n1,"${"2,3\n".repeat(4 * MANY)}`),
    of("8 MB of separators", "csv", () => ",".repeat(8 * MANY)),
    of("8 MB of line ends", "csv", () => "\r\n".repeat(4 * MANY)),
    of(
      "many columns and many short rows",
      "csv",
      () => `${list(100_000, (i) => `c${i}`).join()}\n${"1\n".repeat(100_000)}`,
    ),
    of("a million digits that are no number", "csv", () => `a\n${"1".repeat(MANY)}x\n`),
    of("a million digits and a point", "csv", () => `a\n${"1".repeat(MANY)}.${"1".repeat(MANY)}e\n`),
    of("spaces before no number", "csv", () => `a\n${" ".repeat(MANY)}x${" ".repeat(MANY)}\n`),
    of("whole numbers with a million zeros", "csv", () => `a\n${"0".repeat(MANY)}9007199254740993\n`),
    of("names that are all the same", "csv", () => `${"a,".repeat(200_000)}a\n`),
  ];
}

function jsons(): Crafted[] {
  const of = textOf;
  const own = (i: number) => `{"k${i}":${i}}`;
  return [
    of("20,000 records with fields of their own", "json", () => `[${list(20_000, own)}]`),
    of("20,000 records with fields of their own", "jsonl", () => list(20_000, own).join("\n")),
    of("records with ever more fields", "json", () => `[${list(1000, (i) => `{${list(i + 1, (k) => `"k${k}":1`)}}`)}]`),
    of("a million levels", "json", () => `[{"a":${"[".repeat(MANY)}${"]".repeat(MANY)}}]`),
    of(
      "a million levels and a long number",
      "json",
      () => `[{"b":12345678901234567890,"a":${"[".repeat(MANY)}${"]".repeat(MANY)}}]`,
    ),
    of("10,000 levels of objects", "jsonl", () => `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`),
    of("a million digits", "json", () => `[{"a":${"1".repeat(MANY)}}]`),
    of("many long whole numbers", "json", () => `[${list(20_000, () => `{"a":${"9".repeat(300)}}`)}]`),
    of("a word of a million letters", "json", () => `[{"a":${"x".repeat(MANY)}}]`),
    of("no end of brackets", "json", () => "[".repeat(8 * MANY)),
    of("escapes that never end", "json", () => `[{"a":"${"\\\\".repeat(4 * MANY)}`),
    of("a million empty records", "json", () => `[${"{},".repeat(MANY)}{}]`),
    of("empty lines", "jsonl", () => "\n".repeat(8 * MANY)),
    of("one line that does not end", "jsonl", () => `{"a":"${"x".repeat(16 * MANY)}`),
    of("lists of lists", "json", () => `[${list(2000, () => `{"a":[${list(100, () => "[[1,2],[3,4]]")}]}`)}]`),
  ];
}

/** All crafted files. */
export function crafted(): Crafted[] {
  const arrows = Object.entries(arrowFiles).map(
    ([name, make]): Crafted => ({ name: `Arrow, ${name}`, format: "arrow", make }),
  );
  return [...arrows, ...parquets(), ...packedParquets(), ...csvs(), ...jsons()];
}
