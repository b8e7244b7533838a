/** How a call with one example of many becomes one call with all of them. */
import { BATCHING } from "../../generated/batching.ts";
import * as texts from "../../generated/texts.ts";
import { named } from "../dispatch/named.ts";
import type { Operator } from "../dispatch/seam.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Call, type Examples, each, type Rule, touchesAny } from "./call.ts";
import { DIMS_RULES, dims, whole } from "./rules-dims.ts";
import { drawn, factory } from "./rules-factory.ts";
import { IMAGE_RULES } from "./rules-images.ts";
import { along, INDEX_RULES } from "./rules-index.ts";
import { LOSS_RULES } from "./rules-losses.ts";
import { MATRIX_RULES, WHOLE_RULES } from "./rules-matrix.ts";
import { POINTWISE_RULES, pointwise } from "./rules-pointwise.ts";
import { view } from "./rules-views.ts";

/** What of an operator is the same for all calls. */
interface Described {
  readonly key: string;
  readonly rule: Rule;
  readonly roles: readonly string[];
  readonly inplace: boolean;
  readonly random: boolean;
}

/** By the schema's `batch`. */
const KINDS: Readonly<Record<string, Rule>> = {
  broadcast: pointwise,
  dims,
  whole,
  view,
  index: along,
  factory,
  random: each,
  each,
  refused,
};

/** Rules of single operators, before those of their kinds. */
const OWN: Readonly<Record<string, Rule>> = {
  ...POINTWISE_RULES,
  ...DIMS_RULES,
  ...MATRIX_RULES,
  ...IMAGE_RULES,
  ...INDEX_RULES,
  ...LOSS_RULES,
};

function refused({ operator, key }: Call): never {
  if (key === "allclose") throw texts.vmapAllclose(undefined);
  if (key === "nonzero") throw texts.vmapDynamic(undefined, operator.name);
  throw texts.vmapNoRule(undefined, operator.name);
}

const known = new Map<Operator, Described>();

/** `add`, `sum.dim_IntList`, `nn.functional.linear`: the schema's key; an in-place form has that of the plain one. */
function keyOf({ namespace, name, overload }: Operator): string {
  const bare = name.endsWith("_") ? name.slice(0, -1) : name;
  return `${namespace === "" ? "" : `${namespace}.`}${bare}${overload === "" ? "" : `.${overload}`}`;
}

/** Whether a rule answers an operator although others compute it. */
export function answersWhole(operator: Operator): boolean {
  return Object.hasOwn(WHOLE_RULES, keyOf(operator));
}

function describe(operator: Operator): Described {
  let found = known.get(operator);
  if (found === undefined) {
    const inplace = operator.name.endsWith("_");
    const key = keyOf(operator);
    const [kind = "", ...roles] = (BATCHING[key] ?? "").split(" ");
    // The generator has seen to it that each operator has one of the two.
    const rule = (operator.kind === "composite" ? WHOLE_RULES[key] : OWN[key]) ?? KINDS[kind] ?? refused;
    found = { key, rule, roles, inplace, random: operator.args.includes("generator") };
    known.set(operator, found);
  }
  return found;
}

/** Answers a call of an operator inside of `vmap`; `next` computes it for all examples alike. */
export function batchedCall(
  level: Examples,
  operator: Operator,
  args: readonly unknown[],
  next: () => unknown,
): unknown {
  const batched = touchesAny(level, args);
  const { key, rule, roles, inplace, random } = describe(operator);
  if (!batched && !random) return next();
  const call: Call = { level, operator, key, inplace, args, roles };
  if (random) return drawn(call, batched, next, (r) => wrapped(level, r, operator));
  if (operator.args.at(-1) === "out" && args[operator.args.length - 1] !== undefined) {
    throw texts.vmapOut(undefined, `${operator.name}.out`);
  }
  const result = rule(call);
  return inplace ? args[0] : wrapped(level, result, operator);
}

/** What a rule gave, as one example of it; several results keep their names. */
function wrapped(level: Examples, result: unknown, { name }: Operator): unknown {
  if (result instanceof Tensor) return level.wrap(result);
  if (!Array.isArray(result)) return result;
  const list = result.map((t: Tensor) => level.wrap(t));
  const names = Array.isArray(result) && "names" in result.constructor ? (result.constructor.names as string[]) : null;
  return names === null ? list : named(name, names, list);
}
