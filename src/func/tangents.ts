/** What the formulas of tangents in the schema name. */
export * from "./tangents-common.ts";
export * from "./tangents-index.ts";
export * from "./tangents-matrix.ts";
export * from "./tangents-nn.ts";
export * from "./tangents-pointwise.ts";
export * from "./tangents-reduction.ts";
