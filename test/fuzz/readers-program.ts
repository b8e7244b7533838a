// Damaged files for one reader, in a process of its own: a crash would end it.
//   readers-program.ts TABLE READER SEED ROOM FROM TO [SECONDS]
//                      the cases from FROM to below TO, or until the time is over, for a reader of READERS in TABLE
// Prints "begin N" before each case, "failure N TEXT" for one that breaks a rule, and "done JSON" at the end.
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errors } from "../../src/index.ts";
import "./classes.ts";
import { Choices } from "./choices.ts";
import { damagedDirectory, damagedFile, type Files, type Odd } from "./damage.ts";
import { type Reader, readAll } from "./reader-helpers.ts";

const [table = "", name = "", seedText = "1", room = "", from = "0", to = "0", seconds] = process.argv.slice(2);
const { READERS } = (await import(table)) as { READERS: readonly Reader[] };
const reader = READERS.find((one) => one.name === name) as Reader;
const LIMIT_MS = Number(process.env.ZENSOR_FUZZ_LIMIT_MS ?? 5000);
const LIMIT_KIB = 512 * 1024;
const COLLECT_EVERY = 100;
const OWN = [errors.RuntimeError, errors.KeyError, errors.ValueError, errors.TypeError];
const LEAKED = /undefined is not|is not a function|Cannot read prop|is not iterable|out of memory/i;

/** Peak of the memory of this process since the last reset, in KiB; elsewhere than on Linux what it is now. */
function peak(): number {
  if (process.platform !== "linux") return process.memoryUsage.rss() / 1024;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}

function resetPeak(): void {
  Bun.gc(true);
  if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
}

/** Milliseconds that pass, without those in which this process could run and the machine did something else. */
function clock(): number {
  if (process.platform !== "linux") return performance.now();
  const waited = Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]);
  return performance.now() - waited / 1e6;
}

/** Names, kinds, sizes and times of all that is below a folder; links are not followed. */
function listing(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map((file) => {
      const path = join(folder, file);
      const stat = lstatSync(path);
      const { ino, size, mtimeMs, ctimeMs, mode } = stat;
      const below = stat.isDirectory() ? `\n${listing(path)}` : "";
      return `${file} ${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}${below}`;
    });
  return lines.join("\n");
}

const folder = join(room, "case");
const target = reader.file === null ? folder : join(folder, reader.file);
const around = ["outside", "temporary", "work"].map((part) => join(room, part));

/** Always the first choice: nothing is wrong. */
class Honest extends Choices {
  override below(): number {
    return 0;
  }
  constructor() {
    super(0);
  }
}

function write(files: Map<string, Uint8Array | Odd>): void {
  // New files each time: what is mapped still must not change.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [file, content] of files) {
    const path = join(folder, file);
    if (content === "missing") continue;
    mkdirSync(dirname(path), { recursive: true });
    if (content === "directory") mkdirSync(path, { recursive: true });
    else if (content instanceof Uint8Array) writeFileSync(path, content);
    else symlinkSync(content.link, path);
  }
}

function damaged(seeds: readonly Files[], choices: Choices): Map<string, Uint8Array | Odd> {
  const index = choices.below(seeds.length);
  const files = seeds[index] as Files;
  const other = choices.pick(seeds);
  choices.done.push(`file ${index}`);
  if (reader.file === null) return damagedDirectory(files, choices, other);
  const [bytes, foreign] = [files, other].map((f) => f.get(reader.file as string)) as [Uint8Array, Uint8Array];
  return new Map([[reader.file, damagedFile(reader.container, bytes, choices, foreign)]]);
}

/** What is wrong with an error; null when it is one that a reader may give. */
function wrongError(error: unknown): string | null {
  const { stack = String(error), message = "" } = (error ?? {}) as Error;
  const own = OWN.some((kind) => error instanceof kind) && "code" in (error as Error);
  return own && message !== "" && !LEAKED.test(message) ? null : `an error of another kind: ${stack.slice(0, 1500)}`;
}

/** Peak of the memory before the first case. */
let before = 0;
const counts = { seeds: 0, whole: 0, cases: 0, read: 0, refused: 0, slowest: 0, grownMiB: 0 };

function failure(number: number, choices: Choices, text: string): void {
  const again = `ZENSOR_FUZZ_READER=${name} ZENSOR_FUZZ_SEED=${seedText} ZENSOR_FUZZ_CASE=${number}`;
  const all = `${again} (${choices.done.join("; ")}): ${text}`;
  writeSync(1, `failure ${number} ${JSON.stringify(all)}\n`);
}

/** Damages a file and reads it; says how long that took. */
async function attempt(number: number, seeds: readonly Files[], last: boolean): Promise<number> {
  const choices = new Choices(Math.imul(Number(seedText), 1_000_003) ^ Math.imul(number + 1, 0x9e3779b1));
  write(damaged(seeds, choices));
  const listings = [...around, folder].map(listing);
  writeSync(1, `begin ${number}\n`);
  const start = clock();
  let refusal: { error: unknown } | null = null;
  try {
    readAll(await reader.read(target, choices));
  } catch (error) {
    refusal = { error };
  }
  const ms = clock() - start;
  // The machine may have had other work to do: what took long is read again.
  if (ms > LIMIT_MS && !last) return ms;
  counts.cases++;
  if (refusal === null) counts.read++;
  else counts.refused++;
  const wrong = refusal === null ? null : wrongError(refusal.error);
  if (wrong !== null) failure(number, choices, wrong);
  if (ms > LIMIT_MS) failure(number, choices, `it took ${Math.round(ms)} ms`);
  const grown = peak() - before;
  counts.grownMiB = Math.max(counts.grownMiB, Math.round(grown / 1024));
  if (grown > LIMIT_KIB) {
    failure(number, choices, `it took ${Math.round(grown / 1024)} MiB of memory`);
    resetPeak();
  }
  const changed = [...around, folder].filter((place, i) => listing(place) !== listings[i]);
  if (changed.length > 0) failure(number, choices, `it changed ${changed}`);
  return ms;
}

async function run(number: number, seeds: readonly Files[]): Promise<void> {
  let ms = await attempt(number, seeds, false);
  if (ms > LIMIT_MS) ms = await attempt(number, seeds, true);
  counts.slowest = Math.max(counts.slowest, Math.round(ms));
}

const seedRoom = join(room, "seeds");
mkdirSync(seedRoom, { recursive: true });
const seeds = reader.seeds(seedRoom);
counts.seeds = seeds.length;
rmSync(seedRoom, { recursive: true });
for (const [i, files] of seeds.entries()) {
  write(files);
  try {
    readAll(await reader.read(target, new Honest()));
    counts.whole++;
  } catch (error) {
    writeSync(1, `refused ${i} ${error}\n`);
  }
}
const end = seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + 1000 * Number(seconds);
resetPeak();
before = peak();
writeSync(1, "ready\n");
for (let number = Number(from); number < Number(to) && performance.now() < end; number++) {
  await run(number, seeds);
  if (number % COLLECT_EVERY === 0) Bun.gc(true);
}
rmSync(folder, { recursive: true, force: true });
writeSync(1, `done ${JSON.stringify(counts)}\n`);
// A server that still listens keeps no process alive.
process.exit(0);
