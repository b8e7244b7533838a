// Readers that write as well, that open memory of others, or that ask a server.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemoryMappedTensor } from "../../src/index.ts";
import { RemoteSafetensors, saveSafetensors } from "../../src/io/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import {
  appendMemmap,
  fromShared,
  loadRemote,
  packMemmap,
  refreshArchiveChecksums,
  TensorDict,
  toShared,
  unpackMemmap,
} from "../../src/tensordict/index.ts";
import { Point } from "../tensordict/classes.ts";
import type { Choices } from "./choices.ts";
import type { Files } from "./damage.ts";
import { HostileStore } from "./hostile-store.ts";
import { collection, filesBelow, numbers, one, type Reader } from "./reader-helpers.ts";

/** A rule of a writer that did not hold: no error that a reader may give. */
function broken(what: string): never {
  throw new Error(what);
}

function same(before: Files, after: Files): boolean {
  const equal = (name: string) => Buffer.compare(before.get(name) as Uint8Array, after.get(name) ?? Buffer.of(0)) === 0;
  return before.size === after.size && [...before.keys()].every(equal);
}

/** Rows that fit to `collection` without its lazy stack. */
function rows(): Td {
  const point = new Point({ x: numbers(2, "float32"), y: numbers(2, "int16"), label: "p" }, { batchSize: [2] });
  return new TensorDict(
    { a: numbers(4, "int64").view(2, 2), b: { c: numbers(2, "bfloat16") }, point, text: "words" },
    { batchSize: [2], names: ["time"] },
  ) as unknown as Td;
}

/** Appends to a copy. Refused, it leaves the files as they were; else all rows can be loaded. */
function append(path: string): unknown {
  const copy = join(dirname(path), "copy");
  rmSync(copy, { recursive: true, force: true });
  cpSync(path, copy, { recursive: true, verbatimSymlinks: true });
  const before = filesBelow(copy);
  try {
    appendMemmap(copy, rows());
  } catch (error) {
    // What an append that was killed left behind is dropped or completed first.
    const waiting = [...before.keys()].some((name) => name.endsWith(".append.tmp"));
    if (!waiting && !same(before, filesBelow(copy))) broken(`a refused append changed the directory: ${error}`);
    throw error;
  }
  return TensorDict.loadMemmap(copy);
}

/** Takes an archive apart next to it, and computes the checksums of a copy again. */
function unpack(path: string): unknown {
  const room = dirname(dirname(path));
  const [target, copy] = [join(room, "unpacked"), join(room, "copy.tdz")];
  rmSync(target, { recursive: true, force: true });
  writeFileSync(copy, readFileSync(path));
  try {
    refreshArchiveChecksums(copy);
    unpackMemmap(copy, target);
  } catch (error) {
    if (existsSync(target)) broken(`an archive that was refused is unpacked: ${error}`);
    throw error;
  }
  return TensorDict.loadMemmap(target);
}

function pack(path: string): unknown {
  const archive = join(dirname(dirname(path)), "packed.tdz");
  rmSync(archive, { force: true });
  try {
    packMemmap(path, archive);
  } catch (error) {
    if (existsSync(archive)) broken(`a directory that was refused is packed: ${error}`);
    throw error;
  }
  return TensorDict.loadMemmap(archive);
}

/** What is shared stays mapped, so that it can be opened. */
const shared: unknown[] = [];

function sharedSeeds(room: string): Files[] {
  const directory = join(dirname(room), "shared");
  collection().memmap(directory);
  const values = [
    TensorDict.loadMemmap(directory) as unknown as Td,
    MemoryMappedTensor.fromTensor(numbers(12, "int32").view(3, 4)).at("1:3"),
    rows().memmap_() as Td,
  ];
  shared.push(...values);
  return values.map((value) => one("a.json", Buffer.from(JSON.stringify(toShared(value)))));
}

let store: HostileStore | null = null;
let served = "";

async function remote(path: string, choices: Choices): Promise<unknown> {
  if (store === null || served !== path) store = new HostileStore(path);
  served = path;
  // An honest store may take its time.
  const timeout = store.lies(choices) === null ? 20_000 : 100;
  const options = { client: store.client, retries: choices.below(8) === 1 ? 1 : 0, concurrency: 2, timeout };
  if (existsSync(join(path, "a.safetensors"))) {
    const file = await RemoteSafetensors.open("s3://bucket/a.safetensors", options);
    return await file.tensors();
  }
  const place = choices.pick(["s3://bucket", "s3://bucket", "s3://bucket/b"]);
  return await loadRemote(place, { ...options, ...(choices.below(4) === 0 ? { rows: [0, 1] as const } : {}) });
}

function remoteSeeds(room: string): Files[] {
  const [directory, other, file] = ["td", "other", "a.safetensors"].map((name) => join(room, name)) as [
    string,
    string,
    string,
  ];
  collection().memmap(directory);
  rows().memmap(other);
  saveSafetensors({ a: numbers(600, "float32").view(20, 30), b: numbers(3, "int8") }, file);
  return [filesBelow(directory), filesBelow(other), one("a.safetensors", readFileSync(file))];
}

/** The readers of this file. */
export const MORE_READERS: readonly Reader[] = [
  {
    name: "append",
    file: null,
    container: "none",
    cases: 400,
    seeds(room) {
      const own = join(room, "td");
      rows().memmap(own);
      const whole = filesBelow(own);
      // One in which an append was killed before it replaced anything.
      const waiting = new Map([...whole, [".meta.json.append.tmp", whole.get("meta.json") as Uint8Array]]);
      return [whole, waiting];
    },
    read: append,
  },
  {
    name: "unpack",
    file: "a.tdz",
    container: "zip",
    cases: 400,
    seeds(room) {
      const path = join(room, "a.tdz");
      collection().memmap(path);
      const deflated = join(room, "deflated.tdz");
      collection().memmap(join(room, "td"));
      packMemmap(join(room, "td"), deflated, { compression: "deflate" });
      return [one("a.tdz", readFileSync(path)), one("a.tdz", readFileSync(deflated))];
    },
    read: unpack,
  },
  {
    name: "pack",
    file: null,
    container: "none",
    cases: 300,
    seeds(room) {
      collection().memmap(join(room, "td"));
      return [filesBelow(join(room, "td"))];
    },
    read: pack,
  },
  {
    name: "shared",
    file: "a.json",
    container: "none",
    cases: 1500,
    seeds: sharedSeeds,
    read: (path) => {
      let data: unknown;
      try {
        data = JSON.parse(readFileSync(path, "utf8"));
      } catch {
        // A message that is no data at all does not arrive.
        data = null;
      }
      return fromShared(data as never);
    },
  },
  { name: "remote", file: null, container: "none", cases: 300, seeds: remoteSeeds, read: remote },
];
