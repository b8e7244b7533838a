// Functions of tensors that are called on collections.
import { expect, test } from "bun:test";
import * as Z from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: the declarations of functions are of tensors
const F = Z as any;
const { arange, lazyStack, ones, TensorDict, tensor } = Z;
const td = () => new TensorDict({ a: arange(6).reshape(2, 3).float(), n: { b: ones(2, 3, 4) } }, [2, 3]);

test("they do what the methods do, by position and by name", () => {
  expect(F.unbind(td(), 1).length).toBe(3);
  expect(F.unbind({ input: td(), dim: 1 })[0].get("a").tolist()).toEqual([0, 3]);
  expect(F.permute(td(), [1, 0]).batchSize).toEqual(Z.Size.fromList([3, 2]));
  expect(F.std(td(), { dim: null }).batchSize.length).toBe(0);
  expect(F.add(td(), 1).get("a").tolist()).toEqual(td().add(1).get("a").tolist());
  expect(F.gather(td(), 0, Z.zeros(1, 3).long()).get(["n", "b"]).shape).toEqual(Z.Size.fromList([1, 3, 4]));
});

test("those that make or compare tensors work on each", () => {
  const like = F.onesLike(td(), { dtype: "int32" });
  expect([like.get("a").dtype, like.get(["n", "b"]).sum().item()]).toEqual([Z.int32, 24]);
  expect(F.clone(td()).get("a")).not.toBe(td().get("a"));
  expect(Z.F.mseLoss(td() as never, td().add(2) as never).toString()).toContain("TensorDict");
  const each = F.F.mseLoss(td(), td().add(2), { reduction: "none" });
  expect(each.get("a").tolist()).toEqual([
    [4, 4, 4],
    [4, 4, 4],
  ]);
  expect(() => F.F.mseLoss(td(), td(), { reduction: "most" })).toThrow("Invalid reduction mode: most");
});

test("the second operand may be the collection", () => {
  expect(F.sub(1, td()).get("a").tolist()).toEqual([
    [1, 0, -1],
    [-2, -3, -4],
  ]);
  const chosen = F.where(tensor([true, false]), 7, new TensorDict({ a: ones(2) }, [2]));
  expect(chosen.get("a").tolist()).toEqual([7, 1]);
});

test("the result of gather is written into out", () => {
  const stack = lazyStack([new TensorDict({ a: arange(3) }, [3]), new TensorDict({ a: arange(3) }, [3])]);
  const out = new TensorDict({ a: Z.zeros(2, 1).long() }, [2, 1]);
  const held = out.get("a");
  expect(F.gather(stack, 1, tensor([[2n], [1n]]), { out })).toBe(out);
  expect(held.tolist()).toEqual([[2], [1]]);
});

test("what has no form for collections refuses them with one error", () => {
  expect(() => F.matmul(td(), td())).toThrow("TensorDict");
  expect(() => F.sort(td())).toThrow("TensorDict");
  expect(() => F.unbind(td(), { noSuchName: 1 })).toThrow("noSuchName");
  expect(() => F.add(td())).toThrow("other");
});

test("what is made after the model of a collection is on the device that is named", () => {
  const inner = new TensorDict({ a: ones(2), n: { b: ones(2) }, s: "x" }, [2], { device: "cpu" });
  for (const name of ["zerosLike", "onesLike", "emptyLike", "fullLike", "randLike", "randnLike"]) {
    const make = (model: object, device: string | null) =>
      name === "fullLike" ? F.fullLike(model, 3, { device }) : F[name](model, { device });
    for (const model of [inner, inner.clone().clearDevice_(), lazyStack([inner, inner])]) {
      const made = make(model, "meta");
      const entries = [made, made.get("a"), made.get("n"), made.get(["n", "b"])];
      expect(entries.map((entry) => String(entry.device))).toEqual(Array(4).fill("meta"));
      expect(made._own("s").device?.type).toBe("meta");
    }
    const free = make(inner, null);
    expect([free.device, String(free.get("a").device), free.get("n").device]).toEqual([null, "cpu", null]);
  }
});
