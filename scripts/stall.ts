// How long the event loop stands still while a gigabyte is saved by each method that returns a promise: the longest
// time between two ticks of a timer of one millisecond, and the most processor time that the program's own thread used
// between two ticks, which other programs on the machine do not add to. Each save runs three times. Needs 6 GB of disk.
// bun scripts/stall.ts [FOLDER] [NAME OF A METHOD]
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, io, TensorDict, tensordict } from "../src/index.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import type { Td } from "../src/tensordict/core/state.ts";

const MIB = 2 ** 20;
const ROUNDS = 3;
/** What Linux tells of the first thread: nanoseconds on a processor. */
const SCHEDULE = `/proc/self/task/${process.pid}/schedstat`;

/** A gigabyte in tensors of so many elements. */
function collection(count: number, transposed = false): Td {
  const elements = Math.floor((1024 * MIB) / 4 / count / 1024) * 1024;
  const entries: Record<string, unknown> = {};
  for (let i = 0; i < count; i++) {
    const flat = arange(elements).float().add_(i);
    entries[`w${i}`] = transposed ? flat.view(1024, -1).t() : flat;
  }
  return new TensorDict(entries, []) as unknown as Td;
}

interface Method {
  name: string;
  source: () => Td;
  save: (td: Td, path: string) => Promise<unknown>;
}

const few = () => collection(8);
const many = () => collection(1000);
const gaps = () => collection(8, true);
const named = (td: Td) => Object.fromEntries([...td.items()]) as Parameters<typeof io.saveNpzAsync>[1];

const METHODS: Method[] = [
  { name: "memmapAsync", source: few, save: (td, path) => td.memmapAsync(path) },
  { name: "memmapAsync, 1000 tensors", source: many, save: (td, path) => td.memmapAsync(path) },
  { name: "memmapAsync, transposed tensors", source: gaps, save: (td, path) => td.memmapAsync(path) },
  { name: "memmapAsync, atomic", source: few, save: (td, path) => td.memmapAsync(path, { atomic: true }) },
  { name: "memmapAsync into shared memory", source: few, save: (td) => td.memmapAsync(null) },
  { name: "memmapAsync to .tdz", source: few, save: (td, path) => td.memmapAsync(`${path}.tdz`) },
  { name: "memmapAsync to .tdz, 1000 tensors", source: many, save: (td, path) => td.memmapAsync(`${path}.tdz`) },
  { name: "consolidateAsync into a file", source: few, save: (td, path) => td.consolidateAsync({ filename: path }) },
  { name: "consolidateAsync into memory", source: few, save: (td) => td.consolidateAsync() },
  { name: "toSafetensorsAsync", source: few, save: tensordict.toSafetensorsAsync },
  { name: "toSafetensorsAsync, 1000 tensors", source: many, save: tensordict.toSafetensorsAsync },
  { name: "saveTorchAsync", source: few, save: (td, path) => io.saveTorchAsync(td, path) },
  { name: "saveTorchAsync, 1000 tensors", source: many, save: (td, path) => io.saveTorchAsync(td, path) },
  { name: "saveNpzAsync", source: few, save: (td, path) => io.saveNpzAsync(path, named(td)) },
  {
    name: "toH5Async",
    source: few,
    save: async (td, path) => (await td.toH5Async(path)).close(),
  },
  {
    name: "toH5Async, 64 MiB compressed",
    source: few,
    save: async (td, path) => {
      const part = new TensorDict({ w: (td.get("w0" as never) as Tensor).narrow(0, 0, 16 * MIB) }, []);
      (await part.toH5Async(path, { compression: "gzip" })).close();
    },
  },
  {
    name: "Snapshot.asyncTake",
    source: few,
    save: async (td, path) => {
      const appState = { state: new io.StateDict(named(td) as Record<string, unknown>) };
      // A place holds one snapshot.
      await (await io.Snapshot.asyncTake({ path: `${path}-${Date.now()}`, appState })).wait();
    },
  },
  {
    name: "saveNpzAsync, compressed",
    source: few,
    save: (td, path) => io.saveNpzAsync(path, named(td), { compressed: true }),
  },
];

/** Milliseconds that the program's first thread has had a processor. */
function used(): number {
  const text = existsSync(SCHEDULE) ? readFileSync(SCHEDULE, "latin1") : "0";
  return Number(text.split(" ")[0]) / 1e6;
}

interface Round {
  /** The longest time between two ticks. */
  gap: number;
  /** The most processor time between two ticks. */
  busy: number;
  whole: number;
}

async function round(work: () => Promise<unknown>): Promise<Round> {
  const most = { gap: 0, busy: 0 };
  let [last, lastUsed] = [performance.now(), used()];
  const tick = () => {
    const [now, nowUsed] = [performance.now(), used()];
    most.gap = Math.max(most.gap, now - last);
    most.busy = Math.max(most.busy, nowUsed - lastUsed);
    [last, lastUsed] = [now, nowUsed];
  };
  const timer = setInterval(tick, 1);
  const start = last;
  await work();
  tick();
  clearInterval(timer);
  return { ...most, whole: last - start };
}

async function measure({ name, source, save }: Method, folder: string): Promise<void> {
  const td = source();
  const rounds: Round[] = [];
  const target = join(folder, "saved");
  for (let i = 0; i < ROUNDS; i++) {
    Bun.gc(true);
    // The second round finds what the first one wrote, and replaces it.
    rounds.push(await round(() => save(td, target)));
  }
  for (const path of [target, `${target}.tdz`, `${target}.npz`]) {
    if (existsSync(path)) rmSync(path, { recursive: true });
  }
  const list = (key: keyof Round) => {
    const values = rounds.map((each) => each[key]);
    return `${Math.min(...values)
      .toFixed(1)
      .padStart(6)} (${values.map((n) => n.toFixed(1)).join(", ")})`.padEnd(32);
  };
  const seconds = (Math.min(...rounds.map(({ whole }) => whole)) / 1000).toFixed(1);
  console.log(`${name.padEnd(36)}${list("gap")}${list("busy")}${seconds.padStart(6)} s`);
}

const folder = join(process.argv[2] ?? tmpdir(), `zensor-stall-${process.pid}`);
mkdirSync(folder, { recursive: true });
try {
  const head = ["longest stall: least (all), ms", "processor time in it", "  time"];
  console.log(`${"1 GB".padEnd(36)}${head.map((text) => text.padEnd(32)).join("")}`);
  for (const method of METHODS) {
    if (process.argv[3] === undefined || method.name.startsWith(process.argv[3])) await measure(method, folder);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
