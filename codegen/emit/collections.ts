/** What functions of tensors take when they are called on collections, as overloads of them. */
import { LOSSES, METHODS, MODELLED, OF_BOTH } from "../../src/tensordict/core/torch-names.ts";
import { type Form, formsOf, type Param, type Place } from "./forms.ts";

/** An argument behind the collection: its name, with `?` where it may be missing, and its type. */
type Argument = readonly [name: string, type: string];

interface Taken {
  args: readonly Argument[];
  /** Given by name only. */
  options?: readonly Argument[];
  /** Several of the same instead of one. */
  several?: boolean;
}

const OPERAND = "C | Tensor | Scalar";
const INTS = "number | readonly number[]";
const DEFAULT: Argument = ["default?", 'Tensor | Scalar | "intersection" | null'];
const none: Taken = { args: [] };
const other: Taken = { args: [["other", OPERAND]], options: [DEFAULT] };
const scaled: Taken = { args: other.args, options: [DEFAULT, ["alpha?", "Scalar"]] };
const dims = (...names: string[]): Taken => ({ args: names.map((name) => [name, "number"]) });
const moved: Taken = {
  args: [
    ["source", INTS],
    ["destination", INTS],
  ],
};
const reduced: Taken = { args: [["dim?", "number"]], options: [["keepdim?", "boolean"]] };
const parted = (name: string, type = "number"): Taken => ({
  args: [
    [name, type],
    ["dim?", "number"],
  ],
  several: true,
});
const three: Taken = {
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
const FORMS: Readonly<Record<string, Taken>> = {
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
      { args: [["target", "C"]], options: [["reduction?", '"mean" | "sum" | "none"']] } as Taken,
    ]),
  ),
};

const isOptional = ([name]: Argument): boolean => name.endsWith("?");
const fields = (list: readonly Argument[]): string =>
  `{ ${list.map(([name, type]) => `${name}: ${type}`).join("; ")} }`;
const param = (name: string, ...types: string[]): Param => ({ name, types });

/** The forms of a function for collections; none for other functions. */
export function collectionForms(name: string): Form[] {
  const known = METHODS.has(name) || MODELLED.has(name) || LOSSES.has(name);
  const head = { open: "<C extends Td>", result: "C", of: 0 };
  if (name === "where") {
    const condition = param("condition", "Tensor");
    return [
      { ...head, params: [condition, param("input", "C"), param("other", ...OPERAND.split(" | "))] },
      { ...head, params: [condition, param("input", "Tensor", "Scalar"), param("other", "C")] },
    ];
  }
  if (name === "isin") {
    const type = "string | readonly string[]";
    const form = { ...head, result: "Tensor" };
    const before = [param("input", "C"), param("reference", "C")];
    return [
      { ...form, params: [...before, param("key", type, `{ key: ${type}; dim?: number }`)] },
      { ...form, params: [...before, param("key", type), param("dim", "number")] },
    ];
  }
  // An object of bounds is a dictionary of them.
  if (name === "clamp") {
    const bound = `${OPERAND} | null`;
    const max = { ...param("max", bound), optional: true };
    return [{ ...head, params: [param("input", "C"), param("min", bound), max] }];
  }
  if (!known) return [];
  const { args, options = [], several } = FORMS[name] ?? none;
  const places = args.map((a): Place => ({ name: a[0].replace("?", ""), type: a[1], required: !isOptional(a) }));
  const optionsAt = (at: number): string | null => {
    const all: Argument[] = at === 0 ? [["input", "C"], ...args, ...options] : [...args.slice(at - 1), ...options];
    return all.length === 0 ? null : fields(all);
  };
  const own = { ...head, result: several ? "C[]" : "C" };
  const forms = formsOf([{ name: "input", type: "C", required: true }, ...places], optionsAt, own, false);
  const both: Form[] = OF_BOTH.has(name)
    ? [{ ...head, params: [param("input", "Tensor", "Scalar"), param("other", "C")] }]
    : [];
  return [...forms, ...both];
}
