"""Writes test/fixtures/torch/*.pt with the real torch and tensordict, in all the ways that .pt files come."""
import sys
import types
from collections import OrderedDict
from pathlib import Path

import torch
from tensordict import LazyStackedTensorDict, NonTensorData, NonTensorStack, TensorDict, TensorDictParams, tensorclass

OUT = Path(__file__).parents[2] / "test" / "fixtures" / "torch"
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 uint16 uint32 uint64 float8_e4m3fn float8_e5m2"


@tensorclass
class Reading:
    value: torch.Tensor
    label: str


module = types.ModuleType("readings")
module.Reading = Reading
Reading.__module__ = "readings"
sys.modules["readings"] = module


def main() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.arange(parameter.numel(), dtype=torch.float32).reshape(parameter.shape) + i)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.arange(parameter.numel(), dtype=torch.float32).reshape(parameter.shape) + i)
    values = {
        "param": torch.nn.Parameter(base),
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "wants": torch.ones(2, requires_grad=True),
        "transposed": base.t(),
        "expanded": base[:1].expand(5, 4),
        "part": base[1:, 1:3],
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "conj": torch.tensor([1 + 2j, 3 - 4j]).conj(),
        "meta": torch.empty(2, 3, device="meta"),
        "size": base.shape,
        "dtype": torch.bfloat16,
        "device": torch.device("cuda", 1),
        "ordered": OrderedDict(b=1, a=None),
        "plain": [1, 2.5, 2**70, "text", True, (1, 2), 1 + 2j, b"\x00\xff", {3, 4}],
        "numbers": {1: "one", 2: "two"},
    }
    torch.save(values, OUT / "values.pt")
    torch.save({name: (torch.arange(3) % 2).to(getattr(torch, name)) for name in DTYPES.split()}, OUT / "dtypes.pt")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    torch.save(state, OUT / "training.pt")
    torch.save(state, OUT / "legacy.pt", _use_new_zipfile_serialization=False)
    legacy = [base, base.t(), base[1:], torch.arange(3, dtype=torch.int64), torch.ones(0), torch.tensor(True)]
    torch.save(legacy, OUT / "legacy_views.pt", _use_new_zipfile_serialization=False)
    td = TensorDict({"a": base, "n": {"b": torch.ones(3, dtype=torch.int64)}, "s": "txt"}, batch_size=[3], names=["t"])
    stack = NonTensorStack("x", "y", "z")
    torch.save({"td": td, "stack": TensorDict({"v": stack}, batch_size=[3])}, OUT / "tensordict.pt")
    whole = [NonTensorData(v, batch_size=[3]) for v in ("a", 1.0)]
    parts = [TensorDict({"s": v, "n": NonTensorStack(v.data, 2.0, 3)}, batch_size=[3]) for v in whole]
    values = {f"dim{dim}": torch.stack(parts, dim) for dim in (0, 1)}
    torch.save(values, OUT / "value_stacks.pt")
    torch.save(LazyStackedTensorDict(td, td.clone(), stack_dim=1), OUT / "lazy.pt")
    torch.save(td.consolidate(), OUT / "consolidated.pt")
    torch.save(TensorDictParams(TensorDict(a=base)), OUT / "params.pt")
    torch.save(Reading(value=base, label="q", batch_size=[3]), OUT / "tensorclass.pt")
    torch.save(torch.eye(2).to_sparse(), OUT / "sparse.pt")
    torch.save(torch.quantize_per_tensor(base, 0.1, 0, torch.quint8), OUT / "quantized.pt")
    torch.save(model, OUT / "module.pt")


main()
