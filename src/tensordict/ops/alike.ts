// What several TensorDicts in memory have under the same keys.
import { sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isInMemory, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";

/** `partsByKey` of collections that make a dense stack: TensorDicts in memory of one batch size. */
export function alikeParts(list: readonly Td[]): Map<string, Entry[]> | null {
  const first = list[0] as Td;
  const maps: Map<string, Entry>[] = [];
  for (let i = 0; i < list.length; i++) {
    const td = list[i] as Td;
    if (!isInMemory(td) || !sameSizes(td._batchSize, first._batchSize)) return null;
    maps.push(td._map);
  }
  return partsByKey(maps, true);
}

/**
 * By key what each of some TensorDicts has, where all have the same keys, tensors or TensorDicts under each, and if
 * `alike` of one shape; null for all others.
 */
export function partsByKey(maps: readonly Map<string, Entry>[], alike: boolean): Map<string, Entry[]> | null {
  const own = maps[0] as Map<string, Entry>;
  for (let i = 1; i < maps.length; i++) if ((maps[i] as Map<string, Entry>).size !== own.size) return null;
  const parts = new Map<string, Entry[]>();
  for (const key of own.keys()) {
    const entry = own.get(key) as Entry;
    const part = entry instanceof Tensor ? tensorsUnder(key, maps, alike) : tdsUnder(key, maps, alike);
    if (part === null) return null;
    parts.set(key, part);
  }
  return parts;
}

function tensorsUnder(key: string, maps: readonly Map<string, Entry>[], alike: boolean): Entry[] | null {
  const part: Tensor[] = [];
  for (let i = 0; i < maps.length; i++) {
    const own = (maps[i] as Map<string, Entry>).get(key);
    if (!(own instanceof Tensor) || own._unbatched) return null;
    if (alike && i > 0 && !sameSizes(own._shape, (part[0] as Tensor)._shape)) return null;
    part.push(own);
  }
  return part;
}

function tdsUnder(key: string, maps: readonly Map<string, Entry>[], alike: boolean): Entry[] | null {
  const part: Td[] = [];
  for (let i = 0; i < maps.length; i++) {
    const own = (maps[i] as Map<string, Entry>).get(key);
    if (own === undefined || own instanceof Tensor || own._kind !== "tensordict") return null;
    if (alike && i > 0 && !sameSizes(own._batchSize, (part[0] as Td)._batchSize)) return null;
    part.push(own as Td);
  }
  return part;
}
