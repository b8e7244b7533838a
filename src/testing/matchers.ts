/**
 * What `bun test` needs to compare and print objects of the library. Its matchers walk through objects by themselves,
 * and know no way to ask one whether it equals another: so each matcher that compares gets, in the places of tensors,
 * matchers that ask (`expect.extend`), and what it prints is told anew with their elements (shown.ts).
 *
 * The methods are those of a class, whose code is strict: a call that is the last thing a strict function does takes
 * its place on the stack. So a failure has the line of the test, and an inline snapshot is written there.
 */
import { isOwn, type Own } from "./parts.ts";
import { sameOwn } from "./same.ts";
import { shown } from "./shown.ts";
import { holdsOwn, replaced } from "./walking.ts";

type Method = (this: Expect, ...args: unknown[]) => unknown;
type Expect = Record<string, Method> & { not: Expect };
type Matcher = (this: Context, received: unknown, ...args: never[]) => { pass: boolean; message: () => string };

interface Context {
  isNot: boolean;
  equals(a: unknown, b: unknown): boolean;
}

/** What is used of `bun:test`. */
interface Runner {
  expect: ((value?: unknown) => Expect) & {
    extend(matchers: Record<string, Matcher>): void;
    assertions(count: number): void;
    [name: string]: unknown;
  };
  mock(body?: (...args: unknown[]) => unknown): unknown;
  onTestFinished(then: () => void): void;
}

/** Matchers that compare all of it. */
const EQUAL = ["toEqual", "toContainEqual", "toHaveProperty", "toContainValue", "toContainValues"];
const CALLED = ["toHaveBeenCalledWith", "toBeCalledWith", "toHaveBeenLastCalledWith", "lastCalledWith"];
const NTH = ["toHaveBeenNthCalledWith", "nthCalledWith", "toHaveNthReturnedWith", "nthReturnedWith"];
const RETURNED = ["toHaveReturnedWith", "toHaveLastReturnedWith", "lastReturnedWith"];
const MORE = ["toContainAllValues", "toContainAnyValues", "toBeOneOf"];
/** Those whose failures print what they were given, and that compare by identity. */
const PRINTING = ["toBe", "toContain", "toBeNull", "toBeUndefined", "toBeNil", "toBeTruthy", "toBeFalsy", "toBeNaN"];
const SNAPSHOTS = ["toMatchSnapshot", "toMatchInlineSnapshot"];

const ASK = "_equalsOfZensor";
const TELL = "_receivedByZensor";

/** How often `expect` was called beside what the test did, in a test that counts. */
class Counting {
  private planned: number | null = null;
  private extra = 0;
  private readonly native: (count: number) => void;

  constructor(private readonly runner: Runner) {
    this.native = runner.expect.assertions;
    runner.expect.assertions = (count) => this.plan(count);
  }

  private plan(count: number): void {
    this.native.call(this.runner.expect, count);
    this.planned = null;
    this.extra = 0;
    try {
      this.runner.onTestFinished(() => {
        this.planned = null;
      });
      this.planned = count;
    } catch {
      // Not inside of one test.
    }
  }

  add(): void {
    if (this.planned !== null) this.native.call(this.runner.expect, this.planned + ++this.extra);
  }
}

/** A call that was made again for its text. */
interface Retold {
  target: Expect;
  args: unknown[];
}

class Matchers {
  private readonly counting: Counting;
  private readonly prototype: Expect;

  constructor(private readonly runner: Runner) {
    this.counting = new Counting(runner);
    this.prototype = Object.getPrototypeOf(runner.expect(0));
    const asks: Matcher = function (given, own: Own, strict: boolean) {
      const inside = (a: unknown, b: unknown) => this.equals(a, exact(runner, b, strict));
      const received = standIns.get(given as object) ?? given;
      return { pass: sameOwn(received, own, strict, inside), message: () => `Expected: ${own}\nReceived: ${received}` };
    };
    const tells: Matcher = function (received, into: { value?: unknown; not?: boolean }) {
      into.value = received;
      into.not = this.isNot;
      return { pass: !this.isNot, message: () => "" };
    };
    runner.expect.extend({ [ASK]: asks, [TELL]: tells });
  }

  install(): void {
    for (const name of [...EQUAL, ...CALLED, ...NTH, ...RETURNED, ...MORE]) this.wrap(name, false);
    this.wrap("toStrictEqual", true);
    this.wrap("toMatchObject", false, (self) => this.standIn(self));
    for (const name of PRINTING) this.wrap(name, null);
    for (const name of SNAPSHOTS) this.wrapSnapshot(name);
    const expect = this.runner.expect as Record<string, unknown>;
    for (const owner of [expect, expect.not as Record<string, unknown>]) {
      for (const name of ["objectContaining", "arrayContaining"]) this.wrapSample(owner, name);
    }
  }

  private replace(name: string, method: Method, length: number): void {
    Object.defineProperties(method, { name: { value: name }, length: { value: length } });
    this.prototype[name] = method;
  }

  /** A matcher that compares: strictly, loosely, or (null) by identity; `instead` gives what is asked for `this`. */
  private wrap(name: string, strict: boolean | null, instead?: (self: Expect) => Expect): void {
    const original = this.prototype[name];
    if (typeof original !== "function") return;
    const { runner } = this;
    // What cannot be walked through, such as a proxy that throws, is the runner's alone.
    const retell = (self: Expect, args: unknown[]) => attempted(() => this.retold(self, original, args));
    const method: Method = function (...args) {
      const asks = strict !== null && args.some(holds);
      const given = asks ? args.map((arg) => exact(runner, arg, strict)) : args;
      try {
        return original.apply(asks && instead !== undefined ? instead(this) : this, given);
      } catch {}
      const { target, args: told } = retell(this, args) ?? { target: this, args: given };
      return original.apply(target, told);
    };
    this.replace(name, method, original.length);
  }

  /** What `expect` was given. Null where a promise was to be kept and was not. */
  private received(self: Expect): { value?: unknown; not?: boolean } | null {
    const into: { value?: unknown; not?: boolean } = {};
    this.counting.add();
    try {
      self[TELL]?.(into);
    } catch {
      return null;
    }
    return into;
  }

  /**
   * The same question about a copy. `toMatchObject` writes the matchers that matched into the object that it was given:
   * so it gets other containers, and in the places of the library's objects some that inherit from them.
   */
  private standIn(self: Expect): Expect {
    const found = this.received(self);
    if (found === null) return self;
    const value = replaced(found.value, (own) => {
      const other = Object.create(own) as object;
      standIns.set(other, own);
      return other;
    });
    return found.not === true ? this.runner.expect(value).not : this.runner.expect(value);
  }

  /** The same call with texts in place of objects, if that fails as well; null where there are none of the library. */
  private retold(self: Expect, original: Method, args: unknown[]): Retold | null {
    const found = this.received(self);
    if (found === null) return null;
    const value = this.shownMock(found.value) ?? shown(found.value);
    const told = args.map(shown);
    this.counting.add();
    if (value === found.value && told.every((arg, i) => arg === args[i])) return null;
    const made = () => (found.not === true ? this.runner.expect(value).not : this.runner.expect(value));
    this.counting.add();
    try {
      original.apply(made(), told);
    } catch {
      return { target: made(), args: told };
    }
    return null;
  }

  /** A mock function that was called as another was, with texts. */
  private shownMock(value: unknown): unknown {
    const calls = typeof value === "function" ? (value as { mock?: MockState }).mock : undefined;
    if (!Array.isArray(calls?.calls) || !holds([calls.calls, calls.results])) return null;
    const results = calls.results.map((result) => shown(result.value));
    let at = 0;
    const copy = this.runner.mock(() => results[at++]) as (...args: unknown[]) => unknown;
    for (const args of calls.calls) copy(...args.map(shown));
    return copy;
  }

  private wrapSnapshot(name: string): void {
    const original = this.prototype[name];
    if (typeof original !== "function") return;
    const receive = (self: Expect) => this.received(self);
    const { runner } = this;
    const method: Method = function (...args) {
      const found = receive(this);
      const told = found === null ? null : attempted(() => ({ value: shown(found.value) }));
      const target = told === null || told.value === found?.value ? this : runner.expect(told.value);
      return original.apply(target, args);
    };
    this.replace(name, method, original.length);
  }

  /** `expect.objectContaining` and the like: what they are given may hold tensors. */
  private wrapSample(owner: Record<string, unknown>, name: string): void {
    const original = owner?.[name] as ((sample: unknown) => unknown) | undefined;
    if (typeof original !== "function") return;
    const { runner } = this;
    owner[name] = (sample: unknown) => original.call(owner, exact(runner, sample, false));
  }
}

function attempted<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}

const holds = (arg: unknown) => attempted(() => holdsOwn(arg)) === true;

/** What stands for objects of the library while they may be written to. */
const standIns = new WeakMap<object, Own>();

interface MockState {
  calls: unknown[][];
  results: { value: unknown }[];
}

/** A value with matchers in the places of the library's objects. */
function exact(runner: Runner, value: unknown, strict: boolean): unknown {
  const ask = runner.expect[ASK] as (own: Own, strict: boolean) => unknown;
  return isOwn(value) ? ask(value, strict) : replaced(value, (own) => ask(own, strict));
}

/** Teaches the test runner, in a process that runs tests. */
export function installMatchers(): void {
  try {
    new Matchers(require("bun:test") as Runner).install();
  } catch {
    // A program of the user's, no test.
  }
}
