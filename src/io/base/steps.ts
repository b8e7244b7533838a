// Work that is written once and done in two ways: at once, or while the program goes on.
import { Slices } from "./slices.ts";

/** What takes long, in both ways. */
interface Waiting {
  now: () => unknown;
  later: () => Promise<unknown>;
}

/** Work in steps. It yields what it waits for, and undefined where there may be a pause. */
export type Steps<T> = Generator<Waiting | undefined, T, unknown>;

/** One step that takes long, and what it gives. */
export function* wait<T>(now: () => T, later: () => Promise<T>): Steps<T> {
  return (yield { now, later }) as T;
}

/** Does the work at once. */
export function runSteps<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    let result: unknown;
    try {
      result = step.value?.now();
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(result);
  }
  return step.value;
}

/** Does the work while the program goes on. The steps see what a pause throws: they may have to clean up. */
export async function runStepsLater<T>(steps: Steps<T>, slices = new Slices()): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    let result: unknown;
    try {
      if (step.value !== undefined) result = await step.value.later();
      else if (slices.over) await slices.pause();
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(result);
  }
  return step.value;
}
