// The call table: how each op of a golden case is called, in its plain, method and in-place forms.
import { ourSpelling } from "../spelling.ts";
import { type Adapter, type Any, type Fn, NotApplicable } from "./adapter.ts";
import type { Case, Encoded, ErrSpec } from "./case-types.ts";
import { hasTag } from "./case-types.ts";
import type { Run } from "./decode.ts";

/** A call whose function was found: what remains is to run it. */
export type Ready = () => unknown;

const METHOD_ONLY = new Set(
  `contiguous expand expand_as to sum_to_size repeat reshape_as unfold view view_as item new_empty new_empty_strided
  new_full new_ones new_zeros bfloat16 bool byte char double float half int long short cfloat`.split(/\s+/),
);

const PROPERTIES = new Set(["T", "H", "mT", "mH"]);

/** Random fillers whose case names lack the underscore: they write into args[0]. */
const FILLERS = new Set(["cauchy", "exponential", "geometric", "log_normal", "uniform"]);

/** Called on a clone: the input stays as it is. */
const ON_CLONE = new Set(["zero_", "resize_", "resize_as_"]);

const REFLECTED: Record<string, string> = {
  __radd__: "add",
  __rsub__: "sub",
  __rmul__: "mul",
  __rdiv__: "div",
  __rmod__: "remainder",
  __rpow__: "pow",
  __rmatmul__: "matmul",
  __rand__: "bitwise_and",
  __ror__: "bitwise_or",
  __rxor__: "bitwise_xor",
};

/** Ops of nn.functional whose in-place form is `inplace: true`. */
const INPLACE_FLAG = new Set(
  `dropout dropout2d dropout3d alpha_dropout feature_alpha_dropout hardsigmoid mish silu`
    .split(" ")
    .map((n) => `nn.functional.${n}`),
);

function withKw(args: unknown[], kw: Record<string, unknown> | undefined): unknown[] {
  return kw === undefined ? args : [...args, kw];
}

/** Slices along one dim: x.at(slice(), ..., slice(start, end, step)). */
function sliceCall(a: Adapter, args: unknown[]): Ready {
  const [x, dim = 0, start = null, end = null, step = 1] = args as [Any, number?, unknown?, unknown?, unknown?];
  const axis = dim < 0 ? dim + x.shape.length : dim;
  const index: unknown[] = new Array(axis).fill(a.slice(null, null, null));
  index.push(a.slice(start, end, step));
  return () => a.getItem(x, index, true);
}

/** Argument orders of functions whose sample puts another argument first. */
function reordered(c: Case, args: unknown[]): unknown[] {
  const [a, b, ...rest] = args;
  switch (c.op) {
    case "where":
      return [b, a, ...rest];
    case "polygamma":
    case "special.polygamma":
    case "einsum":
    case "nn.functional.embedding":
    case "nn.functional.embedding_bag":
      return [b, a, ...rest];
    // Python takes the tensors one by one, too.
    case "meshgrid":
    case "block_diag":
      return Array.isArray(a) ? args : [args];
    case "normal":
      return c.vt === "number_mean" ? [b, a, ...rest] : args;
    default:
      return args;
  }
}

/** What Python's operators take with a number first and torch's functions refuse (test/ops/number-first.test.ts). */
const COMPARISONS = new Set(["lt", "le", "gt", "ge", "eq", "ne"]);

function indexOf(v: Encoded): { isTuple: boolean } {
  return { isTuple: hasTag(v, "$tu") };
}

function reflected(a: Adapter, op: string, args: unknown[]): Ready {
  const [x, y] = args as [Any, unknown];
  if (!a.isTensor(x)) throw new NotApplicable("a number has no methods");
  const name = REFLECTED[op] as string;
  if (op === "__rsub__") {
    const f = a.fn("rsub");
    return () => f(x, y);
  }
  const commutes = op === "__radd__" || op === "__rmul__";
  const f = a.fn(name);
  return commutes && !a.isTensor(y) ? () => f(x, y) : () => f(y, x);
}

/** The plain call of an opinfo or error case. Throws NoSuchOp when the library lacks the op. */
export function plainCall(run: Run): Ready {
  const { c, adapter: a } = run;
  const args = run.args();
  const kw = run.kwargs();
  const self = args[0] as Any;
  if (REFLECTED[c.op]) return reflected(a, c.op, args);
  if (COMPARISONS.has(c.op) && c.err !== undefined && !a.isTensor(self) && a.isTensor(args[1])) {
    throw new NotApplicable("comparisons take a number first, as Python's operators do");
  }
  if (PROPERTIES.has(c.op)) return a.property(self, c.op);
  if (c.op === "slice") return sliceCall(a, args);
  if (c.op === "__getitem__") return () => a.getItem(self, args[1], indexOf(c.args[1] as Encoded).isTuple);
  if (c.op === "linalg.pinv" && c.vt === "singular") {
    const [pinv, matmul] = [a.fn("linalg.pinv"), a.fn("matmul")];
    const transposed = a.property(args[1] as Any, "mT");
    return () => pinv(...withKw([matmul(args[0], transposed())], kw));
  }
  if (ON_CLONE.has(c.op)) {
    const clone = a.method(self, "clone");
    a.method(self, c.op);
    return () => a.method(clone(), c.op)(...withKw(args.slice(1), kw));
  }
  const filler = FILLERS.has(c.op) || (c.op === "normal" && c.vt === "in_place");
  let f: Fn;
  if (filler) f = a.method(self, `${c.op}_`);
  else if (METHOD_ONLY.has(c.op)) f = a.method(self, c.op);
  else if (a.hasFn(c.op)) {
    f = a.fn(c.op);
    const ordered = reordered(c, args);
    return () => f(...withKw(ordered, kw));
  } else if (a.isTensor(self) && !c.op.includes(".")) f = a.method(self, c.op);
  else f = a.fn(c.op);
  return () => f(...withKw(args.slice(1), kw));
}

/** The method form: args[0].op(rest of args). */
export function methodCall(run: Run): Ready {
  const { c, adapter: a } = run;
  const args = run.args();
  const kw = run.kwargs();
  if (REFLECTED[c.op]) return reflected(a, c.op, args);
  if (c.op === "slice") return sliceCall(a, args);
  const f = a.method(args[0] as Any, c.op);
  return () => f(...withKw(args.slice(1), kw));
}

/** True when the library has reflected operators as methods or the op is an ordinary one. */
export function hasMethodForm(c: Case): boolean {
  return !(c.op in REFLECTED) && c.op !== "slice" && c.op !== "__getitem__";
}

/** The in-place form on `self`, the other arguments taken from the run. */
export function inPlaceCall(run: Run, self: Any): Ready {
  const { c, adapter: a } = run;
  const rest = c.args.slice(1).map((v) => run.value(v));
  const kw = run.kwargs();
  if (!c.op.startsWith("nn.functional.")) {
    const f = a.method(self, c.op.endsWith("_") ? c.op : `${c.op}_`);
    return () => f(...withKw(rest, kw));
  }
  if (INPLACE_FLAG.has(c.op)) {
    const f = a.fn(c.op);
    return () => f(self, ...rest, { ...kw, inplace: true });
  }
  const f = a.fn(`${c.op}_`);
  return () => f(...withKw([self, ...rest], kw));
}

/** A promotion case calls torch's function with torch's own argument order. */
export function promoCall(run: Run): Ready {
  const args = run.args();
  const f = run.adapter.fn(run.c.op);
  return () => f(...args);
}

/** Message texts of Python's own argument parser are not compared. */
function isParserError(type: string): boolean {
  return type === "TypeError" || type === "AttributeError";
}

/** Checks a thrown error against what torch raised; returns what is wrong. */
export function errorMismatch(a: Adapter, e: unknown, want: ErrSpec, soft: (s: string) => void): string | null {
  const got = want.got ?? want.type;
  const message = e instanceof Error ? e.message : String(e);
  if (!a.isLibraryError(e)) return `not an error of the library: ${String(e).split("\n")[0]}`;
  if (isParserError(got)) return null;
  const classes = a.errorClasses(e);
  if (want.type !== "Exception" && !classes.includes(got))
    return `error class ${classes[0]}, expected ${got}: ${message}`;
  const wanted = ourSpelling(want.msg);
  if (want.re !== undefined) {
    if (want.re !== "" && !new RegExp(ourSpelling(want.re)).test(message))
      return `message "${message}" does not match /${want.re}/`;
    if (!message.startsWith(wanted)) soft(`message "${message}", torch's is "${want.msg}"`);
    return null;
  }
  return message.startsWith(wanted) ? null : `message "${message}", expected "${want.msg}"`;
}
