// Single files in an S3 store.
import "../../src/install.ts";
import { beforeAll, describe, expect, test } from "bun:test";
import { S3Client } from "bun";
import { arange, ones, randn, type Tensor, TensorDict, zeros } from "../../src/index.ts";
import { RemoteSafetensors } from "../../src/io/safetensors/remote-safetensors.ts";
import { saveSafetensors, saveSafetensorsAsync } from "../../src/io/safetensors/safetensors.ts";
import { isRemote, type RemoteOptions, RemotePlace } from "../../src/io/store/s3.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { toSafetensorsAsync } from "../../src/tensordict/index.ts";
import { describeWithStore } from "./s3-server.ts";

describe("places", () => {
  test("are urls", () => {
    expect(isRemote("s3://a/b")).toBe(true);
    expect(isRemote("/s3://a/b")).toBe(false);
    const place = new RemotePlace("s3://my-bucket/some/folder/", { client: new S3Client({ bucket: "x" }) });
    expect([place.bucket, place.key]).toEqual(["my-bucket", "some/folder"]);
  });
  for (const url of ["s3://", "s3:///x", "s3://UPPER/x", "s3://a/x", "s3://a b/x", "http://bucket/x"]) {
    test(`${url} is none`, () => expect(() => new RemotePlace(url)).toThrow("is no place in an S3 store"));
  }
  test("are written in the background", () => {
    expect(() => saveSafetensors({ a: ones(1) }, "s3://bucket/x")).toThrow("can only be written in the background");
  });
  test("a store that cannot be reached is one clear error", async () => {
    const client = new S3Client({
      accessKeyId: "a",
      secretAccessKey: "b",
      endpoint: "http://127.0.0.1:9",
      bucket: "none",
    });
    const start = performance.now();
    await expect(RemoteSafetensors.open("s3://bucket/x", { client, retries: 1 })).rejects.toThrow(
      /^s3:\/\/bucket\/x: /,
    );
    expect(performance.now() - start).toBeLessThan(30_000);
  });
});

describeWithStore((store) => {
  let options: RemoteOptions;
  const url = (key: string) => store.url(key);
  beforeAll(() => {
    ({ options } = store);
  });

  test("safetensors are written and read in parts", async () => {
    const tensors = { a: randn(100, 7), b: arange(10), empty: zeros(0, 3), scalar: ones([]) };
    await saveSafetensorsAsync(tensors, url("plain"), { metadata: { k: "v" }, remote: options });
    const file = await RemoteSafetensors.open(url("plain"), options);
    expect(file.metadata.get("k")).toBe("v");
    for (const [name, tensor] of await file.tensors()) {
      expect(tensor.tolist()).toEqual(tensors[name as "a"].tolist());
    }
    const rows = await file.tensor("a", { rows: [10, 13] });
    expect(rows.tolist()).toEqual((tensors.a.at("10:13") as Tensor).tolist());
    expect((await file.tensor("a", { rows: [5, 5] })).shape.join()).toBe("0,7");
    await expect(file.tensor("a", { rows: [90, 101] })).rejects.toThrow("rows 90 to 101");
    await expect(file.tensor("scalar", { rows: [0, 1] })).rejects.toThrow("rows 0 to 1");
    await expect(file.tensor("other")).rejects.toThrow('no tensor named "other"');
  });

  test("only the bytes of the rows are transferred", async () => {
    await saveSafetensorsAsync({ big: ones(1000, 1000) }, url("rows"), { remote: options });
    const file = await RemoteSafetensors.open(url("rows"), options);
    const ranges: [number, number][] = [];
    const range = RemotePlace.prototype.range;
    RemotePlace.prototype.range = function (key, begin, end) {
      ranges.push([begin, end]);
      return range.call(this, key, begin, end);
    };
    try {
      expect((await file.tensor("big", { rows: [500, 502] })).sum().item()).toBe(2000);
    } finally {
      RemotePlace.prototype.range = range;
    }
    expect(ranges.map(([begin, end]) => end - begin)).toEqual([8000]);
  });

  test("large objects go in parts", async () => {
    const big = randn(5, 2 ** 20);
    const seen: number[] = [];
    await saveSafetensorsAsync({ big }, url("big"), { remote: { ...options, onProgress: () => {} } });
    const file = await RemoteSafetensors.open(url("big"), { ...options, onProgress: (done) => seen.push(done) });
    const [read] = [...(await file.tensors()).values()] as [Tensor];
    expect(read.equal(big)).toBe(true);
    expect(seen.at(-1)).toBe(big.nbytes);
    expect(seen.length).toBeGreaterThan(1);
  }, 60_000);

  test("tensors that are not contiguous", async () => {
    const tensors = { small: arange(60_000).view(200, 300).t(), big: arange(3_000_000).view(1000, 3000).t() };
    await saveSafetensorsAsync({ small: tensors.small }, url("turned"), { remote: options });
    const first = await RemoteSafetensors.open(url("turned"), options);
    expect((await first.tensor("small")).equal(tensors.small)).toBe(true);
    await saveSafetensorsAsync(tensors, url("turned"), { remote: options });
    const file = await RemoteSafetensors.open(url("turned"), options);
    for (const [name, tensor] of Object.entries(tensors)) expect((await file.tensor(name)).equal(tensor)).toBe(true);
  }, 60_000);

  test("an upload that is stopped leaves the old object", async () => {
    await saveSafetensorsAsync({ a: ones(3) }, url("kept"), { remote: options });
    const controller = new AbortController();
    const saving = toSafetensorsAsync(new TensorDict({ a: randn(8, 2 ** 20) }) as unknown as Td, url("kept"), {
      remote: options,
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), 30);
    await expect(saving).rejects.toThrow(/abort/i);
    await saving.catch(() => {});
    expect((await (await RemoteSafetensors.open(url("kept"), options)).tensor("a")).tolist()).toEqual([1, 1, 1]);
  }, 60_000);

  test("what is missing is named", async () => {
    await expect(RemoteSafetensors.open(url("nothing"), options)).rejects.toThrow(
      `No such file or directory: '${url("nothing")}'`,
    );
    await expect(RemoteSafetensors.open("s3://no-such-bucket/x", options)).rejects.toThrow(
      /^s3:\/\/no-such-bucket\/x|No such file/,
    );
  });

  test("hostile headers are refused", async () => {
    const place = new RemotePlace(url("bad"), options);
    const header = (length: number, json: string) => {
      const bytes = new Uint8Array(8 + json.length);
      new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
      bytes.set(new TextEncoder().encode(json), 8);
      return bytes;
    };
    const lies = [
      new Uint8Array(3),
      header(2 ** 40, "{}"),
      header(2, "[]"),
      header(20, "{}"),
      header(64, '{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}'.slice(0, 64)),
      header(70, '{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}'),
    ];
    for (const data of lies) {
      await place.write("bad", [{ offset: 0, data }]);
      await expect(RemoteSafetensors.open(url("bad"), options)).rejects.toThrow(/header|tensor|file/);
    }
  });

  test("listings have several pages", async () => {
    const place = new RemotePlace(url("many"), options);
    for (let i = 0; i < 5; i++) await place.write(`many/${i}`, [{ offset: 2, data: new Uint8Array([1]) }]);
    expect(await place.list()).toEqual([0, 1, 2, 3, 4].map((i) => ({ key: `many/${i}`, size: 3 })));
    await expect(place.list(3)).rejects.toThrow("more than 3 objects");
    await place.delete("many/0");
    expect((await place.list()).length).toBe(4);
    expect([...(await place.range("many/1", 0, 3))]).toEqual([0, 0, 1]);
  });
});
