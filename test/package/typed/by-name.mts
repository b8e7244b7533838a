// Calls by name of functions, methods and constructors that are no operators.
import {
  arange,
  cpu,
  F,
  float32,
  io,
  lazyStack,
  load,
  loadMemmap,
  MemoryMappedTensor,
  manualSeed,
  nested,
  nn,
  noGrad,
  ones,
  profiler,
  save,
  type Tensor,
  TensorDict,
  tensor,
  tensordict,
  zeros,
} from "zensor";

const td = new TensorDict({ a: ones(2, 3), b: { c: ones(2, 3) } }, [2, 3]);
td.flattenKeys({ separator: "." });
td.flattenKeys({ separator: "_", inplace: false });
td.unflattenKeys({ separator: "." });
td.keys({ includeNested: true, leavesOnly: true });
td.select({ keys: ["a"], strict: true });
const chosen: Tensor = td.select({ keys: ["a"] }).get({ key: "a" });
td.exclude({ keys: ["a"] });
td.select({ keys: ["zz"], strict: false });
td.renameKey_({ oldKey: "a", newKey: "z" }).renameKey_("z", { newKey: "a" });
const part: typeof td = td.split({ splitSize: 1 })[0] ?? td;
td.split(1, { dim: 1 });
td.transpose({ dim0: 0, dim1: 1 });
td.view({ size: [3, 2] });
td.apply({ fn: (t) => t.add(1), batchSize: [2] });
td.sum({ dim: 0 });
td.empty({ recurse: true });
td.clone({ recurse: false });
td.to({ dtype: "float64" });
const entry: Tensor = td.get({ key: "a" });
const found: Tensor | null = td.get({ key: "z", fallback: null }) as Tensor | null;
td.setdefault({ key: "d", value: zeros(2, 3) });
td.pop({ key: "d" });

const module = new nn.Linear({ inFeatures: 2, outFeatures: 3, bias: false });
new nn.Linear(2, { outFeatures: 3 });
new nn.LayerNorm({ normalizedShape: 3, eps: 1e-6 });
new nn.Dropout({ p: 0.5 });
new nn.ModuleList({ modules: [module] });
new nn.Parameter({ data: ones(2), requiresGrad: false });
new nn.TransformerEncoderLayer({ dModel: 4, nhead: 2, dropout: 0 });
const named: [string, nn.Parameter][] = module.namedParameters({ recurse: false });
module.parameters({ recurse: false });
module.registerBuffer({ name: "total", tensor: ones(1), persistent: false });
module.getParameter({ target: "weight" });
nn.init.normal_({ tensor: ones(2), mean: 1 });
nn.init.uniform_(ones(2), { b: 2 });

manualSeed({ seed: 1 });
const n: number = noGrad({ body: () => 1 });
tensor({ data: [1, 2], dtype: "float64" }).backward;
arange(3).float().typedArray({ dtype: float32 });
lazyStack({ items: [td, td], dim: 0 });
tensordict.pad({ tensordict: td, padSize: [0, 1] });
nested.nestedTensor({ tensorList: [ones(2), ones(3)] });
profiler.profile({ body: () => ones(2).add(1), recordShapes: true });
MemoryMappedTensor.zeros({ shape: [2], dtype: "int64" });
cpu.setNumThreads({ count: cpu.getNumThreads() });
F.relu(ones(2), { inplace: false });

/** Compiled only: these write and read files. */
export function files(): unknown[] {
  save({ value: { a: ones(2) }, path: "a.pt" });
  save(td, { path: "data", numThreads: 2 });
  td.memmap({ prefix: "data", numThreads: 2 });
  const later: Promise<typeof td> = td.memmap({ prefix: "data", returnEarly: true }).result();
  const state: { step: number } = load<{ step: number }>({ path: "a.pt" });
  TensorDict.load({ prefix: "data" });
  io.saveNpz({ path: "a.npz", tensors: { a: ones(2) }, compressed: true });
  const snapshot = new io.Snapshot({ path: "snapshot" });
  return [later, state, loadMemmap({ prefix: "data" }), snapshot];
}

/** Compiled only: names that these functions do not have, and values of other kinds. */
export function refused(): void {
  // @ts-expect-error a name that it has not
  td.flattenKeys({ separator: ".", noSuchName: 1 });
  // @ts-expect-error no such key
  td.select({ keys: ["zz"] });
  // @ts-expect-error a name that it has not
  td.keys({ noSuchName: true });
  // @ts-expect-error a name that it has not
  td.split(1, { noSuchName: 1 });
  // @ts-expect-error it must be given
  td.transpose({ dim0: 0 });
  // @ts-expect-error a number
  td.flattenKeys({ separator: 1 });
  // @ts-expect-error a name that it has not
  module.namedParameters({ recursive: false });
  // @ts-expect-error a name that it has not
  new nn.Linear({ inFeatures: 2, outFeatures: 3, noSuchName: 1 });
  // @ts-expect-error it must be given
  new nn.Linear({ inFeatures: 2 });
  // @ts-expect-error a name that it has not
  nn.init.normal_({ tensor: ones(2), noSuchName: 1 });
  // @ts-expect-error a name that it has not
  save({ value: 1, path: "a.pt", noSuchName: 1 });
  // @ts-expect-error a name that it has not
  TensorDict.load({ prefix: "data", noSuchName: 1 });
  // @ts-expect-error a name that it has not
  manualSeed({ seed: 1, noSuchName: 1 });
}

/** Options at the end of a call of a module. */
export function lastOptions(ids: Tensor, offsets: Tensor, perSampleWeights: Tensor): Tensor[] {
  const bag = new nn.EmbeddingBag(4, 2, { mode: "sum" });
  const wider = new nn.ConvTranspose1d(2, 2, 3, { stride: 2 });
  const [output] = new nn.LSTM(2, 3)(ones(4, 1, 2));
  return [
    bag(ids, { offsets, perSampleWeights }),
    bag(ids, offsets, { perSampleWeights }),
    bag(ids, offsets, perSampleWeights),
    F.embeddingBag(ids, bag.weight, offsets, { perSampleWeights, mode: "sum" }),
    wider(ones(1, 2, 4), { outputSize: [10] }),
    new nn.ConvTranspose2d(2, 2, 3, { stride: 2 })(ones(1, 2, 4, 4), [10, 10]),
    // @ts-expect-error no sizes
    wider(ones(1, 2, 4), { outputSize: "10" }),
    // @ts-expect-error a name that it has not
    bag(ids, { offset: offsets }),
    output,
  ];
}

/** What the calls gave. */
export const given = { chosen, part, entry, found, named, n };
