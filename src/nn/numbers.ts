/** Numbers that modules are made with, and how their printed form shows them. */
import { pythonFloat } from "../api/number-text.ts";
import { Float, type Scalar, scalarToNumber } from "../tensor/complex.ts";
import type { Module } from "./module.ts";

/** Options of activations that may write into their input. */
export interface InplaceOptions {
  /** Write into the input. Default false. */
  inplace?: boolean;
}

/** How the printed form of those ends. */
export const inplaceText = ({ inplace }: { inplace: boolean }): string => (inplace ? ", inplace=True" : "");

/** What was given as a float although it is a whole number, by module and field: the number, while it stays. */
const floats = new WeakMap<Module, Map<string, number>>();

/** A number of a module: one that is not given has the default, which is a Python float. */
export function numberOf(module: Module, field: string, given: Scalar | undefined, otherwise?: number): number {
  const value = given === undefined ? (otherwise as number) : scalarToNumber(given);
  if (given === undefined || given instanceof Float) {
    const own = floats.get(module) ?? new Map<string, number>();
    floats.set(module, own.set(field, value));
  }
  return value;
}

/** A field's number as Python shows it: whole ones are ints unless they were given as floats. */
export function numberText(module: Module, field: string): string {
  const value = Number(Reflect.get(module, field));
  if (floats.get(module)?.get(field) === value || !Number.isSafeInteger(value)) return pythonFloat(value);
  return String(value);
}
