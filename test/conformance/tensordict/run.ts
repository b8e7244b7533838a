// Replays cases of TensorDict:
//   bun test/conformance/tensordict/run.ts FOLDER [--only METHOD] [--id ID] [--why] [--update]
// --why groups what fails by its reason; --update writes the list of what is known to fail.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { TdCaseSet } from "./case.ts";
import { type TdOutcome, TdRunner } from "./runner.ts";

const { values, positionals } = parseArgs({
  options: {
    only: { type: "string" },
    id: { type: "string" },
    why: { type: "boolean", default: false },
    update: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) throw new Error("name a folder of cases");
const set = new TdCaseSet(folder);
const runner = await TdRunner.load();
const outcomes: TdOutcome[] = [];
for (const c of set.cases) {
  if (values.only !== undefined && c.m !== values.only) continue;
  if (values.id !== undefined && c.id !== values.id) continue;
  outcomes.push(runner.run(set, c));
}
const count = (status: string) => outcomes.filter((one) => one.status === status).length;
const failed = outcomes.filter((one) => one.status === "failed");
if (values.id !== undefined) for (const one of outcomes) console.log(one.id, one.status, one.reasons.join("\n  "));
if (values.why) {
  const groups = new Map<string, string[]>();
  for (const { id, reasons } of failed) {
    const why = (reasons[0] as string).replace(/\d+/g, "N");
    groups.set(why, [...(groups.get(why) ?? []), id]);
  }
  for (const [why, ids] of [...groups].sort((a, b) => b[1].length - a[1].length)) {
    console.log(`${String(ids.length).padStart(5)}  ${why}   (${ids.slice(0, 2).join(" ")})`);
  }
}
if (values.update) {
  const list = join(import.meta.dir, "known-failures.jsonl");
  const known = readFileSync(list, "utf8").split("\n").filter(Boolean);
  // Reasons that were written by hand stay.
  const given = new Map(known.map((line) => [JSON.parse(line).id as string, line]));
  const lines = failed.map(
    ({ id, reasons }) => given.get(id) ?? JSON.stringify({ id, reason: (reasons[0] as string).slice(0, 160) }),
  );
  writeFileSync(list, lines.map((line) => `${line}\n`).join(""));
}
const ran = count("passed") + failed.length;
const share = ((100 * count("passed")) / ran).toFixed(1);
console.log(`${count("passed")} passed, ${failed.length} failed, ${count("skipped")} skipped (${share} %)`);
