// Rows of seed 002: the examples on the tensordict package's page. Those about its tables are in a file of their own.
import assert from "node:assert/strict";
import { MemoryMappedTensor, nn, ones, print, type Tensor, TensorDict, zeros } from "../../src/index.ts";
import { defineSeed } from "./row.ts";
import { type PackageScope, packageRows } from "./seed-002-package.ts";

interface Scope extends PackageScope {
  data: TensorDict;
  module: nn.Linear;
  params: TensorDict;
  x: Tensor;
  y: Tensor;
  myImages: MemoryMappedTensor;
  miniBatch: Tensor;
}

export const seed002 = defineSeed<Scope>("002", [
  ...packageRows.before,
  {
    line: 66,
    python: "data.lock_()",
    code: (s) => {
      s.data = new TensorDict({ a: zeros(3) }, [3]);
      s.data.lock_();
    },
    prints: null,
    reason: "`data` and `value` are not defined in the document.",
  },
  {
    line: 66,
    python: "# data.set will result in an exception",
    code: (s) => {
      try {
        s.data.set("key", ones(3));
      } catch (error) {
        print((error as Error).message);
      }
    },
    prints:
      "Cannot modify locked TensorDict. For in-place modification, consider using the `set_()` method and make sure " +
      "the key is present.",
  },
  {
    line: 67,
    python: 'with data.unlock_(): data.set("key", value)',
    code: (s) => {
      using _ = s.data.unlock_();
      s.data.set("key", ones(3));
    },
    prints: null,
  },
  {
    line: 69,
    python: "assert data.is_locked()",
    code: (s) => assert(s.data.isLocked),
    prints: null,
    reason: "is_locked is a property.",
  },
  {
    line: 71,
    python: "params = TensorDict.from_module(module).clone()",
    code: (s) => {
      s.module = new nn.Linear(2, 1);
      s.params = TensorDict.fromModule(s.module).clone();
    },
    prints: null,
    reason: "`module` and `x` are not defined in the document: a Linear(2, 1) and a row of ones.",
  },
  { line: 72, python: "params.zero_()", code: (s) => s.params.zero_(), prints: null },
  {
    line: 73,
    python: "with params.to_module(module): y = module(x)",
    code: (s) => {
      s.x = ones(1, 2);
      using _ = s.params.toModule(s.module);
      s.y = s.module(s.x);
    },
    prints: null,
  },
  {
    line: 74,
    python: "y",
    code: (s) => print(s.y),
    prints: "tensor([[0.]], grad_fn=<AddmmBackward0>)",
    reason: "The document does not print y; zeroed parameters give zero.",
  },
  {
    line: 75,
    python: "# the original parameters are back",
    code: (s) => {
      const { weight } = s.module;
      assert(weight instanceof nn.Parameter);
      assert(weight.abs().sum().item() !== 0);
    },
    prints: null,
  },
  {
    line: 92,
    python: "my_images = MemoryMappedTensor.empty((1_000_000, 3, 480, 480), dtype=torch.unint8)",
    code: (s) => {
      s.myImages = MemoryMappedTensor.empty([1_000_000, 3, 480, 480], { dtype: "uint8" });
    },
    prints: null,
    reason: "torch.unint8 is a slip of the document: there is uint8 only.",
  },
  {
    line: 93,
    python: "mini_batch = my_images[:10]",
    code: (s) => {
      s.miniBatch = s.myImages.at(":10");
      assert(s.miniBatch instanceof MemoryMappedTensor);
      print(s.miniBatch.shape);
    },
    prints: "torch.Size([10, 3, 480, 480])",
  },
  ...packageRows.after,
]);
