/** Several results with names, as torch.return_types has them. */
import type { Tensor } from "../tensor/tensor.ts";

/** An array of results whose members also have names. */
export type Named<N extends readonly string[]> = { [K in keyof N]: Tensor } & { [K in N[number]]: Tensor };

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Attaches names to a list of results; printed as `torch.return_types.max(...)`. */
export function named<const N extends readonly string[]>(op: string, names: N, values: Tensor[]): Named<N> {
  const result = values as Tensor[] & Record<string, unknown>;
  names.forEach((n, i) => {
    Object.defineProperty(result, n, { value: values[i], enumerable: false });
  });
  const text = (): string =>
    `torch.return_types.${op}(\n${names.map((n, i) => `${n}=${String(values[i])}`).join(",\n")})`;
  Object.defineProperty(result, "toString", { value: text, enumerable: false });
  Object.defineProperty(result, INSPECT, { value: text, enumerable: false });
  return result as unknown as Named<N>;
}
