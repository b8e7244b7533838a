// Collections of a file where they are wanted: with their tensors mapped on the CPU, or moved as `to` moves them.
import { runSteps, type Steps } from "../../io/base/steps.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { askedDevice, type PlaceOptions, placing } from "../../io/disk/placing.ts";
import type { Td } from "../core/state.ts";
import { movingTd } from "../ops/moving.ts";

/** A collection that was read, as `td.to(device)` gives it; itself where no other device was asked for. */
export function* placingTd(td: Td, options: PlaceOptions & BackgroundOptions, op: string): Steps<Td> {
  const to = askedDevice(options);
  if (to === null || td._device?.equals(to)) return td;
  return yield* movingTd(td, to, (tensors) => placing(tensors, to, op, options));
}

/** The same at once. */
export function placeTd(td: Td, options: PlaceOptions, op: string): Td {
  return runSteps(placingTd(td, options, op));
}
