// Puts the checks of arguments before the methods of this room's classes.
import { installChecks } from "../tensor/checks.ts";
import { METHODS, STATICS } from "./base/signatures.ts";
import { UnknownArray } from "./base/unknown-array.ts";
import { GgufFile } from "./gguf/gguf.ts";
import { Hdf5File } from "./hdf5/hdf5.ts";
import { PythonName, PythonObject } from "./pickle/python-object.ts";
import { RemoteSafetensors } from "./safetensors/remote-safetensors.ts";
import { SafetensorsFile } from "./safetensors/safetensors.ts";
import { SafetensorsListing } from "./safetensors/safetensors-header.ts";
import { PendingSnapshot, Snapshot, StateDict } from "./snapshot/snapshot.ts";

const classes = {
  GgufFile,
  Hdf5File,
  PendingSnapshot,
  PythonName,
  PythonObject,
  RemoteSafetensors,
  SafetensorsFile,
  SafetensorsListing,
  Snapshot,
  StateDict,
  UnknownArray,
};
for (const [name, table] of Object.entries(METHODS))
  installChecks(classes[name as keyof typeof classes].prototype, table);
for (const [name, table] of Object.entries(STATICS)) installChecks(classes[name as keyof typeof STATICS], table);
