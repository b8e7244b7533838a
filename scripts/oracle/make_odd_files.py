"""Writes test/fixtures/odd: files whose numbers stand beside elements that no tensor has, and checkpoints in several files.

    python make_odd_files.py

Needs torch, numpy, h5py, safetensors and pyarrow. scipy's save_npz writes the arrays of sparse.npz like this.
"""
import json
import os
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "test", "fixtures", "odd")
os.makedirs(OUT, exist_ok=True)


def at(*name):
    path = os.path.join(OUT, *name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


# NumPy
sparse = dict(data=np.array([1.0, 2.0]), indices=np.array([0, 1], "i4"), indptr=np.array([0, 1, 2], "i4"))
np.savez(at("sparse.npz"), **sparse, shape=np.array([2, 2]), format=np.array("csr".encode()))
nested = np.dtype([("id", "<i4"), ("p", [("x", "<f8"), ("y", "<f8", (2, 3))]), ("s", "<U3")], align=True)
arrays = dict(
    x=np.arange(6.0).reshape(2, 3),
    words=np.array([["a", "bcd"], ["", "zwölf"]]),
    turned=np.asfortranarray(np.array([["a", "b", "c"], ["d", "e", "f"]])),
    big=np.array(["ab", "c"], dtype=">U2"),
    ascii=np.array([b"one", b"three"]),
    latin=np.array([b"\xe9\xff"]),
    scalar=np.array("text"),
    none=np.array([], dtype="<U4"),
    dates=np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
    spans=np.array([1, 2], dtype="m8[25s]"),
    record=np.zeros(2, dtype=nested),
    void=np.array([b"ab", b"cd"], dtype="V2"),
    wide=np.arange(2).astype("f16"),
    objects=np.array([{"a": 1}, None], dtype=object),
    y=np.arange(3),
)
np.savez(at("odd.npz"), **arrays)
np.savez_compressed(at("packed.npz"), **arrays)
np.save(at("record.npy"), arrays["record"])
np.save(at("words.npy"), arrays["words"])

# safetensors
names = "float8_e8m0fnu float8_e4m3fnuz float8_e5m2fnuz float4_e2m1fn_x2 float8_e4m3fn int8 bool int16 float32 int64"
tensors = {"x": torch.arange(6.0).view(2, 3)}
for name in names.split():
    dtype = getattr(torch, name)
    size = torch.empty(0, dtype=dtype).element_size()
    tensors[f"layer.{name}"] = torch.arange(4, dtype=torch.uint8).repeat(2 * size).view(dtype).view(2, 4)
save_file(tensors, at("odd.safetensors"), metadata={"format": "pt"})

# HDF5
with h5py.File(at("odd.h5"), "w") as f:
    space = h5py.h5s.create_simple((3,))
    f["x"] = np.arange(3)
    f["compound"] = np.array([(1, 2.0), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    f["deep"] = np.array([((1, 2.0), [1, 2])], dtype=[("p", [("a", "i4"), ("b", ">f8")]), ("q", "i2", (2,))])
    f["opaque"] = np.array([b"ab", b"cd"], dtype="V2")
    f["dates"] = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]").astype(h5py.opaque_dtype(np.dtype("M8[D]")))
    f["enum"] = np.array([0, 1, 1], dtype=h5py.enum_dtype({"CAT": 0, "DOG": 1}, basetype="i1"))
    f["empty"] = h5py.Empty("f4")
    f["empty_text"] = h5py.Empty("S3")
    f.create_dataset("reference", data=np.array([f["x"].ref], dtype=h5py.ref_dtype))
    f.create_dataset("region", data=np.array([f["x"].regionref[0:2]], dtype=h5py.regionref_dtype))
    lists = f.create_dataset("lists", (2, 2), dtype=h5py.vlen_dtype(np.dtype(">i4")))
    lists[0, 0], lists[1, 1] = [1, 2, 3], [4]
    floats = f.create_dataset("floats", (2,), dtype=h5py.vlen_dtype(np.dtype("f8")))
    floats[0] = [1, 2.5]
    one = f.create_dataset("one_list", (), dtype=h5py.vlen_dtype(np.dtype("u8")))
    one[()] = np.array([2**63, 1], "u8")
    texts = f.create_dataset("lists_of_texts", (2,), dtype=h5py.vlen_dtype(h5py.string_dtype()))
    texts[0] = ["a", "bc"]
    record = np.dtype([("id", ">i4"), ("s", h5py.string_dtype()), ("w", "f4", (2,)), ("f", "S3")])
    f["records"] = np.array([(1, "hello", [1, 2.5], b"abc"), (-5, "zwölf", [0, 0], b"x")], dtype=record)
    f["mixed"] = np.array([(1, "a", b"ab")], dtype=[("id", "i4"), ("s", h5py.string_dtype()), ("v", "V2")])
    f["wide"] = np.arange(3).astype("f16")
    for name, kind, data in [("bits", h5py.h5t.STD_B8LE, np.arange(3, dtype="u1")), ("time", h5py.h5t.UNIX_D32LE, np.arange(3, dtype="i4"))]:
        h5py.h5d.create(f.id, name.encode(), kind, space).write(h5py.h5s.ALL, h5py.h5s.ALL, data, kind)
    pairs = h5py.h5t.array_create(h5py.h5t.STD_I16LE, (2, 2))
    data = np.arange(12, dtype="i2").reshape(3, 2, 2)
    h5py.h5d.create(f.id, b"array", pairs, space).write(h5py.h5s.ALL, h5py.h5s.ALL, data, pairs)
    narrow = h5py.h5t.STD_I32LE.copy()
    narrow.set_precision(24)
    narrow.set_size(3)
    h5py.h5d.create(f.id, b"int24", narrow, space)
    packed = f.create_dataset("packed", (100,), dtype=[("a", "i4")], chunks=(10,), compression="gzip")
    packed["a"] = np.arange(100)
    f["group/record"] = np.array([(1,)], dtype=[("k", "u1")])
    f["x"].attrs["record"] = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    f["x"].attrs["empty"] = h5py.Empty("f4")
    f["x"].attrs["__tensordict_stack__"] = h5py.Empty("i8")
    f.attrs["reference"] = f["x"].ref
    f["type"] = np.dtype("i4")

# Checkpoints in several files
first = {"model.embed.weight": torch.arange(6.0).view(2, 3), "model.layers.0.w": torch.ones(4, dtype=torch.bfloat16)}
second = {"model.head.weight": torch.arange(4).view(2, 2)}
for folder, stem, ending in [("shards", "model", "safetensors"), ("bins", "pytorch_model", "bin")]:
    weight_map = {}
    for i, part in enumerate([first, second]):
        name = f"{stem}-{i + 1:05d}-of-00002.{ending}"
        weight_map.update({key: name for key in part})
        if ending == "safetensors":
            save_file(part, at(folder, name), metadata={"format": "pt"})
        else:
            torch.save(part, at(folder, name))
    with open(at(folder, f"{stem}.{ending}.index.json"), "w") as f:
        f.write(json.dumps({"metadata": {"total_size": 64}, "weight_map": weight_map}, indent=2, sort_keys=True) + "\n")

# Parquet: the two columns of bytes that a VARIANT consists of
variant = pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x0c\x2a"}] * 2)
pq.write_table(pa.table({"x": [1, 2], "odd": variant}), at("variant.parquet"), compression="none")
