// Work that is written once and done in two ways: at once, or while the program goes on.
import { marks } from "../../dispatch/staging.ts";
import { Slices } from "./slices.ts";

/** What takes long, in both ways. */
interface Waiting {
  now: () => unknown;
  later: (slices: Slices) => Promise<unknown>;
}

/** Work in steps. It yields what it waits for, and undefined where there may be a pause. */
export type Steps<T> = Generator<Waiting | undefined, T, unknown>;

/** One step that takes long, and what it gives; `later` may pause in the slices of the whole work. */
export function* wait<T>(now: () => T, later: (slices: Slices) => Promise<T>): Steps<T> {
  return (yield { now, later }) as T;
}

/** A pause, however little was done before. */
export function pausing(): Steps<void> {
  return wait(
    () => undefined,
    (slices) => slices.pause(),
  );
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

/**
 * Does the work while the program goes on; after a signal, up to its next pause. The steps see what a pause throws:
 * they may have to clean up. All run on the devices and streams that are current now.
 */
export async function runStepsLater<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  const slices = new Slices(signal);
  const here = marks.here();
  let step = here(() => steps.next());
  while (step.done !== true) {
    let result: unknown;
    try {
      if (step.value !== undefined) result = await step.value.later(slices);
      else if (slices.over) await slices.pause();
    } catch (error) {
      step = here(() => steps.throw(error));
      continue;
    }
    step = here(() => steps.next(result));
  }
  return step.value;
}
