// Arguments by the roles that the schema gives them, most of them fitting and some not.
import type { Tensor } from "../../src/index.ts";
import * as z from "../../src/index.ts";
import type { Choices } from "../fuzz/choices.ts";
import { disturb } from "./pool.ts";

const NUMBERS = [0, 1, -1, 2, 3, 0.5, -0, 1.5, 7, Number.NaN, Number.POSITIVE_INFINITY, 1n, -3n, 1e18, 2 ** 53, true];
const COUNTS = [0, 1, 2, 3, -1, -2, 4, 5, 1e18, -1e18, 2 ** 53, 1.5, Number.NaN];
const ODD = [null, undefined, "x", {}, [], [[]], Symbol("s"), () => 1, new Date(0), "1:2", [null], [1, [2]], new Map()];

/** A list whose elements are computed, and change what is there each time they are read. */
function shifty(items: readonly unknown[], pool: readonly Tensor[], choices: Choices): unknown[] {
  const list = [...items];
  const at = choices.below(Math.max(1, list.length));
  const others = [list[at], ...pool];
  let reads = 0;
  Object.defineProperty(list, at, {
    configurable: true,
    enumerable: true,
    get() {
      if (choices.below(3) === 0) disturb(choices.pick(pool), choices);
      if (choices.below(5) === 0) list.length = Math.max(0, list.length - 1);
      return others[reads++ % others.length];
    },
  });
  return list;
}

function listOf(make: () => unknown, pool: readonly Tensor[], choices: Choices): unknown[] {
  const list = Array.from({ length: choices.below(4) }, make);
  return choices.below(4) === 0 ? shifty(list, pool, choices) : list;
}

/** A value for an argument. */
export function argument(role: string, pool: readonly Tensor[], choices: Choices): unknown {
  if (choices.below(25) === 0) return choices.pick(ODD);
  const count = () => choices.pick(choices.below(3) === 0 ? COUNTS : [0, 1, 2, -1]);
  const one = () => choices.pick(pool);
  switch (role.replace("?", "")) {
    case "Tensor":
      return one();
    case "Tensor|Scalar":
      return choices.below(2) === 0 ? one() : choices.pick(NUMBERS);
    case "Tensor|Index":
      return choices.below(3) === 0 ? listOf(count, pool, choices) : indexLike(one(), choices);
    case "Tensor[]":
    case "TensorList":
      return listOf(one, pool, choices);
    case "Scalar":
    case "Float":
      return choices.pick(NUMBERS);
    case "Dim":
    case "Int":
      return count();
    case "Dims":
    case "Size":
    case "Sizes":
    case "Ints":
      return choices.below(3) === 0 ? count() : listOf(count, pool, choices);
    case "String|Ints":
      return choices.below(3) === 0 ? choices.pick(["same", "valid", "x"]) : listOf(count, pool, choices);
    case "Bool":
      return choices.below(2) === 0;
    case "DType":
      return choices.pick(["float32", "int64", "bool", "complex64", "float16", "uint8"]);
    case "Device":
      return choices.pick(["cpu", "meta", "cuda"]);
    case "String":
      return choices.pick(["mean", "sum", "none", "trunc", "floor", "add", "prod", "x"]);
    case "MemoryFormat":
      return choices.pick([z.contiguousFormat, z.channelsLast, z.preserveFormat]);
    case "Storage":
      return one();
    default:
      return choices.pick([...ODD, ...pool]);
  }
}

/** Most tensors are no indices: half of them become some. */
function indexLike(x: Tensor, choices: Choices): unknown {
  if (choices.below(2) === 0) return x;
  try {
    return x.isComplex() ? x : x.remainder(2).to("int64");
  } catch {
    return x;
  }
}

/** Options: some are computed when they are read, and disturb what the call uses. */
export function options(
  rows: readonly (readonly [name: string, role: string])[],
  pool: readonly Tensor[],
  choices: Choices,
): object {
  const given: Record<string, unknown> = {};
  for (const [name, role] of rows) {
    if (choices.below(2) === 0) continue;
    const value = argument(role, pool, choices);
    if (choices.below(4) > 0) {
      given[name] = value;
      continue;
    }
    Object.defineProperty(given, name, {
      enumerable: true,
      get() {
        disturb(choices.pick(pool), choices);
        return choices.below(3) === 0 ? argument(role, pool, choices) : value;
      },
    });
  }
  return given;
}
