"""Writes tables with Python's tensordict, pandas and pyarrow, for test/tensordict/tables.test.ts.

    python make_tables.py OUT_DIR
"""
import json
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tensordict import NonTensorStack, TensorDict, to_arrow


def flat():
    return TensorDict(
        {
            "f32": torch.tensor([0.1, -1.25, float("nan"), 1e-7]),
            "f64": torch.tensor([0.1, 1e300, float("inf"), 12345678.0], dtype=torch.float64),
            "i8": torch.tensor([1, -2, 3, 127], dtype=torch.int8),
            "i64": torch.tensor([1, 2**60 + 1, -3, 0]),
            "u16": torch.tensor([1, 2, 65535, 0], dtype=torch.uint16),
            "bool": torch.tensor([True, False, True, False]),
            "obs": {"x": torch.tensor([1, 2, 3, 4]), "deep": {"y": torch.zeros(4)}},
            "text": NonTensorStack("a", 'b,"c"', "", "ü\nd"),
        },
        [4],
    )


def shaped():
    td = flat()
    td["f16"] = torch.tensor([1.0, 2.0, 0.5, -1.0], dtype=torch.float16)
    td["image"] = torch.arange(24.0).view(4, 3, 2)
    td["obs", "grid"] = torch.arange(8).view(4, 2)
    return td


def listing(tensor):
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "hex": tensor.numpy().tobytes().hex()}


def write_arrow(table, path, options=None):
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table)


def main(out):
    os.makedirs(out, exist_ok=True)
    at = lambda name: os.path.join(out, name)
    flat().to_csv(at("flat.csv"), separator=".")
    flat().to_json(at("flat.json"), separator=".")
    with open(at("flat.json"), "a") as file:
        file.write("\n")
    flat().to_json(at("flat.jsonl"), separator=".", lines=True)
    flat().to_parquet(at("flat.parquet"), separator=".")
    pq.write_table(pq.read_table(at("flat.parquet")), at("groups.parquet"), row_group_size=2, compression="zstd")
    write_arrow(to_arrow(shaped()), at("shaped.arrow"))
    kinds = pa.table(
        {
            "gaps": pa.array([1, None, 3], pa.int64()),
            "floats": pa.array([1.5, None, 3.0]),
            "truths": pa.array([True, None, False]),
            "texts": pa.array(["a", None, "c"]),
            "lists": pa.array([[1, 2], None, [3]], pa.list_(pa.int32())),
            "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": 3, "b": "z"}]),
            "pairs": pa.array([[1.0, 2.0], None, [5.0, 6.0]], pa.list_(pa.float32(), 2)),
        }
    )
    write_arrow(kinds, at("nulls.arrow"))
    full = pa.table(
        {
            "ids": pa.array([[1, 2], [], [3]], pa.list_(pa.int64())),
            "codes": pa.array(["x", "y", "x"]).dictionary_encode(),
            "when": pa.array([0, 1_000_000, 2_000_000], pa.timestamp("us")),
            "bytes": pa.array([b"a", b"", b"bc"]),
            "words": pa.array([["a"], [], ["b", "c"]]),
        }
    )
    write_arrow(full, at("kinds.arrow"))
    pq.write_table(full, at("kinds.parquet"))
    pq.write_table(kinds, at("nulls.parquet"))
    write_arrow(to_arrow(shaped()), at("compressed.arrow"), pa.ipc.IpcWriteOptions(compression="lz4"))
    leaves = {".".join(k) if isinstance(k, tuple) else k: v for k, v in shaped().items(True, True) if isinstance(v, torch.Tensor)}
    with open(at("expected.json"), "w") as file:
        json.dump({key: listing(value) for key, value in leaves.items()}, file, indent=1)
        file.write("\n")


main(sys.argv[1])
