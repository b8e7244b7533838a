// The Workers of `map`: who gets which chunk, and results in order.
import { basename, join } from "../../runtime/node.ts";
import * as errors from "../../tensor/errors.ts";
import { setThreadCount, threadCount } from "../../tensor/system.ts";
import type { Td } from "../core/state.ts";
import { type Answer, PROGRAM, type SentError, type Start, type Task } from "./map-serve.ts";
import { Wire } from "./map-wire.ts";

/** A function that a module exports. */
export interface MapModule {
  /** Absolute path or URL of the module, as `import.meta.resolve` gives it. */
  module: string | { readonly href: string };
  /** The name of the export; `"default"` without it. */
  name?: string;
}

/** The work of a pool. */
export interface Pool {
  work: Pick<Start, "module" | "name" | "zensor">;
  workers: number;
  /** Chunks after which a Worker is replaced; null for never. */
  tasksEach: number | null;
  /** Threads of operators meanwhile; null for as many as there are. */
  threads: number | null;
  /** The first Worker's; each further one has the next. */
  seed: bigint;
  /** Results that may wait to be taken. */
  ahead: number;
}

/** A chunk, and where its results are written; null for back here. */
export interface Job {
  chunk: Td;
  out: Td | null;
}

/** What to import for this package in a Worker, null where it is a part of a larger file. */
function ownModule(): string | null {
  const here = import.meta.path;
  const name = basename(here);
  if (name === "map-pool.ts") return join(here, "..", "..", "..", "entry.cjs");
  return name === "zensor.compiled.js" ? join(here, "..", "zensor.mjs") : null;
}

/** What Workers are told of a function. */
export function workOf(fn: MapModule | ((...args: never[]) => unknown)): Pool["work"] {
  const zensor = ownModule();
  if (typeof fn !== "function") {
    const { module, name = "default" } = fn;
    const path = typeof module === "string" ? module : module?.href;
    if (typeof path !== "string" || typeof name !== "string") {
      throw new errors.TypeError("a function for Workers is { module, name }: a path or URL, and an export");
    }
    if (/^\.\.?[\\/]/.test(path)) {
      throw new errors.ValueError(
        `Workers do not know what ${JSON.stringify(path)} is relative to: give import.meta.resolve(...) of it`,
      );
    }
    return { module: path, name, zensor };
  }
  const text = Function.prototype.toString.call(fn);
  try {
    if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) throw new Error("native code");
    new Function(`return (${text}\n)`);
  } catch {
    throw new errors.TypeError(
      "a function for Workers is sent as its text, and that of a method, a bound or native function says too little: " +
        "give an arrow function that uses nothing around it, or { module, name }",
    );
  }
  if (zensor === null) {
    throw new errors.RuntimeError(
      "in a program of one file Workers find no package to load: give { module, name } of a module that imports zensor",
    );
  }
  return { module: null, name: text, zensor };
}

/** Limits of threads that hold now; the last one counts. */
const limits: { threads: number }[] = [];
let unlimited = 0;

function limitThreads(threads: number | null): () => void {
  if (threads === null) return () => {};
  if (limits.length === 0) unlimited = threadCount();
  const limit = { threads };
  limits.push(limit);
  setThreadCount(threads);
  return () => {
    limits.splice(limits.indexOf(limit), 1);
    setThreadCount(limits.at(-1)?.threads ?? unlimited);
  };
}

/** The error that a Worker had, of the class of that name if it is known here. */
function errorFrom({ name, message, code, stack }: SentError): Error {
  const found: unknown = Reflect.get(code === null ? globalThis : errors, name);
  const known = typeof found === "function" && found.prototype instanceof Error ? found : Error;
  const error: Error = Reflect.construct(known, [message]);
  error.name = name;
  if (stack !== "") error.stack = stack;
  if (code !== null) (error as Error & { code: string }).code = code;
  return error;
}

/** One Worker. */
class Hand {
  private readonly worker: Worker;
  private readonly url = URL.createObjectURL(new Blob([PROGRAM], { type: "application/javascript" }));
  private readonly closed: Promise<void>;
  idle = false;
  /** Chunks that it was given. */
  tasks = 0;
  private over = false;

  constructor(start: Start, heard: (hand: Hand, answer: Answer) => void) {
    this.worker = new Worker(this.url);
    const failed = (name: string, message: string) =>
      this.over || heard(this, { failed: { name, message, code: null, stack: "" } });
    this.worker.onmessage = ({ data }) => this.over || heard(this, data as Answer);
    this.worker.onerror = (event) => void failed("Error", event.message);
    this.closed = new Promise((resolve) => {
      this.worker.addEventListener("close", () => {
        failed("Error", "a Worker of map ended before its work was done");
        resolve();
      });
    });
    this.worker.postMessage(start);
  }

  give(task: Task, moved: ArrayBuffer[]): void {
    this.idle = false;
    this.tasks++;
    this.worker.postMessage(task, moved);
  }

  /** Whether the program goes on for this Worker's sake. */
  holdProgram(on: boolean): void {
    if (on) this.worker.ref();
    else this.worker.unref();
  }

  async end(): Promise<void> {
    this.over = true;
    this.worker.ref();
    this.worker.terminate();
    await this.closed;
    URL.revokeObjectURL(this.url);
  }
}

/** Chunks at work. */
class Run {
  private readonly wire = new Wire(true);
  private readonly hands = new Set<Hand>();
  private readonly ended: Promise<void>[] = [];
  private readonly results = new Map<number, unknown>();
  private readonly waiting: Job[] = [];
  private given = 0;
  private taken = 0;
  private made = 0;
  private last = false;
  private failure: { error: unknown } | null = null;
  private wake: (() => void) | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly jobs: Iterator<Job>,
  ) {}

  /** Gives chunks to whoever has none, as far as results may wait; there are no more Workers than chunks. */
  private feed(): void {
    try {
      if (this.failure !== null) return;
      const free = [...this.hands].filter((hand) => hand.tasks === 0 || hand.idle);
      const idle = free.filter((hand) => hand.idle);
      const most = free.length + this.pool.workers - this.hands.size;
      while (this.waiting.length < most && this.pull());
      for (const hand of idle) {
        const job = this.waiting.shift();
        if (job !== undefined) this.give(hand, job);
      }
      for (let missing = this.waiting.length - (free.length - idle.length); missing > 0; missing--) this.start();
    } catch (error) {
      this.failure ??= { error };
    }
  }

  /** Takes one more chunk to give; false when there is none, or enough results wait. */
  private pull(): boolean {
    if (this.last || this.given + this.waiting.length - this.taken >= this.pool.ahead) return false;
    const next = this.jobs.next();
    if (next.done === true) this.last = true;
    else this.waiting.push(next.value);
    return next.done !== true;
  }

  private start(): void {
    const seed = BigInt.asUintN(64, this.pool.seed + BigInt(this.made++));
    const hand = new Hand({ ...this.pool.work, seed }, (one, answer) => this.hear(one, answer));
    hand.holdProgram(this.wake !== null);
    this.hands.add(hand);
  }

  private give(hand: Hand, { chunk, out }: Job): void {
    const { sent, moved } = this.wire.send(chunk);
    const target = out === null ? null : this.wire.sendTarget(out);
    hand.give({ task: this.given++, chunk: sent, out: target }, moved);
  }

  private hear(hand: Hand, answer: Answer): void {
    try {
      if ("failed" in answer) this.failure ??= { error: errorFrom(answer.failed) };
      else {
        if ("task" in answer) this.results.set(answer.task, this.wire.take(answer.result));
        hand.idle = true;
        if (hand.tasks === this.pool.tasksEach) this.release(hand);
      }
    } catch (error) {
      this.failure ??= { error };
    }
    this.feed();
    this.wake?.();
  }

  private release(hand: Hand): void {
    this.hands.delete(hand);
    this.ended.push(hand.end());
  }

  /** The next result; false after the last. */
  async next(): Promise<{ result: unknown } | false> {
    for (;;) {
      this.feed();
      if (this.failure !== null) throw this.failure.error;
      if (this.results.has(this.taken)) {
        const result = this.results.get(this.taken);
        this.results.delete(this.taken++);
        return { result };
      }
      if (this.last && this.waiting.length === 0 && this.taken === this.given) return false;
      for (const hand of this.hands) hand.holdProgram(true);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = null;
      // A program that takes no more results may end.
      for (const hand of this.hands) hand.holdProgram(false);
    }
  }

  async end(): Promise<void> {
    this.failure ??= { error: new errors.RuntimeError("this map has ended") };
    this.jobs.return?.();
    for (const hand of [...this.hands]) this.release(hand);
    await Promise.all(this.ended);
  }
}

/** The results of all chunks, in order. However it ends, so do its Workers. */
export async function* inWorkers(pool: Pool, jobs: Iterator<Job>): AsyncGenerator<unknown, void, undefined> {
  const unlimit = limitThreads(pool.threads);
  const run = new Run(pool, jobs);
  try {
    for (let next = await run.next(); next !== false; next = await run.next()) yield next.result;
  } finally {
    await run.end();
    unlimit();
  }
}
