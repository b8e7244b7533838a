// Archives of directories (.tdz): those of Python's tensordict are read, written again byte for byte, and packed from
// directories; damaged ones are refused.
import "../../src/index.ts";
import { afterAll, afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FileNotFoundError, FormatError, OSError } from "../../src/io/base/errors.ts";
import { readZip } from "../../src/io/zip/zip.ts";
import { zipPieces } from "../../src/io/zip/zip-write.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  isMemmapArchive,
  loadMemmap,
  type PickledData,
  packMemmap,
  refreshArchiveChecksums,
  TensorDict,
  unpackMemmap,
} from "../../src/tensordict/index.ts";
import fixtures from "../fixtures/archives/zip.json" with { type: "json" };
import { decoded, flipped, roomFor, survives } from "../io/archive-files.ts";
import "./classes.ts";
import { packZip, type ZipPart } from "../fuzz/containers.ts";
import { filesBelow } from "./helpers.ts";

const FILES = decoded(fixtures);
const room = roomFor("tdz");
afterAll(room.remove);
afterEach(() => {
  setSystemTime();
});

function fixture(name: string): string {
  return room.file(name, FILES.get(name) as Buffer);
}

/** The time that the first entry of an archive has. */
function timeOf(archive: Buffer): Date {
  const [time, day] = [archive.readUInt16LE(10), archive.readUInt16LE(12)];
  const [year, month] = [1980 + (day >> 9), ((day >> 5) & 15) - 1];
  return new Date(year, month, day & 31, time >> 11, (time >> 5) & 63, (time & 31) * 2);
}

function example(): Td {
  const nested = new TensorDict({ b: tensor([1, 1]) });
  const entries = { a: tensor([0, 1, 2, 3, 4, 5]).reshape([2, 3]), n: nested, s: "str", u8: tensor([0, 1, 2]).byte() };
  return new TensorDict(entries) as unknown as Td;
}

const list = (td: unknown, key: string | string[]) => ((td as Td).get(key as string) as Tensor).tolist();

describe("Python's archives", () => {
  test("content, views of one mapping, neither locked nor mapped", () => {
    const td = loadMemmap(fixture("archive.tdz"));
    expect(list(td, "a")).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(list(td, ["n", "b"])).toEqual([1, 1]);
    expect((td.get("s") as unknown as { data: unknown }).data).toBe("str");
    expect([td.isLocked, td.isMemmap(), String(td.device)]).toEqual([false, false, "cpu"]);
    const [a, u8] = ["a", "u8"].map((key) => (td.get(key) as unknown as Tensor).dataPtr());
    const zip = readZip(join(room.path, "archive.tdz"));
    expect((u8 as number) - (a as number)).toBe(zip.entry("u8.memmap").offset - zip.entry("a.memmap").offset);
    expect(String(loadMemmap(fixture("archive_tc.tdz")))).toMatch(/^Point\(/);
    expect((list(loadMemmap(fixture("archive_deflate.tdz")), "a") as number[]).length).toBe(1000);
  });

  test("any zip with a meta.json: tensors that are not aligned are copied", () => {
    const td = loadMemmap(fixture("unaligned.tdz"));
    expect(String(td)).toBe(String(loadMemmap(fixture("archive.tdz"))));
    expect(list(td, "a")).toEqual(list(loadMemmap(fixture("archive.tdz")), "a"));
  });

  test("written again byte for byte", () => {
    for (const name of ["archive_tc.tdz", "lazy12.tdz", "p25.tdz", "p26.tdz"]) {
      const expected = FILES.get(name) as Buffer;
      const td = loadMemmap(fixture(name));
      setSystemTime(timeOf(expected));
      const path = join(room.path, "again.tdz");
      td.memmap(path);
      expect(readFileSync(path).equals(expected)).toBe(true);
    }
    const expected = FILES.get("archive.tdz") as Buffer;
    setSystemTime(timeOf(expected));
    example().save(join(room.path, "again.tdz"));
    expect(readFileSync(join(room.path, "again.tdz")).equals(expected)).toBe(true);
  });

  test("directories are packed and unpacked byte for byte", () => {
    for (const name of ["archive.tdz", "archive_tc.tdz", "lazy12.tdz", "odd.tdz", "p26.tdz"]) {
      const expected = FILES.get(name) as Buffer;
      const directory = join(room.path, `un-${name}`);
      expect(unpackMemmap(fixture(name), directory)).toBe(directory);
      expect([...filesBelow(directory).keys()].sort()).toEqual([...readZip(fixture(name)).entries.keys()].sort());
      setSystemTime(timeOf(expected));
      const packed = packMemmap(directory, join(room.path, "packed.tdz"));
      expect(readFileSync(packed).equals(expected)).toBe(true);
      expect(String(loadMemmap(packed, { device: "meta" }))).toBe(String(loadMemmap(directory, { device: "meta" })));
    }
  });
});

describe("loading", () => {
  test("a part, the structure, in place, into another collection", () => {
    const path = fixture("archive.tdz");
    expect(list(loadMemmap(path, { subpath: "n" }), "b")).toEqual([1, 1]);
    expect(() => loadMemmap(path, { subpath: "q" })).toThrow(/No tensordict found under subpath 'q'/);
    const meta = loadMemmap(path, { device: "meta" });
    expect(String((meta.get("a") as unknown as Tensor).device)).toBe("meta");
    const out = new TensorDict({ a: zeros([2, 3]), gone: zeros([1]) }) as unknown as Td;
    loadMemmap(path, { out });
    expect([...out._keys()].sort()).toEqual(["a", "n", "s", "u8"]);
  });

  test("writes stay private, or reach the file with r+; checksums are computed again on request", () => {
    const path = fixture("archive.tdz");
    (loadMemmap(path).get("a") as unknown as Tensor).fill_(9);
    (loadMemmap(path, { mode: "r" }).get("a") as unknown as Tensor).fill_(9);
    expect(readFileSync(path).equals(FILES.get("archive.tdz") as Buffer)).toBe(true);
    (loadMemmap(path, { mode: "r+" }).get("a") as unknown as Tensor).fill_(7);
    expect(list(loadMemmap(path), "a")).toEqual([
      [7, 7, 7],
      [7, 7, 7],
    ]);
    expect(() => unpackMemmap(path, join(room.path, "stale"))).toThrow(/does not match its checksum/);
    expect(existsSync(join(room.path, "stale"))).toBe(false);
    expect(refreshArchiveChecksums(path)).toBe(path);
    unpackMemmap(path, join(room.path, "fresh"));
    expect(list(loadMemmap(join(room.path, "fresh")), "a")).toEqual(list(loadMemmap(path), "a"));
    expect(() => loadMemmap(fixture("archive_deflate.tdz"), { mode: "r+" })).toThrow(/is compressed/);
  });

  test("a stream's checksums are computed again too", () => {
    const { pieces } = zipPieces(
      [
        { name: "meta.json", data: Buffer.from("{}") },
        { name: "x", data: new Uint8Array(8) },
      ],
      { style: "torch" },
    );
    const path = room.file("stream.tdz", (pieces[0] as { data: Uint8Array }).data);
    const bytes = readFileSync(path);
    bytes[readZip(path).entry("x").offset] = 5;
    writeFileSync(path, bytes);
    expect(() => readZip(path).read(readZip(path).entry("x"), 8)).toThrow(/checksum/);
    refreshArchiveChecksums(path);
    expect(readZip(path).read(readZip(path).entry("x"), 8)[0]).toBe(5);
  });

  test("pickles are refused, or kept", () => {
    const meta = { _type: "<class 'tensordict.tensorclass.NonTensorData'>", _metadata: null, _is_non_tensor: true };
    const { pieces } = zipPieces(
      [
        { name: "meta.json", data: Buffer.from(JSON.stringify(meta)) },
        { name: "other.pickle", data: Buffer.from("pickle") },
      ],
      { style: "numpy" },
    );
    const path = room.file("pickle.tdz", (pieces[0] as { data: Uint8Array }).data);
    expect(() => loadMemmap(path)).toThrow(/Refusing to load pickled/);
    const kept = (loadMemmap(path, { pickles: "keep" }) as unknown as { data: PickledData }).data;
    expect(Buffer.from(kept.bytes).toString()).toBe("pickle");
  });
});

describe("saving", () => {
  test("large tensors, compression, zeros, in the background", async () => {
    const big = tensor(Array.from({ length: 50_000 }, (_, i) => i % 10));
    const td = new TensorDict({ big, view: big.reshape([500, 100]).t(), empty: zeros([0, 3]) }) as unknown as Td;
    const plain = td.memmap(join(room.path, "big.tdz"));
    const packed = td.memmap(join(room.path, "packed.zip"), { archive: true, compression: "deflate" });
    const later = await td.memmapAsync(join(room.path, "later.tdz"));
    for (const found of [plain, packed, later]) {
      expect(list(found, "big")).toEqual(big.tolist());
      expect(list(found, "view")).toEqual(big.reshape([500, 100]).t().tolist());
      expect((found.get("empty") as Tensor).shape).toEqual([0, 3] as never);
    }
    expect(statSync(join(room.path, "packed.zip")).size).toBeLessThan(10_000);
    const like = td.memmapLike(join(room.path, "like.tdz"));
    expect((like.get("big") as Tensor).sum().item()).toBe(0);
    (like.get("big") as Tensor).fill_(2);
    expect((loadMemmap(join(room.path, "like.tdz")).get("big") as unknown as Tensor).sum().item()).toBe(100_000);
    expect(readdirSync(room.path).filter((name) => name.includes("tmp-"))).toEqual([]);
  });

  test("a mapped collection, a directory of that name, what exists", () => {
    const directory = join(room.path, "mapped");
    const mapped = example().memmap(directory);
    mapped.memmap(join(room.path, "from-mapped.tdz"));
    expect(list(loadMemmap(join(room.path, "from-mapped.tdz")), ["n", "b"])).toEqual([1, 1]);
    const named = join(room.path, "directory.tdz");
    example().memmap(named, { archive: false });
    expect(statSync(named).isDirectory()).toBe(true);
    expect(() => example().memmap(named)).toThrow(/it is an existing directory/);
    const path = fixture("archive.tdz");
    expect(() => example().memmap(path, { existsok: false })).toThrow(/A file already exists at/);
    symlinkSync(path, join(room.path, "link.tdz"));
    example()
      .set("a", zeros([1]))
      .memmap(join(room.path, "link.tdz"));
    expect(list(loadMemmap(path), "a")).toEqual([0]);
  });

  test("options that make no sense", () => {
    const td = example();
    expect(() => td.memmap(null, { archive: true })).toThrow(/A path is required/);
    expect(() => td.memmap(join(room.path, "d"), { compression: "deflate" })).toThrow(/only supported when writing/);
    const path = join(room.path, "none.tdz");
    expect(() => td.memmap(path, { compression: "foo" as never })).toThrow(/Unknown compression 'foo'/);
    expect(() => td.memmap(path, { compression: "lzma" as never })).toThrow(/'lzma' is not available/);
    expect(() => td.memmap(path, { returnEarly: true })).toThrow(/return_early is not supported/);
    expect(() => (new TensorDict({ shape: zeros([1]) }) as unknown as Td).memmap(path)).toThrow(/cannot be saved/);
    expect(() => td.memmap("s3://bucket/x.tdz")).toThrow(/not to s3:/);
    expect(existsSync(path)).toBe(false);
  });

  test("what cannot be packed", () => {
    const directory = join(room.path, "source");
    example().memmap(directory);
    const target = join(room.path, "target.tdz");
    expect(() => packMemmap(join(room.path, "nothing"), target)).toThrow(/no meta.json found/);
    expect(() => packMemmap(directory, join(directory, "x.tdz"))).toThrow(/must be outside/);
    symlinkSync(join(room.path, "mapped"), join(directory, "link"));
    expect(() => packMemmap(directory, target)).toThrow(OSError);
    expect(existsSync(target)).toBe(false);
  });
});

describe("hostile archives", () => {
  test("what is none", () => {
    const text = room.file("text.tdz", Buffer.from("hello"));
    expect(isMemmapArchive(fixture("archive.tdz"))).toBe(true);
    expect([text, join(room.path, "no.tdz"), room.path, fixture("numpy.npz")].map(isMemmapArchive)).toEqual(
      Array(4).fill(false),
    );
    expect(() => loadMemmap(text)).toThrow(FormatError);
    expect(() => loadMemmap(fixture("numpy.npz"))).toThrow(/expected a zip file with a top-level meta.json/);
    expect(() => loadMemmap(join(room.path, "no.tdz"))).toThrow(FileNotFoundError);
    expect(() => unpackMemmap(fixture("numpy.npz"), join(room.path, "x"))).toThrow(/is not a memory-mapped/);
    expect(() => refreshArchiveChecksums(text)).toThrow(FormatError);
  });

  test("tensors that are missing or too short", () => {
    const zip = readZip(fixture("archive.tdz"));
    const rebuilt = (change: (name: string, data: Uint8Array) => Uint8Array | null) => {
      const entries = [...zip.entries.values()].flatMap((entry) => {
        const data = change(entry.name, zip.read(entry, 10_000));
        return data === null ? [] : [{ name: entry.name, data }];
      });
      const { pieces } = zipPieces(entries, { style: "numpy" });
      return room.file("rebuilt.tdz", (pieces[0] as { data: Uint8Array }).data);
    };
    expect(() => loadMemmap(rebuilt((name, data) => (name === "a.memmap" ? null : data)))).toThrow(FileNotFoundError);
    expect(() => loadMemmap(rebuilt((name, data) => (name === "n/meta.json" ? null : data)))).toThrow(
      FileNotFoundError,
    );
    const short = rebuilt((name, data) => (name === "a.memmap" ? data.subarray(0, 8) : data));
    expect(() => loadMemmap(short)).toThrow(/has 8 bytes, its shape needs 24/);
  });

  test("fields that a class does not have", () => {
    const zip = readZip(fixture("archive_tc.tdz"));
    const entries = [...zip.entries.values()].map((entry) => {
      const text = Buffer.from(zip.read(entry, 10_000)).toString("latin1").replace('{"x":', '{"q":');
      return { name: entry.name.replace("x.memmap", "q.memmap"), data: Buffer.from(text, "latin1") };
    });
    const { pieces } = zipPieces(entries, { style: "numpy" });
    const path = room.file("fields.tdz", (pieces[0] as { data: Uint8Array }).data);
    expect(() => loadMemmap(path)).toThrow(FormatError);
    expect(() => loadMemmap(path)).toThrow(/has no field 'q'/);
  });

  test("a file that is a directory too, and links in the way of unpacking", () => {
    const data = Buffer.from("{}");
    const names = ["meta.json", "a", "a/b"];
    const { pieces } = zipPieces(
      names.map((name) => ({ name, data })),
      { style: "numpy" },
    );
    const clash = room.file("clash.tdz", (pieces[0] as { data: Uint8Array }).data);
    expect(() => loadMemmap(clash)).toThrow(/is a file and a directory/);
    expect(() => unpackMemmap(clash, join(room.path, "clash"))).toThrow(/is a file and a directory/);
    const long = join(room.path, "long.tdz");
    const renamed = packZip(readFileSync(fixture("archive.tdz")), (parts) => {
      (parts.at(-1) as ZipPart).name = "é".repeat(200);
      return parts;
    });
    writeFileSync(long, renamed);
    expect(() => unpackMemmap(long, join(room.path, "long"))).toThrow(/has a name that no file can have/);
    expect(existsSync(join(room.path, "long"))).toBe(false);
    const outside = join(room.path, "outside");
    const target = join(room.path, "linked");
    for (const path of [outside, target]) mkdirSync(path);
    symlinkSync(outside, join(target, "n"));
    expect(() => unpackMemmap(fixture("archive.tdz"), target)).toThrow(/Refusing to write/);
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(target)).toEqual(["n"]);
  });

  test("cuts and flipped bits", () => {
    for (const name of ["archive.tdz", "archive_tc.tdz", "archive_deflate.tdz"]) {
      const whole = FILES.get(name) as Buffer;
      for (let length = 0; length < whole.length; length += 11) {
        const path = room.file("cut.tdz", whole.subarray(0, length));
        expect(survives(() => loadMemmap(path))).toBe("refused");
      }
      let refused = 0;
      for (const bytes of flipped(whole, 400, 11)) {
        const path = room.file("flipped.tdz", bytes);
        const outcome = survives(() => {
          loadMemmap(path);
        });
        if (outcome === "refused") refused++;
      }
      expect(refused).toBeGreaterThan(150);
    }
  });
});
