// What the functions of this room take, as data that src/tensor/checks.ts reads.

export const FUNCTIONS = {
  vmap: "func:fn inDims?:any outDims?:any randomness?:any | chunkSize:any",
} as const;
