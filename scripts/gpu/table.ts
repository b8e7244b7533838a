// The results of a run on a GPU as text for people.
import { bandwidthOf, type Facts, peakOf } from "./peak.ts";
import type { Record as Results, Row } from "./results.ts";

type Cells = readonly (string | undefined)[];

function table(head: Cells, rows: readonly Cells[]): string[] {
  const line = (cells: Cells): string => `| ${cells.map((cell) => cell ?? "").join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""];
}

export function duration(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return "";
  for (const [unit, size] of [
    ["s", 1],
    ["ms", 1e-3],
    ["µs", 1e-6],
  ] as const) {
    // prettier-ignore
    if (seconds >= size) return `${(seconds / size).toPrecision(3)} ${unit}`;
  }
  return `${(seconds / 1e-9).toPrecision(3)} ns`;
}

const percent = (x: number | null): string => (x === null || !Number.isFinite(x) ? "" : `${(100 * x).toFixed(0)} %`);
const ratio = (ours: number, theirs: number | undefined): string =>
  theirs === undefined ? "" : (ours / theirs).toFixed(2);
const count = (n: number | undefined): string => (n === undefined ? "" : n >= 1e5 ? n.toExponential(0) : String(n));

/** The measured rate of copies within the device: the best one. */
export function copyRate(rows: readonly Row[]): number | null {
  const rates = rows.filter((row) => row.name === "copy" && row.seconds).map((row) => (row.bytes ?? 0) / row.seconds!);
  return rates.length > 0 ? Math.max(...rates) : null;
}

function bandwidth(rows: readonly Row[], facts: Facts): string[] {
  const [copies, theory] = [copyRate(rows), bandwidthOf(facts)];
  const cells = rows.map(({ name, dtype, elements, seconds, bytes = 0, torch, note }): Cells => {
    if (seconds === undefined) return [name, dtype, count(elements), note];
    const rate = bytes / seconds;
    const shares = [copies, theory].map((most) => percent(most === null ? null : rate / most));
    return [name, dtype, count(elements), duration(seconds), (rate / 1e9).toFixed(0), ...shares, ratio(seconds, torch)];
  });
  const head = ["work", "dtype", "elements", "time", "GB/s", "of the best copy", "of the memory's", "time of torch's"];
  return ["## Memory bandwidth", "", ...table(head, cells)];
}

function products(rows: readonly Row[], facts: Facts): string[] {
  const cells = rows.map(({ name, dtype = "", seconds, operations = 0, torch, cublas, note }): Cells => {
    if (seconds === undefined) return [name, dtype, note];
    const rate = operations / seconds;
    const peak = peakOf(facts, dtype);
    const shares = [percent(peak === null ? null : rate / peak), ratio(seconds, cublas), ratio(seconds, torch)];
    return [name, dtype, duration(seconds), (rate / 1e12).toFixed(2), ...shares];
  });
  const head = ["product", "dtype", "time", "TFLOP/s", "of the peak", "time of cuBLAS'", "time of torch's"];
  return ["## Products of matrices", "", ...table(head, cells)];
}

function networks(rows: readonly Row[], facts: Facts): string[] {
  const theory = bandwidthOf(facts);
  const cells = rows.map(({ name, dtype = "", elements, seconds, bytes, operations, torch, note }): Cells => {
    if (seconds === undefined) return [name, dtype, count(elements), note];
    const peak = operations === undefined ? theory : peakOf(facts, dtype === "bfloat16" ? "bf16" : "f32");
    const rate = (operations ?? bytes ?? 0) / seconds;
    const text = operations === undefined ? `${(rate / 1e9).toFixed(0)} GB/s` : `${(rate / 1e12).toFixed(2)} TFLOP/s`;
    const share = percent(peak === null ? null : rate / peak);
    return [name, dtype, count(elements), duration(seconds), text, share, ratio(seconds, torch)];
  });
  const head = ["work", "dtype", "elements", "time", "rate", "of the peak", "time of torch's"];
  return ["## Parts of networks", "", ...table(head, cells)];
}

function transfers(rows: readonly Row[]): string[] {
  const cells = rows.map(({ name, seconds, bytes = 0, note }): Cells => {
    const size = `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 3 : 0)} MiB`;
    if (seconds === undefined) return [name, size, note];
    return [name, size, duration(seconds), (bytes / seconds / 1e9).toFixed(2)];
  });
  return ["## Copies between host and device", "", ...table(["copy", "size", "time", "GB/s"], cells)];
}

function small(rows: readonly Row[]): string[] {
  const cells = rows.map(({ name, elements, seconds, whole, torch, note }): Cells => {
    if (seconds === undefined) return [name, count(elements), note];
    return [name, count(elements), duration(seconds), duration(whole), duration(torch), ratio(seconds, torch)];
  });
  const head = ["operator", "elements", "queued in", "until it is there", "torch queues in", "time of torch's"];
  return ["## Small operators", "", ...table(head, cells)];
}

function checks(record: Results): string[] {
  const sets = Object.entries(record.conformance).map(([name, value]): Cells => [name, words(value)]);
  const memory = Object.entries(record.memory).map(([name, value]): Cells => [name, words(value)]);
  const rows = [...sets, ...memory];
  return rows.length > 0 ? ["## Checks", "", ...table(["check", "outcome"], rows)] : [];
}

function words(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value) && value.length === 0) return "none";
  const parts = Object.entries(value).map(([key, of]) => {
    if (Array.isArray(of)) return of.length > 0 ? `${key}: ${of.slice(0, 5).join("; ").replaceAll("|", "\\|")}` : "";
    return typeof of === "object" && of !== null ? (words(of) ? `${key} (${words(of)})` : "") : `${key} ${of}`;
  });
  return parts.filter((part) => part !== "").join(", ");
}

const TITLES: Record<Results["kind"], (device: string) => string> = {
  device: (device) => `Measured on ${device}.`,
  emulated: (device) =>
    `**Emulated** by the stand-in driver (${device}): what was computed is checked, times say nothing about any GPU.`,
  none: () => "There was no GPU on the machine of the last run: nothing was measured.",
};

export function tableText(record: Results): string {
  const facts = record.facts as unknown as Facts;
  const rows = (part: string): Row[] => record.rows[part] ?? [];
  const state = Object.entries(record.parts).map(([name, { state, seconds, note }]): Cells => {
    return [name, state, `${seconds.toFixed(1)} s`, note];
  });
  const known = Object.entries(record.facts).map(([name, value]): Cells => [name, String(value)]);
  const section = (part: string, make: (rows: readonly Row[], facts: Facts) => string[]): string[] =>
    rows(part).length > 0 ? make(rows(part), facts) : [];
  return [
    "# On a GPU",
    "",
    `${TITLES[record.kind](record.device)} ${record.date}, by \`bun run gpu\`.`,
    ...(record.kind === "none" ? [] : ["Times of others are given as ours divided by theirs: below 1 we are faster."]),
    "",
    ...(known.length > 0 ? table(["fact", "value"], known) : []),
    ...(state.length > 0 ? table(["part", "state", "time", "note"], state) : []),
    ...checks(record),
    ...section("bandwidth", bandwidth),
    ...section("products", products),
    ...section("networks", networks),
    ...section("transfers", transfers),
    ...section("small", small),
  ].join("\n");
}
