// What the functions of this room take, as data that src/tensor/checks.ts reads.

export const FUNCTIONS = {
  functionalCall: "module:module parameterAndBufferDicts:value args?:value kwargs?:value | tieWeights:bool strict:bool",
  stackModuleState: "models:list",
  vmap: "func:fn inDims?:any outDims?:any randomness?:any | chunkSize:any",
} as const;
