// Rows of seed 000: where a TensorDict keeps its tensors.
import { device, print, printDirectoryTree, rand, TensorDict } from "../../src/index.ts";
import { type BaseScope, defineSeed } from "./row.ts";

interface Scope extends BaseScope {
  tensordict: TensorDict;
  moved: TensorDict;
  mmTensordict: TensorDict;
}

const isNew = "The document shows a TensorDict that to() changes; to() leaves it alone and returns the moved one.";

const oneField = `TensorDict(
    fields={
        a: Tensor(shape=torch.Size([10]), device=cuda:0, dtype=torch.float32, is_shared=True)},
    batch_size=torch.Size([10]),
    device=cuda:0,
    is_shared=True)`;

const twoFields = (device: string, shared: string, where = device) => `TensorDict(
    fields={
        a: Tensor(shape=torch.Size([10]), device=${device}, dtype=torch.float32, is_shared=${shared}),
        b: Tensor(shape=torch.Size([10, 10]), device=${device}, dtype=torch.float32, is_shared=${shared})},
    batch_size=torch.Size([10]),
    device=${where},
    is_shared=${where === "cuda:0" ? "True" : "False"})`;

export const seed000 = defineSeed<Scope>("000", [
  {
    line: 11,
    python: 'tensordict = TensorDict({"a": torch.rand(10)}, [10], device="cuda:0")',
    code: (s) => {
      s.tensordict = new TensorDict({ a: rand(10) }, [10], { device: "cuda:0" });
    },
    prints: null,
  },
  { line: 12, python: "print(tensordict)", code: (s) => print(s.tensordict), prints: oneField },
  {
    line: 20,
    python: 'tensordict["b"] = torch.rand(10, 10)',
    code: (s) => s.tensordict.set("b", rand(10, 10)),
    prints: null,
  },
  {
    line: 21,
    python: "print(tensordict)",
    code: (s) => print(s.tensordict),
    prints: twoFields("cuda:0", "True"),
  },
  {
    line: 30,
    python: "print(tensordict.device)",
    code: (s) => print(s.tensordict.device),
    prints: "cuda:0",
  },
  {
    line: 36,
    python: 'tensordict.to(torch.device("cpu"))',
    code: (s) => {
      s.moved = s.tensordict.to(device("cpu"));
    },
    prints: null,
    reason: isNew,
  },
  { line: 37, python: "print(tensordict)", code: (s) => print(s.moved), prints: twoFields("cpu", "False") },
  {
    line: 45,
    python: "tensordict.cuda()",
    code: (s) => {
      s.moved = s.moved.cuda();
    },
    prints: null,
    reason: isNew,
  },
  { line: 46, python: "print(tensordict)", code: (s) => print(s.moved), prints: twoFields("cuda:0", "True") },
  {
    line: 55,
    python: "tensordict.clear_device()",
    code: (s) => s.moved.clearDevice(),
    prints: null,
    reason: "It is called clear_device_() today; clearDevice() stays as another name of clearDevice_().",
  },
  { line: 56, python: "print(tensordict)", code: (s) => print(s.moved), prints: twoFields("cuda:0", "True", "None") },
  {
    line: 56,
    python: "# without a device, values may be on different devices",
    code: (s) => {
      s.moved.set("c", rand(10));
      print(s.moved.device, s.moved.get("a").device, s.moved.get("c").device);
    },
    prints: "None cuda:0 cpu",
    reason: "The document says it in words.",
  },
  {
    line: 71,
    python: 'tensordict = TensorDict({"a": torch.rand(10), "b": {"c": torch.rand(10)}}, [10])',
    code: (s) => {
      s.tensordict = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
    },
    prints: null,
  },
  { line: 72, python: "tensordict.memmap_()", code: (s) => s.tensordict.memmap_(), prints: null },
  {
    line: 73,
    python: "print(tensordict)",
    code: (s) => print(s.tensordict),
    prints: `TensorDict(
    fields={
        a: MemoryMappedTensor(shape=torch.Size([10]), device=cpu, dtype=torch.float32, is_shared=False),
        b: TensorDict(
            fields={
                c: MemoryMappedTensor(shape=torch.Size([10]), device=cpu, dtype=torch.float32, is_shared=False)},
            batch_size=torch.Size([10]),
            device=cpu,
            is_shared=False)},
    batch_size=torch.Size([10]),
    device=cpu,
    is_shared=False)`,
  },
  {
    line: 88,
    python: 'tensordict = TensorDict({"a": torch.rand(10), "b": {"c": torch.rand(10)}}, [10])',
    code: (s) => {
      s.tensordict = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
    },
    prints: null,
  },
  {
    line: 89,
    python: "mm_tensordict = tensordict.memmap_like()",
    code: (s) => {
      s.mmTensordict = s.tensordict.memmapLike();
    },
    prints: null,
  },
  {
    line: 90,
    python: 'print(mm_tensordict["a"].contiguous())',
    code: (s) => print(s.mmTensordict.at("a").contiguous()),
    prints: "MemoryMappedTensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0.])",
  },
  {
    line: 94,
    python: 'tensordict.memmap_(prefix="/path/to/root")',
    code: (s) => {
      s.tensordict.memmap_(`${s.dir}/root`);
      printDirectoryTree(`${s.dir}/root`, { style: "branches" });
    },
    prints: `├── a.memmap
├── b
│   ├── c.memmap
│   └── meta.json
└── meta.json`,
    reason: "Metadata is in one meta.json per level today, no longer in a .meta.pt file beside each tensor.",
  },
]);
