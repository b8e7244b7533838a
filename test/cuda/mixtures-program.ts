// Calls every operator with its tensors in several places: all on a device, and one of them there with the others on
// the CPU. Prints what is wrong; an address that is used on the wrong side ends this program.
import { appendFileSync } from "node:fs";
import { type Arg, loadModel, type Op } from "../../codegen/model/load.ts";
import * as Z from "../../src/index.ts";
import { type OperatorForm, operatorForms } from "../api/operator-forms.ts";

const log = process.env.MIXTURES_LOG;
const { ones, tensor } = Z;
const whole = (...values: number[]) => tensor(values).long();
const square = () => Z.arange(9).reshape(3, 3).float().add(0.5);

const TENSORS = [
  square,
  () => tensor([0.25, 0.5, 0.75]),
  () => whole(0, 2, 1),
  () => tensor(2),
  () => tensor([true, false, true]),
  () => ones(2, 3, 3),
  () => whole(1).view([]),
];
const BY_ROLE: Readonly<Record<string, readonly (() => unknown)[]>> = {
  Tensor: TENSORS,
  "Tensor?": TENSORS,
  "Tensor|Scalar": TENSORS,
  "Tensor|Index": [() => whole(0, 2, 1), () => whole(1)],
  "Tensor?[]": [() => [whole(0, 1)]],
  TensorList: [() => [ones(2, 2), ones(2, 2)], () => [tensor(2), tensor(3)]],
  Scalar: [() => 2],
  "Scalar?": [() => 2],
  Dim: [() => 0],
  "Dim?": [() => 0],
  Dims: [() => 0],
  "Dims?": [() => 0],
  Size: [() => [3, 3], () => [3]],
  Sizes: [() => [3, 3], () => [3]],
  Ints: [() => [1, 2], () => 1],
  Int: [() => 1],
  "Int?": [() => 1],
  Float: [() => 0.5],
  "Float?": [() => 0.5],
  Bool: [() => true],
  "Bool?": [() => true],
  String: [() => "sum", () => "amax"],
  DType: [() => "float64"],
  Device: [() => "cpu"],
};

function* choices(args: readonly Arg[], done: unknown[] = []): Generator<unknown[]> {
  const [arg, ...rest] = args;
  if (arg === undefined || (arg.fallback !== undefined && !arg.role.startsWith("Tensor"))) {
    yield done;
    return;
  }
  for (const make of BY_ROLE[arg.role] ?? []) yield* choices(rest, [...done, make()]);
}

const isTensors = (x: unknown): boolean => x instanceof Z.Tensor || (Array.isArray(x) && x[0] instanceof Z.Tensor);
const onGpu = (x: unknown, at: number | null = null): unknown => {
  if (x instanceof Z.Tensor) return x.cuda();
  return (x as Z.Tensor[]).map((t, i) => (at === null || i === at ? t.cuda() : t));
};
const copied = (x: unknown): unknown => (x instanceof Z.Tensor ? x.clone() : Array.isArray(x) ? x.map(copied) : x);

/** The arguments with their tensors in several places. */
function* placements(args: readonly unknown[]): Generator<unknown[]> {
  const places = args.flatMap((x, i) => (isTensors(x) ? [i] : []));
  const moved = (those: readonly number[]) => args.map((x, i) => (those.includes(i) ? onGpu(x) : copied(x)));
  yield moved(places);
  if (places.length > 1) for (const i of places) yield moved([i]);
  for (const i of places) if (Array.isArray(args[i])) yield args.map((x, j) => (i === j ? onGpu(x, 0) : copied(x)));
}

type Outcome = { text: string; error: Error | null };

/** A result as text; a fault of the device is told when it is read. */
function outcome(run: () => unknown): Outcome {
  Z.manualSeed(3);
  try {
    const text = (x: unknown): string => (Array.isArray(x) ? x.map(text).join() : String(x));
    return { text: text(run()), error: null };
  } catch (error) {
    return { text: "", error: error as Error };
  }
}

/** Errors that say nothing about operands. */
const FAULT = /CUDA error|panic|out of bounds/;
/** Calls of an operator at most. */
const MOST = Number(process.argv[2]);
/** Operands that are tried: attention with all its weights has a dozen, which seldom fit each other. */
const MOST_DRAWN = 3000;

function wrongIn({ op, fn, ofSelf, form }: OperatorForm): string | null {
  if (fn === undefined) return null;
  const call = (args: readonly unknown[]) =>
    outcome(() => (ofSelf ? fn.apply(args[0], args.slice(1) as unknown[]) : fn(...args)));
  let tried = 0;
  let drawn = 0;
  for (const args of choices(op.args.filter((a: Arg) => !a.byName))) {
    if (++drawn > MOST_DRAWN) break;
    if (!args.some(isTensors)) return null;
    if (call(args.map(copied)).error !== null) continue;
    for (const placed of placements(args)) {
      if (log !== undefined) appendFileSync(log, `${form} ${op.key}: ${placed.map(String).join("; ")}\n`);
      const { error } = call(placed);
      if (error === null || !FAULT.test(error.message)) continue;
      return `${form} ${op.key}(${placed.map(String).join("; ")}): ${error.message}`;
    }
    if (++tried >= MOST) break;
  }
  return null;
}

Z.setWarningPolicy("never");
const skip = new Set((process.env.MIXTURES_SKIP ?? "").split(","));
const forms: OperatorForm[] = operatorForms(loadModel());
const wrong = forms.filter(({ op }: { op: Op }) => !skip.has(op.key)).flatMap((form) => wrongIn(form) ?? []);
console.log(JSON.stringify({ wrong, count: forms.length }));
