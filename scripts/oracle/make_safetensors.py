"""Writes TensorDicts with tensordict.to_safetensors: the files that test/tensordict/safetensors.test.ts reads.

Run with a Python that has torch, tensordict and safetensors: python make_safetensors.py <folder>
"""

import sys
from pathlib import Path

import torch
from tensordict import MetaData, NonTensorData, TensorDict, lazy_stack, tensorclass, to_safetensors


@tensorclass
class Point:
    x: torch.Tensor
    label: str
    y: torch.Tensor = None


@tensorclass
class Pair:
    x: torch.Tensor


Pair.__module__ = "zensor_fixtures"
Pair.__qualname__ = "Pair"
Point.__module__ = "zensor_fixtures"
Point.__qualname__ = "Point"


def trees():
    a = torch.arange(6.0).reshape(2, 3)
    yield "names", TensorDict(a=a, batch_size=[2], names=["time"])
    yield "nested", TensorDict({"a": a, "n": {"b": torch.tensor([1, 2]), "e": {}}, "x.y": a.bool()}, batch_size=[2])
    yield "lazy", lazy_stack([TensorDict(a=a + i, n=TensorDict(b=a.half() * i)) for i in range(2)])
    yield "lazy_inside", TensorDict(s=lazy_stack([TensorDict(a=a + i, batch_size=[2]) for i in range(3)], 1), batch_size=[2])
    yield "tensorclass", TensorDict(p=Point(x=a, label="hé\n", batch_size=[2]), batch_size=[2])
    values = {"a": [1, 2.5, None, True, "s"], "2": {"1": 2.0}}
    yield "lazy_classes", lazy_stack([TensorDict(p=Pair(x=a + i), n=TensorDict(b=a)) for i in range(2)])
    yield "values", TensorDict(a=a, d=NonTensorData(values), m=MetaData("once"), i=NonTensorData(2**60))
    yield "layouts", TensorDict(t=a.t(), e=torch.ones(1).expand(4), z=torch.zeros(0, 2), s=torch.tensor(3, dtype=torch.bfloat16))


folder = Path(sys.argv[1])
for name, td in trees():
    to_safetensors(td, folder / f"{name}.safetensors")
