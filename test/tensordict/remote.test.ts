// TensorDicts in an S3 store.
import "../../src/install.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  arange,
  lazyStack,
  loadRemote,
  type NestedTensor,
  nested,
  randn,
  saveRemote,
  type Tensor,
  TensorDict,
  zeros,
} from "../../src/index.ts";
import { type RemoteOptions, RemotePlace } from "../../src/io/store/s3.ts";
import { Tensor as TensorClass } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { registerTensorClass, tensorclass } from "../../src/tensordict/index.ts";
import { describeWithStore } from "../io/s3-server.ts";
import { temporaryDirectory } from "./helpers.ts";

class RemotePoint extends tensorclass({ x: TensorClass, label: String }) {}
registerTensorClass(RemotePoint);

const room = temporaryDirectory();
const sample = (rows = 4) =>
  new TensorDict(
    {
      a: randn(rows, 3),
      n: { b: arange(rows), deep: { "c/d": zeros(rows, 0) } },
      s: "text",
      v: Array.from({ length: rows }, (_, i) => `v${i}`),
      p: new RemotePoint({ x: randn(rows, 2), label: "l" }, { batchSize: [rows] }),
    },
    [rows],
  ) as unknown as Td;

afterAll(() => room.remove());

describeWithStore((store) => {
  let options: RemoteOptions;
  let count = 0;
  const fresh = () => store.url(`td-${count++}`);
  beforeAll(() => {
    ({ options } = store);
  });
  const same = (a: Td, b: Td) => {
    expect(String(a)).toBe(String(b));
    expect(a.eq(b).all()).toBe(true);
  };

  test("a TensorDict comes back, whole or in parts", async () => {
    const [td, url] = [sample(), fresh()];
    await saveRemote(td, url, options);
    const whole = await loadRemote(url, options);
    same(whole.select("a", "n"), td.select("a", "n").to("cpu") as Td);
    expect(whole.at("s")).toBe("text");
    expect([...(whole.at("v") as unknown as string[])]).toEqual(["v0", "v1", "v2", "v3"]);
    expect(whole.at("p")).toBeInstanceOf(RemotePoint);
    expect((await loadRemote(url, { ...options, subpath: "n" })).at("b").tolist()).toEqual([0, 1, 2, 3]);
    const some = await loadRemote(url, { ...options, keys: ["s", ["n", "b"]] });
    expect([...some.keys()].sort()).toEqual(["n", "s"]);
    expect([...(some.at("n") as Td).keys()]).toEqual(["b"]);
    const rows = await loadRemote(url, { ...options, rows: [1, 3] });
    expect([...rows.batchSize]).toEqual([2]);
    expect((rows.at("a") as Tensor).tolist()).toEqual((td.at("a") as Tensor).at("1:3").tolist());
    expect([...(rows.at("v") as unknown as string[])]).toEqual(["v1", "v2"]);
    await expect(loadRemote(url, { ...options, keys: ["nothing"] })).rejects.toThrow('key "nothing" not found');
    await expect(loadRemote(url, { ...options, rows: [2, 5] })).rejects.toThrow("rows 2 to 5 of 4");
  });

  test("tensors that are not contiguous, of one part and of several", async () => {
    const entries = { small: arange(60_000).view(200, 300).t(), big: arange(3_000_000).view(1000, 3000).t() };
    const [td, url] = [new TensorDict(entries, []) as unknown as Td, fresh()];
    await saveRemote(td, url, options);
    same(await loadRemote(url, options), td.to("cpu") as Td);
  }, 60_000);

  test("nested tensors, whole and by rows", async () => {
    const rows = [[1], [2, 3], [], [4, 5, 6]];
    const td = new TensorDict({ j: nested.nestedTensor(rows), x: arange(4) }, [4]) as unknown as Td;
    const url = fresh();
    await saveRemote(td, url, options);
    const list = (one: Td) => (one.at("j") as unknown as NestedTensor).tolist();
    expect(list(await loadRemote(url, options))).toEqual(rows);
    expect(list(await loadRemote(url, { ...options, rows: [1, 4] }))).toEqual(rows.slice(1));
    expect(list(await loadRemote(url, { ...options, keys: ["j"], rows: [2, 3] }))).toEqual([[]]);
    const deeper = loadRemote(url, { ...options, keys: [["j", "k"]] });
    await expect(deeper).rejects.toThrow("a tensor has no entries");
    await expect(loadRemote(url, { ...options, rows: [1, 5] })).rejects.toThrow("rows 1 to 5 of 4");
  });

  test("rows transfer only their bytes", async () => {
    const url = fresh();
    await saveRemote(new TensorDict({ big: randn(10_000, 100) }, [10_000]) as unknown as Td, url, options);
    const ranges: [string, number][] = [];
    const range = RemotePlace.prototype.range;
    RemotePlace.prototype.range = function (key, begin, end) {
      if (key.endsWith(".memmap")) ranges.push([key, end - begin]);
      return range.call(this, key, begin, end);
    };
    try {
      const part = await loadRemote(url, { ...options, rows: [5000, 5010] });
      expect((part.at("big") as Tensor).shape.join()).toBe("10,100");
    } finally {
      RemotePlace.prototype.range = range;
    }
    expect(ranges.map(([, n]) => n)).toEqual([4000]);
  });

  test("objects are the files of a directory", async () => {
    const [td, url, path] = [sample(), fresh(), join(room.path, "td")];
    td.memmap(path);
    await saveRemote(td, url, options);
    const place = new RemotePlace(url, options);
    const names = (await place.list()).map(({ key }) => key.slice(place.key.length + 1)).sort();
    const files = readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
      .sort();
    expect(names).toEqual(files);
    for (const name of names) {
      const { length } = readFileSync(join(path, name));
      const object = await place.range(`${place.key}/${name}`, 0, length);
      expect(Buffer.compare(object, readFileSync(join(path, name)))).toBe(0);
    }
  });

  test("lazy stacks; members of a longer one are removed", async () => {
    const url = fresh();
    const member = (n: number) => new TensorDict({ a: randn(n) }) as unknown as Td;
    await saveRemote(lazyStack([member(2), member(3), member(4)]), url, options);
    const rows = await loadRemote(url, { ...options, rows: [1, 2] });
    expect([...rows.batchSize]).toEqual([1]);
    await saveRemote(lazyStack([member(5), member(6)]), url, options);
    expect([...(await loadRemote(url, options)).batchSize]).toEqual([2]);
  });

  test("progress reaches the whole", async () => {
    const [td, url] = [sample(1000), fresh()];
    const seen: [number, number][] = [];
    const onProgress = (done: number, total: number) => seen.push([done, total]);
    await saveRemote(td, url, { ...options, onProgress });
    const total = 1000 * (12 + 8 + 8);
    expect(seen.at(-1)).toEqual([total, total]);
    seen.length = 0;
    await loadRemote(url, { ...options, onProgress });
    expect(seen.at(-1)).toEqual([total, total]);
  });

  test("a save that is stopped is no directory", async () => {
    const url = fresh();
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    await expect(saveRemote(sample(), url, { ...options, onProgress, signal: controller.signal })).rejects.toThrow(
      /abort/i,
    );
    await expect(loadRemote(url, options)).rejects.toThrow(/No such file or directory: 's3:\/\/.*meta\.json'/);
  });

  test("what is missing or too short is refused", async () => {
    const [td, url] = [sample(), fresh()];
    await saveRemote(td, url, options);
    const place = new RemotePlace(url, options);
    await place.write(`${place.key}/a.memmap`, [{ offset: 0, data: new Uint8Array(47) }]);
    await expect(loadRemote(url, options)).rejects.toThrow("47 bytes are fewer than the 48 of its tensor");
    await place.delete(`${place.key}/a.memmap`);
    await expect(loadRemote(url, options)).rejects.toThrow(/No such file or directory: '.*a\.memmap'/);
    await place.delete(`${place.key}/n/meta.json`);
    await expect(loadRemote(url, { ...options, keys: ["s"] })).rejects.toThrow(/No such file.*n\/meta\.json/);
    await place.write(`${place.key}/meta.json`, [{ offset: 0, data: new TextEncoder().encode('{"shape": [1') }]);
    await expect(loadRemote(url, options)).rejects.toThrow(/meta\.json/);
  });
});
