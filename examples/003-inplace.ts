// In-place operators, shallow and deep copies, and what autograd makes of each.
import { add, cpu, float, fromTypedArray, manualSeed, nn, print, randn, tensor } from "zensor";

/** Memory in MiB that one ReLU over 10000 x 10000 floats takes: at its end, and at the peak. */
function memoryAllocated(inplace: boolean): [number, number] {
  using t = randn(10000, 10000);
  // Python has freed by now what nobody uses; here that is the collector's work.
  Bun.gc(true);
  cpu.resetPeakMemoryStats();
  const peak = cpu.maxMemoryAllocated();
  const before = cpu.memoryAllocated();
  using _output = inplace ? nn.functional.relu_(t) : nn.functional.relu(t);
  return [(cpu.memoryAllocated() - before) / 2 ** 20, (cpu.maxMemoryAllocated() - peak) / 2 ** 20];
}

for (const inplace of [false, true]) {
  const [allocated, peak] = memoryAllocated(inplace);
  print("Allocated memory:", float(allocated));
  print("Allocated max memory:", float(peak));
}

// A tensor over a typed array shares its memory.
const numbers = new Float64Array(4).fill(1);
const shared = fromTypedArray(numbers);
print(numbers);
print(shared);
shared.add_(1);
print(numbers);
print(shared);

// add makes a new tensor; writing through an index, add_ and `out` keep the old one.
const x = tensor([1n, 2n]);
let y = tensor([3n, 4n]);
const first = y;
y = y.add(x);
print(y === first);
const second = y;
y.setAt(":", y.add(x));
print(y === second);
print(add(x, y, { out: y }) === second);

// clone is a deep copy that autograd follows; detach shares memory and is left out of the graph.
{
  const a = tensor(1.0, { requiresGrad: true });
  const b = a.clone();
  const c = a.detach();
  a.data.mul_(3);
  b.add_(1);
  print(a);
  print(b);
  print(c);
}

// Gradients flow through a clone to the original; the clone itself keeps none.
{
  const a = tensor(1.0, { requiresGrad: true });
  const clone = a.clone();
  a.pow(2).backward();
  print(a.grad);
  a.pow(2).add(clone.mul(3)).backward();
  print(a.grad);
}

{
  manualSeed(0);
  const input = tensor([1, 2], { requiresGrad: true });
  const clone = input.clone();
  const detached = input.detach();
  const f = new nn.Linear(2, 1);
  f(input).backward();
  print(input.grad);
  print(clone.requiresGrad);
  print(detached.requiresGrad);
  print(input.clone().detach().requiresGrad);
}

// A clone of a tensor without gradients can be the start of a graph.
{
  const a = tensor(1.0);
  const start = a.clone().requiresGrad_();
  start.pow(2).backward();
  print(a.grad);
  print(start.grad);
}
