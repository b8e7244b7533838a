/** generated/refusals.ts: the dtypes that torch's kernels refuse, for the functions that compute. */
import { SchemaError } from "../model/literal.ts";
import { camel, type Model, type Op, tensorArgs } from "../model/load.ts";

const KINDS = ["bool", "integral", "floating", "complex"];

/** What the runtime checks: dtypes as a set of bits by their number, operands by their place. */
export interface RefusalRow {
  readonly dtypes: number;
  readonly kernel: string | null;
  readonly text: string | null;
  readonly error: string;
  readonly all: readonly number[] | null;
}

export function refusalsOf(op: Op, model: Model): RefusalRow[] {
  const tensors = tensorArgs(op).map((a) => a.name);
  return (op.refuses ?? []).map((r) => {
    const known = [...KINDS, ...model.dtypes.map((d) => d.name)];
    for (const name of r.dtypes) if (!known.includes(name)) throw new SchemaError(op.where, `no dtype is "${name}"`);
    const ids = model.dtypes.filter((d) => r.dtypes.includes(d.name) || r.dtypes.includes(KINDS[d.category] as string));
    return {
      dtypes: ids.reduce((bits, d) => bits + 2 ** d.id, 0),
      kernel: r.kernel ?? null,
      text: r.text ?? null,
      error: r.error ?? "NotImplementedError",
      all: r.all?.map((name) => tensors.indexOf(camel(name))) ?? null,
    };
  });
}

/** Refusals of operators that compute by functions of their own, by torch's kernel. */
export function emitRefusals(model: Model): string {
  const rows = new Map<string, RefusalRow>();
  for (const op of model.ops) {
    if (op.impl === undefined) continue;
    for (const row of refusalsOf(op, model)) {
      const kernel = row.kernel as string;
      if (rows.has(kernel)) throw new SchemaError(op.where, `kernel "${kernel}" has its refusals already`);
      rows.set(kernel, row);
    }
  }
  const out = ["/** Dtypes that torch's kernels refuse, as bits by their numbers. */", "export const REFUSALS = {"];
  for (const [kernel, row] of [...rows].sort(([a], [b]) => (a < b ? -1 : 1))) {
    out.push(`  ${kernel}: ${JSON.stringify(row)},`);
  }
  out.push("} as const;", "");
  return out.join("\n");
}
