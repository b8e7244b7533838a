// Parameters of modules as TensorDicts, and TensorDicts put into modules.
import { KeyError, RuntimeError } from "../tensor/errors.ts";
import { Size } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { lockTd } from "./locking.ts";
import { Collection, entriesOf, make, type Td } from "./state.ts";

/** What is needed of a module. */
export interface ModuleLike {
  readonly _parameters: Map<string, Tensor | null> | Record<string, Tensor | null>;
  readonly _buffers: Map<string, Tensor | null> | Record<string, Tensor | null>;
  readonly _modules: Map<string, ModuleLike | null> | Record<string, ModuleLike | null>;
}

type Slots<T> = Map<string, T> | Record<string, T>;

function slots<T>(source: Slots<T>): [string, T][] {
  return source instanceof Map ? [...source] : Object.entries(source);
}

function fill<T>(target: Slots<T>, key: string, value: T): void {
  if (target instanceof Map) target.set(key, value);
  else target[key] = value;
}

function read<T>(source: Slots<T>, key: string): T | undefined {
  return source instanceof Map ? source.get(key) : Object.hasOwn(source, key) ? source[key] : undefined;
}

/** Parameters and buffers of a module by name; modules become nested TensorDicts. @torch TensorDict.from_module */
export function fromModule(module: ModuleLike, options: { lock?: boolean } = {}): Td {
  const td = collect(module);
  if (options.lock !== false) lockTd(td);
  return td;
}

function collect(module: ModuleLike): Td {
  const td = make.tensordict(new Map(), { batchSize: Size.fromList([]), device: null, names: null });
  for (const [key, value] of slots(module._parameters)) if (value !== null) td._put(key, value);
  for (const [key, value] of slots(module._buffers)) if (value !== null) td._put(key, value);
  for (const [key, child] of slots(module._modules)) {
    if (child === null) continue;
    const inner = collect(child);
    // Modules without parameters, such as activations, have nothing to say.
    if ([...inner._keys()].length > 0) td._put(key, inner);
  }
  return td;
}

/**
 * Puts the tensors of a TensorDict into a module and gives those that were there before; disposing of the result puts
 * them back. @torch TensorDict.to_module
 */
export function toModule(td: Td, module: ModuleLike): Td {
  const before = make.tensordict(new Map(), { batchSize: Size.fromList([]), device: null, names: null });
  const done: (() => void)[] = [];
  try {
    swap(td, module, before, done);
  } catch (error) {
    for (const undo of done.reverse()) undo();
    throw error;
  }
  before._undo = () => {
    for (const undo of done.reverse()) undo();
  };
  return before;
}

function swap(td: Td, module: ModuleLike, before: Td, done: (() => void)[]): void {
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Collection) {
      const child = read(module._modules, key);
      if (child === undefined || child === null) throw new KeyError(`the module has no child '${key}'`);
      const inner = make.tensordict(new Map(), { batchSize: Size.fromList([]), device: null, names: null });
      swap(entry as Td, child, inner, done);
      before._put(key, inner);
      continue;
    }
    const holder = [module._parameters, module._buffers].find((candidate) => read(candidate, key) !== undefined);
    if (holder === undefined) throw new KeyError(`the module has no parameter or buffer '${key}'`);
    const old = read(holder, key) ?? null;
    if (old !== null && !(old instanceof Tensor)) throw new RuntimeError(`'${key}' of the module is no tensor`);
    fill(holder, key, entry as Tensor);
    done.push(() => fill(holder, key, old));
    if (old !== null) before._put(key, old);
  }
}
