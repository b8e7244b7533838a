"""Writes test/fixtures/gguf/*.gguf with the gguf package."""
from pathlib import Path

import gguf
import numpy as np
from gguf import quants

OUT = Path(__file__).parents[2] / "test" / "fixtures" / "gguf"
# Where the scales of a block's elements are: float16, which random bits would make infinite.
SCALES = {
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "TQ1_0": [52],
    "TQ2_0": [64],
    "MXFP4": [],
    "NVFP4": [],
    "IQ1_S": [0],
    "IQ1_M": [],
    "IQ2_XXS": [0],
    "IQ2_XS": [0],
    "IQ2_S": [0],
    "IQ3_XXS": [0],
    "IQ3_S": [0],
    "IQ4_NL": [0],
    "IQ4_XS": [0],
}


def write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_blocks() -> None:
    """Blocks of random bits, and beside them what the package makes of them."""
    writer = gguf.GGUFWriter(OUT / "blocks.gguf", "llama")
    random = np.random.default_rng(0)
    for name, scales in SCALES.items():
        kind = gguf.GGMLQuantizationType[name]
        size, nbytes = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, size=(2 * 256 // size, nbytes), dtype=np.uint8)
        for at in scales:
            values = random.normal(size=len(blocks)).astype(np.float16)
            blocks[:, at : at + 2] = values.view(np.uint8).reshape(-1, 2)
        if name == "IQ1_M":
            # Its scale lies in the upper bits of four numbers.
            bits = random.normal(size=len(blocks)).astype(np.float16).view(np.uint16)
            for i in range(4):
                upper = (bits >> (4 * i) & 15).astype(np.uint8) << 4
                blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | upper
        rows = blocks.reshape(2, -1)
        writer.add_tensor(name, rows, raw_dtype=kind)
        writer.add_tensor(f"{name}.expected", quants.dequantize(rows, kind))
    write(writer)


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
    writer.add_tensor("Q8_1", np.zeros((2, 80), dtype=np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q8_1)
    write(writer)
    other = gguf.GGUFWriter(OUT / "aligned.gguf", "llama")
    other.add_custom_alignment(128)
    other.add_tensor("a", np.ones(3, dtype=np.float32))
    other.add_tensor("b", np.arange(2, dtype=np.float32))
    write(other)
    write_blocks()


main()
