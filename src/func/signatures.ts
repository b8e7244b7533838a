// What the functions of this room take, as data that src/tensor/checks.ts reads.

export const FUNCTIONS = {
  functionalCall: "module:module parameterAndBufferDicts:value args?:value kwargs?:value | tieWeights:bool strict:bool",
  grad: "func:fn argnums?:any hasAux?:bool",
  gradAndValue: "func:fn argnums?:any hasAux?:bool",
  hessian: "func:fn argnums?:any",
  jacfwd: "func:fn argnums?:any hasAux?:bool | randomness:any",
  jacrev: "func:fn argnums?:any | hasAux:bool chunkSize:any",
  jvp: "func:fn primals:any tangents:any | strict:bool hasAux:bool",
  stackModuleState: "models:list",
  vjp: "func:fn ...primals:any | hasAux:bool",
  vmap: "func:fn inDims?:any outDims?:any randomness?:any | chunkSize:any",
} as const;
