/**
 * Modules that no state sees: those in private fields (`#name`), which nobody but the class can read, and those in
 * plain arrays. A class whose text has private fields is a suspect: what is made while its constructor runs is noted,
 * weakly, and what it calls in its `forward` is looked at. All others only ask whether there are any.
 */
import { isDict } from "../tensor/checks.ts";
import { warn } from "../tensor/errors.ts";

/** Whether an object of a class with private fields was made. */
export const suspects = { seen: false };

/** What is needed of modules here. */
interface Listed {
  readonly _modules: ReadonlyMap<string, object | null>;
  readonly _parameters: ReadonlyMap<string, unknown>;
  modules(): readonly object[];
}

/** A private field of a class. */
interface Field {
  readonly name: string;
  /** Names of classes of which objects are made where it is set. */
  readonly makes: ReadonlySet<string>;
  /** It is called, gone through or read from. */
  readonly isUsed: boolean;
}

const known = new WeakMap<object, readonly Field[]>();
/** Modules of classes with private fields, with what was made while their constructors ran. */
const made = new WeakMap<object, WeakRef<object>[]>();
/** Those whose constructors may be running, the latest; constructors are nested so deep at most. */
let open: WeakRef<object>[] = [];
const MOST_OPEN = 32;
/** So many modules are noted for one. */
const MOST_MADE = 64;
/** So many entries of an array are looked at. */
const MOST_ENTRIES = 1000;
/** Classes of which it was told. */
const told = new WeakSet<object>();
/** Modules that were called by one with private fields and looked at. */
const called = new WeakSet<object>();
/** Roots whose trees were looked at, with how much there was. */
const looked = new WeakMap<object, number>();

const nameOf = (module: object): string => module.constructor.name;
const hasState = (module: object): boolean =>
  (module as Listed).modules().some((m) => (m as Listed)._parameters.size > 0);

/** The private fields of a class, without methods, from its text. */
function fieldsOf(made: Function): readonly Field[] {
  const before = known.get(made);
  if (before !== undefined) return before;
  const text = Function.prototype.toString.call(made);
  const fields = new Map<string, Field>();
  for (const [, name = ""] of text.includes("#") ? text.matchAll(/(?:this\.|[\s;{])#([\w$]+)\s*(?=[=;\n}])/g) : []) {
    if (fields.has(name)) continue;
    const own = name.replaceAll("$", "\\$");
    const makes = new Set<string>();
    for (const [, value = ""] of text.matchAll(new RegExp(`#${own}\\s*=(?!=)([^;]*)`, "g"))) {
      for (const [, path = ""] of value.matchAll(/\bnew\s+([\w$.]+)/g)) makes.add(path.split(".").at(-1) as string);
    }
    const isUsed = new RegExp(`#${own}\\s*[([.?]|\\bof\\s+[\\w$]+\\.#${own}\\b`).test(text);
    fields.set(name, { name: `#${name}`, makes, isUsed });
  }
  const found = [...fields.values()];
  known.set(made, found);
  return found;
}

/** The private fields of a module's class and of those that it extends. */
function privateFields(prototype: object, base: object | null): readonly Field[] {
  const all: Field[] = [];
  for (let at = prototype; at !== base && at !== null; at = Object.getPrototypeOf(at)) {
    all.push(...fieldsOf(at.constructor));
  }
  return all;
}

/** The prototype of all modules. */
let root: object | null = null;

/** A module is being made: `base` is what all extend. */
export function noteMade(module: object, prototype: object, base: object): void {
  root ??= base;
  for (const one of open) {
    const list = made.get(one.deref() ?? module);
    if (list !== undefined && list.length < MOST_MADE) list.push(new WeakRef(module));
  }
  if (privateFields(prototype, base).length === 0) return;
  suspects.seen = true;
  made.set(module, []);
  if (open.length === MOST_OPEN) open.shift();
  open.push(new WeakRef(module));
  // No constructor runs any more when the running job has ended.
  if (open.length === 1) queueMicrotask(() => (open = []));
}

const calls: Listed[] = [];

/** Runs a module's call, and looks at what modules with private fields call in theirs. */
export function callWithin<R>(module: object, body: () => R): R {
  const caller = calls.at(-1);
  if (caller !== undefined && made.has(caller) && !called.has(module)) lookAtCall(caller, module);
  calls.push(module as Listed);
  try {
    return body();
  } finally {
    calls.pop();
  }
}

function lookAtCall(caller: Listed, module: object): void {
  called.add(module);
  // Registered somewhere on the way, or without anything to save.
  if (calls.some((one) => one.modules().includes(module)) || !hasState(module)) return;
  const used = privateFields(Object.getPrototypeOf(caller), root).filter((field) => field.isUsed);
  if (used.length > 0) tell(caller, module, used);
}

function tell(owner: object, module: object, fields: readonly Field[]): void {
  if (told.has(owner.constructor)) return;
  told.add(owner.constructor);
  const [first] = fields as [Field];
  const where = fields.length === 1 ? `its private field ${first.name}` : `one of its private fields`;
  const list = fields.length === 1 ? "" : ` (${fields.map(({ name }) => name).join(", ")})`;
  warn(
    `${nameOf(owner)} has a ${nameOf(module)} in ${where}${list}, which stateDict(), parameters() and to() do not ` +
      "see: nobody but the class can read a field whose name begins with #. Give it a plain name: TypeScript's " +
      "`private` is one.",
  );
}

/** Looks at the modules of a tree, each once: what was made for private fields, and arrays with modules in them. */
export function lookThrough(tree: readonly object[]): void {
  const [whole] = tree;
  if (whole === undefined) return;
  // While a constructor runs there is less than at its end.
  const size = tree.length + Object.keys(whole).length;
  if (looked.get(whole) === size) return;
  looked.set(whole, size);
  const inside = new Set(tree);
  for (const module of tree) {
    lookAtArrays(module, inside);
    const list = made.get(module);
    if (list === undefined) continue;
    const others = list.map((ref) => ref.deref()).filter((one) => one !== undefined && !inside.has(one)) as Listed[];
    const below = new Set(others.flatMap((one) => one.modules().slice(1)));
    for (const one of others) {
      if (below.has(one)) continue;
      const fields = privateFields(Object.getPrototypeOf(module), root);
      const holders = fields.filter(({ makes }) => makes.has(nameOf(one)));
      if (holders.length > 0 && hasState(one)) tell(module, one, holders);
    }
  }
}

const isModule = (x: unknown): x is object => typeof x === "function" && "_registers" in x;

function lookAtArrays(module: object, inside: ReadonlySet<object>): void {
  if (told.has(module.constructor)) return;
  for (const name of Object.keys(module)) {
    const value = Object.getOwnPropertyDescriptor(module, name)?.value;
    const lost = entriesOf(value)?.find((x) => isModule(x) && !inside.has(x) && hasState(x));
    if (lost === undefined) continue;
    told.add(module.constructor);
    const [what, instead] = Array.isArray(value) ? ["an array", "nn.ModuleList"] : ["a dictionary", "nn.ModuleDict"];
    warn(
      `${nameOf(module)}.${name} is ${what} with a ${nameOf(lost as object)} in it, which stateDict(), parameters() ` +
        `and to() do not see: make it an ${instead}.`,
    );
    return;
  }
}

/** The first entries of an array or a dictionary; null of anything else. */
function entriesOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).flat(2);
  if (value instanceof Map) return [...value.values()].slice(0, MOST_ENTRIES);
  return isDict(value) ? Object.values(value).slice(0, MOST_ENTRIES) : null;
}
