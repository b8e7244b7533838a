// Command line of the conformance runner:
//   bun test/conformance/run.ts <dir> [--scope NAME] [--op NAME] [--family F] [--id TEXT] [--limit N] [--list]
//     [--known FILE] [--json FILE] [--reasons N] [--soft-strides] [--soft] [--trace]
//     [--meta FILE]   opinfo and error cases on the meta device, FILE made by scripts/oracle/make_meta_cases.py
//     [--device cuda] on a CUDA device; ZENSOR_LIBCUDA may name the stand-in of `bun run cuda:standin`
import { existsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { loadCaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import { familyOf } from "./case-types.ts";
import { MODULE_FAMILIES, runModuleCase } from "./modules/runner.ts";
import type { ModuleCase } from "./modules/values.ts";
import { appliesOnDevice, deviceBytes, deviceStorage, deviceWait } from "./on-device.ts";
import { failureText, readKnown, summarize, summaryText } from "./report.ts";
import { hasMetaForm, placed, readMetaLines, runOnMeta } from "./run-meta.ts";
import type { Outcome } from "./runner.ts";
import { Runner } from "./runner.ts";
import { SCOPES } from "./scope.ts";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scope: { type: "string", default: "all" },
    op: { type: "string", multiple: true },
    family: { type: "string" },
    id: { type: "string" },
    limit: { type: "string" },
    list: { type: "boolean", default: false },
    known: { type: "string" },
    json: { type: "string" },
    reasons: { type: "string", default: "3" },
    "soft-strides": { type: "boolean", default: false },
    soft: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    meta: { type: "string" },
    device: { type: "string" },
  },
});

function usage(message: string): never {
  console.error(message);
  process.exit(2);
}

function selected(cases: Case[]): Case[] {
  const scope = SCOPES[flags.scope] ?? usage(`unknown scope ${flags.scope}; known: ${Object.keys(SCOPES).join(" ")}`);
  const limit = flags.limit === undefined ? cases.length : Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 0) usage(`--limit ${flags.limit} is not a count`);
  return cases
    .filter(scope)
    .filter((c) => flags.meta === undefined || hasMetaForm(c))
    .filter((c) => flags.device === undefined || appliesOnDevice(c))
    .filter((c) => flags.op === undefined || flags.op.includes(c.op))
    .filter((c) => flags.family === undefined || familyOf(c) === flags.family)
    .filter((c) => flags.id === undefined || c.id.includes(flags.id))
    .slice(0, limit);
}

async function main(): Promise<number> {
  const dir = positionals[0] ?? usage("usage: bun test/conformance/run.ts <case directory> [options]");
  const set = loadCaseSet(dir);
  const cases = selected(set.cases);
  if (flags.list) {
    for (const c of cases) console.log(c.id);
    return 0;
  }
  const lines = flags.meta === undefined ? undefined : readMetaLines(flags.meta);
  const list = lines === undefined ? "known-failures.jsonl" : "known-meta-failures.jsonl";
  const knownFile = flags.known ?? join(import.meta.dir, list);
  const known = flags.known !== undefined || existsSync(knownFile) ? readKnown(knownFile) : new Map<string, string>();
  const runner = await Runner.load();
  if (flags.device !== undefined && flags.device !== "cuda") usage("--device: cuda is the one that there is");
  const device = flags.device as "cuda" | undefined;
  if (device !== undefined) Object.assign(runner.adapter, { deviceStorage, deviceBytes, deviceWait });
  const options = { softStrides: flags["soft-strides"], device };
  const outcomes: Outcome[] = cases.map((c) => {
    // Written before the run: after a native crash the last line names the case.
    if (flags.trace) writeSync(2, `${c.id}\n`);
    if (MODULE_FAMILIES.has(String(c.fam))) return runModuleCase(runner.adapter, set.blob, c as unknown as ModuleCase);
    if (device !== undefined) return runner.run(set, placed(c), options);
    return lines === undefined ? runner.run(set, c, options) : runOnMeta(runner, set, c, lines.get(c.id));
  });
  const summary = summarize(outcomes, known);
  if (flags.json !== undefined) {
    writeFileSync(
      flags.json,
      outcomes
        .filter((o) => o.status !== "passed")
        .map((o) => JSON.stringify(o))
        .join("\n"),
    );
  }
  if (flags.soft) for (const o of outcomes) for (const s of o.soft) console.log(`soft ${o.id}: ${s}`);
  const each = Number(flags.reasons);
  if (each !== 3 && summary.failures.length > 0) console.log(failureText(summary.failures, each));
  console.log(summaryText(summary));
  return summary.failed > 0 || summary.stale.length > 0 ? 1 : 0;
}

process.exit(await main());
