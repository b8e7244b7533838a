/** What functions of tensors take when they are called on collections, as overloads of them. */
import { LOSSES, METHODS, MODELLED, OF_BOTH } from "../../src/tensordict/core/torch-names.ts";

/** An argument behind the collection: its name, with `?` where it may be missing, and its type. */
type Argument = readonly [name: string, type: string];

interface Form {
  args: readonly Argument[];
  /** Given by name only. */
  options?: readonly Argument[];
  /** Several of the same instead of one. */
  several?: boolean;
}

const OPERAND = "C | Tensor | Scalar";
const INTS = "number | readonly number[]";
const DEFAULT: Argument = ["default?", 'Tensor | Scalar | "intersection" | null'];
const none: Form = { args: [] };
const other: Form = { args: [["other", OPERAND]], options: [DEFAULT] };
const scaled: Form = { args: other.args, options: [DEFAULT, ["alpha?", "Scalar"]] };
const dims = (...names: string[]): Form => ({ args: names.map((name) => [name, "number"]) });
const moved: Form = {
  args: [
    ["source", INTS],
    ["destination", INTS],
  ],
};
const reduced: Form = { args: [["dim?", "number"]], options: [["keepdim?", "boolean"]] };
const parted = (name: string, type = "number"): Form => ({
  args: [
    [name, type],
    ["dim?", "number"],
  ],
  several: true,
});
const three: Form = {
  args: [
    ["other1", OPERAND],
    ["other2", OPERAND],
  ],
  options: [["value?", "Scalar"]],
};
const MAKING: readonly Argument[] = [
  ["dtype?", "DTypeLike | null"],
  ["device?", "DeviceLike | null"],
  ["requiresGrad?", "boolean"],
];

/** What those take that are not called like `none`. */
const FORMS: Readonly<Record<string, Form>> = {
  unbind: { ...dims("dim?"), several: true },
  unflatten: {
    args: [
      ["dim", "number"],
      ["unflattenedSize", "readonly number[]"],
    ],
  },
  flatten: dims("startDim?", "endDim?"),
  reshape: { args: [["shape", "readonly number[]"]] },
  flip: { args: [["dims", INTS]] },
  roll: {
    args: [
      ["shifts", INTS],
      ["dims?", `${INTS} | null`],
    ],
  },
  rot90: {
    args: [
      ["k?", "number"],
      ["dims?", "readonly number[]"],
    ],
  },
  narrow: dims("dim", "start", "length"),
  tile: { args: [["dims", INTS]] },
  repeatInterleave: {
    args: [
      ["repeats", "number | Tensor"],
      ["dim?", "number | null"],
    ],
  },
  broadcastTo: { args: [["size", "readonly number[]"]] },
  transpose: dims("dim0", "dim1"),
  swapaxes: dims("axis0", "axis1"),
  swapdims: dims("dim0", "dim1"),
  gather: {
    args: [
      ["dim", "number"],
      ["index", "Tensor"],
    ],
  },
  squeeze: dims("dim?"),
  unsqueeze: dims("dim"),
  maskedSelect: { args: [["mask", "Tensor"]] },
  permute: { args: [["dims", "readonly number[]"]] },
  movedim: moved,
  moveaxis: moved,
  split: parted("splitSize", INTS),
  chunk: parted("chunks"),
  tensorSplit: parted("indicesOrSections", INTS),
  ...Object.fromEntries(["var", "std", "mean", "sum"].map((name) => [name, reduced])),
  logsumexp: { args: [["dim?", `${INTS} | null`]], options: [["keepdim?", "boolean"]] },
  softmax: {
    args: [
      ["dim", "number"],
      ["dtype?", "DTypeLike | null"],
    ],
  },
  ...Object.fromEntries(["add", "sub"].map((name) => [name, scaled])),
  ...Object.fromEntries(["bitwiseAnd", "clampMax", "clampMin", "div", "logicalAnd"].map((name) => [name, other])),
  ...Object.fromEntries(["maximum", "minimum", "mul", "pow"].map((name) => [name, other])),
  bitwiseOr: { args: other.args },
  bitwiseXor: { args: other.args },
  addcdiv: three,
  addcmul: three,
  lerp: {
    args: [
      ["end", OPERAND],
      ["weight", OPERAND],
    ],
  },
  fullLike: { args: [["fillValue", "Scalar"]], options: MAKING },
  ...Object.fromEntries(
    [...MODELLED].filter((name) => name !== "fullLike").map((n) => [n, { args: [], options: MAKING }]),
  ),
  ...Object.fromEntries(
    [...LOSSES].map((name) => [
      name,
      { args: [["target", "C"]], options: [["reduction?", '"mean" | "sum" | "none"']] } as Form,
    ]),
  ),
};

const fields = (list: readonly Argument[]): string =>
  `{ ${list.map(([name, type]) => `${name}: ${type}`).join("; ")} }`;

/** The arguments behind the first, in all their places: from the last on they may be named instead. */
function rest({ args, options = [] }: Form): string {
  const tuples: string[] = [];
  for (let places = args.length; places >= 0; places--) {
    const named = [...args.slice(places), ...options];
    const optional = named.every(([name]) => name.endsWith("?"));
    const before = args.slice(0, places).map(([name, type]) => `${name.replace("?", "")}: ${type}`);
    tuples.push(
      `[${[...before, ...(named.length === 0 ? [] : [`options${optional ? "?" : ""}: ${fields(named)}`])].join(", ")}]`,
    );
  }
  return tuples.join(" | ");
}

/** The overloads of a function for collections, behind its name; none for other functions. */
export function onCollections(name: string): string[] {
  const known = METHODS.has(name) || MODELLED.has(name) || LOSSES.has(name);
  const self = "<C extends Td>";
  if (name === "where") {
    return [
      `${self}(condition: Tensor, input: C, other: ${OPERAND}): C`,
      `${self}(condition: Tensor, input: Tensor | Scalar, other: C): C`,
    ];
  }
  if (name === "isin") {
    const key = "key: string | readonly string[]";
    return [
      `${self}(input: C, reference: C, ...rest: [${key}, dim?: number] | [options: { ${key}; dim?: number }]): Tensor`,
    ];
  }
  // An object of bounds is a dictionary of them.
  if (name === "clamp") return [`${self}(input: C, min: ${OPERAND} | null, max?: ${OPERAND} | null): C`];
  if (!known) return [];
  const form = FORMS[name] ?? none;
  const result = form.several ? "C[]" : "C";
  const all = fields([["input", "C"], ...form.args, ...(form.options ?? [])]);
  const first = form.args.length + (form.options?.length ?? 0) === 0 ? "" : `, ...rest: ${rest(form)}`;
  const both = OF_BOTH.has(name) ? [`${self}(input: Tensor | Scalar, other: C): C`] : [];
  return [`${self}(input: C${first}): ${result}`, `${self}(options: ${all}): ${result}`, ...both];
}
