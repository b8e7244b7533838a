"""Reads with Python the files whose hashes the tests store, and writes the hashes down when all content is equal.

    python stored_files.py

Needs torch, tensordict, numpy, safetensors, torchsnapshot and bun.
"""
import json
import os
import sys
import tempfile
import warnings

import numpy
import safetensors.torch
import tensordict
import torch
from tensordict import LazyStackedTensorDict, TensorDict

from reporting import ROOT, bun, check, failures

warnings.simplefilter("ignore")
import torchsnapshot  # noqa: E402

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
PROGRAM = os.path.join(ROOT, "test", "tensordict", "stored-files.ts")
HASHES = os.path.join(ROOT, "test", "fixtures", "stored-hashes.json")


def numbers(name):
    return torch.arange(6.0).to(getattr(torch, name)).reshape(2, 3)


def arrays(names):
    return {**{name: numbers(name) for name in names}, "transposed": numbers("int32").T,
            "empty": torch.empty(2, 0, dtype=torch.float64), "scalar": torch.tensor(3), "ключ/鍵": numbers("uint8")}


NESTED = {"list": [1, "two", None, numbers("int8")], "flag": True, "number": 2.5}


def same(a, b):
    """Equal values of equal types; tensors have one dtype, one shape and the same elements."""
    if isinstance(a, numpy.ndarray):
        a = torch.from_numpy(a.copy())
    if isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def good_collection(td):
    """Whether a loaded TensorDict holds what stored-files.ts put into it."""
    stack = td.get("stack")
    values = td.get("values").data
    return (td.batch_size == torch.Size([2]) and td.names == ["time"]
            and set(td.keys()) == {*DTYPES, "nested", "stack", "text", "values"}
            and all(same(td.get(name), numbers(name)) for name in DTYPES)
            and td.get("nested").batch_size == torch.Size([2, 3])
            and same(td.get("nested").get("a/b"), numbers("int16"))
            and same(td.get("nested").get("deep").get(".."), numbers("float32"))
            and isinstance(stack, LazyStackedTensorDict) and stack.stack_dim == 0
            and all(same(member.get("x"), torch.tensor([x, x + 0.5]))
                    for member, x in zip(stack.tensordicts, (1.0, 2.0), strict=True))
            and td.get("text").data == "ü😀" and values == {"list": [1, 2.5, None, True], "text": "x"})


def load_snapshot(path):
    state = torchsnapshot.StateDict()
    torchsnapshot.Snapshot(path).restore({"state": state})
    return dict(state)


def main():
    directory = tempfile.mkdtemp(prefix="zensor-stored-")
    hashes = json.loads(bun(PROGRAM, directory))
    place = lambda name: os.path.join(directory, name)
    for name, load in {
        "directory": TensorDict.load_memmap, "archive.tdz": TensorDict.load_memmap,
        "deflated.tdz": TensorDict.load_memmap, "consolidated.bin": TensorDict.from_consolidated,
        "tensordict.safetensors": tensordict.from_safetensors,
        "tensordict.pt": lambda path: torch.load(path, weights_only=False),
    }.items():
        check(f"{name}: equal for tensordict", good_collection(load(place(name))))
    plain = safetensors.torch.load_file(place("plain.safetensors"))
    check("plain.safetensors: equal for safetensors", same(plain, arrays(DTYPES)))
    state = torch.load(place("state.pt"), weights_only=True)
    check("state.pt: equal for torch", same(state, {**arrays(DTYPES), "nested": NESTED}))
    check("transposed.npy: equal for NumPy", same(numpy.load(place("transposed.npy")), numbers("float32").T))
    with numpy.load(place("arrays.npz"), allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    check("arrays.npz: equal for NumPy", same(held, arrays([n for n in DTYPES if n != "bfloat16"])))
    for name in ("unbatched", "chunked", "batched"):
        expected = {**{n: numbers(n) for n in DTYPES}, "nested": NESTED}
        check(f"{name}: equal for torchsnapshot", same(load_snapshot(place(name)), expected))
    if not failures:
        with open(HASHES, "w") as file:
            file.write(json.dumps(hashes, indent=2, ensure_ascii=False) + "\n")
    print(f"\n{len(hashes)} files, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
