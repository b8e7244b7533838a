// Rows of seed 003: in-place operators, shallow and deep copies, and what autograd makes of them.
import assert from "node:assert/strict";
import {
  add,
  cuda,
  type Device,
  device,
  float,
  fromTypedArray,
  manualSeed,
  nn,
  print,
  randn,
  type Tensor,
  tensor,
} from "../../src/index.ts";
import { type BaseScope, defineSeed } from "./row.ts";

const { functional: F } = nn;

interface Scope extends BaseScope {
  numbers: Float64Array;
  a: Tensor;
  a_: Tensor;
  b: Tensor;
  c: Tensor;
  x: Tensor;
  y: Tensor;
  z: Tensor;
  cloneX: Tensor;
  detachX: Tensor;
  cloneDetachX: Tensor;
  device: Device;
  memory: readonly [number, number];
}

const MIB = 1024 ** 2;
const ids = "Objects have no address here: identity is ===.";

/** Memory that one ReLU over 10000 x 10000 floats takes, and by how much it raises the peak, in MiB. */
function memoryAllocated(place: Device, inplace: boolean): readonly [number, number] {
  const t = randn(10000, 10000, { device: place });
  // Python has freed by now what nobody uses; here that is the collector's work.
  Bun.gc(true);
  cuda.resetPeakMemoryStats();
  cuda.synchronize();
  const startMax = cuda.maxMemoryAllocated() / MIB;
  const start = cuda.memoryAllocated() / MIB;
  const output = inplace ? F.relu_(t) : F.relu(t);
  cuda.synchronize();
  const endMax = cuda.maxMemoryAllocated() / MIB;
  const end = cuda.memoryAllocated() / MIB;
  output.dispose();
  t.dispose();
  return [end - start, endMax - startMax];
}

function freshXY(s: Scope): void {
  s.x = tensor([1, 2], { dtype: "int64" });
  s.y = tensor([3, 4], { dtype: "int64" });
}

export const seed003 = defineSeed<Scope>("003", [
  {
    line: 50,
    python: "device = torch.device('cuda:0' if torch.cuda.is_available() else \"cpu\")",
    code: (s) => {
      s.device = device(cuda.isAvailable() ? "cuda:0" : "cpu");
      assert.equal(s.device.type, "cuda");
    },
    prints: null,
  },
  {
    line: 53,
    python: "memory_allocated, max_memory_allocated = get_memory_allocated(device, inplace=False)",
    code: (s) => {
      s.memory = memoryAllocated(s.device, false);
    },
    prints: null,
  },
  {
    line: 54,
    python: "print('Allocated memory: {}'.format(memory_allocated))",
    code: (s) => print("Allocated memory:", float(s.memory[0])),
    prints: "Allocated memory: 382.0",
  },
  {
    line: 55,
    python: "print('Allocated max memory: {}'.format(max_memory_allocated))",
    code: (s) => print("Allocated max memory:", float(s.memory[1])),
    prints: "Allocated max memory: 382.0",
  },
  {
    line: 61,
    python: "memory_allocated_inplace, max_memory_allocated_inplace = get_memory_allocated(device, inplace=True)",
    code: (s) => {
      s.memory = memoryAllocated(s.device, true);
    },
    prints: null,
  },
  {
    line: 62,
    python: "print('Allocated memory: {}'.format(memory_allocated_inplace))",
    code: (s) => print("Allocated memory:", float(s.memory[0])),
    prints: "Allocated memory: 0.0",
  },
  {
    line: 63,
    python: "print('Allocated max memory: {}'.format(max_memory_allocated_inplace))",
    code: (s) => print("Allocated max memory:", float(s.memory[1])),
    prints: "Allocated max memory: 0.0",
  },
  {
    line: 96,
    python: "a = np.ones(4)",
    code: (s) => {
      s.numbers = new Float64Array(4).fill(1);
    },
    prints: null,
    reason: "A typed array is what NumPy's array is there: flat numbers in memory.",
  },
  {
    line: 97,
    python: "b = t.from_numpy(a)",
    code: (s) => {
      s.b = fromTypedArray(s.numbers);
    },
    prints: null,
  },
  { line: 98, python: "print(a)", code: (s) => print(s.numbers), prints: "[1. 1. 1. 1.]" },
  {
    line: 99,
    python: "print(b)",
    code: (s) => print(s.b),
    prints: "tensor([1., 1., 1., 1.], dtype=torch.float64)",
  },
  { line: 104, python: "b.add_(1)", code: (s) => s.b.add_(1), prints: null },
  { line: 105, python: "print(a)", code: (s) => print(s.numbers), prints: "[2. 2. 2. 2.]" },
  {
    line: 106,
    python: "print(b)",
    code: (s) => print(s.b),
    prints: "tensor([2., 2., 2., 2.], dtype=torch.float64)",
  },
  {
    line: 118,
    python: "y = y + x; print(id(y) == id_0)",
    code: (s) => {
      freshXY(s);
      const before = s.y;
      s.y = s.y.add(s.x);
      print(s.y === before);
    },
    prints: "False",
    reason: ids,
  },
  {
    line: 126,
    python: "y[:] = y + x; print(id(y) == id_0)",
    code: (s) => {
      freshXY(s);
      const before = s.y;
      s.y.setAt(":", s.y.add(s.x));
      print(s.y === before);
      assert.deepEqual(s.y.tolist(), [4, 6]);
    },
    prints: "True",
    reason: ids,
  },
  {
    line: 131,
    python: "y += x, y.add_(x)",
    code: (s) => {
      freshXY(s);
      const before = s.y;
      s.y = s.y.add_(s.x);
      print(s.y === before);
      assert.deepEqual(s.y.tolist(), [4, 6]);
    },
    prints: "True",
    reason: ids,
  },
  {
    line: 136,
    python: "torch.add(x, y, out=y); print(id(y) == id_0)",
    code: (s) => {
      freshXY(s);
      const before = s.y;
      print(add(s.x, s.y, { out: s.y }) === before);
      assert.deepEqual(s.y.tolist(), [4, 6]);
    },
    prints: "True",
    reason: ids,
  },
  {
    line: 151,
    python: "a = torch.tensor(1.0, requires_grad=True); b = a.clone(); c = a.detach()",
    code: (s) => {
      s.a = tensor(1.0, { requiresGrad: true });
      s.b = s.a.clone();
      s.c = s.a.detach();
    },
    prints: null,
  },
  { line: 154, python: "a.data *= 3", code: (s) => s.a.data.mul_(3), prints: null },
  {
    line: 155,
    python: "b += 1",
    code: (s) => {
      s.b = s.b.add_(1);
    },
    prints: null,
  },
  { line: 157, python: "print(a)", code: (s) => print(s.a), prints: "tensor(3., requires_grad=True)" },
  { line: 158, python: "print(b)", code: (s) => print(s.b), prints: "tensor(2., grad_fn=<AddBackward0>)" },
  { line: 159, python: "print(c)", code: (s) => print(s.c), prints: "tensor(3.)" },
  {
    line: 173,
    python: "a = t.tensor([1.0,2.0], requires_grad=True); b = a.detach()",
    code: (s) => {
      s.a = tensor([1.0, 2.0], { requiresGrad: true });
      s.b = s.a.detach();
    },
    prints: null,
  },
  {
    line: 176,
    python: "print(id(a)); print(id(b))",
    code: (s) => {
      print(s.a === s.b);
      assert.equal(s.a.dataPtr(), s.b.dataPtr());
    },
    prints: "False",
    reason: `${ids} What the two share is their memory.`,
  },
  {
    line: 187,
    python: "a = torch.tensor(1.0, requires_grad=True); a_ = a.clone(); y = a**2; z = a ** 2+a_ * 3; y.backward()",
    code: (s) => {
      s.a = tensor(1.0, { requiresGrad: true });
      s.a_ = s.a.clone();
      s.y = s.a.pow(2);
      s.z = s.a.pow(2).add(s.a_.mul(3));
      s.y.backward();
    },
    prints: null,
  },
  { line: 192, python: "print(a.grad)", code: (s) => print(s.a.grad), prints: "tensor(2.)" },
  { line: 193, python: "z.backward()", code: (s) => s.z.backward(), prints: null },
  {
    line: 194,
    python: "print(a_.grad)",
    code: (s) => print(s.a_.grad),
    prints: "None",
    reason: "With torch's warning about gradients of tensors that are no leaves.",
  },
  { line: 195, python: "print(a.grad)", code: (s) => print(s.a.grad), prints: "tensor(7.)" },
  {
    line: 209,
    python: "torch.manual_seed(0)",
    code: () => {
      manualSeed(0);
    },
    prints: null,
  },
  {
    line: 211,
    python: "x = torch.tensor([1., 2.], requires_grad=True); x.clone(); x.detach(); x.clone().detach()",
    code: (s) => {
      s.x = tensor([1, 2], { requiresGrad: true });
      s.cloneX = s.x.clone();
      s.detachX = s.x.detach();
      s.cloneDetachX = s.x.clone().detach();
    },
    prints: null,
  },
  {
    line: 216,
    python: "f = torch.nn.Linear(2, 1); y = f(x); y.backward()",
    code: (s) => {
      const f = new nn.Linear(2, 1);
      s.y = f(s.x);
      s.y.backward();
    },
    prints: null,
  },
  {
    line: 220,
    python: "print(x.grad)",
    code: (s) => print(s.x.grad),
    prints: "tensor([-0.0053,  0.3793])",
    reason: "The document lost the second space that aligns the columns.",
  },
  { line: 221, python: "print(clone_x.requires_grad)", code: (s) => print(s.cloneX.requiresGrad), prints: "True" },
  { line: 222, python: "print(clone_x.grad)", code: (s) => print(s.cloneX.grad), prints: "None" },
  {
    line: 223,
    python: "print(detach_x.requires_grad)",
    code: (s) => print(s.detachX.requiresGrad),
    prints: "False",
  },
  {
    line: 224,
    python: "print(clone_detach_x.requires_grad)",
    code: (s) => print(s.cloneDetachX.requiresGrad),
    prints: "False",
  },
  {
    line: 238,
    python: "a = torch.tensor(1.0); a_ = a.clone(); a_.requires_grad_(); y = a_ ** 2; y.backward()",
    code: (s) => {
      s.a = tensor(1.0);
      s.a_ = s.a.clone();
      s.a_.requiresGrad_();
      s.y = s.a_.pow(2);
      s.y.backward();
    },
    prints: null,
  },
  { line: 243, python: "print(a.grad)", code: (s) => print(s.a.grad), prints: "None" },
  { line: 244, python: "print(a_.grad)", code: (s) => print(s.a_.grad), prints: "tensor(2.)" },
]);
