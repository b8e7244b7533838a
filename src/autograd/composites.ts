/** Operators written with other operators: what the generated code calls through the registry. */

export * from "./composites-activations.ts";
export * from "./composites-attention.ts";
export * from "./composites-contractions.ts";
export * from "./composites-convolution.ts";
export * from "./composites-embedding.ts";
export * from "./composites-images.ts";
export * from "./composites-indexing.ts";
export * from "./composites-likelihood.ts";
export * from "./composites-losses.ts";
export * from "./composites-margins.ts";
export * from "./composites-matrix.ts";
export * from "./composites-multi-head.ts";
export * from "./composites-nn.ts";
export * from "./composites-normalization.ts";
export * from "./composites-norms.ts";
export * from "./composites-parts.ts";
export * from "./composites-pointwise.ts";
export * from "./composites-pooling.ts";
export * from "./composites-quantile.ts";
export * from "./composites-recurrent.ts";
export * from "./composites-reduction.ts";
export * from "./composites-sampling.ts";
export * from "./composites-storage.ts";
export * from "./composites-unique.ts";
export * from "./composites-views.ts";
