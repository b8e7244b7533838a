// Stores that lie: each lie is one clear error, and no more is taken than was asked for.
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError, OSError } from "../../src/io/base/errors.ts";
import { download } from "../../src/io/store/remote-file.ts";
import { RemotePlace } from "../../src/io/store/s3.ts";
import { HostileStore, type Lie } from "../fuzz/hostile-store.ts";
import { roomFor } from "./archive-files.ts";

const room = roomFor("s3-hostile");
writeFileSync(join(room.path, "a.bin"), Buffer.alloc(3000, 65));
const store = new HostileStore(room.path);
afterAll(() => {
  store.stop();
  room.remove();
});
const place = (url = "s3://bucket") => new RemotePlace(url, { client: store.client, retries: 0, timeout: 400 });

async function failure(lie: Lie, request: () => Promise<unknown>): Promise<Error> {
  store.tell(lie);
  const outcome = await request().catch((error: unknown) => error);
  if (!(outcome instanceof Error)) throw new Error(`${lie}: no error, but ${JSON.stringify(outcome)}`);
  return outcome;
}

describe("ranges", () => {
  test("an honest store gives them", async () => {
    store.tell(null);
    expect(await place().size("a.bin")).toBe(3000);
    expect((await place().range("a.bin", 10, 20)).length).toBe(10);
  });
  for (const lie of ["long body", "no range"] as const) {
    test(`of another length: ${lie}`, async () => {
      const error = await failure(lie, () => place().range("a.bin", 10, 20));
      expect(error).toBeInstanceOf(FormatError);
      expect(error.message).toBe("s3://bucket/a.bin: more bytes came for the range 10 to 20");
    });
  }
  const lies = ["short body", "huge length", "negative length", "length that is none", "closed", "500", "403"] as const;
  for (const lie of [...lies, "closed in the body", "redirect here", "redirect away", "no answer of HTTP"] as const) {
    test(`that fail: ${lie}`, async () => {
      expect(await failure(lie, () => place().range("a.bin", 10, 20))).toBeInstanceOf(OSError);
    });
  }
  for (const lie of ["silent", "silent in the body"] as const) {
    test(`that never come: ${lie}`, async () => {
      const error = await failure(lie, () => place().range("a.bin", 10, 20));
      expect(error.message).toContain("s3://bucket/a.bin: nothing came for 400 ms");
    });
  }
  test("sizes beyond every file", async () => {
    const error = await failure("huge length", () => place().size("a.bin"));
    expect(error.message).toContain("the store says that it has 9007199254740992 bytes");
  });
});

test("objects that no disk has room for are refused before a file is made", async () => {
  store.tell(null);
  const { stat } = RemotePlace.prototype;
  RemotePlace.prototype.stat = async function (key) {
    return { ...(await stat.call(this, key)), size: 2 ** 52 };
  };
  try {
    const target = join(room.path, "a.copy");
    const error = await download("s3://bucket/a.bin", target, { client: store.client }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OSError);
    expect(error.message).toContain("s3://bucket/a.bin: its 4503599627370496 bytes are more than the");
    expect(readdirSync(room.path).filter((name) => name.startsWith("a.copy"))).toEqual([]);
  } finally {
    RemotePlace.prototype.stat = stat;
  }
});

describe("listings", () => {
  const texts: [Lie, RegExp][] = [
    ["endless pages", /lists .* twice/],
    ["the same page", /lists .* twice/],
    ["empty pages", /does not end after 101 pages/],
    ["sizes lie", /the store says that it has/],
    ["no XML", /ListObjectsV2|an unexpected error/],
    ["silent", /nothing came for 400 ms/],
  ];
  writeFileSync(join(room.path, "b.bin"), "");
  for (const [lie, text] of texts) {
    test(lie, async () => expect((await failure(lie, () => place().list())).message).toMatch(text));
  }
  test("objects that lie elsewhere", async () => {
    const error = await failure("tricks as keys", () => place("s3://bucket/a").list());
    expect(error.message).toMatch(/lists .* as well/);
  });
});
