// What a module has for those who walk through it: names, and what is registered under them.
import type { Tensor } from "../tensor/tensor.ts";

/** A module without its calls. */
export interface Registered {
  readonly _parameters: Map<string, Tensor | null>;
  readonly _buffers: Map<string, Tensor | null>;
  readonly _modules: ReadonlyMap<string, Registered | null>;
  /** Names of buffers that are not part of the state. */
  readonly _nonPersistentBuffersSet: ReadonlySet<string>;
  modules(): readonly Registered[];
  extraRepr(): string;
  _getName(): string;
  /** Whether a state without this entry is complete all the same. */
  _mayLack?(name: string): boolean;
}
