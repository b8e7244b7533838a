/**
 * The one place through which every call of an operator passes when somebody asked for it: collections of memory, the
 * check that operands are on one device, and whoever takes calls (a profiler, shapes without bytes).
 */
import { attention, DEVICES, MEMORY, TAKERS } from "../ffi/attention.ts";
import { relieve } from "../ffi/memory.ts";
import type { Device } from "../tensor/device.ts";
import { lateTable } from "../tensor/late-table.ts";
import { requireSync, requireSyncResult } from "../tensor/modes.ts";
import { Tensor } from "../tensor/tensor.ts";
import {
  requireByChecker,
  requireInOwnWords,
  requireSameDevice,
  singlesOf,
  withSinglesMoved,
  withValuesMoved,
} from "./same-device.ts";

export { attention, TAKERS } from "../ffi/attention.ts";

export type OperatorKind = "pointwise" | "view" | "op" | "composite" | "factory";

/** One form of an operator overload, as the generator describes it. */
export interface Operator {
  /** torch's name: `add`, `add_`. */
  readonly name: string;
  /** `nn.functional` and such; empty for the main namespace. */
  readonly namespace: string;
  /** The name in JavaScript, which errors carry. */
  readonly publicName: string;
  /** torch's overload name, empty for the first. */
  readonly overload: string;
  readonly kind: OperatorKind;
  /** Calls it with all arguments in their places. */
  // biome-ignore lint/suspicious/noExplicitAny: each operator has its own arguments
  readonly run: (...args: any[]) => unknown;
  /** Names of the arguments; the last one is `out` where there is that form. */
  readonly args: readonly string[];
  /** Places of operands that must be on one device, of what is written, of indices; null where nobody looks. */
  readonly devices: readonly [read: readonly number[], written: readonly number[], indices: readonly number[]] | null;
  /** Torch's functions that compare those devices, of the form without and with `out`; else its iterator does. */
  readonly checkers?: readonly [string, string?];
  /** The place of the argument that says on which device a fresh result is made. */
  readonly madeOn: number | null;
}

/** An operator in a line of the generated table. */
type OperatorRow = readonly [
  name: string,
  publicName: string,
  overload: string,
  kind: OperatorKind,
  args: readonly string[],
  devices?: Operator["devices"],
  madeOn?: number | null,
  checkers?: readonly [string, string?] | null,
  namespace?: string,
];

function operatorOf(row: OperatorRow, run: Operator["run"]): Operator {
  const [name, publicName, overload, kind, args, devices = null, madeOn = null, checkers, namespace = ""] = row;
  return { name, namespace, publicName, overload, kind, run, args, devices, checkers: checkers ?? undefined, madeOn };
}

/** The operators of a generated file. */
export function operatorTable(lines: () => string): (name: string, run: Operator["run"]) => Operator {
  return lateTable(lines, operatorOf);
}

/** Who takes calls. */
export interface Taker {
  /** True for one that only looks: it also sees the operators that an operator calls. */
  readonly observes: boolean;
  /** Whether it sees what an operator written with others calls, and not that operator itself. */
  decomposes?(operator: Operator): boolean;
  /**
   * Answers a call; `next` leaves it to the others, and in the end to the operator. `PROCEED`, of an operator written
   * with others, lets that call them.
   */
  take(operator: Operator, args: readonly unknown[], next: (args?: readonly unknown[]) => unknown): unknown;
}

/** What `attend` gives when the operator is to do its work itself. */
export const PROCEED: unique symbol = Symbol("proceed");

const takers: Taker[] = [];
/** How many of the takers, from the first, are asked. */
let level = 0;
/** Set for the call that a taker passes on: how many of them it still has to pass. */
let passing = -1;

function setLevel(n: number): void {
  level = n;
  attention.bits = n > 0 ? attention.bits | TAKERS : attention.bits & ~TAKERS;
}

/** Runs what makes tensors on other devices that are gone when it ends: no operator compares devices for their sake. */
export function amongDevices(body: () => void): void {
  const before = attention.bits & DEVICES;
  try {
    body();
  } finally {
    attention.bits = (attention.bits & ~DEVICES) | before;
  }
}

/** Whether somebody looks on at the operators that are called. */
export function observed(): boolean {
  if ((attention.bits & TAKERS) === 0) return false;
  for (let i = 0; i < level; i++) if ((takers[i] as Taker).observes) return true;
  return false;
}

/** Called by every operator before anything else while `attention.bits` is not 0. */
export function attend(operator: Operator, args: readonly unknown[]): unknown {
  if (attention.bits & TAKERS) {
    const at = passing >= 0 ? passing : level;
    passing = -1;
    if (at > 0 && !(operator.kind === "composite" && takers[at - 1]?.decomposes?.(operator))) {
      const answer = ask(at, operator, args);
      if (answer !== PROCEED) return answer;
    }
  }
  if (attention.bits & DEVICES && operator.devices !== null) {
    const moved = checkDevices(operator, args, operator.devices);
    if (moved !== null) return operator.run(...moved);
  }
  // Views make no bytes.
  if (attention.bits & MEMORY && operator.kind !== "view") relieve();
  return PROCEED;
}

/** Whether all operands are on one device, as they nearly always are; false also where a list has to be looked at. */
function onOneDevice(args: readonly unknown[], places: NonNullable<Operator["devices"]>): boolean {
  let device: Device | null = null;
  for (const list of places) {
    for (let i = 0; i < list.length; i++) {
      const x = args[list[i] as number];
      if (x instanceof Tensor) {
        device ??= x._storage.device;
        if (x._storage.device !== device) return false;
      } else if (Array.isArray(x)) return false;
    }
  }
  return true;
}

/** Refuses operands on several devices. Gives other arguments where single elements have to be moved first. */
function checkDevices(
  operator: Operator,
  args: readonly unknown[],
  places: NonNullable<Operator["devices"]>,
): unknown[] | null {
  if (onOneDevice(args, places)) return null;
  const { publicName, name, kind } = operator;
  const [read, written, indices] = places;
  const singles = singlesOf(name, kind);
  const near = withValuesMoved(name, args);
  const those = (places: readonly number[]): unknown[] => places.map((i) => near[i]);
  requireInOwnWords(name, near);
  if (operator.checkers !== undefined) requireByChecker(operator, operator.checkers, near);
  requireSameDevice(publicName, those(read), those(written), those(indices), singles, kind === "pointwise");
  const moved = kind === "composite" ? null : withSinglesMoved(near, read, singles);
  return moved ?? (near === args ? null : [...near]);
}

function ask(at: number, operator: Operator, args: readonly unknown[]): unknown {
  const taker = takers[at - 1] as Taker;
  if (taker.observes) {
    return taker.take(operator, args, (changed = args) => {
      passing = at - 1;
      try {
        return operator.run(...changed);
      } finally {
        passing = -1;
      }
    });
  }
  const before = level;
  setLevel(at - 1);
  try {
    return taker.take(operator, args, (changed = args) => operator.run(...changed));
  } finally {
    setLevel(before);
  }
}

/** Lets `taker` take the calls of all operators that `body` calls. */
export function taking<R>(taker: Taker, name: string, body: () => R): R {
  requireSync(body, name);
  const before = level;
  // A transform that is at work, and those above it, are not asked meanwhile.
  const above = takers.length > before ? takers.splice(before) : null;
  takers.push(taker);
  setLevel(before + 1);
  let result: R;
  try {
    result = body();
  } finally {
    takers.length = before;
    if (above !== null) takers.push(...above);
    setLevel(before);
  }
  return requireSyncResult(result, name);
}
