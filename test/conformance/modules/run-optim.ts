// Families "optim" and "sched": optimisers and schedules of learning rates.
import type { Any } from "../adapter.ts";
import { NoSuchOp } from "../adapter.ts";
import type { Findings } from "../compare.ts";
import { Comparer, compareError, type ModuleCase, type Values } from "./values.ts";

const OPTIM = { rtol: 1e-5, atol: 1e-6 };
const SCHED = { rtol: 1e-12, atol: 0 };

function optimizer(values: Values, cls: string, groups: Any, kw: Any): Any {
  const made = values.lib.optim?.[cls];
  if (made === undefined) throw new NoSuchOp(`no such optimiser: optim.${cls}`);
  const options = values.options(kw);
  return new made(groups, ...(Object.keys(options).length > 0 ? [options] : []));
}

/** The groups of a case, with the parameters in them. */
function groupsOf(values: Values, c: ModuleCase): { groups: Any; params: Any[] } {
  const { lib } = values;
  const params: Any[] = [];
  const groups = c.groups.map(({ params: list, names, ...rest }: Any) => {
    const own = list.map((p: Any) => new lib.nn.Parameter(values.get(p)));
    params.push(...own);
    const given = names === undefined ? own : own.map((p: Any, i: number) => [names[i], p]);
    const options = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, values.get(value)]));
    return { params: given, ...options };
  });
  return { groups: c.flat ? groups[0].params : groups, params };
}

export function runOptim(values: Values, c: ModuleCase, f: Findings): void {
  const compare = new Comparer(values, f, OPTIM, OPTIM);
  const { groups, params } = groupsOf(values, c);
  if (values.lib.optim?.[c.op] === undefined) throw new NoSuchOp(`no such optimiser: optim.${c.op}`);
  const fresh = () => optimizer(values, c.op, c.flat ? groups : groups.map((group: Any) => ({ ...group })), c.kw);
  try {
    let one = fresh();
    const closure = c.closure === undefined ? null : values.get(c.closure);
    const losses: Any[] = [];
    let evals = 0;
    const steps = closure === null ? c.grads.length : c.n;
    let at = 0;
    for (let i = 0; i < steps; i++) {
      if (closure === null) {
        params.forEach((p, j) => {
          p.grad = values.get(c.grads[i][j]);
        });
        one.step();
      } else {
        const loss = one.step(() => {
          evals++;
          one.zeroGrad();
          const value = closure(...params);
          value.backward();
          return value;
        });
        losses.push(loss);
      }
      if (c.at?.[at] === i + 1) {
        c.vals[at].forEach((want: Any, j: number) => {
          compare.same(`parameter ${j} after ${i + 1}`, params[j], want);
        });
        at++;
      }
      if (c.reload === i) {
        const state = one.stateDict();
        one = fresh();
        one.loadStateDict(state);
      }
    }
    if (c.err !== undefined) {
      f.fail(`no ${c.err.type}: ${c.err.msg}`);
      return;
    }
    if (c.losses !== undefined) compare.same("losses", losses, c.losses);
    if (c.evals !== undefined) compare.same("evals", evals, c.evals);
    const { state, param_groups } = one.stateDict();
    if (c.state !== undefined) compare.same("state", state, c.state);
    if (c.groups_after !== undefined) compare.same("groups", param_groups, c.groups_after);
    if (c.repr !== undefined) compare.same("repr", String(one), c.repr);
  } catch (error) {
    if (c.err === undefined || error instanceof NoSuchOp) throw error;
    compareError(error, c.err, f);
  }
}

function schedulerOf(values: Values, opt: Any, spec: Any): Any {
  const made = spec.cls === "SWALR" ? values.lib.optim?.swaUtils?.SWALR : values.lib.optim?.lrScheduler?.[spec.cls];
  if (made === undefined) throw new NoSuchOp(`no such schedule: optim.lrScheduler.${spec.cls}`);
  const subs = spec.subs?.map((sub: Any) => schedulerOf(values, opt, sub));
  const options = values.options(spec.kw);
  const given = Object.keys(options).length > 0 ? [options] : [];
  if (spec.cls === "ChainedScheduler") return new made(subs, ...given);
  if (subs !== undefined) return new made(opt, subs, ...given);
  return new made(opt, ...values.get(spec.args), ...given);
}

const momentaOf = (opt: Any): number[] =>
  opt.paramGroups.map((group: Any) => (group.betas === undefined ? group.momentum : group.betas[0]));

export function runSched(values: Values, c: ModuleCase, f: Findings): void {
  const compare = new Comparer(values, f, SCHED);
  const { lib } = values;
  const params = c.groups.map(() => new lib.nn.Parameter(lib.zeros(1)));
  const make = () => {
    const groups = c.groups.map((options: Any, i: number) => ({
      ...Object.fromEntries(Object.entries(options).map(([key, value]) => [key, values.get(value)])),
      params: [params[i]],
    }));
    const opt = optimizer(values, c.opt.cls, groups, c.opt.kw);
    return { opt, sched: schedulerOf(values, opt, c.sched) };
  };
  try {
    let { opt, sched } = make();
    const rates = (): number[] => opt.paramGroups.map((group: Any) => Number(group.lr.item?.() ?? group.lr));
    const lrs = [rates()];
    const moms = [momentaOf(opt)];
    for (let i = 0; i < c.n; i++) {
      opt.step();
      const given = c.metrics?.[i] ?? c.epochs?.[i];
      if (given === undefined || given === null) sched.step();
      else sched.step(values.get(given));
      lrs.push(rates());
      moms.push(momentaOf(opt));
      if (c.reload === i) {
        const states = [opt.stateDict(), sched.stateDict()];
        ({ opt, sched } = make());
        opt.loadStateDict(states[0]);
        sched.loadStateDict(states[1]);
      }
    }
    if (c.err !== undefined) {
      f.fail(`no ${c.err.type}: ${c.err.msg}`);
      return;
    }
    if (c.lrs !== undefined) compare.same("lrs", lrs, c.lrs);
    if (c.moms !== undefined) compare.same("moms", moms, c.moms);
    if (c.last !== undefined) compare.same("last", sched.getLastLr(), c.last);
    if (c.sd !== undefined) compare.same("state", sched.stateDict(), c.sd);
  } catch (error) {
    if (c.err === undefined || error instanceof NoSuchOp) throw error;
    compareError(error, c.err, f);
  }
}
