// Checkpoints in several files: an index and the files that it names are one collection, or one clear error.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  arange,
  io,
  load,
  loadAsync,
  loadSafetensors,
  ones,
  save,
  saveSafetensors,
  type Tensor,
  TensorDict,
  tensordict,
} from "../../src/index.ts";
import { randomNumbers } from "./archive-files.ts";
import { describeWithStore } from "./s3-server.ts";

const ODD = join(import.meta.dir, "..", "fixtures", "odd");
const dir = mkdtempSync(join(tmpdir(), "zensor-shards-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let made = 0;

const SAFE = join(ODD, "shards");
const BINS = join(ODD, "bins");
const SAFE_INDEX = join(SAFE, "model.safetensors.index.json");
const BINS_INDEX = join(BINS, "pytorch_model.bin.index.json");
const NAMES = ["model.embed.weight", "model.head.weight", "model.layers.0.w"];
const FIRST = "model-00001-of-00002.safetensors";
const SECOND = "model-00002-of-00002.safetensors";

/** A copy of a checkpoint. */
function copy(of = SAFE): string {
  const path = join(dir, `copy${made++}`);
  cpSync(of, path, { recursive: true });
  return path;
}

type Map = Record<string, unknown>;

/** A checkpoint with another index. */
function changed(change: (map: Map, root: Map) => unknown, of = SAFE): string {
  const folder = copy(of);
  const index = join(folder, of === SAFE ? "model.safetensors.index.json" : "pytorch_model.bin.index.json");
  const root = JSON.parse(readFileSync(index, "utf8")) as Map;
  const text = change(root.weight_map as Map, root);
  writeFileSync(index, text instanceof Uint8Array ? text : JSON.stringify(root));
  return folder;
}

function check(found: Record<string, Tensor>): void {
  expect(Object.keys(found)).toEqual(NAMES);
  expect(found["model.embed.weight"]?.tolist()).toEqual([
    [0, 1, 2],
    [3, 4, 5],
  ]);
  expect(found["model.head.weight"]?.tolist()).toEqual([
    [0, 1],
    [2, 3],
  ]);
  expect(found["model.layers.0.w"]?.dtype.name).toBe("bfloat16");
}

describe("are one collection", () => {
  test.each([SAFE, SAFE_INDEX, BINS, BINS_INDEX])("for load: %s", async (path) => {
    check(load(path));
    check(await loadAsync(path));
  });

  test.each([SAFE, SAFE_INDEX])("for the readers of safetensors: %s", (path) => {
    check(loadSafetensors(path));
    const file = new io.SafetensorsFile(path);
    expect([file.path, file.keys(), file.files]).toEqual([
      SAFE_INDEX,
      NAMES,
      [FIRST, SECOND].map((n) => join(SAFE, n)),
    ]);
    expect([...file.metadata]).toEqual([["format", "pt"]]);
    expect(file.tensor("model.head.weight").tolist()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect([...file.tensors().keys()]).toEqual(NAMES);
    expect(io.readSafetensorsHeader(path).entries.get("model.layers.0.w")?.shape).toEqual([4]);
    const td = tensordict.fromSafetensors(path);
    expect(td.get(["model", "layers", "0", "w"]).tolist()).toEqual([1, 1, 1, 1]);
    expect(load<Record<string, Tensor>>(path, { device: "meta" })["model.head.weight"]?.isMeta).toBe(true);
  });

  test("in folders below the index, with elements that no tensor has", () => {
    const folder = changed((map) => {
      for (const name of NAMES) map[name] = `a/b/${map[name]}`;
      map["layer.x"] = "a/odd.safetensors";
    });
    mkdirSync(join(folder, "a", "b"), { recursive: true });
    for (const name of [FIRST, SECOND]) cpSync(join(SAFE, name), join(folder, "a", "b", name));
    saveSafetensors({ "layer.x": arange(2) }, join(folder, "a", "odd.safetensors"));
    expect(Object.keys(loadSafetensors(folder))).toEqual([...NAMES, "layer.x"]);
    const bytes = readFileSync(join(folder, "a", "odd.safetensors"));
    const at = bytes.indexOf('"I64"');
    bytes.write('"C64"', at);
    writeFileSync(join(folder, "a", "odd.safetensors"), bytes);
    expect(loadSafetensors(folder)["layer.x"]?.dtype.name).toBe("complex64");
    bytes.write('"X64"', at);
    writeFileSync(join(folder, "a", "odd.safetensors"), bytes);
    expect(load(folder)["layer.x"]).toMatchObject({ dtype: "X64", shape: [2], nbytes: 16 });
    expect(new io.SafetensorsFile(folder).unknownKeys()).toEqual(["layer.x"]);
  });

  test("a folder of a TensorDict is that, whatever else is in it", () => {
    const folder = join(dir, "td");
    save(new TensorDict({ a: ones(2) }, [2]), folder);
    cpSync(SAFE_INDEX, join(folder, "model.safetensors.index.json"));
    expect([...load(folder).keys()]).toEqual(["a"]);
  });
});

describe("are refused", () => {
  const cases: [string, () => string, RegExp][] = [
    [
      "a shard that is missing",
      () => changed((map) => (map.more = "model-3.safetensors")),
      /"model-3.safetensors" is missing, which has "more"/,
    ],
    [
      "a tensor that is not in its shard",
      () => changed((map) => (map.more = FIRST)),
      /does not have the tensor "more"/,
    ],
    [
      "a tensor that the index does not name",
      () => changed((map) => delete map[NAMES[0] as string]),
      /has the tensor "model.embed.weight", which the index does not name/,
    ],
    [
      "a tensor in another shard",
      () => changed((map) => (map[NAMES[0] as string] = SECOND)),
      /does not have the tensor "model.embed.weight"|which the index says is in/,
    ],
    ["a path above", () => changed((map) => (map.more = "../shards/x.safetensors")), /would lie outside of its folder/],
    ["an absolute path", () => changed((map) => (map.more = "/tmp/x.safetensors")), /would lie outside of its folder/],
    ["a path with a dot", () => changed((map) => (map.more = `./${FIRST}`)), /would lie outside of its folder/],
    ["an empty path", () => changed((map) => (map.more = "")), /would lie outside of its folder/],
    ["a NUL", () => changed((map) => (map.more = "a\0.safetensors")), /would lie outside of its folder/],
    ["another format", () => changed((map) => (map.more = "x.json")), /neither of safetensors nor of torch.save/],
    ["mixed formats", () => changed((map) => (map.more = "x.bin")), /of different formats/],
    ["no text", () => changed((map) => (map.more = 3)), /is no text/],
    ["no map", () => changed((_, root) => delete root.weight_map), /its weight_map is not an object/],
    ["a list", () => changed((_, root) => (root.weight_map = [])), /its weight_map is not an object/],
    ["an empty map", () => changed((_, root) => (root.weight_map = {})), /its weight_map is empty/],
    ["odd metadata", () => changed((_, root) => (root.metadata = 1)), /its metadata is not an object/],
    [
      "a name twice",
      () => changed(() => Buffer.from(`{"weight_map":{"a":"${FIRST}","a":"${SECOND}"}}`)),
      /duplicate key "a"/,
    ],
    ["no JSON", () => changed(() => Buffer.from("{")), /no index of shards/],
    ["deep JSON", () => changed(() => Buffer.from("[".repeat(100))), /no index of shards/],
    [
      "a damaged shard",
      () => {
        const folder = copy();
        writeFileSync(join(folder, SECOND), "x");
        return folder;
      },
      new RegExp(`${SECOND}: header too small`),
    ],
    [
      "two indices",
      () => {
        const folder = copy();
        cpSync(SAFE_INDEX, join(folder, "model.fp16.safetensors.index.json"));
        return folder;
      },
      /several indices of shards are in this folder: model.fp16.safetensors.index.json, model.safetensors.index.json/,
    ],
    [
      "no folder of shards",
      () => {
        const folder = copy();
        rmSync(join(folder, SECOND));
        mkdirSync(join(folder, SECOND));
        return folder;
      },
      /directory|regular/i,
    ],
  ];
  test.each(cases)("%s", async (_, make, reason) => {
    const folder = make();
    expect(() => loadSafetensors(folder)).toThrow(reason);
    expect(() => load(folder)).toThrow(reason);
    await expect(loadAsync(folder)).rejects.toThrow(reason);
    expect(() => tensordict.fromSafetensors(folder)).toThrow(reason);
  });

  test("the same for files of torch's", () => {
    const missing = changed((map) => (map.more = "pytorch_model-00009.bin"), BINS);
    expect(() => load(missing)).toThrow(/"pytorch_model-00009.bin" is missing, which has "more"/);
    const lost = changed((map) => (map.more = "pytorch_model-00001-of-00002.bin"), BINS);
    expect(() => load(lost)).toThrow(/does not have the tensor "more"/);
    const extras = changed((map) => delete map[NAMES[0] as string], BINS);
    expect(() => load(extras)).toThrow(/which the index does not name/);
    const folder = copy(BINS);
    save([ones(1)], join(folder, "x.pt"));
    cpSync(join(folder, "x.pt"), join(folder, "pytorch_model-00002-of-00002.bin"));
    expect(() => load(folder)).toThrow(/holds no tensors by name/);
    expect(() => loadSafetensors(BINS)).toThrow(/are those of torch.save, not of safetensors: `load` reads them/);
  });

  test("links that lead out of the folder, unless they are to be followed", () => {
    const folder = copy();
    rmSync(join(folder, SECOND));
    symlinkSync(join(SAFE, SECOND), join(folder, SECOND));
    expect(() => loadSafetensors(folder)).toThrow(/is a symbolic link out of the folder/);
    expect(() => load(folder)).toThrow(/is a symbolic link out of the folder/);
    check(loadSafetensors(folder, { followLinks: true }));
    check(load(folder, { followLinks: true }));
    // As in the cache of a hub, where the index is a link, too.
    const cache = join(dir, "cache");
    mkdirSync(cache);
    for (const name of [FIRST, SECOND, "model.safetensors.index.json"])
      symlinkSync(join(SAFE, name), join(cache, name));
    check(loadSafetensors(join(cache, "model.safetensors.index.json"), { followLinks: true }));
  });

  test("bytes changed anywhere: an error, or tensors", () => {
    const numbers = randomNumbers(7);
    const next = () => numbers() / 2 ** 32;
    const good = readFileSync(SAFE_INDEX);
    const folder = copy();
    const until = performance.now() + 1500;
    for (let i = 0; i < 2000 && performance.now() < until; i++) {
      const bytes = Buffer.from(good);
      for (let n = 0; n <= next() * 3; n++) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256);
      writeFileSync(join(folder, "model.safetensors.index.json"), bytes);
      try {
        const found = loadSafetensors(folder);
        expect(Object.keys(found).length).toBe(3);
      } catch (error) {
        expect((error as Error).constructor.name).toMatch(/^(FormatError|OSError|FileNotFoundError)$/);
      }
    }
  });
});

describeWithStore((store) => {
  test("in a store: the index, the folder, parts of a tensor, and what is wrong", async () => {
    const { client } = store;
    const base = store.url("checkpoint");
    for (const name of [FIRST, SECOND, "model.safetensors.index.json"]) {
      await io.upload(join(SAFE, name), `${base}/${name}`, { client });
    }
    for (const url of [base, `${base}/model.safetensors.index.json`]) {
      const file = await io.RemoteSafetensors.open(url, { client });
      expect(file.keys()).toEqual(NAMES);
      check(Object.fromEntries(await file.tensors()));
      expect((await file.tensor("model.head.weight", { rows: [1, 2] })).tolist()).toEqual([[2, 3]]);
    }
    await client.delete(`${base.slice("s3://".length).split("/").slice(1).join("/")}/${SECOND}`);
    await expect(io.RemoteSafetensors.open(base, { client })).rejects.toThrow(/is missing/);
  });
});
