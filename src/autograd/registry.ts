/** What this room and the generated nodes call in the rooms above; filled by the registration file. */
import type * as CompositeModule from "./composites.ts";
import type * as FormulaModule from "./formulas.ts";

/** Helpers that gradient formulas name. */
export const formulas = {} as typeof FormulaModule;

/** Operators written with other operators. */
export const composites = {} as typeof CompositeModule;
