// How much of what has no natural end a run of the tests does: `npm test` a little of it, `npm test -- --all` more.

/** Whether everything is run. */
export const isWhole = process.env.ZENSOR_TEST_ALL === "1";

/** How many rounds: `few` usually, `many` where everything is run. */
export function rounds(few: number, many: number): number {
  return isWhole ? many : few;
}
