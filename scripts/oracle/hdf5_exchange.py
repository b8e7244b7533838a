"""HDF5 files through zensor and through Python's tensordict and h5py, both ways; prints what it finds.

    python hdf5_exchange.py [WORK_DIR]

Needs torch, tensordict, h5py, bun, and an HDF5 library that zensor finds.
"""
import json
import os
import platform
import random
import sys
import tempfile
import warnings

import h5py
import numpy as np
import tensordict
import torch
from tensordict import NonTensorData, NonTensorStack, PersistentTensorDict, TensorDict

from reporting import beside, check_all, finish

warnings.simplefilter("ignore")
COUNT = 200
DTYPES = ("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128").split()
KEYS = ["a", "b", "10", "2", "ключ", "鍵", "🔑", "sp ace", "..", "%", "x.y", "é", 'q"uote', "back\\slash", "__proto__",
        "0"]
TEXTS = ["", "hello", "ü😀\n", "null", "a" * 500]
LAYOUTS = [{}, {"compression": "gzip"}, {"chunks": True}, {"compression": "gzip", "shuffle": True}]
rng = random.Random(0)


def random_tensor(batch):
    shape = batch + [rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(3))]
    dtype = rng.choice(DTYPES)
    if not shape and dtype == "uint64":
        # tensordict cannot read a large one of no dimensions
        dtype = "int64"
    size = int(np.prod(shape)) * getattr(torch, dtype).itemsize
    return {"k": "tensor", "dtype": dtype, "shape": shape,
            "hex": bytes(rng.randrange(2 if dtype == "bool" else 256) for _ in range(size)).hex()}


def random_td(batch, depth):
    # from_h5 of tensordict fails for a level without tensors
    entries = {"t": random_tensor(batch)}
    for _ in range(rng.randrange(5)):
        roll, key = rng.randrange(10), rng.choice(KEYS)
        if roll < 2 and depth:
            entries[key] = random_td(batch + ([2] if rng.randrange(3) == 0 else []), depth - 1)
        elif roll == 2:
            entries[key] = {"k": "text", "text": rng.choice(TEXTS)}
        elif roll == 3 and len(batch) == 1 and batch[0] > 1:
            # tensordict writes equal texts as one
            entries[key] = {"k": "texts", "texts": [f"{i}{rng.choice(TEXTS)}" for i in range(batch[0])]}
        else:
            entries[key] = random_tensor(batch)
    return {"k": "td", "batch": batch, "entries": entries}


def build(tree, batch=()):
    if tree["k"] == "tensor":
        data = bytearray.fromhex(tree["hex"])
        dtype = getattr(torch, tree["dtype"])
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.zeros(0, dtype=dtype)
        return flat.reshape(tree["shape"])
    if tree["k"] == "text":
        return NonTensorData(tree["text"], batch_size=batch)
    if tree["k"] == "texts":
        return NonTensorStack(*tree["texts"])
    return TensorDict({key: build(value, tree["batch"]) for key, value in tree["entries"].items()}, tree["batch"])


def plain(tree):
    """A description without batch sizes, which files do not keep; h5py's order of keys."""
    if tree["k"] != "td":
        return tree
    return {"k": "td", "entries": {key: plain(tree["entries"][key]) for key in sorted(tree["entries"], key=str.encode)}}


def describe(entry):
    if isinstance(entry, torch.Tensor):
        return {"k": "tensor", "dtype": str(entry.dtype)[6:], "shape": list(entry.shape),
                "hex": entry.contiguous().numpy().tobytes().hex()}
    if isinstance(entry, NonTensorStack):
        return {"k": "texts", "texts": entry.tolist()}
    if isinstance(entry, NonTensorData):
        data = entry.data
        return {"k": "text", "text": data.decode() if isinstance(data, bytes) else data}
    return {"k": "td", "entries": {key: describe(entry.get(key)) for key in sorted(entry.keys(), key=str.encode)}}


def bun(*args):
    return beside("hdf5-exchange.ts", *args, silent=True)


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def main(work):
    print(f"torch {torch.__version__}, tensordict {tensordict.__version__}, h5py {h5py.__version__}, HDF5 "
          f"{h5py.version.hdf5_version}, Python {platform.python_version()}\nzensor with {bun('engine').strip()}\n")
    trees = [random_td([rng.randrange(1, 4) for _ in range(rng.randrange(3))], 3) for _ in range(COUNT)]
    listing = os.path.join(work, "trees.jsonl")
    with open(listing, "w") as f:
        f.writelines(json.dumps(tree) + "\n" for tree in trees)
    ours, theirs = os.path.join(work, "ours"), os.path.join(work, "theirs")
    os.makedirs(ours, exist_ok=True)
    os.makedirs(theirs, exist_ok=True)
    bun("build", listing, ours)
    for i, tree in enumerate(trees):
        options = {key: value for key, value in LAYOUTS[i % 4].items() if not has_scalar(tree)}
        build(tree).to_h5(os.path.join(theirs, f"{i}.h5"), **options).close()

    loaded = [PersistentTensorDict.from_h5(os.path.join(ours, f"{i}.h5")) for i in range(COUNT)]
    equal = sum(same(describe(td), plain(tree)) for td, tree in zip(loaded, trees))
    check_all("Python's tensordict reads what zensor wrote", equal, COUNT)
    sizes = [list(td.batch_size) for td in loaded]
    texts = [repr(td) for td in loaded]
    for td in loaded:
        td.close()
    found = [json.loads(line) for line in bun("describe", theirs, COUNT).splitlines()]
    equal = sum(same(plain(one["tree"]), plain(tree)) for one, tree in zip(found, trees))
    check_all("zensor reads what Python's tensordict wrote", equal, COUNT)
    check_all("both find the same batch size", sum(one["batch"] == size for one, size in zip(found, sizes)), COUNT)
    same_text = sum("".join(one["text"].split()) == "".join(text.split()) for one, text in zip(found, texts))
    check_all("both print the same compact text, line breaks aside", same_text, COUNT)
    changed = json.loads(bun("change", theirs, COUNT))
    good = 0
    for i, expected in enumerate(changed):
        td = PersistentTensorDict.from_h5(os.path.join(theirs, f"{i}.h5"))
        good += same(describe(td), plain(expected))
        td.close()
    check_all("Python reads its files after zensor set, renamed and deleted entries", good, COUNT)
    rows = indexed(work)
    check_all("indices of a compressed dataset read the same as in Python", *rows)


def has_scalar(tree):
    """h5py cannot store scalars in chunks, nor guess chunks for nothing."""
    if tree["k"] == "td":
        return any(has_scalar(value) for value in tree["entries"].values())
    return tree["k"] == "text" or 0 in tree.get("shape", [1]) or tree.get("shape") == []


def indexed(work):
    path = os.path.join(work, "indexed.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(7 * 11 * 5).reshape(7, 11, 5), chunks=(2, 3, 5), compression="gzip")
    indices = ["1:6:2", "0, 3:9", "..., -1", "-2, ..., 1:4", "5:2", "::3, ::4, ::2", "-3:, -5:-1", "3", "6, 10, 4"]
    found = json.loads(bun("indices", path, *indices))
    with h5py.File(path) as f:
        whole = torch.as_tensor(f["x"][()])
        wanted = [eval(f"whole[{index}]", {"whole": whole}).tolist() for index in indices]
    return sum(a == b for a, b in zip(found, wanted)), len(indices)


if len(sys.argv) > 1:
    main(sys.argv[1])
else:
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
sys.exit(finish())
