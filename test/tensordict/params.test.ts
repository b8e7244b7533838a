// A TensorDict of parameters and buffers, by itself and inside modules.
import { describe, expect, test } from "bun:test";
import { bfloat16, lazyStack, nn, ones, Tensor, TensorDict, TensorDictParams, tensor, zeros } from "../../src/index.ts";

const made = () =>
  new TensorDictParams(new TensorDict({ a: ones(2), inner: { n: tensor([1n]), half: ones(1, { dtype: bfloat16 }) } }));

describe("entries", () => {
  test("become parameters where their dtype allows it, else buffers, in the TensorDict itself", () => {
    const td = new TensorDict({ a: ones(2), inner: { n: tensor([1n]), half: ones(1, { dtype: bfloat16 }) } });
    const a = td.get("a");
    const params = new TensorDictParams(td);
    expect(td.get("a")).toBeInstanceOf(nn.Parameter);
    expect(td.get("a").dataPtr()).toBe(a.dataPtr());
    expect(td.get(["inner", "half"])).toBeInstanceOf(nn.Buffer);
    expect(params.namedParameters().map(([name]) => name)).toEqual(["a"]);
    expect(params.namedBuffers().map(([name]) => name)).toEqual(["inner.n", "inner.half"]);
    expect(new TensorDictParams({ a: ones(2) }, { noConvert: true }).parameters()).toEqual([]);
  });

  test("new ones do so, too, nested ones in a copy", () => {
    const params = made();
    const given = new TensorDict({ w: ones(1) });
    params.set("more", given);
    params.setAt("b", zeros(3));
    params.update({ inner: { c: zeros(1) }, outer: { d: zeros(1) } });
    expect(params.parameters().map((p) => p.numel())).toEqual([2, 1, 3, 1]);
    // As in Python, what is merged into a level that is there stays a tensor.
    expect(params.get(["inner", "c"])).not.toBeInstanceOf(nn.Parameter);
    expect(given.get("w")).not.toBeInstanceOf(nn.Parameter);
    expect(params.pop("b")).toBeInstanceOf(nn.Parameter);
    params.renameKey_("a", "z").del_("more");
    expect(params.keys()).toEqual(["inner", "outer", "z"]);
    expect(() => params.set("self", params)).toThrow("cannot contain itself");
  });

  test("what is wrapped can be locked for others, and the object itself", () => {
    const td = new TensorDict({ a: ones(2) });
    const params = new TensorDictParams(td, { lock: true });
    expect(() => td.set("b", ones(1))).toThrow("Cannot modify locked TensorDict");
    params.set("b", ones(1));
    expect(td.isLocked).toBe(true);
    params.lock_();
    for (const change of [() => params.set("c", ones(1)), () => params.del_("a"), () => params.clear()]) {
      expect(change).toThrow("Cannot modify locked TensorDict");
    }
    params.unlock_();
    expect([params.isLocked, td.isLocked]).toEqual([false, true]);
    expect(params.keys()).toEqual(["a", "b"]);
  });

  test("a change that fails leaves the lock of what is wrapped", () => {
    const td = new TensorDict({ a: ones(2) }, [2]);
    const params = new TensorDictParams(td, { lock: true });
    expect(() => params.set("b", ones(3))).toThrow("batch dimension mismatch");
    expect([td.isLocked, ...params.keys()]).toEqual([true, "a"]);
  });

  test("lazy stacks are refused", () => {
    expect(() => new TensorDictParams(lazyStack([new TensorDict({ a: ones(1) })]))).toThrow("isn't permitted");
  });
});

test("in-place methods write past autograd, arithmetic gives plain TensorDicts with gradients", () => {
  const params = made();
  params.zero_().set_("a", ones(2)).fill_("a", 3);
  expect(params.get("a").tolist()).toEqual([3, 3]);
  params.update_({ a: zeros(2) });
  expect(params.get("a").isLeaf).toBe(true);
  const twice = params.mul(2);
  expect(twice).not.toBeInstanceOf(TensorDictParams);
  twice.get("a").sum().backward();
  expect(params.get("a").grad?.tolist()).toEqual([2, 2]);
  expect(() => params.add_(1)).toThrow("a leaf Variable that requires grad is being used in an in-place operation");
});

test("copies and casts keep parameters and buffers, and what is tied", () => {
  const w = new nn.Parameter(ones(2), { requiresGrad: false });
  const params = new TensorDictParams({ a: w, b: w, n: tensor([1n]) });
  const copy = params.clone();
  expect(copy).toBeInstanceOf(TensorDictParams);
  expect(copy.get("a")).toBe(copy.get("b"));
  expect(copy.get("a").requiresGrad).toBe(false);
  expect(copy.get("a").dataPtr()).not.toBe(w.dataPtr());
  expect(params.copy().get("a")).toBe(w);
  const wide = params.to("float64");
  expect(wide.get("a")).toBeInstanceOf(nn.Parameter);
  expect(wide.get("n")).toBeInstanceOf(nn.Buffer);
  expect(params.to("cpu")).toBeInstanceOf(TensorDictParams);
  expect(params.data.get("a")).not.toBeInstanceOf(nn.Parameter);
  expect(params.double()).not.toBeInstanceOf(TensorDictParams);
});

describe("inside a module", () => {
  class Model extends nn.Module {
    params = made();
    scale = new nn.Buffer(ones(1));
    hidden = new nn.Buffer(ones(1), { persistent: false });
    override forward(x: Tensor): Tensor {
      return x.mul(this.params.get("a") as Tensor).mul(this.scale);
    }
  }

  test("it is found by parameters, buffers, state and text", () => {
    const model = new Model();
    expect(model.params).toBeInstanceOf(TensorDictParams);
    expect(model.namedParameters().map(([name]) => name)).toEqual(["params.a"]);
    expect(model.namedBuffers().map(([name]) => name)).toEqual([
      "scale",
      "hidden",
      "params.inner.n",
      "params.inner.half",
    ]);
    expect(Object.keys(model.stateDict())).toEqual(["scale", "params.a", "params.inner.n", "params.inner.half"]);
    expect(String(model)).toContain("(params): TensorDictParams(params=TensorDict(");
    expect(model(ones(2)).tolist()).toEqual([1, 1]);
  });

  test("moves, states and modes reach it, what is replaced is an entry", () => {
    const model = new Model();
    model.to("float64");
    expect(model.params.get("a").dtype.name).toBe("float64");
    model.loadStateDict({ ...model.stateDict(), "params.a": tensor([5, 6]).double() });
    expect(model.params.get("a").tolist()).toEqual([5, 6]);
    model.loadStateDict({ ...model.stateDict(), "params.a": tensor([7, 8]).double() }, { assign: true });
    expect(model.params.get("a")).toBeInstanceOf(nn.Parameter);
    expect(model.params.get("a").tolist()).toEqual([7, 8]);
    model.eval();
    expect(model.params.training).toBe(false);
    model.params = new TensorDictParams({ only: ones(1) });
    expect(model.parameters()).toHaveLength(1);
    expect(() => Object.assign(model, { params: 3 })).toThrow("cannot assign");
  });

  test("a deep copy has parameters of its own", () => {
    const model = new Model();
    const copy = nn.deepcopy(model);
    copy.params.zero_();
    expect(model.params.get("a").tolist()).toEqual([1, 1]);
    expect(copy.parameters()[0]).toBe(copy.params.get("a"));
  });

  test("fromModule and toModule go through it", () => {
    const model = new Model();
    const td = TensorDict.fromModule(model);
    expect(td.get(["params", "inner", "n"])).toBeInstanceOf(Tensor);
    const zeroed = td.clone().zero_();
    {
      using _ = zeroed.toModule(model);
      expect(model(ones(2)).tolist()).toEqual([0, 0]);
    }
    expect(model(ones(2)).tolist()).toEqual([1, 1]);
  });
});

test("hooks see what is read", () => {
  const params = made();
  params.registerGetPostHook((_, value) => (value.isFloatingPoint() ? value.neg() : null));
  expect(params.get("a").tolist()).toEqual([-1, -1]);
  expect((params.at("a") as Tensor).tolist()).toEqual([-1, -1]);
  expect((params.values()[0] as Tensor).tolist()).toEqual([-1, -1]);
  expect(() => params.registerGetPostHook(1 as never)).toThrow("Hooks must be callables.");
});

test("it is saved as the plain TensorDict it wraps, and never mapped in place", () => {
  expect(() => made().memmap_()).toThrow("Cannot build a memmap TensorDict in-place");
  expect(made().stateDict()["inner.n"]).toBeInstanceOf(Tensor);
});
