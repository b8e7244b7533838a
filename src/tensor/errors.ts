/** The classes that zensor throws: torch's classes by name, each carrying the brand, a code and the op. */

import { linesOf } from "./stacks.ts";

const BRAND = Symbol.for("zensor.error");

/** What every error of zensor carries beside its message. */
export interface ZensorErrorFields {
  /** Stable machine-readable reason, for example `"shape_mismatch"`. */
  code: string;
  /** The operator that refused, when one did. */
  op: string | undefined;
}

interface Details {
  code?: string | undefined;
  op?: string | undefined;
  cause?: unknown;
}

/** The stack of the error that is being made, without its first line: each class of it has a name of its own. */
let lines: string | null = "";

function brand(error: Error, name: string, fallback: string, details: Details | undefined): void {
  const fields = error as Error & ZensorErrorFields & { [BRAND]?: true };
  fields.name = name;
  if (lines !== null) fields.stack = `${name}: ${error.message}${lines}`;
  fields.code = details?.code ?? fallback;
  fields.op = details?.op;
  if (details?.cause !== undefined) fields.cause = details.cause;
  Object.defineProperty(fields, BRAND, { value: true });
}

/**
 * The brand: true for every error that zensor throws, also those extending TypeError and RangeError.
 * @example
 * ```ts
 * try {
 *   zeros(2).add(zeros(3));
 * } catch (error) {
 *   if (error instanceof errors.ZensorError) [error.code, error.op]
 * } // [shape_mismatch, add]
 * ```
 */
export class ZensorError extends Error {
  /** What kind of error it is, in a word that does not change. */
  declare code: string;
  /** The operator that refused. */
  declare op: string | undefined;
  constructor(message: string, details?: Details) {
    super(message);
    lines = linesOf(this);
    brand(this, "ZensorError", "error", details);
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ZensorError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === "object" && value !== null && (value as { [BRAND]?: true })[BRAND] === true;
  }
}

/**
 * What operators refuse: shapes, dtypes and devices that do not fit.
 * @example
 * ```ts
 * try {
 *   zeros(2).add(zeros(3));
 * } catch (error) {
 *   error instanceof errors.RuntimeError && error.message
 * } // The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
 * ```
 * @torch RuntimeError
 */
export class RuntimeError extends ZensorError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "RuntimeError", "runtime", details);
  }
}

/**
 * An operator has no kernel for this dtype.
 * @example
 * ```ts
 * try {
 *   new nn.Module()(1);
 * } catch (error) {
 *   error instanceof errors.NotImplementedError
 * } // true
 * ```
 * @torch NotImplementedError
 */
export class NotImplementedError extends RuntimeError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "NotImplementedError", "not_implemented", details);
  }
}

/**
 * Memory could not be had.
 * @example
 * ```ts
 * new errors.OutOfMemoryError("no room") instanceof errors.RuntimeError // true
 * ```
 * @torch torch.OutOfMemoryError
 */
export class OutOfMemoryError extends RuntimeError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "OutOfMemoryError", "out_of_memory", details);
  }
}

/**
 * A dimension or an index lies outside of its range.
 * @example
 * ```ts
 * try {
 *   zeros(2).at(5);
 * } catch (error) {
 *   String(error)
 * } // IndexError: index 5 is out of bounds for dimension 0 with size 2
 * ```
 * @torch IndexError
 */
export class IndexError extends ZensorError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "IndexError", "index", details);
  }
}

/**
 * An argument of the right kind with a value that is out of range.
 * @example
 * ```ts
 * try {
 *   nn.functional.dropout(ones(1), 2);
 * } catch (error) {
 *   String(error)
 * } // ValueError: dropout probability has to be between 0 and 1, but got 2
 * ```
 * @torch ValueError
 */
export class ValueError extends ZensorError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "ValueError", "value", details);
  }
}

/**
 * A key is not in a dictionary.
 * @example
 * ```ts
 * try {
 *   new TensorDict({}, []).at("a");
 * } catch (error) {
 *   error instanceof errors.KeyError
 * } // true
 * ```
 * @torch KeyError
 */
export class KeyError extends ZensorError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "KeyError", "key", details);
  }
}

/**
 * An attribute does not exist.
 * @example
 * ```ts
 * new errors.AttributeError("no such name") instanceof errors.ZensorError // true
 * ```
 * @torch AttributeError
 */
export class AttributeError extends ZensorError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "AttributeError", "attribute", details);
  }
}

/**
 * Two things that should be equal are not.
 * @example
 * ```ts
 * new errors.AssertionError("they differ") instanceof errors.ZensorError // true
 * ```
 * @torch AssertionError
 */
export class AssertionError extends ZensorError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "AssertionError", "assertion", details);
  }
}

/**
 * A tensor was used after it was disposed.
 * @example
 * ```ts
 * const x = zeros(1000);
 * x.dispose();
 * try {
 *   x.sum();
 * } catch (error) {
 *   error instanceof errors.DisposedError
 * } // true
 * ```
 */
export class DisposedError extends RuntimeError {
  constructor(message: string, details?: Details) {
    super(message);
    brand(this, "DisposedError", "disposed", details);
  }
}

/**
 * An argument has the wrong type. Extends the global TypeError.
 * @example
 * ```ts
 * try {
 *   zeros(JSON.parse('"a"'));
 * } catch (error) {
 *   if (error instanceof errors.TypeError) [error instanceof TypeError, error.code, error.op]
 * } // [true, type, zeros]
 * ```
 * @torch TypeError
 */
class TypeErrorOfZensor extends TypeError {
  /** What kind of error it is, in a word that does not change. */
  declare code: string;
  /** The operator that refused. */
  declare op: string | undefined;
  constructor(message: string, details?: Details) {
    super(message);
    lines = linesOf(this);
    brand(this, "TypeError", "type", details);
  }
}

/**
 * A number does not fit. Extends the global RangeError.
 * @example
 * ```ts
 * const error = new errors.RangeError("too large");
 * [error instanceof RangeError, error instanceof errors.ZensorError, error.code, error.op]
 * // [true, true, range, undefined]
 * ```
 */
class RangeErrorOfZensor extends RangeError {
  /** What kind of error it is, in a word that does not change. */
  declare code: string;
  /** The operator that refused. */
  declare op: string | undefined;
  constructor(message: string, details?: Details) {
    super(message);
    lines = linesOf(this);
    brand(this, "RangeError", "range", details);
  }
}

export { RangeErrorOfZensor as RangeError, TypeErrorOfZensor as TypeError };

const warned = new Set<string>();
let policy: "once" | "always" | "never" = "once";

/** What becomes of warnings from now on. */
export function setWarningPolicy(next: "once" | "always" | "never"): void {
  policy = next;
  warned.clear();
}

/** Reports a warning, once per text unless the policy says otherwise. */
export function warn(text: string, type = "UserWarning"): void {
  if (policy === "never") return;
  if (policy === "once") {
    if (warned.has(text)) return;
    warned.add(text);
  }
  process.emitWarning(text, type);
}
