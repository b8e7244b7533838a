// Families "func", "autograd", "init" and "api": programs whose variables are compared at their end.
import type { Adapter, Any } from "../adapter.ts";
import { camel, NoSuchOp, NotApplicable } from "../adapter.ts";
import { plainCall } from "../call.ts";
import type { Findings } from "../compare.ts";
import type { Run } from "../decode.ts";
import { cotangent } from "./run-module.ts";
import { Comparer, compareError, type ModuleCase, named, Values } from "./values.ts";

type Step = readonly [dest: number | null, what: string, args: readonly Any[], kw?: Record<string, Any>];

const isClass = (f: Any): boolean => /^class\b/.test(Function.prototype.toString.call(f));
const isNumber = (x: Any): boolean => typeof x === "number" || typeof x === "bigint";

/** A method of Python's lists, dictionaries, numbers or the library's objects. */
function method(lib: Any, name: string, [self, ...args]: Any[]): Any {
  const ours = self?.[camel(name)];
  if (typeof ours === "function" && !(self instanceof Map)) return ours.apply(self, args);
  // A node's name is no method here, and hooks of leaves are a function.
  if (name === "name" && typeof ours === "string") return ours;
  if (name === "register_post_accumulate_grad_hook") return lib.autograd.registerPostAccumulateGradHook(self, ...args);
  const plain = typeof self === "object" && self !== null && Object.getPrototypeOf(self) === Object.prototype;
  if (self instanceof Map && name === "keys") return [...self.keys()];
  if (plain && name === "keys") return Object.keys(self);
  if (name === "__getitem__") return self.at(...args);
  if (name === "__setitem__") return self.setAt(...args);
  if (name === "__setattr__") self[camel(args[0])] = args[1];
  else if (name === "__delattr__") delete self[camel(args[0])];
  if (name === "__setattr__" || name === "__delattr__") return null;
  throw new NoSuchOp(`no such method: .${name}${self instanceof lib.Tensor ? "" : ` of ${typeof self}`}`);
}

function property(self: Any, name: string): Any {
  if (name === "_version") return self.version;
  if (name === "param_groups") return self.paramGroups;
  const ours = camel(name);
  if (typeof self !== "object" && typeof self !== "function") throw new NoSuchOp(`no such property: @${name}`);
  if (!(ours in self) && !(name in self)) {
    // One that the object's own class would have to have; a module may lack any.
    if (!("_registers" in self)) throw new NoSuchOp(`no such property: @${name}`);
    throw new AttributeError(`no attribute '${name}'`);
  }
  return ours in self ? self[ours] : self[name];
}

class AttributeError extends Error {
  override readonly name = "AttributeError";
}

/** Runs steps; functions of a case are run by it too. */
export class Program extends Values {
  readonly log: Any[] = [];

  constructor(
    readonly adapter: Adapter,
    blob: Uint8Array,
    c: ModuleCase,
  ) {
    super(adapter.lib, blob, c, true);
  }

  override program({ n, cap = [], steps, ret }: Any, outer: readonly Any[]): (...args: Any[]) => Any {
    // What is captured is what the variables are when the function is written.
    const captured = cap.map((k: number) => outer[k]);
    const f = (...args: Any[]) => {
      const vars = [...args.slice(0, n), ...captured];
      this.steps(steps, vars);
      return this.get(ret, vars);
    };
    return Object.defineProperty(f, "name", { value: "f" });
  }

  steps(steps: readonly Step[], vars: Any[], at: { step: number } = { step: 0 }): void {
    for (const [i, [dest, what, given, kw]] of steps.entries()) {
      at.step = i;
      const value = this.step(what, this.get(given, vars), this.options(kw, vars), vars, given);
      if (dest !== null) vars[dest] = value;
    }
  }

  private step(what: string, args: Any[], kw: Record<string, Any>, _vars: Any[], _given: readonly Any[]): Any {
    const { lib } = this;
    const [self, ...rest] = args;
    const all = Object.keys(kw).length > 0 ? [...args, kw] : args;
    if (what.startsWith("op:")) return this.operator(what.slice(3), args, kw);
    if (what.startsWith(".")) return method(lib, what.slice(1), all);
    if (what === "@class") return typeof self?.name === "string" ? self.name : self?.constructor?.name;
    if (what.startsWith("@") && what.endsWith("=")) {
      self[camel(what.slice(1, -1))] = rest[0];
      return null;
    }
    if (what.startsWith("@")) return property(self, what.slice(1));
    switch (what) {
      case "call":
        return all[0](...all.slice(1));
      case "get":
        return Array.isArray(self) || !(typeof self?.at === "function") ? self[rest[0]] : self.at(...rest);
      case "len":
        return self.length ?? self.size ?? Object.keys(self).length;
      case "is":
        return self === rest[0];
      case "list":
        return typeof self?.[Symbol.iterator] === "function" ? [...self] : Object.keys(self);
      case "dict":
        return typeof self?.[Symbol.iterator] === "function" ? new Map(self) : { ...self };
      case "repr":
        return String(self);
      case "backward":
        return self.backward(cotangent(lib, self, 0), ...all.slice(1));
      case "cotangent":
        return cotangent(lib, self, rest[0]);
      case "with":
        return this.within(self, args[1], () => args[2](...args.slice(3)));
      case "log":
        this.log.push(args.map((x) => (x instanceof lib.Tensor ? x.detach().clone() : x)));
        return null;
      case "try":
        return this.tried(self, rest);
      case "rng_state_sum":
        return lib.getRngState().sum().item();
      default:
        return this.function(what, all);
    }
  }

  private function(what: string, all: Any[]): Any {
    const found = named(this.lib, what);
    if (typeof found !== "function") throw new NoSuchOp(`no such function: ${what}`);
    if (isClass(found)) return new found(...all);
    return found.apply(named(this.lib, what.split(".").slice(0, -1).join(".") || "$") ?? this.lib, all);
  }

  private operator(op: string, args: Any[], kw: Record<string, Any>): Any {
    const c = { ...this.c, op, args: args.map(() => 0), kw: {} };
    const run = {
      c,
      adapter: this.adapter,
      args: () => args,
      kwargs: () => (Object.keys(kw).length > 0 ? kw : undefined),
    };
    return plainCall(run as unknown as Run)();
  }

  private within(context: string, given: Any[], body: () => Any): Any {
    const { lib } = this;
    if (context === "no_grad") return lib.noGrad(body);
    if (context === "enable_grad") return lib.enableGrad(body);
    if (context !== "set_grad_enabled") throw new NoSuchOp(`no such context: ${context}`);
    return given[0] ? lib.enableGrad(body) : lib.noGrad(body);
  }

  private tried(body: (...args: Any[]) => Any, args: Any[]): Any {
    try {
      body(...args);
      return null;
    } catch (error) {
      if (error instanceof NoSuchOp || error instanceof NotApplicable) throw error;
      return new Tried(error);
    }
  }
}

/** An error that a program caught. */
class Tried {
  constructor(readonly error: Any) {}
}

/** Compares variables; those that say nothing are left out. */
class Variables extends Comparer {
  override tensor(where: string, got: Any, want: Any): void {
    super.tensor(where, got, want);
    if (!(got instanceof this.values.lib.Tensor)) return;
    if (Boolean(want.rg) !== got.requiresGrad) this.f.fail(`${where}: requiresGrad ${got.requiresGrad}`);
    if ("leaf" in want && Boolean(want.leaf) !== got.isLeaf) this.f.fail(`${where}: isLeaf ${got.isLeaf}`);
    if ("ver" in want && want.ver !== got.version) this.f.fail(`${where}: version ${got.version} for ${want.ver}`);
    if ("gf" in want && got.gradFn?.name !== want.gf) this.f.note(`${where}: ${got.gradFn?.name} for ${want.gf}`);
  }

  override same(where: string, got: Any, want: Any): void {
    if (got instanceof Tried) {
      const pair = want?.$tu ?? want;
      if (!Array.isArray(pair)) this.f.fail(`${where}: ${got.error?.message}`);
      else compareError(got.error, { type: pair[0], msg: pair[1] }, this.f);
      return;
    }
    if (typeof want === "string" && want.startsWith("<")) return;
    if (typeof got === "object" && got !== null && "missingKeys" in got) got = [got.missingKeys, got.unexpectedKeys];
    if (isNumber(want) && typeof got === "object" && got !== null && "value" in got) got = Number(got);
    super.same(where, got, want);
  }
}

export function runProgramCase(adapter: Adapter, blob: Uint8Array, c: ModuleCase, f: Findings): void {
  const program = new Program(adapter, blob, c);
  const compare = new Variables(program, f, { rtol: 1e-4, atol: 1e-5 });
  const vars: Any[] = c.leaves.map((leaf: Any) => program.get(leaf));
  const at = { step: 0 };
  try {
    program.steps(c.steps, vars, at);
    if (c.err !== undefined) {
      f.fail(`no ${c.err.type}: ${c.err.msg}`);
      return;
    }
  } catch (error) {
    if (error instanceof NoSuchOp || error instanceof NotApplicable || c.err === undefined) throw error;
    if (at.step !== c.err.step) f.fail(`step ${at.step}: ${(error as Error).message}, expected at ${c.err.step}`);
    else compareError(error, c.err, f);
  }
  for (const [i, want] of c.vars.entries()) compare.same(`var ${i}`, vars[i] ?? null, want);
  if (c.log !== undefined) compare.same("log", program.log, c.log);
}
