// Random calls of every operator and every method of Tensor, with what pool.ts and arguments.ts give them. Arguments:
// seed, first case, last case, seconds, and a file in which the number of the case at work stands. Prints failures,
// and at the end what was done.
import { closeSync, openSync, writeSync } from "node:fs";
import schema from "../../generated/ops.json";
import * as z from "../../src/index.ts";
import { Tensor, TypedStorage, UntypedStorage } from "../../src/index.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import { Choices } from "../fuzz/choices.ts";
import { membersOf } from "../members.ts";
import { argument, options } from "./arguments.ts";
import { anyTensor } from "./pool.ts";

type Call = (pool: readonly Tensor[], choices: Choices) => unknown;
type Row = readonly [name: string, role: string, ...string[]];
interface Op {
  name: string;
  args: Row[];
  variants: string[];
  internal?: boolean;
}

const [seed = 1, from = 0, to = 0, seconds = 0] = process.argv.slice(2, 6).map(Number);
const journal = openSync(process.argv[6] as string, "w");

function operatorCalls(): Map<string, Call> {
  const calls = new Map<string, Call>();
  const places = [z, z.nn.functional] as unknown as Record<string, unknown>[];
  for (const { name, args, variants, internal } of schema as unknown as Op[]) {
    if (internal) continue;
    const forms = variants.includes("inplace") ? [name, `${name}_`] : [name];
    for (const form of forms) {
      const call: Call = (pool, choices) => {
        const split = choices.below(args.length + 1);
        const given = args.slice(0, Math.max(1, split)).map(([, role]) => argument(role, pool, choices));
        const rest: [string, string][] = args.slice(Math.max(1, split)).map(([key, role]) => [key, role]);
        if (choices.below(2) === 0) rest.push(["out", "Tensor"]);
        const tail = choices.below(3) === 0 && rest.length > 0 ? [options(rest, pool, choices)] : [];
        const fn = places.map((place) => place[form]).find((f) => typeof f === "function") as
          | ((...a: unknown[]) => unknown)
          | undefined;
        const [self, ...others] = given;
        const method = self instanceof Tensor ? (self as unknown as Record<string, unknown>)[form] : undefined;
        if (typeof method === "function" && (fn === undefined || choices.below(2) === 0)) {
          return method.apply(self, [...others, ...tail]);
        }
        return fn?.(...given, ...tail);
      };
      calls.set(`${form}${calls.has(form) ? `:${calls.size}` : ""}`, call);
    }
  }
  return calls;
}

const ROLES = ["Tensor", "Int", "Sizes", "Scalar", "Bool", "DType", "Device", "TensorList", "Any"];
/** These give no value that could be looked at, or are checked elsewhere. */
/** Of storages: not for users. */
const INTERNAL = new Set(["constructor", "byte", "whole", "line", "texts", "checked"]);
const LEFT_OUT = new Set(["constructor", "registerHook", "backward"]);

/** What is written by hand: indexing, conversions, properties of memory. */
function methodCalls(): Map<string, Call> {
  const calls = new Map<string, Call>();
  for (const [name, { value }] of membersOf(Tensor.prototype)) {
    if (typeof value !== "function" || LEFT_OUT.has(name) || name.startsWith("_")) continue;
    calls.set(`Tensor.${name}`, (pool, choices) => {
      const args = Array.from({ length: choices.below(4) }, () => argument(choices.pick(ROLES), pool, choices));
      return value.apply(choices.pick(pool), args);
    });
  }
  return calls;
}

/** Storages as users see them, and what makes tensors of data. */
function otherCalls(): Map<string, Call> {
  const calls = new Map<string, Call>();
  const sources: [string, object, (x: Tensor) => unknown][] = [
    ["UntypedStorage", UntypedStorage.prototype, (x) => x.untypedStorage()],
    ["TypedStorage", TypedStorage.prototype, (x) => x.storage()],
  ];
  for (const [kind, prototype, of] of sources) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      const { value } = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
      if (typeof value !== "function" || INTERNAL.has(name)) continue;
      calls.set(`${kind}.${name}`, (pool, choices) => {
        const args = Array.from({ length: choices.below(3) }, () => argument(choices.pick(ROLES), pool, choices));
        return value.apply(of(choices.pick(pool)), args);
      });
    }
  }
  const { tensor, asTensor, fromTypedArray, stack, cat } = z;
  for (const [name, make] of Object.entries({ tensor, asTensor, fromTypedArray, stack, cat })) {
    const fn = make as (...args: unknown[]) => unknown;
    calls.set(name, (pool, choices) => {
      const role = choices.pick(["TensorList", "Sizes", "Any", "Tensor|Index", "Scalar"]);
      const rest = Array.from({ length: choices.below(3) }, () => argument(choices.pick(ROLES), pool, choices));
      return fn(argument(role, pool, choices), ...rest);
    });
  }
  return calls;
}

const calls = [...operatorCalls(), ...methodCalls(), ...otherCalls()];
/** Nobody is given these: other values in them are somebody's stray writes. */
const canaries = [8, 64, 1000, 20_000].flatMap((n) => [0, 1, 2].map(() => z.full([n], 7)));

function look(result: unknown, depth = 0): void {
  if (result instanceof Tensor && !result.isMeta && result.numel() < 1e6) result.clone();
  else if (Array.isArray(result) && depth < 2) for (const x of result.slice(0, 4)) look(x, depth + 1);
}

const counts = { cases: 0, values: 0, refused: 0 };
const native = new Set<string>();
const failures: string[] = [];
function fail(number: number, name: string, text: string): void {
  console.log(`failure case ${number} of seed ${seed}, ${name}: ${text}`);
  failures.push(name);
}

process.on("warning", () => {});
const end = performance.now() + seconds * 1000;
for (let number = from; number < to && (seconds === 0 || performance.now() < end); number++) {
  writeSync(journal, String(number).padEnd(12), 0);
  const choices = new Choices((seed * 1_000_003 + number) % 2 ** 31);
  const [name, call] = choices.pick(calls) as [string, Call];
  counts.cases++;
  if (process.env.ZENSOR_ATTACK_SHOWS === "1") console.error(`case ${number}: ${name}`);
  try {
    const pool = Array.from({ length: 5 }, () => anyTensor(choices));
    look(call(pool, choices));
    counts.values++;
  } catch (error) {
    counts.refused++;
    if (!(error instanceof ZensorError)) {
      const key = `${name} ${(error as Error)?.message}`;
      if (!native.has(key)) fail(number, name, `no error of ours: ${(error as Error)?.stack ?? error}`);
      native.add(key);
    }
  }
  if (!z.isGradEnabled()) fail(number, name, "gradients are off");
  if (number % 64 === 0 && !canaries.every((t) => t.eq(7).all().item())) {
    fail(number, name, "bytes of a tensor that no call was given have changed");
    break;
  }
}
closeSync(journal);
console.log(`done ${JSON.stringify(counts)}`);
process.exit(failures.length === 0 ? 0 : 1);
