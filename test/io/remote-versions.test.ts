// Objects that are replaced while they are read, and answers that are not what was asked for: one clear error each,
// whatever the store tells of an object, and never a mixture of two.
import "../../src/install.ts";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { S3Client } from "bun";
import { full, loadRemote, TensorDict } from "../../src/index.ts";
import { OSError } from "../../src/io/base/errors.ts";
import { RemoteSafetensors } from "../../src/io/safetensors/remote-safetensors.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { download } from "../../src/io/store/remote-file.ts";
import { RemotePlace } from "../../src/io/store/s3.ts";
import { filesBelow } from "../fuzz/reader-helpers.ts";
import { roomFor } from "./archive-files.ts";

/** What a store tells of its objects. */
type Told = "etag" | "weak etag" | "date" | "size" | "If-Match";
interface Stored {
  bytes: Uint8Array;
  generation: number;
}

const room = roomFor("remote-versions");
const objects = new Map<string, Stored>();
let told: Told = "etag";
let gets = 0;
/** Called before each range is answered, with its number. */
let meanwhile: (count: number) => void = () => {};
/** Changes an answer with a range. */
let alter: (answer: { status: number; headers: Record<string, string>; body: Uint8Array }, whole: Uint8Array) => void;

function headersOf({ generation }: Stored): Record<string, string> {
  if (told === "size") return {};
  const date = new Date(1e12 + 5000 * generation).toUTCString();
  if (told === "date") return { "last-modified": date };
  return { etag: told === "weak etag" ? `W/"${generation}"` : `"${generation}"`, "last-modified": date };
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const url = new URL(request.url);
    const key = decodeURIComponent(url.pathname).split("/").slice(2).join("/");
    if (url.searchParams.has("list-type")) {
      const prefix = url.searchParams.get("prefix") ?? "";
      const rows = [...objects]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, stored]) => {
          const { etag, "last-modified": date } = headersOf(stored);
          const tag = etag === undefined ? "" : `<ETag>${etag.replaceAll('"', "&quot;")}</ETag>`;
          const at = date === undefined ? "" : `<LastModified>${new Date(date).toISOString()}</LastModified>`;
          return `<Contents><Key>${name}</Key><Size>${stored.bytes.length}</Size>${tag}${at}</Contents>`;
        });
      const end = "<IsTruncated>false</IsTruncated>";
      const text = `<ListBucketResult><Name>b</Name>${end}${rows.join("")}</ListBucketResult>`;
      return new Response(text, { headers: { "content-type": "application/xml" } });
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
    if (range !== null) meanwhile(++gets);
    const stored = objects.get(key);
    if (stored === undefined) return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
    const headers = headersOf(stored);
    const { bytes } = stored;
    if (range === null)
      return new Response(request.method === "HEAD" ? null : bytes, {
        headers: { ...headers, "content-length": String(bytes.length) },
      });
    const wanted = request.headers.get("if-match");
    if (told === "If-Match" && wanted !== null && wanted !== headers.etag) return new Response("", { status: 412 });
    const [begin, end] = [Number(range[1]), Math.min(Number(range[2]) + 1, bytes.length)];
    if (begin >= bytes.length) return new Response("", { status: 416 });
    const place = { "content-range": `bytes ${begin}-${end - 1}/${bytes.length}` };
    const answer = { status: 206, headers: { ...headers, ...place }, body: bytes.slice(begin, end) };
    alter(answer, bytes);
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  },
});
const endpoint = `http://127.0.0.1:${server.port}`;
const client = new S3Client({
  accessKeyId: "a",
  secretAccessKey: "b",
  region: "us-east-1",
  bucket: "bucket",
  endpoint,
});
afterAll(() => {
  server.stop(true);
  room.remove();
});
beforeEach(() => {
  objects.clear();
  gets = 0;
  told = "etag";
  meanwhile = alter = () => {};
});

function put(key: string, bytes: Uint8Array): void {
  objects.set(key, { bytes, generation: (objects.get(key)?.generation ?? 0) + 1 });
}

/** A file of two tensors with one number everywhere; `longer` gives it more elements. */
function model(value: number, longer = 0): Uint8Array {
  const path = join(room.path, "model");
  saveSafetensors({ a: full([300_000 + longer], value), b: full([4, 5], value) }, path);
  return readFileSync(path);
}

function directory(value: number): Map<string, Uint8Array> {
  const path = join(room.path, `td${value}`);
  new TensorDict({ a: full([3], value), b: new TensorDict({ c: full([3], value) }, [3]) }, [3]).memmap(path);
  return filesBelow(path);
}

async function failure(run: () => Promise<unknown>): Promise<Error> {
  const outcome = await run().catch((error: unknown) => error);
  if (outcome instanceof Error) return outcome;
  throw new Error(`no error, but ${String(outcome)}`);
}

const options = { client, retries: 0 };
const replaced = /^s3:\/\/bucket\/.* was replaced while it was read$/;

describe.each(["etag", "weak etag", "date", "size", "If-Match"] as const)("a store that tells the %s", (what) => {
  const other = () => model(2, what === "size" ? 1 : 0);
  const start = () => {
    told = what;
    put("m", model(1));
  };

  test("an object that stays is read", async () => {
    start();
    const file = await RemoteSafetensors.open("s3://bucket/m", options);
    const all = await file.tensors();
    expect([all.get("a")?.sum().item(), all.get("b")?.sum().item()]).toEqual([300_000, 20]);
    expect((await file.tensor("b", { rows: [1, 2] })).tolist()).toEqual([[1, 1, 1, 1, 1]]);
  });

  test("a safetensors file, after its header and between two tensors", async () => {
    start();
    const file = await RemoteSafetensors.open("s3://bucket/m", options);
    expect((await file.tensor("b")).sum().item()).toBe(20);
    put("m", other());
    for (const read of [() => file.tensor("a"), () => file.tensors(), () => file.tensor("b", { rows: [0, 1] })]) {
      const error = await failure(read);
      expect(error).toBeInstanceOf(OSError);
      expect(error.message).toMatch(replaced);
    }
  });

  test("a safetensors file between its size and its header", async () => {
    start();
    meanwhile = (count) => count === 1 && put("m", other());
    expect((await failure(() => RemoteSafetensors.open("s3://bucket/m", options))).message).toMatch(replaced);
  });

  test("a download", async () => {
    start();
    meanwhile = (count) => count === 1 && put("m", other());
    const target = join(room.path, "down");
    expect((await failure(() => download("s3://bucket/m", target, options))).message).toMatch(replaced);
  });

  test("a file of a directory after the listing, of each kind", async () => {
    told = what;
    const [one, two] = [directory(1), directory(2)];
    for (const key of one.keys()) {
      objects.clear();
      for (const [name, bytes] of one) put(`td/${name}`, bytes);
      gets = 0;
      meanwhile = (count) => {
        const longer = Buffer.concat([two.get(key) as Uint8Array, Buffer.alloc(what === "size" ? 1 : 0, " ")]);
        if (count === 1) put(`td/${key}`, longer);
      };
      expect((await failure(() => loadRemote("s3://bucket/td", options))).message).toMatch(replaced);
      meanwhile = () => {};
      // The next listing is of what is there now.
      if (what !== "size") expect([...(await loadRemote("s3://bucket/td", options)).batchSize]).toEqual([3]);
    }
  });
});

describe("answers to a range", () => {
  const place = () => new RemotePlace("s3://bucket", options);
  const bytes = Buffer.from(Array.from({ length: 100 }, (_, i) => i));
  const range = (begin: number, end: number) => place().range("o", begin, end);
  beforeEach(() => put("o", bytes));

  test("of another place, without a place, of several parts", async () => {
    for (const came of ["bytes 11-20/100", "bytes 10-20/100", "bytes 0-9/100", "bytes */100", "items 10-19/100", ""]) {
      alter = (answer) => {
        if (came === "") delete answer.headers["content-range"];
        else answer.headers["content-range"] = came;
      };
      expect((await failure(() => range(10, 20))).message).toMatch(
        /^s3:\/\/bucket\/o: .* came for the range 10 to 20$/,
      );
    }
    alter = (answer) => {
      delete answer.headers["content-range"];
      answer.headers["content-type"] = "multipart/byteranges; boundary=x";
    };
    expect((await failure(() => range(10, 20))).message).toContain("a range without a place came");
  });

  test("that are the whole object: taken where it was asked for", async () => {
    alter = (answer, whole) => {
      delete answer.headers["content-range"];
      Object.assign(answer, { status: 200, body: whole });
    };
    expect([...(await range(0, 100))]).toEqual([...bytes]);
    expect((await failure(() => range(0, 99))).message).toContain("more bytes came for the range 0 to 99");
    expect((await failure(() => range(1, 100))).message).toContain("more bytes came for the range 1 to 100");
    alter = (answer) => Object.assign(answer, { status: 200, headers: {} });
    expect((await failure(() => range(10, 20))).message).toContain("an answer without a range came");
  });

  test("that are short or compressed", async () => {
    alter = (answer) => {
      answer.body = answer.body.slice(1);
    };
    expect((await failure(() => range(10, 20))).message).toContain("9 bytes came for the range 10 to 20");
    alter = (answer) => {
      answer.headers["content-encoding"] = "gzip";
      answer.body = Bun.gzipSync(answer.body as Uint8Array<ArrayBuffer>);
    };
    expect((await failure(() => range(10, 20))).message).toContain("it comes compressed with gzip");
  });

  test("of a total that is another one", async () => {
    const one = place();
    await one.range("o", 0, 10);
    alter = (answer) => {
      answer.headers["content-range"] = "bytes 10-19/101";
    };
    expect((await failure(() => one.range("o", 10, 20))).message).toMatch(replaced);
  });

  test("that fail once are asked for again, those of another object are not", async () => {
    const one = new RemotePlace("s3://bucket", { client, retries: 2 });
    alter = (answer) => {
      if (gets === 1) answer.body = answer.body.slice(1);
    };
    expect([...(await one.range("o", 10, 12))]).toEqual([10, 11]);
    put("o", bytes);
    expect((await failure(() => one.range("o", 10, 12))).message).toMatch(replaced);
    expect(gets).toBe(3);
    // What is written through a place is known there.
    await one.delete("o").catch(() => {});
    expect([...(await one.range("o", 10, 12))]).toEqual([10, 11]);
  });

  test("after the object became shorter, or went away", async () => {
    const one = place();
    await one.range("o", 0, 10);
    put("o", bytes.subarray(0, 5));
    expect((await failure(() => one.range("o", 50, 60))).message).toMatch(replaced);
    objects.clear();
    expect((await failure(() => one.range("o", 50, 60))).message).toContain("No such file or directory");
  });
});
