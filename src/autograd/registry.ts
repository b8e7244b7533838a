/** What this room and the generated nodes call in the rooms above. */
import { later } from "../tensor/later.ts";

/** Helpers that gradient formulas name. */
// biome-ignore lint/suspicious/noEmptyInterface: the registration file says what it has
export interface Formulas {}
export const formulas: Formulas = later("formulas");

/** Operators written with other operators. */
// biome-ignore lint/suspicious/noEmptyInterface: the registration file says what it has
export interface Composites {}
export const composites: Composites = later("composites");
