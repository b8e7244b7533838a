// Recorded programs as tests, one for each operator that they end with.
import { expect, test } from "bun:test";
import type { CaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import type { Runner } from "./runner.ts";

/** Makes the tests; the cases by operator. */
export function testPrograms(set: CaseSet, runner: Runner, title: (operator: string) => string): Map<string, Case[]> {
  const groups = new Map<string, Case[]>();
  for (const c of set.cases) {
    const name = c.steps?.[c.steps.length - 1]?.[1] as string;
    groups.set(name, [...(groups.get(name) ?? []), c]);
  }
  for (const [name, cases] of groups) test(title(name), () => expect(failuresOf(set, runner, cases)).toEqual([]));
  return groups;
}

/** The cases that do not pass, and why. */
export function failuresOf(set: CaseSet, runner: Runner, cases: readonly Case[]): string[] {
  const failures: string[] = [];
  for (const c of cases) {
    const { status, reasons } = runner.run(set, c);
    if (status !== "passed") failures.push(`${c.id}: ${reasons.join("; ")}`);
  }
  return failures;
}
