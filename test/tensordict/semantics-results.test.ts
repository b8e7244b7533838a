// Arithmetic on nothing, conditions, shared memory and state dictionaries of TensorDicts do what Python's tensordict
// 0.15.3 does.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { thrown } from "../thrown.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses are tried, too
type Any = any;

const { ones, Tensor, TensorDict, tensor, zeros } = z;
const td = (source: object, batch: number[] = []): Any => new TensorDict(source as Any, batch);
const list = (t: Any) => t.tolist();

describe("arithmetic", () => {
  const CALLS: Record<string, (t: Any) => Any> = {
    add: (t) => t.add(1),
    "add of a TensorDict": (t) => t.add(t.clone()),
    neg: (t) => t.neg(),
    rsub: (t) => t.rsub(1),
    clampMin: (t) => t.clampMin(0),
    lerp: (t) => t.lerp(t, 0.5),
    addcmul: (t) => t.addcmul(t, t),
    pow: (t) => t.pow(2),
  };
  for (const [name, call] of Object.entries(CALLS)) {
    test(`${name}: where there is no tensor the result is an unlocked copy with its empty levels`, () => {
      for (const source of [td({}, [2]).memmap_(), td({ n: td({}, [2]) }, [2]).lock_()]) {
        const made = call(source);
        expect([made.isLocked, made.isMemmap(), made.keys()]).toEqual([false, false, source.keys()]);
      }
      expect(call(td({ a: ones(2) }, [2]).lock_()).isLocked).toBe(true);
    });
  }

  test("levels without tensors are left out beside tensors", () => {
    const mixed = td({ n: td({}, [2]), a: zeros(2) }, [2]);
    const keys = (name: string) => (CALLS[name] as (t: Any) => Any)(mixed).keys();
    expect(["add", "add of a TensorDict", "rsub", "clampMin", "pow"].map(keys)).toEqual(Array(5).fill(["a"]));
    expect(["neg", "lerp", "addcmul"].map(keys)).toEqual(Array(3).fill(["n", "a"]));
  });

  test("where refuses a condition that the tensors are not long enough for", () => {
    const condition = tensor([true, false]);
    expect(thrown(() => td({ a: zeros(1, 3) }, [1]).where(condition, td({ a: ones(2, 3) }, [2])))).toBe(
      "RuntimeError: tensor shape is incompatible with dest shape, got: tensor.shape=torch.Size([2]), " +
        "dest=torch.Size([1, 3])",
    );
    expect(thrown(() => td({ a: tensor(0) }).where(condition, td({ a: ones(2) }, [2])))).toBe(
      "RuntimeError: expand_as_right requires the destination tensor to have at least as many " +
        "dimensions as the input " +
        "tensor, got tensor.ndimension()=1 and dest.ndimension()=0",
    );
  });
});

describe("memory and state", () => {
  test("isShared is true after shareMemory_, of views too, until it is unlocked", () => {
    const t = td({ a: zeros(2), n: td({ b: zeros(2) }, [2]) }, [2]);
    expect([t.isShared(), t.shareMemory_().isShared(), t.get("n").isShared(), t.isMemmap()]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([t.at(0).isShared(), t.clone().isShared(), td({ t }).isShared()]).toEqual([true, false, false]);
    expect([t.unlock_().isShared(), t.lock_().isShared(), t.shareMemory_().isShared()]).toEqual([false, false, true]);
    expect(
      td({ a: zeros(2) })
        .memmap_()
        .isShared(),
    ).toBe(false);
  });

  test("a state with other keys is refused, or, not strict, added; a class names the key", () => {
    const made = () => td({ a: zeros(2), n: { b: zeros(2) } });
    const sets = (extra: string, missing: string) =>
      "RuntimeError: Cannot load state-dict because the key sets don't match: got state_dict extra keys \n" +
      `${extra}\n and tensordict extra keys\n${missing}\n`;
    expect(thrown(() => made().loadStateDict({ a: ones(2), n: {} }))).toBe(sets("set()", "{'b'}"));
    expect(thrown(() => made().loadStateDict({ a: ones(2), n: { b: ones(2) }, zz: ones(1) }))).toBe(
      sets("{'zz'}", "set()"),
    );
    const loose = made().loadStateDict({ a: ones(2), zz: ones(1) }, { strict: false });
    expect([loose.keys(), list(loose.get(["n", "b"]))]).toEqual([
      ["a", "n", "zz"],
      [0, 0],
    ]);
    expect(
      td({})
        .loadStateDict({ a: ones(2), n: { b: ones(2) } })
        .keys(true),
    ).toEqual(["a", ["n", "b"], "n"]);
    class StateSemantics extends z.tensorclass({ a: Tensor, s: String }) {}
    const object = () => new StateSemantics({ a: zeros(2), s: "x" }, { batchSize: [] }) as Any;
    expect(thrown(() => object().loadStateDict({ a: ones(2), q: ones(1) }))).toBe(
      "KeyError: Key 'q' wasn't expected in the state-dict.",
    );
    expect(list(object().loadStateDict({ a: ones(2), q: ones(1) }, { strict: false }).a)).toEqual([1, 1]);
    const older = {
      _tensordict: { a: ones(2), __batch_size: z.Size.fromList([]), __device: null },
      _non_tensordict: {},
    };
    expect(list(object().loadStateDict(older).a)).toEqual([1, 1]);
  });
});

describe("forms of results", () => {
  const members = () => [td({ a: zeros(4, 3) }, [4, 3]), td({ a: ones(4, 3) }, [4, 3])];
  const form = (made: Any) => [made._className, [...made.batchSize]];

  test("narrow and tile of a lazy stack are dense, tensorSplit leaves a stack without members", () => {
    const stack = z.lazyStack(members(), 2) as Any;
    expect([stack.narrow(2, 0, 1), stack.narrow(0, 0, 2), stack.tile([1, 1, 2])].map(form)).toEqual([
      ["TensorDict", [4, 3, 1]],
      ["TensorDict", [2, 3, 2]],
      ["TensorDict", [4, 3, 4]],
    ]);
    expect((z.lazyStack(members()) as Any).tensorSplit([1, 2], 0).map(form)).toEqual([
      ["LazyStackedTensorDict", [1, 4, 3]],
      ["LazyStackedTensorDict", [1, 4, 3]],
      ["LazyStackedTensorDict", [0, 4, 3]],
    ]);
  });

  test("a dimension keeps its name through one list of indices, other new ones have none", () => {
    const t = new TensorDict({}, [4, 3, 2], { names: ["a", "b", "c"] }) as Any;
    const names = (...index: Any[]) => t.at(...index).names;
    expect(names(":", tensor([0n, 1n]))).toEqual(["a", "b", "c"]);
    expect(names(":", z.zeros([3, 3], { dtype: "int64" }))).toEqual(["a", null, null, "c"]);
    expect(names(":", tensor([true, false, true]))).toEqual(["a", "b", "c"]);
    expect(names(z.ones([4, 3]).bool())).toEqual([null, "c"]);
    expect(names(0, tensor([0n, 1n]))).toEqual(["b", "c"]);
  });

  test("an entry can take the place of what holds it; a value without a batch is flat as one value", () => {
    const t = td({ a: { b: { c: ones(1) } } });
    expect(t.renameKey_(["a", "b", "c"], ["a", "b"]).keys(true)).toEqual([["a", "b"], "a"]);
    const flat = new z.NonTensorData("x", { batchSize: [] }).flatten() as Any;
    expect([flat._className, [...flat.batchSize], flat.data]).toEqual(["NonTensorData", [1], "x"]);
  });
});
