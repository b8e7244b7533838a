/**
 * Why the next operator has to stop before it begins. Every operator tests this one number; whoever wants to be heard
 * sets a bit.
 */
export const attention = { bits: 0 };

/** Enough was allocated for a collection. */
export const MEMORY = 1;
/** There have been tensors on another device than the CPU. */
export const DEVICES = 2;
/** Somebody takes the calls of operators. */
export const TAKERS = 4;
