/** generated/options.ts: the objects in which arguments are named, each a type with a name and with documentation. */
import type { Arg, Op } from "../model/load.ts";
import { typeOf } from "./types.ts";

/** What the options mean that many operators have. */
const DOCS: Readonly<Record<string, string>> = {
  alpha: "What the second operand is multiplied by first.",
  axis: "NumPy's name of `dim`.",
  beta: "What the tensor itself is multiplied by first.",
  correction: "What is taken from the number of elements in the divisor: 1 for the estimate from a sample.",
  descending: "The largest first.",
  device: 'Where the result is: `"cpu"`, `"cuda:0"`, `"meta"`; the default device unless given.',
  dim: "The dimension, or the dimensions; -1 is the last.",
  dtype: 'The element type of the result: `"float32"`, `int64`.',
  generator: "The generator that the random numbers come from; the default one unless given.",
  inplace: "Write into the input itself.",
  padding: '"same" | "valid"',
  interpolation: "How a value between two elements is found.",
  keepdim: "Keep the reduced dimensions, with size 1.",
  keepdims: "NumPy's name of `keepdim`.",
  largest: "The largest elements and not the smallest.",
  layout: "Always `torch.strided`.",
  memoryFormat: "How the dimensions of the result lie in memory.",
  out: "What the result is written into, and which is returned.",
  outInt32: "Positions of dtype int32 and not int64.",
  pinMemory: "In page-locked memory, from which copies to a GPU are fastest.",
  reduction: "What becomes of the losses of the elements.",
  requiresGrad: "Whether operations on the result are recorded for gradients.",
  right: "The position behind equal elements and not before them.",
  roundingMode: "How quotients are rounded: towards zero, or down.",
  sorted: "In order.",
  stable: "Equal elements stay in their order.",
  unbiased: "Divide by one less than the number of elements.",
};

const has = (op: Op, v: string): boolean => (op.variants as readonly string[]).includes(v);
/** A list of tensors that may be given as several arguments. */
export const isGathered = (op: Op, a: Arg): boolean => op.gathers === true && a.role === "TensorList";

export const isSize = (a: Arg): boolean => a.role === "Size" || a.role === "Sizes";

/** The names by which an argument may be given, torch's first. */
const namesOf = (a: Arg): string[] => [
  ...(a.name === "self" ? ["input"] : [a.name]),
  ...(a.name === "dim" ? ["axis"] : a.name === "keepdim" ? ["keepdims"] : []),
];

/** What a user may pass where the internal function takes `typeOf(a)`. */
export function inputType(a: Arg): string {
  switch (a.role) {
    case "Tensor|Index":
      return "Tensor | IndexList";
    case "Tensor|Index?":
      return "Tensor | IndexList | null";
    case "Ints":
      return "number | readonly number[]";
    case "Ints?":
      return "number | readonly number[] | null";
    case "Int?[]":
      return "number | null | readonly (number | null)[]";
    case "String|Ints":
      return `${WORDS[a.name] ?? "string"} | number | readonly number[]`;
    case "Tensor?[]":
      return "readonly (Tensor | IndexList | null)[]";
    case "DType":
      return "DTypeLike";
    case "DType?":
      return "DTypeLike | null";
    case "Device?":
      return "DeviceLike | null";
    default:
      return (a.role.startsWith("String") ? WORDS[a.name] : undefined) ?? typeOf(a);
  }
}

/** Arguments that are one of a few words. */
const WORDS: Readonly<Record<string, string>> = {
  interpolation: '"linear" | "lower" | "higher" | "midpoint" | "nearest"',
  computeMode:
    '"use_mm_for_euclid_dist_if_necessary" | "use_mm_for_euclid_dist" | "donot_use_mm_for_euclid_dist" | null',
  indexing: '"ij" | "xy"',
  reduce: '"add" | "multiply" | "sum" | "prod" | "mean" | "amax" | "amin"',
  reduction: '"mean" | "sum" | "none"',
  roundingMode: '"trunc" | "floor" | null',
  side: '"left" | "right" | null',
};

interface Field {
  readonly name: string;
  readonly optional: boolean;
  readonly type: string;
}

/** The members of an object of options; one that must be there and has two names is `Either` of them. */
interface Members {
  readonly fields: readonly Field[];
  readonly either: readonly string[];
}

const optionType = (a: Arg): string => (isSize(a) ? "readonly number[]" : inputType(a));

function membersOf(op: Op, rest: readonly Arg[], inplace: boolean): Members {
  const fields: Field[] = [];
  const either: string[] = [];
  for (const a of rest) {
    const optional = a.fallback !== undefined;
    const names = namesOf(a);
    const type = op.ofDtype && a.name === "dtype" ? "D" : optionType(a);
    if (optional || names.length === 1) fields.push(...names.map((name) => ({ name, optional, type })));
    else either.push(`Either<${names.map((name) => JSON.stringify(name)).join(", ")}, ${type}>`);
  }
  if (op.kind === "factory" && !inplace) {
    fields.push({ name: "layout", optional: true, type: "Layout | null" });
    fields.push({ name: "pinMemory", optional: true, type: "boolean" });
  }
  if (has(op, "out") && !inplace) {
    fields.push({ name: "out", optional: true, type: op.results === undefined ? "Tensor" : "readonly Tensor[]" });
  }
  return { fields, either };
}

const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replace(/_$/, "");

/** The fields as they stand in a type: one a line, with what they mean. */
function body({ fields, either }: Members): string {
  const lines = fields.map(({ name, optional, type }) => {
    const doc = DOCS[name];
    return `${doc === undefined ? "" : `  /** ${doc} */\n`}  ${name}${optional ? "?" : ""}: ${type};`;
  });
  const own = lines.length === 0 ? [] : [`{\n${lines.join("\n")}\n}`];
  return [...either, ...own].join(" & ");
}

/** Names for what factories take beside their own arguments. */
function factoryNames(own: string, words: readonly string[]): string[] {
  const random = words.includes("generator") ? "Random" : "";
  const kind = words.includes("memoryFormat") ? "Like" : words.includes("out") ? "" : "New";
  return [`${random}${kind}FactoryOptions`, `${own}FactoryOptions`];
}

/** Types that other files of the library have. */
const ELSEWHERE = new Set([
  ...["AlphaOptions", "GatherOptions", "InplaceOptions", "LossOptions", "MemoryFormatOptions", "ToOptions"],
]);

/** A type of options that is declared. */
interface Declared {
  readonly members: Members;
  readonly text: string;
  readonly generic: boolean;
}

/** What is declared, by its text and by its name. */
export class OptionTypes {
  private readonly names_ = new Map<string, string>();
  private readonly declared = new Map<string, Declared>();
  private readonly reserved: ReadonlySet<string>;
  /** The operators that use a type, by its text. */
  private readonly users = new Map<string, Set<string>>();
  /** Names are given when it is known which types several operators use. */
  private isSurvey = true;

  /** With the names of all operators: a type of options is called after one that takes them all, and not by chance. */
  constructor(operators: readonly string[]) {
    this.reserved = new Set(operators.map(pascal));
  }

  /** Names follow from here on. */
  endSurvey(): void {
    this.isSurvey = false;
  }

  /**
   * The type of the object that names these arguments of an operator, null where there is none. `given` is how many
   * arguments stand before them, the tensor whose method it may be not counted.
   */
  typeOf(op: Op, name: string, rest: readonly Arg[], given: number, inplace: boolean): string | null {
    const self = rest[0];
    if (self?.name === "self") {
      const others = this.typeOf(op, name, rest.slice(1), 0, inplace);
      const input = `{ input: ${optionType(self)} }`;
      return others === null ? input : `${input} & ${others}`;
    }
    const members = membersOf(op, rest, inplace);
    if (members.fields.length + members.either.length === 0) return null;
    const isWithout = inplace && has(op, "out") && members.either.length === 0;
    if (isWithout && members.fields.some((field) => !field.optional)) {
      const whole = this.typeOf(op, name, rest, given, false) as string;
      return `Omit<${whole}, "out">`;
    }
    const text = body(members);
    if (this.isSurvey) {
      this.users.set(text, (this.users.get(text) ?? new Set()).add(op.publicName));
      return "never";
    }
    const generic = op.ofDtype === true && rest.some((a) => a.name === "dtype");
    // What names a whole call is called after the operator, though others may take the same.
    const key = given === 0 && rest.some((a) => !a.byName) ? `${op.publicName} ${text}` : text;
    const known = this.names_.get(key);
    const found = known ?? this.freeName(op, op.publicName, rest, given, members, inplace);
    if (known === undefined) {
      this.names_.set(key, found);
      this.declared.set(found, { members, text, generic });
    }
    return generic ? `${found}<D>` : found;
  }

  /** A name that tells whose options these are, or, where several operators have them, which. */
  private freeName(
    op: Op,
    name: string,
    rest: readonly Arg[],
    given: number,
    members: Members,
    inplace: boolean,
  ): string {
    const { fields, either } = members;
    const isShared = (this.users.get(body(members))?.size ?? 0) > 1;
    const wordOf = (f: Field) => (f.name === "out" && f.type !== "Tensor" ? "outs" : f.name);
    const words = fields.map(wordOf).filter((one) => one !== "keepdims" && one !== "axis");
    const all = [...(either.length > 0 ? ["dim"] : []), ...words];
    const ofFew = isShared && all.length <= 5 ? all.map(pascal).join("") : "";
    const next = rest.find((a) => !a.byName);
    const own = pascal(name);
    const from = `${own}${next === undefined ? "" : pascal(next.name)}`;
    const role = pascal((rest[0]?.role ?? "").replace(/\W/g, ""));
    const overload = pascal((op.overload ?? "").replace(/_/g, ""));
    // All arguments, or some that have to be there.
    const isCall = next !== undefined && (given === 0 || either.length > 0 || fields.some((f) => !f.optional));
    const whole = given === 0 ? [`${own}Args`, `${own}${overload}Args`] : [];
    const tail = isCall ? "Args" : "Options";
    const inPlace = inplace ? [`${own}Inplace${tail}`, `${from}Inplace${tail}`] : [];
    const shared = ofFew === "" || this.reserved.has(ofFew) ? [] : [`${ofFew}Options`];
    const candidates = isCall
      ? [...whole, ...inPlace, `${from}Args`]
      : [...(op.kind === "factory" ? factoryNames(own, words) : []), ...shared, ...inPlace];
    candidates.push(`${from}${tail}`, `${from}${role}${tail}`, `${own}${all.map(pascal).join("")}${tail}`);
    const free = candidates.find((word) => !this.declared.has(word) && !ELSEWHERE.has(word));
    if (free === undefined) throw new Error(`no name for the options of ${op.key}: ${candidates.join(", ")}`);
    return free;
  }

  /** All names. */
  names(): string[] {
    return [...this.declared.keys()].sort();
  }

  /** True when whoever names the options of `narrow`, all of which may be missing, names some of `wide`. */
  covers(wide: string, narrow: string): boolean {
    const [more, less] = [this.declared.get(wide)?.members, this.declared.get(narrow)?.members];
    if (more === undefined || less === undefined || wide === narrow) return false;
    if (more.either.length + less.either.length > 0) return false;
    const isAmong = (f: Field) => more.fields.some((g) => f.name === g.name && f.type === g.type && g.optional);
    return less.fields.every(isAmong) && more.fields.every((f) => f.optional);
  }

  /** A type of options of which one is given at least. */
  oneOf(name: string): string {
    const fields = this.declared.get(name)?.members.fields ?? [];
    const [only] = fields;
    return fields.length === 1 && only !== undefined ? `{ ${only.name}: ${only.type} }` : `Some<${name}>`;
  }

  /** The declarations. */
  lines(): string[] {
    return [...this.declared].flatMap(([name, { text, members, generic }]) => {
      const head = generic ? `${name}<D = DTypeLike | null>` : name;
      const isInterface = members.either.length === 0;
      return [isInterface ? `export interface ${head} ${text}` : `export type ${head} = ${text};`, ""];
    });
  }
}
