/**
 * Settings that hold for a while: whether gradients are recorded, which scope is open. Operators read a plain property,
 * so that nothing is known there of tasks; each setting has one stack of what was asked for and has not ended yet.
 */
import * as texts from "../../generated/texts.ts";
import { walker } from "./scope-state.ts";

/** A mode that lasts until it is disposed. */
export interface ModeGuard {
  [Symbol.dispose](): void;
}

/** Nobody took it with `using` (yet): a callback, or a setter called as a statement. */
const NOT_HELD = -1;
/** Settings made by statements and never taken back: beyond so many the oldest are final. */
const MOST = 256;

let turn = 0;
let asked = false;

/** What is held since another turn was held across an await. */
function thisTurn(): number {
  if (!asked) {
    asked = true;
    queueMicrotask(() => {
      asked = false;
      turn++;
    });
  }
  return turn;
}

/** One value that was asked for and has not ended. */
class Entry<T> implements ModeGuard {
  constructor(
    readonly mode: Mode<T>,
    readonly value: T,
    readonly name: string,
    public since: number,
  ) {}

  /** `using` reads the method when the block begins. */
  get [Symbol.dispose](): () => void {
    if (this.since === NOT_HELD) this.since = thisTurn();
    return () => {
      if (!this.mode.end(this)) refuseOverlap(this.name);
    };
  }

  /** Ends it, without a word about what happened meanwhile. */
  restore(): void {
    this.mode.end(this);
  }

  get awaited(): boolean {
    return this.since !== NOT_HELD && this.since !== turn;
  }
}

export type { Entry as ModeEntry };

/** One setting and its stack. */
export class Mode<T> {
  private readonly open: Entry<T>[] = [];
  private base: T;

  constructor(
    private readonly get: () => T,
    private readonly set: (value: T) => void,
  ) {
    this.base = get();
  }

  /** A guard: it is there to be ended. */
  hold(value: T, name: string): Entry<T> {
    return this.begin(value, name, thisTurn());
  }

  /** A setting: mostly a statement that is never taken back. */
  change(value: T, name: string): Entry<T> {
    return this.begin(value, name, NOT_HELD);
  }

  private begin(value: T, name: string, since: number): Entry<T> {
    const { open } = this;
    if (open.length === 0) this.base = this.get();
    else if (open.length >= MOST && open[0]?.since === NOT_HELD) this.base = (open.shift() as Entry<T>).value;
    const entry = new Entry(this, value, name, since);
    open.push(entry);
    this.set(value);
    return entry;
  }

  /**
   * Takes an entry out, wherever it is; what remains decides the value, so that it is right once all have ended. False
   * when tasks have overlapped meanwhile: some of their code ran in each other's mode.
   */
  end(entry: Entry<T>): boolean {
    const { open } = this;
    let at = open.length - 1;
    if (open[at] !== entry) at = open.lastIndexOf(entry);
    if (at < 0) return true;
    const newer = at + 1 < open.length && open.some((e, i) => i > at && e.since !== NOT_HELD);
    if (newer) open.splice(at, 1);
    else {
      // What statements have set since ends with it.
      open.length = at;
      this.set(at === 0 ? this.base : (open[at - 1] as Entry<T>).value);
    }
    return !entry.awaited || !(newer || open.some((e) => e.awaited));
  }

  /** Sets a value while a function runs; a generator's steps run in it too. */
  run<R>(value: T, name: string, body: () => R): R {
    requireSync(body, name);
    const entry = this.begin(value, name, NOT_HELD);
    let result: R;
    try {
      result = body();
    } finally {
      this.end(entry);
    }
    requireSyncResult(result, name);
    return isGenerator(result) ? (this.steps(value, name, result) as R) : result;
  }

  private *steps(value: T, name: string, inner: Generator): Generator {
    let sent: () => IteratorResult<unknown> = () => inner.next();
    try {
      for (;;) {
        const step = this.run(value, name, sent);
        if (step.done) return step.value;
        try {
          const given = yield step.value;
          sent = () => inner.next(given);
        } catch (error) {
          sent = () => inner.throw(error);
        }
      }
    } finally {
      this.run(value, name, () => inner.return(undefined));
    }
  }
}

const AsyncFunction = (async () => {}).constructor;
const AsyncGeneratorFunction = async function* () {}.constructor;

const has = (x: object, method: PropertyKey): boolean =>
  typeof (x as Record<PropertyKey, unknown>)[method] === "function";

const isGenerator = (x: unknown): x is Generator =>
  typeof x === "object" &&
  x !== null &&
  !walker.isTensor(x) &&
  has(x, "next") &&
  has(x, "throw") &&
  has(x, Symbol.iterator);

/** Code that goes on later, outside of the mode. */
function isPending(x: object): boolean {
  if (has(x, "next") && has(x, "throw") && has(x, Symbol.asyncIterator)) return true;
  if (!has(x, "then")) return false;
  // Its own failure is told by the refusal.
  if (x instanceof Promise) x.catch(() => {});
  return true;
}

/** Refuses what is no function, or one whose code would go on later. */
export function requireSync(body: () => unknown, name: string): void {
  if (typeof body !== "function") throw texts.bodyNotAFunction(name, typeof body);
  if (body.constructor === AsyncFunction || body.constructor === AsyncGeneratorFunction) refuseAsync(name);
}

/** Refuses a promise, and anything else whose code goes on later. */
export function requireSyncResult<R>(result: R, name: string): R {
  if (typeof result !== "object" || result === null || walker.isTensor(result)) return result;
  if (isPending(result)) refuseAsync(name);
  return result;
}

function refuseAsync(name: string): never {
  throw texts.bodyIsAsync(name);
}

const WITH_CALLBACK = ["noGrad", "enableGrad", "scope"];

/** What the guard of an overlapping task says when it ends. */
export function refuseOverlap(name: string): never {
  const advice = WITH_CALLBACK.includes(name)
    ? `Write ${name}(() => …) around each part between two awaits, instead of 'using'`
    : `Begin and end it between two awaits`;
  throw texts.modesOverlap(name, advice);
}
