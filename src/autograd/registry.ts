/** What this room and the generated nodes call in the rooms above; filled, for the compiler too, by src/install.ts. */

/** Helpers that gradient formulas name. */
// biome-ignore lint/suspicious/noEmptyInterface: the registration file fills it
export interface Formulas {}
export const formulas = {} as Formulas;

/** Operators written with other operators. */
// biome-ignore lint/suspicious/noEmptyInterface: the registration file fills it
export interface Composites {}
export const composites = {} as Composites;
