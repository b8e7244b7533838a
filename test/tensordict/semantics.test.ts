// What is easily missed of TensorDicts, a test for each rule: locks, set and set_, indices, stacks,
// missing keys. The values and texts are those that Python's tensordict 0.15.3 gives.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { thrown } from "../thrown.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses are tried, too
type Any = any;

const { arange, lazyStack, ones, stack, Tensor, TensorDict, tensor, zeros } = z;
const td = (source: object, batch: number[] = []): Any => new TensorDict(source as Any, batch);
const nested = (): Any => td({ a: zeros(2), n: td({ b: zeros(2) }, [2]) }, [2]);
const list = (t: Any) => t.tolist();

const LOCKED =
  "RuntimeError: Cannot modify locked TensorDict. For in-place modification, consider using the `set_()` method and " +
  "make sure the key is present.";

describe("locking, set and set_", () => {
  test("lock_ locks what is below, whose unlock_ is refused; a locked child leaves its parent open", () => {
    const root = nested().lock_();
    expect(root.get("n").isLocked).toBe(true);
    using _ = (z.tensordict as Any).setTensorDictPrintoptions({ compact: true });
    const text =
      "RuntimeError: Cannot unlock a tensordict that is part of a locked graph. Unlock the root tensordict first. If " +
      "the tensordict is part of multiple graphs, group the graphs under a common tensordict an unlock this root. " +
      "self: TensorDict(batch_size=[2], fields={b: f32[]}), obj: TensorDict(batch_size=[2], " +
      "fields={a: f32[], n: {b: f32[]}})";
    expect(thrown(() => root.get("n").unlock_())).toBe(text);
    const open = nested();
    open.get("n").lock_();
    expect([open.isLocked, open.get("n").isLocked]).toEqual([false, true]);
    // Unlocking reaches what is locked below.
    open.unlock_();
    expect(open.get("n").isLocked).toBe(false);
  });

  test("the outermost holder is named, the innermost part first", () => {
    using _ = (z.tensordict as Any).setTensorDictPrintoptions({ compact: true });
    const a = td({ x: { y: { z: zeros(1) } } }).lock_();
    const names = (text: string) => text.replace(/^.*self: /s, "");
    const [inner, whole] = [
      "TensorDict(batch_size=[], fields={z: f32[1]})",
      "TensorDict(batch_size=[], fields={x: {y: {z: f32[1]}}})",
    ];
    expect(names(thrown(() => a.get(["x", "y"]).unlock_()))).toBe(`${inner}, obj: ${whole}`);
    expect(names(thrown(() => td({ x: a.get("x") }).unlock_()))).toBe(`${inner}, obj: ${whole}`);
    expect([a.isLocked, a.get("x").isLocked, a.get(["x", "y"]).isLocked]).toEqual([true, true, true]);
  });

  test("a locked one forbids new, removed, renamed and replaced entries", () => {
    const t = nested().lock_();
    const calls: (() => unknown)[] = [
      () => t.set("c", zeros(2)),
      () => t.setAt("a", zeros(2)),
      () => t.del_("a"),
      () => t.renameKey_("a", "c"),
      () => t.update({ a: ones(2) }),
      () => t.set(["n", "c"], zeros(2)),
    ];
    expect(calls.map(thrown)).toEqual(calls.map(() => LOCKED));
  });

  test("a locked one allows writes into entries and another batch size", () => {
    const t = nested().lock_();
    t.set_("a", ones(2));
    t.update_({ n: { b: ones(2) } });
    expect([list(t.get("a")), list(t.get(["n", "b"]))]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    t.setAt_("a", tensor(5), 0);
    t.setAt(1, td({ a: tensor(7), n: td({ b: tensor(8) }) }));
    expect([list(t.get("a")), list(t.get(["n", "b"]))]).toEqual([
      [5, 7],
      [1, 8],
    ]);
    t.fill_("a", 3);
    t.get("n").zero_();
    t.batchSize = [];
    expect([list(t.get("a")), list(t.get(["n", "b"])), [...t.batchSize]]).toEqual([[3, 3], [0, 0], []]);
  });

  test("using td.unlock_() locks again at the end", () => {
    const t = nested().lock_();
    {
      using open = t.unlock_();
      open.set("c", ones(2));
    }
    expect([t.isLocked, t.keys()]).toEqual([true, ["a", "n", "c"]]);
  });

  test("set keeps the tensor itself, also where the device is the one that it has", () => {
    const x = ones(2);
    expect(td({}, [2]).set("a", x).get("a")).toBe(x);
    expect(new TensorDict({}, [2], { device: "cpu" }).set("a", x).get("a")).toBe(x);
  });

  test("set_ copies into the storage: the key is there, the shape fits, the dtype is that of the entry", () => {
    const own = zeros(2, { dtype: "int64" });
    const t = td({ a: own }, [2]);
    t.set_("a", tensor([1.5, 2.5]));
    expect([t.get("a") === own, list(own)]).toEqual([true, [1n, 2n].map(Number)]);
    expect(thrown(() => t.set_("zz", ones(2)))).toBe("KeyError: key \"zz\" not found in TensorDict with keys ['a']");
  });

  test("a nested TensorDict is stored itself, a shorter one in a copy with the parent's batch size", () => {
    const parent = td({}, [4]);
    const [same, shorter, longer] = [td({ x: zeros(4) }, [4]), td({ x: zeros(4) }), td({ x: zeros(4, 3) }, [4, 3])];
    parent.set("same", same).set("shorter", shorter).set("longer", longer);
    expect([parent.get("same") === same, parent.get("longer") === longer]).toEqual([true, true]);
    expect([parent.get("shorter") === shorter, [...parent.get("shorter").batchSize], [...shorter.batchSize]]).toEqual([
      false,
      [4],
      [],
    ]);
  });

  test("a batch size that grows is checked and grows empty ones below; one that shrinks leaves those below", () => {
    const t = td({ b: zeros(2), e: td({}, [2]), n: td({ c: zeros(2) }, [2]) }, [2]);
    expect(thrown(() => (t.batchSize = [2, 3]))).toBe(
      "RuntimeError: the Tensor b has shape torch.Size([2]) which is incompatible with the " +
        "batch-size torch.Size([2, 3]).",
    );
    t.batchSize = [];
    expect([...t.get("n").batchSize]).toEqual([2]);
    const grown = td({ b: zeros(2, 3), e: td({}, [2]) }, [2]);
    grown.batchSize = [2, 3];
    expect([...grown.get("e").batchSize]).toEqual([2, 3]);
  });

  test("update adds and merges; update_ wants keys that are there", () => {
    const t = nested();
    t.update({ c: ones(2), n: { d: ones(2) } });
    expect(t.keys(true)).toEqual(["a", ["n", "b"], ["n", "d"], "n", "c"]);
    expect(thrown(() => t.update_({ zz: ones(2) }))).toBe("KeyError: The key zz was not found in the dest tensordict.");
    expect(
      thrown(() =>
        nested()
          .lock_()
          .update({ c: ones(2) }),
      ),
    ).toBe(LOCKED);
  });

  test("update takes entries by name, before those of the source", () => {
    const t = nested().update({ a: zeros(2) }, { a: ones(2), c: ones(2) });
    expect([list(t.get("a")), t.keys()]).toEqual([
      [1, 1],
      ["a", "n", "c"],
    ]);
    // Merged into the level that is there; the source's own entry of the key does not count.
    const merged = nested().update({ n: { b: ones(2) } }, { n: { c: ones(2) } });
    expect([list(merged.get(["n", "b"])), merged.get("n").keys()]).toEqual([
      [0, 0],
      ["b", "c"],
    ]);
    const chosen = nested().update({ a: ones(2) }, { keysToUpdate: ["a"], c: ones(2) });
    expect(chosen.keys()).toEqual(["a", "n"]);
    expect(
      list(
        nested()
          .update_(null, { a: ones(2) })
          .get("a"),
      ),
    ).toEqual([1, 1]);
  });

  test("update_ broadcasts any value, set_ one that begins with the batch", () => {
    const made = () => td({ a: zeros(2, 3) }, [2]);
    for (const value of [ones(3), ones(1, 3), ones(2, 1), 1, td({ a: ones(1, 3) }, [1])]) {
      const source = z.isTensorCollection(value) ? value : { a: value };
      expect(list(made().update_(source).get("a").sum())).toBe(6);
    }
    expect(list(made().set_("a", ones(2, 1)).get("a").sum())).toBe(6);
    const shape =
      "value.shape=torch.Size([1, 3]) for key 'a'. The leading dimensions of a value must match the batch size.";
    expect(thrown(() => made().set_("a", ones(1, 3)))).toBe(
      `RuntimeError: batch dimension mismatch, got self.batch_size=torch.Size([2]) and ${shape}`,
    );
    expect(thrown(() => td({ n: made() }, [2]).update_({ n: { a: ones(4) } }))).toBe(
      "RuntimeError: update_() cannot copy the value of shape torch.Size([4]) under the key ('n', " +
        "'a') into the entry " +
        "of shape torch.Size([2, 3]): The size of tensor a (3) must match the size of tensor b (4) at non-singleton " +
        "dimension 1",
    );
  });

  test("with a device every value is moved; to() names one, clearDevice_ none, files are on the CPU", () => {
    const t = new TensorDict({ a: zeros(2) }, [2], { device: "meta" });
    t.set("b", zeros(2));
    expect([String(t.get("a").device), String((t as Any).get("b").device)]).toEqual(["meta", "meta"]);
    const plain = td({ a: zeros(2) }, [2]);
    const moved = plain.to("cpu");
    expect([plain.device, String(moved.device), moved.clearDevice_().device]).toEqual([null, "cpu", null]);
    expect(String(plain.memmap().device)).toBe("cpu");
  });

  test("a number is not broadcast when it is set, but is at an index", () => {
    const t = td({ a: ones(2, 3), n: td({ b: ones(2) }, [2]) }, [2]);
    expect(thrown(() => t.setAt("c", 1.5))).toBe(
      "RuntimeError: batch dimension mismatch, got self.batch_size=torch.Size([2]) and " +
        "value.shape=torch.Size([]) for " +
        "key 'c'. The leading dimensions of a value must match the batch size. Python scalars are stored as 0-dim " +
        "tensors: to store a scalar in a tensordict with a non-empty batch size, expand it to the batch size or wrap " +
        "it in NonTensorData (in a tensorclass, the nocast option stores scalars as they are).",
    );
    t.setAt(0, 0);
    expect([list(t.get("a")), list(t.get(["n", "b"]))]).toEqual([
      [
        [0, 0, 0],
        [1, 1, 1],
      ],
      [0, 1],
    ]);
  });

  test("null is stored as a value, a dictionary as a TensorDict, a list of the right length as a tensor", () => {
    const t = td({}, [2]);
    t.setAt("c", null)
      .setAt("d", { x: zeros(2) })
      .setAt("e", [1, 2]);
    expect([t.get("c")._className, t.at("c"), t.get("d")._className, t.get("e") instanceof Tensor]).toEqual([
      "NonTensorData",
      null,
      "TensorDict",
      true,
    ]);
  });
});

describe("indices", () => {
  const rows = (): Any => td({ a: arange(6).reshape(3, 2) }, [3]);
  const shares = (part: Any, whole: Any) => part.get("a")._storage === whole.get("a")._storage;

  test("numbers, slices and null are views, each time in another object; dots alone are the object", () => {
    const t = rows();
    for (const index of [1, z.slice(0, 2), null] as Any[]) {
      const [part, again] = [t.at(index), t.at(index)];
      expect([index, shares(part, t), part === again]).toEqual([index, true, false]);
    }
    expect(t.at("...")).toBe(t);
  });

  test("tensors, masks and lists are copies", () => {
    const t = rows();
    for (const index of [tensor([0n, 2n]), tensor([true, false, true]), [[0, 2]]] as Any[]) {
      expect(shares(t.at(index), t)).toBe(false);
      expect(list(t.at(index).get("a"))).toEqual([
        [0, 1],
        [4, 5],
      ]);
    }
  });

  test("true adds a dimension of one, false one of zero; a list of numbers is an index", () => {
    const t = rows();
    expect([[...t.at(true).batchSize], [...t.at(false).batchSize], [...t.at([[0, 1]]).batchSize]]).toEqual([
      [1, 3],
      [0, 3],
      [2],
    ]);
  });

  test("texts and paths are keys, texts among numbers are refused", () => {
    const t = nested();
    expect([t.at("a") === t.get("a"), t.at(["n", "b"]) === t.get(["n", "b"])]).toEqual([true, true]);
    expect(thrown(() => t.at([["a", 0]]))).toStartWith("TypeError: new(): invalid data type 'str'");
  });

  test("td[index] = other leaves missing keys alone, makes extra ones of zeros, takes dictionaries", () => {
    const t = td({ a: ones(3), b: ones(3) }, [3]);
    t.setAt(1, td({ a: tensor(5), c: tensor(7) }));
    expect([list(t.get("a")), list(t.get("b")), list(t.get("c"))]).toEqual([
      [1, 5, 1],
      [1, 1, 1],
      [0, 7, 0],
    ]);
    t.setAt(z.slice(0, 2), { b: zeros(2) });
    expect(list(t.get("b"))).toEqual([0, 0, 1]);
  });

  test("what is written at an index begins with the batch of that part", () => {
    const t = rows();
    const text = (index: string, part: string, given: string) =>
      `RuntimeError: indexed destination TensorDict batch size is torch.Size([${part}]) (batch_size ` +
      `= torch.Size([3]), ` +
      `index=${index}), which differs from the source batch size torch.Size([${given}])`;
    expect(thrown(() => t.setAt(z.slice(0, 2), td({ a: ones(1, 2) }, [1])))).toBe(text("slice(0, 2, None)", "2", "1"));
    expect(thrown(() => t.setAt("...", td({ a: ones(2, 2) }, [2])))).toBe(text("slice(None, None, None)", "3", "2"));
    expect(thrown(() => t.setAt([[0, 1]], td({ a: ones(1) })))).toBe(text("([0, 1],)", "2", ""));
    expect(thrown(() => t.setAt(true, td({ a: ones(2, 2) }, [2])))).toBe(
      "RuntimeError: Incompatible expanded shape: The expanded shape length at non-singleton " +
        "dimension should be same " +
        "as the original length. target_shape = torch.Size([1, 3]), existing_shape = torch.Size([2])",
    );
    t.setAt(null, td({ a: ones(1, 2) }, [1]));
    expect(list(t.get("a").sum())).toBe(6);
    // A stack takes what can be expanded.
    const lazy = lazyStack([td({ a: zeros(1) }), td({ a: zeros(1) })]) as Any;
    expect(list(lazy.setAt(z.slice(0, 2), td({ a: ones(1, 1) }, [1])).get("a"))).toEqual([[1], [1]]);
  });

  test("a stack written through null gets tensors of its own", () => {
    const value = lazyStack([td({ a: ones(2) }), td({ a: zeros(2) })]) as Any;
    const made = value.empty();
    made.setAt(null, value);
    const [first, second] = made.members.map((member: Any) => member.get("a"));
    expect([list(first), list(second), first._storage === second._storage]).toEqual([[1, 1], [0, 0], false]);
    expect(list(value.setAt(null, value).get("a"))).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });

  test("view and reshape are of the batch; the length is its first dimension", () => {
    const t = td({ a: zeros(2, 3, 4) }, [2, 3]);
    expect([[...t.view(-1).get("a").shape], [...t.reshape(3, 2).get("a").shape], t.length]).toEqual([
      [6, 4],
      [3, 2, 4],
      2,
    ]);
  });

  test("td == td is a tree of booleans; a shallow clone has objects of its own around the same tensors", () => {
    const t = nested();
    expect([list(t.eq(t).get("a")), t.eq(t)._className]).toEqual([[true, true], "TensorDict"]);
    const copy = t.clone(false);
    expect([copy.get("n") === t.get("n"), copy.get(["n", "b"]) === t.get(["n", "b"])]).toEqual([false, true]);
  });
});

describe("stacks", () => {
  test("stack is dense, lazyStack keeps references, maybeDenseStack does what works", () => {
    const [a, b, c] = [td({ a: zeros(2) }), td({ a: ones(2) }), td({ a: ones(3) })];
    expect((stack([a, b] as Any) as Any)._className).toBe("TensorDict");
    const lazy = lazyStack([a, b]) as Any;
    a.get("a").fill_(5);
    expect([lazy._className, lazy.members[0] === a, list(lazy.get("a"))]).toEqual([
      "LazyStackedTensorDict",
      true,
      [
        [5, 5],
        [1, 1],
      ],
    ]);
    expect([z.maybeDenseStack([a, b]), z.maybeDenseStack([a, c])].map((one: Any) => one._className)).toEqual([
      "TensorDict",
      "LazyStackedTensorDict",
    ]);
  });

  test("an entry of several shapes is read padded or nested", () => {
    const lazy = lazyStack([td({ a: ones(1) }), td({ a: ones(2) })]) as Any;
    expect(thrown(() => lazy.get("a"))).toStartWith("RuntimeError: Failed to stack tensors within a tensordict");
    expect(list(lazy.get("a", { asPaddedTensor: true }))).toEqual([
      [1, 0],
      [1, 1],
    ]);
    expect(lazy.get("a", { asNestedTensor: true })).toBeInstanceOf(z.nested.NestedTensor);
  });

  test("the keys are those of all members; the others print as exclusive", () => {
    using _ = (z.tensordict as Any).setTensorDictPrintoptions({ compact: true });
    const lazy = lazyStack([td({ a: ones(1) }), td({ a: ones(2), z: ones(1) })]) as Any;
    expect(lazy.keys()).toEqual(["a"]);
    expect(String(lazy)).toBe(
      "LazyStackedTensorDict(batch_size=[2], stack_dim=0, fields={\n    a: f32[-1]}, " +
        "exclusive_fields={1: {z: f32[1]}})",
    );
  });

  test("of a class they are objects of the class around a stack", () => {
    class StackedSemantics extends z.tensorclass({ a: Tensor, s: String }) {}
    const one = () => new StackedSemantics({ a: zeros(2), s: "x" }, { batchSize: [2] });
    const made = lazyStack([one(), one()]) as Any;
    expect([made instanceof StackedSemantics, made.at(0) instanceof StackedSemantics, [...made.batchSize]]).toEqual([
      true,
      true,
      [2, 2],
    ]);
    expect([list(made.a), made.s]).toEqual([
      [
        [0, 0],
        [0, 0],
      ],
      [
        ["x", "x"],
        ["x", "x"],
      ],
    ]);
    class OtherSemantics extends z.tensorclass({ a: Tensor }) {}
    const mixed = lazyStack([one(), new OtherSemantics({ a: zeros(2) }, { batchSize: [2] })] as Any) as Any;
    expect(mixed._className).toBe("LazyStackedTensorDict");
    const stacked = one();
    const both = lazyStack([stacked, stacked]) as Any;
    stacked.a.fill_(3);
    expect(list(both.a.sum())).toBe(12);
  });

  test("densify makes nested tensors of what differs, and empty rows of what members lack", () => {
    const ragged = lazyStack([td({ c: ones(3, 4) }), td({ c: ones(5, 4) }), td({})]) as Any;
    const shapes = (entry: Any) => entry.unbind().map((t: Any) => [...t.shape]);
    expect(shapes(ragged.densify().get("c"))).toEqual([
      [3, 4],
      [5, 4],
      [0, 4],
    ]);
    expect(
      shapes((lazyStack([td({ c: ones(3, 4) }), td({ c: ones(5, 2) }), td({})]) as Any).densify().get("c"))[2],
    ).toEqual([3, 0]);
    const plain = td({ a: zeros(2) });
    expect(plain.densify()).toBe(plain);
    const odd = lazyStack([td({ c: zeros(2, 3) }, [2]), td({ c: zeros(2, 4) }, [2])], 1) as Any;
    expect(thrown(() => odd.densify())).toBe("NotImplementedError: stack_dim is 1 but not 0. Densify canot be done.");
    expect(thrown(() => (lazyStack([td({ c: tensor(1) }), td({})]) as Any).densify())).toBe(
      "RuntimeError: Cannot densify a tensordict with values with empty shape and exclusive " +
        "keys: got shape torch.Size([]).",
    );
    expect((lazyStack([td({ s: "a" }), td({})]) as Any).densify().at("s")).toBe(null);
  });
});

describe("missing keys", () => {
  test("at() throws, get() gives null, or throws where the default is not null", () => {
    const t = nested();
    expect([thrown(() => t.at("zz")), t.get("zz")]).toEqual([
      "KeyError: key \"zz\" not found in TensorDict with keys ['a', 'n']",
      null,
    ]);
    using _ = (z.tensordict as Any).setGetDefaultsToNull(false);
    expect(thrown(() => t.get("zz"))).toStartWith('KeyError: key "zz" not found');
  });
});
