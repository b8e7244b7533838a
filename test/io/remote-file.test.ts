// Files of any format between the disk and an S3 store.
import "../../src/install.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randn, type Tensor } from "../../src/index.ts";
import { download, upload } from "../../src/io/store/remote-file.ts";
import { type RemoteOptions, RemotePlace } from "../../src/io/store/s3.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { describeWithStore } from "./s3-server.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-remote-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describeWithStore((store) => {
  let options: RemoteOptions;
  const url = (key: string) => store.url(key);
  beforeAll(() => {
    ({ options } = store);
  });

  test("a file of several parts goes there and comes back", async () => {
    const state = { weight: randn(6, 2 ** 20), bias: randn(3) };
    const [from, to] = [join(dir, "from.pt"), join(dir, "to.pt")];
    saveTorch(state, from);
    const seen: [string, number, number][] = [];
    const noting = (what: string) => (done: number, total: number) => void seen.push([what, done, total]);
    await upload(from, url("models/a.pt"), { ...options, onProgress: noting("up") });
    writeFileSync(to, "old");
    await download(url("models/a.pt"), to, { ...options, fsync: true, onProgress: noting("down") });
    expect(readFileSync(to).equals(readFileSync(from))).toBe(true);
    expect((loadTorch(to) as typeof state).weight.equal(state.weight as Tensor)).toBe(true);
    const size = readFileSync(from).length;
    for (const way of ["up", "down"]) {
      const mine = seen.filter(([what]) => what === way);
      expect(mine.length).toBeGreaterThan(3);
      expect(mine.at(-1)).toEqual([way, size, size]);
    }
    expect(readdirSync(dir).sort()).toEqual(["from.pt", "to.pt"]);
  }, 60_000);

  test("small and empty files", async () => {
    for (const text of ["", "a"]) {
      const [from, to] = [join(dir, "small"), join(dir, "small-back")];
      writeFileSync(from, text);
      await upload(from, url("small"), options);
      await download(url("small"), to, options);
      expect(readFileSync(to, "utf8")).toBe(text);
    }
  });

  test("what fails or is stopped leaves the old file, and nothing beside it", async () => {
    const to = join(dir, "kept");
    writeFileSync(to, "old");
    const before = readdirSync(dir).sort();
    await expect(download(url("nothing"), to, options)).rejects.toThrow("No such file or directory");
    const place = new RemotePlace(url("big"), options);
    await place.write("big", [{ offset: 40 * 2 ** 20, data: new Uint8Array(1) }]);
    const controller = new AbortController();
    const stopped = { ...options, signal: controller.signal, onProgress: () => controller.abort() };
    await expect(download(url("big"), to, stopped)).rejects.toThrow(/abort/i);
    // Somebody puts a new object there after the first range.
    const range = RemotePlace.prototype.range;
    let calls = 0;
    RemotePlace.prototype.range = async function (key, begin, end) {
      if (++calls === 2) await place.write("big", [{ offset: 40 * 2 ** 20, data: new Uint8Array([7]) }]);
      return await range.call(this, key, begin, end);
    };
    try {
      await expect(download(url("big"), to, options)).rejects.toThrow("was replaced while it was read");
    } finally {
      RemotePlace.prototype.range = range;
    }
    expect(readFileSync(to, "utf8")).toBe("old");
    expect(readdirSync(dir).sort()).toEqual(before);
    await expect(download(url("big"), join(dir, "missing", "x"), options)).rejects.toThrow("No such file");
    await expect(upload(join(dir, "missing"), url("x"), options)).rejects.toThrow("No such file");
    await expect(upload(dir, url("x"), options)).rejects.toThrow(/regular file|directory/);
    expect(existsSync(join(dir, "missing"))).toBe(false);
  }, 60_000);
});
