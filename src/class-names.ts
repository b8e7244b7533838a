/**
 * Classes carry the names that users know them by, which printed modules, collections and errors show. A minifier
 * shortens the names of classes, but not those that they are exported by.
 */
import * as generator from "./api/generator.ts";
import * as indexing from "./api/indexing.ts";
import * as memoryFormat from "./dispatch/memory-format.ts";
import * as io from "./io/index.ts";
import * as nn from "./nn/index.ts";
import * as complex from "./tensor/complex.ts";
import * as device from "./tensor/device.ts";
import * as dtype from "./tensor/dtype.ts";
import * as errors from "./tensor/errors.ts";
import * as size from "./tensor/size.ts";
import * as storage from "./tensor/storage.ts";
import * as tensor from "./tensor/tensor.ts";
import * as tensordict from "./tensordict/index.ts";

/** Second names. */
const ALIASES = new Set(["MemmapTensor"]);

const ROOMS = [
  tensor,
  tensordict,
  nn,
  io,
  errors,
  size,
  dtype,
  device,
  complex,
  storage,
  generator,
  indexing,
  memoryFormat,
];

export function nameClasses(): void {
  for (const room of ROOMS) {
    for (const [name, value] of Object.entries(room)) {
      if (typeof value !== "function" || !/^[A-Z]/.test(name) || ALIASES.has(name) || value.name === name) continue;
      Object.defineProperty(value, "name", { value: name });
    }
  }
}
