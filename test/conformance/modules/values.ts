// Values of the cases for modules, optimisers and schedules: the library's from what a case says, and comparisons.
import { ourSpelling } from "../../spelling.ts";
import type { Any } from "../adapter.ts";
import { camel, DTYPE_NAME } from "../adapter.ts";
import type { Code } from "../case-types.ts";
import type { Findings } from "../compare.ts";
import { floatPart } from "../decode.ts";

/** One case, with the sets' blob. */
export interface ModuleCase {
  readonly id: string;
  readonly fam: string;
  readonly op: string;
  readonly S: readonly [number, number][];
  // biome-ignore lint/suspicious/noExplicitAny: each family has fields of its own
  readonly [field: string]: any;
}

/** torch.foo.bar_baz as `foo.barBaz`, looked up. */
export function named(lib: Any, path: string): Any {
  return path.split(".").reduce((at, part) => at?.[camel(part)] ?? at?.[part], lib);
}

/** Makes values of what a case says. */
export class Values {
  constructor(
    readonly lib: Any,
    readonly blob: Uint8Array,
    readonly c: ModuleCase,
    /** Whole numbers that are floats are marked: the text of an optimiser tells. */
    private readonly marksFloats = false,
  ) {}

  tensor({ s, dt, sh, rg }: Any): Any {
    const { lib } = this;
    const dtype = lib[DTYPE_NAME[dt as Code]];
    const numel = sh.reduce((a: number, b: number) => a * b, 1);
    const [offset, length] = s < 0 ? [0, 0] : (this.c.S[s] as [number, number]);
    const bytes = this.blob.slice(offset, offset + length);
    // A copy, since a leaf is no view.
    const t = numel === 0 ? lib.zeros(sh, { dtype }) : lib.fromTypedArray(bytes).view(dtype).view(sh).clone();
    return rg ? t.requiresGrad_(true) : t;
  }

  get(x: Any, vars: readonly Any[] = []): Any {
    if (Array.isArray(x)) return x.map((y) => this.get(y, vars));
    if (typeof x !== "object" || x === null) return x;
    if ("$t" in x) return this.tensor(x.$t);
    if ("$par" in x) return new this.lib.nn.Parameter(this.get(x.$par));
    if ("$f" in x) {
      const value = floatPart(x.$f);
      // JavaScript does not tell 1.0 from 1.
      return this.marksFloats && Number.isSafeInteger(value) && !Object.is(value, -0) ? this.lib.float(value) : value;
    }
    if ("$i" in x) return BigInt(x.$i);
    if ("$tu" in x) return Object.freeze(this.get(x.$tu, vars));
    if ("$dt" in x) return this.lib[DTYPE_NAME[x.$dt as Code]];
    if ("$v" in x) return vars[x.$v];
    if ("$c" in x) return new this.lib.Complex(floatPart(x.$c[0]), floatPart(x.$c[1]));
    if ("$mf" in x) return this.lib[camel(x.$mf)];
    if ("$sl" in x) return this.lib.slice(...this.get(x.$sl));
    if ("$e" in x) return "...";
    if ("$tab" in x) {
      const table = this.get(x.$tab).map(Number);
      return (epoch: number) => table[Math.min(Math.trunc(epoch), table.length - 1)];
    }
    if ("$map" in x) {
      const entries: [string, Any][] = x.$map.map(([k, v]: Any) => [k, this.get(v, vars)]);
      // Keys that are numbers come first in an object, so a dictionary of modules is a list of pairs.
      const modules = entries.length > 0 && entries.every(([, v]) => v instanceof this.lib.nn.Module);
      return modules ? entries : Object.fromEntries(entries);
    }
    if ("$fun" in x) return this.program(x.$fun, vars);
    if ("$m" in x) return this.module(x.$m);
    if ("$fn" in x) return named(this.lib, x.$fn);
    if ("$ps" in x) return new this.lib.nn.utils.rnn.PackedSequence(...this.get(x.$ps, vars));
    throw new Error(`unknown value ${JSON.stringify(x).slice(0, 80)}`);
  }

  isPacked(x: Any): boolean {
    return x instanceof this.lib.nn.utils.rnn.PackedSequence;
  }

  /** Options by their names here. */
  options(kw: Record<string, Any> = {}, vars: readonly Any[] = []): Record<string, Any> {
    return Object.fromEntries(Object.entries(kw).map(([key, value]) => [camel(key), this.get(value, vars)]));
  }

  module({ cls, args = [], kw = {} }: Any): Any {
    // Arguments that are modules have the whole name.
    const made = named(this.lib.nn, cls.replace(/^nn\./, ""));
    if (made === undefined) throw new Error(`no such module: nn.${cls}`);
    const options = this.options(kw);
    return new made(...this.get(args), ...(Object.keys(options).length > 0 ? [options] : []));
  }

  /** A function of tensors that is written in steps. */
  program({ n, cap = [], steps, ret }: Any, outer: readonly Any[]): (...args: Any[]) => Any {
    return (...args) => {
      const vars = [...args.slice(0, n), ...cap.map((k: number) => outer[k])];
      for (const [dest, what, given, kw] of steps) {
        const values = this.get(given, vars);
        const options = this.options(kw, vars);
        if (Object.keys(options).length > 0) values.push(options);
        const [self, ...rest] = values;
        const value = what.startsWith(".")
          ? self[camel(what.slice(1))](...rest)
          : what.startsWith("@")
            ? self[camel(what.slice(1))]
            : named(this.lib, what)(...values);
        if (dest !== null) vars[dest] = value;
      }
      return this.get(ret, vars);
    };
  }
}

export interface Close {
  readonly rtol: number;
  readonly atol: number;
}

const TOLERANCES: Readonly<Record<string, Close>> = {
  f32: { rtol: 1e-4, atol: 1e-5 },
  c64: { rtol: 1e-4, atol: 1e-5 },
  f64: { rtol: 1e-7, atol: 1e-7 },
  c128: { rtol: 1e-7, atol: 1e-7 },
  bf16: { rtol: 1.6e-2, atol: 1e-3 },
  f16: { rtol: 1e-3, atol: 1e-3 },
};

function isClose(got: number, want: number, { rtol, atol }: Close): boolean {
  return Object.is(got, want) || got === want || Math.abs(got - want) <= atol + rtol * Math.abs(want);
}

function numbersOf(lib: Any, t: Any): number[] {
  const plain = t.detach().resolveConj();
  const real = plain.isComplex() ? plain.viewAsReal() : plain;
  return real.to(lib.float64).contiguous().view(-1).tolist();
}

/** Compares a value with what a case says, and notes what differs. */
export class Comparer {
  constructor(
    readonly values: Values,
    readonly f: Findings,
    /** Of numbers that are no tensors, and of float32 where it is another than usual. */
    readonly numbers: Close,
    readonly float32 = TOLERANCES.f32 as Close,
  ) {}

  tensor(where: string, got: Any, want: Any): void {
    const { lib } = this.values;
    if (!(got instanceof lib.Tensor)) return void this.f.fail(`${where}: no tensor`);
    const dtype = lib[DTYPE_NAME[want.dt as Code]];
    if (got.dtype !== dtype) return void this.f.fail(`${where}: ${got.dtype} for ${dtype}`);
    if (String([...got.shape]) !== String(want.sh))
      return void this.f.fail(`${where}: shape ${got.shape} for ${want.sh}`);
    const expected = numbersOf(lib, this.values.tensor({ ...want, rg: 0 }));
    const tolerance = want.dt === "f32" ? this.float32 : (TOLERANCES[want.dt] ?? { rtol: 0, atol: 0 });
    const found = numbersOf(lib, got);
    const at = found.findIndex((x, i) => !isClose(x, expected[i] as number, tolerance));
    if (at >= 0) this.f.fail(`${where}: element ${at} is ${found[at]} for ${expected[at]}`);
  }

  same(where: string, got: Any, want: Any): void {
    if (Array.isArray(want)) this.list(where, got, want);
    else if (typeof want !== "object" || want === null) {
      const plain = typeof got === "bigint" ? Number(got) : got;
      if ((plain ?? null) !== want) this.f.fail(`${where}: ${String(got)} for ${String(want)}`);
    } else if ("$t" in want) this.tensor(where, got, want.$t);
    else if ("$tu" in want) this.list(where, got, want.$tu);
    else if ("$dt" in want) this.same(where, String(got), `torch.${DTYPE_NAME[want.$dt as Code]}`);
    else if ("$f" in want) this.number(where, got, floatPart(want.$f));
    else if ("$map" in want) this.map(where, got, want.$map);
    else if ("$ps" in want) this.list(where, this.values.isPacked(got) ? [...got] : got, want.$ps);
    else if (!("$o" in want)) this.f.fail(`${where}: cannot compare ${JSON.stringify(want).slice(0, 60)}`);
  }

  private number(where: string, got: Any, want: number): void {
    const number = got instanceof this.values.lib.Tensor ? Number(got.item()) : Number(got);
    if (!isClose(number, want, this.numbers)) this.f.fail(`${where}: ${number} for ${want}`);
  }

  private list(where: string, got: Any, want: readonly Any[]): void {
    if (!Array.isArray(got) || got.length !== want.length) {
      return void this.f.fail(
        `${where}: ${Array.isArray(got) ? `${got.length} entries` : typeof got} for ${want.length}`,
      );
    }
    want.forEach((one, i) => {
      this.same(`${where}[${i}]`, got[i], one);
    });
  }

  private map(where: string, got: Any, want: readonly [Any, Any][]): void {
    if (typeof got !== "object" || got === null) return void this.f.fail(`${where}: no dictionary`);
    const entries: [Any, Any][] = got instanceof Map ? [...got] : Object.entries(got);
    const keys = entries.map(([key]) => String(key));
    const wanted = want.map(([key]) => String(key));
    if (String(keys) !== String(wanted)) return void this.f.fail(`${where}: keys ${keys} for ${wanted}`);
    want.forEach(([key, value], i) => {
      // Functions are no part of a state.
      if (value === null && /lambdas|_fn_|_func_/.test(String(key))) return;
      this.same(`${where}.${key}`, (entries[i] as [Any, Any])[1], value);
    });
  }
}

/** Compares an error: class and message, of those whose texts are Python's own only that there is one. */
export function compareError(error: Any, want: Any, f: Findings): void {
  if (["TypeError", "AttributeError", "AssertionError", "KeyError"].includes(want.type)) return;
  const name = error?.name;
  if (name !== want.type) f.fail(`${name}: ${error?.message} for ${want.type}: ${want.msg}`);
  else if (![want.msg, ourSpelling(want.msg)].some((text) => String(error.message).startsWith(text)))
    f.fail(`"${error.message}" for "${want.msg}"`);
}
