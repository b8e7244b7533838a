"""What Python's tensordict prints, in both forms: python make_printed_texts.py > test/fixtures/tensordict/printed.json

The same objects are made in test/tensordict/printed.test.ts under the same names.
"""
import json
import tempfile
import warnings
from typing import Any

import torch
from tensordict import (MemoryMappedTensor, MetaData, NonTensorData, NonTensorStack, TensorDict, lazy_stack,
                        set_printoptions, tensorclass)

warnings.simplefilter("ignore")
z = torch.zeros
DTYPES = ("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 "
          "complex128").split()


@tensorclass
class P:
    x: torch.Tensor
    y: torch.Tensor
    label: str = "n"


@tensorclass
class N:
    v: torch.Tensor
    next: "N" = None


@tensorclass
class Q:
    d: Any = None
    b: torch.Tensor = None
    x: torch.Tensor = None
    a: torch.Tensor = None
    s: str = "x"
    zz: Any = None


def point():
    return P(x=z(2, 3), y=z(2), label="q", batch_size=[2])


CASES = {
    "empty": lambda: TensorDict({}, []),
    "plain": lambda: TensorDict({"b": z(2, 3), "a": torch.ones(2, dtype=torch.int64)}, [2]),
    "nested": lambda: TensorDict({"n": {"m": {"c": z(2, 1)}}, "a": z(2)}, [2]),
    "device": lambda: TensorDict({"a": z(2)}, [2], device="cpu"),
    "names": lambda: TensorDict({"a": z(2)}, [2], names=["t"]),
    "order": lambda: TensorDict({"\U0001f511": z(1), "\ufb00": z(1), "Z": z(1), "a": z(1)}),
    "value": lambda: TensorDict({"s": "hello", "i": NonTensorData(3), "f": NonTensorData(2.5), "n": NonTensorData(None),
                                 "d": NonTensorData({"a": [1, "x"]}), "t": NonTensorData(True)}),
    "values": lambda: TensorDict({"s": NonTensorStack("a", "b'c")}, [2]),
    "lazy": lambda: lazy_stack([TensorDict({"a": z(3), "z": z(1)}), TensorDict({"a": z(4)})]),
    "lazy, dim 1": lambda: lazy_stack([TensorDict({"a": z(2, 3)}, [2]), TensorDict({"a": z(2, 3)}, [2])], 1),
    "lazy inside": lambda: TensorDict({"l": lazy_stack([TensorDict({"a": z(3)}), TensorDict({"a": z(3)})])}, [2]),
    "class": point,
    "class inside": lambda: TensorDict({"p": point()}, [2]),
    "recursive": lambda: N(v=z(2), next=N(v=z(2, 4), batch_size=[2]), batch_size=[2]),
    "missing fields": lambda: Q(x=z(2), a=z(2), batch_size=[2]),
    "mapped": lambda: TensorDict({"a": z(2, 3), "n": {"b": z(2)}, "s": "x"}, [2]).memmap(tempfile.mkdtemp()),
    "mapped, no file": lambda: TensorDict({"a": z(2, 3)}, [2]).memmap(),
    "dtypes": lambda: TensorDict({name: z(1, dtype=getattr(torch, name)) for name in DTYPES}, [1]),
    "indexed": lambda: TensorDict({"a": z(2, 3)}, [2])[0],
    "compared": lambda: TensorDict({"a": z(2)}, [2]) == TensorDict({"a": z(2)}, [2]),
    "parameter": lambda: TensorDict({"w": torch.nn.Parameter(z(2))}),
    "module": lambda: TensorDict.from_module(torch.nn.Linear(2, 3)),
    "expanded": lambda: TensorDict({"a": z(3)}).expand(4),
    "longer batch inside": lambda: TensorDict({"n": TensorDict({"x": z(2, 3, 4)}, [2, 3])}, [2]),
    "mapped tensor": lambda: MemoryMappedTensor.from_tensor(torch.arange(6.0).reshape(2, 3)),
    "wrapped": lambda: NonTensorData("x"),
    "wrapped stack": lambda: NonTensorStack("a", "b"),
    "metadata": lambda: MetaData(1),
    "long": lambda: TensorDict({f"key_number_{i}": z(2, 3) for i in range(7)}, [2]),
    "meta device": lambda: TensorDict({"a": z(2, 3, device="meta")}, [2]),
}

texts = {}
for form in ("detailed", "compact"):
    set_printoptions(compact=form == "compact").set()
    for name, make in CASES.items():
        texts.setdefault(name, {})[form] = repr(make())
print(json.dumps(texts, indent=1))
