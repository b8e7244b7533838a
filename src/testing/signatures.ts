// What the functions of this room take, as data that src/tensor/checks.ts reads.

const CHECKS = "checkDevice:bool checkDtype:bool checkLayout:bool checkStride:bool";
const BOUNDS = "allowSubclasses:bool rtol:number atol:number equalNan:bool";

export const FUNCTIONS = {
  assertClose: `actual:value expected:value | ${BOUNDS} ${CHECKS} msg:any`,
} as const;
