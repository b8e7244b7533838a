// What torch.return_types has for extremes, of collections.
import type { Td } from "./state.ts";

/**
 * Extremes along a dimension and the places where they are: by name, or one after the other.
 * @example
 * ```ts
 * const [values, indices] = new TensorDict({ a: tensor([3, 1, 2]) }, [3]).min(0);
 * [values.get("a"), indices.get("a")] // [tensor(1.), tensor(1)]
 * ```
 * @torch torch.return_types.min
 */
export class Extremes {
  /** The extreme elements. */
  readonly values: Td;
  /** int64: where they are along the dimension. */
  readonly indices: Td;
  readonly #op: string;

  /** @internal */
  constructor(op: string, values: Td, indices: Td) {
    this.values = values;
    this.indices = indices;
    this.#op = op;
  }
  /** First the values, then the indices. */
  *[Symbol.iterator](): Generator<Td> {
    yield this.values;
    yield this.indices;
  }
  /** Both collections with their names. */
  toString(): string {
    return `torch.return_types.${this.#op}(\nvalues=${this.values},\nindices=${this.indices})`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
