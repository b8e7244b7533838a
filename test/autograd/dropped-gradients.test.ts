// Gradients that are taken away: their bytes go back at once when nobody outside has had the object, and stay what they
// were for whoever has it.
import { expect, test } from "bun:test";
import { autograd, cpu, full, nn, ones, optim, scope, type Tensor, TensorDict, zeros } from "../../src/index.ts";

const SIZE = 100_000;
const BYTES = 4 * SIZE;

const OTHER = zeros(SIZE);

/** A leaf with a gradient of twos that is nobody else's. */
function withGradient(): Tensor {
  const w = new nn.Parameter(ones(SIZE));
  w.mul(2).sum().backward();
  return w;
}

const WAYS: Record<string, (w: Tensor) => void> = {
  "the attribute": (w) => {
    w.grad = null;
  },
  "another gradient": (w) => {
    w.grad = OTHER;
  },
  "an optimiser": (w) => new optim.SGD([w], { lr: 1 }).zeroGrad(),
  "a module": (w) => {
    const module = new nn.Module() as nn.Module & { w: Tensor };
    module.w = w;
    module.zeroGrad();
  },
  "a dictionary": (w) => void new TensorDict({ w }, []).zeroGrad(),
};

/** What a program does before, with what it keeps of the gradient. */
const SEEN: Record<string, (w: Tensor) => Tensor> = {
  "it was read": (w) => w.grad as Tensor,
  "a view was made": (w) => (w.grad as Tensor).view([10, -1]),
  "its data was taken": (w) => (w.grad as Tensor).data,
  "it was assigned": (w) => {
    const mine = full([SIZE], 2);
    w.grad = mine;
    return mine;
  },
  "a hook behind the sum read it": (w) => {
    const seen: Tensor[] = [];
    autograd.registerPostAccumulateGradHook(w, (leaf) => void seen.push(leaf.grad as Tensor));
    w.grad = null;
    w.mul(2).sum().backward();
    return seen[0] as Tensor;
  },
  "a hook had it on its way": (w) => {
    const seen: Tensor[] = [];
    w.registerHook((grad) => void seen.push(grad));
    w.grad = null;
    w.mul(2).sum().backward();
    return seen[0] as Tensor;
  },
  "it was given to backward": (w) => {
    const mine = full([SIZE], 2);
    w.grad = null;
    w.backward(mine);
    return mine;
  },
  "it was added up once more": (w) => {
    const seen = w.grad as Tensor;
    w.sum().backward();
    return seen.sub_(1);
  },
  "it is a dictionary's": (w) => new TensorDict({ w }, []).grad?.get("w") as Tensor,
};

for (const [way, drop] of Object.entries(WAYS)) {
  test(`${way}: a gradient that nobody has seen goes back at once`, () => {
    const w = withGradient();
    const before = cpu.memoryAllocated();
    drop(w);
    expect(before - cpu.memoryAllocated()).toBeGreaterThanOrEqual(BYTES - 1024);
    w.mul(3).sum().backward();
    expect((w.grad as Tensor).at(5).item()).toBe(3);
    OTHER.zero_();
  });

  for (const [name, see] of Object.entries(SEEN)) {
    test(`${way}: a gradient stays, since ${name}`, () => {
      const w = withGradient();
      const kept = see(w);
      drop(w);
      // What would lie where its bytes were.
      const others = Array.from({ length: 4 }, () => full([SIZE], 9));
      expect([kept.sum().item(), others.length]).toEqual([2 * SIZE, 4]);
    });
  }
}

test("steps and clipping have not seen it", () => {
  const makers = [
    (w: Tensor[]) => new optim.SGD(w, { lr: 1, momentum: 0.9 }),
    (w: Tensor[]) => new optim.Adam(w),
    (w: Tensor[]) => new optim.RMSprop(w),
    (w: Tensor[]) => new optim.Adagrad(w),
  ];
  for (const make of makers) {
    const w = withGradient();
    const optimizer = make([w]);
    optimizer.step();
    nn.utils.clipGradNorm_([w], 1);
    optimizer.step();
    const before = cpu.memoryAllocated();
    optimizer.zeroGrad();
    expect(before - cpu.memoryAllocated()).toBeGreaterThanOrEqual(BYTES - 1024);
    // Its state is its own.
    w.mul(2).sum().backward();
    optimizer.step();
    expect(w.detach().isfinite().all().item()).toBe(true);
  }
});

test("momentum that began with a gradient keeps its values", () => {
  for (const options of [{}, { weightDecay: 0.5 }, { foreach: false }, { nesterov: true }]) {
    const run = (look: boolean): unknown => {
      const w = withGradient();
      const optimizer = new optim.SGD([w], { lr: 0.5, momentum: 0.5, ...options });
      for (let i = 0; i < 3; i++) {
        if (look) w.grad;
        optimizer.step();
        optimizer.zeroGrad();
        full([SIZE], 9);
        w.mul(2).sum().backward();
      }
      return w.detach().at(7).item();
    };
    expect(run(false)).toBe(run(true) as number);
  }
});

test("in scopes, of this one and of one before", () => {
  const w = new nn.Parameter(ones(SIZE));
  let kept: Tensor | null = null;
  for (let i = 0; i < 4; i++) {
    scope(() => {
      w.grad = null;
      w.mul(2).sum().backward();
      if (i === 1) kept = w.grad;
    });
  }
  expect([w.grad?.sum().item(), (kept as Tensor | null)?.sum().item()]).toEqual([2 * SIZE, 2 * SIZE]);
});

test("of a graph of gradients it stays", () => {
  const w = new nn.Parameter(ones(SIZE));
  w.pow(2).sum().backward({ createGraph: true });
  const loss = (w.grad as Tensor).sum();
  w.grad = null;
  full([SIZE], 9);
  loss.backward();
  expect((w.grad as unknown as Tensor).sum().item()).toBe(2 * SIZE);
});
