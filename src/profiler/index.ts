/** The namespace `profiler`: which operators a piece of code calls, how long they take, and the bytes they make. */
import { inOrder } from "../tensor/checks.ts";
import { requireSync } from "../tensor/modes.ts";
import { type Averages, averagesOf } from "./averages.ts";
import type { ProfilerEvent } from "./recorder.ts";
import { Recorder } from "./recorder.ts";
import { FUNCTIONS, PROFILE } from "./signatures.ts";
import { writeTrace } from "./trace.ts";

export type { AverageRow, Averages, SortKey, TableOptions } from "./averages.ts";
export type { ProfilerEvent } from "./recorder.ts";

/** What is recorded besides names and times. */
export interface ProfileOptions {
  /** The shapes of each call's arguments. */
  recordShapes?: boolean;
  /** The bytes of memory that each call's results bring. */
  profileMemory?: boolean;
}

/**
 * What a profiled function did.
 * @example
 * ```ts
 * const found = profiler.profile(() => ones(2).add(1));
 * [found.result, found.events.map((event) => event.name)] // [tensor([2., 2.]), [aten::ones, aten::add]]
 * ```
 */
export class Profile<R> {
  /** @internal Made by `profile`. */
  constructor(
    /** What the function returned. */
    readonly result: R,
    /** Every call, in the order in which they began. */
    readonly events: readonly ProfilerEvent[],
    private readonly options: ProfileOptions,
  ) {}

  /**
   * The calls of each operator together; with `groupByInputShape` those with the same shapes only.
   * @example
   * ```ts
   * const found = profiler.profile(() => ones(2, 2).add(1)).keyAverages();
   * found.rows.map((row) => row.key) // [aten::ones, aten::add]
   * ```
   * @torch torch.profiler.profile.key_averages
   */
  keyAverages(options: { groupByInputShape?: boolean } = {}): Averages {
    [options = {}] = inOrder<[typeof options?]>("keyAverages", PROFILE.keyAverages, arguments);
    return averagesOf(this.events, options.groupByInputShape === true, this.options.profileMemory === true);
  }

  /**
   * Writes the calls as a trace that chrome://tracing and Perfetto show. The file appears whole or not at all.
   * @throws OSError when it cannot be written
   * @torch torch.profiler.profile.export_chrome_trace
   */
  exportChromeTrace(path: string): void {
    [path] = inOrder("exportChromeTrace", PROFILE.exportChromeTrace, arguments);
    writeTrace(path, this.events);
  }
}

/**
 * Runs a function and records every operator that it calls, also those inside of other operators and of the backward
 * pass. Recording takes about a microsecond a call.
 * @param body a function that is not async
 * @example
 * ```ts
 * const found = profiler.profile(() => nn.functional.linear(ones(2, 3), ones(4, 3)), { recordShapes: true });
 * found.keyAverages().table({ sortBy: "selfCpuTimeTotal", rowLimit: 10 }).split("\n").length // 10
 * ```
 * @throws TypeError for an async function or an unknown option
 * @torch torch.profiler.profile
 */
export function profile<R>(body: () => R, options: ProfileOptions = {}): Profile<R> {
  [body, options = {}] = inOrder<[typeof body, ProfileOptions?]>("profile", FUNCTIONS.profile, arguments);
  requireSync(body, "profile");
  const recorder = new Recorder(options.recordShapes === true, options.profileMemory === true);
  const result = recorder.record(body);
  return new Profile(result, recorder.events, options);
}

/**
 * Gives a piece of code a name of its own among the calls that a profiler records; without a profiler it just runs.
 * @example
 * ```ts
 * profiler.profile(() => profiler.recordFunction("forward", () => ones(2).mul(3))).events[0].name // forward
 * ```
 * @torch torch.profiler.record_function
 */
export function recordFunction<R>(name: string, body: () => R): R {
  [name, body] = inOrder("recordFunction", FUNCTIONS.recordFunction, arguments);
  requireSync(body, "recordFunction");
  return Recorder.current === null ? body() : Recorder.current.named(name, body);
}
