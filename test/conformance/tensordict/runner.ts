// Runs cases of TensorDict; whatever a case does, it becomes an outcome and the next one runs.
import * as z from "../../../src/index.ts";
import { ourSpelling } from "../../spelling.ts";
import { Adapter, type Any, camel, NoSuchOp, NotApplicable } from "../adapter.ts";
import { Findings } from "../compare.ts";
import type { ErrorDesc, Step, TdCase, TdCaseSet } from "./case.ts";
import { Expectation } from "./expect.ts";
import { arguments_, perform } from "./perform.ts";
import { exported, KEYED, Scene } from "./scene.ts";

export interface TdOutcome {
  id: string;
  m: string;
  status: "passed" | "failed" | "skipped";
  reasons: string[];
}

type Attempt = { ok: true; value: unknown } | { ok: false; error: Error };

const firstLine = (error: unknown) => String((error as Error)?.message ?? error).split("\n")[0] as string;

/** Messages of Python's own calling: only that the call is refused counts. */
const MACHINERY = new RegExp(
  [
    "positional argument|keyword argument|has no attribute|object is not|unsupported operand|takes .* argument",
    "argument '\\w+' .*must be|received an invalid combination|not supported between",
  ].join("|"),
);

function judgeError(attempt: Attempt, want: ErrorDesc, f: Findings): void {
  if (attempt.ok) {
    f.fail(`no error, expected ${want.type}: ${want.msg.slice(0, 90)}`);
    return;
  }
  const { error } = attempt;
  if (["TypeError", "AttributeError"].includes(want.type) && MACHINERY.test(want.msg)) return;
  const type = want.type.replace(/^_/, "");
  if (error.name !== type) f.fail(`${error.name} instead of ${type}: ${firstLine(error).slice(0, 120)}`);
  // The text up to a line break, an address or a printed collection.
  const begin = ourSpelling(want.msg).split(/\n|0x[0-9a-f]{6,}|TensorDict\(|LazyStackedTensorDict\(/)[0] as string;
  if (!error.message.startsWith(begin))
    f.fail(`says "${firstLine(error).slice(0, 120)}", expected "${begin.slice(0, 120)}"`);
}

const SWITCHES: Record<string, string> = {
  lazy_legacy: "setLazyLegacy",
  list_to_stack: "setListToStack",
  get_defaults_to_none: "setGetDefaultsToNull",
  capture_non_tensor_stack: "setCaptureNonTensorStack",
};

/** Python's own defaults, which print in the short form. */
const PRINTED = { compact: true, sortKeys: "alphabetical" };

export class TdRunner {
  private constructor(private readonly adapter: Adapter) {}

  static async load(): Promise<TdRunner> {
    return new TdRunner(await Adapter.load());
  }

  run(set: TdCaseSet, c: TdCase): TdOutcome {
    const f = new Findings();
    let skip: string | null = null;
    const restore: (() => void)[] = [];
    try {
      this.switches(c, restore);
      this.judge(set, c, f);
    } catch (error) {
      if (error instanceof NotApplicable) skip = error.message;
      else f.fail(error instanceof NoSuchOp ? error.message : `runner: ${firstLine(error)}`);
    } finally {
      for (const back of restore.reverse()) back();
    }
    const status = skip !== null ? "skipped" : f.hard.length > 0 ? "failed" : "passed";
    return { id: c.id, m: c.m, status, reasons: skip !== null ? [skip] : f.hard };
  }

  private switches(c: TdCase, restore: (() => void)[]): void {
    const hold = (made: Any) => restore.push(() => made?.[Symbol.dispose]?.());
    for (const [name, value] of Object.entries(c.set ?? {})) {
      if (name === "print") continue;
      if (name === "grad") {
        hold((z as Any).setGradEnabled(value));
        continue;
      }
      const found = exported(SWITCHES[name] ?? "");
      if (typeof found !== "function") throw new NoSuchOp(`no such switch: ${name}`);
      const made = found(value);
      made?.set?.();
      hold(made);
    }
    const print = c.set?.print ?? PRINTED;
    // How notebooks show a TensorDict is no option here.
    const shown = Object.entries(print).filter(([key]) => key !== "html");
    const options = Object.fromEntries(shown.map(([key, value]) => [camel(key), value]));
    const made = exported("setTensorDictPrintoptions")(options);
    made?.set?.();
    hold(made);
  }

  private judge(set: TdCaseSet, c: TdCase, f: Findings): void {
    const scene = new Scene(this.adapter, set, c);
    const [args, options] = arguments_(scene, c);
    const expectation = new Expectation(this.adapter, set, c, scene, f);
    const attempt = this.attempt(c, args, options);
    if (c.k === "prog") this.program(c, scene, expectation, attempt, f);
    else if (c.err !== undefined) judgeError(attempt, c.err, f);
    else if (!attempt.ok) f.fail(`${attempt.error.name}: ${firstLine(attempt.error)}`);
    else expectation.value("result", attempt.value, c.out);
    for (const [i, want] of c.a.entries()) {
      const isData = want !== null && typeof want === "object";
      if (isData) expectation.value(`argument ${i}`, args[i], c.post?.[String(i)] ?? want);
    }
    for (const [key, want] of Object.entries(c.kw ?? {})) {
      if (want !== null && typeof want === "object" && ("$td" in want || "$t" in want)) {
        const name = KEYED.has(c.m) ? key : camel(key);
        expectation.value(`argument ${key}`, options?.[name], c.post?.[`kw.${key}`] ?? want);
      }
    }
    expectation.storages();
  }

  private attempt(step: Step, args: unknown[], options: Record<string, unknown> | undefined): Attempt {
    try {
      return { ok: true, value: perform(step, args, options) };
    } catch (error) {
      if (error instanceof NoSuchOp || error instanceof NotApplicable) throw error;
      return { ok: false, error: error as Error };
    }
  }

  private program(c: TdCase, scene: Scene, expectation: Expectation, attempt: Attempt, f: Findings): void {
    if (!attempt.ok) {
      f.fail(`${attempt.error.name}: ${firstLine(attempt.error)}`);
      return;
    }
    const given = attempt.value as Any;
    if (c.x !== undefined) scene.objects.set(c.x, given);
    for (const [i, step] of (c.steps ?? []).entries()) {
      const [args, options] = arguments_(scene, step);
      if (step.k === "enter") continue;
      if (step.k === "exit") {
        (args[0] as Any)[Symbol.dispose]();
        continue;
      }
      for (const [s, storage] of scene.storages) expectation.aliases.addInput(s, storage);
      const done = this.attempt(step, args, options);
      if (step.err !== undefined) judgeError(done, step.err, f);
      else if (!done.ok) f.fail(`step ${i}: ${done.error.name}: ${firstLine(done.error)}`);
      else if (step.x !== undefined) {
        const known = scene.objects.get(step.x);
        if (known !== undefined && known !== done.value) f.fail(`step ${i}: another object than ${step.x}`);
        scene.objects.set(step.x, done.value);
      } else if ("out" in step) expectation.value(`step ${i}`, done.value, step.out);
    }
    given[Symbol.dispose]();
  }
}
