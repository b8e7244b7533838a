// What a Worker of `map` does: it calls the function for each chunk that it is sent.
import { defaultGenerator } from "../../dispatch/generator.ts";
import { TypeError } from "../../tensor/errors.ts";
import type { Td } from "../core/state.ts";
import { updateInPlace } from "../ops/writes.ts";
import { type Sent, Wire } from "./map-wire.ts";

/** The place where the start of a Worker finds `serve`. */
const SLOT = Symbol.for("zensor.map");

/** What a Worker is told first. */
export interface Start {
  /** A module to import, null for a text. */
  module: string | null;
  /** The name of the export, or the text of the function. */
  name: string;
  /** What to import for this package where the module does not. */
  zensor: string | null;
  seed: bigint;
}

/** A chunk for a Worker, and where its results go if not back. */
export interface Task {
  task: number;
  chunk: Sent;
  out: Sent | null;
}

/** An error as plain data. */
export interface SentError {
  name: string;
  message: string;
  code: string | null;
  stack: string;
}

/** What a Worker answers. */
export type Answer = { ready: true } | { task: number; result: Sent } | { failed: SentError };

interface Scope {
  onmessage: ((event: { data: Task }) => void) | null;
  postMessage(message: Answer, moved?: ArrayBuffer[]): void;
}

type Work = (chunk: unknown) => unknown;

/** The program of a Worker: it has nothing of this package, and so no path of it, until it is told where it is. */
export const PROGRAM = `
const slot = globalThis[Symbol.for("zensor.map")] = { serve: null };
self.onmessage = async ({ data }) => {
  try {
    const found = data.module === null ? null : await import(data.module);
    if (slot.serve === null && data.zensor !== null) await import(data.zensor);
    if (slot.serve === null) throw new TypeError("the module of a function for map must import zensor: " + data.module);
    slot.serve(self, data, found);
  } catch (error) {
    const { name = "Error", message = String(error), code = null, stack = "" } = error ?? {};
    postMessage({ failed: { name, message, code, stack } });
  }
};
`;

/** Tells the start of a Worker of `map`, if this is one, what goes on in it. */
export function offerServe(): void {
  const slot: unknown = Reflect.get(globalThis, SLOT);
  if (typeof slot === "object" && slot !== null) Reflect.set(slot, "serve", serve);
}

function sentError(error: unknown): SentError {
  const { name, message, code, stack } = (error ?? {}) as Partial<Record<keyof SentError, unknown>>;
  const text = (value: unknown, other: string) => (typeof value === "string" ? value : other);
  return {
    name: text(name, "Error"),
    message: text(message, String(error)),
    code: typeof code === "string" ? code : null,
    stack: text(stack, ""),
  };
}

function workOf(start: Start, found: Record<string, unknown> | null): Work {
  const work: unknown = found === null ? new Function(`return (${start.name}\n)`)() : found[start.name];
  if (typeof work === "function") return work as Work;
  throw new TypeError(`${start.module} exports no function ${JSON.stringify(start.name)}`);
}

function serve(scope: Scope, start: Start, found: Record<string, unknown> | null): void {
  const wire = new Wire(false);
  const work = workOf(start, found);
  defaultGenerator.manualSeed(start.seed);
  scope.onmessage = async ({ data: { task, chunk, out } }) => {
    try {
      const result = await work(wire.take(chunk));
      if (out !== null && result !== null && result !== undefined) {
        updateInPlace(wire.take(out) as Td, result as Td);
      }
      const { sent, moved } = wire.send(out === null ? result : null);
      scope.postMessage({ task, result: sent }, moved);
    } catch (error) {
      scope.postMessage({ failed: sentError(error) });
    }
  };
  scope.postMessage({ ready: true });
}
