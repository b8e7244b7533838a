// Directories and safetensors files in S3 stores on the command line.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, ones, randn, zeros } from "../../src/index.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { lazyStack, NonTensorData, TensorDict } from "../../src/tensordict/index.ts";
import { describeWithStore } from "../io/s3-server.ts";
import { program, started, zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-s3-"));
const at = (name: string) => join(dir, name);

describeWithStore((store) => {
  let proxy: Bun.Server<undefined>;
  /** Bytes that the store sent since this was last set to 0. */
  let sent = 0;
  beforeAll(() => {
    const { endpoint } = store;
    proxy = Bun.serve({
      port: 0,
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        const body = ["GET", "HEAD"].includes(request.method) ? undefined : await request.bytes();
        const answer = await fetch(endpoint + pathname + search, {
          method: request.method,
          headers: request.headers,
          ...(body === undefined ? {} : { body }),
        });
        if (request.method === "HEAD") return new Response(null, { status: answer.status, headers: answer.headers });
        const bytes = await answer.bytes();
        sent += bytes.length;
        return new Response(bytes, { status: answer.status, headers: answer.headers });
      },
    });
  });
  afterAll(() => {
    proxy?.stop(true);
    rmSync(dir, { recursive: true, force: true });
  });

  const environment = () => store.environment(`http://127.0.0.1:${proxy.port}`);
  const run = async (...args: string[]) => await program(args, environment());
  const url = (name: string) => store.url(name);

  test("a directory, there and back, in parts, checked", async () => {
    const source = at("source");
    const member = (n: number) => new TensorDict({ x: ones(4, n) }, [4]);
    new TensorDict(
      {
        a: randn(4, 500_000),
        n: { b: arange(4) },
        e: zeros(4, 0),
        v: new NonTensorData("text") as never,
        l: lazyStack([member(1), member(2)] as never, 1) as never,
      },
      [4],
    ).memmap(source);
    expect(await run("convert", source, url("td"))).toMatchObject({ code: 0, err: "" });
    expect(await run("diff", source, url("td"))).toEqual({ code: 0, out: "", err: "" });
    sent = 0;
    expect((await run("inspect", url("td"))).out).toMatch(/a +float32 +\[4, 500000\]/);
    expect(sent).toBeLessThan(20_000);
    expect(await run("slice", url("td"), at("part"), "--keys", "n,a", "--rows", "1:2")).toMatchObject({ code: 0 });
    expect(sent).toBeLessThan(2_100_000);
    expect(await run("slice", source, at("part2"), "--keys", "n,a", "--rows", "1:2")).toMatchObject({ code: 0 });
    expect(await run("diff", at("part"), at("part2"))).toEqual({ code: 0, out: "", err: "" });
    const sums = at("sums.json");
    expect((await zensor("verify", source, "--write-sums", sums)).code).toBe(0);
    expect(await run("verify", url("td"), "--sums", sums)).toMatchObject({ code: 0, err: "" });
    expect(await run("convert", url("td"), at("back.tdz"))).toMatchObject({ code: 0, err: "" });
    expect((await zensor("verify", at("back.tdz"), "--sums", sums)).code).toBe(0);
    await store.client.write("td/letter", "dear");
    await store.client.write("td/n/b.memmap", new Uint8Array(33));
    const { code, out } = await run("verify", url("td"), "--sums", sums);
    expect(code).toBe(1);
    expect(out.split("\n").sort()).toEqual([
      "letter: belongs to nothing",
      "n.b: its elements have another checksum",
      "n/b.memmap: has 33 bytes, its tensor 32",
    ]);
    await store.client.delete("td/n/b.memmap");
    expect(await run("inspect", url("td"))).toMatchObject({ code: 1, err: expect.stringContaining("b.memmap") });
  }, 60_000);

  test("parts, numbers, names and dtypes", async () => {
    const plain = at("changed.safetensors");
    saveSafetensors({ "model.head.w": randn(30, 50), "model.head.b": arange(3), top: ones(1) }, plain);
    expect(await run("convert", plain, url("changed.safetensors"))).toMatchObject({ code: 0, err: "" });
    for (const args of [
      ["inspect", "--keys", "model/head"],
      ["stats", "--keys", "model.head"],
    ]) {
      const [here, there] = [plain, url("changed.safetensors")].map((path) => [
        args[0] as string,
        path,
        ...args.slice(1),
      ]);
      expect((await run(...(there as string[]))).out).toBe((await zensor(...(here as string[]))).out.trim());
    }
    for (const [name, ...args] of [
      ["cast", "--dtype", "float16"],
      ["rename", "--prefix", "model=net"],
    ] as [string, ...string[]][]) {
      for (const ending of [".safetensors", ".npz", ""]) {
        const [here, there] = [at(`${name}${ending}`), url(`${name}${ending}`)];
        expect((await zensor(name, plain, here, ...args)).code).toBe(0);
        expect(await run(name, url("changed.safetensors"), there, ...args)).toMatchObject({ code: 0, err: "" });
        expect(await run("diff", here, there)).toEqual({ code: 0, out: "", err: "" });
      }
    }
  }, 60_000);

  test("safetensors files, plain and with structure", async () => {
    const plain = at("plain.safetensors");
    saveSafetensors({ "l.w": randn(300, 5000), "l.b": arange(3) }, plain, { metadata: { format: "pt" } });
    expect(await run("convert", plain, url("plain.safetensors"))).toMatchObject({ code: 0, err: "" });
    expect(Buffer.from(await store.client.file("plain.safetensors").bytes())).toEqual(readFileSync(plain));
    sent = 0;
    const listed = await run("inspect", url("plain.safetensors"), "--json");
    expect(JSON.parse(listed.out)).toMatchObject({ values: [{ name: "__metadata__", value: { format: "pt" } }] });
    // One request for the beginning of the file.
    expect(sent).toBeLessThan(300_000);
    const part = ["--keys", "l.w", "--rows", "-2:"];
    expect(await run("slice", url("plain.safetensors"), at("rows.safetensors"), ...part)).toMatchObject({ code: 0 });
    expect(await zensor("slice", plain, at("rows2.safetensors"), ...part)).toMatchObject({ code: 0 });
    expect(readFileSync(at("rows.safetensors"))).toEqual(readFileSync(at("rows2.safetensors")));
    new TensorDict({ a: ones(2, 3), s: new NonTensorData("x") as never }, [2]).memmap(at("batched"));
    expect(await run("convert", at("batched"), url("batched.safetensors"))).toMatchObject({ code: 0, err: "" });
    expect(await run("diff", at("batched"), url("batched.safetensors"))).toEqual({ code: 0, out: "", err: "" });
    expect(await run("merge", url("plain.safetensors"), at("batched"), url("union"), "--lossy")).toMatchObject({
      code: 0,
    });
    expect((await run("inspect", url("union"))).out).toContain("3 tensors");
    await store.client.write("cut.safetensors", readFileSync(plain).subarray(0, -5));
    expect(await run("verify", url("cut.safetensors"))).toMatchObject({
      code: 1,
      out: expect.stringContaining("header"),
    });
  }, 60_000);

  test("what is there is kept", async () => {
    new TensorDict({ a: ones(2) }).memmap(at("new"));
    expect(await run("convert", at("new"), url("kept"))).toMatchObject({ code: 0 });
    for (const force of [[], ["--force"]]) {
      expect(await run("convert", at("new"), url("kept"), ...force)).toMatchObject({
        code: 1,
        err: expect.stringContaining("exists already"),
      });
    }
    expect(await run("convert", at("new"), url("kept.safetensors"))).toMatchObject({ code: 0 });
    expect((await run("convert", at("new"), url("kept.safetensors"))).code).toBe(1);
    expect((await run("convert", at("new"), url("kept.safetensors"), "--force")).code).toBe(0);
  }, 60_000);

  test("unknown endings, whole buckets and things that are not there", async () => {
    expect(await run("convert", at("new"), url("x.doc"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("no format ends in .doc"),
    });
    expect(await run("convert", at("new"), url("x"), "--to", "gguf")).toMatchObject({ code: 2 });
    expect((await run("convert", at("new"), `s3://${store.bucket}`)).code).toBe(1);
    expect(await run("tree", url("nothing"))).toMatchObject({ code: 1, err: expect.stringContaining("is empty") });
    for (const name of ["nothing", "nothing.safetensors", "nothing.pt", "nothing.snapshot", "nothing.doc"]) {
      expect(await run("inspect", url(name))).toMatchObject({ code: 1, out: "", err: expect.stringContaining(name) });
      expect(await run("convert", url(name), at("never"))).toMatchObject({ code: 1, out: "" });
      expect(await run("verify", url(name))).toMatchObject({ code: 1, out: "" });
    }
    expect(existsSync(at("never"))).toBe(false);
  }, 60_000);

  test("an interruption leaves nothing in the store", async () => {
    const source = at("many");
    const row = ones(300_000);
    new TensorDict(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`t${i}`, row]))).memmap(source);
    const child = started(["convert", source, url("stop")], environment());
    const listed = async () => ((await store.client.list({ prefix: "stop/" })).contents ?? []).length;
    while ((await listed()) === 0 && child.exitCode === null) await Bun.sleep(5);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await listed()).toBe(0);
  }, 60_000);
});
