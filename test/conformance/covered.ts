// Which public operators, second names included, have cases that torch made in this repository.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ops from "../../generated/ops.json";
import { camel } from "./adapter.ts";
import type { Case } from "./case-types.ts";

const fixtures = join(import.meta.dir, "../fixtures");
const lines = <T>(file: string): T[] =>
  readFileSync(join(fixtures, file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);

/** Public names: `indexPut`, `nn.functional.linear`; torch's in-place spelling stands for the operator. */
const nameOf = (torchName: string): string => camel(torchName.replace(/^empty\.|(?<=[a-z0-9])_$/g, ""));

/** Names of our own, with the torch name whose cases they share. */
const OUR_NAMES: Record<string, string> = { variance: "var" };

/** Names of operators that some case calls. */
export function namesWithCases(): Set<string> {
  const names = new Set<string>();
  const whole = ["cases-small/index.jsonl", "cases-normalization/index.jsonl", "cases-images/index.jsonl"];
  for (const c of whole.flatMap((file) => lines<Case>(file))) {
    names.add(nameOf(c.op));
    for (const [, method] of c.steps ?? []) names.add(nameOf(method));
    for (const [fn] of c.calls ?? []) names.add(nameOf(fn));
  }
  for (const file of ["exact/calls.jsonl", "random/calls.jsonl"]) {
    for (const { op } of lines<{ op: string }>(file)) names.add(nameOf(op));
  }
  const kernels = JSON.parse(readFileSync(join(fixtures, "kernels/ops.json"), "utf8")) as Record<
    string,
    { fn: string }
  >;
  for (const { fn } of Object.values(kernels)) names.add(nameOf(fn));
  return names;
}

/** Names that users call, of an operator's overloads together. */
export function publicNames(): Set<string> {
  const names = new Set<string>();
  for (const op of ops.filter((o) => !o.internal)) {
    const space = /^(nn\.functional|linalg)\./.exec(op.key)?.[0] ?? "";
    for (const name of [op.name, ...op.aliases]) names.add(`${space}${name.replace(/_$/, "")}`);
  }
  return names;
}

/** What takes a GPU, or asks about one: test/cuda has it. */
const OF_GPUS = new Set(["cuda", "isPinned", "pinMemory"]);

/** Public names without a case. */
export function namesWithoutCases(): string[] {
  const covered = namesWithCases();
  return [...publicNames()].filter((name) => !covered.has(OUR_NAMES[name] ?? name) && !OF_GPUS.has(name));
}
