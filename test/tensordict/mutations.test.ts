// Seeded mutations of saved files: whatever happens to them, loading gives content or one clear error. It never
// crashes, hangs, loses an entry without a word, or touches anything.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { loadSafetensors, saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import "./classes.ts";
import { describeEntry, filesBelow, temporaryDirectory, unpack } from "./helpers.ts";

const ROUNDS = Number(process.env.ZENSOR_MUTATIONS ?? 1000);
const room = temporaryDirectory();
afterAll(room.remove);

class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  below(n: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * n);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

const TOKENS = [
  "null",
  "-1",
  "1e400",
  "9007199254740993",
  "1152921504606846976",
  "0.5",
  '""',
  "[]",
  "{}",
  '".."',
  '"torch.qint8"',
  '"torch.float64"',
  '"/etc/passwd"',
  '"\\ud800"',
  "NaN",
  "[[]]",
  '"pickle.pkl"',
  "true",
  "[2, 3]",
  "\"<class 'os.system'>\"",
];

function mutateText(bytes: Buffer, random: Random): Buffer {
  const out = Buffer.from(bytes);
  switch (random.below(6)) {
    case 0:
      out[random.below(out.length)] = random.below(256);
      return out;
    case 1:
      return out.subarray(0, random.below(out.length));
    case 2: {
      // A token in place of another one.
      const text = out.toString("latin1");
      const places = [...text.matchAll(/"[^"]*"|-?\d+|true|false|null|\[[^\][]*\]/g)];
      const place = random.pick(places);
      if (place === undefined) return out;
      const end = place.index + place[0].length;
      return Buffer.from(text.slice(0, place.index) + random.pick(TOKENS) + text.slice(end), "latin1");
    }
    case 3: {
      const from = random.below(out.length);
      const piece = out.subarray(from, from + random.below(40));
      const at = random.below(out.length);
      return Buffer.concat([out.subarray(0, at), piece, out.subarray(at)]);
    }
    case 4: {
      const from = random.below(out.length);
      return Buffer.concat([out.subarray(0, from), out.subarray(from + 1 + random.below(20))]);
    }
    default:
      return Buffer.concat([Buffer.from('{"x": ['.repeat(1 + random.below(300))), out]);
  }
}

/** Damages one file of a directory; gives its name and says how, for the message of a failure. */
function damage(root: string, random: Random): [string, string] {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
  const metas = files.filter((file) => file.endsWith("meta.json"));
  const file = metas.length > 0 && random.below(10) < 6 ? random.pick(metas) : random.pick(files);
  const path = join(root, file);
  const kind = file.endsWith(".json") ? random.below(12) : 8 + random.below(5);
  if (kind < 8) writeFileSync(path, mutateText(readFileSync(path), random));
  else if (kind === 8) rmSync(path);
  else if (kind === 9) truncateSync(path, random.below(readFileSync(path).length + 1));
  else {
    rmSync(path);
    if (kind === 10) mkdirSync(path);
    else if (kind === 11) symlinkSync("/dev/zero", path);
    else symlinkSync(join("..", "..", "missing"), path);
  }
  return [file, `${file}, way ${kind}`];
}

function isClear(error: unknown): boolean {
  return error instanceof ZensorError && error.message.length > 10 && error.message.length < 100_000;
}

const EXAMPLES = [
  "plain",
  "nested",
  "lazy_in_td",
  "lazy_dim1_hetero",
  "tensorclass_nested",
  "tensorclass_in_td",
  "names",
];
EXAMPLES.push("nontensor_str", "nontensor_root", "nontensor_stack", "metadata", "odd_keys_nested", "legacy_v0");

test(`${ROUNDS} damaged directories`, () => {
  const random = new Random(1);
  const originals = new Map(EXAMPLES.map((name) => [name, filesBelow(unpack(name, join(room.path, "good")))]));
  const outside = join(room.path, "outside");
  writeFileSync(outside, "untouched");
  let loaded = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const name = random.pick(EXAMPLES);
    const path = join(room.path, "good", name);
    const damaged = [damage(path, random)];
    if (random.below(3) === 0 && originals.get(name)?.size !== 1) damaged.push(damage(path, random));
    const how = damaged.map(([, way]) => way).join(" and ");
    const before = sizes(path);
    try {
      // Reading everything must work when loading did.
      describeEntry(TensorDict.loadMemmap(path) as unknown as Td);
      loaded++;
    } catch (error) {
      if (!isClear(error)) throw new Error(`round ${round}, ${name}: ${how}`, { cause: error });
    }
    if (sizes(path) !== before) throw new Error(`round ${round}: loading changed ${how}`);
    for (const [file] of damaged) {
      rmSync(join(path, file), { recursive: true, force: true });
      writeFileSync(join(path, file), originals.get(name)?.get(file) as Buffer);
    }
  }
  expect(readFileSync(outside, "utf8")).toBe("untouched");
  // Some mutations are harmless, most are not: a loader that refuses or accepts everything proves nothing.
  expect(loaded).toBeGreaterThan(ROUNDS / 50);
  expect(loaded).toBeLessThan(ROUNDS / 1.5);
}, 120_000);

/** Names and sizes of everything below a directory. */
function sizes(root: string): string {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries.map((entry) => `${entry.name} ${lstatSync(join(entry.parentPath, entry.name)).size}`).join("\n");
}

test(`${ROUNDS} damaged safetensors files`, () => {
  const random = new Random(2);
  const good = join(room.path, "good.safetensors");
  const bytes = tensor([1n, 2n, 3n]);
  saveSafetensors({ "a.b": zeros([2, 3]), w: bytes, e: zeros([0, 4]), ключ: tensor(true) }, good, {
    metadata: { format: "pt" },
  });
  const original = readFileSync(good);
  const header = Number(original.readBigUInt64LE());
  const path = join(room.path, "damaged.safetensors");
  let loaded = 0;
  for (let round = 0; round < ROUNDS; round++) {
    let file = Buffer.from(original);
    const kind = random.below(4);
    if (kind === 0)
      file.writeBigUInt64LE(BigInt(random.pick([0, 1, 7, header - 1, header + 1, 1e8, 2 ** 40, 2 ** 53])));
    else if (kind === 1) file = file.subarray(0, random.below(file.length));
    else if (kind === 2) file[random.below(8 + header)] = random.below(256);
    else {
      const json = mutateText(file.subarray(8, 8 + header), random);
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(json.length));
      file = Buffer.concat([length, json, file.subarray(8 + header)]);
    }
    writeFileSync(path, file);
    try {
      const tensors = loadSafetensors(path);
      for (const t of Object.values(tensors)) (t as Tensor).tolist();
      loaded++;
    } catch (error) {
      if (!isClear(error)) throw new Error(`round ${round}, way ${kind}`, { cause: error });
    }
    expect(readFileSync(path).equals(file)).toBe(true);
  }
  expect(loaded).toBeGreaterThan(ROUNDS / 100);
  expect(loaded).toBeLessThan(ROUNDS / 2);
}, 120_000);
