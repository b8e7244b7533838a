// Damaged and made-up files for one kind of reader, in a process of its own:
//   formats-program.ts flips NAME ROOM FROM TO   cases of a reader of `FLIPPED`: changed bytes
//   formats-program.ts made NAME ROOM FROM TO    files of `MADE`; NAME is the engine for HDF5, or "none"
// Prints "begin N" before each case, "failure N TEXT" for one that breaks a rule, and "done JSON" at the end.
import { mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { errors } from "../../src/index.ts";
import "../fuzz/classes.ts";
import { Choices } from "../fuzz/choices.ts";
import type { Files } from "../fuzz/damage.ts";
import { type Reader, readAll } from "../fuzz/reader-helpers.ts";
import { MADE, type Maker } from "./formats-made.ts";
import { FLIPPED } from "./formats-readers.ts";

const [kind = "", name = "", room = "", from = "0", to = "0"] = process.argv.slice(2);
/** So much time and memory beside the file's own may a small file take. */
const LIMIT_MS = Number(process.env.ZENSOR_ATTACK_LIMIT_MS ?? 6000);
const LIMIT_MIB = 400;
const OWN = [errors.RuntimeError, errors.KeyError, errors.ValueError, errors.TypeError, errors.NotImplementedError];
const LEAKED =
  /undefined is not|is not a function|Cannot read prop|is not iterable|out of memory|call stack|WebAssembly/i;
const COLLECT_EVERY = 50;

/** Peak of this process's memory in MiB since the last reset. */
function peak(): number {
  if (process.platform !== "linux") return process.memoryUsage.rss() / 2 ** 20;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
}

function resetPeak(): void {
  Bun.gc(true);
  if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
}

/** Milliseconds in which this process worked, whatever else the machine does. */
function worked(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const counts = { cases: 0, read: 0, refused: 0, slowest: 0, grown: 0 };

/** Reads a file, and says what is wrong with that. */
async function attempt(number: number, read: () => unknown, refusal: RegExp | null, what = name): Promise<void> {
  const failure = (number: number, text: string) => {
    writeSync(1, `failure ${number} ${JSON.stringify(`${what} ${number}: ${text}`)}\n`);
  };
  resetPeakOften(number);
  const [before, start] = [peak(), worked()];
  writeSync(1, `begin ${number}\n`);
  let outcome = "read";
  try {
    readAll(await read());
  } catch (error) {
    outcome = `refused: ${String(error)}`;
    const { message = "", path, stack = String(error) } = (error ?? {}) as Error & { path?: string };
    const own = OWN.some((one) => error instanceof one) && "code" in (error as Error);
    if (!own || message === "" || LEAKED.test(message)) failure(number, `an error of another kind: ${stack}`);
    else if (refusal !== null && !refusal.test(message)) failure(number, `refused with ${message}`);
    else if (refusal !== null && path === undefined && !message.includes(room))
      failure(number, `no file in: ${message}`);
  }
  const [ms, grown] = [worked() - start, peak() - before];
  counts.cases++;
  counts[outcome === "read" ? "read" : "refused"]++;
  counts.slowest = Math.max(counts.slowest, Math.round(ms));
  counts.grown = Math.max(counts.grown, Math.round(grown));
  if (refusal !== null && outcome === "read") failure(number, "it was read");
  if (ms > LIMIT_MS) failure(number, `it took ${Math.round(ms)} ms (${outcome})`);
  if (grown > LIMIT_MIB) failure(number, `it took ${Math.round(grown)} MiB (${outcome})`);
}

let sinceReset = COLLECT_EVERY;
function resetPeakOften(number: number): void {
  if (sinceReset++ < COLLECT_EVERY && number > 0) return;
  sinceReset = 0;
  resetPeak();
}

/** Case `number`: one byte of one of the files, the places in turn. */
function flipped(seeds: readonly Files[], number: number): Files {
  const files = new Map(seeds[number % seeds.length] as Files);
  const names = [...files.keys()].filter((file) => (files.get(file) as Uint8Array).length > 0);
  const total = names.reduce((sum, file) => sum + (files.get(file) as Uint8Array).length, 0);
  // Steps of the golden ratio: few cases are spread over all of the file, many come to each of its places.
  let at = Math.floor(((number * 0.6180339887498949) % 1) * total);
  for (const file of names) {
    const bytes = files.get(file) as Uint8Array;
    if (at < bytes.length) {
      const changed = Uint8Array.from(bytes);
      const byte = bytes[at] as number;
      const others = [byte ^ 255, byte ^ 1, 127, 0, 255, byte + 1, byte ^ 128, 0x80, byte ^ 32];
      changed[at] = others[Math.floor(number / seeds.length) % others.length] as number;
      files.set(file, changed);
      break;
    }
    at -= bytes.length;
  }
  return files;
}

function write(folder: string, files: Files): void {
  // New files each time: what is mapped still must not change.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [file, bytes] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), bytes);
  }
}

/** The smaller ones of a reader's files. */
function seedsOf(reader: Reader): Files[] {
  const own = join(room, "seeds");
  mkdirSync(own, { recursive: true });
  const size = (files: Files) => [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);
  const all = reader.seeds(own).sort((a, b) => size(a) - size(b));
  rmSync(own, { recursive: true });
  const small = all.filter((files) => size(files) <= 16 * 1024);
  return (small.length === 0 ? all.slice(0, 1) : small).slice(0, 4);
}

if (kind === "flips") {
  const reader = FLIPPED.find((one) => one.name === name) as Reader;
  const seeds = seedsOf(reader);
  const folder = join(room, "case");
  const target = reader.file === null ? folder : join(folder, reader.file);
  for (let number = Number(from); number < Number(to); number++) {
    write(folder, flipped(seeds, number));
    await attempt(number, () => reader.read(target, new Choices(number)), null);
  }
} else {
  for (let number = Number(from); number < Math.min(Number(to), MADE.length); number++) {
    const { name: what, hdf5, make } = MADE[number] as Maker;
    if (name === "none" ? hdf5 !== undefined : hdf5 === undefined || (hdf5 === "libhdf5" && name !== hdf5)) continue;
    sinceReset = COLLECT_EVERY;
    const { path, read, refusal } = make(join(room, `made${number}`));
    await attempt(number, () => read(path), refusal, what);
  }
}
writeSync(1, `done ${JSON.stringify(counts)}\n`);
process.exit(0);
