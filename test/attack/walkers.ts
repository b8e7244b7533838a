// What walks through objects: serialisers, inspectors, comparisons, copies, and whoever reads all that it can reach.

import { serialize as serializeJsc } from "bun:jsc";
import { expect } from "bun:test";
import { deepStrictEqual } from "node:assert";
import { inspect, isDeepStrictEqual } from "node:util";
import { deserialize, serialize } from "node:v8";

export type Walker = (thing: unknown) => unknown;

/** Calls `visit` with every object that is reached through properties of any kind, getters of prototypes as well. */
export function reach(thing: unknown, visit: (x: object) => void, getters = true): void {
  const seen = new Set<unknown>();
  const open: unknown[] = [thing];
  // Getters make new tensors without end.
  const most = getters ? 300 : 20_000;
  for (let i = 0; i < open.length && seen.size < most; i++) {
    const x = open[i];
    if (x === null || (typeof x !== "object" && typeof x !== "function") || seen.has(x) || x === globalThis) continue;
    seen.add(x);
    visit(x);
    if (x instanceof Map || x instanceof Set) for (const [k, v] of x.entries()) open.push(k, v);
    if (ArrayBuffer.isView(x) || typeof x === "function") continue;
    for (let at: object | null = x; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      if (at !== x && !getters) break;
      for (const key of Reflect.ownKeys(at)) {
        try {
          open.push(Reflect.get(at, key, x));
        } catch {}
      }
    }
  }
}

/** As lodash's `cloneDeep` and its like: objects of the same classes with copies of all properties. */
export function cloneDeep<T>(thing: T, seen = new Map<unknown, unknown>()): T {
  if (typeof thing !== "object" || thing === null) return thing;
  if (seen.has(thing)) return seen.get(thing) as T;
  if (thing instanceof ArrayBuffer) return thing.slice(0) as T;
  if (ArrayBuffer.isView(thing)) {
    const { buffer, byteOffset, constructor } = thing as unknown as Uint8Array;
    return new (constructor as never as new (...args: unknown[]) => T)(
      buffer.slice(0),
      byteOffset,
      (thing as never as Uint8Array).length,
    );
  }
  const copy = Array.isArray(thing) ? [] : Object.create(Object.getPrototypeOf(thing));
  seen.set(thing, copy);
  for (const key of Reflect.ownKeys(thing)) {
    if (Array.isArray(thing) && key === "length") continue;
    copy[key] = cloneDeep((thing as never)[key], seen);
  }
  return copy;
}

/** Proxies all the way down. */
function membrane(thing: unknown, made = new Map<unknown, unknown>()): unknown {
  if (typeof thing !== "object" || thing === null) return thing;
  if (!made.has(thing)) {
    made.set(thing, new Proxy(thing, { get: (t, key, self) => membrane(Reflect.get(t, key, self), made) }));
  }
  return made.get(thing);
}

const { port1, port2 } = new MessageChannel();
port1.unref?.();
port2.unref?.();
const channel = new BroadcastChannel("walkers");
channel.unref?.();
let worker: Worker | null = null;

/** Gives back what the walkers opened. */
export function closeAll(): void {
  for (const port of [port1, port2]) port.close();
  channel.close();
  worker?.terminate();
}

function post(thing: unknown): void {
  worker ??= new Worker(URL.createObjectURL(new Blob(["onmessage = () => {};"], { type: "text/javascript" })));
  worker.postMessage(thing);
}

const inspectAll = { depth: 4, showHidden: true, customInspect: false, maxArrayLength: 5 };

export const walkers: Record<string, Walker> = {
  structuredClone: (x) => structuredClone(x),
  "structuredClone, in an object": (x) => structuredClone({ a: 1, x }),
  "structuredClone, in a Map of Sets": (x) => structuredClone(new Map([["x", new Set([x])]])),
  "structuredClone of what has no tensors": (x) => reach(x, (part) => structuredClone(part), false),
  "MessagePort.postMessage": (x) => port1.postMessage(x),
  "Worker.postMessage": (x) => post({ x }),
  "BroadcastChannel.postMessage": (x) => channel.postMessage([x]),
  "v8.serialize": (x) => deserialize(serialize(x)),
  "bun:jsc serialize": (x) => serializeJsc({ x } as never),
  "Bun.inspect": (x) => Bun.inspect(x, { depth: 4 }),
  "util.inspect": (x) => inspect(x),
  "util.inspect, all of it": (x) => inspect(x, inspectAll),
  "Bun.deepEquals": (x) => Bun.deepEquals(x, cloneDeep(x)) || Bun.deepEquals(x, cloneDeep(x), true),
  "assert.deepStrictEqual": (x) => deepStrictEqual(x, cloneDeep(x)),
  isDeepStrictEqual: (x) => isDeepStrictEqual({ x }, { x: cloneDeep(x) }),
  toEqual: (x) => expect(x).toEqual(cloneDeep(x)),
  toStrictEqual: (x) => expect({ x }).toStrictEqual({ x: cloneDeep(x) }),
  toMatchObject: (x) => expect({ x }).toMatchObject({ x: cloneDeep(x) } as never),
  "a failing toEqual, printed": (x) => expect({ x }).toEqual({ x: [1] } as never),
  "JSON.stringify": (x) => JSON.stringify(x),
  "Object.assign": (x) => Object.assign({}, x),
  spread: (x) => ({ ...(x as object) }),
  "Object.entries, all the way": (x) => reach(x, (part) => Object.entries(part), false),
  "all properties and getters": (x) => reach(x, () => {}),
  "buffers of all arrays": (x) => reach(x, (part) => ArrayBuffer.isView(part) && new Uint8Array(part.buffer).fill),
  "subarrays of all arrays": (x) => reach(x, (part) => ArrayBuffer.isView(part) && (part as Uint8Array).subarray?.(0)),
  "Buffers over all arrays": (x) => reach(x, (part) => ArrayBuffer.isView(part) && Buffer.from(part.buffer).length),
  cloneDeep: (x) => cloneDeep(x),
  "Object.freeze of all arrays": (x) => reach(x, (part) => ArrayBuffer.isView(part) && Object.freeze(part)),
  "a Proxy": (x) => reach(new Proxy(x as object, {}), () => {}),
  "Proxies all the way": (x) => reach(membrane(x), () => {}, false),
};
