"""Writes a table of every type that pyarrow has, and what its rows are, for test/io/table-kinds.test.ts.

    python make_table_kinds.py OUT_DIR
"""
import datetime
import decimal
import json
import os
import struct
import sys
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

D = decimal.Decimal
T = datetime.timedelta
UTC = datetime.timezone.utc


def column_kinds():
    whole = {f"{name}": pa.array([0, None, 7], getattr(pa, name)()) for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]}
    return whole | {
        "uint64": pa.array([0, None, 2**64 - 1], pa.uint64()),
        "wide64": pa.array([2**60 + 1, None, -(2**60) - 1], pa.int64()),
        "half": pa.array(np.array([1.5, -0.25, 6e-8], np.float16)),
        "float": pa.array([1.5, None, -2.25], pa.float32()),
        "double": pa.array([0.1, None, -2.25], pa.float64()),
        "truth": pa.array([True, None, False]),
        "none": pa.nulls(3),
        "text": pa.array(["a", None, "ü"]),
        "large_text": pa.array(["a", None, "ü"], pa.large_string()),
        "text_view": pa.array(["a", None, "longer than twelve bytes"], pa.string_view()),
        "binary": pa.array([b"a", None, b"\xff"]),
        "large_binary": pa.array([b"a", None, b"\xff"], pa.large_binary()),
        "binary_view": pa.array([b"a", None, b"\xff" * 20], pa.binary_view()),
        "fixed_binary": pa.array([b"ab", None, b"\xff\0"], pa.binary(2)),
        "decimal32": pa.array([D("1.5"), None, D("-2.25")], pa.decimal32(5, 2)),
        "decimal64": pa.array([D("1.5"), None, D("-2.25")], pa.decimal64(12, 2)),
        "decimal128": pa.array([D("1.5"), None, D("-2.25")], pa.decimal128(20, 3)),
        "decimal256": pa.array([D("1.5"), None, D("-12345678901234567890123456789012345678901.25")], pa.decimal256(50, 2)),
        "decimal_scaled": pa.array([D("1500"), None, D("-2500")], pa.decimal128(5, -2)),
        "decimal_digits": pa.array([D("0.1234567890123456789"), None, D("-0.3000000000000000001")], pa.decimal128(25, 19)),
        "date32": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)]),
        "date64": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)], pa.date64()),
        "time_s": pa.array([datetime.time(1, 2, 3), None, datetime.time(0)], pa.time32("s")),
        "time_ms": pa.array([datetime.time(1, 2, 3, 4000), None, datetime.time(0)], pa.time32("ms")),
        "time_us": pa.array([datetime.time(1, 2, 3, 4005), None, datetime.time(0)], pa.time64("us")),
        "time_ns": pa.array([3600000000001, None, 5], pa.int64()).cast(pa.time64("ns")),
        **{f"moment_{unit}": pa.array([1, None, -1], pa.int64()).cast(pa.timestamp(unit)) for unit in ["s", "ms", "us", "ns"]},
        "moment_zone": pa.array([datetime.datetime(2024, 2, 29, 12, tzinfo=UTC), None, datetime.datetime(1960, 1, 1, tzinfo=UTC)], pa.timestamp("us", "Europe/Paris")),
        **{f"duration_{unit}": pa.array([1000, None, -1], pa.int64()).cast(pa.duration(unit)) for unit in ["s", "ms", "us", "ns"]},
        "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None, pa.MonthDayNano([-1, -2, -3])]),
        "codes": pa.array(["x", None, "x"]).dictionary_encode(),
        "number_codes": pa.array([5, None, 5]).dictionary_encode(),
        "lists": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
        "large_lists": pa.array([[1, 2], None, []], pa.large_list(pa.int64())),
        "fixed_lists": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2)),
        "gap_lists": pa.array([[1, 2], None, [5, None]], pa.list_(pa.float32(), 2)),
        "text_lists": pa.array([["a", None], None, []]),
        "deep_lists": pa.array([[[1], []], None, [[2, 3], None]]),
        "decimal_lists": pa.array([[D("1.5"), None], [], [D("-2.25")]], pa.list_(pa.decimal128(9, 2))),
        "duration_lists": pa.array([[T(seconds=1)], [], [T(milliseconds=-1)]], pa.list_(pa.duration("ms"))),
        "structs": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "z"}]),
        "struct_times": pa.array([{"d": T(seconds=1), "m": D("1.50")}, None, {"d": None, "m": D("2.00")}], pa.struct([("d", pa.duration("ms")), ("m", pa.decimal128(9, 2))])),
        "struct_lists": pa.array([[{"a": 1, "b": ["x"]}, {"a": None, "b": None}], None, []]),
        "maps": pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), pa.int64())),
        "number_maps": pa.array([[(1, "x")], None, []], pa.map_(pa.int64(), pa.string())),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=1).bytes, None, uuid.UUID(int=2**128 - 1).bytes], pa.binary(16))),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 0], pa.int8())),
        "json": pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a":1}', None, "2"])),
        "shaped": pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12, dtype=np.float32).reshape(3, 2, 2)),
    }


def arrow_kinds():
    """What Parquet files have no place for."""
    dense = pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["x"])])
    sparse = pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["x", "y", "z"])])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None]))
    return {
        "dense": dense,
        "sparse": sparse,
        "runs": runs,
        "list_view": pa.array([[1, 2], None, []], pa.list_view(pa.int64())),
        "large_list_view": pa.array([[1, 2], None, []], pa.large_list_view(pa.int64())),
    }


def plain(value):
    """A row as JSON has it; what JSON has no word for with its kind."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"whole": str(value)}
    if isinstance(value, float):
        return value
    if isinstance(value, D):
        return float(value)
    if isinstance(value, T):
        return value // T(microseconds=1) * 1000
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, pa.MonthDayNano):
        return {"months": value.months, "days": value.days, "nanoseconds": value.nanoseconds}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return {"pair": [plain(one) for one in value]}
    return [plain(one) for one in value]


def as_said(array):
    """Times as the numbers that they are in the file, with their units told by the name of the column."""
    typ = array.type
    if pa.types.is_temporal(typ) and not pa.types.is_interval(typ):
        words = pa.int32() if typ.bit_width == 32 else pa.int64()
        unit = {"date32[day]": "day", "date64[ms]": "ms"}.get(str(typ)) or typ.unit
        return {"unit": unit, "type": str(typ).split("[")[0], "rows": [plain(one) for one in array.view(words).to_pylist()]}
    return {"type": str(typ), "rows": [plain(one) for one in array.to_pylist()]}


def write_arrow(table, path, stream=False, options=None):
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(path, "wb") as file, make(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)


def main(out):
    os.makedirs(out, exist_ok=True)
    at = lambda name: os.path.join(out, name)
    both, only = column_kinds(), arrow_kinds()
    table = pa.table(both | only)
    with open(at("kinds.json"), "w") as file:
        json.dump({name: as_said(array) for name, array in (both | only).items()}, file, indent=0)
        file.write("\n")
    write_arrow(table, at("all.arrow"))
    write_arrow(table, at("all.arrows"), stream=True)
    for codec in ["lz4", "zstd"]:
        write_arrow(table, at(f"{codec}.arrow"), options=pa.ipc.IpcWriteOptions(compression=codec))
    # No decimals of a negative scale in Parquet files.
    parquet = {name: array for name, array in both.items() if name not in {"decimal_scaled", "interval", "bool8"}}
    table = pa.table(parquet)
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        pq.write_table(table, at(f"{codec}.parquet"), compression=codec)
    pq.write_table(table, at("plain.parquet"), use_dictionary=False, data_page_version="2.0", row_group_size=2, store_decimal_as_integer=True)
    pq.write_table(table, at("bare.parquet"), store_schema=False, row_group_size=1)
    pq.write_table(pa.table({"t": pa.array([1, None, -1], pa.int64()).cast(pa.timestamp("ns"))}), at("int96.parquet"), use_deprecated_int96_timestamps=True)
    rows = 600
    rng = np.random.default_rng(0)
    some = lambda array: pa.array(array, mask=rng.random(rows) < 0.3)
    numbers = {
        "i32": some(rng.integers(-(2**31), 2**31, rows).astype(np.int32)),
        "i64": some(np.cumsum(rng.integers(-(2**40), 2**40, rows))),
        "f32": some(rng.random(rows).astype(np.float32)),
        "f64": some(rng.random(rows)),
        "text": pa.array([None if i % 7 == 0 else "ab" * int(k) + str(k) for i, k in enumerate(rng.integers(0, 30, rows))]),
        "fixed": pa.array([None if i % 5 == 0 else bytes([int(k)] * 3) for i, k in enumerate(rng.integers(0, 256, rows))], pa.binary(3)),
    }
    ways = {
        "delta": {"i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "fixed": "DELTA_BYTE_ARRAY"},
        "split": {"f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT", "i32": "BYTE_STREAM_SPLIT", "i64": "BYTE_STREAM_SPLIT", "text": "DELTA_LENGTH_BYTE_ARRAY", "fixed": "BYTE_STREAM_SPLIT"},
    }
    for name, encodings in ways.items():
        for version in ["1.0", "2.0"]:
            pq.write_table(pa.table(numbers), at(f"{name}{version[0]}.parquet"), use_dictionary=False, column_encoding=encodings, data_page_version=version, data_page_size=400, compression="zstd")
    pq.write_table(pa.table(numbers), at("pages.parquet"), data_page_size=400, dictionary_pagesize_limit=1000, compression="zstd", row_group_size=350)
    with open(at("numbers.json"), "w") as file:
        json.dump({name: [plain(one) for one in array.to_pylist()] for name, array in numbers.items()}, file)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
