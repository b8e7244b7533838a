// Collections of a file where they are wanted: with their tensors mapped on the CPU, or moved as `to` moves them.
import { askedDevice, type PlaceOptions, placeAll } from "../../io/disk/placing.ts";
import type { Td } from "../core/state.ts";
import { moveTd } from "../ops/moving.ts";

/** A collection that was read, as `td.to(device)` gives it; itself where no other device was asked for. */
export function placeTd(td: Td, options: PlaceOptions, op: string): Td {
  const to = askedDevice(options);
  if (to === null || td._device?.equals(to)) return td;
  return moveTd(td, to, (tensors) => placeAll(tensors, to, op));
}
