// The sweep: every operator of sweep-operators.ts with every element type and layout, a million elements and a
// thousand, beside PyTorch in the same run. Not a benchmark of one thing but a search for slow paths: a row takes a
// few milliseconds, the minimum counts, and rows that look slow are measured again. Its tables go into SWEEP.md.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Tensor } from "zensor";
import { loop, type Side } from "./case.ts";
import type { Peer } from "./peer.ts";
import {
  DTYPES,
  LAYOUTS,
  OPERATORS,
  type Operands,
  type Operator,
  operands,
  pythonSetup,
  SIZES,
} from "./sweep-operators.ts";

interface Row {
  n: number;
  operator: string;
  dtype: string;
  layout: string;
  /** Least seconds of one repetition. */
  ours: number;
  theirs: number;
}

export interface SweepOptions {
  sample: number;
  only?: string;
  out?: string;
  write: boolean;
  /** Results are left to the collector. */
  fresh: boolean;
}

/** How long a sample runs, by rows and columns of the operands. */
const SAMPLE_SECONDS: Record<number, number> = { 1000: 3e-3, 32: 6e-4 };
/** Few for a row that is clear, twice as many for one that looks slow. */
const ROUNDS = 3;
/** Rows that look slow are measured again when all have been: most of them met something else that ran for a while. */
const PASSES = 3;
/** Until the compiler has done with a row's code, and how long an operator's first row takes it. */
const WARM_SECONDS = 0.015;
const FIRST_WARM_SECONDS = 0.15;
const warmed = new Set<string>();
/** Rows above this look slow. */
const SUSPECT: Record<number, number> = { 1000: 1.3, 32: 0.8 };
const SLOWEST = 40;

const ratio = (row: Row) => row.ours / row.theirs;

/** Seconds of one repetition of `n`, after one that does not count: the other side ran meanwhile and has the caches. */
async function seconds(side: Side, n: number): Promise<number> {
  await side.run(1);
  const start = performance.now();
  const own = await side.run(n);
  return (own ?? (performance.now() - start) / 1000) / n;
}

/** Repetitions that fill a sample. */
async function fill(side: Side, size: number): Promise<number> {
  const wanted = SAMPLE_SECONDS[size] as number;
  let n = 1;
  for (;;) {
    const t = await seconds(side, n);
    if (n * t >= wanted / 2) return Math.max(1, Math.round(wanted / t));
    n = Math.min(8 * n, Math.max(2 * n, Math.ceil(wanted / t)));
  }
}

async function measure(row: Row, ours: Side, theirs: Side): Promise<void> {
  for (const side of [ours, theirs]) await side.run(1);
  if (row.n < 1000) {
    const enough = performance.now() + 1000 * (warmed.has(row.operator) ? WARM_SECONDS : FIRST_WARM_SECONDS);
    while (performance.now() < enough) await ours.run(100);
    warmed.add(row.operator);
  }
  const counts = [await fill(ours, row.n), await fill(theirs, row.n)] as const;
  for (let attempt = 0; attempt < 2; attempt++) {
    for (let round = 0; round < ROUNDS; round++) {
      row.ours = Math.min(row.ours, await seconds(ours, counts[0]));
      row.theirs = Math.min(row.theirs, await seconds(theirs, counts[1]));
    }
    if (!isSuspect(row)) return;
  }
}

const isSuspect = (row: Row): boolean => ratio(row) > (SUSPECT[row.n] as number);

/** One kind of operands, and the operators that the options choose for it. */
interface Group {
  n: number;
  dtype: (typeof DTYPES)[number];
  layout: (typeof LAYOUTS)[number];
  operators: Operator[];
}

const nameOf = ({ n, dtype, layout }: Omit<Group, "operators">, [operator]: Operator): string =>
  `${operator} ${dtype} ${layout} ${n}`;

function* groups(options: SweepOptions): Generator<Group> {
  let count = 0;
  for (const n of SIZES) {
    for (const dtype of DTYPES) {
      for (const layout of LAYOUTS) {
        const named = (operator: Operator) => nameOf({ n, dtype, layout }, operator);
        const chosen = OPERATORS.filter((operator) => named(operator).includes(options.only ?? ""));
        const operators = chosen.filter(() => count++ % options.sample === 0);
        if (operators.length > 0) yield { n, dtype, layout, operators };
      }
    }
  }
}

/** Python frees a result when nothing refers to it; here that is said. */
function free(result: unknown): void {
  if (result instanceof Tensor) result.dispose();
  else if (Array.isArray(result)) for (const part of result as Tensor[]) part.dispose();
  else for (const part of Object.values(result as object)) if (part instanceof Tensor) part.dispose();
}

/** A row, or null where both sides refuse the element type; a note where only one side does. `known` is measured on. */
async function rowOf(
  peer: Peer,
  group: Group,
  given: Operands,
  operator: Operator,
  fresh: boolean,
  known?: Row,
): Promise<Row | string | null> {
  const { n, dtype, layout } = group;
  const [name, body, python] = operator;
  const work = fresh ? () => body(given) : () => free(body(given));
  const here = refusal(work);
  const theirs = await peer.side("", "wall", [pythonSetup(dtype, layout, n), python]);
  if (typeof theirs === "string") throw new Error(`${name}, ${dtype}: ${theirs}`);
  const there = await Promise.resolve(theirs.run(1)).then(
    () => null,
    (error: Error) => error.message,
  );
  if (here !== null && there !== null) return null;
  if (here !== null || there !== null)
    return `${name}, ${dtype}: refused ${here ? "here" : "there"} (${here ?? there})`;
  const row = known ?? { n, operator: name, dtype, layout, ours: Infinity, theirs: Infinity };
  await measure(row, loop(work), theirs);
  return row;
}

function refusal(body: () => unknown): string | null {
  try {
    body();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The rows of a group in one pass; in later ones those that looked slow. */
async function pass(
  peer: Peer,
  group: Group,
  rows: Map<string, Row>,
  notes: Set<string>,
  found: (row: Row) => void,
  fresh: boolean,
): Promise<void> {
  const { n, dtype, layout } = group;
  const chosen = group.operators.filter((operator) => {
    const row = rows.get(nameOf(group, operator));
    return row === undefined || isSuspect(row);
  });
  if (chosen.length === 0) return;
  process.stderr.write(`sweep: ${dtype}, ${layout}, ${n}\n`);
  const given = operands(dtype, layout, n);
  for (const operator of chosen) {
    const row = await rowOf(peer, group, given, operator, fresh, rows.get(nameOf(group, operator)));
    if (typeof row === "string") notes.add(row);
    if (row === null || typeof row === "string") continue;
    rows.set(nameOf(group, operator), row);
    found(row);
  }
  free(given);
}

export async function sweep(head: string, peer: Peer, options: SweepOptions): Promise<void> {
  const { out } = options;
  const line = (x: object) => (out === undefined ? undefined : appendFileSync(out, `${JSON.stringify(x)}\n`));
  const measured = new Map<string, Row>();
  const notes = new Set<string>();
  if (out !== undefined) writeFileSync(out, "");
  line({ head });
  let left = [...groups(options)];
  for (let turn = 0; turn < PASSES; turn++) {
    for (const group of left) await pass(peer, group, measured, notes, line, options.fresh);
    // What both sides refuse has no row, and is not asked for again.
    left = left.map((group) => ({
      ...group,
      operators: group.operators.filter((operator) => measured.has(nameOf(group, operator))),
    }));
  }
  const rows = [...measured.values()];
  const date = new Date().toISOString().slice(0, 10);
  const sampled = options.sample > 1 ? ` Every ${options.sample}th row.` : "";
  const kept = options.fresh ? " Results are left to the collector." : "";
  const text = `${head}. ${date}.${sampled}${kept}\n\n${tables(rows, [...notes])}`;
  console.log(text);
  if (options.write) write(text);
}

/** A summary of each size, what is refused, and the slowest rows. */
export function tables(rows: readonly Row[], notes: readonly string[]): string {
  const out = [
    "| elements | rows | geometric mean | over 1.0 | over 1.5 | over 2.5 | slowest |",
    "| --- | --- | --- | --- | --- | --- | --- |",
  ];
  const part = (some: readonly Row[], limit: number) => {
    const n = some.filter((row) => ratio(row) > limit).length;
    return `${n} (${((100 * n) / some.length).toFixed(1)} %)`;
  };
  const sized = SIZES.map((n) => rows.filter((row) => row.n === n)).filter((some) => some.length > 0);
  for (const some of sized) {
    const n = some[0]?.n ?? 0;
    const cells = [`${n} x ${n}`, some.length, mean(some).toFixed(2), part(some, 1), part(some, 1.5), part(some, 2.5)];
    out.push(`| ${[...cells, Math.max(...some.map(ratio)).toFixed(2)].join(" | ")} |`);
  }
  for (const some of sized) {
    const n = some[0]?.n ?? 0;
    out.push(
      "",
      `Geometric means, ${n} x ${n}:`,
      "",
      `|  | ${LAYOUTS.join(" | ")} |`,
      `| --- |${" --- |".repeat(LAYOUTS.length)}`,
    );
    for (const dtype of DTYPES) {
      const cell = (layout: string) => {
        const chosen = some.filter((row) => row.dtype === dtype && row.layout === layout);
        return chosen.length > 0 ? mean(chosen).toFixed(2) : "";
      };
      out.push(`| ${dtype} | ${LAYOUTS.map(cell).join(" | ")} |`);
    }
    out.push("", `The slowest rows, ${n} x ${n}:`, "", "| operator | dtype | layout | ours | theirs | ratio |");
    out.push("| --- | --- | --- | --- | --- | --- |");
    const slow = [...some].sort((a, b) => ratio(b) - ratio(a)).slice(0, SLOWEST);
    for (const row of slow) {
      const times = [micro(row.ours), micro(row.theirs), `**${ratio(row).toFixed(2)}**`];
      out.push(`| ${[row.operator, row.dtype, row.layout, ...times].join(" | ")} |`);
    }
  }
  if (notes.length > 0) out.push("", `On one side only: ${notes.join("; ")}.`);
  return out.join("\n");
}

const micro = (s: number) => `${(s * 1e6).toPrecision(3)} µs`;

function mean(rows: readonly Row[]): number {
  return Math.exp(rows.reduce((sum, row) => sum + Math.log(ratio(row)), 0) / rows.length);
}

function write(text: string): void {
  const file = join(import.meta.dir, "SWEEP.md");
  const mark = "<!-- the tables begin -->";
  const old = readFileSync(file, "utf8");
  const at = old.indexOf(mark);
  if (at < 0) throw new Error("SWEEP.md has no place for the tables");
  writeFileSync(file, `${old.slice(0, at)}${mark}\n\n${text}\n`);
}
