/** Under which heading an operator stands in the API pages: PyTorch's headings, by the schema's files. */
import type { OpSchema } from "./types.ts";

/** The headings, in the order of the pages. */
export const CATEGORIES = [
  "Creation",
  "Indexing, slicing, joining",
  "Shapes and views",
  "Pointwise",
  "Comparison, sorting, searching",
  "Reduction",
  "Running sums and differences",
  "Linear algebra",
  "Random numbers",
  "Complex numbers",
  "Copies, dtypes, devices",
  "Activations and layers",
  "Losses",
] as const;

export type Category = (typeof CATEGORIES)[number];

/** By the schema's file. */
const OF_FILE: Readonly<Record<string, Category>> = {
  activations: "Activations and layers",
  "activations-functional": "Activations and layers",
  "activation-derivatives": "Activations and layers",
  attention: "Activations and layers",
  convolution: "Activations and layers",
  factories: "Creation",
  indexing: "Indexing, slicing, joining",
  joining: "Indexing, slicing, joining",
  embedding: "Activations and layers",
  "indexing-reduce": "Indexing, slicing, joining",
  losses: "Losses",
  "losses-likelihood": "Losses",
  "losses-margin": "Losses",
  matrix: "Linear algebra",
  "matrix-parts": "Linear algebra",
  nn: "Activations and layers",
  normalization: "Activations and layers",
  norms: "Linear algebra",
  pooling: "Activations and layers",
  pointwise: "Pointwise",
  random: "Random numbers",
  recurrent: "Activations and layers",
  reductions: "Reduction",
  "reductions-moments": "Reduction",
  scans: "Running sums and differences",
  sampling: "Activations and layers",
  searching: "Comparison, sorting, searching",
  sorting: "Comparison, sorting, searching",
  special: "Pointwise",
  statistics: "Reduction",
  storage: "Copies, dtypes, devices",
  unique: "Reduction",
  views: "Shapes and views",
  "views-complex": "Complex numbers",
};

/** By name, where PyTorch has it under another heading than its neighbours in the file. */
const OF_NAMES: readonly (readonly [Category, string])[] = [
  ["Creation", "empty_like zeros_like ones_like full_like rand_like randn_like randint_like"],
  [
    "Indexing, slicing, joining",
    "unsqueeze squeeze select slice narrow diagonal unbind split split_with_sizes chunk tensor_split unfold",
  ],
  ["Pointwise", "sigmoid relu"],
  [
    "Comparison, sorting, searching",
    "eq ne lt le gt ge equal isclose allclose isinf isfinite isposinf isneginf isnan isreal " +
      "maximum minimum fmax fmin kthvalue",
  ],
  ["Running sums and differences", "cumsum cumprod diff"],
  ["Copies, dtypes, devices", "detach"],
];

const BY_NAME = new Map(OF_NAMES.flatMap(([category, names]) => names.split(" ").map((name) => [name, category])));

/** The heading of an operator; none where its file is not known. */
export function categoryOf(op: Pick<OpSchema, "name" | "namespace"> & { readonly file: string }): Category | undefined {
  const own = op.namespace === undefined ? BY_NAME.get(op.name) : undefined;
  const byFile = OF_FILE[op.file] ?? (op.file.startsWith("pointwise-") ? "Pointwise" : undefined);
  return (own as Category | undefined) ?? byFile;
}
