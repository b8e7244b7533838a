// Tensorclasses of programs that are not there: the command line only needs their names and fields.

import { TensorClassBase } from "../tensordict/classes/tensorclass.ts";
import { acceptUnknownClasses } from "../tensordict/core/class-registry.ts";
import type { NewState, Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";

class AnyClass extends TensorClassBase {
  constructor(
    private readonly simpleName: string,
    entries: Map<string, Entry>,
    state: NewState,
    qualified: string,
  ) {
    super(state);
    this._map = entries;
    this._qualifiedName = qualified;
  }
  override get _className(): string {
    return this.simpleName;
  }
  override _put(key: string, entry: Entry): void {
    this._map.set(key, entry);
  }
  override _like(entries: Map<string, Entry>, state: NewState): Td {
    return new AnyClass(this.simpleName, entries, state, this._qualifiedName) as Td;
  }
}

/** Tensorclasses in files that are opened until the end of the block are taken, whatever their fields. */
export function openAnyClass(): Disposable {
  acceptUnknownClasses((name) => ({
    _wrap: (entries, state, qualified) => new AnyClass(name, entries, state, qualified) as Td,
  }));
  return { [Symbol.dispose]: () => acceptUnknownClasses(null) };
}
