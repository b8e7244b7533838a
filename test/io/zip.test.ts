// ZIP archives: those of Python and torch are read and written byte for byte; whatever is not one is refused.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { FormatError, OSError } from "../../src/io/base/errors.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { FileWrite } from "../../src/io/store/single-file.ts";
import { readZip, type ZipFile } from "../../src/io/zip/zip.ts";
import { crcOf, type ZipWriteEntry, type ZipWriteOptions, zipPieces } from "../../src/io/zip/zip-write.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import fixtures from "../fixtures/archives/zip.json" with { type: "json" };
import { decoded, flipped, roomFor, survives } from "./archive-files.ts";

const FILES = decoded(fixtures);
const room = roomFor("zip");
afterAll(room.remove);

const LIMIT = 2 ** 30;

function fixture(name: string): string {
  return room.file(name, FILES.get(name) as Buffer);
}

function contents(zip: ZipFile): Map<string, string> {
  return new Map(
    [...zip.entries.values()].map((entry) => [entry.name, Buffer.from(zip.read(entry, LIMIT)).toString()]),
  );
}

/** Writes an archive and gives its path. */
function written(entries: ZipWriteEntry[], options: ZipWriteOptions, name = "written.zip"): string {
  const path = join(room.path, name);
  const { pieces, size } = zipPieces(entries, options);
  new FileWrite(path, pieces).run();
  expect(readFileSync(path).length).toBe(size);
  return path;
}

/** What the fixtures were made of: the style, and how entries were treated. */
const ORIGINS: [string, ZipWriteOptions, (name: string) => Partial<ZipWriteEntry>][] = [
  ["torch.pt", { style: "torch" }, () => ({})],
  ["numpy.npz", { style: "numpy" }, () => ({})],
  [
    "archive.tdz",
    { style: "tensordict", modified: new Date(2026, 10, 21, 9, 2, 54) },
    (name) => (name.endsWith(".memmap") ? { align: 64 } : {}),
  ],
  [
    "archive_tc.tdz",
    { style: "tensordict", modified: new Date(2026, 10, 21, 9, 2, 54) },
    (name) => (name.endsWith(".memmap") ? { align: 64 } : {}),
  ],
];

describe("archives of other programs", () => {
  for (const [name, options, how] of ORIGINS) {
    test(`${name} is read, and written again byte for byte`, () => {
      const zip = readZip(fixture(name));
      const entries = [...zip.entries.values()].map((entry) => ({
        name: entry.name,
        data: zip.read(entry, LIMIT),
        ...how(entry.name),
      }));
      expect(entries.length).toBeGreaterThan(1);
      expect(readFileSync(written(entries, options)).equals(FILES.get(name) as Buffer)).toBe(true);
    });
  }

  test("deflated entries are inflated", () => {
    const zip = readZip(fixture("archive_deflate.tdz"));
    const a = zip.entry("a.memmap");
    expect([a.method, a.nbytes, a.compressedBytes]).toEqual(["deflate", 4000, 21]);
    expect(zip.read(a, 4000).length).toBe(4000);
    expect(() => zip.read(a, 3999)).toThrow(/its 4000 bytes are more than 3999/);
    expect(readZip(fixture("numpy-compressed.npz")).entry("a.npy").method).toBe("deflate");
  });

  test("a stream has its sizes behind the payloads; directories are no entries", () => {
    const found = contents(readZip(fixture("python-stream.zip")));
    expect([...found]).toEqual([
      ["a/é.txt", "hello ".repeat(20)],
      ["b", "x".repeat(100)],
    ]);
  });

  test("a comment may hold the signature of the end record", () => {
    expect([...contents(readZip(fixture("comment.zip")))]).toEqual([["a", "one"]]);
  });

  test("other compressions are named", () => {
    expect(() => readZip(fixture("bzip2.zip"))).toThrow(/compressed with bzip2/);
    expect(() => readZip(fixture("lzma.zip"))).toThrow(/compressed with lzma/);
  });
});

describe("writing", () => {
  test("native bytes, alignment, zip64 records, deflate", () => {
    const big = tensor(Array.from({ length: 10_000 }, (_, i) => i));
    const small = tensor([1, 2, 3]);
    const entries: ZipWriteEntry[] = [
      { name: "x", data: new Uint8Array([1, 2, 3]) },
      { name: "big", data: nativeBytes(big), align: 64 },
      { name: "packed", data: nativeBytes(zeros([5000])), deflate: 9 },
      { name: "small", data: nativeBytes(small), align: 4096 },
      { name: "empty", data: new Uint8Array(0), deflate: true },
    ];
    for (const style of ["tensordict", "numpy", "torch"] as const) {
      for (const forceZip64 of [false, true]) {
        const zip = readZip(written(entries, { style, forceZip64 }));
        expect([...zip.entries.keys()]).toEqual(["x", "big", "packed", "small", "empty"]);
        expect(zip.entry("big").offset % 64).toBe(0);
        expect(zip.entry("small").offset % 4096).toBe(0);
        expect(zip.entry("packed").compressedBytes).toBeLessThan(200);
        const bytes = zip.read(zip.entry("big"), LIMIT);
        expect(crc32(bytes)).toBe(crcOf(nativeBytes(big)));
        expect([...new Float32Array(bytes.slice().buffer).subarray(0, 3)]).toEqual([0, 1, 2]);
        expect(zip.read(zip.entry("packed"), LIMIT).every((byte) => byte === 0)).toBe(true);
        expect(zip.read(zip.entry("empty"), 0).length).toBe(0);
      }
    }
  });

  test("more entries than the short end record can count", () => {
    const entries = Array.from({ length: 65_537 }, (_, i) => ({ name: `e${i}`, data: new Uint8Array(0) }));
    const zip = readZip(written(entries, { style: "numpy" }));
    expect(zip.entries.size).toBe(65_537);
    expect(() => readZip(zip.path, { maxEntries: 65_536 })).toThrow(/65537 entries are too many/);
    expect(() => readZip(zip.path, { maxDirectoryBytes: 1000 })).toThrow(/is too large/);
  });

  test("names are unique and not empty", () => {
    const data = new Uint8Array(1);
    const twice = [
      { name: "a", data },
      { name: "a", data },
    ];
    expect(() => zipPieces(twice, { style: "numpy" })).toThrow(/used twice/);
    expect(() => zipPieces([{ name: "", data }], { style: "numpy" })).toThrow(/empty/);
  });
});

/** An archive of two stored entries, `one` and `two`, whose bytes a test then changes. */
function plain(names: [string, string] = ["one", "two"], deflate = false): Buffer {
  const entries = names.map((name, i) => ({ name, data: new Uint8Array(1000).fill(i + 1), deflate }));
  const { pieces, size } = zipPieces(entries, { style: "numpy" });
  const all = Buffer.alloc(size);
  for (const { offset, data } of pieces) all.set(data as Uint8Array, offset);
  return all;
}

/** Where the n-th record with a signature begins. */
function recordAt(bytes: Buffer, signature: string, n = 0): number {
  let at = -1;
  for (let i = 0; i <= n; i++) at = bytes.indexOf(signature, at + 1, "latin1");
  return at;
}

const CENTRAL = "PK\x01\x02";
const LOCAL = "PK\x03\x04";
const END = "PK\x05\x06";

function refusal(bytes: Uint8Array): string {
  const path = room.file("bad.zip", bytes);
  try {
    contents(readZip(path));
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return (error as Error).message;
  }
  return "read";
}

/** Changes fields of the archive: [signature, which one, offset in it, bytes of the field, value]. */
function changed(changes: [string, number, number, number, number][], from = plain()): Buffer {
  const bytes = Buffer.from(from);
  for (const [signature, n, offset, length, value] of changes) {
    bytes.writeUIntLE(value, recordAt(bytes, signature, n) + offset, length);
  }
  return bytes;
}

describe("hostile archives", () => {
  test("names that leave the directory, repeat, or hide", () => {
    expect(refusal(plain(["../a", "b"]))).toMatch(/'\.\.'/);
    expect(refusal(plain(["a/../../b", "b"]))).toMatch(/'\.\.'/);
    expect(refusal(plain(["/etc/x", "b"]))).toMatch(/absolute/);
    expect(refusal(plain(["C:/x", "b"]))).toMatch(/absolute/);
    expect(refusal(plain(["a\\b", "b"]))).toMatch(/backslash/);
    expect(refusal(plain(["a\0b", "b"]))).toMatch(/NUL/);
    expect(refusal(plain(["a//b", "b"]))).toMatch(/empty part/);
    expect(refusal(plain(["./a", "b"]))).toMatch(/empty part/);
    expect(refusal(Buffer.from(plain().toString("latin1").replaceAll("two", "one"), "latin1"))).toMatch(/twice/);
    expect(refusal(Buffer.from(plain().toString("latin1").replaceAll("two", "\xff\xfeo"), "latin1"))).toMatch(/UTF-8/);
  });

  test("entries that overlap or lie outside of the file", () => {
    expect(refusal(changed([[CENTRAL, 1, 42, 4, 0]]))).toMatch(/differ in its name|reaches into another/);
    expect(refusal(changed([[CENTRAL, 1, 42, 4, 0x7fffffff]]))).toMatch(/outside/);
    const far = changed([
      [CENTRAL, 0, 20, 4, 1500],
      [CENTRAL, 0, 24, 4, 1500],
    ]);
    const localSize = recordAt(far, LOCAL) + 30 + 3 + 4;
    far.writeUInt32LE(1500, localSize);
    far.writeUInt32LE(1500, localSize + 8);
    expect(refusal(far)).toMatch(/reaches into another entry/);
  });

  test("headers that contradict the directory", () => {
    expect(refusal(changed([[CENTRAL, 0, 24, 4, 999]]))).toMatch(/two sizes/);
    expect(refusal(changed([[LOCAL, 0, 14, 4, 7]]))).toMatch(/differ in its checksum/);
    expect(refusal(changed([[LOCAL, 0, 8, 2, 8]]))).toMatch(/differ in its compression/);
    expect(refusal(changed([[LOCAL, 0, 6, 2, 2]]))).toMatch(/differ in its flags/);
    expect(refusal(changed([[LOCAL, 0, 30, 1, 65]]))).toMatch(/differ in its name/);
    expect(refusal(changed([[LOCAL, 0, 0, 4, 0]]))).toMatch(/header is missing/);
    expect(refusal(changed([[LOCAL, 0, 30 + 3 + 20 + 500, 1, 9]]))).toMatch(/checksum/);
  });

  test("encryption, unknown flags, several volumes", () => {
    expect(refusal(changed([[CENTRAL, 0, 8, 2, 1]]))).toMatch(/encrypted/);
    expect(refusal(changed([[CENTRAL, 0, 8, 2, 0x2000]]))).toMatch(/flags 0x2000/);
    expect(refusal(changed([[CENTRAL, 0, 34, 2, 3]]))).toMatch(/volume/);
    expect(refusal(changed([[END, 0, 4, 2, 1]]))).toMatch(/volumes/);
    expect(refusal(changed([[END, 0, 8, 2, 1]]))).toMatch(/volumes/);
  });

  test("end records that lie", () => {
    const count = [END, 0, 10, 2] as const;
    expect(
      refusal(
        changed([
          [...count, 3],
          [END, 0, 8, 2, 3],
        ]),
      ),
    ).toMatch(/directory/);
    expect(
      refusal(
        changed([
          [...count, 1],
          [END, 0, 8, 2, 1],
        ]),
      ),
    ).toMatch(/more bytes than entries/);
    expect(refusal(changed([[END, 0, 12, 4, 0xfffffff0]]))).toMatch(/not where/);
    expect(refusal(changed([[END, 0, 16, 4, 1]]))).toMatch(/not where/);
    expect(refusal(changed([[END, 0, 20, 2, 1]]))).toMatch(/its end is missing/);
    expect(refusal(Buffer.concat([plain(), Buffer.from("!")]))).toMatch(/its end is missing/);
    expect(refusal(Buffer.alloc(0))).toMatch(/not a zip archive/);
    expect(refusal(Buffer.alloc(100_000))).toMatch(/not a zip archive/);
  });

  test("bombs: sizes that cannot be, sizes that are not", () => {
    const bomb = plain(["one", "two"], true);
    const set = (nbytes: number) => {
      const bytes = changed([[CENTRAL, 0, 24, 4, nbytes]], bomb);
      bytes.writeUInt32LE(nbytes, recordAt(bytes, LOCAL) + 30 + 3 + 4);
      return bytes;
    };
    expect(refusal(set(2 ** 29))).toMatch(/cannot grow/);
    expect(refusal(set(999))).toMatch(/sizes are not those/);
    expect(refusal(set(1001))).toMatch(/sizes are not those/);
    // Bytes after the end of the compressed data.
    const data = deflateRawSync(new Uint8Array(50));
    const { pieces } = zipPieces([{ name: "a", data: Buffer.concat([data, Buffer.alloc(4)]) }], { style: "numpy" });
    const bytes = Buffer.from((pieces[0] as { data: Uint8Array }).data);
    for (const [signature, method, size] of [
      [LOCAL, 8, 30 + 1 + 4],
      [CENTRAL, 10, 24],
    ] as const) {
      bytes.writeUInt16LE(8, recordAt(bytes, signature) + method);
      bytes.writeUInt32LE(50, recordAt(bytes, signature) + size);
    }
    expect(refusal(bytes)).toMatch(/sizes are not those/);
  });

  test("cut at every byte", () => {
    for (const name of ["torch.pt", "numpy.npz", "archive_deflate.tdz", "python-stream.zip"]) {
      const whole = FILES.get(name) as Buffer;
      for (let length = 0; length < whole.length; length += length % 7 === 0 ? 1 : 2) {
        const path = room.file("cut.zip", whole.subarray(0, length));
        expect(survives(() => contents(readZip(path)))).toBe("refused");
      }
    }
  });

  test("flipped bits are refused, or change nothing", () => {
    for (const name of ["torch.pt", "numpy-compressed.npz", "archive.tdz"]) {
      const whole = FILES.get(name) as Buffer;
      const expected = [...contents(readZip(fixture(name))).values()].sort();
      let refused = 0;
      for (const bytes of flipped(whole, 1500, 7)) {
        const path = room.file("flipped.zip", bytes);
        const outcome = survives(() => {
          const found = [...contents(readZip(path)).values()].sort();
          expect(found).toEqual(expected);
        });
        if (outcome === "refused") refused++;
      }
      expect(refused).toBeGreaterThan(500);
    }
  });

  test("an archive that changes, pipes, directories, nothing", () => {
    const path = room.file("changing.zip", plain());
    const zip = readZip(path);
    truncateSync(path, 100);
    expect(() => zip.read(zip.entry("one"), LIMIT)).toThrow(/has changed/);
    expect(() => zip.entry("three")).toThrow(/no entry "three"/);
    expect(() => readZip(join(room.path, "none.zip"))).toThrow(OSError);
    expect(() => readZip(room.path)).toThrow();
    const pipe = join(room.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    expect(() => readZip(pipe)).toThrow(/not a regular file/);
  });
});
