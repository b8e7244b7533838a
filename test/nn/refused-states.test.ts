// What is refused changes nothing: states that do not fit, options out of range, schedules of what is no optimiser.
import { describe, expect, test } from "bun:test";
import { errors, nn, ones, optim, type Tensor, tensor, zeros } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: wrong arguments of all kinds
type Any = any;
const L = optim.lrScheduler as Any;
const params = (count = 1) => Array.from({ length: count }, () => new nn.Parameter(ones(2)));

describe("a module's state that does not fit changes nothing", () => {
  const made = () => new nn.Sequential(new nn.Linear(2, 2), new nn.BatchNorm1d(2));
  const texts = (m: nn.Module) => Object.entries(m.stateDict()).map(([key, t]) => `${key} ${t}`);
  const good = (): Record<string, Any> => new nn.Sequential(new nn.Linear(2, 2), new nn.BatchNorm1d(2)).stateDict();
  const wrong: readonly [string, (state: Record<string, Any>) => void, string][] = [
    ["another size", (s) => void (s["1.weight"] = ones(3)), "size mismatch for 1.weight"],
    ["an entry that is missing", (s) => void delete s["1.bias"], 'Missing key(s) in stateDict: "1.bias"'],
    ["an entry too many", (s) => void (s.other = ones(1)), 'Unexpected key(s) in stateDict: "other"'],
    ["no tensor", (s) => void (s["1.running_var"] = [1, 2]), "expected torch.Tensor or Tensor-like object"],
  ];
  for (const assign of [false, true]) {
    for (const [what, spoil, text] of wrong) {
      test(`${what}${assign ? ", assigned" : ""}`, () => {
        const [model, state] = [made(), good()];
        state["0.weight"] = ones(2, 2).mul(7);
        spoil(state);
        const before = texts(model);
        expect(() => model.loadStateDict(state, { assign })).toThrow(text);
        expect(texts(model)).toEqual(before);
      });
    }
  }
  test("what is lacking is no error without `strict`, another size is", () => {
    const model = made();
    expect(model.loadStateDict({ "0.bias": ones(2) }, { strict: false }).missingKeys).toContain("0.weight");
    expect(() => model.loadStateDict({ "0.bias": ones(2).mul(3), "0.weight": ones(3) }, { strict: false })).toThrow(
      "size mismatch for 0.weight",
    );
    expect((model.stateDict() as Any)["0.bias"].tolist()).toEqual([1, 1]);
  });
});

const groupsOf = (o: optim.Optimizer) => JSON.stringify(o.paramGroups.map(({ params: _, ...rest }) => rest));

describe("a schedule that is refused leaves the optimiser as it was", () => {
  const sgd = () => new optim.SGD(params(), { lr: 0.5, momentum: 0.9 });
  const refused: readonly [string, (o: Any) => unknown, string][] = [
    ["StepLR", (o) => new L.StepLR(o, 0), "ZeroDivisionError: integer modulo by zero: step_size is 0"],
    ["CosineAnnealingLR", (o) => new L.CosineAnnealingLR(o, 0), "ZeroDivisionError: integer modulo by zero"],
    ["CyclicLR, its steps", (o) => new L.CyclicLR(o, 0.1, 0.2, { stepSizeUp: 0 }), "ZeroDivisionError"],
    ["CyclicLR, upwards", (o) => new L.CyclicLR(o, 0.1, 0.2, { stepSizeUp: 0, stepSizeDown: 3 }), "ZeroDivisionError"],
    ["CyclicLR, its mode", (o) => new L.CyclicLR(o, 0.1, 0.2, { mode: "x" }), "mode is invalid and scale_fn is None"],
    ["CyclicLR, its function", (o) => new L.CyclicLR(o, 0.1, 0.2, { scaleFn: 3 }), "'int' object is not callable"],
    ["CyclicLR, its rates", (o) => new L.CyclicLR(o, 0.1, [1, 2]), "max_lr must have the same length"],
    ["CyclicLR, its momenta", (o) => new L.CyclicLR(o, 0.1, 0.2, { baseMomentum: [1, 2] }), "base_momentum must"],
    ["OneCycleLR, its momenta", (o) => new L.OneCycleLR(o, 1, { totalSteps: 3, maxMomentum: [1, 2] }), "max_momentum"],
    ["OneCycleLR, its divisor", (o) => new L.OneCycleLR(o, 1, { totalSteps: 3, divFactor: 0 }), "ZeroDivisionError"],
    ["OneCycleLR, its rates", (o) => new L.OneCycleLR(o, [1, 2], { totalSteps: 3 }), "max_lr must have"],
    ["LambdaLR", (o) => new L.LambdaLR(o, 3), "'int' object is not callable"],
    ["LambdaLR, too few", (o) => new L.LambdaLR(o, []), "Expected 1 lr_lambdas, but got 0"],
    ["MultiplicativeLR", (o) => new L.MultiplicativeLR(o, "x"), "lr_lambda should be a function, but got str"],
    ["LinearLR", (o) => new L.LinearLR(o, { startFactor: 0 }), "Starting multiplicative factor"],
    ["SequentialLR", (o) => new L.SequentialLR(o, [], []), "expects at least one scheduler"],
    ["ReduceLROnPlateau", (o) => new L.ReduceLROnPlateau(o, { factor: 1 }), "Factor should be < 1.0."],
    ["a step that is too far", (o) => new L.StepLR(o, 2, { lastEpoch: 3 }), "param 'initial_lr' is not specified"],
  ];
  for (const [name, make, text] of refused) {
    test(name, () => {
      const optimizer = sgd();
      const before = groupsOf(optimizer);
      expect(() => make(optimizer)).toThrow(text);
      expect(groupsOf(optimizer)).toBe(before);
    });
  }
  test("of what is no optimiser", () => {
    const wrong = [null, 3, "x", params(), new nn.Linear(1, 1), optim.SGD];
    const names = ["NoneType", "int", "str", "list", "Linear", "Function"];
    const makers: ((o: Any) => unknown)[] = [
      (o) => new L.StepLR(o, 2),
      (o) => new L.LambdaLR(o, () => 1),
      (o) => new L.MultiStepLR(o, [1]),
      (o) => new L.CosineAnnealingLR(o, 3),
      (o) => new L.CyclicLR(o, 0.1, 0.2),
      (o) => new L.OneCycleLR(o, 0.1, { totalSteps: 3 }),
      (o) => new L.ReduceLROnPlateau(o),
      (o) => new L.PolynomialLR(o),
    ];
    for (const make of makers) {
      for (const [i, one] of wrong.entries()) expect(() => make(one)).toThrow(`${names[i]} is not an Optimizer`);
    }
    for (const one of wrong) {
      expect(() => new L.SequentialLR(one, [new L.StepLR(sgd(), 2)], [])).toThrow(errors.ValueError);
      expect(() => new L.ChainedScheduler([one])).toThrow("should have `optimizer` as its attribute");
    }
  });
});

describe("a step that is refused", () => {
  test("of a schedule counts nothing", () => {
    const optimizer = new optim.SGD(params(), { lr: 1, momentum: 0.5 });
    const cycle = new L.OneCycleLR(optimizer, 1, { totalSteps: 2 });
    const run = () => {
      optimizer.step();
      cycle.step();
    };
    run();
    run();
    const before = JSON.stringify(cycle.stateDict());
    expect(run).toThrow("Tried to step 3 times");
    expect(JSON.stringify(cycle.stateDict())).toBe(before);
    const plateau = new L.ReduceLROnPlateau(optimizer);
    for (const [metrics, text] of [
      ["x", "could not convert string to float: 'x'"],
      [[1], "float() argument must be a string or a real number, not 'list'"],
      [ones(2), "a Tensor with 2 elements cannot be converted to Scalar"],
    ] as const) {
      expect(() => plateau.step(metrics)).toThrow(text);
      expect(plateau.lastEpoch).toBe(0);
    }
    plateau.step("0.5");
    expect(plateau.lastEpoch).toBe(1);
  });
  test("divides by nothing that a state brought", () => {
    const scheduler = new L.StepLR(new optim.SGD(params(), { lr: 1 }), 2);
    scheduler.loadStateDict({ ...scheduler.stateDict(), step_size: 0 });
    expect(() => scheduler.step()).toThrow("ZeroDivisionError");
    expect(scheduler.lastEpoch).toBe(0);
  });
});

describe("a schedule's state", () => {
  test("is a dictionary", () => {
    const scheduler = new L.StepLR(new optim.SGD(params(), { lr: 1 }), 2);
    for (const one of [3, null, "x"]) expect(() => scheduler.loadStateDict(one)).toThrow("object is not iterable");
    scheduler.loadStateDict(new Map([["gamma", 0.5]]));
    expect(scheduler.stateDict().gamma).toBe(0.5);
  });
  test("has those of the schedules that it joins", () => {
    const optimizer = new optim.SGD(params(), { lr: 1 });
    const scheduler = new L.SequentialLR(optimizer, [new L.StepLR(optimizer, 2)], []);
    const before = JSON.stringify(scheduler.stateDict());
    const wrong: readonly [unknown, string][] = [
      [{ last_epoch: 7 }, "'_schedulers'"],
      [{ last_epoch: 7, _schedulers: 3 }, "'int' object is not iterable"],
      [{ last_epoch: 7, _schedulers: [{}, {}] }, "list index out of range"],
      [{ last_epoch: 7, _schedulers: [3] }, "'int' object is not iterable"],
    ];
    for (const [state, text] of wrong) expect(() => scheduler.loadStateDict(state)).toThrow(text);
    expect(JSON.stringify(scheduler.stateDict())).toBe(before);
    expect(() => new L.LambdaLR(optimizer, () => 1).loadStateDict({})).toThrow("'lr_lambdas'");
  });
});

const OPTIMIZERS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"] as const;

describe.each(OPTIMIZERS)("%s", (name) => {
  const make = (given: Any, options: object = {}) => new (optim as Any)[name](given, { lr: 0.1, ...options });
  test("takes parameters only", () => {
    const p = params()[0] as Tensor;
    const wrong: readonly [unknown, string][] = [
      [
        p,
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
      ],
      [[], "optimizer got an empty parameter list"],
      [(function* () {})(), "optimizer got an empty parameter list"],
      [null, "'NoneType' object is not iterable"],
      [3, "'int' object is not iterable"],
      [[1], "optimizer can only optimize Tensors, but one of the params is int"],
      [[[p]], "optimizer can only optimize Tensors, but one of the params is list"],
      [[p.mul(1)], "can't optimize a non-leaf Tensor"],
      [[{ lr: 1 }], "'params'"],
      [[{ params: 3 }], "'int' object is not iterable"],
      [[p, { params: [p] }], "optimizer can only optimize Tensors, but one of the params is dict"],
      [[{ params: [p] }, p], "param_group must be a dict"],
      [[{ params: [p] }, { params: [p] }], "some parameters appear in more than one parameter group"],
      [[["a", p], params()[0]], "Some param names are missing"],
    ];
    for (const [given, text] of wrong) expect(() => make(given)).toThrow(text);
  });
  test("looks at its options", () => {
    for (const lr of [-1, tensor(-1)]) expect(() => make(params(), { lr })).toThrow("Invalid learning rate: -1");
    expect(() => make(params(), { lr: ones(2) })).toThrow("Tensor lr must be 1-element");
    for (const lr of [null, "x"]) expect(() => make(params(), { lr })).toThrow(errors.TypeError);
    expect(() => make(params(), { weightDecay: -1 })).toThrow("Invalid weight_decay value: -1");
    expect(() => make(params(), { bogus: 1 })).toThrow("unexpected keyword argument 'bogus'");
    if (!name.startsWith("Adam")) return;
    expect(() => make(params(), { betas: [0.5] })).toThrow("tuple index out of range");
    expect(() => make(params(), { betas: [0.5, 1] })).toThrow("Invalid beta parameter at index 1: 1");
    expect(() => make(params(), { eps: -1 })).toThrow("Invalid epsilon value: -1");
  });
  test("takes over no state that does not fit", () => {
    const optimizer = make(params(2), { weightDecay: 0.5 });
    for (const p of optimizer.paramGroups[0].params) p.grad = ones(2);
    optimizer.step();
    const state = optimizer.stateDict();
    const shown = () => String(Bun.inspect(optimizer.stateDict().state)) + groupsOf(optimizer);
    const before = shown();
    const group = { ...state.param_groups[0], lr: 7 };
    const wrong: readonly [unknown, string][] = [
      [{ ...state, param_groups: [] }, "loaded state dict has a different number of parameter groups"],
      [{ ...state, param_groups: [{ ...group, params: [0] }] }, "doesn't match the size of optimizer's group"],
      [{ param_groups: [group] }, "'state'"],
      [{ state: {} }, "'param_groups'"],
      [{ ...state, param_groups: [3] }, "'params'"],
      [null, "'param_groups'"],
    ];
    for (const [given, text] of wrong) {
      expect(() => optimizer.loadStateDict(given)).toThrow(text);
      expect(shown()).toBe(before);
    }
  });
  test("makes no step with a state of another size", () => {
    const p = new nn.Parameter(zeros(2));
    const more = { momentum: 0.9, ...(name === "RMSprop" ? { centered: true } : {}) };
    const optimizer = make([p], name === "SGD" || name === "RMSprop" ? more : {});
    p.grad = ones(2);
    optimizer.step();
    const state = optimizer.stateDict();
    for (const [key, value] of Object.entries(state.state.get(0) as Record<string, Any>)) {
      if (value?.ndim === 1) state.state.get(0)[key] = ones(3);
    }
    optimizer.loadStateDict(state);
    const before = p.tolist();
    expect(() => optimizer.step()).toThrow("The size of tensor a (2) must match the size of tensor b (3)");
    expect(p.tolist()).toEqual(before);
  });
});
