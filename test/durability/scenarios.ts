// All scenarios by name.
import type { Problems } from "./checks.ts";
import { denied, fullDisk, prepare, readOnly, truncated, vanished } from "./disks.ts";
import { additions, appends, descriptors, endless, hdf5Entries, mappedWrites, mappings } from "./limits.ts";

/** Each gets a directory, and gives what misbehaved: no text, no problem. */
export const SCENARIOS: Record<string, (root: string) => Promise<Problems>> = {
  fullDisk,
  denied,
  prepare,
  readOnly,
  vanished,
  truncated,
  mappedWrites,
  additions,
  appends,
  descriptors,
  mappings,
  endless,
  hdf5Entries,
};
