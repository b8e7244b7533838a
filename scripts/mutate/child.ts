// Judges mutants in an instrumented copy of the repository, as a test of bun in a process of its own (population.ts).
// What it finds is appended to a file line by line: a mutant may end the process.
import { test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { kernelSwitch } from "../../test/ops/kernel-switch.ts";
import { allItems, type Item } from "./items.ts";
import { readLines } from "./known.ts";
import { mutants, ROOM } from "./switch.ts";

/** What the parent says. */
export interface Orders {
  root: string;
  folders: string[];
  /** The cases of fixtures too. */
  cases: boolean;
  ids: number[];
  /** Mutants of kernels, switched in the library. */
  kernels: boolean;
  /** Where findings go; beside it, with `.at`, the mutant under way. */
  out: string;
  /** What every item reaches, written by the first child. */
  reach: string;
  seconds: number;
}
export interface Finding {
  id: number;
  /** null: it survived; undefined: to be tried again by a fresh process. */
  caught?: string | null;
  /** How many items reach it, and how many ran. */
  reached?: number;
  ran?: number;
}
/** The exit status of a child that a mutant has left in another state. */
export const SPOILT = 7;

/** What every item does without a mutant. */
export interface Base {
  /** Places that some item runs each time, and places that ran only the first time or while files were loaded. */
  warm: number[];
  cold: number[];
  passes: boolean[];
  ms: number[];
  steps: number[];
  /** Items, a row of bytes each: bit `id` says that the item runs the place. */
  rows: Uint8Array;
}

const orders = JSON.parse(readFileSync(process.env.ORDERS as string, "utf8")) as Orders;
const board = orders.kernels ? kernelSwitch(orders.root) : mutants;
const WIDTH = ROOM / 8;
const ITEM_LIMIT_MS = 10_000;
/** One that waits takes no time of the processor: it is late when so many times as much has passed. */
const ASLEEP = 10;
/** A test that takes longer is too slow to be run on thousands of board. */
const SLOWEST_MS = 1000;
/** So many cases of fixtures are tried before tests are. */
const FIRST = 300;

async function outcome(item: Item, most = Number.POSITIVE_INFINITY, ms = ITEM_LIMIT_MS): Promise<string | null> {
  board.steps = 0;
  board.most = most;
  let timer: Timer | undefined;
  const [start, from] = [process.cpuUsage(), performance.now()];
  // By the processor's time, as the watch over this process has it: the machine may be busy with other work.
  const late = new Promise<string>((done) => {
    const look = () => {
      const { user, system } = process.cpuUsage(start);
      const left = Math.min(ms - (user + system) / 1000, ASLEEP * ms - (performance.now() - from));
      if (left <= 0) done("takes too long");
      else timer = setTimeout(look, left + 1);
    };
    timer = setTimeout(look, ms);
  });
  try {
    const given = item.run();
    return given instanceof Promise ? await Promise.race([given, late]) : given;
  } catch (e) {
    return `threw ${e}`;
  } finally {
    clearTimeout(timer);
    board.most = Number.POSITIVE_INFINITY;
  }
}

/** Runs every item twice without a mutant: which places it runs, and how long it takes. */
async function survey(items: readonly Item[], file: string): Promise<Base> {
  const rows = new Uint8Array(items.length * WIDTH);
  const base: Omit<Base, "rows"> = { warm: [], cold: [], passes: [], ms: [], steps: [] };
  const first: boolean[] = [];
  // What ran while files were loaded, and then the first time.
  const early = board.hits.slice();
  for (const item of items) {
    board.hits.fill(0);
    const start = process.cpuUsage();
    const what = await outcome(item);
    const slow = process.cpuUsage(start).user > 1000 * SLOWEST_MS;
    first.push(what === null && !slow);
    if (first.at(-1)) for (const [id, hit] of board.hits.entries()) early[id] = (early[id] as number) | hit;
    if (!item.small && !first.at(-1)) console.error(`left out: ${item.name}: ${slow ? "it takes long" : what}`);
  }
  const later = new Uint8Array(board.hits.length);
  for (const [i, item] of items.entries()) {
    board.hits.fill(0);
    const start = performance.now();
    const passes = (first[i] as boolean) && (await outcome(item)) === null;
    base.ms.push(performance.now() - start);
    base.steps.push(board.steps);
    base.passes.push(passes);
    if (!passes) continue;
    for (const [id, hit] of board.hits.entries()) {
      if (!hit) continue;
      later[id] = 1;
      rows[i * WIDTH + (id >> 3)] = (rows[i * WIDTH + (id >> 3)] as number) | (1 << (id & 7));
    }
  }
  base.warm = [...later.keys()].filter((id) => later[id]);
  base.cold = [...early.keys()].filter((id) => early[id] && !later[id]);
  writeFileSync(file, rows);
  writeFileSync(`${file}.json`, JSON.stringify(base));
  return { ...base, rows };
}

async function baseOf(items: readonly Item[], file: string): Promise<Base> {
  if (!existsSync(`${file}.json`)) return survey(items, file);
  const rest = JSON.parse(readFileSync(`${file}.json`, "utf8")) as Omit<Base, "rows">;
  return { ...rest, rows: readFileSync(file) };
}

/** The items to be run on a mutant, in their order: some cases, the tests from short to long, the other cases. */
function ordered(items: readonly Item[], base: Base, id: number, everything: boolean): number[] {
  let state = id + 12345;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const reaching = [...items.keys()].filter(
    (i) => base.passes[i] && (everything || ((base.rows[i * WIDTH + (id >> 3)] as number) >> (id & 7)) & 1),
  );
  const small = reaching.filter((i) => items[i]?.small).map((i) => ({ i, key: next() }));
  const cases = small.sort((a, b) => a.key - b.key).map(({ i }) => i);
  const tests = reaching
    .filter((i) => !items[i]?.small)
    .sort((a, b) => (base.ms[a] as number) - (base.ms[b] as number));
  return [...cases.slice(0, FIRST), ...tests, ...cases.slice(FIRST)];
}

async function main({ root, folders, cases, ids, out, reach, seconds, kernels }: Orders): Promise<void> {
  // A mutant given from the start is one that only the first run of its place can show: all items are its items.
  const early = board.on;
  const items = await allItems(root, folders, kernels, cases);
  const base = await baseOf(items, reach);
  const found = readLines<Finding>(out);
  const done = new Set(found.filter((f) => f.caught !== undefined).map((f) => f.id));
  const again = new Set(found.map((f) => f.id));
  const limit = (i: number) => 1e6 + 10 * (base.steps[i] as number);
  const say = (finding: Finding) => appendFileSync(out, `${JSON.stringify(finding)}\n`);
  for (const id of ids) {
    if (done.has(id)) continue;
    writeFileSync(`${out}.at`, String(id));
    const order = ordered(items, base, id, early >= 0);
    const start = process.cpuUsage();
    let caught: string | null = null;
    let ran = 0;
    let spoilt = false;
    for (const i of order) {
      if (process.cpuUsage(start).user > 1e6 * seconds) break;
      const item = items[i] as Item;
      board.on = id;
      const what = await outcome(item, limit(i), ITEM_LIMIT_MS + 5 * (base.ms[i] as number));
      board.on = early;
      ran++;
      if (what === null) continue;
      caught = item.name;
      spoilt = early < 0 && (await outcome(item)) !== null;
      break;
    }
    // Another mutant may have spoilt what this one is blamed for: a fresh process decides.
    if (spoilt && !again.has(id)) say({ id });
    else say({ id, caught, reached: order.length, ran });
    if (spoilt) process.exit(SPOILT);
  }
  writeFileSync(`${out}.at`, "done");
}

test("mutants", () => main(orders), 2 ** 31 - 1);
