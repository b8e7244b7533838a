// Runs cases for modules, optimisers, schedules, transforms and autograd. Whatever a case does, it becomes an outcome.
import { type Adapter, NoSuchOp, NotApplicable } from "../adapter.ts";
import { Findings } from "../compare.ts";
import { firstLine } from "../run-opinfo.ts";
import type { Outcome } from "../runner.ts";
import { runGradgrad } from "./run-gradgrad.ts";
import { runModule } from "./run-module.ts";
import { runOptim, runSched } from "./run-optim.ts";
import { runProgramCase } from "./run-programs.ts";
import { type ModuleCase, Values } from "./values.ts";

const RUNNERS: Readonly<Record<string, (values: Values, c: ModuleCase, f: Findings) => void>> = {
  module: runModule,
  optim: runOptim,
  sched: runSched,
};

const PROGRAMS: Readonly<Record<string, typeof runGradgrad>> = {
  func: runProgramCase,
  autograd: runProgramCase,
  init: runProgramCase,
  api: runProgramCase,
  gradgrad: runGradgrad,
};

/** Modules whose printed form tells whether a whole number was given as a float. */
const SHOW_FLOATS = new Set(
  (
    "CELU ConstantPad1d ConstantPad2d ConstantPad3d ELU Hardshrink Hardtanh LeakyReLU Softplus Softshrink " +
    "Threshold"
  ).split(" "),
);

/** Families of these sets; that of loaders has no runner yet, and is skipped. */
export const MODULE_FAMILIES = new Set("module optim sched loader func autograd init api gradgrad".split(" "));

export function runModuleCase(adapter: Adapter, blob: Uint8Array, c: ModuleCase): Outcome {
  const f = new Findings();
  const run = RUNNERS[c.fam];
  const program = PROGRAMS[c.fam];
  if (run === undefined && program === undefined) {
    return { id: c.id, op: c.op, status: "skipped", reasons: [`family ${c.fam} is not read yet`], soft: [] };
  }
  try {
    adapter.lib.manualSeed(0);
    if (program !== undefined) program(adapter, blob, c, f);
    else run?.(new Values(adapter.lib, blob, c, c.fam === "optim" || SHOW_FLOATS.has(c.op)), c, f);
  } catch (error) {
    if (error instanceof NotApplicable)
      return { id: c.id, op: c.op, status: "skipped", reasons: [error.message], soft: [] };
    f.fail(error instanceof NoSuchOp ? error.message : `runner: ${firstLine(error)}`);
  }
  return { id: c.id, op: c.op, status: f.hard.length > 0 ? "failed" : "passed", reasons: f.hard, soft: f.soft };
}
