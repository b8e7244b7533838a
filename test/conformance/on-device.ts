// Golden cases on a CUDA device, a real one or the stand-in: storages of their tensors, and which cases apply.
import { waitFor } from "../../src/cuda/driver.ts";
import { empty } from "../../src/dispatch/allocate.ts";
import { copyInto, onCpu } from "../../src/dispatch/copy.ts";
import { toDevice } from "../../src/tensor/device.ts";
import { uint8 } from "../../src/tensor/dtype.ts";
import { Storage } from "../../src/tensor/storage.ts";
import { makeStrided } from "../../src/tensor/tensor.ts";
import { type Case, familyOf } from "./case-types.ts";

/** What is printed names the device. */
const FAMILIES = new Set(["opinfo", "error", "promo", "index", "prog"]);

/** What these draw is drawn from a generator of the device's. */
const DRAWS =
  /^(bernoulli|cauchy|exponential|geometric|log_normal|multinomial|normal|rand|randint|randn|randperm|uniform)(_like)?$/;

export function appliesOnDevice(c: Case): boolean {
  const family = familyOf(c);
  return FAMILIES.has(family) && !(family === "opinfo" && (DRAWS.test(c.op) || c.op.endsWith("dropout")));
}

/** Puts bytes on the device, as a storage there. */
export function deviceStorage(bytes: Uint8Array): Storage {
  const target = empty([bytes.length], uint8, toDevice("cuda"));
  if (bytes.length === 0) return target._storage;
  const source = makeStrided(Storage.borrowArray(bytes.slice()), 0, [bytes.length], [1], uint8);
  copyInto(target, source);
  return target._storage;
}

export function deviceWait(): void {
  waitFor(0);
}

/** Bytes of a storage on the device. */
export function deviceBytes(storage: unknown): Uint8Array {
  const s = storage as Storage;
  if (s.nbytes === 0) return new Uint8Array(0);
  const t = onCpu(makeStrided(s, 0, [s.nbytes], [1], uint8));
  return new Uint8Array(t._storage.buffer(), 0, s.nbytes).slice();
}
