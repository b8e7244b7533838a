/**
 * Modules: callable objects that hold parameters, buffers and other modules by name. An instance is a function, so that
 * `model(x)` runs hooks and `forward`. Attributes that are parameters or modules are registered when somebody asks for
 * the registered ones; from then on the attribute reads and writes the register.
 */

import { gradFnOf } from "../autograd/history.ts";
import { checkCall, installChecks } from "../tensor/checks.ts";
import type { DeviceLike } from "../tensor/device.ts";
import { bfloat16, type DType, type DTypeLike, float16, float32, float64, toDType } from "../tensor/dtype.ts";
import { AttributeError, KeyError, NotImplementedError, TypeError, ValueError } from "../tensor/errors.ts";
import { tellMissingMembers } from "../tensor/missing.ts";
import { noteUse, take } from "../tensor/scope-state.ts";
import { dropGrad } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { invoke } from "./calling.ts";
import { lookThrough, noteMade } from "./hidden.ts";
import { HookList, type RemovableHandle } from "./hooks.ts";
import { members, requireName } from "./members.ts";
import { type Conversion, convertAll, convertModule, type Placement } from "./moving.ts";
import { Buffer, Parameter } from "./parameter.ts";
import { moduleText } from "./printing.ts";
import { MODULE } from "./signatures.ts";
import { STAND_IN } from "./stand-in.ts";
import {
  type IncompatibleKeys,
  type LoadOptions,
  loadState,
  type StateDict,
  type StateOptions,
  saveState,
} from "./state.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a module takes and gives is its forward's business
type Any = any;

/** Runs before `forward`; what it returns replaces the arguments. */
export type ForwardPreHook = (module: Module, args: readonly Any[]) => unknown;
/** Runs after `forward`; what it returns replaces the output. */
export type ForwardHook = (module: Module, args: readonly Any[], output: Any) => unknown;

interface Registers {
  readonly parameters: Map<string, Tensor | null>;
  readonly buffers: Map<string, Tensor | null>;
  readonly modules: Map<string, Module | null>;
  readonly transient: Set<string>;
  readonly preHooks: HookList<ForwardPreHook>;
  readonly hooks: HookList<ForwardHook>;
}

function registers(): Registers {
  return {
    parameters: new Map(),
    buffers: new Map(),
    modules: new Map(),
    transient: new Set(),
    preHooks: new HookList(),
    hooks: new HookList(),
  };
}

/** A function with the members of a module. */
export function callable(prototype: object): Module {
  const self = ((...args: unknown[]) => invoke(self, args)) as Module;
  // A module may have attributes of these names.
  delete (self as Any).name;
  delete (self as Any).length;
  Object.setPrototypeOf(self, prototype);
  Object.defineProperty(self, "_registers", { value: registers(), enumerable: false });
  return self;
}

// A class cannot declare that its instances are functions; an interface of the same name can.
export interface Module {
  (...args: Parameters<this["forward"]>): ReturnType<this["forward"]>;
}

/**
 * The base class of all neural network modules.
 * @example
 * ```ts
 * class Twice extends nn.Module {
 *   override forward(x: Tensor) {
 *     return x.mul(2);
 *   }
 * }
 * new Twice()(tensor([1])) // tensor([2.])
 * ```
 * @torch torch.nn.Module
 */
export class Module {
  /** @internal */ declare readonly _registers: Registers;
  /** Whether the module is in training mode. */
  training = true;

  constructor() {
    checkCall("Module", "", arguments);
    const self = callable(new.target.prototype);
    self.training = true;
    noteMade(self, new.target.prototype, Module.prototype);
    // biome-ignore lint/correctness/noConstructorReturn: the instance has to be a function
    return self as this;
  }

  /** What calling the module computes; subclasses define it. */
  forward(..._args: Any[]): Any {
    throw new NotImplementedError(`Module [${this._getName()}] is missing the required "forward" function`);
  }

  /** Parameters of this module itself, by name. */ get _parameters(): Map<string, Tensor | null> {
    adopt(this);
    return this._registers.parameters;
  }
  /** Buffers of this module itself, by name. */
  get _buffers(): Map<string, Tensor | null> {
    adopt(this);
    return this._registers.buffers;
  }
  /** Modules directly inside this one, by name. */
  get _modules(): Map<string, Module | null> {
    adopt(this);
    return this._registers.modules;
  }
  /** @internal All three, for which it looks through its attributes once. */
  get _slots(): Pick<Module, "_parameters" | "_buffers" | "_modules"> {
    adopt(this);
    const { parameters: _parameters, buffers: _buffers, modules: _modules } = this._registers;
    return { _parameters, _buffers, _modules };
  }
  /** Names of buffers that are not part of the state. */
  get _nonPersistentBuffersSet(): Set<string> {
    return this._registers.transient;
  }

  /** Adds a parameter; null keeps its name without a value. @torch torch.nn.Module.register_parameter */
  registerParameter(name: string, param: Parameter | null): void {
    adopt(this);
    requireName("parameter", name, "");
    requireFree(this, name, this._registers.parameters);
    if (param !== null && !(param instanceof Parameter)) {
      throw new TypeError(
        `cannot assign '${typeName(param)}' object to parameter '${name}' (torch.nn.Parameter or None required)`,
      );
    }
    if (param !== null && gradFnOf(param) !== null) {
      throw new ValueError(
        `Cannot assign non-leaf Tensor to parameter '${name}'. Model parameters must be created explicitly. ` +
          "To express " +
          `'${name}' as a function of another Tensor, compute the value in the forward() method.`,
      );
    }
    this._registers.parameters.set(name, param);
    connect(this, name);
  }

  /** Adds a tensor that is state but no parameter. @torch torch.nn.Module.register_buffer */
  registerBuffer(name: string, tensor: Tensor | null, options: { persistent?: boolean } | boolean = true): void {
    adopt(this);
    requireName("buffer", name, "");
    requireFree(this, name, this._registers.buffers);
    if (tensor !== null && !(tensor instanceof Tensor)) {
      throw new TypeError(
        `cannot assign '${typeName(tensor)}' object to buffer '${name}' (torch Tensor or None required)`,
      );
    }
    this._registers.buffers.set(name, take(tensor));
    if (options !== false) this._registers.transient.delete(name);
    else this._registers.transient.add(name);
    connect(this, name);
  }

  /** Adds a module under a name. @torch torch.nn.Module.add_module */
  addModule(name: string, module: Module | null): void {
    adopt(this);
    const child = moduleOf(module);
    if (module !== null && child === null) throw new TypeError(`${typeName(module)} is not a Module subclass`);
    requireName("module", name, `, got: ${name}`);
    requireFree(this, name, this._registers.modules);
    this._registers.modules.set(name, child);
    connect(this, name);
  }
  /** Another name of `addModule`. @torch torch.nn.Module.register_module */
  registerModule(name: string, module: Module | null): void {
    this.addModule(name, module);
  }

  /** Runs `hook` before each call. @torch torch.nn.Module.register_forward_pre_hook */
  registerForwardPreHook(hook: ForwardPreHook, options: { prepend?: boolean } = {}): RemovableHandle {
    return this._registers.preHooks.add(hook, options.prepend ?? false);
  }
  /** Runs `hook` after each call. @torch torch.nn.Module.register_forward_hook */
  registerForwardHook(hook: ForwardHook, options: { prepend?: boolean; alwaysCall?: boolean } = {}): RemovableHandle {
    return this._registers.hooks.add(hook, options.prepend ?? false, options.alwaysCall ?? false);
  }

  /** This module and all inside it with their paths, each once. @torch torch.nn.Module.named_modules */
  namedModules(prefix = "", removeDuplicate = true): [string, Module][] {
    const out: [string, Module][] = [];
    const seen = new Set<Module>();
    const visit = (module: Module, path: string): void => {
      if (seen.has(module)) return;
      if (removeDuplicate) seen.add(module);
      out.push([path, module]);
      for (const [name, child] of module._modules) {
        if (child !== null) visit(child, path === "" ? name : `${path}.${name}`);
      }
    };
    visit(this, prefix);
    lookThrough(out.map(([, m]) => m));
    return out;
  }
  /** This module and all below it, each once. @torch torch.nn.Module.modules */
  modules(): Module[] {
    return this.namedModules().map(([, m]) => m);
  }
  /** Modules directly inside with their names, each once. @torch torch.nn.Module.named_children */
  namedChildren(): [string, Module][] {
    const seen = new Set<Module>();
    const out: [string, Module][] = [];
    for (const [name, m] of this._modules) {
      if (m === null || seen.has(m)) continue;
      seen.add(m);
      out.push([name, m]);
    }
    return out;
  }
  /** The modules right below this one. @torch torch.nn.Module.children */
  children(): Module[] {
    return this.namedChildren().map(([, m]) => m);
  }
  private _walk(prefix: string, recurse: boolean, removeDuplicate: boolean): [string, Module][] {
    return recurse ? this.namedModules(prefix, removeDuplicate) : [[prefix, this]];
  }
  /** Parameters with their paths, each once. @torch torch.nn.Module.named_parameters */
  namedParameters(prefix = "", recurse = true, removeDuplicate = true): [string, Parameter][] {
    return members(this._walk(prefix, recurse, removeDuplicate), "_parameters", removeDuplicate) as [
      string,
      Parameter,
    ][];
  }
  /**
   * All parameters, each once; `recurse` (true by default) takes those of modules below, too.
   * @torch torch.nn.Module.parameters
   */
  parameters(recurse = true): Parameter[] {
    return this.namedParameters("", recurse).map(([, p]) => p);
  }
  /** Buffers with their paths, each once. @torch torch.nn.Module.named_buffers */
  namedBuffers(prefix = "", recurse = true, removeDuplicate = true): [string, Tensor][] {
    return members(this._walk(prefix, recurse, removeDuplicate), "_buffers", removeDuplicate);
  }
  /**
   * All buffers, each once; `recurse` (true by default) takes those of modules below, too.
   * @torch torch.nn.Module.buffers
   */
  buffers(recurse = true): Tensor[] {
    return this.namedBuffers("", recurse).map(([, b]) => b);
  }

  /** The module at a path such as `"layers.0"`. @torch torch.nn.Module.get_submodule */
  getSubmodule(path: string): Module {
    return findModule(this, path === "" ? [] : path.split("."));
  }
  /** The parameter under a path (`"0.weight"`). @torch torch.nn.Module.get_parameter */
  getParameter(path: string): Parameter {
    return findMember(this, path, "parameters", "an nn.Parameter") as Parameter;
  }
  /** The buffer under a path. @torch torch.nn.Module.get_buffer */
  getBuffer(path: string): Tensor {
    return findMember(this, path, "buffers", "a buffer");
  }

  /** Calls `fn` with every module, the inner ones first. @torch torch.nn.Module.apply */
  apply(fn: (module: Module) => void): this {
    for (const child of this.children()) child.apply(fn);
    fn(this);
    return this;
  }
  /** Sets training mode here and inside. @torch torch.nn.Module.train */
  train(mode = true): this {
    if (typeof mode !== "boolean") throw new ValueError("training mode is expected to be boolean");
    this.training = mode;
    for (const child of this.children()) child.train(mode);
    return this;
  }
  /** Switches training off, here and below. @torch torch.nn.Module.eval */
  eval(): this {
    return this.train(false);
  }
  /** Whether the parameters get gradients. @torch torch.nn.Module.requires_grad_ */
  requiresGrad_(requiresGrad = true): this {
    for (const p of this.parameters()) p.requiresGrad_(requiresGrad);
    return this;
  }
  /** Drops the gradients of all parameters, or fills them with zeros. @torch torch.nn.Module.zero_grad */
  zeroGrad(options: { setToNone?: boolean } | boolean = {}): void {
    const drop = typeof options === "boolean" ? options : (options.setToNone ?? true);
    for (const p of this.parameters()) {
      if (p._grad === null) continue;
      if (drop) dropGrad(p);
      else p._grad = p._grad.detach().zero_();
    }
  }

  /** Moves or casts parameters and buffers in place; a dtype leaves integer ones alone. @torch torch.nn.Module.to */
  to(target: Placement | Conversion, dtype?: DTypeLike | Conversion | null, options?: Conversion): this {
    return convertModule(this, target as Placement, { ...options, dtype: dtype as DTypeLike | null });
  }
  /** Casts floating point parameters and buffers to float32. @torch torch.nn.Module.float */
  float(): this {
    return this.to(float32);
  }
  /** Casts floating point parameters and buffers to float64. @torch torch.nn.Module.double */
  double(): this {
    return this.to(float64);
  }
  /** Casts floating point parameters and buffers to float16. @torch torch.nn.Module.half */ half(): this {
    return this.to(float16);
  }
  /** Casts floating point parameters and buffers to bfloat16. @torch torch.nn.Module.bfloat16 */
  bfloat16(): this {
    return this.to(bfloat16);
  }
  /** Casts everything, integers too. @torch torch.nn.Module.type */ type(dtype: DTypeLike): this {
    const d: DType = toDType(dtype);
    convertAll(this, (t) => t.to(d));
    return this;
  }
  /** Moves parameters and buffers to a GPU, by default the current one. @torch torch.nn.Module.cuda */
  cuda(device: DeviceLike = "cuda"): this {
    return this.to(device);
  }
  /** Moves parameters and buffers to the CPU. @torch torch.nn.Module.cpu */ cpu(): this {
    return this.to("cpu");
  }

  /** Parameters and persistent buffers by path. @torch torch.nn.Module.state_dict */
  stateDict(options: StateOptions = {}): StateDict {
    this.namedModules();
    return saveState(this, options);
  }
  /** Takes over a state; one that does not fit changes nothing. @torch torch.nn.Module.load_state_dict */
  loadStateDict(state: StateDict | ReadonlyMap<string, Tensor>, options: LoadOptions = {}): IncompatibleKeys {
    return loadState(this, state, options);
  }

  /** What the printed form says between the parentheses. @torch torch.nn.Module.extra_repr */
  extraRepr(): string {
    return "";
  }
  /** @internal What an attribute that holds this module gives: its object, where that is of another class. */
  get _itself(): unknown {
    return this;
  }
  /** @internal A copy of it; null for modules that are what they have registered. */
  _copy(): Module | null {
    return null;
  }
  /** @internal */
  _getName(): string {
    return this.constructor.name;
  }
  /** The tree of modules, as PyTorch prints it. */
  toString(): string {
    return moduleText(this);
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(Module.prototype, MODULE);
tellMissingMembers("Module", Module.prototype);

/** Registers attributes that became parameters or modules, and forgets registered ones that were deleted. */
function adopt(module: Module): void {
  const { parameters, buffers, modules, transient } = module._registers;
  for (const map of [parameters, buffers, modules]) {
    if (map.size > 0) for (const name of map.keys()) if (!Object.hasOwn(module, name)) map.delete(name);
  }
  for (const name of Object.keys(module)) {
    const value = attribute(module, name);
    if (typeof value !== "object" && typeof value !== "function") continue;
    if (value instanceof Parameter) parameters.set(name, value);
    else if (value instanceof Buffer) {
      buffers.set(name, value);
      if (!value.persistent) transient.add(name);
    } else if (moduleOf(value) !== null) modules.set(name, moduleOf(value));
    else continue;
    connect(module, name);
  }
}

/** Makes an attribute read and write the registers. Its name is no longer enumerable: it was seen. */
function connect(module: Module, name: string): void {
  const r = module._registers;
  Object.defineProperty(module, name, {
    configurable: true,
    enumerable: false,
    get: () => noteUse(r.parameters.get(name) ?? r.buffers.get(name) ?? r.modules.get(name)?._itself ?? null, module),
    set: (value: unknown) => assign(r, name, value),
  });
}

/** The module that a value is, or that stands for it; null for other values. */
function moduleOf(value: unknown): Module | null {
  if (value instanceof Module) return value;
  const found = (value as { [STAND_IN]?: unknown } | null | undefined)?.[STAND_IN];
  return found instanceof Module ? found : null;
}

function assign(r: Registers, name: string, value: unknown): void {
  if (value instanceof Parameter) {
    r.buffers.delete(name);
    r.modules.delete(name);
    r.parameters.set(name, value);
    return;
  }
  if (r.parameters.has(name)) {
    if (value !== null) {
      throw new TypeError(
        `cannot assign '${typeName(value)}' as parameter '${name}' (torch.nn.Parameter or None expected)`,
      );
    }
    r.parameters.set(name, null);
    return;
  }
  const child = moduleOf(value);
  if (r.modules.has(name) || child !== null) {
    if (value !== null && child === null) {
      throw new TypeError(
        `cannot assign '${typeName(value)}' as child module '${name}' (torch.nn.Module or None expected)`,
      );
    }
    r.buffers.delete(name);
    r.modules.set(name, child);
  } else {
    if (value !== null && !(value instanceof Tensor)) {
      throw new TypeError(
        `cannot assign '${typeName(value)}' as buffer '${name}' (torch.nn.Buffer, torch.Tensor or None expected)`,
      );
    }
    r.buffers.set(name, take(value));
  }
}

function requireFree(module: Module, name: string, map: ReadonlyMap<string, unknown>): void {
  // A field that is declared without a value exists, but holds nothing.
  const taken = name in module && attribute(module, name) !== undefined;
  if (taken && !map.has(name)) throw new KeyError(`attribute '${name}' already exists`);
}

function findModule(root: Module, path: readonly string[]): Module {
  let at = root;
  for (const name of path) {
    if (!(name in at) || (!at._modules.has(name) && attribute(at, name) === undefined)) {
      throw new AttributeError(`${at._getName()} has no attribute \`${name}\``);
    }
    const next = at._modules.get(name);
    if (!(next instanceof Module)) throw new AttributeError(`\`${name}\` is not an nn.Module`);
    at = next;
  }
  return at;
}

/** Whatever a module has under a name. */
function attribute(module: Module, name: string): unknown {
  return module[name as keyof Module];
}

function findMember(root: Module, path: string, kind: "parameters" | "buffers", what: string): Tensor {
  const parts = path.split(".");
  const name = parts.pop() as string;
  const owner = findModule(root, parts);
  const found = (kind === "parameters" ? owner._parameters : owner._buffers).get(name);
  if (found !== undefined && found !== null) return found;
  if (!(name in owner) || attribute(owner, name) === undefined) {
    throw new AttributeError(`${owner._getName()} has no attribute \`${name}\``);
  }
  throw new AttributeError(`\`${name}\` is not ${what}`);
}
