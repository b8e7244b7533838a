// Parameters of modules as TensorDicts, and TensorDicts put into modules.
import { Parameter } from "../../nn/parameter.ts";
import { batchOf } from "../../tensor/batched.ts";
import { inOrder } from "../../tensor/checks.ts";
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { refuseOverlap } from "../../tensor/modes.ts";
import { setOwn } from "../../tensor/objects.ts";
import { noteUse } from "../../tensor/scope-state.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { lockTd } from "../core/locking.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { Collection, entriesOf, isParams, make, type ParamsTd, type Td, type Undo } from "../core/state.ts";
import { remember } from "../core/undo.ts";
import { flattenKeysTd, unflattenKeysTd } from "./key-ops.ts";

/** What is needed of a module. */
export interface ModuleLike {
  readonly _parameters: Map<string, Tensor | null> | Record<string, Tensor | null>;
  readonly _buffers: Map<string, Tensor | null> | Record<string, Tensor | null>;
  readonly _modules: Map<string, ModuleLike | null> | Record<string, ModuleLike | null>;
  /** All three at once, where asking for each takes time. */
  readonly _slots?: Pick<ModuleLike, "_parameters" | "_buffers" | "_modules">;
}

type Slots<T> = Map<string, T> | Record<string, T>;

function slots<T>(source: Slots<T>): [string, T][] {
  return source instanceof Map ? [...source] : Object.entries(source);
}

function fill<T>(target: Slots<T>, key: string, value: T): void {
  if (target instanceof Map) target.set(key, value);
  else setOwn(target, key, value);
}

function read<T>(source: Slots<T>, key: string): T | undefined {
  return source instanceof Map ? source.get(key) : Object.hasOwn(source, key) ? source[key] : undefined;
}

/**
 * Parameters and buffers of a module by name; modules become nested TensorDicts.
 * @example
 * ```ts
 * tensordict.fromModule(new nn.Linear(2, 1)).get("weight").shape // torch.Size([1, 2])
 * ```
 * @torch TensorDict.from_module
 */
export function fromModule(module: ModuleLike, options: { lock?: boolean } = {}): Td {
  [module, options = {}] = inOrder<Parameters<typeof fromModule>>("fromModule", FUNCTIONS.fromModule, arguments);
  const td = collect(module);
  if (options?.lock !== false) lockTd(td);
  return td;
}

function collect(module: ModuleLike): Td {
  const td = make.tensordict(new Map(), { batchSize: Size.fromList([]), device: null, names: null });
  for (const [key, value] of slots(module._parameters)) if (value !== null) td._put(key, value);
  for (const [key, value] of slots(module._buffers)) if (value !== null) td._put(key, value);
  for (const [key, child] of slots(module._modules)) {
    if (child === null) continue;
    const params = paramsOf(child);
    const inner = params === null ? collect(child) : (params._wrapped.copy() as Td);
    // Modules without parameters, such as activations, have nothing to say.
    if ([...inner._keys()].length > 0) td._put(key, inner);
  }
  return td;
}

/** The TensorDict of parameters that a module stands for. */
function paramsOf(module: ModuleLike): ParamsTd | null {
  const { _itself: itself } = module as { _itself?: unknown };
  return itself instanceof Collection && isParams(itself) ? itself : null;
}

/** How tensors are put into a module. */
export interface ToModuleOptions {
  /** Parameters stay parameters that require gradients as they did; true by default. */
  preserveModuleState?: boolean;
}

/**
 * Puts the tensors of a TensorDict into a module and gives those that were there before; disposing of the result puts
 * them back. @torch TensorDict.to_module
 * @example
 * ```ts
 * const layer = new nn.Linear(2, 1);
 * const zeros_ = TensorDict.fromModule(layer).clone().zero_();
 * const swap = tensordict.toModule(zeros_, layer);
 * const inside = layer.bias?.item();
 * swap[Symbol.dispose]();
 * inside // 0
 * ```
 */
export function toModule(td: Td, module: ModuleLike, options: ToModuleOptions = {}): Td {
  [td, module, options = {}] = inOrder<Parameters<typeof toModule>>("toModule", FUNCTIONS.toModule, arguments);
  const before = make.tensordict(new Map(), { batchSize: Size.fromList([]), device: null, names: null });
  const done: Swap[] = [];
  noteUse(td, module);
  try {
    swap(td, module, before, done, options?.preserveModuleState !== false);
  } catch (error) {
    for (const s of done.reverse()) putBack(s);
    throw error;
  }
  remember(before, () => {
    const all = done.reverse().map(putBack);
    if (all.includes(false)) refuseOverlap("toModule");
  });
  for (const s of done) s.undo = before._undo;
  return before;
}

/** One tensor of a module that has another in its place. */
interface Swap {
  readonly holder: Slots<Tensor | null>;
  readonly key: string;
  readonly now: Tensor;
  old: Tensor | null;
  open: boolean;
  /** Whether a `using` holds it. */
  undo: Undo | null;
}

/** By a tensor that was put into a module: what has taken its place since. */
const replacedBy = new WeakMap<Tensor, Swap[]>();

function put(holder: Slots<Tensor | null>, key: string, now: Tensor, old: Tensor | null): Swap {
  fill(holder, key, now);
  const s = { holder, key, now, old, open: true, undo: null };
  if (old === null) return s;
  const open = replacedBy.get(old)?.filter((x) => x.open) ?? [];
  open.push(s);
  replacedBy.set(old, open);
  return s;
}

/** Takes a swap back. When another came on top of it (an overlapping task), that one will: false. */
function putBack(s: Swap): boolean {
  s.open = false;
  const same = (x: Swap): boolean => x.open && x.undo?.held === true && x.holder === s.holder && x.key === s.key;
  const next = replacedBy.get(s.now)?.find(same);
  if (next === undefined || next.now === s.now) fill(s.holder, s.key, s.old);
  else next.old = s.old;
  return next === undefined;
}

/**
 * What takes the place of a parameter. A plain tensor becomes a parameter over the same memory, unless gradients flow
 * through it already: those must reach it.
 */
function inPlaceOf(old: Tensor | null, entry: Tensor): Tensor {
  if (!(old instanceof Parameter) || batchOf(entry) !== null) return entry;
  if (entry instanceof Parameter ? entry.requiresGrad === old.requiresGrad : entry.requiresGrad) return entry;
  return new Parameter(entry, old.requiresGrad);
}

function swap(td: Td, module: ModuleLike, before: Td, done: Swap[], preserve: boolean): void {
  // Read once: a module looks through its attributes then.
  const { _parameters: parameters, _buffers: buffers, _modules: modules } = module._slots ?? module;
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Collection) {
      const child = read(modules, key);
      if (child === undefined || child === null) throw new KeyError(`the module has no child '${key}'`);
      const inner = make.tensordict(new Map(), { batchSize: Size.fromList([]), device: null, names: null });
      // A TensorDict of parameters has them all under joined keys.
      const joined = paramsOf(child) !== null;
      swap(joined ? flattenKeysTd(entry as Td, ".", false) : (entry as Td), child, inner, done, preserve);
      before._put(key, joined ? unflattenKeysTd(inner, ".", false) : inner);
      continue;
    }
    const own = read(parameters, key);
    const holder = own === undefined ? buffers : parameters;
    const old = own === undefined ? read(buffers, key) : own;
    if (old === undefined) throw new KeyError(`the module has no parameter or buffer '${key}'`);
    if (old !== null && !(old instanceof Tensor)) throw new RuntimeError(`'${key}' of the module is no tensor`);
    const parameter = preserve && holder === parameters;
    done.push(put(holder, key, parameter ? inPlaceOf(old, entry) : entry, old));
    if (old !== null) before._put(key, old);
  }
}
