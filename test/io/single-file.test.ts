// Files written whole, from memory and from parts of other files.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ones, type Tensor } from "../../src/index.ts";
import type { Piece } from "../../src/io/disk/pieces.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { FileWrite } from "../../src/io/store/single-file.ts";
import { leastGrowth, temporaryDirectory } from "../tensordict/helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const { fresh } = room;
const random = (n: number) => crypto.getRandomValues(new Uint8Array(n));

describe("pieces", () => {
  test("of all kinds, with zeros between them", async () => {
    const folder = fresh();
    const source = join(folder, "source");
    const bytes = random(50_000);
    writeFileSync(source, bytes);
    const pieces: Piece[] = [
      { offset: 3, data: new Uint8Array([1, 2]) },
      { offset: 8, data: nativeBytes(ones(2) as Tensor) },
      { offset: 20, data: { path: source, offset: 1000, nbytes: 40_000 } },
      { offset: 50_000, data: { path: source, offset: 50_000, nbytes: 0 } },
    ];
    const expected = new Uint8Array(40_020);
    expected.set([1, 2], 3);
    expected.set(new Uint8Array(new Float32Array([1, 1]).buffer), 8);
    expected.set(bytes.subarray(1000, 41_000), 20);
    for (const [name, write] of [
      ["now", (path: string) => new FileWrite(path, pieces).run()],
      ["threads", (path: string) => new FileWrite(path, pieces, { numThreads: 3, fsync: true }).run()],
      ["later", (path: string) => new FileWrite(path, pieces, { fsync: true }).runInBackground()],
    ] as const) {
      await write(join(folder, name));
      expect(Buffer.compare(readFileSync(join(folder, name)), expected)).toBe(0);
    }
    expect(readdirSync(folder).sort()).toEqual(["later", "now", "source", "threads"]);
  });

  test.skipIf(!existsSync("/dev/shm"))("from one file system to another", () => {
    const source = `/dev/shm/zensor-test-${process.pid}`;
    const bytes = random(3_000_001);
    const path = join(fresh(), "copy");
    try {
      writeFileSync(source, bytes);
      new FileWrite(path, [{ offset: 5, data: { path: source, offset: 1, nbytes: 3_000_000 } }]).run();
    } finally {
      rmSync(source, { force: true });
    }
    expect(Buffer.compare(readFileSync(path).subarray(5), bytes.subarray(1))).toBe(0);
  });

  test("large parts of files keep out of memory", () => {
    const folder = fresh();
    const source = join(folder, "source");
    const size = 300 * 2 ** 20;
    const block = random(2 ** 20);
    for (let i = 0; i < 300; i++) writeFileSync(source, block, { flag: "a" });
    const copy = () =>
      new FileWrite(join(folder, "copy"), [{ offset: 0, data: { path: source, offset: 0, nbytes: size } }]).run();
    expect(leastGrowth(copy)).toBeLessThan(32 * 2 ** 20);
    expect(statSync(join(folder, "copy")).size).toBe(size);
    expect(Bun.hash(readFileSync(join(folder, "copy")))).toBe(Bun.hash(readFileSync(source)));
    rmSync(folder, { recursive: true });
  }, 60_000);
});

describe("failures leave the old file and nothing beside it", () => {
  const old = new Uint8Array([7]);
  const cases: [string, (folder: string) => Piece[], RegExp][] = [
    [
      "a source that is too short",
      (folder) => [{ offset: 0, data: { path: join(folder, "old"), offset: 0, nbytes: 2 } }],
      /old has 1 bytes: those to be copied end at 2/,
    ],
    [
      "a source that begins beyond its end",
      (folder) => [{ offset: 0, data: { path: join(folder, "old"), offset: 2 ** 40, nbytes: 1 } }],
      /old has 1 bytes/,
    ],
    [
      "a source that is missing",
      (folder) => [{ offset: 0, data: { path: join(folder, "nothing"), offset: 0, nbytes: 2 } }],
      /No such file or directory: '.*nothing'/,
    ],
    ["a source that is a directory", (folder) => [{ offset: 0, data: { path: folder, offset: 0, nbytes: 2 } }], /./],
    [
      "a source that is a device",
      () => [{ offset: 0, data: { path: "/dev/zero", offset: 0, nbytes: 2 } }],
      /\/dev\/zero/,
    ],
  ];
  for (const [name, pieces, message] of cases) {
    test(name, async () => {
      const folder = fresh();
      const path = join(folder, "old");
      writeFileSync(path, old);
      const first = { offset: 0, data: random(100) };
      expect(() => new FileWrite(path, [first, ...pieces(folder)]).run()).toThrow(message);
      await expect(new FileWrite(path, [first, ...pieces(folder)]).runInBackground()).rejects.toThrow(message);
      expect(readdirSync(folder)).toEqual(["old"]);
      expect([...readFileSync(path)]).toEqual([7]);
    });
  }
  test("a folder that does not exist", () => {
    const path = join(fresh(), "no", "file");
    expect(() => new FileWrite(path, [{ offset: 0, data: old }]).run()).toThrow(/No such file or directory/);
  });
  test("an aborted save", async () => {
    const folder = fresh();
    writeFileSync(join(folder, "old"), old);
    writeFileSync(join(folder, "source"), random(1000));
    const part = { path: join(folder, "source"), offset: 0, nbytes: 1000 };
    const pieces = Array.from({ length: 5000 }, (_, i) => ({ offset: 1000 * i, data: part }));
    const signal = AbortSignal.timeout(5);
    await expect(new FileWrite(join(folder, "old"), pieces).runInBackground({ signal })).rejects.toThrow(
      /abort|timed/i,
    );
    expect(readdirSync(folder).sort()).toEqual(["old", "source"]);
    expect([...readFileSync(join(folder, "old"))]).toEqual([7]);
  });
});
