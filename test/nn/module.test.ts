// Modules: what is registered, the state, hooks, copies, moves, and the errors of each.
import { expect, test } from "bun:test";
import { type errors, manualSeed, nn, noGrad, ones, type Tensor, tensor, zeros } from "../../src/index.ts";

class Net extends nn.Module {
  linear = new nn.Linear(2, 1);
  scale: nn.Parameter;
  declare mean: Tensor;
  declare scratch: Tensor;

  constructor() {
    super();
    this.registerBuffer("mean", zeros(2));
    this.registerBuffer("scratch", zeros(1), { persistent: false });
    this.scale = new nn.Parameter(ones(2));
    this.registerParameter("none", null);
  }
  override forward(x: Tensor): Tensor {
    return this.linear(x).mul(this.scale);
  }
}

function errorOf(body: () => unknown): Pick<errors.RuntimeError, "name" | "message"> {
  try {
    body();
  } catch (error) {
    return error as Error;
  }
  throw new Error("no error");
}

const names = (list: [string, unknown][]) => list.map(([name]) => name);

test("an instance is called, and is an instance of its classes", () => {
  const net = new Net();
  expect(typeof net).toBe("function");
  expect(net instanceof Net && net instanceof nn.Module).toBe(true);
  expect(net(ones(3, 2)).shape).toEqual([3, 2] as never);
});

test("names of parameters, buffers and modules, in torch's order", () => {
  const net = new Net();
  expect(names(net.namedParameters())).toEqual(["scale", "linear.weight", "linear.bias"]);
  expect(names(net.namedBuffers())).toEqual(["mean", "scratch"]);
  expect(names(net.namedModules())).toEqual(["", "linear"]);
  expect(names(net.namedChildren())).toEqual(["linear"]);
  expect(Object.keys(net.stateDict())).toEqual(["scale", "mean", "linear.weight", "linear.bias"]);
  expect(Object.keys(net.stateDict({ prefix: "net." }))[0]).toBe("net.scale");
  const layer = new nn.TransformerEncoderLayer(4, 2, 8);
  expect(names(layer.namedParameters())).toEqual([
    "self_attn.in_proj_weight",
    "self_attn.in_proj_bias",
    "self_attn.out_proj.weight",
    "self_attn.out_proj.bias",
    ...["linear1", "linear2", "norm1", "norm2"].flatMap((name) => [`${name}.weight`, `${name}.bias`]),
  ]);
});

test("a parameter that two modules share is listed once", () => {
  const a = new nn.Linear(2, 2);
  const b = new nn.Linear(2, 2);
  b.weight = a.weight;
  const both = new nn.Sequential(a, b);
  expect(names(both.namedParameters())).toEqual(["0.weight", "0.bias", "1.bias"]);
  expect(names(both.namedParameters("", true, false))).toEqual(["0.weight", "0.bias", "1.weight", "1.bias"]);
  expect(Object.keys(both.stateDict()).length).toBe(4);
});

test("sizes below zero are refused before anything is made", () => {
  const wrong: [() => unknown, string][] = [
    [() => new nn.Linear(-1, 2), "-1: [2, -1]"],
    [() => new nn.Linear(2, -3), "-3: [-3, 2]"],
    [() => new nn.LayerNorm(-1), "-1: [-1]"],
    [() => new nn.LayerNorm([2, -3]), "-3: [2, -3]"],
    [() => new nn.PReLU(-1), "-1: [-1]"],
  ];
  for (const [make, sizes] of wrong) expect(make).toThrow(`Trying to create tensor with negative dimension ${sizes}`);
});

test("train, eval, apply and requiresGrad_ reach everything inside", () => {
  const net = new nn.Sequential(new Net(), new nn.Dropout(0.5));
  expect(net.training).toBe(true);
  expect(net.eval()).toBe(net);
  expect(net.modules().map((m) => m.training)).toEqual(net.modules().map(() => false));
  net.train();
  expect(net.modules().every((m) => m.training)).toBe(true);
  const seen: string[] = [];
  net.apply((m) => seen.push(m.constructor.name));
  expect(seen).toEqual(["Linear", "Net", "Dropout", "Sequential"]);
  net.requiresGrad_(false);
  expect(net.parameters().some((p) => p.requiresGrad)).toBe(false);
  expect(errorOf(() => net.train(3 as never))).toMatchObject({ message: "training mode is expected to be boolean" });
});

test("dropout works only while training", () => {
  const dropout = new nn.Dropout(1);
  expect(dropout(ones(3)).tolist()).toEqual([0, 0, 0]);
  expect(dropout.eval()(ones(3)).tolist()).toEqual([1, 1, 1]);
});

test("dropout of complex numbers draws one real number for each", () => {
  manualSeed(0);
  const wanted = nn.functional.dropout(ones(20), 0.5).tolist();
  for (const [dtype, inplace] of [
    ["complex64", false],
    ["complex128", false],
    ["complex64", true],
  ] as const) {
    manualSeed(0);
    const made = nn.functional.dropout(ones(20, { dtype }), 0.5, true, inplace);
    expect([String(made.dtype), made.abs().tolist()]).toEqual([`torch.${dtype}`, wanted]);
  }
});

test("gradients, and zeroGrad", () => {
  manualSeed(0);
  const net = new nn.Sequential(new nn.Linear(3, 4), new nn.ReLU(), new nn.Linear(4, 2, { bias: false }));
  const first = net.at(0) as nn.Linear;
  const y = net(ones(2, 3)) as Tensor;
  expect(String(y)).toBe("tensor([[-0.0533, -0.0162],\n        [-0.0533, -0.0162]], grad_fn=<MmBackward0>)");
  y.sum().backward();
  expect((first.weight.grad as Tensor).at(2).tolist()).toEqual([0, 0, 0].fill(expect.closeTo(-0.8837, 4)));
  net.zeroGrad({ setToNone: false });
  expect((first.weight.grad as Tensor).tolist()).toEqual(zeros(4, 3).tolist());
  net.zeroGrad();
  expect(first.weight.grad).toBe(null);
});

test("hooks run around forward, change values, and are removed", () => {
  const net = new nn.Identity();
  const seen: unknown[] = [];
  const before = net.registerForwardPreHook((_, args) => {
    seen.push(["pre", args.length]);
    return [(args[0] as Tensor).add(1)];
  });
  const after = net.registerForwardHook((module, args, output) => {
    seen.push(["post", module === net, (args[0] as Tensor).item()]);
    return (output as Tensor).mul(10);
  });
  expect(net(tensor(1)).item()).toBe(20);
  expect(seen).toEqual([
    ["pre", 1],
    ["post", true, 2],
  ]);
  before.remove();
  expect(net(tensor(1)).item()).toBe(10);
  after.remove();
  expect(net(tensor(1)).item()).toBe(1);
});

test("a hook that must always run does so when forward throws", () => {
  const linear = new nn.Linear(2, 2);
  let calls = 0;
  linear.registerForwardHook(() => void calls++);
  linear.registerForwardHook(() => void calls++, { alwaysCall: true });
  const text = "addmm: mat1 and mat2 shapes cannot be multiplied (3x3 and 2x2)";
  expect(errorOf(() => linear(ones(3, 3))).message).toContain(text.slice(7));
  expect(calls).toBe(1);
});

test("a copy shares nothing, and keeps what is tied tied", () => {
  const linear = new nn.Linear(2, 2);
  const net = new nn.Sequential(linear, linear);
  const copy = nn.deepcopy(net);
  expect(copy).not.toBe(net);
  expect(copy.at(0)).toBe(copy.at(1));
  const [ours, theirs] = [linear.weight, (copy.at(0) as nn.Linear).weight];
  expect(theirs instanceof nn.Parameter && theirs.requiresGrad && theirs.isLeaf).toBe(true);
  expect(theirs.equal(ours)).toBe(true);
  noGrad(() => theirs.zero_());
  expect(ours.eq(0).all().item()).toBe(false);
});

test("to changes floating point parameters in place, and leaves integer buffers", () => {
  const net = new nn.Linear(2, 2);
  net.registerBuffer("count", tensor(3, { dtype: "int64" }));
  const weight = net.weight;
  expect(net.to("float64")).toBe(net);
  expect(net.weight).toBe(weight);
  expect([String(weight.dtype), weight.isLeaf, weight.requiresGrad]).toEqual(["torch.float64", true, true]);
  expect(String((net as unknown as { count: Tensor }).count.dtype)).toBe("torch.int64");
  expect(String(net.half().weight.dtype)).toBe("torch.float16");
  expect(errorOf(() => net.to("int64"))).toMatchObject({
    name: "TypeError",
    message: "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64",
  });
});

test("a state is loaded; what does not fit is named", () => {
  const net = new Net();
  const other = new Net();
  expect(String(net.loadStateDict(other.stateDict()))).toBe("<All keys matched successfully>");
  expect(net.linear.weight.equal(other.linear.weight)).toBe(true);
  expect(String(net.loadStateDict({ scale: ones(2) }, { strict: false }))).toBe(
    "_IncompatibleKeys(missing_keys=['mean', 'linear.weight', 'linear.bias'], unexpected_keys=[])",
  );
  const head = "Error(s) in loading stateDict for Net:\n\t";
  expect(errorOf(() => net.loadStateDict({ scale: ones(2) })).message).toBe(
    `${head}Missing key(s) in stateDict: "mean", "linear.weight", "linear.bias". `,
  );
  expect(errorOf(() => net.loadStateDict({ ...net.stateDict(), extra: ones(1) })).message).toBe(
    `${head}Unexpected key(s) in stateDict: "extra". `,
  );
  expect(errorOf(() => net.loadStateDict({ ...net.stateDict(), scale: ones(3) })).message).toBe(
    `${head}size mismatch for scale: copying a param with shape torch.Size([3]) from checkpoint, ` +
      "the shape in current model is torch.Size([2]).",
  );
});

// biome-ignore lint/suspicious/noExplicitAny: these calls are wrong on purpose
const any = (x: unknown): any => x;

const WRONG: [(net: Net) => unknown, string][] = [
  [
    (n) => (any(n).linear = ones(1)),
    "cannot assign 'torch.FloatTensor' as child module 'linear' (torch.nn.Module or None expected)",
  ],
  [
    (n) => (any(n).scale = ones(2)),
    "cannot assign 'torch.FloatTensor' as parameter 'scale' (torch.nn.Parameter or None expected)",
  ],
  [(n) => (any(n).mean = 3), "cannot assign 'int' as buffer 'mean' (torch.nn.Buffer, torch.Tensor or None expected)"],
  [(n) => n.registerParameter("a.b", null), `parameter name can't contain "."`],
  [(n) => n.registerParameter("", null), `parameter name can't be empty string ""`],
  [(n) => n.registerParameter("linear", null), "attribute 'linear' already exists"],
  [
    (n) => n.registerParameter("q", any(ones(1))),
    "cannot assign 'torch.FloatTensor' object to parameter 'q' (torch.nn.Parameter or None required)",
  ],
  [(n) => n.addModule("q", any(3)), "int is not a Module subclass"],
  [(n) => n.getSubmodule("x"), "Net has no attribute `x`"],
  [(n) => n.getSubmodule("scale"), "`scale` is not an nn.Module"],
  [(n) => n.getParameter("linear"), "`linear` is not an nn.Parameter"],
  [(n) => n.getParameter("linear.q"), "Linear has no attribute `q`"],
  [() => new nn.Module()(1), 'Module [Module] is missing the required "forward" function'],
  [() => new nn.Sequential(new nn.ReLU()).at(5), "index 5 is out of range"],
  [() => new nn.Dropout(2), "dropout probability has to be between 0 and 1, but got 2"],
  [() => new nn.Parameter(tensor([1n])), "Only Tensors of floating point and complex dtype can require gradients"],
];

for (const [body, message] of WRONG) {
  test(message, () => {
    const net = new Net();
    const before = Object.keys(net.stateDict());
    expect(errorOf(() => body(net)).message).toBe(message);
    expect(Object.keys(net.stateDict())).toEqual(before);
  });
}

test("relu and relu_", () => {
  const x = tensor([-1, 2]);
  expect(nn.functional.relu(x).tolist()).toEqual([0, 2]);
  expect(x.tolist()).toEqual([-1, 2]);
  expect(nn.functional.relu_(x)).toBe(x);
  expect(x.tolist()).toEqual([0, 2]);
  const y = tensor([-3, 4]);
  expect(nn.functional.relu(y, { inplace: true })).toBe(y);
  expect(y.tolist()).toEqual([0, 4]);
  expect(new nn.ReLU(true)(y.sub_(1))).toBe(y);
  expect(y.tolist()).toEqual([0, 3]);
});

test("backward takes its arguments by name or by position", () => {
  const x = tensor([1, 2], { requiresGrad: true });
  x.mul(3).backward({ gradient: tensor([1, 10]) });
  expect((x.grad as Tensor).tolist()).toEqual([3, 30]);
  x.mul(3).backward(tensor([1, 10]), { retainGraph: true });
  expect((x.grad as Tensor).tolist()).toEqual([6, 60]);
  const y = tensor([2], { requiresGrad: true });
  y.pow(3).sum().backward({ createGraph: true });
  (y.grad as Tensor).sum().backward();
  expect((y.grad as Tensor).tolist()).toEqual([24]);
});
