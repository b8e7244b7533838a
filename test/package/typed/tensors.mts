// What the compiler says of programs with tensors, compiled against the package with several configurations and then
// run: each value is compared with what its type promised.

import * as torch from "zensor";
import {
  arange,
  type BoolTensor,
  type Complex,
  complex64,
  float32,
  full,
  int64,
  isclose,
  long,
  max,
  type Named,
  type NestedList,
  ones,
  Slice,
  slice,
  type Tensor,
  tensor,
  type Value,
  zeros,
} from "zensor";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}
function check(what: string, right: boolean): void {
  if (!right) throw new Error(`${what} is not what its type says`);
}

const x = tensor([
  [1, 5],
  [7, 2],
]);

// item(): a number; booleans of comparisons; what is asked for otherwise.
const one = x.sum().item();
same<typeof one, number>();
check("one", one + 1 === 16);
const word: number = tensor([3n]).item();
check("word", word === 3);
const close = isclose(x, x).all().item();
same<typeof close, boolean>();
check("close", close === true);
const less = x.lt(3).at(0, 0).item<boolean>();
check("less", less === true);
const asked: boolean = tensor(true).item();
const known = [tensor([true]).item(), x.bool().at(0, 0).item<boolean>(), tensor(1, { dtype: "bool" }).item()];
same<typeof known, boolean[]>();
check(
  "known",
  known.every((one) => one === true),
);
const cast = tensor([true], { dtype: float32 }).item();
same<typeof cast, number>();
check("cast", cast === 1);
check("asked", asked === true);
const z = tensor([1], { dtype: complex64 }).item<Complex>();
check("z", z.re === 1 && z.im === 0);
const whatever: Value = x.max().item();
check("whatever", whatever === 7);
// @ts-expect-error no element is a string
const text: string = x.sum().item();
// @ts-expect-error no element is a string
x.sum().item<string>();
check("text", typeof text === "number");

// Bools and other tensors stand for each other.
let mask = x.gt(1);
same<typeof mask, BoolTensor>();
mask = mask.at(0);
mask = mask.logicalAnd(x.at(0).lt(4));
const tensors: Tensor[] = [mask, x];
check("tensors", tensors.length === 2 && mask.dtype.name === "bool");
const chosen = one > 0 ? x.gt(1) : x;
check("chosen", typeof chosen.sum().item() === "number");
// @ts-expect-error in place the tensor stays what it is
x.clone().gt_(1).at(0, 0).item() === true;

// tolist(): any index, or the type that is wanted.
const inner: number = x.tolist()[0][1];
check("inner", inner === 5);
check("rows", x.tolist().map((row: number[]) => row.length).length === 2);
const rows: number[][] = x.tolist();
check("rows", rows.length === 2);
const truths: boolean[] = x.at(0).lt(3).tolist();
check("truths", truths[0] === true);
const nested: NestedList = x.toJSON();
check("nested", Array.isArray(nested));
// @ts-expect-error there are no strings
const strings: string[] = x.tolist();
check("strings", strings.length === 2);

// One tensor, or several with names.
const whole = x.max();
same<typeof whole, Tensor>();
const byDim = x.max({ dim: 0 });
same<typeof byDim, Named<readonly ["values", "indices"]>>();
check("byDim", byDim.values.tolist()[0] === 7 && byDim.indices.tolist()[0] === 1);
const [values, indices] = max(x, { dim: 1, keepdim: true });
same<typeof values, Tensor>();
check("indices", indices.ndim === 2);
const bigger = x.max({ other: ones(2) });
same<typeof bigger, Tensor>();
const [low] = x.min({ dim: 0 });
check("low", low.at(1).item() === 2);
check("sorted", x.sort({ dim: 1, descending: true }).values.at(0, 0).item() === 5);
check("top", x.topk({ k: 1 }).indices.shape[1] === 1 && x.topk(1, { dim: 0 }).values.shape[0] === 1);
check("part", x.narrow({ dim: 0, start: 0, length: 1 }).shape[0] === 1);
check(
  "made",
  full({ size: [2], fillValue: 3 })
    .sum()
    .item() === 6,
);
check("sum", x.sum({ dim: 0 }).shape[0] === 2);
// @ts-expect-error one tensor has no names
whole.values;
// @ts-expect-error there is no such result
byDim.places;
// @ts-expect-error not a number's name
const named = () => x.max({ dim: "0" });
// @ts-expect-error no such name
const misnamed = () => x.sort({ dimension: 0 });
// @ts-expect-error both need a length
const short = () => x.narrow({ dim: 0, start: 0 });
check(
  "thunks",
  [named, misnamed, short].every((f) => typeof f === "function"),
);

// Indices.
x.at(0, 1);
x.at(slice(0, 1), null, "...", x.at(0).gt(1));
x.at("0, 1:");
x.at([[0, 1]]);
x.at(0n);
check("slice", slice(1) instanceof Slice);
const n = 1;
x.at(`0:${n}`);
x.clone().setAt([0, 1], 5).setAt("0", [1, 2n]).setAt(x.gt(1), x.sum());
// @ts-expect-error no index
const wrongIndex = () => x.at("a");
// @ts-expect-error no index
const wrongObject = () => x.at({ dim: 0 });
// @ts-expect-error no index
const wrongUndefined = () => x.at(undefined);
// @ts-expect-error no value
const wrongValue = () => x.setAt(0, "1");
check(
  "thunks",
  [wrongIndex, wrongObject, wrongUndefined, wrongValue].every((f) => typeof f === "function"),
);

// Typed arrays.
const floats = x.typedArray("float32");
same<typeof floats, Float32Array>();
check("floats", floats instanceof Float32Array);
const words = arange(3, { dtype: int64 }).typedArray("torch.long");
const last: bigint | undefined = words[2];
check("words", last === 2n);
const alsoFloats: Float32Array = x.typedArray(float32);
check("alsoFloats", alsoFloats.length === 4);
const some = x.typedArray();
check("some", some.byteLength === 16 && x.typedArray(x.dtype).length === 4);
// @ts-expect-error bigints are in it
const wrongArray: Float32Array = arange(3, { dtype: int64 }).typedArray("int64");
check("wrongArray", wrongArray instanceof BigInt64Array);
// @ts-expect-error which one it is is not known
const unknownArray: Float32Array = x.typedArray();
check("unknownArray", unknownArray instanceof Float32Array);
let refused = "";
try {
  x.typedArray("float64");
} catch (error) {
  refused = String(error);
}
check("refused", refused.includes("torch.float32, not torch.float64"));

// dtypes and devices.
zeros(2, { dtype: long, device: "cpu" });
zeros(2, { dtype: "torch.double", device: "cuda:1" === String(x.device) ? "cuda:1" : "meta" });
// @ts-expect-error no such dtype
const wrongDtype = () => zeros(2, { dtype: "flaot32" });
// @ts-expect-error a name that is not exported is not undefined
const misspelt = () => zeros(2, { dtype: torch.lnog });
// @ts-expect-error no such device
const wrongDevice = () => zeros(2, { device: "gpu" });
check(
  "thunks",
  [wrongDtype, misspelt, wrongDevice].every((f) => typeof f === "function"),
);
// Where options are not exact, undefined is what was not given, as everywhere in JavaScript.
const nothing = { dtype: undefined } as unknown as { dtype?: "int64" };
check("nothing", zeros(2, nothing).dtype === float32 && x.to(long).sum(nothing).dtype === long);

// The graph.
const y = tensor([1.5], { requiresGrad: true }).mul(2).add(1);
const next = y.gradFn?.nextFunctions[0]?.[0]?.name;
same<typeof next, string | undefined>();
check("next", next === "MulBackward0");
// @ts-expect-error a node or null
y.gradFn?.nextFunctions[0]?.[0].name;

// A dtype that the compiler knows: item() is of it.
const asBool = x.to("bool").at(0, 0).item<boolean>();
const truthOf = x.gt(6).any().to(torch.bool).item();
same<typeof truthOf, boolean>();
const byName = tensor(0).to({ dtype: "torch.bool" }).item();
same<typeof byName, boolean>();
const onCpu = tensor(0).to("cpu", { dtype: torch.bool }).item();
same<typeof onCpu, boolean>();
const placed = tensor(0).to("cpu", "bool").item();
same<typeof placed, boolean>();
const counted = tensor(true).to(torch.int64).item();
same<typeof counted, number>();
const countedByName = tensor(true).to({ dtype: long }).item();
same<typeof countedByName, number>();
const imaginary = tensor(1).to(complex64).item();
same<typeof imaginary, Complex>();
const viewed = tensor(1).type("bool").item();
same<typeof viewed, boolean>();
const seen = zeros(1, { dtype: "uint8" }).view(torch.bool).sum().item();
same<typeof seen, number>();
const either = tensor(1).to(seen > 0 ? torch.bool : torch.int64);
same<typeof either, Tensor>();
let flag = tensor(1).to("bool");
flag = flag.add(1);
check("converted", asBool === true && truthOf === true && byName === false && onCpu === false && placed === false);
check("numbers", counted === 1 && countedByName === 1 && imaginary.re === 1 && viewed === true && flag.ndim === 0);
const unconverted = [
  // @ts-expect-error a bool is no number
  (): number => tensor(1).to("bool").item(),
  // @ts-expect-error a number is no bool: item<boolean>() says so where it is meant
  (): Complex => tensor(1).to(torch.bool).item(),
  // @ts-expect-error no dtype
  () => tensor(1).to("boolean"),
  // @ts-expect-error no dtype
  () => tensor(1).to({ dtype: "boolean" }),
];
check("unconverted", unconverted.length === 4);
