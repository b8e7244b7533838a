// Small files that are made to take all time or memory, of every format: each is refused by name, or read as what it
// is.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { arange, io, TensorDict } from "../../src/index.ts";
import { packZip, type ZipPart } from "../fuzz/containers.ts";
import { readHdf5 } from "./formats-readers.ts";

/** A file, how it is read, and what is said of it when it is to be refused. */
export interface Made {
  path: string;
  read(path: string): unknown;
  refusal: RegExp | null;
}

/** One of them. */
export interface Maker {
  name: string;
  /** It takes an engine for HDF5 files, this one if it says so. */
  hdf5?: "any" | "libhdf5";
  make(room: string): Made;
}

const LINKS = join(import.meta.dir, "..", "fixtures", "hdf5", "links");
const EMPTY_ZIP = Buffer.from(`PK\x05\x06${"\0".repeat(18)}`, "latin1");

function file(room: string, name: string, bytes: Uint8Array | string): string {
  const path = join(room, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  return path;
}

function zip(room: string, name: string, parts: readonly ZipPart[]): string {
  return file(
    room,
    name,
    packZip(EMPTY_ZIP, () => [...parts]),
  );
}

function u32(n: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(n);
  return bytes;
}

// ---- HDF5

function hdf5(name: string, refusal: RegExp | null, engine: "any" | "libhdf5" = "any"): Maker {
  const make = (room: string): Made => {
    const packed = name.endsWith(".gz");
    const bytes = readFileSync(join(LINKS, name));
    return { path: file(room, "a.h5", packed ? gunzipSync(bytes) : bytes), read: readHdf5, refusal };
  };
  return { name: `HDF5: ${name}`, hdf5: engine, make };
}

const HDF5: Maker[] = [
  hdf5("diamond.h5", /too many paths lead to the same groups|more than 32 groups/),
  hdf5("around.h5", /the group 'g\/up' holds itself: it is a link to the whole file/),
  hdf5("soft.h5", /the group 's0' holds itself/, "libhdf5"),
  hdf5("copies.h5", /too many paths lead to the same datasets/),
  hdf5("twice.h5", null),
  hdf5("many.h5.gz", null),
];

// ---- directories

const LEVEL = { shape: [], device: "cpu", _type: "<class 'tensordict._td.TensorDict'>" };
const INNER = { type: "TensorDict" };
const meta = (room: string, folder: string, entries: Record<string, unknown>) =>
  dirname(file(room, `${folder}/meta.json`, JSON.stringify({ ...entries, ...LEVEL })));
const load = (path: string) => TensorDict.loadMemmap(path);
const follow = (path: string) => TensorDict.loadMemmap(path, { followLinks: true });

function around(room: string): string {
  const root = meta(room, "td", { l: INNER, r: INNER });
  for (const name of ["l", "r"]) symlinkSync(".", join(root, name));
  return root;
}

/** Folders each of which has two links to the next. */
function ladder(room: string): string {
  const root = meta(room, "td", { n0: INNER });
  for (let i = 0; i < 30; i++) {
    meta(room, `td/n${i}`, i === 29 ? {} : { l: INNER, r: INNER });
    if (i < 29) for (const name of ["l", "r"]) symlinkSync(`../n${i + 1}`, join(root, `n${i}`, name));
  }
  return root;
}

/** A folder with a link to something outside: a level, a tensor, or what a level says of itself. */
function outside(what: "level" | "tensor" | "meta") {
  return (room: string): string => {
    const there = join(room, "elsewhere");
    new TensorDict({ a: arange(3), n: new TensorDict({ b: arange(2) }, []) }, []).memmap(there);
    const root = meta(room, "td", JSON.parse(readFileSync(join(there, "meta.json"), "utf8")));
    const links: Record<string, string[]> = {
      level: ["n", "a.memmap"],
      tensor: ["a.memmap"],
      meta: ["n/meta.json", "n/b.memmap"],
    };
    if (what !== "level") mkdirSync(join(root, "n"));
    const [first = "", ...more] = links[what] as string[];
    symlinkSync(join(there, first), join(root, first));
    if (!more.includes("a.memmap") && what !== "tensor") writeFileSync(join(root, "a.memmap"), Buffer.alloc(24));
    for (const one of more) writeFileSync(join(root, one), Buffer.alloc(24));
    if (what === "tensor") {
      writeFileSync(join(root, "n/meta.json"), readFileSync(join(there, "n/meta.json")));
      writeFileSync(join(root, "n/b.memmap"), Buffer.alloc(16));
    }
    return root;
  };
}

function directory(
  name: string,
  make: (room: string) => string,
  refusal: RegExp | null,
  read: (path: string) => unknown = load,
): Maker {
  return { name: `directory: ${name}`, make: (room) => ({ path: make(room), read, refusal }) };
}

const OUT = /is a symbolic link out of the folder, to .*, and is not followed\. \{ followLinks: true \} does that$/;
const DIRECTORIES: Maker[] = [
  directory("two links to itself", around, /it is a link to a folder that it lies in/),
  directory("two links to itself, followed", around, /it is a link to a folder that it lies in/, follow),
  directory("two links to the next", ladder, /links lead to the same folders again and again/),
  directory("two links to the next, followed", ladder, /links lead to the same folders again and again/, follow),
  ...(["level", "tensor", "meta"] as const).flatMap((what) => [
    directory(`a link out of it, ${what}`, outside(what), OUT),
    directory(`a link out of it, ${what}, followed`, outside(what), null, follow),
  ]),
  directory(
    "a link of its own path",
    (room) => {
      new TensorDict({ a: arange(3) }, []).memmap(join(room, "real"));
      symlinkSync("real", join(room, "td"));
      return join(room, "td");
    },
    null,
  ),
  directory(
    "text nested deeply",
    (room) => dirname(file(room, "td/meta.json", "[".repeat(3_000_000))),
    /nesting exceeds/,
  ),
  directory(
    "an entry of 3 million lists",
    (room) => dirname(file(room, "td/meta.json", `{"a":[${"[],".repeat(3e6)}[]]}`)),
    /./,
  ),
];

// ---- archives

function npy(count: number, size = 128 + 4 * count): Uint8Array {
  const bytes = Buffer.alloc(size);
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${count},), }`.padEnd(117);
  bytes.write(`\x93NUMPY\x01\0v\0${text}\n`, "latin1");
  return bytes;
}

const stored = (name: string, content: Uint8Array | string): ZipPart => {
  return { name, content: Buffer.from(content), deflate: false };
};
const packed = (name: string, content: Uint8Array, claimed?: number): ZipPart => {
  return { name, content, deflate: true, ...(claimed === undefined ? {} : { claimed }) };
};
const times = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

function archive(name: string, refusal: RegExp | null, parts: () => ZipPart[]): Maker {
  const ending = name.split(":")[0] as string;
  const read = ending === "npz" ? (path: string) => io.loadNpz(path) : ending === "tdz" ? load : io.loadTorch;
  return { name, make: (room) => ({ path: zip(room, `a.${ending}`, parts()), read: (path) => read(path), refusal }) };
}

const P = "\x80\x02";
const bytesOf = (...parts: string[]) => Buffer.from(parts.join(""), "latin1");
const pt = (pickle: Uint8Array, more: ZipPart[] = []) => [
  stored("a/data.pkl", pickle),
  stored("a/byteorder", "little"),
  ...more,
];
/** A list of lists, each of which has the one before it twice. */
const doubled = (depth: number) => {
  const steps = times(
    depth,
    (i) => `](h${String.fromCharCode(i)}h${String.fromCharCode(i)}eq${String.fromCharCode(i + 1)}`,
  );
  return `]q\0${steps.join("")}`;
};
const storage = (key: number, count: number) =>
  `(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0${key}X\x03\0\0\0cpuJ${u32(count).toString("latin1")}tQ`;
const tensorOf = (key: number, count: number) =>
  `ctorch._utils\n_rebuild_tensor_v2\n(${storage(key, count)}K\0K\x01\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR`;

const TOO_MUCH = /bytes would become \d+: more than \d+ are read only if maxBytes says so/;
const ARCHIVES: Maker[] = [
  archive("npz: entries that claim a thousand times their size", TOO_MUCH, () =>
    times(40, (i) => packed(`a${i}.npy`, npy(25_000, 100_128), 2 ** 26)),
  ),
  archive("npz: an array that is a small part of its entry", /bytes behind its 8 of elements/, () => [
    packed("a.npy", npy(2, 2 ** 26)),
  ]),
  archive("npz: zeros", null, () => [packed("a.npy", npy(1_000_000))]),
  archive("tdz: tensors that claim a thousand times their size", TOO_MUCH, () => {
    const entries = times(40, (i) => [`k${i}`, { device: "cpu", shape: [2 ** 24], dtype: "torch.float32" }]);
    const text = JSON.stringify({ ...Object.fromEntries(entries), ...LEVEL });
    return [stored("meta.json", text), ...times(40, (i) => packed(`k${i}.memmap`, Buffer.alloc(100_000), 2 ** 26))];
  }),
  archive("tdz: metadata of spaces", /its \d+ bytes are compressed to/, () => [
    packed("meta.json", Buffer.alloc(2 ** 26, " ")),
  ]),
  archive("pt: storages that claim a thousand times their size", TOO_MUCH, () => {
    const pickle = bytesOf(P, "](", ...times(10, (i) => tensorOf(i, 2 ** 26)), "e.");
    return pt(
      pickle,
      times(10, (i) => packed(`a/data/${i}`, Buffer.alloc(300_000), 2 ** 28)),
    );
  }),
  archive("pt: a compressed pickle of one character", /its \d+ bytes are compressed to/, () => [
    packed("a/data.pkl", bytesOf(P, "X", u32(6e7).toString("latin1"), "a".repeat(6e7), ".")),
  ]),
  ...["}", "]", "N\x85", "(d", "(l", "\x8f"].map((one) =>
    archive(`pt: millions of ${JSON.stringify(one)}`, /more than \d+ lists and dicts in \d+ bytes/, () =>
      pt(bytesOf(P, "](", one.repeat(2_000_000), "e.")),
    ),
  ),
  archive("pt: millions of empty tuples", null, () => pt(bytesOf(P, "](", ")".repeat(100_000), "e."))),
  archive("pt: lists that have each other twice", null, () => pt(bytesOf(P, doubled(100), "."))),
  archive("pt: long integers", null, () =>
    pt(bytesOf(P, "](", `\x8a\xff${"\xff".repeat(254)}\x7f`.repeat(20_000), "e.")),
  ),
  archive("pt: lists in lists", /nested too deeply/, () =>
    pt(bytesOf(P, "]".repeat(200_000), "a".repeat(199_999), ".")),
  ),
  archive("pt: copies of one text", /calls that copy too much/, () =>
    pt(
      bytesOf(
        P,
        "c_codecs\nencode\nq\0X",
        u32(1e6).toString("latin1"),
        "a".repeat(1e6),
        "q\x01X\x06\0\0\0latin1q\x0200](",
        "h\0h\x01h\x02\x86R".repeat(1000),
        "e.",
      ),
    ),
  ),
];

/** A value of Python's in a directory. */
const PICKLED: Maker[] = times(2, (i) => ({
  name: `pickle.pkl: lists that have each other twice, ${i === 0 ? "stack" : "value"}`,
  make(room: string): Made {
    const pickle = i === 0 ? bytesOf(P, doubled(60), ".") : bytesOf(P, "}X\x04\0\0\0data", doubled(60), "s.");
    file(room, `td/${i === 0 ? "pickle" : "other"}.${i === 0 ? "pkl" : "pickle"}`, pickle);
    const stack = { type: "NonTensorStack", data: "pickle.pkl", stack_dim: 0, device: null };
    const value = { _type: "<class 'tensordict.tensorclass.NonTensorData'>", _metadata: {}, _is_non_tensor: true };
    const path = dirname(file(room, "td/meta.json", JSON.stringify(i === 0 ? stack : value)));
    const read = (from: string) => {
      const td = TensorDict.loadMemmap(from, { pickles: "plain" });
      return [String(td).length, td];
    };
    return { path, read, refusal: null };
  },
}));

// ---- headers

function withLength(name: string, json: string, refusal: RegExp | null): Maker {
  const make = (room: string): Made => {
    const bytes = Buffer.from(json);
    const path = file(room, "a.safetensors", Buffer.concat([u32(bytes.length), u32(0), bytes]));
    return { path, read: (from) => io.loadSafetensors(from), refusal };
  };
  return { name: `safetensors: ${name}`, make };
}

const EMPTY = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}';
const HEADERS: Maker[] = [
  withLength("a key twice", `{"a":${EMPTY},"a":${EMPTY}}`, /duplicate key "a"/),
  withLength("deep", `{"a":${"[".repeat(2_000_000)}}`, /nesting exceeds/),
  withLength("digits", `{"a":${"9".repeat(5_000_000)}}`, /too many digits/),
  withLength("lists", `{"a":[${"[],".repeat(1_000_000)}[]]}`, /is not an object/),
  withLength(
    "one range for two",
    `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`,
    /overlaps/,
  ),
];

// ---- snapshots

function snapshot(name: string, refusal: RegExp | null, manifest: () => Record<string, unknown>, key = "0/s"): Maker {
  const make = (room: string): Made => {
    const text = JSON.stringify({ version: "0.1.0", world_size: 1, manifest: manifest() });
    const path = dirname(file(room, "snapshot/.snapshot_metadata", text));
    file(room, "snapshot/0/x", Buffer.alloc(2 ** 20));
    return { path, read: (from) => new io.Snapshot(from).readObject(key), refusal };
  };
  return { name: `snapshot: ${name}`, make };
}

const piece = (offsets: number[], sizes: number[]) => {
  const [begin, end] = [0, sizes.reduce((a, b) => a * b, 1)];
  const common = { type: "Tensor", location: "0/x", serializer: "buffer_protocol", dtype: "torch.uint8" };
  return { offsets, sizes, tensor: { ...common, shape: sizes, replicated: false, byte_range: [begin, end] } };
};
const chunked = (shape: number[], chunks: unknown[]) => {
  return { "0/s": { type: "ChunkedTensor", dtype: "torch.uint8", shape, chunks, replicated: false } };
};
const SNAPSHOTS: Maker[] = [
  snapshot("keys twice", /a dict has a key twice/, () =>
    Object.fromEntries(times(60, (i) => [`0/s${"/k".repeat(i)}`, { type: "dict", keys: i === 59 ? [] : ["k", "k"] }])),
  ),
  snapshot("one piece of a file many times", /bytes of tensors are to be those of 1048576 bytes/, () =>
    chunked(
      [2 ** 30],
      times(2 ** 10, (i) => piece([i * 2 ** 20], [2 ** 20])),
    ),
  ),
  snapshot("strips of two directions", null, () => {
    const n = 4000;
    const columns = times(n, (i) => piece([0, i], [1, 1]));
    return chunked([2, n], [...columns, ...times(n, (i) => piece([1, i], [1, 1]))]);
  }),
  snapshot("crossed strips", /do not fill/, () => {
    const n = 12_000;
    const down = times(n, (i) => piece([0, i], [n / 2, 1]));
    return chunked([n, n], [...down, ...times(n, (i) => piece([(i + 1) % n, 0], [1, n / 2]))]);
  }),
];

/** Every file. */
export const MADE: readonly Maker[] = [...HDF5, ...DIRECTORIES, ...ARCHIVES, ...PICKLED, ...HEADERS, ...SNAPSHOTS];
