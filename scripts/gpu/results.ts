// What a run on a GPU has found so far, written after every step: bench/gpu.json and the table bench/GPU.md.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tableText } from "./table.ts";

/** Where numbers come from. Only those of a device say something about speed. */
export type Kind = "device" | "emulated" | "none";

/** One measurement. Rates are per second. */
export interface Row {
  /** What was done: "add", "sum of rows", "product". */
  name: string;
  dtype?: string;
  elements?: number;
  /** Seconds of one call: the median, and the least. */
  seconds?: number;
  least?: number;
  /** Bytes that have to be moved, or operations that have to be computed. */
  bytes?: number;
  operations?: number;
  /** Seconds of the same call in PyTorch, of a product in cuBLAS, of a call until its result is there. */
  torch?: number;
  cublas?: number;
  whole?: number;
  /** Why there is no number: a kernel that is missing, memory, time. */
  note?: string;
}

export interface PartState {
  state: "done" | "left out" | "failed" | "out of time";
  seconds: number;
  note?: string;
}

export interface Record {
  kind: Kind;
  device: string;
  date: string;
  sizes: string;
  budget: number;
  parts: { [part: string]: PartState };
  facts: { [fact: string]: string | number | boolean | null };
  conformance: { [set: string]: unknown };
  memory: { [check: string]: unknown };
  rows: { [part: string]: Row[] };
}

export class Results {
  readonly record: Record;
  readonly file: string;

  /** In `folder`; what a device gave is never replaced by anything else, which goes into `aside`. */
  constructor(kind: Kind, device: string, sizes: string, budget: number, folder: string, aside: string) {
    const date = new Date().toISOString().slice(0, 10);
    this.record = { kind, device, date, sizes, budget, parts: {}, facts: {}, conformance: {}, memory: {}, rows: {} };
    const real = kind !== "device" && kindOf(join(folder, "gpu.json")) === "device";
    this.file = join(real ? aside : folder, "gpu.json");
    mkdirSync(dirname(this.file), { recursive: true });
    this.write();
  }

  add(part: string, row: Row): void {
    this.record.rows[part] ??= [];
    this.record.rows[part].push(row);
    this.write();
  }

  /** Both files, each whole at any time. */
  write(): void {
    for (const [file, text] of [
      [this.file, `${JSON.stringify(this.record, null, 1)}\n`],
      [join(dirname(this.file), "GPU.md"), tableText(this.record)],
    ] as const) {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    }
  }
}

function kindOf(file: string): Kind | null {
  if (!existsSync(file)) return null;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as Record).kind;
  } catch {
    return null;
  }
}
