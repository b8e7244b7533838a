/** Several results with names, as torch.return_types has them. */
import type { Tensor } from "../tensor/tensor.ts";

/** An array of results whose members also have names. */
export type Named<N extends readonly string[]> = { [K in keyof N]: Tensor } & { [K in N[number]]: Tensor };

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** An operator's results: names are read on the class, since naming the members of each array takes longer. */
type Results = new (...values: Tensor[]) => Tensor[];
const classes = new Map<string, Results>();

function resultsOf(op: string, names: readonly string[]): Results {
  class OfOperator extends Array<Tensor> {
    /** The names, for who makes the same results of others. */
    static readonly names = names;
    /** What `map` and `slice` give are plain arrays. */
    static override get [Symbol.species](): ArrayConstructor {
      return Array;
    }
    override toString(): string {
      return `torch.return_types.${op}(\n${names.map((n, i) => `${n}=${String(this[i])}`).join(",\n")})`;
    }
    [INSPECT](): string {
      return this.toString();
    }
  }
  names.forEach((n, i) => {
    Object.defineProperty(OfOperator.prototype, n, {
      get(this: Tensor[]) {
        return this[i];
      },
    });
  });
  classes.set(op, OfOperator);
  return OfOperator;
}

/** Attaches names to a list of results; printed as `torch.return_types.max(...)`. */
export function named<const N extends readonly string[]>(op: string, names: N, values: Tensor[]): Named<N> {
  const C = classes.get(op) ?? resultsOf(op, names);
  return new C(...values) as unknown as Named<N>;
}
