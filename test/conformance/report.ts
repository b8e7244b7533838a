// Sums up outcomes: failures grouped by op, the known-failures list, soft findings.
import { readFileSync } from "node:fs";
import type { Outcome } from "./runner.ts";

export interface KnownFailure {
  id: string;
  reason: string;
}

/** Reads a JSON-lines list of cases that are known to fail, each with its reason. */
export function readKnown(file: string): Map<string, string> {
  const known = new Map<string, string>();
  for (const [n, line] of readFileSync(file, "utf8").split("\n").entries()) {
    if (line.trim() === "") continue;
    const row = JSON.parse(line) as Partial<KnownFailure>;
    if (typeof row.id !== "string" || typeof row.reason !== "string" || row.reason === "") {
      throw new Error(`${file}:${n + 1}: needs an id and a reason`);
    }
    if (known.has(row.id)) throw new Error(`${file}:${n + 1}: ${row.id} is listed twice`);
    known.set(row.id, row.reason);
  }
  return known;
}

export interface Summary {
  passed: number;
  failed: number;
  skipped: number;
  knownFailed: number;
  /** Listed cases that pass: they have to leave the list. */
  stale: string[];
  failures: Outcome[];
  soft: Map<string, number>;
}

/** Kind of a soft finding: its wording without names and numbers. */
function softKind(s: string): string {
  if (s.endsWith("as on the cpu")) return "as on the cpu where torch's meta differs";
  if (s.includes("grad_fn")) return "grad_fn name";
  if (s.includes("storage of")) return "storage length";
  if (s.includes("strides")) return "fresh strides";
  if (s.includes("storage offset")) return "fresh offset";
  return "message text";
}

export function summarize(outcomes: Outcome[], known: Map<string, string>): Summary {
  const s: Summary = {
    passed: 0,
    failed: 0,
    skipped: 0,
    knownFailed: 0,
    stale: [],
    failures: [],
    soft: new Map(),
  };
  for (const o of outcomes) {
    for (const kind of new Set(o.soft.map(softKind))) s.soft.set(kind, (s.soft.get(kind) ?? 0) + 1);
    if (o.status === "skipped") s.skipped++;
    else if (o.status === "passed") {
      s.passed++;
      if (known.has(o.id)) s.stale.push(o.id);
    } else if (known.has(o.id)) s.knownFailed++;
    else {
      s.failed++;
      s.failures.push(o);
    }
  }
  return s;
}

/** Failures by op, most frequent first, a few reasons each. */
export function failureText(failures: Outcome[], each = 3): string {
  const byOp = new Map<string, Outcome[]>();
  for (const o of failures) {
    const list = byOp.get(o.op) ?? [];
    list.push(o);
    byOp.set(o.op, list);
  }
  const lines: string[] = [];
  for (const [op, list] of [...byOp].sort((a, b) => b[1].length - a[1].length)) {
    const missing = list.every((o) => o.reasons[0]?.startsWith("no such"));
    lines.push(`${op}: ${list.length} failed${missing ? ` (${list[0]?.reasons[0]})` : ""}`);
    if (missing) continue;
    for (const o of list.slice(0, each)) lines.push(`  ${o.id}: ${o.reasons.slice(0, 2).join("; ").slice(0, 400)}`);
  }
  return lines.join("\n");
}

export function summaryText(s: Summary): string {
  const lines: string[] = [];
  if (s.failures.length > 0) lines.push(failureText(s.failures), "");
  for (const id of s.stale) lines.push(`${id} passes: remove it from the list of known failures`);
  if (s.soft.size > 0) {
    lines.push(`soft: ${[...s.soft].map(([k, n]) => `${n} ${k}`).join(", ")}`);
  }
  if (s.knownFailed > 0) lines.push(`${s.knownFailed} known failures`);
  lines.push(`${s.passed} passed, ${s.failed} failed, ${s.skipped} skipped`);
  return lines.join("\n");
}
