// What the functions and classes of this room take, as data that src/tensor/checks.ts reads.

export const FUNCTIONS = {
  profile: "body:fn | recordShapes:bool profileMemory:bool",
  recordFunction: "name:string body:fn",
} as const;

/** Methods of `Profile`. */
export const PROFILE = {
  keyAverages: "| groupByInputShape:bool",
  exportChromeTrace: "path:string",
} as const;

/** Methods of `Averages`. */
export const AVERAGES = {
  table: "| sortBy:string rowLimit:int maxNameColumnWidth:int maxShapesColumnWidth:int",
} as const;
