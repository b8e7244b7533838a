// `zensor bench`: what this machine does: a plain loop that writes and reads, and saving and loading in each format.
import "../install.ts";
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { guarded } from "../io/base/errors.ts";
import { systemPath } from "../io/base/places.ts";
import { saveNpz } from "../io/numpy/npz.ts";
import { loadNpz } from "../io/numpy/npz-load.ts";
import { SafetensorsFile, saveSafetensors } from "../io/safetensors/safetensors.ts";
import { loadTorch } from "../io/torch/torch-file.ts";
import { saveTorch } from "../io/torch/torch-save.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { zeros } from "../tensordict/core/tensor-ops.ts";
import { TensorDict } from "../tensordict/index.ts";
import { reachable } from "./byte-paths.ts";
import { CliError } from "./errors.ts";
import { interruption } from "./lifetime.ts";
import { say } from "./output.ts";
import { progressBar } from "./progress.ts";
import { folderBeside } from "./scratch.ts";
import { bytesText, sizeOption } from "./text.ts";

/** Options of the command. */
export interface BenchOptions {
  size?: string;
  json?: boolean;
}

/** One measurement. */
interface Row {
  what: string;
  direction: "save" | "load";
  seconds: number;
  bytesPerSecond: number;
  /** Speed as a share of the plain loop's. */
  share: number;
}

type Tensors = Record<string, Tensor>;

interface Subject {
  what: string;
  save(path: string): void;
  load(path: string): void;
}

const DEFAULT_BYTES = 100_000_000;
const LEAST_BYTES = 4096;
const LOOP_BYTES = 8 * 2 ** 20;
/** Bytes of one tensor. */
const TENSOR_BYTES = 16 * 2 ** 20;
const ROUNDS = 3;
/** What headers and metadata take at most, beside the tensors. */
const SPARE_BYTES = 16 * 2 ** 20;

/** Tensors of float32 with different elements, of so many bytes together. */
function tensorsOf(nbytes: number): Tensors {
  const tensors: Tensors = {};
  for (let at = 0; at < nbytes; at += TENSOR_BYTES) {
    const length = Math.floor(Math.min(TENSOR_BYTES, nbytes - at) / 4);
    if (length === 0) break;
    const tensor = zeros([length]);
    const bytes = new Uint8Array(tensor.typedArray().buffer as ArrayBuffer, 0, length * 4);
    // Files of zeros may cost nothing.
    for (let i = 0; i < bytes.length; i += 65536) crypto.getRandomValues(bytes.subarray(i, i + 65536));
    tensors[`t${Object.keys(tensors).length}`] = tensor;
  }
  return tensors;
}

/** Takes every byte of loaded tensors into memory that is there already. */
function readAll(tensors: Iterable<Tensor>, room: Tensor): void {
  for (const tensor of tensors) room.narrow(0, 0, tensor.numel()).copy_(tensor);
}

function plainLoop(nbytes: number): Subject {
  const bytes = crypto.getRandomValues(new Uint8Array(65536));
  const part = new Uint8Array(LOOP_BYTES);
  for (let at = 0; at < part.length; at += bytes.length) part.set(bytes, at);
  const loop = (path: string, flags: string, step: (fd: number, length: number) => number) => {
    const fd = guarded(path, () => openSync(path, flags));
    try {
      for (let at = 0; at < nbytes; ) at += guarded(path, () => step(fd, Math.min(part.length, nbytes - at)));
    } finally {
      closeSync(fd);
    }
  };
  return {
    what: "plain loop",
    save: (path) => loop(path, "wx", (fd, length) => writeSync(fd, part, 0, length)),
    load: (path) =>
      loop(path, "r", (fd, length) => {
        const got = readSync(fd, part, 0, length, null);
        if (got === 0) throw new CliError(`${path} became shorter while it was read.`);
        return got;
      }),
  };
}

function subjects(tensors: Tensors, nbytes: number): Subject[] {
  const td = new TensorDict(tensors);
  const room = zeros([TENSOR_BYTES / 4]);
  const entries = (loaded: TensorDict) => [...loaded.values()] as Tensor[];
  return [
    plainLoop(nbytes),
    {
      what: "directory",
      save: (path) => void td.memmap(path),
      load: (path) => readAll(entries(TensorDict.loadMemmap(path, { mode: "r" })), room),
    },
    {
      what: ".tdz",
      save: (path) => void td.memmap(path, { archive: true }),
      load: (path) => readAll(entries(TensorDict.loadMemmap(path, { mode: "r" })), room),
    },
    {
      what: ".safetensors",
      save: (path) => saveSafetensors(tensors, path),
      load: (path) => readAll(new SafetensorsFile(path).tensors().values(), room),
    },
    {
      what: ".pt",
      save: (path) => saveTorch(tensors, path),
      load: (path) => readAll(Object.values(loadTorch(path) as Tensors), room),
    },
    {
      what: ".npz",
      save: (path) => saveNpz(`${path}.npz`, tensors),
      load: (path) => readAll(Object.values(loadNpz(`${path}.npz`)), room),
    },
  ];
}

function seconds(work: () => void): number {
  const begin = performance.now();
  work();
  return (performance.now() - begin) / 1000;
}

async function measure(all: readonly Subject[], folder: string, signal: AbortSignal): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>();
  const bar = progressBar("saves and loads");
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, { what, save, load }] of all.entries()) {
        const inner = mkdtempSync(join(folder, "round-"));
        const path = join(inner, "data");
        for (const [direction, work] of [
          ["save", save],
          ["load", load],
        ] as const) {
          const key = `${direction} ${what}`;
          times.set(key, [...(times.get(key) ?? []), seconds(() => work(path))]);
          // Lets an interruption through.
          await Bun.sleep(0);
          signal.throwIfAborted();
        }
        rmSync(inner, { recursive: true });
        bar.update(round * all.length + i + 1, ROUNDS * all.length);
      }
    }
  } finally {
    bar.stop();
  }
  return times;
}

function rowsOf(all: readonly Subject[], times: ReadonlyMap<string, number[]>, nbytes: number): Row[] {
  const median = (direction: string, what: string) => {
    return (times.get(`${direction} ${what}`) as number[]).toSorted((a, b) => a - b)[ROUNDS >> 1] as number;
  };
  return (["save", "load"] as const).flatMap((direction) => {
    const plain = median(direction, "plain loop");
    return all.map(({ what }) => {
      const time = median(direction, what);
      return { what, direction, seconds: time, bytesPerSecond: nbytes / time, share: plain / time };
    });
  });
}

function requireRoom(folder: string, nbytes: number, named: string): void {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) throw new CliError(`${named} is no directory.`);
  const { bavail, bsize } = guarded(folder, () => statfsSync(folder));
  if (nbytes + SPARE_BYTES > bavail * bsize) {
    throw new CliError(`${bytesText(nbytes)} do not fit: ${named} has ${bytesText(bavail * bsize)} left.`);
  }
  if (nbytes > totalmem() / 2) {
    throw new CliError(`${bytesText(nbytes)} are more than half of this machine's memory, where they are kept.`);
  }
}

/** Measures and prints; whatever was written is removed. */
export async function bench(place: string | undefined, options: BenchOptions): Promise<void> {
  const nbytes = Math.floor(sizeOption("size", options.size, DEFAULT_BYTES, LEAST_BYTES) / 4) * 4;
  const where = systemPath(reachable(place ?? "."));
  requireRoom(where, nbytes, place ?? where);
  const signal = interruption();
  const folder = guarded(where, () => folderBeside(join(where, "zensor-bench")));
  try {
    const all = subjects(tensorsOf(nbytes), nbytes);
    const rows = rowsOf(all, await measure(all, folder, signal), nbytes);
    if (options.json) say(JSON.stringify({ folder: place ?? where, nbytes, rounds: ROUNDS, rows }, null, 2));
    else print(rows, nbytes);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(rows: readonly Row[], nbytes: number): void {
  for (const { what, direction, seconds: time, bytesPerSecond, share } of rows) {
    const speed = `${(bytesPerSecond / 1e9).toFixed(2)} GB/s`.padStart(11);
    const part = `${Math.round(share * 100)} %`.padStart(6);
    say(`${direction}  ${what.padEnd(12)}  ${`${(time * 1000).toFixed(1)} ms`.padStart(10)}${speed}${part}`);
  }
  say(`${bytesText(nbytes)}, the middle of ${ROUNDS} rounds; shares are of the plain loop's speed.`);
  say("Nothing was flushed to the disk: what is read lies in the system's cache.");
}
