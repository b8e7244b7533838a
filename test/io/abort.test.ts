// A signal stops what waits for a store at once: one that never answers, and one that stops in the middle of a body.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "bun";
import { io, loadRemote, ones, saveRemote, TensorDict, toSafetensorsAsync } from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-abort-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "file"), "bytes");

const SOME = { "content-length": "1000", etag: '"a"' };
const STORES: Record<string, (request: Request) => Response | Promise<Response>> = {
  "never answers": () => new Promise(() => {}),
  "stops in the middle": (request) => {
    if (request.method === "HEAD") return new Response(null, { headers: SOME });
    if (request.method !== "GET") return new Promise(() => {});
    const body = new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(10)) });
    return new Response(body, { status: 206, headers: { "content-range": "bytes 0-999/1000", etag: '"a"' } });
  },
};

interface Reached {
  client: S3Client;
  signal: AbortSignal;
}

const td = new TensorDict({ a: ones(10) }, [10]);
const large = new TensorDict({ a: ones(3_000_000) }, [3_000_000]);
const DOORS: Record<string, (options: Reached) => Promise<unknown>> = {
  loadRemote: (options) => loadRemote("s3://bucket/x", options),
  saveRemote: (options) => saveRemote(td, "s3://bucket/x", options),
  "saveRemote, in parts": (options) => saveRemote(large, "s3://bucket/x", options),
  download: (options) => io.download("s3://bucket/x", join(folder, "copy"), options),
  upload: (options) => io.upload(join(folder, "file"), "s3://bucket/x", options),
  toSafetensorsAsync: ({ client, signal }) =>
    toSafetensorsAsync(td, "s3://bucket/x.safetensors", { remote: { client }, signal } as never),
  consolidateAsync: ({ client, signal }) =>
    td.consolidateAsync({ filename: "s3://bucket/x.td", remote: { client }, signal } as never),
};

for (const [store, fetch] of Object.entries(STORES)) {
  describe(`a store that ${store}`, () => {
    const server = Bun.serve({ port: 0, idleTimeout: 0, fetch });
    afterAll(() => server.stop(true));
    const keys = { accessKeyId: "a", secretAccessKey: "b", bucket: "bucket" };
    const client = new S3Client({ endpoint: server.url.href, ...keys });
    for (const [name, door] of Object.entries(DOORS)) {
      test(name, async () => {
        const controller = new AbortController();
        const reason = new Error("enough");
        setTimeout(() => controller.abort(reason), 50);
        const start = performance.now();
        const late = Bun.sleep(5000).then(() => "it went on");
        const outcome = await Promise.race([door({ client, signal: controller.signal }).catch((error) => error), late]);
        expect(outcome).toBe(reason);
        expect(performance.now() - start).toBeLessThan(3000);
      });
    }
  });
}
