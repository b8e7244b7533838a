// Whose bytes a gradient has: a leaf's own, in the leaf's layout. What was handed to a hook, retained, given or saved
// is not changed by what comes later.
import { expect, test } from "bun:test";
import {
  asStrided,
  autograd,
  Complex,
  cat,
  complex64,
  empty,
  ones,
  rsub,
  stack,
  stdMean,
  type Tensor,
  tensor,
  varMean,
  zeros,
} from "../../src/index.ts";

const leaf = (n = 3, first = 1): Tensor => tensor(Array.from({ length: n }, (_, i) => first + i)).requiresGrad_();

/** Graphs in which gradients are shared, added up, or passed on as they are: results from two leaves. */
const GRAPHS: Record<string, (a: Tensor, b: Tensor) => Tensor> = {
  "a sum": (a, b) => a.add(b),
  "a difference": (a, b) => a.sub(b),
  "a difference the other way round": (a, b) => rsub(a, b).add(a),
  "the same twice": (a, b) => a.add(a).add(b),
  "the same three times": (a, b) => a.add(a).add(a).add(b).add(b),
  "a sum used twice": (a, b) => {
    const s = a.add(b);
    return s.add(s);
  },
  "a sum used three times": (a, b) => {
    const s = a.add(b);
    return s.add(s.mul(2)).add(s);
  },
  "a view passed on": (a, b) => a.view(-1).add(b.view(-1)),
  "two views of one": (a, b) => a.view(3, 1).view(3).add(a.view(3)).add(b),
  "pieces put together": (a, b) => cat([a, b]).narrow(0, 1, 3).add(a),
  "rows stacked": (a, b) => stack([a, b, a]).sum(0).add(b),
  products: (a, b) => a.mul(b).add(a).mul(a),
  "a chain": (a, b) => a.add(0).add(0).add(b.add(0)).add(a),
  broadcast: (a, b) => a.expand(2, 3).add(b).sum(0),
  "a copy beside itself": (a, b) => {
    const c = a.clone();
    return c.add(c.clone()).add(c).add(b);
  },
  branches: (a, b) => {
    const s = a.mul(2);
    const t = s.add(b);
    return t.mul(t).add(s).add(t);
  },
};

const values = (t: Tensor | null): unknown => t?.tolist();

for (const [name, graph] of Object.entries(GRAPHS)) {
  test(`${name}: nobody else has a leaf's gradient`, () => {
    const run = (watch: boolean) => {
      const [a, b] = [leaf(3, 1), leaf(3, 4)];
      const seen: { tensor: Tensor; was: unknown }[] = [];
      const out = graph(a, b);
      if (watch) {
        const hold = (g: Tensor): void => void seen.push({ tensor: g, was: values(g) });
        a.registerHook(hold);
        b.registerHook(hold);
        out.registerHook(hold);
      }
      const given = tensor([1, 10, 100]);
      out.backward(given, { retainGraph: true });
      return { a, b, out, given, seen };
    };
    const plain = run(false);
    const watched = run(true);
    expect(values(watched.a.grad)).toEqual(values(plain.a.grad));
    expect(values(watched.b.grad)).toEqual(values(plain.b.grad));
    for (const { a, b, out, given, seen } of [plain, watched]) {
      for (const { tensor: g, was } of seen) expect(values(g)).toEqual(was);
      expect(values(given)).toEqual([1, 10, 100]);
      const [first, second] = [values(a.grad), values(b.grad)];
      // A second pass adds, and changes nothing that was handed out.
      out.backward(given, { retainGraph: true });
      const twice = (x: unknown): unknown => (x as number[]).map((v) => 2 * v);
      expect([values(a.grad), values(b.grad)]).toEqual([twice(first), twice(second)]);
      for (const { tensor: g, was } of seen) expect(values(g)).toEqual(was);
      expect(values(given)).toEqual([1, 10, 100]);
      a.grad?.fill_(7);
      expect([values(b.grad), values(given)]).toEqual([twice(second), [1, 10, 100]]);
      b.grad?.fill_(8);
      given.fill_(9);
      expect([values(a.grad), values(b.grad)]).toEqual([
        [7, 7, 7],
        [8, 8, 8],
      ]);
    }
  });

  test(`${name}: retained and captured gradients are those of the end`, () => {
    const [a, b] = [leaf(3, 1), leaf(3, 4)];
    const s = a.mul(1);
    s.retainGrad();
    const out = graph(s, b);
    out.retainGrad();
    out.backward(tensor([1, 10, 100]), { retainGraph: true });
    const [first, last] = [values(s.grad), values(out.grad)];
    expect(first).toEqual(values(a.grad));
    expect(last).toEqual([1, 10, 100]);
    const captured = autograd.grad([out], [s, b, out], { gradOutputs: [tensor([1, 10, 100])], retainGraph: true });
    expect(captured.map(values)).toEqual([first, values(b.grad), [1, 10, 100]]);
    const times = (n: number, x: unknown): number[] => (x as number[]).map((v) => n * v);
    expect([values(s.grad), values(out.grad)]).toEqual([times(2, first), times(2, last)]);
    out.backward(tensor([1, 10, 100]), { retainGraph: true });
    expect(values(s.grad)).toEqual(times(3, first));
    captured[0]?.fill_(5);
    expect(values(s.grad)).toEqual(times(3, first));
  });
}

test("a leaf's gradient has the leaf's layout and no flags", () => {
  const layouts = [
    [
      [2, 3],
      [3, 1],
    ],
    [
      [2, 3],
      [1, 2],
    ],
    [
      [3, 2, 2],
      [1, 6, 3],
    ],
    [
      [2, 1, 3],
      [3, 3, 1],
    ],
    [[4], [1]],
  ] as const;
  const uses: ((x: Tensor) => Tensor)[] = [
    (x) => x,
    (x) => x.mul(2),
    (x) => x.t?.() ?? x,
    (x) => x.contiguous().mul(3),
    (x) => x.clone().add(x),
    (x) => x.transpose(0, -1).exp(),
  ];
  for (const [shape, strides] of layouts) {
    for (const use of uses) {
      const x = asStrided(zeros(24), [...shape], [...strides], 0)
        .clone()
        .requiresGrad_();
      if (shape.length !== 2 && use === uses[2]) continue;
      expect(x.stride()).toEqual(strides as never);
      const y = use(x);
      y.backward(ones(y.shape), { retainGraph: true });
      expect(x.grad?.stride()).toEqual(strides as never);
      y.backward(ones([...y.shape].reverse()).permute(...y.shape.map((_, d) => y.shape.length - 1 - d)));
      expect(x.grad?.stride()).toEqual(strides as never);
    }
  }
  const z = ones(2, { dtype: complex64 }).requiresGrad_();
  const given = tensor([new Complex(1, 2), new Complex(3, 4)]);
  z.mul(1).backward(given.conj());
  expect(z.grad?.isConj()).toBe(false);
  expect(String(z.grad?.tolist())).toBe(String(given.conj().resolveConj().tolist()));
});

/** Where the elements of a region lie. */
function places(shape: readonly number[], strides: readonly number[], offset: number): number[] {
  let found = [offset];
  shape.forEach((n, d) => {
    found = found.flatMap((at) => Array.from({ length: n }, (_, i) => at + i * (strides[d] as number)));
  });
  return found;
}

test("the gradient of a strided view goes to the elements that it read", () => {
  const bases = [
    [[6], [1], 0],
    [[2, 3], [3, 1], 0],
    [[2, 3], [1, 2], 2],
    [[3], [2], 1],
    [[2, 2], [4, 1], 3],
    [[1, 3], [9, 1], 0],
  ] as const;
  const views = [
    [[2], [1], 0],
    [[2], [1], 3],
    [[3], [2], 1],
    [[2, 2], [2, 1], 1],
    [[2, 2], [1, 1], 1],
    [[3], [0], 2],
    [[2, 3], [0, 1], 3],
    [[1], [5], 4],
    [[2, 1], [3, 7], 1],
    [[2, 2], [1, 2], 0],
  ] as const;
  for (const [shape, strides, offset] of bases) {
    for (const [size, steps, at] of views) {
      const room = zeros(24);
      const base = asStrided(room, [...shape], [...strides], offset).requiresGrad_();
      const view = asStrided(base, [...size], [...steps], at);
      const weights = view.shape.reduce((a, b) => a * b, 1);
      const given = tensor(Array.from({ length: weights }, (_, i) => i + 1)).view(...size);
      const [got] = autograd.grad([view], [base], { gradOutputs: [given] });
      const sums = new Map<number, number>();
      places(size, steps, at).forEach((place, i) => sums.set(place, (sums.get(place) ?? 0) + i + 1));
      const want = places(shape, strides, offset).map((place) => sums.get(place) ?? 0);
      const text = `${shape}/${strides}+${offset} as ${size}/${steps}+${at}`;
      expect([text, ...((got as Tensor).reshape(-1).tolist() as number[])]).toEqual([text, ...want]);
    }
  }
  const none = empty(0).requiresGrad_();
  expect([
    ...(autograd.grad([asStrided(none, [0], [1], 0)], [none], { gradOutputs: [empty(0)] })[0] as Tensor).shape,
  ]).toEqual([0]);
});

test("deviation and mean, one of them used", () => {
  for (const f of [varMean, stdMean]) {
    const x = tensor([1, 2, 4, 9]).requiresGrad_();
    const [spread, mean] = f(x) as unknown as [Tensor, Tensor];
    const [alone] = autograd.grad([mean], [x], { retainGraph: true });
    expect(values(alone as Tensor)).toEqual([0.25, 0.25, 0.25, 0.25]);
    const [other] = autograd.grad([spread], [x], { retainGraph: true });
    const [both] = autograd.grad([spread.add(mean)], [x]);
    expect(values(both as Tensor)).toEqual(values((other as Tensor).add(0.25)));
    expect((other as Tensor).sum().item()).toBeCloseTo(0, 5);
    expect(((other as Tensor).tolist() as number[])[3]).toBeGreaterThan(0.4);
  }
});

test("short products and sums", () => {
  for (const n of [1, 2, 3]) {
    const x = leaf(n, 2);
    const p = x.cumprod(0);
    const [g] = autograd.grad([p.sum()], [x]);
    const v = x.detach().tolist() as number[];
    const want = v.map((_, i) =>
      v.reduce((s, _w, k) => (k < i ? s : s + v.slice(0, k + 1).reduce((a, b, j) => (j === i ? a : a * b), 1)), 0),
    );
    expect(values(g as Tensor)).toEqual(want);
    const y = leaf(n, 2);
    const [h] = autograd.grad([y.cumsum(0).sum()], [y]);
    expect(values(h as Tensor)).toEqual(v.map((_, i) => n - i));
  }
});
