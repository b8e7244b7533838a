// Golden cases on a CUDA device, a real one or the stand-in: storages of their tensors, and which cases apply.
import { waitFor } from "../../src/cuda/driver.ts";
import { empty } from "../../src/dispatch/allocate.ts";
import { copyInto, onCpu } from "../../src/dispatch/copy.ts";
import { toDevice } from "../../src/tensor/device.ts";
import { uint8 } from "../../src/tensor/dtype.ts";
import { Storage } from "../../src/tensor/storage.ts";
import { makeStrided } from "../../src/tensor/tensor.ts";
import { type CaseSet, loadCaseSet } from "./case-set.ts";
import { type Case, familyOf } from "./case-types.ts";
import { placed } from "./run-meta.ts";
import { Runner } from "./runner.ts";

/** What is printed names the device. */
const FAMILIES = new Set(["opinfo", "error", "promo", "index", "prog"]);

/** What these draw is drawn from a generator of the device's. */
const DRAWS =
  /^(bernoulli|cauchy|exponential|geometric|log_normal|multinomial|normal|rand|randint|randn|randperm|uniform)(_like)?$/;

export function appliesOnDevice(c: Case): boolean {
  const family = familyOf(c);
  return (
    FAMILIES.has(family) && !(family === "opinfo" && (DRAWS.test(c.op) || /dropout|multi_head_attention/.test(c.op)))
  );
}

/** Where CUDA does not do what the CPU does, as in torch: by what a case says then. */
const OTHERWISE: readonly (readonly [said: RegExp, why: string])[] = [
  [/no error, expected .*ZeroDivisionError/, "integers are divided by zero without an error"],
  [/expected tensor_indices_or_sections to be on cpu/, "where the sections lie is looked at first"],
];

/** What a set of cases came to on a device. */
export interface Tally {
  passed: number;
  skipped: number;
  /** Cases that stopped at a kernel that the device does not have, by the kernel's name. */
  lacking: Record<string, number>;
  /** Cases that CUDA answers otherwise, as in torch. */
  otherwise: string[];
  /** The others, with the first reason of each. */
  wrong: string[];
  /** Cases that there was no time for. */
  left: number;
}

/** A set of cases, run one by one on the device. */
export class OnDevice {
  private constructor(
    readonly set: CaseSet,
    readonly runner: Runner,
  ) {}

  static async load(folder: string): Promise<OnDevice> {
    const runner = await Runner.load();
    Object.assign(runner.adapter, { deviceStorage, deviceBytes, deviceWait });
    return new OnDevice(loadCaseSet(folder), runner);
  }

  /** Until a time by `performance.now()`, if one is given. */
  all(until = Number.POSITIVE_INFINITY): Tally {
    const tally: Tally = { passed: 0, skipped: 0, lacking: {}, otherwise: [], wrong: [], left: 0 };
    for (const c of this.set.cases.filter(appliesOnDevice)) {
      if (performance.now() > until) {
        tally.left++;
        continue;
      }
      const { status, reasons } = this.runner.run(this.set, placed(c), { softStrides: false, device: "cuda" });
      if (status !== "failed") tally[status]++;
      if (status !== "failed") continue;
      if (OTHERWISE.some(([said]) => said.test(reasons[0] ?? ""))) {
        tally.otherwise.push(c.id);
        continue;
      }
      const missing = /"([a-z_]+\.\w+)" has no CUDA kernel/.exec(reasons.join("\n"))?.[1];
      if (missing === undefined) tally.wrong.push(`${c.id}: ${reasons[0]}`);
      else tally.lacking[missing] = (tally.lacking[missing] ?? 0) + 1;
    }
    return tally;
  }
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
