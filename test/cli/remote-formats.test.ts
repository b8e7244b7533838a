// Files of every format, and snapshots, in S3 stores on the command line: contents, what is left when something fails,
// and the folder for temporary files, which every command leaves empty.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, ones, randn } from "../../src/index.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { HostileStore } from "../fuzz/hostile-store.ts";
import { describeWithStore } from "../io/s3-server.ts";
import { program, started, zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-s3-formats-"));
const at = (name: string) => join(dir, name);
const temporary = at("temporary");
mkdirSync(temporary);
const plain = at("plain.safetensors");
saveSafetensors({ "l.w": randn(60, 50), "l.b": arange(60), c: ones(60, 2) }, plain);
const GGUF = join(import.meta.dir, "..", "fixtures", "gguf", "all.gguf");
afterAll(() => rmSync(dir, { recursive: true, force: true }));
afterEach(() => expect(readdirSync(temporary)).toEqual([]));

describeWithStore((store) => {
  const run = async (...args: string[]) => await program(args, { ...store.environment(), TMPDIR: temporary });
  const url = (name: string) => store.url(name);
  const done = { code: 0, err: "" };

  for (const ending of ["tdz", "consolidated", "pt", "pth", "npz", "h5", "snapshot"]) {
    test(`.${ending} goes there and comes back`, async () => {
      const there = url(`there.${ending}`);
      expect(await run("convert", plain, there)).toMatchObject(done);
      expect(await run("diff", plain, there)).toEqual({ ...done, out: "" });
      const back = at(`back-${ending}.safetensors`);
      expect(await run("convert", there, back)).toMatchObject(done);
      expect(await zensor("diff", plain, back)).toMatchObject({ code: 0, out: "" });
      expect(await run("verify", there)).toMatchObject(done);
      // What is there is kept unless the user agrees, and directories are kept in any case.
      expect(await run("convert", plain, there)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/exists already/),
      });
      expect((await run("convert", plain, there, "--force")).code).toBe(ending === "snapshot" ? 1 : 0);
    }, 60_000);
  }

  test("training checkpoints keep their types, whole and in parts", async () => {
    const from = join(import.meta.dir, "..", "fixtures", "torch", "checkpoints", "sgd.pt");
    const keys = ["--keys", "optimizer_state.state.0,step"];
    expect(await zensor("slice", from, at("sgd-part.pt"), ...keys)).toMatchObject({ code: 0 });
    for (const there of [url("sgd"), url("sgd.safetensors"), url("sgd.pt")]) {
      expect(await run("convert", from, there)).toMatchObject(done);
      expect(await run("diff", from, there)).toEqual({ ...done, out: "" });
      expect(await run("slice", there, at("sgd-again.pt"), ...keys, "--force")).toMatchObject(done);
      expect(await zensor("diff", at("sgd-part.pt"), at("sgd-again.pt"))).toMatchObject({ code: 0, out: "" });
    }
  }, 60_000);

  test("listings, parts and unions name the places, not the copies", async () => {
    await store.client.write("odd/model", readFileSync(plain));
    await store.client.write("all.gguf", readFileSync(GGUF));
    const local = await zensor("inspect", GGUF);
    expect(await run("inspect", url("all.gguf"))).toEqual({ ...done, out: local.out.trim() });
    expect((await run("inspect", url("odd/model"))).out).toMatch(/^safetensors file: 3 tensors/m);
    expect(await run("convert", at("plain.safetensors"), url("a.h5"))).toMatchObject(done);
    expect(await run("convert", plain, url("a.npz"))).toMatchObject(done);
    expect(await run("slice", url("a.h5"), url("part.pt"), "--keys", "l.w,c", "--rows", "3:5")).toMatchObject(done);
    expect(await zensor("slice", plain, at("part.pt"), "--keys", "l.w,c", "--rows", "3:5")).toMatchObject({ code: 0 });
    expect(await run("diff", at("part.pt"), url("part.pt"))).toEqual({ ...done, out: "" });
    expect(await run("merge", url("a.h5"), url("a.npz"), url("both.tdz"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("several sources have the same entries"),
    });
    expect(await run("merge", url("a.h5"), url("a.npz"), url("both.tdz"), "--last")).toMatchObject(done);
    expect(await run("merge", url("a.h5"), url("a.npz"), url("stacked.npz"), "--stack", "--lossy")).toMatchObject({
      code: 0,
    });
    expect((await run("inspect", url("stacked.npz"))).out).toMatch(/l\.w +float32 +\[2, 60, 50\]/);
    await store.client.write("cut.npz", readFileSync(plain).subarray(0, 100));
    for (const command of ["inspect", "verify"]) {
      const { code, out, err } = await run(command, url("cut.npz"));
      expect([code, `${out}${err}`]).toEqual([1, expect.stringContaining(url("cut.npz"))]);
      expect(out + err).not.toContain(temporary);
    }
  }, 60_000);

  test("a tree of objects", async () => {
    await store.client.write("tree/b/c.bin", "12");
    await fetch(`${store.endpoint}/${store.bucket}/tree/b/`, { method: "PUT" });
    await store.client.write("tree/a", "1");
    expect((await run("tree", url("tree"))).out).toBe("tree/\n    b/\n        c.bin\n    a");
    expect((await run("tree", url("tree/"), "--branches", "--depth", "1")).out).toBe("├── a\n└── b");
    expect(JSON.parse((await run("tree", url("tree"), "--json")).out).entries).toEqual([
      { name: "a", size: 1 },
      { name: "b", entries: [{ name: "c.bin", size: 2 }] },
    ]);
    expect(await run("tree", url("tree/a"))).toMatchObject({ code: 1, err: expect.stringContaining("is a file") });
  }, 60_000);

  test("what fails leaves the old object", async () => {
    const old = async (key: string) => await store.client.file(key).text();
    await store.client.write("old.npz", "old");
    await store.client.write("bad.pt", readFileSync(plain));
    new TensorDict({ a: ones(2, 3) }, [2]).memmap(at("batched"));
    const failing = [
      ["convert", url("bad.pt"), url("old.npz"), "--from", "pt"],
      ["convert", at("batched"), url("old.npz")],
      ["convert", url("nothing.pt"), url("old.npz")],
      ["merge", plain, at("batched"), url("old.npz"), "--cat"],
    ];
    for (const args of failing) expect([args, (await run(...args, "--force")).code]).toEqual([args, 1]);
    expect(await old("old.npz")).toBe("old");
    // A store that refuses what is sent.
    const refusing = Bun.serve({
      port: 0,
      fetch: async ({ method, url: asked, headers }) =>
        method === "GET" || method === "HEAD"
          ? await fetch(store.endpoint + new URL(asked).pathname + new URL(asked).search, { method, headers })
          : new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 }),
    });
    const environment = { ...store.environment(`http://127.0.0.1:${refusing.port}`), TMPDIR: temporary };
    for (const [key, what] of [["old.npz"], ["new.snapshot", "Denied"]] as const) {
      const { code, err } = await program(["convert", plain, url(key), "--force"], environment);
      expect([code, err]).toEqual([1, expect.stringContaining(what ?? url(key))]);
    }
    await refusing.stop(true);
    expect(await old("old.npz")).toBe("old");
    expect((await store.client.list({ prefix: "new.snapshot" })).contents ?? []).toEqual([]);
  }, 60_000);

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    for (const way of ["GET", "PUT"]) {
      test(`${signal} during a ${way}`, async () => {
        const key = `${signal}-${way}.pt`;
        await store.client.write(key, "old");
        await store.client.write("from.npz", readFileSync(plain));
        // Large enough to go in parts.
        if (!existsSync(at("large.safetensors"))) saveSafetensors({ a: ones(3, 2 ** 21) }, at("large.safetensors"));
        const seen = Promise.withResolvers<void>();
        const slow = Bun.serve({
          port: 0,
          idleTimeout: 60,
          async fetch(request) {
            const { method, headers } = request;
            const body = method === "GET" || method === "HEAD" ? undefined : await request.bytes();
            if (method === way) {
              seen.resolve();
              await Bun.sleep(1500);
            }
            const { pathname, search } = new URL(request.url);
            return await fetch(store.endpoint + pathname + search, { method, headers, ...(body ? { body } : {}) });
          },
        });
        const source = way === "GET" ? url("from.npz") : at("large.safetensors");
        const environment = { ...store.environment(`http://127.0.0.1:${slow.port}`), TMPDIR: temporary };
        const child = started(["convert", source, url(key), "--force"], environment);
        await seen.promise;
        expect(readdirSync(temporary).length).toBe(1);
        child.kill(signal);
        // Whoever asks twice does not wait for the request.
        if (signal === "SIGTERM") {
          await Bun.sleep(100);
          child.kill(signal);
        }
        expect(await child.exited).toBe(signal === "SIGTERM" ? 143 : 130);
        await slow.stop(true);
        expect(await store.client.file(key).text()).toBe("old");
      }, 60_000);
    }
  }
});

describe("a store that lies", () => {
  const bucket = at("bucket");
  let store: HostileStore;
  beforeAll(async () => {
    expect((await zensor("convert", plain, join(bucket, "a.snapshot"))).code).toBe(0);
    expect((await zensor("convert", plain, join(bucket, "a.npz"))).code).toBe(0);
    store = new HostileStore(bucket);
  });
  afterAll(() => store.stop());
  const run = async (...args: string[]) =>
    await program(args, {
      S3_ACCESS_KEY_ID: "test",
      S3_SECRET_ACCESS_KEY: "test",
      S3_REGION: "us-east-1",
      S3_ENDPOINT: store.endpoint,
      TMPDIR: temporary,
    });

  test("an honest one is read", async () => {
    for (const name of ["a.snapshot", "a.npz"]) {
      expect(await run("diff", plain, `s3://bucket/${name}`)).toEqual({ code: 0, out: "", err: "" });
    }
  }, 60_000);

  test("keys that lead elsewhere", async () => {
    store.tell("tricks as keys");
    const { code, err } = await run("convert", "s3://bucket/a.snapshot", at("tricked.npz"));
    expect([code, err]).toEqual([1, expect.stringMatching(/can be no file of a directory|lists .* as well/)]);
    store.tell(null);
    for (const key of ["..", "x/..", "../../../a.npz", "a\u001b[2J.npz"]) {
      const { code: refused, err: told } = await run("inspect", `s3://bucket/${key}`);
      expect([key, refused, told]).toEqual([key, 1, expect.stringContaining("error: ")]);
      expect(told).not.toContain("\u001b");
    }
    expect(existsSync(at("tricked.npz"))).toBe(false);
  }, 60_000);

  test("sizes and bodies that are not as told", async () => {
    const listings: [Parameters<HostileStore["tell"]>[0], RegExp][] = [["sizes lie", /the store says that it has/]];
    for (const [lie, text] of listings) {
      store.tell(lie);
      expect(await run("inspect", "s3://bucket/a.snapshot")).toMatchObject({
        code: 1,
        err: expect.stringMatching(text),
      });
    }
    store.tell("huge length");
    const { code, err } = await run("inspect", "s3://bucket/a.npz");
    expect([code, err]).toEqual([1, expect.stringMatching(/the store says that it has|are more than the/)]);
    store.tell("long body", 1);
    expect(await run("inspect", "s3://bucket/a.npz")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/more bytes came|are more than the/),
    });
    writeFileSync(join(bucket, "a.npz"), "");
    store.tell(null);
    expect((await run("inspect", "s3://bucket/a.npz")).code).toBe(1);
  }, 60_000);
});
