// Pickles as data: every opcode of protocols 0 to 5, and no code. A pickle asks for classes and functions by name; what
// these names stand for, the caller lists. A name that is not listed is an error before anything is done with it. For
// who describes such names, it stays a name, and what the pickle does with it becomes a record.
import { Float } from "../../tensor/complex.ts";
import { FormatError } from "../base/errors.ts";
import { type DictClass, noteByteArray, noteFrozenSet } from "../base/python-origin.ts";
import { todaysName } from "./old-names.ts";
import { MAX_PICKLE_BYTES, PickleMachine } from "./pickle-machine.ts";

/** What a listed name may be used for. */
export interface PickleGlobal {
  /** Called with arguments. */
  call?(args: readonly unknown[]): unknown;
  /** An instance made without its constructor. */
  make?(args: readonly unknown[]): unknown;
  /** What the name itself stands for as data. */
  value?: unknown;
  /** Whatever is done with it becomes a record, which its reader knows. */
  recorded?: boolean;
}

/** What a pickle means to its reader. */
export interface PickleRules {
  /** The listed names, as "module.name". */
  globals(name: string): PickleGlobal | undefined;
  /** What a persistent id stands for. Without this, such ids are an error. */
  persistent?(id: unknown): unknown;
  /** Names that are not listed are described, too. */
  describes?: boolean;
}

/** A class or function that a pickle named. */
export class GlobalReference {
  /** Both parts of it, joined. */
  readonly name: string;
  constructor(
    readonly module: string,
    readonly qualname: string,
    readonly meaning: PickleGlobal,
  ) {
    this.name = `${module}.${qualname}`;
  }
}

/** A function got arguments that it knows nothing to do with: who describes calls has a record of this one. */
export class NoData extends FormatError {}

/** An object as a pickle describes it: what was called or instantiated, and what it was given. */
export class PickledRecord {
  kwargs: Map<unknown, unknown> | undefined = undefined;
  listItems: unknown[] | undefined = undefined;
  dictItems: Map<unknown, unknown> | undefined = undefined;
  state: unknown = undefined;
  setter: Callee | undefined = undefined;
  constructor(
    readonly callee: Callee,
    readonly how: "call" | "new" | "persistent",
    readonly args: readonly unknown[],
    /** Where in the pickle it was made. */
    readonly at: number,
  ) {}
}

/** What can be called or instantiated. */
type Callee = GlobalReference | PickledRecord;

/** A dict of another class than `dict`, and the attributes that it has beside its keys. */
export class DictPairs extends Map<unknown, unknown> {
  /** Of a defaultdict, what makes missing values. */
  attributes: unknown = undefined;
  constructor(
    readonly className: DictClass,
    pairs: Iterable<readonly [unknown, unknown]> = [],
  ) {
    super(pairs);
  }
}

/** An instance as a pickle describes it: its class, what it was made with, its state. */
export class PickledObject {
  state: unknown = undefined;
  constructor(
    readonly className: string,
    readonly args: readonly unknown[],
  ) {}
}

type Step = (m: PickleMachine, rules: PickleRules) => void;
const STEPS: (Step | undefined)[] = new Array(256).fill(undefined);

function on(code: number | string, step: Step): void {
  STEPS[typeof code === "string" ? code.charCodeAt(0) : code] = step;
}

/** Tuples are frozen arrays, lists are not. */
function tuple(items: unknown[]): readonly unknown[] {
  return Object.freeze(items);
}

const EMPTY = tuple([]);

function isTuple(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && Object.isFrozen(value);
}

function listTop(m: PickleMachine): unknown[] {
  const list = m.top();
  if (list instanceof PickledRecord) {
    requireUnset(m, list);
    list.listItems ??= [];
    return list.listItems;
  }
  if (!Array.isArray(list) || Object.isFrozen(list)) m.fail("only lists can be appended to");
  return list as unknown[];
}

function setPairs(m: PickleMachine, top: unknown, items: readonly unknown[]): void {
  let target = top;
  if (top instanceof PickledRecord) {
    requireUnset(m, top);
    top.dictItems ??= new Map();
    target = top.dictItems;
  }
  if (!(target instanceof Map)) m.fail("only dicts take keys");
  if (items.length % 2 !== 0) m.fail("a key without a value");
  for (let i = 0; i < items.length; i += 2) target.set(m.key(items[i]), items[i + 1]);
}

/** Python's pickler gives an object its items first: in another order they might mean something else. */
function requireUnset(m: PickleMachine, record: PickledRecord): void {
  if (record.state !== undefined) m.fail("items of an object after its state");
}

function refer(m: PickleMachine, rules: PickleRules, from: unknown, name: unknown): GlobalReference {
  if (typeof from !== "string" || typeof name !== "string") m.fail("a name that is no string");
  const [module, qualname] = m.protocol < 3 ? todaysName(from, name) : [from, name];
  const full = `${module}.${qualname}`;
  const meaning = rules.globals(full) ?? (rules.describes === true ? {} : undefined);
  if (meaning === undefined) {
    const shown = JSON.stringify(full.slice(0, 200));
    throw new FormatError(`the pickle names ${shown}, which is no data; code in pickles is never run`, m.path);
  }
  return new GlobalReference(module, qualname, meaning);
}

function apply(
  m: PickleMachine,
  rules: PickleRules,
  use: "call" | "make",
  target: unknown,
  args: unknown,
  kwargs?: Map<unknown, unknown>,
): void {
  if (!isTuple(args)) m.fail("arguments that are no tuple");
  const described = rules.describes === true && target instanceof PickledRecord;
  if (!described && !(target instanceof GlobalReference)) m.fail("something is called that is no listed name");
  const meaning: PickleGlobal = target instanceof GlobalReference ? target.meaning : {};
  const run = meaning[use];
  if (run !== undefined && kwargs === undefined) {
    m.charge(args);
    try {
      const made = run(args);
      if (typeof made === "object" && made !== null) m.pushContainer(made);
      else m.push(made);
      return;
    } catch (error) {
      if (!(error instanceof NoData) || rules.describes !== true) throw error;
    }
  }
  if (rules.describes !== true && meaning.recorded !== true) {
    const how = use === "call" ? "called" : "instantiated";
    throw new FormatError(`the pickle wants ${(target as GlobalReference).name} to be ${how}: it is no data`, m.path);
  }
  const record = new PickledRecord(target as Callee, use === "call" ? "call" : "new", args, m.at);
  record.kwargs = kwargs;
  m.pushContainer(record);
}

/** An instance as old protocols have it: without arguments, its constructor is not called. */
function instantiate(m: PickleMachine, rules: PickleRules, target: unknown, args: readonly unknown[]): void {
  const described = target instanceof GlobalReference && target.meaning.make === undefined && args.length > 0;
  apply(m, rules, described ? "call" : "make", target, args);
}

/** The result of a call that nobody keeps: it can only have set the state of its first argument. */
function drop(m: PickleMachine): void {
  const from = m.at;
  const dropped = m.drop();
  if (!(dropped instanceof PickledRecord) || dropped.at !== from - 1 || dropped.how !== "call") return;
  const [target, state, ...others] = dropped.args;
  if (!(target instanceof PickledRecord) || state === undefined || others.length > 0) return;
  if (target.state !== undefined) m.fail("two states of one object");
  target.state = state;
  target.setter = dropped.callee;
}

function build(m: PickleMachine): void {
  const state = m.pop();
  const target = m.top();
  if (target instanceof PickledObject || target instanceof PickledRecord) {
    if (target.state !== undefined) {
      m.fail(`two states of one ${target instanceof PickledObject ? target.className : "object"}`);
    }
    target.state = state;
  } else if (target instanceof DictPairs && target.className === "OrderedDict") {
    // A state dict has one, `_metadata`.
    if (!(state instanceof Map)) m.fail("attributes that are no dict");
    target.attributes = new Map([...((target.attributes as Map<unknown, unknown>) ?? []), ...state]);
  } else m.fail("a state for something that has none");
}

/** The escapes of a Python 2 string literal. */
function unquote(m: PickleMachine, text: string): string {
  const quote = text[0];
  if (text.length < 2 || (quote !== "'" && quote !== '"') || !text.endsWith(quote)) m.fail("a string without quotes");
  const plain: Record<string, string> = { n: "\n", r: "\r", t: "\t", "\\": "\\", "'": "'", '"': '"' };
  return text.slice(1, -1).replace(/\\(?:x([0-9a-fA-F]{2})|(.))/g, (all, hex?: string, char?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return plain[char as string] ?? all;
  });
}

/** The escapes of protocol 0's Unicode strings. */
function unescape(m: PickleMachine, text: string): string {
  return text.replace(/\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})/g, (_, short?: string, long?: string) => {
    const point = Number.parseInt((short ?? long) as string, 16);
    return point > 0x10ffff ? m.fail("a character that is none") : String.fromCodePoint(point);
  });
}

/** A float of Python's: a number, or a `Float` where the number would be taken for an int. */
function float(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value;
}

function decimalFloat(m: PickleMachine, text: string): number {
  const named: Record<string, number> = { inf: Infinity, "-inf": -Infinity, nan: NaN, "-nan": NaN };
  if (Object.hasOwn(named, text)) return named[text] as number;
  if (text.length > 400 || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) m.fail("a float that is none");
  return Number(text);
}

// Scalars.
on("N", (m) => m.push(null));
on(0x88, (m) => m.push(true));
on(0x89, (m) => m.push(false));
on("I", (m) => {
  const text = m.line();
  m.push(text === "01" ? true : text === "00" ? false : m.decimal(text));
});
on("J", (m) => m.push(m.i32()));
on("K", (m) => m.push(m.u8()));
on("M", (m) => m.push(m.u16()));
on("L", (m) => m.push(m.decimal(m.line().replace(/L$/, ""))));
on(0x8a, (m) => m.push(m.integer(m.u8())));
on(0x8b, (m) => {
  const count = m.i32();
  m.push(count < 0 ? m.fail("an integer of negative length") : m.integer(count));
});
on("F", (m) => m.push(float(decimalFloat(m, m.line()))));
on("G", (m) => m.push(float(m.f64())));

// Strings and bytes. Python 2 wrote byte strings where today's Python has text.
on("S", (m) => m.push(unquote(m, m.line().trim())));
on("T", (m) => m.push(m.byteText(m.u32())));
on("U", (m) => m.push(m.byteText(m.u8())));
on("V", (m) => m.push(unescape(m, m.line())));
on("X", (m) => m.push(m.utf8(m.u32())));
on(0x8c, (m) => m.push(m.utf8(m.u8())));
on(0x8d, (m) => m.push(m.utf8(m.u64())));
on("B", (m) => m.push(m.raw(m.u32())));
on("C", (m) => m.push(m.raw(m.u8())));
on(0x8e, (m) => m.push(m.raw(m.u64())));
on(0x96, (m) => m.push(noteByteArray(m.raw(m.u64()))));

// Containers.
on("]", (m) => m.pushContainer([]));
on("l", (m) => m.pushContainer(m.popMark()));
on("a", (m) => {
  const item = m.pop();
  listTop(m).push(item);
});
on("e", (m) => {
  const items = m.popMark();
  const list = listTop(m);
  for (const item of items) list.push(item);
});
// There is one empty tuple, as in Python.
on(")", (m) => m.push(EMPTY));
on("t", (m) => {
  const items = m.popMark();
  if (items.length === 0) m.push(EMPTY);
  else m.pushContainer(tuple(items));
});
on(0x85, (m) => m.pushContainer(tuple([m.pop()])));
on(0x86, (m) => {
  const second = m.pop();
  m.pushContainer(tuple([m.pop(), second]));
});
on(0x87, (m) => {
  const third = m.pop();
  const second = m.pop();
  m.pushContainer(tuple([m.pop(), second, third]));
});
on("}", (m) => m.pushContainer(new Map()));
on("d", (m) => {
  const pairs = new Map();
  setPairs(m, pairs, m.popMark());
  m.pushContainer(pairs);
});
on("s", (m) => {
  const value = m.pop();
  const key = m.pop();
  setPairs(m, m.top(), [key, value]);
});
on("u", (m) => {
  const items = m.popMark();
  setPairs(m, m.top(), items);
});
on(0x8f, (m) => m.pushContainer(new Set()));
on(0x90, (m) => {
  const items = m.popMark();
  const set = m.top();
  if (!(set instanceof Set)) return m.fail("only sets take members");
  for (const item of items) set.add(m.key(item));
});
on(0x91, (m) => m.pushContainer(noteFrozenSet(new Set(m.popMark().map((item) => m.key(item))))));

// Stack and memo.
on("(", (m) => m.mark());
on("0", drop);
on("1", (m) => {
  m.popMark();
});
on("2", (m) => m.push(m.top()));
on("p", (m) => m.store(index(m)));
on("q", (m) => m.store(m.u8()));
on("r", (m) => m.store(m.u32()));
on(0x94, (m) => m.storeNext());
on("g", (m) => m.recall(index(m)));
on("h", (m) => m.recall(m.u8()));
on("j", (m) => m.recall(m.u32()));

function index(m: PickleMachine): number {
  const value = m.decimal(m.line());
  return typeof value === "number" && value >= 0 ? value : m.fail("a memo index that is none");
}

// Names and what is done with them.
on("c", (m, rules) => {
  const module = m.nameLine();
  m.push(refer(m, rules, module, m.nameLine()));
});
on(0x93, (m, rules) => {
  const name = m.pop();
  m.push(refer(m, rules, m.pop(), name));
});
on("R", (m, rules) => {
  const args = m.pop();
  apply(m, rules, "call", m.pop(), args);
});
on(0x81, (m, rules) => {
  const args = m.pop();
  apply(m, rules, "make", m.pop(), args);
});
on(0x92, (m, rules) => {
  const named = m.pop();
  const args = m.pop();
  if (!(named instanceof Map)) return m.fail("named arguments that are no dict");
  const none = named.size === 0;
  if (!none && rules.describes !== true) m.fail("an instance made with named arguments");
  if (![...named.keys()].every((key) => typeof key === "string")) m.fail("a named argument without a name");
  apply(m, rules, "make", m.pop(), args, none ? undefined : named);
});
on("o", (m, rules) => {
  const [target, ...args] = m.popMark();
  instantiate(m, rules, target, tuple(args));
});
on("i", (m, rules) => {
  const module = m.nameLine();
  const target = refer(m, rules, module, m.nameLine());
  instantiate(m, rules, target, tuple(m.popMark()));
});
on("b", build);
on("P", (m, rules) => persistent(m, rules, m.line()));
on("Q", (m, rules) => persistent(m, rules, m.pop()));

function persistent(m: PickleMachine, rules: PickleRules, id: unknown): void {
  if (rules.persistent === undefined) m.fail("a persistent id");
  m.push(rules.persistent(id));
}

// Frames and versions say nothing about the data.
on(0x80, (m) => {
  m.protocol = m.u8();
  if (m.protocol > 5) m.fail(`protocol ${m.protocol} is not known`);
});
on(0x95, (m) => {
  m.u64();
});

/** The value of a pickle as its opcodes make it, and where its bytes end. */
export function runPickle(
  bytes: Uint8Array,
  path: string,
  rules: PickleRules,
  from = 0,
): { value: unknown; end: number } {
  if (bytes.length - from > MAX_PICKLE_BYTES) {
    throw new FormatError(`a pickle of ${bytes.length - from} bytes; at most ${MAX_PICKLE_BYTES} are read`, path);
  }
  const machine = new PickleMachine(bytes, from, path);
  for (;;) {
    const code = machine.u8();
    if (code === 0x2e) return { value: machine.pop(), end: machine.at };
    const step = STEPS[code];
    if (step === undefined)
      return machine.fail(`opcode 0x${code.toString(16).padStart(2, "0")} is not known or not data`);
    step(machine, rules);
  }
}
