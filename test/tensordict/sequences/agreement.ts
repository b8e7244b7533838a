// Runs a sequence on real collections and on the plain model, and says where they part.
import fc from "fast-check";
import { differenceOf } from "./compare.ts";
import { nextStep } from "./draw.ts";
import { Model } from "./model.ts";
import { Unsure } from "./model-tree.ts";
import { World } from "./perform.ts";
import type { Outcome, Step } from "./steps.ts";

/** The numbers that sequences are drawn from. */
export const programs = fc.array(fc.array(fc.nat(255), { maxLength: 16 }), { minLength: 1, maxLength: 14 });

/** How often each operation was compared, and was refused by both. */
export const compared = new Map<string, number>();
export const refused = new Map<string, number>();

function ran(world: Model, step: Step): Outcome | null {
  try {
    return world.run(step);
  } catch (e) {
    if (e instanceof Unsure) return null;
    throw e;
  }
}

/** The first difference, or null. */
export function difference(program: readonly (readonly number[])[]): string | null {
  const [world, model] = [new World(), new Model()];
  const steps: Step[] = [];
  for (const numbers of program) {
    const step = nextStep(numbers, world.see(), steps.length, true);
    if (step === null) continue;
    steps.push(step);
    const expected = ran(model, step);
    if (expected === null) return null;
    const found = world.run(step);
    // What is refused leaves everything as it was, too.
    const reason =
      differenceOf(found, expected, false) ?? differenceOf({ vars: found.vars }, { vars: expected.vars }, false);
    if (reason !== null) return `${step.op}: ${reason}\n${steps.map((s) => JSON.stringify(s)).join("\n")}`;
    const counts = found.err === undefined ? compared : refused;
    counts.set(step.op, (counts.get(step.op) ?? 0) + 1);
  }
  return null;
}
