// Runs cases one by one; whatever a case does, it becomes an outcome and the next one runs.
import { Adapter, NoSuchOp, NotApplicable } from "./adapter.ts";
import { plainCall } from "./call.ts";
import type { CaseSet } from "./case-set.ts";
import type { Case, Family } from "./case-types.ts";
import { familyOf } from "./case-types.ts";
import { Findings } from "./compare.ts";
import { Run } from "./decode.ts";
import { promoSkip, runIndex, runNnInit, runPromo, runRepr, runRng } from "./run-families.ts";
import { type Context, firstLine, type Options, runError, runOpinfo } from "./run-opinfo.ts";
import { runProgram } from "./run-program.ts";

export interface Outcome {
  id: string;
  op: string;
  status: "passed" | "failed" | "skipped";
  reasons: string[];
  soft: string[];
}

const RUNNERS: Record<Family, (ctx: Context, c: Case, f: Findings) => void> = {
  opinfo: runOpinfo,
  error: runError,
  promo: runPromo,
  index: runIndex,
  prog: runProgram,
  repr: runRepr,
  rng: (ctx, c, f) => (c.op === "nn_init" ? runNnInit(ctx, c, f) : runRng(ctx, c, f)),
};

/** Families without a runner do not exist: an unknown one fails. */
function dispatch(ctx: Context, c: Case, f: Findings): void {
  const run = RUNNERS[familyOf(c)];
  if (run === undefined) f.fail(`unknown family ${String(c.fam)}`);
  else run(ctx, c, f);
}

export class Runner {
  private constructor(readonly adapter: Adapter) {}

  static async load(): Promise<Runner> {
    return new Runner(await Adapter.load());
  }

  /** Why a case cannot run because the library has no such operator; null when it has. */
  absent(ctx: Context, c: Case): string | null {
    try {
      plainCall(new Run(this.adapter, ctx.set, c));
      return null;
    } catch (e) {
      if (e instanceof NoSuchOp || e instanceof NotApplicable) return e.message;
      return null;
    }
  }

  run(set: CaseSet, c: Case, options: Options = { softStrides: false }): Outcome {
    const ctx: Context = { adapter: this.adapter, set, options };
    const f = new Findings();
    let skip: string | null = null;
    try {
      skip = promoSkip(ctx, c);
      if (skip === null) dispatch(ctx, c, f);
    } catch (e) {
      if (e instanceof NotApplicable) skip = e.message;
      else f.fail(e instanceof NoSuchOp ? e.message : `runner: ${firstLine(e)}`);
    }
    const status = skip !== null ? "skipped" : f.hard.length > 0 ? "failed" : "passed";
    return { id: c.id, op: c.op, status, reasons: skip !== null ? [skip] : f.hard, soft: f.soft };
  }
}
