// What torch's vmap gives for each operator, and its errors (scripts/oracle/make_vmap_cases.py).
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tensor } from "../../src/index.ts";
import * as Z from "../../src/index.ts";
import { difference, tensorsIn } from "./slices.ts";

interface Coded {
  dtype: string;
  shape: number[];
  data: (number | boolean | string)[];
}

interface Row {
  op: string;
  args: unknown[];
  kwargs: Record<string, unknown>;
  tensors: Coded[];
  inDims: (number | null)[];
  out?: Coded[];
  error?: [type: string, text: string];
}

const rows = readFileSync(join(import.meta.dir, "../fixtures/vmap/cases.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

/** Errors that torch words by the sizes of all examples, or by its own arguments: ours speak of one example. */
const WORDS: Readonly<Record<string, string>> = {
  reshape: "ours is that of the reshape of one example",
  mm: "ours names the sizes of one example",
};

const SPECIAL: Readonly<Record<string, number>> = {
  inf: Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  nan: Number.NaN,
};

function decoded({ dtype, shape, data }: Coded): Tensor {
  const values = data.map((v) => (typeof v === "string" ? (SPECIAL[v] as number) : Number(v)));
  return Z.tensor(values, { dtype: "float64" })
    .to(dtype as never)
    .reshape(shape);
}

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

// biome-ignore lint/suspicious/noExplicitAny: operators are called by their names
type Any = any;

function callOf({ op, args, kwargs }: Row): (...tensors: Tensor[]) => unknown {
  const name = camel(op);
  return (...tensors) => {
    const filled = (v: unknown): Any => {
      if (Array.isArray(v)) return v.map(filled);
      return typeof v === "string" && v.startsWith("$") ? tensors[Number(v.slice(1))] : v;
    };
    const given = args.map(filled);
    const options = Object.fromEntries(Object.entries(kwargs).map(([key, v]) => [camel(key), v]));
    const all = Object.keys(options).length > 0 ? [...given, options] : given;
    if (op.endsWith("_")) {
      const self = given[0].clone();
      return self[name](...all.slice(1));
    }
    const fn = (Z as Any)[name];
    return typeof fn === "function" ? fn(...all) : given[0][name](...all.slice(1));
  };
}

function wrongWith(row: Row): string | null {
  const call = callOf(row);
  let got: Tensor[] | null;
  try {
    const run = (...tensors: Tensor[]) => {
      const found = call(...tensors);
      // Truth values leave the tensors.
      return (tensorsIn(found) ?? found) as Tensor[];
    };
    got = Z.func.vmap(run as Any, row.inDims as number[])(...row.tensors.map(decoded)) as unknown as Tensor[];
  } catch (e) {
    const { name, message } = e as Error;
    if (row.error === undefined) return `${name}: ${message.split("\n")[0]}`;
    if (WORDS[row.op] !== undefined) return null;
    const [type, text] = row.error;
    return name === type && message === text ? null : `${name}: ${message}, not ${type}: ${text}`;
  }
  if (row.out === undefined) return `no error, not ${row.error?.join(": ")}`;
  for (const [i, coded] of row.out.entries()) {
    const different = difference(got[i] as Tensor, decoded(coded));
    if (different !== null) return different;
  }
  return null;
}

const byOp = new Map<string, Row[]>();
for (const row of rows) byOp.set(row.op, [...(byOp.get(row.op) ?? []), row]);

for (const [op, list] of byOp) {
  test(`${op}, as torch's vmap`, () => {
    const wrong = list.flatMap((row) => {
      const why = wrongWith(row);
      const sizes = row.tensors.map((t) => `[${t.shape}]`).join(" ");
      return why === null ? [] : [`${sizes} ${JSON.stringify(row.args)} inDims ${JSON.stringify(row.inDims)}: ${why}`];
    });
    expect(wrong).toEqual([]);
  });
}
