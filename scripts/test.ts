// The test driver: runs every check of the repository in order and ends with one line of totals.
// `bun scripts/test.ts [--all] [step...]` runs some of the steps; each test and each other step counts one.

import { availableParallelism } from "node:os";
import { reportMetrics } from "./metrics.ts";
import { isWhole, type Outcome, STEPS, type Step } from "./test-steps.ts";

const MAX_SHOWN_LINES = 400;
/** Most of the time of a step is one core's; more at once than two would need more memory than small machines have. */
const WORKERS = Math.min(2, availableParallelism());

function shown(output: string): string {
  const lines = output.trimEnd().split("\n");
  if (lines.length <= MAX_SHOWN_LINES) return lines.join("\n");
  const half = MAX_SHOWN_LINES / 2;
  const note = `... ${lines.length - MAX_SHOWN_LINES} lines left out, all of them in build/logs ...`;
  return [...lines.slice(0, half), note, ...lines.slice(-half)].join("\n");
}

async function runStep(step: Step): Promise<Outcome> {
  const start = performance.now();
  let outcome: Outcome;
  try {
    outcome = await step.run();
  } catch (error) {
    outcome = { passed: 0, failed: 1, skipped: 0, output: Bun.inspect(error) };
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const counts = totals(outcome) + (outcome.note === undefined ? "" : `; ${outcome.note}`);
  const verdict = outcome.failed > 0 ? "FAIL" : "ok";
  console.log(`${verdict.padEnd(5)}${step.name.padEnd(18)}${seconds.padStart(7)} s   ${counts}`);
  if (outcome.failed > 0) console.log(`${shown(outcome.output).replace(/^/gm, "  | ")}`);
  return outcome;
}

function totals({ passed, failed, skipped }: Outcome): string {
  const text = `${passed} passed, ${failed} failed`;
  return skipped > 0 ? `${text}, ${skipped} skipped` : text;
}

/** What a run without `--all` did not do. */
function leftOut(): string {
  const steps = STEPS.filter((step) => step.beyond !== undefined);
  const lines = steps.map((step) => `  ${step.name.padEnd(18)}${step.beyond}`);
  const text = "random and hostile input in larger numbers, and the tests counted as skipped";
  return ["left out, in `npm test -- --all`:", ...lines, `  ${"campaigns".padEnd(18)}${text}`].join("\n");
}

async function main(names: string[]): Promise<number> {
  const isWanted = (step: Step) =>
    names.length === 0
      ? isWhole || step.beyond === undefined
      : names.some((name) => step.name === name || (name === "bun" && step.name.startsWith("test/")));
  const unknown = names.filter((name) => name !== "bun" && !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    console.error(
      `no step ${unknown.join(", ")}; the steps are ${STEPS.map((step) => step.name).join(" ")}; all of test/ is bun`,
    );
    return 2;
  }
  const sum: Outcome = { passed: 0, failed: 0, skipped: 0, output: "" };
  let buildNote: string | undefined;
  const wanted = STEPS.filter(isWanted);
  const finish = async (step: Step) => {
    const outcome = await runStep(step);
    if (step.name === "build") buildNote = outcome.note;
    sum.passed += outcome.passed;
    sum.failed += outcome.failed;
    sum.skipped += outcome.skipped;
  };
  /** Takes the next step until there is none, or one that runs alone. */
  const work = async (steps: Step[]) => {
    while (steps[0] !== undefined && steps[0].alone !== true) await finish(steps.shift() as Step);
  };
  const left = [...wanted];
  while (left.length > 0) {
    if (left[0]?.alone === true) await finish(left.shift() as Step);
    else await Promise.all(Array.from({ length: WORKERS }, () => work(left)));
  }
  // Figures of some steps alone would be figures of nothing.
  if (names.length === 0) {
    console.log(isWhole ? await reportMetrics(sum.passed + sum.failed + sum.skipped, buildNote) : leftOut());
  }
  console.log(totals(sum));
  return sum.failed > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2).filter((word) => word !== "--all"));
