// What the compiler says of programs with TensorDicts; compiled and run as tensors.mts.
import * as torch from "zensor";
import {
  type LazyStackedTensorDict,
  load as loadFile,
  type NonTensorData,
  ones,
  Tensor,
  TensorDict,
  tensorclass,
  zeros,
} from "zensor";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}
function check(what: string, right: boolean): void {
  if (!right) throw new Error(`${what} is not what its type says`);
}

// Open: nothing is known, every key may be asked for.
let td = new TensorDict();
td = td.set("a", ones(2));
td = td.set("b", { c: zeros(2) }).set("s", "x");
check("a", td.get("a").sum().item() === 2);
check("c", td.get(["b", "c"]).ndim === 1 && td.get("b").get("c").ndim === 1);
check("s", td.at("s") === "x");
const key: string = "a";
check("key", td.get(key).shape[0] === 2 && td.at(key).shape[0] === 2);
check("missing", td.get("zz", null) === null);
const anything: Tensor = td.get("a");
check("anything", anything.ndim === 1);
const sized = new TensorDict({}, [2]).set("a", ones(2));
check("sized", sized.get("a").length === 2 && sized.at(0).get("a").ndim === 0);
const asAny: TensorDict = new TensorDict();
check("asAny", asAny.isEmpty());

// What set() adds is known from then on.
const wider = new TensorDict().set("a", ones(2)).set("n", 1);
const a = wider.get("a");
same<typeof a, Tensor>();
const n = wider.at("n");
same<typeof n, Tensor>();
check("wider", a.ndim === 1 && n.item() === 1);
const text = wider.set("s", "x").get("s");
same<typeof text, NonTensorData<string>>();
check("text", text.value_ === "x");
function load(): TensorDict<{ a: Tensor }> {
  return new TensorDict().set("a", ones(2));
}
check("load", load().get("a").ndim === 1);
// @ts-expect-error a tensor is no text
const wrongly: string = wider.get("a");
check("wrongly", typeof wrongly !== "string");

// Closed: the keys are those that it was made with.
const closed = new TensorDict({ a: ones(3, 2), b: { c: zeros(3), d: { e: ones(3) } }, s: "x" }, [3]);
const e = closed.get(["b", "d", "e"]);
same<typeof e, Tensor>();
const inner = closed.at("b").get("c");
same<typeof inner, Tensor>();
const word = closed.at("s");
same<typeof word, "x">();
check("word", word === "x" && e.shape[0] === 3 && inner.shape[0] === 3);
const row = closed.at(0).get("a");
same<typeof row, Tensor>();
closed.at("0:2").at([[0, 1]]);
const maybe = closed.get("a", null);
same<typeof maybe, Tensor | null>();
const nestedOr = closed.get(["b", "c"], 0);
same<typeof nestedOr, Tensor | 0>();
const missing = closed.get("zz", undefined);
check("missing", missing === undefined && maybe !== null && nestedOr !== 0);
const popped = closed.clone().pop("a");
same<typeof popped, Tensor>();
const deep = closed.clone().pop(["b", "c"]);
same<typeof deep, Tensor>();
const plain = closed.getNonTensor("s");
same<typeof plain, "x">();
check("popped", popped.ndim === 2 && deep.ndim === 1 && plain === "x");
const more = closed.set("fresh", zeros(3)).get("fresh");
same<typeof more, Tensor>();
const there = closed.setdefault("a", 0);
same<typeof there, Tensor>();
check("more", more.ndim === 1 && there.ndim === 2);
closed
  .clone()
  .setAt(0, { a: zeros(2) })
  .setAt(["b", "c"], zeros(3))
  .setAt_("a", 0, slice());
function slice(): "0:1" {
  return "0:1";
}
const wrong = [
  // @ts-expect-error no such key
  () => closed.get("zz"),
  // @ts-expect-error no such key
  () => closed.at("zz"),
  // @ts-expect-error no such nested key
  () => closed.get(["b", "zz"]),
  // @ts-expect-error no such nested key
  () => closed.get(["b", "d", "zz"]),
  // @ts-expect-error tensors have no keys
  () => closed.get(["a", "c"]),
  // @ts-expect-error a key that is not known before it runs
  () => closed.get(key),
  // @ts-expect-error no index
  () => closed.setAt({}, 0),
  // @ts-expect-error no index
  () => closed.setAt_("a", 0, "first"),
];
check("wrong", wrong.length === 8);
// Keys that are chosen, removed and renamed are known, too.
const some = closed.select("a", ["b", "d", "e"]);
same<ReturnType<typeof some.get<"a">>, Tensor>();
const chosen = some.get(["b", "d", "e"]);
same<typeof chosen, Tensor>();
const others = closed.exclude("a", ["b", "c"]);
const left = others.get("b").get("d").get("e");
same<typeof left, Tensor>();
const fewer = closed.clone().del_("a");
const kept = fewer.at("s");
same<typeof kept, "x">();
const renamed = closed.clone().renameKey_("a", "z").get("z");
same<typeof renamed, Tensor>();
check("chosen", chosen.ndim === 1 && left.ndim === 1 && kept === "x" && renamed.ndim === 2);
check("lenient", closed.select("zz", { strict: false }).isEmpty());
const gone = [
  // @ts-expect-error it was not selected
  () => some.get("s"),
  // @ts-expect-error it was not selected
  () => some.get(["b", "c"]),
  // @ts-expect-error it is left out
  () => others.get("a"),
  // @ts-expect-error it is removed
  () => fewer.get("a"),
  // @ts-expect-error no such key
  () => closed.select("zz"),
  // @ts-expect-error no such nested key
  () => closed.select(["b", "zz"]),
  // @ts-expect-error no such key
  () => closed.clone().del_("zz"),
  // @ts-expect-error no such key
  () => closed.clone().renameKey_("zz", "y"),
];
check("gone", gone.length === 8);
// Fields of a tensorclass take what becomes a value of theirs.
class Point extends tensorclass({ x: Tensor, n: Number, label: String, next: () => Point, any: null }) {}
const point = new Point({ x: [1, 2], n: 3, label: "a", next: null, any: { b: 1 } });
check("point", point.x.shape[0] === 2 && point.label === "a" && point.next === null);
const misfits = [
  // @ts-expect-error a tensor is no text
  () => new Point({ x: "text" }),
  // @ts-expect-error a text is no number
  () => new Point({ label: 3 }),
  // @ts-expect-error no point
  () => new Point({ next: 3 }),
];
check("misfits", misfits.length === 3);
// A file holds what the caller says that it holds, or anything.
const files = [
  (): number => loadFile("x.pt").model.step,
  (): Tensor => loadFile<TensorDict<{ a: Tensor }>>("x").get("a"),
  // @ts-expect-error no such key
  () => loadFile<TensorDict<{ a: Tensor }>>("x").get("b"),
  // @ts-expect-error a tensor is no text
  (): string => loadFile<{ a: Tensor }>("x.pt").a,
];
check("files", files.length === 4);
// Every value is of the kind that the keys have.
const weights = new TensorDict({ x: ones(1) } as Record<string, Tensor>);
const weight = weights.get(key, null);
same<typeof weight, Tensor | null>();
const found = weights.get("x");
same<typeof found, Tensor>();
check("found", found.ndim === 1);

// Functions of tensors take collections and give what they were given.
const pair = new TensorDict({ a: ones(2, 3), b: { c: zeros(2, 3) } }, [2, 3]);
type Pair = typeof pair;
const unbound = torch.unbind(pair);
same<typeof unbound, Pair[]>();
const columns = torch.unbind({ input: pair, dim: 1 });
same<typeof columns, Pair[]>();
const cut = [torch.split(pair, 1), torch.chunk(pair, { chunks: 2 }), torch.tensorSplit(pair, [1], 1)];
same<typeof cut, Pair[][]>();
const alike = [
  torch.stack([pair, pair]).at(0),
  torch.cat([pair, pair]).at("0:2"),
  torch.permute(pair, [1, 0]),
  torch.gather(pair, 0, zeros(2, 3, { dtype: "int64" })),
  torch.onesLike(pair),
  torch.fullLike(pair, 2),
  torch.add(pair, 1),
  torch.sub(1, pair),
  torch.clamp(pair, 0),
  torch.mean(pair, 0),
  torch.exp({ input: pair }),
  torch.where(ones(2, 3).gt(0), pair, 0),
  torch.unflatten(pair, 0, [1, 2]),
];
same<typeof alike, Pair[]>();
const lossOf = torch.nn.functional.mseLoss(pair, pair, { reduction: "none" });
check("inner of functions", alike.every((one) => one.get(["b", "c"]) instanceof Tensor) && lossOf.get("a").ndim === 2);
check("several", unbound.length === 2 && columns.length === 3 && cut.every((parts) => parts.length === 2));
const stacked = TensorDict.stack([pair, pair]).get(["b", "c"]);
same<typeof stacked, Tensor>();
const joined = [TensorDict.cat([pair]), TensorDict.maybeDenseStack([pair])];
same<typeof joined, Pair[]>();
const lazily = [TensorDict.lazyStack([pair]), torch.lazyStack([pair])];
same<typeof lazily, LazyStackedTensorDict<{ a: Tensor; b: TensorDict<{ c: Tensor }> }>[]>();
const applied = pair.apply((t) => t.add(1)).get(["b", "c"]);
same<typeof applied, Tensor>();
check("schemas", stacked.ndim === 3 && joined.length + lazily.length === 4 && applied.at(0, 0).item() === 1);
const badly = [
  // @ts-expect-error no such key
  () => torch.stack([pair, pair]).get("zz"),
  // @ts-expect-error no such key
  () => TensorDict.stack([pair, pair]).get("zz"),
  // @ts-expect-error no such key
  () => torch.unbind(pair)[0]?.get("zz"),
  // @ts-expect-error no such key
  () => pair.apply((t) => t).get("zz"),
  // @ts-expect-error a dimension is a number
  () => torch.unbind(pair, "0"),
  // @ts-expect-error no such argument
  () => torch.split(pair, 1, { dmi: 0 }),
  // @ts-expect-error an index is needed
  () => torch.gather(pair, 0),
  // @ts-expect-error no function of collections
  () => torch.cumsum(pair, 0),
  // @ts-expect-error both are collections
  () => torch.nn.functional.mseLoss(pair, ones(2, 3)),
];
check("badly", badly.length === 9);

// Modules know the keys that they read and write, where they are literals.
const { TensorDictModule, TensorDictSequential } = torch.tensordict.nn;
const plus = new TensorDictModule((t: Tensor) => t.add(1), ["a"], ["b"]);
const times = new TensorDictModule({
  module: (s: Tensor, t: Tensor) => [s.mul(t), s],
  inKeys: ["b", ["n", "c"]],
  outKeys: [["n", "d"], "_"],
});
const input = () => new TensorDict({ a: ones(2), n: { c: zeros(2) } }, [2]);
const added = plus(input());
const [addedB, addedC] = [added.get("b"), added.get(["n", "c"])];
same<typeof addedB, Tensor>();
same<typeof addedC, Tensor>();
const chain = new TensorDictSequential(plus, times);
const chained = chain(input());
const deepest = chained.get(["n", "d"]);
same<typeof deepest, Tensor>();
const throughForward = chain.forward(input()).get("b");
same<typeof throughForward, Tensor>();
check("chain", addedB.at(0).item() === 2 && addedC.ndim === 1 && deepest.ndim === 1 && throughForward.ndim === 1);
check("of tensors", plus(ones(2)).at(0).item() === 2 && plus({ a: ones(2) }).ndim === 1);
const keysOfOthers: string[] = ["a"];
const unknownKeys = new TensorDictModule((t: Tensor) => t, keysOfOthers, ["b"]);
check("unknown keys", unknownKeys(input()).get("b").ndim === 1);
check("open", plus(new TensorDict().set("a", ones(2))).get("b").ndim === 1);
const fresh = new TensorDictModule((t: Tensor) => t, ["a"], ["b"], { inplace: false });
check("fresh", fresh(input()).get("b").ndim === 1);
const lacking = [
  // @ts-expect-error there is no a
  () => plus(new TensorDict({ b: ones(2) }, [2])),
  // @ts-expect-error there is no a
  () => plus.forward(new TensorDict({ b: ones(2) }, [2])),
  // @ts-expect-error there is no c in n
  () => times(new TensorDict({ b: ones(2), n: { e: ones(2) } }, [2])),
  // @ts-expect-error the first module reads a
  () => chain(new TensorDict({ b: ones(2), n: { c: ones(2) } }, [2])),
  // @ts-expect-error the second module reads c of n
  () => chain(new TensorDict({ a: ones(2) }, [2])),
  // @ts-expect-error nothing writes z
  () => chained.get("z"),
  // @ts-expect-error what is thrown away is no entry
  () => chained.get("_"),
  // @ts-expect-error a key is no number
  () => new TensorDictModule((t: Tensor) => t, ["a"], [3]),
];
check("lacking", lacking.length === 8);

// Arithmetic gives what it was given, with its keys; a default may add the other's.
const simple = new TensorDict({ a: ones(3, 2) }, [3]);
const sums = simple.add(1).sqrt().clamp(0, 1).float().mul(simple).neg_();
same<typeof sums, typeof simple>();
const bits = closed.gt(0).get("a");
same<typeof bits, Tensor>();
const padded = simple.add(new TensorDict({ z: ones(3) }, [3]), { default: 1 });
check("arithmetic", sums.keys().length === 1 && bits.ndim === 2 && padded.get("z").ndim === 1);
let moved = TensorDict.fromModule(new torch.nn.Linear(2, 1)).data;
moved = moved.sub(moved.mul(0.1));
const made: TensorDict[] = [TensorDict.fromDict({ a: 1 }), torch.tensordict.fromDict({ a: 2 })];
check("made", moved.keys().length === 2 && TensorDict.stack(made).length === 2);
const layers = [new torch.nn.Linear(2, 1), new torch.nn.Linear(2, 1)] as const;
check("ensemble", torch.tensordict.fromModules(...layers, { asModule: true }).parameters().length === 2);
// What is known of a chunk's keys can be said.
const double = (chunk: TensorDict<{ a: Tensor }>) => chunk.get("a").mul(2);
check("chunks", new TensorDict({ a: ones(4) }, [4]).map(double, { numWorkers: 0 }).length === 4);
