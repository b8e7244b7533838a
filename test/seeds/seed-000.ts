// Rows of seed 000: where a TensorDict keeps its tensors.
import { device, print, printDirectoryTree, rand, TensorDict } from "../../src/index.ts";
import { type BaseScope, defineSeed } from "./row.ts";

interface Scope extends BaseScope {
  tensordict: TensorDict;
  mmTensordict: TensorDict;
}

const onCpu = "The document puts it on cuda:0; without CUDA the row runs on the CPU, whose tensors are not shared.";

const oneField = `TensorDict(
    fields={
        a: Tensor(shape=torch.Size([10]), device=cpu, dtype=torch.float32, is_shared=False)},
    batch_size=torch.Size([10]),
    device=cpu,
    is_shared=False)`;

const twoFields = (where: string) => `TensorDict(
    fields={
        a: Tensor(shape=torch.Size([10]), device=cpu, dtype=torch.float32, is_shared=False),
        b: Tensor(shape=torch.Size([10, 10]), device=cpu, dtype=torch.float32, is_shared=False)},
    batch_size=torch.Size([10]),
    device=${where},
    is_shared=False)`;

export const seed000 = defineSeed<Scope>("000", [
  {
    line: 11,
    python: 'tensordict = TensorDict({"a": torch.rand(10)}, [10], device="cuda:0")',
    code: (s) => {
      s.tensordict = new TensorDict({ a: rand(10) }, [10], { device: "cpu" });
    },
    prints: null,
    reason: onCpu,
  },
  { line: 12, python: "print(tensordict)", code: (s) => print(s.tensordict), prints: oneField, reason: onCpu },
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
    prints: twoFields("cpu"),
    reason: onCpu,
  },
  {
    line: 21,
    python: "# if the device of the TensorDict is not None, new entries are moved to it",
    code: () => {
      const moved = new TensorDict({ a: rand(10) }, [10], { device: "meta" });
      moved.set("b", rand(10, 10));
      print(moved);
    },
    prints: `TensorDict(
    fields={
        a: Tensor(shape=torch.Size([10]), device=meta, dtype=torch.float32, is_shared=False),
        b: Tensor(shape=torch.Size([10, 10]), device=meta, dtype=torch.float32, is_shared=False)},
    batch_size=torch.Size([10]),
    device=meta,
    is_shared=False)`,
    reason: "The document says it in words, of cuda:0; the meta device is another one on every machine.",
  },
  {
    line: 30,
    python: "print(tensordict.device)",
    code: (s) => print(s.tensordict.device),
    prints: "cpu",
    reason: onCpu,
  },
  {
    line: 36,
    python: 'tensordict.to(torch.device("cpu"))',
    code: (s) => s.tensordict.to(device("cpu")),
    prints: null,
    reason: "The document shows a TensorDict that to() changes; to() leaves it alone and returns the moved one.",
  },
  { line: 37, python: "print(tensordict)", code: (s) => print(s.tensordict), prints: twoFields("cpu") },
  {
    line: 45,
    python: "tensordict.cuda()",
    code: (s) => s.tensordict.to("cpu"),
    prints: null,
    reason: `${onCpu} Like to(), cuda() returns the moved TensorDict.`,
  },
  {
    line: 46,
    python: "print(tensordict)",
    code: (s) => print(s.tensordict),
    prints: twoFields("cpu"),
    reason: onCpu,
  },
  {
    line: 55,
    python: "tensordict.clear_device()",
    code: (s) => s.tensordict.clearDevice(),
    prints: null,
    reason: "It is called clear_device_() today; clearDevice() stays as another name of clearDevice_().",
  },
  {
    line: 56,
    python: "print(tensordict)",
    code: (s) => print(s.tensordict),
    prints: twoFields("None"),
    reason: onCpu,
  },
  {
    line: 56,
    python: "# without a device, values may be on different devices",
    code: (s) => {
      s.tensordict.set("c", rand(10, { device: "meta" }));
      print(s.tensordict.device, s.tensordict.get("a").device, s.tensordict.get("c").device);
    },
    prints: "None cpu meta",
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
