// Calls that are wrong, as people make them; what each says is recorded in errors.golden.
import { join } from "node:path";
import * as z from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the compiler would refuse
type Any = any;
const {
  arange,
  autograd,
  distributions,
  F,
  float64,
  func,
  io,
  linalg,
  nn,
  noGrad,
  ones,
  optim,
  special,
  tensor,
  zeros,
} = z as Any;
const { TensorDict, LazyStackedTensorDict, tensorclass, load, loadMemmap, scope, Tensor } = z as Any;

const td = (): Any => new TensorDict({ a: zeros(3, 2), b: { c: zeros(3) } }, [3]);
const gone = (): Any => {
  const x = ones(100);
  x.dispose();
  return x;
};
const leaf = (): Any => ones(2).requiresGrad_();
const linear = (): Any => new nn.Linear(2, 3);

/** The rooms, and in each the calls by what they get wrong. */
export const rooms: Record<string, Record<string, (folder: string) => unknown>> = {
  operators: {
    "sizes that do not fit": () => ones(2).add(ones(3)),
    "sizes that do not multiply": () => ones(2, 3).matmul(ones(2, 3)),
    "vectors of other lengths": () => ones(2).dot(ones(3)),
    "no operand": () => (ones(2) as Any).add(),
    "a text as operand": () => ones(2).add("1"),
    "a list as operand": () => ones(2).add([1, 2]),
    "an operator of the language": () => Number(`${(ones(1) as Any) + 1}`),
    "a number of several elements": () => Number(ones(2)),
    "item of several elements": () => ones(2).item(),
    "item of a large integer": () => tensor([2n ** 60n]).item(),
    "tolist of large integers": () => tensor([2n ** 60n]).tolist(),
    "a dimension out of range": () => ones(2).sum(3),
    "a dimension that is no number": () => ones(2).sum("a"),
    "a dimension twice": () => ones(2, 2).sum([0, 0]),
    "an option in Python's spelling": () => ones(2).sum({ keep_dim: true }),
    "an option in other letters": () => ones(2).sum({ keepDim: true }),
    "an unknown option": () => ones(2).sum({ colour: 1 }),
    "an argument twice": () => ones(2).sum(0, { dim: 0 }),
    "too few arguments": () => (z as Any).matmul(ones(2)),
    "cat of one tensor": () => (z as Any).cat(ones(2)),
    "cat of nothing": () => (z as Any).cat([]),
    "cat of other sizes": () => (z as Any).cat([ones(2, 2), ones(2, 3)]),
    "stack of other sizes": () => (z as Any).stack([ones(2), ones(3)]),
    "a view of another size": () => ones(6).view(4),
    "a view of no row-major tensor": () => ones(2, 3).t().view(6),
    "two sizes that are -1": () => ones(6).view(-1, -1),
    "a fractional size": () => zeros(1.5),
    "a negative size": () => zeros(-1),
    "a size beyond all numbers": () => zeros(2 ** 53),
    "a size in text": () => zeros("2"),
    "an unknown dtype": () => zeros(2, { dtype: "float23" }),
    "a dtype in torch's words": () => zeros(2, { dtype: "torch.float31" }),
    "an unknown device": () => zeros(2, { device: "gpu" }),
    "rows of other lengths": () => tensor([[1, 2], [3]]),
    "a list of texts": () => tensor(["a"]),
    "undefined in a list": () => tensor([1, undefined]),
    "mean of integers": () => arange(3).mean(),
    "a fraction into integers": () => arange(3).add_(0.5),
    "integer powers that are negative": () => arange(3).pow(-1),
    "a division that rounds otherwise": () => ones(2).div(2, { roundingMode: "up" }),
    "clamp without bounds": () => ones(2).clamp(),
    "bincount of floats": () => tensor([1, 2]).bincount(),
    "bincount of negative numbers": () => tensor([-1n]).bincount(),
    "repeats that are fractions": () => ones(3).repeatInterleave(1.5),
    "repeats in a float tensor": () => ones(2).repeatInterleave(tensor([1, 2])),
    "repeats of another length": () => ones(3).repeatInterleave(arange(2)),
    "permute with too few dimensions": () => ones(2, 3).permute(0),
    "transpose of a dimension that is not there": () => ones(2).transpose(0, 1),
    "squeeze beyond": () => ones(2).squeeze(4),
    "expand to a smaller size": () => ones(3).expand(2),
    "topk of more than there is": () => ones(2).topk(3),
    "argmax of nothing": () => zeros(0).argmax(),
    "a target of another dtype": () => ones(2).add(1, { out: zeros(2, { dtype: "int64" }) }),
    "an expanded target": () => ones(3).add(1, { out: zeros(1).expand(3) }),
    "in place into an expanded tensor": () => zeros(1).expand(3).add_(1),
    "a disposed tensor": () => gone().add(1),
    "an empty disposed tensor": () => {
      const x = zeros(0);
      x.dispose();
      return x.sum();
    },
    "elements of a meta tensor": () => zeros(2, { device: "meta" }).tolist(),
    "tensors on two devices": () => ones(2).add(zeros(2, { device: "meta" })),
    "arange without an end": () => arange(0, Number.POSITIVE_INFINITY),
    "arange the wrong way": () => arange(3, 0),
    "linspace of negative steps": () => (z as Any).linspace(0, 1, -1),
    "a typed array of another dtype": () => ones(2).typedArray("int64"),
    "a typed array of no row-major tensor": () => ones(2, 3).t().typedArray(),
    "multinomial of negative weights": () => tensor([-1, 1]).multinomial(1),
    "normal with a negative deviation": () => (z as Any).normal(0, -1, [2]),
    "a seed that is no number": () => (z as Any).manualSeed("a"),
    "PyTorch's spelling": () => ones(2).index_select(0, arange(1)),
    "PyTorch's spelling of a property": () => ones(2).requires_grad,
    "a function that is not there yet": () => F.gridSample(ones(1), ones(1)),
    "a function that is elsewhere": () => F.erf(ones(1)),
    "a decomposition that is not there yet": () => linalg.svd(ones(2, 2)),
    "PyTorch's spelling in a namespace": () => linalg.vector_norm(ones(2)),
    "a special function that is not there yet": () => special.zeta(ones(1), ones(1)),
    "torch.Tensor as a constructor": () => new Tensor([1, 2]),
    "the size of a dimension that is not there": () => ones(2).size(2),
    "the length of a scalar": () => tensor(1).length,
    "iteration of a scalar": () => [...tensor(1)],
    "scope with an async function": () => scope(async () => ones(1)),
  },
  indexing: {
    "beyond the end": () => ones(3).at(3),
    "beyond the end, large": () => ones(3).at(2 ** 53),
    "a fraction": () => ones(3).at(1.5),
    "too many indices": () => ones(3).at(0, 0),
    "a slice that is none": () => ones(3).at("a:b"),
    "a step backwards": () => ones(3).at("::-1"),
    "a step of nothing": () => ones(3).at("::0"),
    "a float tensor": () => ones(3).at(tensor([0, 1])),
    "a mask of another size": () => ones(3).at(tensor([true, false])),
    "rows beyond the end": () => ones(3).at([0, 7]),
    "an object": () => ones(3).at({ a: 1 } as Any),
    "a value of another size": () => ones(3).setAt("0:2", ones(3)),
    "a value that is a text": () => ones(3).setAt(0, "a"),
    "an index of parts that is no array": () => (ones(3, 3) as Any).setAt(1, 2, 5),
    "indexSelect with floats": () => ones(3).indexSelect(0, tensor([0, 1])),
    "indexSelect beyond the end": () => ones(3).indexSelect(0, [0, 7]),
    "gather with floats": () => ones(3).gather(0, tensor([0, 1])),
    "gather beyond the end": () => ones(3).gather(0, tensor([9n])),
    "scatter beyond the end": () => ones(3).scatter(0, tensor([9n]), 1),
    "take beyond the end": () => ones(3).take(tensor([2n ** 60n])),
    "maskedFill without booleans": () => ones(3).maskedFill(ones(3), 1),
    "an index of 70 bits": () => ones(3).at(2n ** 70n),
  },
  autograd: {
    "backward twice": () => {
      const y = leaf().pow(2).sum();
      y.backward();
      y.backward();
    },
    "backward of several elements": () => leaf().mul(2).backward(),
    "backward without a graph": () => ones(1).backward(),
    "backward with a gradient of another size": () => leaf().mul(2).backward(ones(3)),
    "a leaf in place": () => leaf().add_(1),
    "something saved was overwritten": () => {
      const x = leaf();
      const y = x.exp();
      y.add_(1);
      y.sum().backward();
    },
    "numbers of a tensor that needs gradients": () => leaf().typedArray(),
    "gradients of integers": () => arange(2).requiresGrad_(),
    "requiresGrad of a result": () => {
      leaf().mul(2).requiresGrad = false;
    },
    "retainGrad without gradients": () => ones(1).retainGrad(),
    "grad of what is not in the graph": () => autograd.grad(leaf().sum(), [leaf()]),
    "backward in Python's spelling": () => leaf().sum().backward({ retain_graph: true }),
    "noGrad with an async function": () => noGrad(async () => 1),
    "vmap over other sizes": () => func.vmap((a: Any, b: Any) => a.add(b))(ones(2), ones(3)),
    "vmap of a scalar": () => func.vmap((a: Any) => a)(tensor(1)),
    "item inside of vmap": () => func.vmap((a: Any) => a.item())(ones(2)),
    "grad of several elements": () => func.grad((a: Any) => a.mul(2))(ones(2)),
    "grad of a number": () => func.grad(() => 1)(ones(2)),
    "random numbers in vmap": () => func.vmap(() => (z as Any).rand(2))(ones(2)),
  },
  nn: {
    "a module for its parameters": () => new optim.SGD(linear()),
    "clipping the gradients of a module": () => nn.utils.clipGradNorm_(linear(), 1),
    "clipping the gradients of a number": () => nn.utils.clipGradNorm_(1, 1),
    "an input of another size": () => linear()(ones(4)),
    "no input": () => linear()(),
    "an input that is no tensor": () => linear()(5),
    "a layer without sizes": () => new nn.Linear(),
    "a layer of text": () => new nn.Linear("a", 2),
    "a layer with an unknown option": () => new nn.Linear(2, 3, { biass: false }),
    "a state with other keys": () => linear().loadStateDict({ weigh: ones(3, 2) }),
    "a state of other sizes": () => linear().loadStateDict({ weight: ones(2, 2), bias: ones(3) }),
    "a state that is none": () => linear().loadStateDict(3),
    "a module without forward": () => new nn.Module()(1),
    "a submodule that is not there": () => linear().getSubmodule("a.b"),
    "a parameter that is not there": () => linear().getParameter("wait"),
    "a name with a dot": () => linear().registerBuffer("a.b", ones(1)),
    "Sequential of functions": () => new nn.Sequential(1),
    "softmax of a dimension that is not there": () => F.softmax(ones(2), 3),
    "dropout of 2": () => F.dropout(ones(2), 2),
    "a loss of other sizes": () => F.mseLoss(ones(2), ones(3)),
    "a loss with an unknown reduction": () => F.mseLoss(ones(2), ones(2), { reduction: "all" }),
    "PyTorch's spelling": () => linear().state_dict(),
    "a dtype for modules that is none": () => linear().to("int32"),
  },
  TensorDict: {
    "a tensor that does not fit the batch": () => new TensorDict({ a: ones(2) }, [3]),
    "a size beyond all numbers": () => new TensorDict({}, [2 ** 53]),
    "a fractional size": () => new TensorDict({}, [1.5]),
    "a bigint size": () => new TensorDict({}, [2n]),
    "a size in text": () => new TensorDict({}, ["a"]),
    "a key that is not there": () => td().at("z"),
    "a nested key that is not there": () => td().at(["b", "z"]),
    "a key through a tensor": () => td().at(["a", "z"]),
    "a key that is a number": () => td().get(1),
    "setting what does not fit": () => td().set("d", ones(2)),
    "setting in a locked one": () => td().lock_().set("d", ones(3)),
    "taking away what is not there": () => td().del_("z"),
    "renaming to what is there": () => td().renameKey_("a", "b", { safe: true }),
    "an index beyond the end": () => td().at(3),
    "too many indices": () => td().at(0, 0),
    "stack of other keys": () => (z as Any).stack([td(), new TensorDict({ z: ones(3) }, [3])]),
    "stack of other sizes": () => (z as Any).stack([td(), new TensorDict({}, [2])]),
    "cat of other keys": () => (z as Any).cat([td(), new TensorDict({ z: ones(3) }, [3])]),
    "a view of another size": () => td().view(4),
    "apply without a function": () => td().apply(3),
    "apply that changes the batch": () => td().apply(() => ones(2)),
    "an option in Python's spelling": () => td().toDict({ retain_none: true }),
    "PyTorch's spelling": () => td().batch_size,
    "PyTorch's spelling of a method": () => td().to_tensordict(),
    "a sum with other keys": () => td().add(new TensorDict({ z: ones(3) }, [3])),
    "names of another number": () => new TensorDict({}, { batchSize: [2], names: ["a", "b"] }),
    "names twice": () => new TensorDict({}, { batchSize: [2, 2], names: ["a", "a"] }),
    "an unknown device": () => td().to("gpu"),
    "a stack that is dense where sizes differ": () =>
      LazyStackedTensorDict.lazyStack([new TensorDict({ a: ones(1) }, []), new TensorDict({ a: ones(2) }, [])]).get(
        "a",
      ),
    "a tensorclass with an unknown field": () => new (tensorclass({ x: Tensor }))({ y: ones(1) }),
  },
  io: {
    "a file that is not there": (folder) => load(join(folder, "nothing.pt")),
    "a folder that is not there": (folder) => loadMemmap(join(folder, "nothing")),
    "a file that is no checkpoint": (folder) => {
      require("node:fs").writeFileSync(join(folder, "text.pt"), "just text");
      return load(join(folder, "text.pt"));
    },
    "a file that is no .npy": (folder) => {
      require("node:fs").writeFileSync(join(folder, "text.npy"), "just text");
      return io.loadNpy(join(folder, "text.npy"));
    },
    "a safetensors file that is none": (folder) => {
      require("node:fs").writeFileSync(join(folder, "text.safetensors"), "just text");
      return (z as Any).loadSafetensors(join(folder, "text.safetensors"));
    },
    "an empty file": (folder) => {
      require("node:fs").writeFileSync(join(folder, "empty.npy"), "");
      return io.loadNpy(join(folder, "empty.npy"));
    },
    "saving what is no tensor": (folder) => (z as Any).saveSafetensors({ a: 1 }, join(folder, "a.safetensors")),
    "saving into a folder that is not there": (folder) => io.saveNpy(join(folder, "no", "a.npy"), ones(1)),
    "saving without a path": () => (z as Any).save(ones(1)),
    "saving a module": (folder) => (z as Any).save(linear(), join(folder, "m.pt")),
    "saving an optimiser": (folder) => (z as Any).save(new optim.SGD(linear().parameters()), join(folder, "o.pt")),
    "loading to a place, in PyTorch's words": (folder) => load(join(folder, "m.pt"), { map_location: "cpu" }),
    "loading weights only, in PyTorch's words": (folder) => load(join(folder, "m.pt"), { weightsOnly: true }),
    "saving a function": (folder) => (z as Any).save({ a: () => 1 }, join(folder, "f.pt")),
    "a path that is a number": () => load(5),
    "a place that is none": () => (z as Any).loadRemote("s3:/bucket"),
    "an .npz in Python's order": (folder) => io.saveNpz({ a: ones(1) }, join(folder, "a.npz")),
  },
  cuda: {
    "a device that is not there": () => zeros(2, { device: "cuda" }),
    "a device with a number": () => ones(2).to("cuda:7"),
    "cuda()": () => ones(2).cuda(),
    "a device index that is none": () => (z as Any).device("cuda:x"),
    "a stream": () => new (z as Any).cuda.Stream(),
  },
  distributions: {
    "a negative deviation": () => new distributions.Normal(0, -1),
    "probabilities that are none": () => new distributions.Bernoulli({ probs: 2 }),
    "no parameters": () => new distributions.Categorical({}),
    "a value outside": () => new distributions.Bernoulli({ probs: 0.5 }).logProb(tensor(3)),
  },
  testing: {
    "tensors that are not close": () => (z as Any).testing.assertClose(ones(3), tensor([1, 2, 1])),
    "tensors of other dtypes": () => (z as Any).testing.assertClose(ones(3), ones(3, { dtype: float64 })),
    "one tolerance": () => (z as Any).testing.assertClose(ones(3), ones(3), { rtol: 1 }),
  },
};
