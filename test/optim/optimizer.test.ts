// What optimisers share: groups, hooks, state, scopes, files, differentiable steps.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { float, load, nn, noGrad, ones, optim, randn, save, scope, type Tensor, tensor } from "../../src/index.ts";

const parameter = (...values: number[]): Tensor => new nn.Parameter(tensor(values));

function stepOnce(optimizer: optim.Optimizer, ...params: Tensor[]): void {
  for (const p of params) p.grad = ones(p.shape);
  optimizer.step();
}

describe("groups", () => {
  test("have options of their own, under both names", () => {
    const [a, b] = [parameter(1), parameter(1)];
    const optimizer = new optim.SGD([{ params: [a] }, { params: b, lr: 0.5, weightDecay: 1 }], { lr: 0.25 });
    expect(optimizer.paramGroups.map(({ lr, weight_decay }) => [lr, weight_decay])).toEqual([
      [0.25, 0],
      [0.5, 1],
    ]);
    (optimizer.paramGroups[1] as optim.ParamGroup).weightDecay = 0;
    stepOnce(optimizer, a, b);
    expect([a.item(), b.item()]).toEqual([0.75, 0.5]);
  });

  test("are refused in PyTorch's words", () => {
    const [a, b] = [parameter(1), parameter(1)];
    const refused =
      (params: unknown, options = {}) =>
      () =>
        new optim.SGD(params as Tensor[], options);
    expect(refused(a)).toThrow("should be an iterable of Tensors or dicts, but got torch.FloatTensor");
    expect(refused([])).toThrow("optimizer got an empty parameter list");
    expect(refused([a, 3])).toThrow("optimizer can only optimize Tensors, but one of the params is int");
    expect(refused([a.mul(2)])).toThrow("can't optimize a non-leaf Tensor");
    expect(refused([{ params: [a] }, { params: [b, a] }])).toThrow("appear in more than one parameter group");
    expect(refused([["a", a], b])).toThrow("Some param names are missing");
    expect(refused([{ params: [["a", a]] }, { params: [b] }])).toThrow("cannot add param group without names");
    expect(refused([a], { nesterov: true })).toThrow("Nesterov momentum requires a momentum and zero dampening");
    expect(refused([a], { lr: float(-1) })).toThrow("Invalid learning rate: -1.0");
    expect(refused([a], { learningRate: 1 })).toThrow("learningRate");
    expect(refused([a], { fused: true, foreach: true })).toThrow("cannot be `True` together");
    const adam = (options: object) => () => new optim.Adam([a], options);
    expect(adam({ betas: [0.9, 1] })).toThrow("Invalid beta parameter at index 1: 1");
    expect(adam({ lr: tensor([1, 2]) })).toThrow("Tensor lr must be 1-element");
  });

  test("text", () => {
    const optimizer = new optim.SGD([["w", parameter(1)]], { lr: float(1) as never });
    expect(String(optimizer)).toBe(
      "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n" +
        "    lr: 1.0\n    maximize: False\n    momentum: 0\n    nesterov: False\n    param_names: ['w']\n" +
        "    weight_decay: 0\n)",
    );
  });
});

describe("steps", () => {
  test("leave parameters without gradients, and clear gradients", () => {
    const [a, b] = [parameter(1), parameter(1)];
    const optimizer = new optim.AdamW([a, b]);
    stepOnce(optimizer, a);
    expect(b.item()).toBe(1);
    expect(optimizer.state.has(b)).toBe(false);
    optimizer.zeroGrad({ setToNone: false });
    expect(a.grad?.tolist()).toEqual([0]);
    optimizer.zeroGrad();
    expect(a.grad).toBeNull();
  });

  test("call hooks in order, and a closure with gradients recorded", () => {
    const p = parameter(4);
    const optimizer = new optim.SGD([p], { lr: 0.125 });
    const seen: string[] = [];
    const handle = optimizer.registerStepPreHook(() => void seen.push("pre"));
    optimizer.registerStepPostHook((one) => void seen.push(`post ${one === optimizer}`));
    const loss = noGrad(() =>
      optimizer.step(() => {
        seen.push("closure");
        optimizer.zeroGrad();
        const value = p.square().sum();
        value.backward();
        return value.item();
      }),
    );
    expect([loss, p.item()]).toEqual([16, 3]);
    handle.remove();
    optimizer.step();
    expect(seen).toEqual(["pre", "closure", "post true", "post true"]);
  });

  test("of a class of one's own have hooks, too", () => {
    class Descent extends optim.Optimizer {
      override step(): void {
        noGrad(() => {
          for (const { params } of this.paramGroups) for (const p of params) if (p.grad !== null) p.sub_(p.grad);
        });
      }
    }
    const p = parameter(3);
    const optimizer = new Descent([p], {});
    let calls = 0;
    optimizer.registerStepPostHook(() => void calls++);
    stepOnce(optimizer, p);
    expect([p.item(), calls]).toEqual([2, 1]);
  });

  test("made in a scope leave their state", () => {
    for (const make of [
      (p: Tensor[]) => new optim.AdamW(p, { amsgrad: true }),
      (p: Tensor[]) => new optim.SGD(p, { momentum: 0.9 }),
      (p: Tensor[]) => new optim.RMSprop(p, { momentum: 0.9, centered: true }),
      (p: Tensor[]) => new optim.Adagrad(p),
      (p: Tensor[]) => new optim.SGD(p, { momentum: 0.9, lr: tensor(0.1) }),
    ]) {
      const model = new nn.Linear(40, 30);
      const optimizer = make(model.parameters());
      for (let i = 0; i < 3; i++) {
        scope(() => {
          optimizer.zeroGrad();
          model(randn(5, 40)).sum().backward();
          optimizer.step();
        });
      }
      for (const state of optimizer.state.values()) {
        for (const t of Object.values(state)) expect(Number.isFinite((t as Tensor).sum().item())).toBe(true);
      }
    }
  });

  test("can be differentiated", () => {
    const lr = tensor(0.5, { requiresGrad: true });
    const p = tensor([2, 3], { requiresGrad: true }).clone();
    p.retainGrad();
    const optimizer = new optim.SGD([p], { lr, differentiable: true });
    p.grad = tensor([1, 2]);
    optimizer.step();
    p.sum().backward();
    expect(lr.grad?.item()).toBe(-3);
  });

  test("the way by a graph on a GPU is refused elsewhere", () => {
    const p = parameter(1);
    const optimizer = new optim.Adam([p], { capturable: true });
    expect(() => stepOnce(optimizer, p)).toThrow("If capturable=True, params and state_steps must be on supported");
  });
});

describe("state", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "zensor-optim-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("goes through a file, and on as if nothing had happened", () => {
    const file = join(folder, "state.pt");
    const [a, b] = [parameter(1, 2), parameter(1, 2)];
    const first = new optim.AdamW([a], { lr: 0.1, amsgrad: true });
    stepOnce(first, a);
    save(first.stateDict(), file);
    const second = new optim.AdamW([b], { amsgrad: true });
    noGrad(() => b.copy_(a));
    second.loadStateDict(load(file) as optim.OptimizerState);
    for (const [one, p] of [
      [first, a],
      [second, b],
    ] as const) {
      stepOnce(one, p);
    }
    expect(b.equal(a)).toBe(true);
    expect(second.paramGroups[0]?.lr).toBe(0.1);
    expect(second.state.get(b)?.step.item()).toBe(2);
  });

  test("from Python", () => {
    const file = join(import.meta.dir, "../fixtures/optim/adamw-scheduler.pt");
    const saved = load(file) as { optimizer: optim.OptimizerState; scheduler: optim.lrScheduler.SchedulerState };
    const p = parameter(0, 0);
    const optimizer = new optim.AdamW([p], { lr: 1 });
    const scheduler = new optim.lrScheduler.CosineAnnealingLR(optimizer, 10);
    optimizer.loadStateDict(saved.optimizer);
    scheduler.loadStateDict(saved.scheduler);
    expect([optimizer.paramGroups[0]?.lr, scheduler.lastEpoch]).toEqual([0.3969463130731183, 3]);
    noGrad(() => p.copy_(tensor([0.25, 0.5])));
    stepOnce(optimizer, p);
    expect((p.tolist() as number[]).map((x) => Number(x.toFixed(6)))).toEqual([-0.134467, 0.739336]);
    scheduler.step();
    expect(scheduler.getLastLr()[0]).toBeCloseTo(0.32725424859373686, 12);
  });

  test("that does not fit is refused before anything changes", () => {
    const p = parameter(1);
    const optimizer = new optim.SGD([p], { lr: 0.5 });
    const { state, param_groups } = optimizer.stateDict();
    const twice = { state, param_groups: [...param_groups, ...param_groups] };
    expect(() => optimizer.loadStateDict(twice)).toThrow("a different number of parameter groups");
    const longer = { state, param_groups: [{ ...(param_groups[0] as optim.SavedGroup), params: [0, 1], lr: 9 }] };
    expect(() => optimizer.loadStateDict(longer)).toThrow("doesn't match the size of optimizer's group");
    expect(optimizer.paramGroups[0]?.lr).toBe(0.5);
  });

  test("keys of objects are numbers, too", () => {
    const p = parameter(1);
    const optimizer = new optim.SGD([p], { momentum: 0.5, lr: 1 });
    const { param_groups } = optimizer.stateDict();
    optimizer.loadStateDict({ state: { 0: { momentum_buffer: tensor([4]) } }, param_groups });
    stepOnce(optimizer, p);
    expect(p.item()).toBe(-2);
  });

  test("hooks see it", () => {
    const optimizer = new optim.SGD([parameter(1)]);
    optimizer.registerStateDictPostHook((_, state) => ({ ...state, note: 1 }));
    optimizer.registerLoadStateDictPreHook((_, { note, ...state }) => {
      expect(note).toBe(1);
      return state as optim.OptimizerState;
    });
    const order: string[] = [];
    optimizer.registerStateDictPreHook(() => void order.push("second"));
    optimizer.registerStateDictPreHook(() => void order.push("first"), { prepend: true } as never);
    optimizer.registerLoadStateDictPostHook(() => void order.push("loaded"));
    optimizer.loadStateDict(optimizer.stateDict());
    expect(order).toEqual(["first", "second", "loaded"]);
  });
});
