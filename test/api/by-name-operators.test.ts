// Every operator of the schema, in each of its forms, called by position, by name and with a name that it has not.
import { expect, test } from "bun:test";
import { type Arg, loadModel, type Op } from "../../codegen/model/load.ts";
import * as Z from "../../src/index.ts";
import { IMAGE_ARGUMENTS } from "./by-name-images.ts";
import { type OperatorForm, operatorForms } from "./operator-forms.ts";

type Call = (...args: unknown[]) => unknown;

const { ones, tensor } = Z;
const whole = (...values: number[]) => tensor(values).long();
const square = () => Z.arange(9).reshape(3, 3).float().add(0.5);

/** Tensors that operators are tried with, one after the other. */
const TENSORS: readonly (() => unknown)[] = [
  square,
  () => tensor([0.25, 0.5, 0.75]),
  () => whole(0, 2, 1),
  () => ones(2, 3, 3),
  () => tensor([true, false, true]),
  () => Z.arange(6).reshape(3, 2).float(),
  () => Z.viewAsComplex(ones(2, 2)),
  () => Z.zeros(3, 3).long(),
  () => tensor(2),
  () => square().gt(3),
];
const SCALARS = [() => 2, () => 0.5];
/** Values of a role that fit most operators, the likeliest first. */
const BY_ROLE: Readonly<Record<string, readonly (() => unknown)[]>> = {
  Tensor: TENSORS,
  "Tensor?": TENSORS,
  "Tensor|Scalar": [...SCALARS, ...TENSORS],
  "Tensor|Index": [() => whole(0, 2, 1), () => Z.zeros(3, 3).long(), () => whole(1)],
  "Tensor?[]": [() => [whole(0, 1)]],
  TensorList: [() => [ones(2, 2), ones(2, 2)], () => [ones(3), ones(3)]],
  Scalar: SCALARS,
  "Scalar?": SCALARS,
  Dim: [() => 0, () => 1],
  "Dim?": [() => 0],
  Dims: [() => 0, () => 1],
  "Dims?": [() => 0],
  Size: [() => [3, 3], () => [9], () => [1, 0], () => [3]],
  Sizes: [() => [3, 3], () => [1, 2], () => [0], () => [1, 1], () => [3]],
  Ints: [() => [1, 2], () => [1], () => 1],
  "Ints?": [() => 1],
  "Int?[]": [() => 1],
  "Int|Ints?": [() => 4],
  "Float|Floats?": [() => 2],
  Int: [() => 1, () => 2],
  "Int?": [() => 1],
  Float: [() => 0.5],
  "Float?": [() => 0.5],
  Bool: [() => true],
  "Bool?": [() => true],
  Axes: [() => 1],
  String: [() => "sum", () => "amax"],
  DType: [() => "float64"],
  Device: [() => "cpu"],
  "Source?": [() => ones(4)],
};

/** What no role says. */
const BY_ARG: Readonly<Record<string, readonly (() => unknown)[]>> = {
  ...IMAGE_ARGUMENTS,
  "clamp/min": SCALARS,
  "clamp.Tensor/min": TENSORS,
  "norm.String/p": [() => "fro"],
  "nn.functional.batch_norm/training": [() => true],
  "einsum/equation": [() => "ij,jk"],
  ...Object.fromEntries(
    Object.entries<() => unknown>({
      query: () => ones(2, 1, 2),
      key: () => ones(3, 1, 2),
      value: () => ones(3, 1, 2),
      embedDimToCheck: () => 2,
      numHeads: () => 1,
      inProjWeight: () => ones(6, 2),
      inProjBias: () => ones(6),
      biasK: () => null,
      biasV: () => null,
      outProjWeight: () => ones(2, 2),
      outProjBias: () => ones(2),
      keyPaddingMask: () => null,
      attnMask: () => null,
      useSeparateProjWeight: () => false,
      staticK: () => null,
      staticV: () => null,
      isCausal: () => false,
    }).map(([name, value]) => [`nn.functional.multi_head_attention_forward/${name}`, [value]]),
  ),
  "narrow.Tensor/start": [() => tensor(1).long()],
  "randint.low/low": [() => 0],
  "randint_like.low/low": [() => 0],
  "random.from/to": [() => 9],
  "scatter.reduce/reduce": [() => "add"],
  "scatter.value_reduce/reduce": [() => "add"],
  "set/source": [() => ones(9)],
  "to.device/device": [() => "cpu"],
};

/** Elements that nobody sets. */
const UNSET = new Set([
  "empty",
  "empty_like",
  "empty_strided",
  "empty_permuted",
  "new_empty",
  "new_empty_strided",
  "resize",
  "resize_as",
]);

const model = loadModel();

function textOf(x: unknown, op: Op): string {
  if (x instanceof Z.Tensor) {
    const outside = `${x.dtype} ${x.shape} ${x.stride()}`;
    return UNSET.has(op.name)
      ? outside
      : `${outside} ${x.device.computes ? String(x.isComplex() ? Z.viewAsReal(x.resolveConj()) : x) : ""}`;
  }
  if (Array.isArray(x)) return `[${x.map((one) => textOf(one, op)).join(", ")}]`;
  return String(x);
}

const parsed = (fallback: string): unknown =>
  fallback === "null" || (/[^\w."'-]/.test(fallback) && !/^\[\d\]$/.test(fallback)) ? null : JSON.parse(fallback);

interface Assigned {
  arg: Arg;
  make: () => unknown;
}

/** All ways to give the arguments that must be there, the likeliest values first; never more than some thousands. */
function* choices(op: Op, args: readonly Arg[], done: Assigned[] = []): Generator<Assigned[]> {
  const [arg, ...rest] = args;
  if (arg === undefined) {
    yield done;
    return;
  }
  if (arg.fallback !== undefined && BY_ARG[`${op.key}/${arg.name}`] === undefined) {
    const value = parsed(arg.fallback);
    yield* choices(op, rest, value === null ? done : [...done, { arg, make: () => value }]);
    return;
  }
  const makers = BY_ARG[`${op.key}/${arg.name}`] ?? BY_ROLE[arg.role];
  if (makers === undefined) throw new Error(`no values for the role ${arg.role}`);
  for (const make of makers) yield* choices(op, rest, [...done, { arg, make }]);
}

const NO_NAME = { noSuchName: 1 };

function outcome(op: Op, run: () => unknown): { text: string; failed: boolean } {
  Z.manualSeed(3);
  try {
    return { text: textOf(run(), op), failed: false };
  } catch (error) {
    return { text: `${(error as Error).name}: ${(error as Error).message}`, failed: true };
  }
}

const noneOf = (arg: Arg): null => {
  if (arg.fallback === undefined) throw new Error(`${arg.name} must be given`);
  return null;
};

/** Positional arguments up to the last that is given, with null for those between that are not. */
function positions(op: Op, assigned: readonly Assigned[]): unknown[] {
  const places = op.args.filter((a) => !a.byName);
  const given = places.map((arg) => assigned.find((one) => one.arg === arg));
  const last = given.findLastIndex((one) => one !== undefined);
  const list = given.slice(0, last + 1);
  return list.map((one, i) => (one === undefined ? noneOf(places[i] as Arg) : one.make()));
}

function problem({ op, form, name, fn, ofSelf }: OperatorForm): string | null {
  if (fn === undefined) return "is not there";
  const run: Call = ofSelf ? (self, ...args) => fn.apply(self, args) : fn;
  const where = `${form} ${name}`;
  let last = "nothing fits";
  let tries = 0;
  for (const assigned of choices(op, op.args)) {
    if (++tries > 4000) break;
    const given = positions(op, assigned);
    const byName = assigned.filter(({ arg }) => arg.byName).map(({ arg, make }) => [arg.name, make()]);
    const extra = byName.length === 0 ? [] : [Object.fromEntries(byName)];
    const first = outcome(op, () => run(...given, ...extra));
    if (first.failed) {
      last = first.text;
      continue;
    }
    const names = () =>
      assigned
        .filter(({ arg }) => !ofSelf || arg !== op.args[0])
        .map(({ arg, make }) => [arg.name === "self" ? "input" : arg.name, make()]);
    const self = () => (ofSelf ? [(assigned[0] as Assigned).make()] : []);
    const named = outcome(op, () => run(...self(), Object.fromEntries(names())));
    if (named.text !== first.text) return `${where} by name: ${named.text}, by position ${first.text}`;
    const wrong = outcome(op, () => run(...self(), { ...Object.fromEntries(names()), ...NO_NAME }));
    const words = "got an unexpected keyword argument 'noSuchName'";
    return wrong.failed && wrong.text.includes(words) ? null : `${where} with a wrong name: ${wrong.text}`;
  }
  return `${where} was not called: ${last}`;
}

/** What cannot be called where there is no GPU. */
const NEED_GPU = new Set(["cuda", "pin_memory"]);
const forms = operatorForms(model).filter(({ op }) => Z.cuda.isAvailable() || !NEED_GPU.has(op.name));

test("operators take their arguments by position and by name, and refuse other names", () => {
  const found = forms.flatMap((form) => {
    const wrong = problem(form);
    return wrong === null ? [] : [`${form.op.key}: ${wrong}`];
  });
  expect(found).toEqual([]);
  expect(forms.length).toBeGreaterThan(500);
});
