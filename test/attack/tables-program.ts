// Damaged and crafted tables, in a process of its own: one that hangs or takes all memory ends it alone.
//   tables-program.ts FOLDER SEED ROUNDS FORMAT FROM   byte flips of a format's good files, from the case FROM on
//   tables-program.ts FOLDER SEED ROUNDS make          writes the crafted files
//   tables-program.ts FOLDER SEED ROUNDS crafted FROM  reads them
// Prints "begin CASE" before each, "failure CASE TEXT" for one that breaks a rule, and "done JSON" at the end.
import "../../src/install.ts";
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errors, io, NonTensorStack, Tensor, TensorDict, tensordict } from "../../src/index.ts";
import { Choices, hostileNumbers } from "../fuzz/choices.ts";
import { crafted, type Format, goodFiles } from "./table-files.ts";

const [folder = "", seedText = "1", rounds = "0", what = "", from = "0"] = process.argv.slice(2);
const LIMIT_MS = 6000;
const LIMIT_MIB = 700;
const LEAKED =
  /wasm|undefined is not|null is not|out of bounds|is not a function|Cannot read|call stack|out of memory/i;
/** Python's words, which name no file. */
const PYTHONS = /^JSON file must contain an array|^The Arrow column/;
const counts = { cases: 0, read: 0, refused: 0, slowest: 0, peakMiB: 0 };

function peakMiB(): number {
  if (process.platform !== "linux") return process.memoryUsage.rss() >> 20;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) >> 10;
}

function resetPeak(): void {
  Bun.gc(true);
  if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
}

/** Milliseconds in which this process could run. */
function clock(): number {
  if (process.platform !== "linux") return performance.now();
  return performance.now() - Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
}

/** Reads all of a table, at once or part by part. */
async function readAll(path: string, format: Format, inParts: boolean): Promise<void> {
  const all: TensorDict[] = [];
  if (inParts) {
    const options = { format, nulls: "fill", rows: 1000 } as const;
    for await (const part of tensordict.readTable(path, options)) if (all.length < 20) all.push(part as never);
  } else if (format === "arrow") all.push(TensorDict.fromArrow(path, { nulls: "fill" }) as never);
  else if (format === "parquet") all.push(TensorDict.fromParquet(path) as never);
  else if (format === "csv") all.push(TensorDict.fromCsv(path) as never);
  else all.push(TensorDict.fromJson(path, { lines: format === "jsonl" }) as never);
  for (const td of all) {
    if (td.numel() < 10_000 && [...td.keys()].length < 200) String(td);
    for (const key of td.keys()) lookAt(td.get(key as never));
  }
}

/** Reads all of an entry that is not too large to be looked at. */
function lookAt(entry: unknown): void {
  if (entry instanceof NonTensorStack) {
    if (entry.length < 10_000) entry.tolist();
  } else if (entry instanceof TensorDict) {
    for (const key of entry.keys()) lookAt(entry.get(key as never));
  } else if (entry instanceof Tensor) {
    if (entry.numel() < 10_000) entry.typedArray();
  } else {
    const rows = entry as { length: number; unbind(): unknown[] };
    if (rows.length < 1000) for (const row of rows.unbind()) lookAt(row);
  }
}

function wrong(error: unknown, path: string): string | null {
  const { message = "", stack = String(error) } = (error ?? {}) as Error;
  const own =
    error instanceof io.FormatError || error instanceof errors.ValueError || error instanceof errors.RuntimeError;
  const isClear =
    own && !LEAKED.test(message) && message.length < 1000 && (message.includes(path) || PYTHONS.test(message));
  return isClear ? null : `an unclear error: ${stack.slice(0, 800)}`;
}

async function attempt(name: string, path: string, format: Format, inParts: boolean): Promise<void> {
  writeSync(1, `begin ${name}\n`);
  const say = (text: string) => writeSync(1, `failure ${JSON.stringify(`${name}: ${text}`)}\n`);
  const start = clock();
  try {
    await readAll(path, format, inParts);
    counts.read++;
  } catch (error) {
    counts.refused++;
    const unclear = wrong(error, path);
    if (unclear !== null) say(unclear);
  }
  const ms = Math.round(clock() - start);
  counts.cases++;
  counts.slowest = Math.max(counts.slowest, ms);
  if (ms > LIMIT_MS) say(`it took ${ms} ms`);
  const peak = peakMiB();
  counts.peakMiB = Math.max(counts.peakMiB, peak);
  if (peak > LIMIT_MIB) say(`it took ${peak} MiB of memory`);
  if (peak > LIMIT_MIB / 2) resetPeak();
}

/** One byte at each place in turn, then damage of many kinds. */
function damaged(good: Uint8Array, number: number, choices: Choices): Uint8Array {
  const bytes = new Uint8Array(good);
  if (number < good.length) {
    const old = bytes[number] as number;
    bytes[number] = choices.pick([old ^ 1, old ^ 128, 255 - old, 0, 127, 255, choices.below(256)]);
    return bytes;
  }
  const kind = choices.below(8);
  if (kind === 0) return bytes.subarray(0, choices.below(bytes.length));
  if (kind === 1) {
    const at = choices.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(choices.below(bytes.length))]);
  }
  if (kind === 2 && bytes.length >= 8) {
    const at = choices.below(bytes.length - 7);
    new DataView(bytes.buffer).setBigInt64(at, BigInt.asIntN(64, choices.pick(hostileNumbers(bytes.length))), true);
    return bytes;
  }
  for (let i = choices.below(6); i >= 0; i--)
    bytes[choices.below(bytes.length)] = choices.pick([0, 1, 127, 128, 255, choices.below(256)]);
  return bytes;
}

resetPeak();
const craftedPath = (i: number, format: Format) => join(folder, `crafted-${i}.${format}`);
if (what === "make") {
  for (const [i, { format, make }] of crafted().entries()) writeFileSync(craftedPath(i, format), make());
} else if (what === "crafted") {
  const good = goodFiles().filter(({ name }) => name === "nulls.parquet" || name === "nulls.arrow");
  for (const [i, { name, format }] of crafted().entries()) {
    if (i < Number(from)) continue;
    const path = craftedPath(i, format);
    for (const inParts of [false, true])
      await attempt(`${i} ${name}${inParts ? ", in parts" : ""}`, path, format, inParts);
    // What cannot be read leaves nothing behind that keeps others from being read.
    for (const one of good) await readAll(one.path, one.format, false);
  }
} else {
  const format = what as Format;
  const files = goodFiles().filter((one) => one.format === format);
  let number = 0;
  const path = join(folder, `damaged.${format}`);
  for (const { name, bytes, every } of files) {
    const places = Number(rounds) > 0 ? 1 : every;
    const total = bytes.length + Math.ceil(Number(rounds) / files.length);
    for (let i = 0; i < total; i += i < bytes.length ? places : 1, number++) {
      if (number < Number(from)) continue;
      const choices = new Choices(Math.imul(Number(seedText), 1_000_003) ^ Math.imul(number + 1, 0x9e3779b1));
      writeFileSync(path, damaged(bytes, i, choices));
      await attempt(
        `${number} ${name}, ${i < bytes.length ? `byte ${i}` : `damage ${i}`}`,
        path,
        format,
        number % 3 === 0,
      );
    }
  }
}
writeSync(1, `done ${JSON.stringify(counts)}\n`);
process.exit(0);
