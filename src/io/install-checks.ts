// Puts the checks of arguments before the methods of this room's classes.
import { installChecks } from "../tensor/checks.ts";
import { GgufFile } from "./gguf.ts";
import { Hdf5File, Hdf5Opaque } from "./hdf5.ts";
import { RemoteSafetensors } from "./remote-safetensors.ts";
import { SafetensorsFile } from "./safetensors.ts";
import { SafetensorsListing } from "./safetensors-header.ts";
import { METHODS, STATICS } from "./signatures.ts";
import { PendingSnapshot, Snapshot, StateDict } from "./snapshot.ts";

const classes = {
  GgufFile,
  Hdf5File,
  Hdf5Opaque,
  PendingSnapshot,
  RemoteSafetensors,
  SafetensorsFile,
  SafetensorsListing,
  Snapshot,
  StateDict,
};
for (const [name, table] of Object.entries(METHODS))
  installChecks(classes[name as keyof typeof classes].prototype, table);
for (const [name, table] of Object.entries(STATICS)) installChecks(classes[name as keyof typeof STATICS], table);
