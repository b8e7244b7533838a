/** A profile in the trace format of Chrome, as torch writes it. */
import { threadId } from "node:worker_threads";
import { absolutePath } from "../io/base/paths.ts";
import { replaceText } from "../io/disk/durable.ts";
import type { ProfilerEvent } from "./recorder.ts";

/** Complete events, times in microseconds. */
function traceEvent(event: ProfilerEvent, at: number): object {
  const { name, start, cpuTime, inputShapes } = event;
  const args: Record<string, unknown> = { "External id": at + 1, "Ev Idx": at };
  if (inputShapes !== null) args["Input Dims"] = inputShapes;
  const cat = name.startsWith("aten::") ? "cpu_op" : "user_annotation";
  return { ph: "X", cat, name, pid: process.pid, tid: threadId, ts: start, dur: cpuTime, args };
}

export function writeTrace(path: string, events: readonly ProfilerEvent[]): void {
  const trace = { schemaVersion: 1, displayTimeUnit: "ms", traceEvents: events.map(traceEvent), traceName: path };
  replaceText(absolutePath(path), JSON.stringify(trace));
}
