"""What the makers of cases for test/conformance/modules share: values as data, and cotangents."""

import json
import math

import torch
from torch.nn.utils.rnn import PackedSequence

CODES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "bool", torch.int32: "i32", torch.bfloat16: "bf16"}


class Writer:
    def __init__(self):
        self.blob = bytearray()
        self.lines = []
        self.places = []

    def encode(self, x):
        if isinstance(x, PackedSequence):
            return {"$ps": [self.encode(part) for part in x]}
        if isinstance(x, torch.Tensor):
            data = x.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""
            s = -1
            if data:
                s = len(self.places)
                self.places.append([len(self.blob), len(data)])
                self.blob += data + bytes(-len(data) % 16)
            t = {"s": s, "dt": CODES[x.dtype], "sh": list(x.shape)}
            if x.requires_grad:
                t["rg"] = 1
            return {"$t": t}
        if isinstance(x, float):
            return {"$f": x if math.isfinite(x) else str(x)}
        if isinstance(x, tuple):
            return {"$tu": [self.encode(y) for y in x]}
        if isinstance(x, list):
            return [self.encode(y) for y in x]
        if isinstance(x, dict):
            return {"$map": [[key, self.encode(y)] for key, y in x.items()]}
        return x

    def write(self, case):
        case["S"] = self.places
        self.places = []
        self.lines.append(json.dumps(case))


def cotangent(t, k):
    i = torch.arange(t.numel(), dtype=torch.float64)
    return (((7 * i + 3 + 5 * k) % 11 - 5) / 4).to(t.dtype).reshape(t.shape)


def flat(x):
    if isinstance(x, torch.Tensor):
        return [x]
    return [t for y in x if y is not None for t in flat(y)]


def save(writer, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.jsonl").write_text("\n".join(writer.lines) + "\n")
    (folder / "blob.bin").write_bytes(writer.blob)
    print(len(writer.lines), "cases,", len(writer.blob), "bytes")
