// The parameters of several modules as one TensorDict, for ensembles.
import { Buffer, Parameter } from "../../nn/parameter.ts";
import { inOrder } from "../../tensor/checks.ts";
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { lockTd } from "../core/locking.ts";
import { mapEntries } from "../core/mapping.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { Collection, make, type Td } from "../core/state.ts";
import { stackTensors } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { fromModule, type ModuleLike } from "../ops/module.ts";
import { lazyStackTds, stackTds } from "../ops/stacking.ts";
import { TensorDictParams } from "./params.ts";

/** How the parameters of modules are put together. */
export interface FromModulesOptions {
  /** A TensorDictParams; false by default. */
  asModule?: boolean;
  /** Locks the result; true by default. */
  lock?: boolean;
  /** A lazy stack of the parameters themselves; false by default. */
  lazyStack?: boolean;
  /** A parameter that all modules share is not repeated; false by default. */
  expandIdentical?: boolean;
}

/** Stacked tensors are parameters or buffers, as those that they are made of. */
function asFirst(t: Tensor, first: Entry | undefined): Tensor {
  if (!(first instanceof Tensor)) return t;
  return first instanceof Parameter ? new Parameter(t.detach(), first.requiresGrad) : new Buffer(t.detach());
}

function typed(stacked: Td, first: Td): Td {
  return mapEntries(stacked, (entry, key) => {
    const own = first._own(key);
    return entry instanceof Collection ? typed(entry as Td, own as Td) : asFirst(entry as Tensor, own);
  });
}

/** Stacks a tree, and expands tensors that are one object everywhere. */
function expanded(list: readonly Td[]): Td {
  const first = list[0] as Td;
  const keys = new Set(first._keys());
  for (const other of list) {
    const differing = keys.symmetricDifference(new Set(other._keys()));
    if (differing.size > 0) {
      const named = [...differing].map((key) => `'${key}'`).join(", ");
      throw new ValueError(`All key sets must match. Got {${named}} in one but not another.`);
    }
  }
  const entries = new Map<string, Entry>();
  for (const key of keys) {
    const all = list.map((td) => td._own(key) as Entry);
    const [own] = all as [Entry];
    if (own instanceof Collection) entries.set(key, expanded(all as Td[]));
    else if (new Set(all).size === 1) entries.set(key, own.expand([list.length, ...own._shape]));
    else entries.set(key, asFirst(stackTensors(all as Tensor[], 0), own));
  }
  const batchSize = Size.fromList([list.length, ...first._batchSize]);
  return make.tensordict(entries, { batchSize, device: null, names: null }) as Td;
}

/**
 * The parameters and buffers of several modules of one structure, each stacked in a new first dimension: with
 * `func.vmap` and `toModule` all modules run at once.
 * @example
 * ```ts
 * const layers = [0, 1, 2].map(() => new nn.Linear(3, 2));
 * const params = tensordict.fromModules(...layers);
 * const run = func.vmap((x: Tensor, p: typeof params) => {
 *   using _ = p.toModule(layers[0]);
 *   return layers[0](x);
 * }, [null, 0]);
 * run(ones(5, 3), params).shape // torch.Size([3, 5, 2])
 * ```
 * @throws RuntimeError without a module, when keys or shapes differ, and for a lazy stack as a module
 * @torch tensordict.from_modules
 */
export function fromModules(...modules: [...ModuleLike[], FromModulesOptions & { asModule: true }]): TensorDictParams;
export function fromModules(...modules: (ModuleLike | FromModulesOptions)[]): Td;
export function fromModules(...modules: (ModuleLike | FromModulesOptions)[]): Td {
  const given = inOrder<(ModuleLike | FromModulesOptions | undefined)[]>("fromModules", FUNCTIONS.fromModules, modules);
  const isModule = (x: unknown): x is ModuleLike => typeof x === "function" || "_parameters" in (x as object);
  const options = (given.find((x) => x !== undefined && !isModule(x)) ?? {}) as FromModulesOptions;
  const list = given.filter((x) => x !== undefined && isModule(x)).map((m) => fromModule(m as ModuleLike));
  if (list.length === 0) throw new RuntimeError("stack expects a non-empty TensorList");
  if (options.lazyStack === true && options.asModule === true) {
    throw new RuntimeError("Using a LazyStackedTensorDict within a TensorDictParams isn't permitted.");
  }
  let params: Td;
  if (options.lazyStack === true) params = lazyStackTds(list, 0);
  else if (options.expandIdentical === true) params = expanded(list);
  else params = typed(stackTds(list, 0) as Td, list[0] as Td);
  if (options.asModule === true) params = new TensorDictParams(params, { noConvert: true }) as Td;
  if (options.lock !== false) lockTd(params);
  return params;
}
