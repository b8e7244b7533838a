// Rows of seed 004: saving TensorDicts and tensorclasses. Those about torchsnapshot are in a file of their own.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  int,
  nn,
  print,
  printDirectoryTree,
  rand,
  randint,
  randn,
  setLazyLegacy,
  stack,
  Tensor,
  TensorDict,
  TensorDictBase,
  tensorclass,
} from "../../src/index.ts";
import { defineSeed } from "./row.ts";
import { type SnapshotScope, snapshotRows } from "./seed-004-snapshots.ts";

class MyClass extends tensorclass({ data: Tensor, metadata: String }) {}

interface Scope extends SnapshotScope {
  model: nn.Transformer;
  weights: TensorDict;
  weightsDisk: TensorDict;
  newWeights: TensorDict;
  datum: TensorDict;
  data: TensorDict | null;
  dataDisk: TensorDict;
  td0: TensorDict;
  td1: TensorDict;
  list: TensorDict[];
  tc: MyClass;
}

const makeDatum = () => new TensorDict({ image: randint(255, [3, 64, 64]), label: int(0) }, { batchSize: [] });

function messageOf(body: () => unknown): string {
  try {
    body();
  } catch (error) {
    return (error as Error).message;
  }
  return "no error";
}

export const seed004 = defineSeed<Scope>("004", [
  {
    line: 42,
    python: "model = nn.Transformer()",
    code: (s) => {
      s.model = new nn.Transformer();
    },
    prints: null,
  },
  {
    line: 43,
    python: "weights = TensorDict.from_module(model)",
    code: (s) => {
      s.weights = TensorDict.fromModule(s.model);
      assert.equal(s.weights.keys({ includeNested: true, leavesOnly: true }).length, 184);
    },
    prints: null,
  },
  {
    line: 44,
    python: 'weights_disk = weights.memmap("/path/to/saved/dir", num_threads=32)',
    code: (s) => {
      s.weightsDisk = s.weights.memmap(`${s.dir}/saved`, { numThreads: 32 });
    },
    prints: null,
  },
  {
    line: 45,
    python: 'new_weights = TensorDict.load_memmap("/path/to/saved/dir")',
    code: (s) => {
      s.newWeights = TensorDict.loadMemmap(`${s.dir}/saved`);
    },
    prints: null,
  },
  {
    line: 46,
    python: "assert (weights_disk == new_weights).all()",
    code: (s) => {
      assert.equal(s.weightsDisk.eq(s.newWeights).all(), true);
      assert.equal(s.weights.eq(s.newWeights).all(), true);
    },
    prints: null,
  },
  {
    line: 53,
    python: "datum = make_datum()",
    code: (s) => {
      s.datum = makeDatum();
      print(s.datum);
    },
    prints: `TensorDict(
    fields={
        image: Tensor(shape=torch.Size([3, 64, 64]), device=cpu, dtype=torch.int64, is_shared=False),
        label: Tensor(shape=torch.Size([]), device=cpu, dtype=torch.int64, is_shared=False)},
    batch_size=torch.Size([]),
    device=None,
    is_shared=False)`,
    reason: "A plain number is a float here: Python's 0 is int(0).",
  },
  {
    line: 54,
    python: "data = datum.expand(dataset_size)",
    code: (s) => {
      s.data = s.datum.expand(1_000_000);
      assert.equal((s.data.get("image") as Tensor).dataPtr(), (s.datum.get("image") as Tensor).dataPtr());
    },
    prints: null,
  },
  {
    line: 55,
    python: 'data_disk = data.memmap_like("/path/to/data")',
    code: (s) => {
      s.dataDisk = (s.data as TensorDict).memmapLike(`${s.dir}/data`);
      print(s.dataDisk);
    },
    prints: `TensorDict(
    fields={
        image: MemoryMappedTensor(shape=torch.Size([1000000, 3, 64, 64]), device=cpu, dtype=torch.int64, is_shared=True),
        label: MemoryMappedTensor(shape=torch.Size([1000000]), device=cpu, dtype=torch.int64, is_shared=True)},
    batch_size=torch.Size([1000000]),
    device=cpu,
    is_shared=False)`,
    reason: "The document does not print it. The two files are sparse: 98 GB long, with next to nothing on the disk.",
  },
  {
    line: 56,
    python: "del data",
    code: (s) => {
      s.data = null;
      s.dataDisk.at(999_999).set_("label", int(7));
      print(s.dataDisk.at("label").at("-2:"));
    },
    prints: "MemoryMappedTensor([0, 7])",
    reason: "The document goes on to fill the files; one entry is written and read here.",
  },
  {
    line: 69,
    python: 'td = TensorDict({"a": torch.rand(10), "b": {"c": torch.rand(10)}}, [10])',
    code: (s) => {
      s.td = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
    },
    prints: null,
  },
  {
    line: 70,
    python: 'td.memmap_(prefix="tensordict")',
    code: (s) => {
      s.td.memmap_(`${s.dir}/tensordict`);
      print("tensordict");
      printDirectoryTree(`${s.dir}/tensordict`, { style: "branches" });
    },
    prints: `tensordict
├── a.memmap
├── b
│   ├── c.memmap
│   └── meta.json
└── meta.json`,
  },
  {
    line: 79,
    python: "# meta.json holds what is needed to rebuild the tensordict",
    code: (s) => print(readFileSync(`${s.dir}/tensordict/b/meta.json`, "utf8")),
    prints:
      '{"c": {"device": "cpu", "shape": [10], "dtype": "torch.float32", "is_nested": false}, "shape": [10], ' +
      '"device": "cpu", "_type": "<class \'tensordict._td.TensorDict\'>", "_format_version": 1, ' +
      '"_class": "tensordict:TensorDict"}',
    reason: "The text that Python's tensordict 0.15 writes, character by character.",
  },
  {
    line: 89,
    python: 'td_list = [TensorDict({"item": i}, batch_size=[]) for i in range(4)]',
    code: (s) => {
      s.list = [0, 1, 2, 3].map((i) => new TensorDict({ item: int(i) }, { batchSize: [] }));
    },
    prints: null,
  },
  {
    line: 94,
    python: 'tc = MyClass(torch.randn(3), metadata="some text", batch_size=[])',
    code: (s) => {
      s.tc = new MyClass({ data: randn(3), metadata: "some text" }, { batchSize: [] });
      print(s.tc);
    },
    prints: `MyClass(
    data=Tensor(shape=torch.Size([3]), device=cpu, dtype=torch.float32, is_shared=False),
    metadata=NonTensorData(data=some text, batch_size=torch.Size([]), device=None),
    batch_size=torch.Size([]),
    device=None,
    is_shared=False)`,
    reason: "The document does not print it. Fields are given by name.",
  },
  {
    line: 95,
    python: 'data = TensorDict({"td_list": torch.stack(td_list), "tensorclass": tc}, [])',
    code: (s) => {
      using _ = setLazyLegacy(true);
      s.data = new TensorDict({ td_list: stack(s.list), tensorclass: s.tc }, []);
    },
    prints: null,
    reason: "torch.stack of TensorDicts is dense today; the document's tree is that of the lazy stack.",
  },
  {
    line: 97,
    python: "data.memmap_(tempdir)",
    code: (s) => (s.data as TensorDict).memmap_(`${s.dir}/mixed`),
    prints: null,
  },
  {
    line: 100,
    python: "loaded_data = TensorDictBase.load_memmap(tempdir); assert (loaded_data == data).all()",
    code: (s) => {
      const loaded = TensorDictBase.loadMemmap(`${s.dir}/mixed`);
      assert.equal(loaded.eq(s.data as TensorDict).all(), true);
      assert(loaded.at("tensorclass") instanceof MyClass);
      assert.equal((loaded.at("tensorclass") as MyClass).metadata, "some text");
    },
    prints: null,
  },
  {
    line: 101,
    python: "print_directory_tree(tempdir)",
    code: (s) => printDirectoryTree(`${s.dir}/mixed`),
    prints: `mixed/
    td_list/
        0/
            item.memmap
            meta.json
        1/
            item.memmap
            meta.json
        2/
            item.memmap
            meta.json
        3/
            item.memmap
            meta.json
        meta.json
    tensorclass/
        _tensordict/
            metadata/
                meta.json
            data.memmap
            meta.json
        meta.json
    meta.json`,
    reason:
      "Names are in order here, the document's are as the file system gave them; the root has the folder's name; " +
      "strings have a directory of their own today (metadata/meta.json).",
  },
  {
    line: 133,
    python: 'td = TensorDict({"a": 1}, []); td0 = td.memmap(); td1 = td0.memmap(); td0["a"] is td1["a"]',
    code: (s) => {
      s.td = new TensorDict({ a: int(1) }, []);
      s.td0 = s.td.memmap();
      s.td1 = s.td0.memmap();
      print(s.td0.at("a") === s.td1.at("a"));
    },
    prints: "True",
  },
  {
    line: 137,
    python: "td0 = td.memmap(tmpdir_0); td0 = td.memmap(tmpdir_0)",
    code: (s) => {
      s.td0 = s.td.memmap(`${s.dir}/0`);
      s.td0 = s.td.memmap(`${s.dir}/0`);
    },
    prints: null,
  },
  {
    line: 137,
    python: "td1 = td0.memmap(tmpdir_1)",
    code: (s) => print(messageOf(() => s.td0.memmap(`${s.dir}/1`)).replace(s.dir, "tmp")),
    prints:
      "A filename was provided but the tensor already has a file associated (tmp/0/a.memmap). To copy the tensor onto " +
      "the new location, pass copy_existing=True.",
    reason: "The document's text says that it is an error unless copies are asked for; its code forgets to ask.",
  },
  {
    line: 137,
    python: "td1 = td0.memmap(tmpdir_1, copy_existing=True); td_load = TensorDict.load_memmap(tmpdir_1)",
    code: (s) => {
      s.td1 = s.td0.memmap(`${s.dir}/1`, { copyExisting: true });
      assert.equal(TensorDict.loadMemmap(`${s.dir}/1`).eq(s.td).all(), true);
    },
    prints: null,
  },
  {
    line: 137,
    python: "td_load = TensorDict.load_memmap(tmpdir_1)  # breaks!",
    code: (s) => print(messageOf(() => TensorDict.loadMemmap(`${s.dir}/2`)).replace(s.dir, "tmp")),
    prints: "[Errno 2] No such file or directory: 'tmp/2/meta.json'",
  },
  ...snapshotRows(),
]);
