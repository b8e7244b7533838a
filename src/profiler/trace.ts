/** A profile in the trace format of Chrome, as torch writes it. */
import { absoluteFile } from "../io/base/places.ts";
import { replaceText } from "../io/disk/durable.ts";
import type { ProfilerEvent } from "./recorder.ts";

/** Complete events, times in microseconds. */
function traceEvent(event: ProfilerEvent, at: number, tid: number): object {
  const { name, start, cpuTime, inputShapes } = event;
  const args: Record<string, unknown> = { "External id": at + 1, "Ev Idx": at };
  if (inputShapes !== null) args["Input Dims"] = inputShapes;
  const cat = name.startsWith("aten::") ? "cpu_op" : "user_annotation";
  return { ph: "X", cat, name, pid: process.pid, tid, ts: start, dur: cpuTime, args };
}

export function writeTrace(path: string, events: readonly ProfilerEvent[]): void {
  // Loaded here: most programs write no trace, and all would wait for this module.
  const { threadId } = process.getBuiltinModule("node:worker_threads");
  const trace = {
    schemaVersion: 1,
    displayTimeUnit: "ms",
    traceEvents: events.map((event, at) => traceEvent(event, at, threadId)),
    traceName: path,
  };
  replaceText(absoluteFile(path), JSON.stringify(trace));
}
