// Groups and states that a step cannot compute with are refused before the step writes anything.
import { describe, expect, test } from "bun:test";
import { nn, ones, optim, type Tensor, tensor, zeros } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: wrong values
type Any = any;

const MAKERS: readonly [string, object, string[], string[]][] = [
  ["SGD", { momentum: 0.5 }, ["lr", "momentum", "dampening", "weight_decay"], ["momentum_buffer"]],
  ["Adam", { amsgrad: true }, ["lr", "eps", "weight_decay"], ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]],
  ["AdamW", { weightDecay: 0.5 }, ["lr", "eps", "weight_decay"], ["step", "exp_avg", "exp_avg_sq"]],
  [
    "RMSprop",
    { momentum: 0.5, centered: true },
    ["lr", "alpha", "eps", "weight_decay", "momentum"],
    ["step", "square_avg", "momentum_buffer", "grad_avg"],
  ],
  ["Adagrad", { lrDecay: 0.1 }, ["lr", "lr_decay", "eps", "weight_decay"], ["step", "sum"]],
];

/** An optimiser of two groups after a step; the second group and its state are those to spoil. */
function trained(name: string, options: object) {
  const [a, b] = [new nn.Parameter(ones(2)), new nn.Parameter(ones(2, 3))] as [Tensor, Tensor];
  const optimizer = new (optim as Any)[name]([{ params: [a] }, { params: [b] }], { lr: 0.1, ...options });
  for (const p of [a, b]) p.grad = p.detach().clone();
  optimizer.step();
  const shown = () => String(Bun.inspect([a.tolist(), b.tolist(), optimizer.state.get(a), optimizer.state.get(b)]));
  return { a, b, optimizer, shown };
}

/** Errors of this library say what is wrong; those of the language say where the library went wrong. */
function refused(step: () => unknown, key: string): void {
  let error: Any = null;
  try {
    step();
  } catch (thrown) {
    error = thrown;
  }
  expect([error?.name, error?.code === undefined, String(error?.message).includes(key)]).toEqual([
    expect.stringMatching(/^(TypeError|KeyError|RuntimeError)$/),
    false,
    true,
  ]);
}

const WRONG = [undefined, null, "x", {}, [1], () => 1, Symbol("x"), zeros(0), ones(2), ones(2, 2)];

describe.each(MAKERS)("%s", (name, options, numbers, states) => {
  const pairs = name.startsWith("Adam") && name !== "Adagrad" ? ["betas"] : [];

  test("refuses groups whose numbers are none", () => {
    for (const key of [...numbers, ...pairs]) {
      for (const wrong of key === "betas" ? [...WRONG, [], [0.9], [0.9, "x"], [null, 0.9], [1, 2, 3]] : WRONG) {
        const { optimizer, shown } = trained(name, options);
        if (wrong === undefined) delete optimizer.paramGroups[1][key];
        else optimizer.paramGroups[1][key] = wrong;
        const before = shown();
        refused(() => optimizer.step(), key);
        expect(shown()).toBe(before);
      }
    }
  });

  test("takes numbers in any form", () => {
    for (const key of numbers) {
      const results = [1, 1n, true, tensor(1), tensor([1], { dtype: "int64" })].map((value) => {
        const { b, optimizer } = trained(name, options);
        optimizer.paramGroups[1][key] = value;
        optimizer.step();
        return b.detach();
      });
      for (const got of results) expect(got.allclose(results[0] as Tensor)).toBe(true);
      expect(results[0]?.isfinite().all().item()).toBe(true);
    }
  });

  test("refuses states that are none, and those that cannot be written", () => {
    for (const key of states) {
      const own =
        key === "step" ? [ones(3), tensor(true)] : [ones(1).expand(2, 3), ones(2, 3).long(), ones(3), ones(1)];
      for (const wrong of [...WRONG, ...own]) {
        if (name === "SGD" && (wrong === null || wrong === undefined)) continue;
        const { b, optimizer, shown } = trained(name, options);
        if (wrong === undefined) delete optimizer.state.get(b)[key];
        else optimizer.state.get(b)[key] = wrong;
        const before = shown();
        refused(() => optimizer.step(), wrong instanceof Object && "ndim" in wrong ? "" : key);
        expect(shown()).toBe(before);
      }
    }
    for (const wrong of [null, 3, "x", [1]]) {
      const { b, optimizer, shown } = trained(name, options);
      optimizer.state.set(b, wrong);
      const before = shown();
      refused(() => optimizer.step(), "state of a parameter");
      expect(shown()).toBe(before);
    }
  });

  test("loads no state that is none", () => {
    const { optimizer, shown } = trained(name, options);
    const before = shown();
    const saved = optimizer.stateDict();
    for (const wrong of [null, 3, "x", [1]]) {
      refused(() => optimizer.loadStateDict({ ...saved, state: { 0: {}, 1: wrong } }), "state of a parameter");
      expect(shown()).toBe(before);
    }
    if (name === "SGD") return;
    for (const step of [undefined, null, "x", {}, [1]]) {
      const { step: _, ...rest } = saved.state.get(1);
      const one = step === undefined ? rest : { ...rest, step };
      refused(() => optimizer.loadStateDict({ ...saved, state: { 0: saved.state.get(0), 1: one } }), "step");
      expect(shown()).toBe(before);
    }
    optimizer.loadStateDict({ ...saved, state: { 1: { ...saved.state.get(1), step: 4 } } });
    optimizer.step();
    expect(optimizer.stateDict().state.get(1).step.item()).toBe(5);
  });
});

describe("a schedule goes on", () => {
  const made = () => {
    const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 1 });
    optimizer.step();
    return { optimizer, scheduler: new optim.lrScheduler.LambdaLR(optimizer, (epoch: number) => 0.5 ** epoch) };
  };
  test("with its optimiser, whatever a state says of it", () => {
    for (const wrong of [null, 3, {}, undefined]) {
      const { optimizer, scheduler } = made();
      scheduler.loadStateDict({ ...scheduler.stateDict(), optimizer: wrong });
      scheduler.step();
      expect([optimizer.paramGroups[0]?.lr, scheduler.optimizer === optimizer]).toEqual([0.5, true]);
      expect("optimizer" in scheduler.stateDict()).toBe(false);
    }
  });
  test("by numbers only", () => {
    const wrong = { last_epoch: [null, "x", {}, undefined], base_lrs: [null, 3, "x", [], [null], ["x"], undefined] };
    for (const [key, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { optimizer, scheduler } = made();
        scheduler.loadStateDict({ ...scheduler.stateDict(), [key]: value });
        const isShort = Array.isArray(value) && value.length === 0;
        expect(() => scheduler.step()).toThrow(isShort ? "list index out of range" : key);
        expect(optimizer.paramGroups[0]?.lr).toBe(1);
      }
    }
  });
});
