// Where the editor is asked: `|` marks the position.
import type { Kind, Position } from "./service.ts";

const at = (kind: Kind, codes: string): Position[] =>
  codes
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((code) => ({ kind, code }));

const COMPLETIONS = `
  a.|
  td.|
  nn.|
  nn.init.|
  F.|
  linalg.|
  special.|
  func.|
  io.|
  cuda.|
  autograd.|
  distributions.|
  tensordict.|
  profiler.|
  errors.|
  float32.|
  a.shape.|
  a.device.|
  a.untypedStorage().|
  new Generator().|
  new nn.Linear(2, 3).|
  a.max(0).|
  a.sum({|})
  a.sum(0, {|})
  a.sum({ dim: 0, |})
  a.mean({|})
  a.max({|})
  a.max(0, {|})
  a.std({|})
  a.add({|})
  a.add(1, {|})
  a.topk({|})
  a.topk(1, {|})
  a.sort({|})
  a.cumsum({|})
  a.quantile(0.5, { interpolation: "|" })
  a.div(2, { roundingMode: "|" })
  a.to({|})
  a.to("|")
  a.backward({|})
  a.gather({|})
  zeros(2, {|})
  zeros([2], {|})
  zeros({|})
  zeros(2, { dtype: "|" })
  zeros(2, { device: "|" })
  full([2], 1, {|})
  arange(3, {|})
  rand(2, {|})
  randint(0, 3, [2], {|})
  tensor([1], {|})
  sum(a, {|})
  stack([a], {|})
  F.mseLoss(a, a, { reduction: "|" })
  F.dropout(a, {|})
  new nn.Linear(2, 3, {|})
  new nn.LayerNorm(2, {|})
  new nn.Dropout({|})
  new nn.MSELoss({ reduction: "|" })
  new nn.MultiheadAttention(8, 2, {|})
  new TensorDict({}, [2], {|})
  td.get("|")
  td.get(["b", "|"])
  td.at("|")
  td.select("|")
  td.apply((t) => t, {|})
  td.map((t) => t, {|})
  td.memmap({|})
  td.memmap("x", {|})
  save({ a }, "x.pt", {|})
  load("x", {|})
  loadMemmap("x", {|})
  io.loadSafetensors("x", {|})
  io.saveNpz("x", { a }, {|})
  autograd.grad(a, a, {|})
  func.vmap(add, {|})
  func.grad(sum, {|})
  new distributions.Normal(0, 1, {|})
`;

const SIGNATURES = `
  a.sum(|)
  a.sum(0, |)
  a.mean(|)
  a.max(|)
  a.max(0, |)
  a.std(|)
  a.add(|)
  a.add(1, |)
  a.mul_(|)
  a.matmul(|)
  a.view(|)
  a.reshape(|)
  a.permute(|)
  a.transpose(|)
  a.topk(|)
  a.topk(1, |)
  a.sort(|)
  a.gather(|)
  a.clamp(|)
  a.to(|)
  a.at(|)
  a.setAt(|)
  a.split(|)
  a.backward(|)
  a.item(|)
  where(|)
  where(a, |)
  sum(|)
  add(|)
  abs(|)
  mm(|)
  maximum(|)
  gather(|)
  zeros(|)
  zeros(2, |)
  full(|)
  arange(|)
  rand(|)
  randint(|)
  normal(|)
  tensor(|)
  stack(|)
  cat(|)
  slice(|)
  F.linear(|)
  F.mseLoss(|)
  F.softmax(|)
  linalg.vectorNorm(|)
  special.gammaln(|)
  new nn.Linear(|)
  new nn.Sequential(|)
  new nn.LayerNorm(|)
  new nn.Dropout(|)
  new nn.MultiheadAttention(|)
  new nn.ModuleList(|)
  nn.init.uniform_(|)
  new TensorDict(|)
  td.get(|)
  td.set(|)
  td.at(|)
  td.apply(|)
  td.map(|)
  td.select(|)
  td.memmap(|)
  TensorDict.fromDict(|)
  save(|)
  load(|)
  loadMemmap(|)
  io.loadSafetensors(|)
  func.vmap(|)
  func.grad(|)
  autograd.grad(|)
  manualSeed(|)
  setDefaultDtype(|)
  new Generator(|)
  new distributions.Normal(|)
  cuda.synchronize(|)
  noGrad(|)
`;

const HOVERS = `
  a.s|um();
  a.ad|d_(1);
  a.sha|pe;
  a.dty|pe;
  a.at|(0);
  a.backw|ard();
  a.max(0).val|ues;
  a.sum({ keep|dim: true });
  zeros(2, { dt|ype: float32 });
  ad|d(a, a);
  su|m(a);
  zer|os(2);
  tens|or([1]);
  wher|e(a, 1, 2);
  sta|ck([a]);
  const s|hape = a.shape;
  const [fir|st] = a.shape;
  const flo|at = tensor([1]);
  const bo|ols = tensor([true]);
  const compa|red = a.gt(0);
  n|n.Linear;
  nn.Lin|ear;
  new nn.Lin|ear(2, 3);
  new nn.Linear(2, 3, { bi|as: false });
  new nn.Linear(2, 3).wei|ght;
  nn.Seq|uential;
  nn.Layer|Norm;
  new nn.Layer|Norm(2);
  nn.init.uni|form_(a);
  F.re|lu(a);
  linalg.vector|Norm(a);
  special.gamma|ln(a);
  func.vma|p(add);
  io.load|Npy("x");
  cuda.synchro|nize();
  autograd.gr|ad(a, a);
  distributions.Nor|mal;
  new distributions.Nor|mal(0, 1);
  tensordict.lazy|Stack([td]);
  tensordict.nn.TensorDict|Module;
  Tensor|Dict;
  td.ge|t("a");
  td.se|t("a", a);
  td.app|ly((t) => t);
  td.batch|Size;
  const en|try = td.get(["b", "c"]);
  load|Memmap("x");
  manual|Seed(1);
  float|32;
  noGr|ad();
`;

const MESSAGES = `
  a.sum({ dmi: 0 });
  a.sum("0");
  a.sum(0, { keepdm: true });
  a.sum({ dim: "0" });
  a.sum({ dim: 0 }, { keepdim: true });
  a.max("x");
  a.add("s");
  a.add();
  a.mul({ othr: a });
  a.matmul(2);
  a.view("x");
  a.reshape([2, "3"]);
  a.permute("x");
  a.transpose(0);
  a.topk("x");
  a.topk(1, { dmi: 0 });
  a.sort({ descend: true });
  a.gather(0);
  a.clamp("x");
  a.to("flot32");
  a.at("x");
  a.split("x");
  a.std({ corection: 0 });
  a.div(2, { roundingMode: "flor" });
  a.backward({ retainGrap: true });
  a.item<string>();
  a._address;
  a.unsqeeze(0);
  a + a;
  const [h, w] = a.shape; h + w;
  const { values } = a.max(0); values.foo;
  add(a, "s");
  add(a);
  abs("x");
  abs([1, 2]);
  sum(a, "0");
  mm(a, 2);
  where(a, 1);
  where("a", 1, 2);
  stack(a);
  stack([a, 1]);
  cat([a, a], { dmi: 1 });
  zeros("2");
  zeros(2, { dtype: "flot32" });
  zeros(2, { dtyp: "float32" });
  zeros([2], { dtyp: "float32" });
  zeros(2, { device: "gpu" });
  full([2], "x");
  arange("3");
  rand(2, { generator: 1 });
  randint("x", [2]);
  tensor([1, "a"]);
  tensor([1], { dtpe: "int64" });
  F.mseLoss(a, a, { reduction: "men" });
  F.linear(a);
  F.gelu2(a);
  linalg.vectorNorm("x");
  special.gammaln("x");
  new nn.Linear(2);
  new nn.Linear("2", 3);
  new nn.Linear(2, 3, { bais: false });
  new nn.Sequential(1);
  new nn.LayerNorm("x");
  new nn.Lineer(2, 3);
  nn.init.uniform_("x");
  new TensorDict({ a }, "2");
  new TensorDict({ a }, [2], { devce: "cpu" });
  td.get("zz");
  td.get(["b", "zz"]);
  td.get({ key: "zz" });
  td.set(1, a);
  td.at("zz");
  td.apply(1);
  td.map(1);
  td.select("zz");
  td.memmap({ prefx: "x" });
  td.to("cudaa");
  td.foo();
  save({ a }, 1);
  load(1);
  io.loadSafetensors("x", { devise: "cpu" });
  io.loadNpy(1);
  func.vmap(1);
  func.vmap(add)("x", 1);
  func.grad(1);
  autograd.grad(a);
  manualSeed("x");
  setDefaultDtype("flot");
  new Generator("gpu");
  new distributions.Normal("x", 1);
  cuda.setDevice({});
  noGrad(1);
`;

/** All positions, by the file that has what is shown there. */
export const POSITIONS: Readonly<Record<string, readonly Position[]>> = {
  completions: at("completions", COMPLETIONS),
  signatures: at("signature", SIGNATURES),
  hovers: at("hover", HOVERS),
  messages: at("message", MESSAGES),
};
