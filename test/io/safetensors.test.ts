// Safetensors: the same bytes as the Python library, and a reader that checks everything.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FormatError } from "../../src/io/base/errors.ts";
import {
  loadSafetensors,
  SafetensorsFile,
  saveSafetensors,
  saveSafetensorsAsync,
} from "../../src/io/safetensors/safetensors.ts";
import { layoutOrder, writeHeader } from "../../src/io/safetensors/safetensors-header.ts";
import { type DType, dtypeByName } from "../../src/tensor/dtype.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-st-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A file from a header text and data; the length is set unless given. */
function file(name: string, header: string, data = 0, length = Buffer.byteLength(header)): string {
  const path = join(dir, name);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(length));
  writeFileSync(path, Buffer.concat([size, Buffer.from(header), Buffer.alloc(data)]));
  return path;
}

describe("layout", () => {
  test("wide types first, then names by their bytes, header padded to eight", () => {
    const names =
      "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 " +
      "complex64 float8_e4m3fn float8_e5m2";
    const items = names.split(" ").map((name) => {
      const dtype = dtypeByName(name) as DType;
      return { name: `z_${name}`, dtype, shape: [3], nbytes: 3 * dtype.itemsize };
    });
    const float32 = dtypeByName("float32") as DType;
    for (const name of ["é", "a", 'q"\\\n\u0001\u007f/', "😀", "\uff00"])
      items.push({ name, dtype: float32, shape: [1], nbytes: 4 });
    const ordered = layoutOrder(items);
    // The order in which Python's safetensors 0.8.0 wrote the same tensors.
    expect(ordered.map((item) => item.name)).toEqual([
      "z_uint64",
      "z_int64",
      "z_float64",
      "z_complex64",
      "a",
      'q"\\\n\u0001\u007f/',
      "z_float32",
      "é",
      "\uff00",
      "😀",
      "z_uint32",
      "z_int32",
      "z_bfloat16",
      "z_float16",
      "z_uint16",
      "z_int16",
      "z_float8_e4m3fn",
      "z_float8_e5m2",
      "z_int8",
      "z_uint8",
      "z_bool",
    ]);
    const header = writeHeader(ordered, null);
    expect(header.length % 8).toBe(0);
    expect(Buffer.from(header).toString("utf8", 8)).toStartWith(
      '{"z_uint64":{"dtype":"U64","shape":[3],"data_offsets":[0,24]},"z_int64"',
    );
    expect(Buffer.from(header).toString("utf8")).toContain('"q\\"\\\\\\n\\u0001\u007f/":{"dtype":"F32"');
  });
  test("headers of empty files, as Python writes them", () => {
    expect(Buffer.from(writeHeader([], null)).toString("latin1")).toBe("\b\0\0\0\0\0\0\0{}      ");
    expect(Buffer.from(writeHeader([], [["a", "b"]])).toString("latin1")).toBe(
      ' \0\0\0\0\0\0\0{"__metadata__":{"a":"b"}}      ',
    );
  });
});

describe("saving and loading", () => {
  const tensors = () => ({
    w: tensor([
      [1, 2],
      [3, 4],
    ]),
    b: tensor([5n, 6n]),
    flag: tensor([true, false, true]),
    none: zeros([0, 3]),
    scalar: tensor(2.5),
  });
  test("round trip, lazily, with private changes", () => {
    const path = join(dir, "round");
    saveSafetensors(tensors(), path, { metadata: { format: "pt" } });
    const loaded = loadSafetensors(path);
    expect(loaded.w?.tolist()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(loaded.b?.dtype.name).toBe("int64");
    expect(loaded.flag?.tolist()).toEqual([true, false, true]);
    expect(loaded.none?.shape).toEqual([0, 3] as never);
    expect(loaded.scalar?.item()).toBe(2.5);
    loaded.w?.zero_();
    expect(loadSafetensors(path).w?.tolist()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    const open = new SafetensorsFile(path);
    expect(open.metadata.get("format")).toBe("pt");
    expect(open.entry("w").shape).toEqual([2, 2]);
    expect(() => open.tensor("zz")).toThrow('no tensor named "zz"');
  });
  test("the target is replaced when it is complete; nothing is left over", async () => {
    const path = join(dir, "replace");
    saveSafetensors(tensors(), path);
    const old = loadSafetensors(path);
    saveSafetensors({ w: zeros([100]) }, path, { numThreads: 3, fsync: true });
    expect(old.w?.tolist()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    await saveSafetensorsAsync(tensors(), path, { onProgress: () => {} });
    expect(saveSafetensorsAsync(tensors(), path, { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(() => saveSafetensors(tensors(), join(dir, "no", "such"))).toThrow("No such file or directory");
    expect(readdirSync(dir).filter((name) => name.includes(".tmp-"))).toEqual([]);
  });
  test("what the format cannot hold is refused before anything is written", () => {
    const path = join(dir, "complex");
    expect(() => saveSafetensors({ z: zeros([1], { dtype: "complex128" }) }, path)).toThrow(
      "safetensors has no dtype for torch.complex128",
    );
    expect(() => saveSafetensors({ __metadata__: zeros([1]) }, path)).toThrow("cannot be named __metadata__");
    expect(existsSync(path)).toBe(false);
  });
  test("elements at odd addresses are copied to good ones", () => {
    const header =
      '{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"y":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}}';
    const path = file("odd", header, 9);
    const bytes = readFileSync(path);
    bytes.writeDoubleLE(1.5, bytes.length - 8);
    writeFileSync(path, bytes);
    expect(loadSafetensors(path).y?.tolist()).toEqual([1.5]);
  });
});

describe("hostile files", () => {
  const one = (offsets: string, shape = "[2]", dtype = "F32") =>
    `{"a":{"dtype":"${dtype}","shape":${shape},"data_offsets":${offsets}}}`;
  const cases: [string, () => string, RegExp][] = [
    ["empty", () => file("h0", "", 0, 0), /must begin with '\{'|invalid start/],
    [
      "shorter than its length field",
      () => {
        const path = join(dir, "h1");
        writeFileSync(path, Buffer.alloc(5));
        return path;
      },
      /header too small/,
    ],
    ["header length beyond the file", () => file("h2", "{}", 0, 1000), /invalid header length/],
    ["huge header length", () => file("h3", "{}", 0, 2 ** 52), /header too large/],
    ["not JSON", () => file("h4", "{nope}"), /invalid header/],
    [
      "duplicate names",
      () =>
        file(
          "h5",
          '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
        ),
      /duplicate key/,
    ],
    ["no dtype", () => file("h6", one("[0,8]", "[2]", "f32"), 8), /unknown dtype "f32"/],
    ["a dtype to come with too few bytes", () => file("h6a", one("[0,1]", "[9]", "F99"), 1), /do not hold shape/],
    ["a dtype to come with too many bytes", () => file("h6b", one("[0,33]", "[2]", "F99"), 33), /do not hold shape/],
    ["a dtype to come that overflows", () => file("h6c", one("[0,8]", "[4503599627370496]", "F99"), 8), /too large/],
    [
      "half a byte",
      () => file("h6d", one("[0,2]", "[3]", "F4"), 2),
      /2 bytes at \[0, 2\] do not hold shape \[3\] of F4/,
    ],
    ["six bits", () => file("h6e", one("[0,4]", "[4]", "F6_E2M3"), 4), /do not hold shape \[4\] of F6_E2M3/],
    ["bytes beyond", () => file("h6f", one("[0,8]", "[16]", "F4"), 4), /describes 8 bytes of data, the file has 4/],
    ["prototype as dtype", () => file("h7", one("[0,8]", "[2]", "__proto__"), 8), /unknown dtype/],
    ["offsets and shape disagree", () => file("h8", one("[0,4]"), 4), /do not hold shape/],
    ["offsets backwards", () => file("h9", one("[8,0]"), 8), /do not hold shape/],
    ["negative offsets", () => file("h10", one("[-8,0]"), 8), /not a pair of offsets/],
    ["data beyond the file", () => file("h11", one("[0,8]"), 4), /describes 8 bytes of data, the file has 4/],
    ["data left over", () => file("h12", one("[0,8]"), 16), /describes 8 bytes of data, the file has 16/],
    ["gap", () => file("h13", one("[4,12]"), 12), /leaves a gap/],
    [
      "overlap",
      () =>
        file(
          "h14",
          '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}',
          6,
        ),
      /overlaps/,
    ],
    ["overflowing shape", () => file("h15", one("[0,8]", "[4294967296,4294967296,4294967296]"), 8), /too large/],
    ["shape is text", () => file("h16", one("[0,8]", '"2"'), 8), /not a list of sizes/],
    ["metadata with numbers", () => file("h17", '{"__metadata__":{"a":1}}'), /is not a string/],
    ["entry is a list", () => file("h18", '{"a":[]}'), /not an object/],
  ];
  test.each(cases)("%s", (_what, make, reason) => {
    const path = make();
    const size = statSync(path).size;
    expect(() => new SafetensorsFile(path)).toThrow(reason);
    expect(() => new SafetensorsFile(path)).toThrow(FormatError);
    expect(statSync(path).size).toBe(size);
  });
  test("missing files and directories", () => {
    expect(() => loadSafetensors(join(dir, "missing"))).toThrow("[Errno 2] No such file or directory");
    expect(() => loadSafetensors(dir)).toThrow();
  });
});

test("typed arrays over parts of a tensor beyond 4 GiB leave what lies before it alone", () => {
  // The bytes before the tensor look like the head of one of the allocator's blocks.
  const head = Buffer.alloc(64);
  head.writeBigUInt64LE(0x7a656e736f72_0001n);
  const bytes = 1200 * 1024 * 1024 * 4;
  const text = JSON.stringify({
    a: { dtype: "U8", shape: [64], data_offsets: [0, 64] },
    b: { dtype: "F32", shape: [1200, 1024, 1024], data_offsets: [64, 64 + bytes] },
  });
  const header = text.padEnd(Math.ceil(text.length / 8) * 8);
  const path = file("huge.safetensors", header);
  writeFileSync(path, Buffer.concat([readFileSync(path), head]));
  truncateSync(path, 8 + header.length + 64 + bytes);
  const { a, b } = loadSafetensors(path) as unknown as { a: Tensor; b: Tensor };
  const [first, last] = [0, 1199].map((i) => b.at(i).typedArray() as Float32Array);
  expect([first?.length, last?.length, first?.[0], last?.[7]]).toEqual([1024 * 1024, 1024 * 1024, 0, 0]);
  expect(() => b.typedArray()).toThrow("a typed array holds at most 4294967296 bytes");
  expect(a.tolist()).toEqual([...head]);
});
