// Tensors by name, as every format takes them.
import type { Tensor } from "../../tensor/tensor.ts";

/** Tensors by name, as an object or a Map. */
export type NamedTensors = Readonly<Record<string, Tensor>> | ReadonlyMap<string, Tensor>;

/** Names and what is under them. */
export function pairs<T>(named: Readonly<Record<string, T>> | ReadonlyMap<string, T>): [string, T][] {
  return named instanceof Map ? [...named] : Object.entries(named as Record<string, T>);
}
