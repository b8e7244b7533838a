"""Random GGUF files written by the gguf package, read by zensor: metadata, values and blocks; prints what it finds.

    python gguf_exchange.py [WORK_DIR]

Needs numpy, gguf and bun.
"""
import json
import os
import random
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import version

import gguf
import numpy
from gguf import GGMLQuantizationType as Kind

from reporting import beside, check, finish

COUNT = 200
PLAIN = {Kind.F32: "float32", Kind.F16: "float16", Kind.F64: "float64", Kind.I8: "int8", Kind.I16: "int16",
         Kind.I32: "int32", Kind.I64: "int64"}
BLOCKS = [Kind.BF16, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0, Kind.Q2_K, Kind.Q3_K, Kind.Q4_K, Kind.Q5_K,
          Kind.Q6_K, Kind.TQ1_0, Kind.TQ2_0, Kind.IQ2_XXS, Kind.IQ2_XS, Kind.IQ2_S, Kind.IQ3_XXS, Kind.IQ3_S,
          Kind.IQ1_S, Kind.IQ1_M, Kind.IQ4_NL, Kind.IQ4_XS, Kind.MXFP4]
TEXTS = ["text", "ü😀\n", "a\0b", "x" * 300]


def random_metadata(rng, writer):
    """Adds fields and says what they hold."""
    held = {}
    for i in range(rng.randrange(8)):
        key = f"test.{rng.choice(['a', 'b', 'ключ', '🔑'])}{i}"
        kind = rng.choice(["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32",
                           "float64", "bool", "string", "array"])
        if kind == "string":
            value = rng.choice(TEXTS)
        elif kind == "array":
            value = rng.choice([[1, 2, 3], ["a", "ü"], [0.5, -1.5], [True, False], [2**20] * 70])
        elif kind == "bool":
            value = rng.random() < 0.5
        elif kind.startswith("float"):
            value = rng.choice([0.5, -2.25, 1e10])
        else:
            bits = int(kind.strip("uint"))
            value = rng.randrange(2 ** bits) - (0 if kind[0] == "u" else 2 ** (bits - 1))
        getattr(writer, f"add_{kind}")(key, value)
        held[key] = value
    return held


def random_file(rng, path):
    writer = gguf.GGUFWriter(path, rng.choice(["llama", "test"]))
    if rng.random() < 0.3:
        writer.add_custom_alignment(rng.choice([8, 64, 128]))
    metadata = random_metadata(rng, writer)
    tensors = {}
    for i in range(rng.randrange(1, 5)):
        name = f"{rng.choice(['w', 'blk.0', 'ключ'])}.{i}"
        if rng.random() < 0.4:
            kind = rng.choice(list(PLAIN))
            shape = [rng.choice([1, 2, 3, 5]) for _ in range(rng.randrange(1, 4))]
            dtype = numpy.dtype(PLAIN[kind])
            raw = bytes(rng.randrange(256) for _ in range(int(numpy.prod(shape)) * dtype.itemsize))
            data = numpy.frombuffer(raw, dtype).reshape(shape)
            writer.add_tensor(name, data)
            tensors[name] = (kind.name, data)
        else:
            kind = rng.choice(BLOCKS)
            block, size = gguf.GGML_QUANT_SIZES[kind]
            rows, per_row = rng.randrange(1, 4), rng.randrange(1, 4)
            raw = numpy.frombuffer(bytes(rng.randrange(256) for _ in range(rows * per_row * size)), numpy.uint8)
            data = raw.reshape(rows, per_row * size)
            writer.add_tensor(name, data, raw_dtype=kind)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tensors[name] = (kind.name, gguf.quants.dequantize(data, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return metadata, tensors


def same(expected, found):
    """Bit for bit, apart from what kind of NaN one is; else the largest difference in units of the last place."""
    if list(expected.shape) != found["shape"] or expected.dtype.name != found["dtype"]:
        return f"{expected.dtype} {expected.shape} became {found['dtype']} {found['shape']}"
    values = numpy.frombuffer(bytes.fromhex(found["hex"]), expected.dtype).reshape(expected.shape)
    if expected.dtype.kind != "f":
        return None if numpy.array_equal(values, expected) else "other integers"
    good = (values == expected) | (numpy.isnan(values) & numpy.isnan(expected))
    if good.all():
        return None
    at = tuple(numpy.argwhere(~good)[0])
    return f"{int((~good).sum())} of {good.size} differ: {expected[at]!r} became {values[at]!r}"


def simple(value):
    if value["k"] == "value":
        return json.loads(value["text"])
    if value["k"] == "list":
        return [simple(v) for v in value["items"]]
    if value["k"] == "tensor":
        data = numpy.frombuffer(bytes.fromhex(value["hex"]), value["dtype"])
        return data.tolist()
    return {key: simple(v) for key, v in value["entries"]}


def main():
    work = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="zensor-gguf-")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    rng = random.Random(25)
    written = [random_file(rng, os.path.join(work, f"{i}.gguf")) for i in range(COUNT)]
    read = [json.loads(line) for line in beside("files-exchange.ts", "read", "gguf", work, COUNT).splitlines()]
    print(f"gguf {version('gguf')}, "
          f"numpy {numpy.__version__}: {COUNT} files\n")
    fields, wrong, counts, different = 0, [], {}, []
    for i, ((metadata, tensors), value) in enumerate(zip(written, read, strict=True)):
        if "error" in value:
            wrong.append((i, value))
            continue
        parts = dict((key, entry) for key, entry in value["entries"])
        found = {key: simple(v) for key, v in parts["metadata"]["entries"]}
        for key, held in metadata.items():
            fields += 1
            if found.get(key) != held:
                wrong.append((i, key, held, found.get(key)))
        arrays = dict((key, entry) for key, entry in parts["tensors"]["entries"])
        for name, (kind, data) in tensors.items():
            problem = same(data, arrays[name])
            counts[kind] = counts.get(kind, 0) + 1
            if problem is not None:
                different.append((i, name, kind, problem))
    check("metadata", not wrong, f"{fields} fields{f', not {wrong[:3]}' if wrong else ''}")
    total = sum(counts.values())
    check("tensors", not different, f"{total - len(different)} of {total}{f', not {different[:5]}' if different else ''}")
    print("     " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
