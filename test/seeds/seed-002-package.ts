// Rows of seed 002 about its tables: each class, constructor and helper that the page names does what its line says.
import assert from "node:assert/strict";
import {
  arange,
  func,
  isin,
  LazyStackedTensorDict,
  MemoryMappedTensor,
  manualSeed,
  nn,
  ones,
  PersistentTensorDict,
  print,
  randn,
  stack as stackTensors,
  type Tensor,
  TensorDict,
  TensorDictBase,
  TensorDictParams,
  tensor,
  tensordict,
  zeros,
} from "../../src/index.ts";
import type { BaseScope, Row } from "./row.ts";

/** What these rows share. */
export interface PackageScope extends BaseScope {
  one: TensorDict;
  two: TensorDict;
  layers: nn.Linear[];
  ensemble: TensorDictParams;
}

type Rows = readonly Row<PackageScope>[];

const text = "The document says it in words.";
const three = () => new TensorDict({ a: arange(3) }, [3]);

/** Lines 6 to 17: the classes. */
const classes: Rows = [
  {
    line: 6,
    python: "TensorDictBase: abstract parent class for TensorDicts",
    code: (s) => {
      s.one = three();
      s.two = new TensorDict({ a: arange(3).add(3) }, [3]);
      assert(s.one instanceof TensorDictBase);
      assert(tensordict.lazyStack([s.one, s.two]) instanceof TensorDictBase);
    },
    prints: null,
    reason: text,
  },
  {
    line: 9,
    python: "TensorDict: a batched dictionary of tensors",
    code: (s) => print(s.one.batchSize, s.one.at(1).get("a")),
    prints: "torch.Size([3]) tensor(1)",
    reason: text,
  },
  {
    line: 11,
    python: "LazyStackedTensorDict: a lazy stack of TensorDicts",
    code: (s) => {
      const lazy = tensordict.lazyStack([s.one, s.two]);
      assert(lazy instanceof LazyStackedTensorDict);
      assert.equal(lazy.at(0).get("a"), s.one.get("a"));
      print(lazy.get("a"));
    },
    prints: "tensor([[0, 1, 2],\n        [3, 4, 5]])",
    reason: text,
  },
  {
    line: 13,
    python: "PersistentTensorDict: persistent TensorDict implementation; from_h5 creates one from a h5 file",
    needs: "hdf5",
    code: (s) => {
      s.one.toH5(`${s.dir}/one.h5`).close();
      const file = tensordict.fromH5(`${s.dir}/one.h5`);
      try {
        assert(file instanceof PersistentTensorDict);
        print(file.batchSize, file.get("a"));
      } finally {
        file.close();
      }
    },
    prints: "torch.Size([3]) tensor([0, 1, 2])",
    reason: text,
  },
  {
    line: 15,
    python: "TensorDictParams: holds a TensorDictBase instance full of parameters",
    code: () => {
      const params = new TensorDictParams(new TensorDict({ w: ones(2) }, []));
      assert(params.get("w") instanceof nn.Parameter);
      print([...params.parameters()].length);
    },
    prints: "1",
    reason: text,
  },
  {
    line: 17,
    python: "get_defaults_to_none(): the status of get default value",
    code: (s) => {
      print(tensordict.getDefaultsToNull(), s.one.get("none" as never));
    },
    prints: "True None",
    reason: "None is null here.",
  },
];

/** Lines 26 to 60: what makes TensorDicts, joins and keeps them. */
const constructors: Rows = [
  {
    line: 26,
    python: "cat: concatenates tensordicts into a single tensordict along the given dimension",
    code: (s) => print(tensordict.cat([s.one, s.two], 0).get("a")),
    prints: "tensor([0, 1, 2, 3, 4, 5])",
    reason: text,
  },
  {
    line: 28,
    python: "from_consolidated: reconstructs a tensordict from a consolidated file",
    code: (s) => {
      s.one.consolidate({ filename: `${s.dir}/one.consolidated` });
      print(tensordict.fromConsolidated(`${s.dir}/one.consolidated`).get("a"));
    },
    prints: "tensor([0, 1, 2])",
    reason: text,
  },
  {
    line: 30,
    python: "from_dict: a TensorDict created from a dictionary or another",
    code: (s) => {
      const td = tensordict.fromDict({ a: zeros(3, 4), b: { c: ones(3) } }, { autoBatchSize: true });
      print(td.batchSize, tensordict.fromDict(s.one, { batchSize: [3] }).get("a"));
    },
    prints: "torch.Size([3]) tensor([0, 1, 2])",
    reason: text,
  },
  {
    line: 34,
    python: "from_module: copies the params and buffers of a module in a tensordict",
    code: () => {
      const layer = new nn.Linear(2, 1);
      const td = tensordict.fromModule(layer);
      assert.equal(td.get("weight"), layer.weight);
      print(td.keys().join(" "));
    },
    prints: "weight bias",
    reason: "The parameters are the module's own, as in the library today; clone() copies them.",
  },
  {
    line: 36,
    python: "from_modules: retrieves the parameters of several modules for ensemble learning through vmap",
    code: (s) => {
      manualSeed(0);
      s.layers = [0, 1, 2].map(() => new nn.Linear(4, 2));
      s.ensemble = TensorDict.fromModules(...s.layers, { asModule: true }) as unknown as TensorDictParams;
      assert(s.ensemble instanceof TensorDictParams);
      print(s.ensemble.batchSize, s.ensemble.get("weight").shape);
    },
    prints: "torch.Size([3]) torch.Size([3, 2, 4])",
    reason: text,
  },
  {
    line: 36,
    python: "with params.to_module(module): y = module(x), in vmap over the modules",
    code: (s) => {
      const [module] = s.layers as [nn.Linear];
      const own = module.weight;
      const call = (x: Tensor, params: TensorDictParams) => {
        using _ = params.toModule(module);
        return module(x);
      };
      const x = randn(5, 4);
      const all = func.vmap(call, [null, 0])(x, s.ensemble) as Tensor;
      assert.equal(module.weight, own);
      assert(all.allclose(stackTensors(s.layers.map((layer) => layer(x)))));
      all.sum().backward();
      print(all.shape, s.ensemble.get("weight").grad.shape, own.grad);
    },
    prints: "torch.Size([3, 5, 2]) torch.Size([3, 2, 4]) None",
    reason: "The document names the use; its package's examples write it so.",
  },
  {
    line: 38,
    python: "from_namedtuple: converts a namedtuple to a TensorDict recursively",
    code: () => print(tensordict.fromNamedtuple({ x: ones(1), y: { z: zeros(1) } }).get(["y", "z"])),
    prints: "tensor([0.])",
    reason: "An object with names is a namedtuple here.",
  },
  {
    line: 40,
    python: "from_pytree: converts a pytree to a TensorDict instance",
    code: () => print(tensordict.fromPytree([zeros(1), { b: ones(1) }]).keys({ includeNested: true }).length),
    prints: "5",
    reason: "The leaf of the list, the dictionary and its leaf, and the kinds of both containers.",
  },
  {
    line: 42,
    python: "from_struct_array: converts a structured numpy array to a TensorDict",
    code: (s) => print(tensordict.fromStructArray(s.one.toStructArray()).get("a")),
    prints: "tensor([0, 1, 2])",
    reason: "toStructArray() gives what NumPy's structured array is: bytes and fields.",
  },
  {
    line: 44,
    python: "fromkeys: a tensordict from a list of keys and a single value",
    code: () => print(tensordict.fromkeys(["a", ["b", "c"]], 1).get(["b", "c"])),
    prints: "tensor(1.)",
    reason: "A plain number is a float here.",
  },
  {
    line: 48,
    python: "lazy_stack: creates a lazy stack of tensordicts",
    code: (s) => print(tensordict.lazyStack([s.one, s.two], 1).batchSize),
    prints: "torch.Size([3, 2])",
    reason: text,
  },
  {
    line: 50,
    python: "save and load: a tensordict to disk, and from it",
    code: (s) => {
      tensordict.save(s.one, `${s.dir}/saved`);
      print(tensordict.load<TensorDict>(`${s.dir}/saved`).get("a"));
    },
    prints: "MemoryMappedTensor([0, 1, 2])",
    reason: text,
  },
  {
    line: 52,
    python: "memmap and load_memmap: all tensors on corresponding memory-mapped ones in a new tensordict",
    code: (s) => {
      const mapped = tensordict.memmap(s.one, `${s.dir}/mapped`);
      assert.notEqual(mapped, s.one);
      assert(mapped.get("a") instanceof MemoryMappedTensor);
      assert(!(s.one.get("a") instanceof MemoryMappedTensor));
      print(tensordict.loadMemmap(`${s.dir}/mapped`).get("a"));
    },
    prints: "MemoryMappedTensor([0, 1, 2])",
    reason: text,
  },
  {
    line: 54,
    python: "maybe_dense_stack: a dense stack of tensordicts, a lazy stack when required",
    code: (s) => {
      const ragged = tensordict.maybeDenseStack([
        new TensorDict({ a: ones(1) }, []),
        new TensorDict({ a: ones(2) }, []),
      ]);
      assert(ragged instanceof LazyStackedTensorDict);
      assert(!(tensordict.maybeDenseStack([s.one, s.two]) instanceof LazyStackedTensorDict));
    },
    prints: null,
    reason: text,
  },
  {
    line: 60,
    python: "stack: stacks tensordicts into a single tensordict along the given dimension",
    code: (s) => print(tensordict.stack([s.one, s.two], 1).get("a")),
    prints: "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])",
    reason: text,
  },
];

/** Lines 95 to 123: memory-mapped tensors and the helpers. */
const helpers: Rows = [
  {
    line: 95,
    python: "A Memory-mapped Tensor",
    code: () => print(MemoryMappedTensor.fromTensor(tensor([1, 2])).add(1)),
    prints: "tensor([2., 3.])",
    reason: text,
  },
  {
    line: 98,
    python: "expand_as_right: expands a tensor on the right to match another tensor's shape",
    code: () => print(tensordict.expandAsRight(tensor([1, 2]), zeros(2, 3))),
    prints: "tensor([[1., 1., 1.],\n        [2., 2., 2.]])",
    reason: text,
  },
  {
    line: 100,
    python: "expand_right: expands a tensor on the right to match a desired shape",
    code: () => print(tensordict.expandRight(tensor([1, 2]), [2, 2])),
    prints: "tensor([[1., 1.],\n        [2., 2.]])",
    reason: text,
  },
  {
    line: 102,
    python: "isin: tests if each element of an entry is in that of a reference",
    code: (s) => print(isin(s.one, new TensorDict({ a: tensor([2n, 7n]) }, [2]), "a")),
    prints: "tensor([False, False,  True])",
    reason: text,
  },
  {
    line: 104,
    python: "remove_duplicates: removes indices duplicated in key along the specified dimension",
    code: () => print(tensordict.removeDuplicates(new TensorDict({ a: tensor([1, 1, 2]) }, [3]), "a").get("a")),
    prints: "tensor([1., 2.])",
    reason: text,
  },
  {
    line: 108,
    python: "is_tensor_collection: checks if a data object is a tensor container",
    code: (s) => print(tensordict.isTensorCollection(s.one), tensordict.isTensorCollection(ones(1))),
    prints: "True False",
    reason: text,
  },
  {
    line: 110,
    python: "make_tensordict: a TensorDict created from an input dictionary",
    code: () => print(tensordict.makeTensordict({ a: ones(2, 3) }, { batchSize: [2] }).batchSize),
    prints: "torch.Size([2])",
    reason: text,
  },
  {
    line: 112,
    python: "merge_tensordicts: merges tensordicts together",
    code: (s) =>
      print(
        tensordict
          .mergeTensordicts(s.one, new TensorDict({ b: ones(3) }, [3]))
          .keys()
          .join(" "),
      ),
    prints: "a b",
    reason: text,
  },
  {
    line: 114,
    python: "pad: pads all tensors in a tensordict along the batch dimensions with a constant value",
    code: (s) => print(tensordict.pad(s.one, [1, 2], 9).get("a")),
    prints: "tensor([9, 0, 1, 2, 9, 9])",
    reason: text,
  },
  {
    line: 116,
    python: "pad_sequence: pads a list of tensordicts to be stacked together in a contiguous format",
    code: (s) => print(tensordict.padSequence([s.one, s.two.at(":1")]).get("a")),
    prints: "tensor([[0, 1, 2],\n        [3, 0, 0]])",
    reason: text,
  },
  {
    line: 118,
    python: "dense_stack_tds: densely stacks a list of tensordicts",
    code: (s) => {
      const dense = tensordict.denseStackTds(tensordict.lazyStack([s.one, s.two]));
      assert(!(dense instanceof LazyStackedTensorDict));
      print(dense.batchSize);
    },
    prints: "torch.Size([2, 3])",
    reason: text,
  },
  {
    line: 120,
    python: "set_lazy_legacy and lazy_legacy: whether selected methods give lazy representations",
    code: (s) => {
      {
        using _ = tensordict.setLazyLegacy(true);
        assert(tensordict.lazyLegacy());
        assert(tensordict.stack([s.one, s.two]) instanceof LazyStackedTensorDict);
      }
      print(tensordict.lazyLegacy());
    },
    prints: "False",
    reason: text,
  },
  {
    line: 123,
    python: "parse_tensor_dict_string: parses a TensorDict repr to a TensorDict",
    code: (s) => {
      const parsed = tensordict.parseTensorDictString(String(s.one));
      print(parsed.batchSize, parsed.get("a").shape, parsed.get("a").dtype);
    },
    prints: "torch.Size([3]) torch.Size([3]) torch.int64",
    reason: text,
  },
];

/** The rows before the examples, and those after them. */
export const packageRows = { before: [...classes, ...constructors], after: helpers };
