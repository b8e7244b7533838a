/** Calls of the same operator together, and their table as torch prints it. */
import { inOrder } from "../tensor/checks.ts";
import { TypeError } from "../tensor/errors.ts";
import type { ProfilerEvent } from "./recorder.ts";
import { AVERAGES } from "./signatures.ts";

/** All calls of one operator. Times are in microseconds, memory in bytes. */
export interface AverageRow {
  /** The operator. */
  readonly key: string;
  /** Its calls. */
  count: number;
  /** Microseconds of its calls, with the operators they call. */
  cpuTimeTotal: number;
  /** Microseconds of its calls, without those. */
  selfCpuTimeTotal: number;
  /** Of one call. */
  readonly cpuTime: number;
  /** Bytes that its calls brought, with the operators they call. */
  cpuMemoryUsage: number;
  /** Bytes that its calls brought, without those. */
  selfCpuMemoryUsage: number;
  /** As text; null unless rows are grouped by shape. */
  readonly inputShapes: string | null;
}

/** What a table can be sorted by, the greatest first. torch's names with underscores work too. */
export type SortKey =
  | "cpuTimeTotal"
  | "selfCpuTimeTotal"
  | "cpuTime"
  | "cpuMemoryUsage"
  | "selfCpuMemoryUsage"
  | "count";

/** How a table is printed. */
export interface TableOptions {
  /** The column that rows are sorted by, the largest first. */
  sortBy?:
    | SortKey
    | "cpu_time_total"
    | "self_cpu_time_total"
    | "cpu_time"
    | "cpu_memory_usage"
    | "self_cpu_memory_usage";
  /** Rows at most: 100 unless given. */
  rowLimit?: number;
  /** Longer names are cut; 55 by default. */
  maxNameColumnWidth?: number;
  /** Longer shapes are cut; 80 by default. */
  maxShapesColumnWidth?: number;
}

const SORT_KEYS = ["cpuTimeTotal", "selfCpuTimeTotal", "cpuTime", "cpuMemoryUsage", "selfCpuMemoryUsage", "count"];
const COLUMN = 12;

class Row implements AverageRow {
  count = 0;
  cpuTimeTotal = 0;
  selfCpuTimeTotal = 0;
  cpuMemoryUsage = 0;
  selfCpuMemoryUsage = 0;
  constructor(
    readonly key: string,
    readonly inputShapes: string | null,
  ) {}
  get cpuTime(): number {
    return this.count === 0 ? 0 : this.cpuTimeTotal / this.count;
  }
  add(event: ProfilerEvent): void {
    this.count++;
    // A call inside of one of the same name is in that one's time already.
    let within = event.parent;
    while (within !== null && within.name !== event.name) within = within.parent;
    if (within === null) {
      this.cpuTimeTotal += event.cpuTime;
      this.cpuMemoryUsage += event.cpuMemory;
    }
    this.selfCpuTimeTotal += event.selfCpuTime;
    this.selfCpuMemoryUsage += event.selfCpuMemory;
  }
}

function listText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(listText).join(", ")}]` : String(value);
}

export function averagesOf(events: readonly ProfilerEvent[], byShape: boolean, memory: boolean): Averages {
  const rows = new Map<string, Row>();
  for (const event of events) {
    const shapes = byShape && event.inputShapes !== null ? listText(event.inputShapes) : null;
    const key = `${event.name}\n${shapes}`;
    let row = rows.get(key);
    if (row === undefined) rows.set(key, (row = new Row(event.name, shapes)));
    row.add(event);
  }
  return new Averages([...rows.values()], memory);
}

function timeText(us: number): string {
  if (us >= 1e6) return `${(us / 1e6).toFixed(3)}s`;
  return us >= 1e3 ? `${(us / 1e3).toFixed(3)}ms` : `${us.toFixed(3)}us`;
}

function memoryText(nbytes: number): string {
  for (const [unit, size] of [
    ["GB", 2 ** 30],
    ["MB", 2 ** 20],
    ["KB", 2 ** 10],
  ] as const) {
    if (Math.abs(nbytes) >= size) return `${(nbytes / size).toFixed(2)} ${unit}`;
  }
  return `${nbytes} B`;
}

const share = (us: number, all: number): string => (all === 0 ? "NaN" : `${((us * 100) / all).toFixed(2)}%`);

function shorten(text: string, width: number): string {
  return text.length >= width - 3 ? `${text.slice(0, width - 3)}...` : text;
}

/**
 * The calls of a profile by operator.
 * @example
 * ```ts
 * const averages = profiler.profile(() => ones(2).add(1)).keyAverages();
 * [averages.rows.length, averages.rows[0].count, averages.selfCpuTimeTotal > 0] // [2, 1, true]
 * ```
 */
export class Averages {
  /** @internal Made by `keyAverages`. */
  constructor(
    /** One row for each operator. */
    readonly rows: readonly AverageRow[],
    private readonly memory: boolean,
  ) {}

  /** Microseconds of all calls together. */
  get selfCpuTimeTotal(): number {
    return this.rows.reduce((sum, row) => sum + row.selfCpuTimeTotal, 0);
  }

  /**
   * The rows as text, as torch prints them.
   * @throws TypeError for a key that rows cannot be sorted by
   * @torch torch.autograd.profiler_util.EventList.table
   */
  table(options: TableOptions = {}): string {
    [options = {}] = inOrder<[TableOptions?]>("table", AVERAGES.table, arguments);
    if (this.rows.length === 0) return "";
    const rows = this.sorted(options.sortBy).slice(0, options.rowLimit ?? 100);
    const nameWidth = options.maxNameColumnWidth ?? 55;
    const shapesWidth = options.maxShapesColumnWidth ?? 80;
    const longest = (texts: readonly string[]): number => Math.max(...texts.map((text) => text.length)) + 4;
    const widths = [Math.min(longest(this.rows.map((row) => row.key)), nameWidth)];
    const heads = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"];
    if (this.memory) heads.push("CPU Mem", "Self CPU Mem");
    heads.push("# of Calls");
    while (widths.length < heads.length) widths.push(COLUMN);
    const shaped = this.rows.some((row) => row.inputShapes !== null);
    if (shaped) {
      heads.push("Input Shapes");
      widths.push(Math.min(longest(this.rows.map((row) => String(row.inputShapes))), shapesWidth));
    }
    const line = (cells: readonly string[]) =>
      cells.map((cell, i) => `${cell.padStart(widths[i] as number)}  `).join("");
    const rule = widths.map((width) => `${"-".repeat(width)}  `).join("");
    const all = this.selfCpuTimeTotal;
    const cells = (row: AverageRow): string[] => [
      shorten(row.key, nameWidth),
      share(row.selfCpuTimeTotal, all),
      timeText(row.selfCpuTimeTotal),
      share(row.cpuTimeTotal, all),
      timeText(row.cpuTimeTotal),
      timeText(row.cpuTime),
      ...(this.memory ? [memoryText(row.cpuMemoryUsage), memoryText(row.selfCpuMemoryUsage)] : []),
      String(row.count),
      ...(shaped ? [String(row.inputShapes).slice(0, widths.at(-1))] : []),
    ];
    const body = rows.map((row) => line(cells(row)));
    return `${[rule, line(heads), rule, ...body, rule, `Self CPU time total: ${timeText(all)}`].join("\n")}\n`;
  }

  private sorted(by: TableOptions["sortBy"]): readonly AverageRow[] {
    if (by === undefined) return this.rows;
    const key = by.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as SortKey;
    if (!SORT_KEYS.includes(key)) {
      throw new TypeError(`table() cannot sort by '${by}': choose one of ${SORT_KEYS.join(", ")}`, { op: "table" });
    }
    return [...this.rows].sort((a, b) => b[key] - a[key]);
  }

  /** The table with its default columns. */
  toString(): string {
    return this.table();
  }
}
