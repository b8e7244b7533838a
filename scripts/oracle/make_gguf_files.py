"""Writes test/fixtures/gguf/*.gguf with the gguf package, and what it makes of their quantized tensors."""
import json
from pathlib import Path

import gguf
import numpy as np
from gguf import quants

OUT = Path(__file__).parents[2] / "test" / "fixtures" / "gguf"
QUANTIZED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]


def main() -> None:
    writer = gguf.GGUFWriter(OUT / "all.gguf", "llama")
    writer.add_uint8("x.u8", 255)
    writer.add_int8("x.i8", -1)
    writer.add_uint16("x.u16", 65535)
    writer.add_int16("x.i16", -2)
    writer.add_uint32("x.u32", 2**32 - 1)
    writer.add_int32("x.i32", -3)
    writer.add_float32("x.f32", 0.5)
    writer.add_uint64("x.u64", 2**64 - 1)
    writer.add_int64("x.i64", -(2**40))
    writer.add_float64("x.f64", 0.1)
    writer.add_bool("x.bool", True)
    writer.add_string("x.string", "tökens")
    writer.add_array("x.strings", ["a", "", "ü"])
    writer.add_array("x.ints", [1, -2, 3])
    writer.add_array("x.floats", [0.5, 1.5])
    writer.add_array("x.bools", [True, False])
    plain = np.arange(24).reshape(2, 3, 4)
    for name in ["float32", "float16", "float64", "int8", "int16", "int32", "int64"]:
        writer.add_tensor(name, plain.astype(name))
    bf16 = quants.quantize(plain.astype(np.float32), gguf.GGMLQuantizationType.BF16)
    writer.add_tensor("bfloat16", bf16, raw_dtype=gguf.GGMLQuantizationType.BF16)
    values = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    values[2] = 0
    expected = {}
    for name in QUANTIZED:
        kind = gguf.GGMLQuantizationType[name]
        blocks = quants.quantize(values, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        expected[name] = quants.dequantize(blocks, kind).flatten().tolist()
    # Blocks of any bits, so that every value of an element occurs.
    random = np.random.default_rng(1).integers(0, 256, size=(2, 210), dtype=np.uint8)
    writer.add_tensor("Q6_K", random, raw_dtype=gguf.GGMLQuantizationType.Q6_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (OUT / "expected.json").write_text(json.dumps(expected) + "\n")
    other = gguf.GGUFWriter(OUT / "aligned.gguf", "llama")
    other.add_custom_alignment(128)
    other.add_tensor("a", np.ones(3, dtype=np.float32))
    other.add_tensor("b", np.arange(2, dtype=np.float32))
    other.write_header_to_file()
    other.write_kv_data_to_file()
    other.write_tensors_to_file()
    other.close()


main()
