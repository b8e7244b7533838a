// GGUF files: what the gguf package wrote is read, blocks are expanded to its numbers, and damage is an error.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileNotFoundError, FormatError } from "../../src/io/base/errors.ts";
import { GgufFile, loadGguf } from "../../src/io/gguf/gguf.ts";

const fixtures = join(import.meta.dir, "../fixtures/gguf");
const all = join(fixtures, "all.gguf");
const dir = mkdtempSync(join(tmpdir(), "zensor-gguf-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("what the gguf package wrote", () => {
  test("metadata of every type", () => {
    const { metadata, header } = loadGguf(all);
    expect([header.version, header.alignment, metadata.size]).toEqual([3, 32, 17]);
    const names = "u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 bool string".split(" ");
    expect(names.map((name) => metadata.get(`x.${name}`))).toEqual([
      255,
      -1,
      65535,
      -2,
      4294967295,
      -3,
      0.5,
      18446744073709551615n,
      -(2 ** 40),
      0.1,
      true,
      "tökens",
    ]);
    expect(metadata.get("x.strings")).toEqual(["a", "", "ü"]);
    expect(metadata.get("x.bools")).toEqual([true, false]);
    expect(metadata.get("x.ints")).toEqual(new Int32Array([1, -2, 3]));
    expect(metadata.get("x.floats")).toEqual(new Float32Array([0.5, 1.5]));
  });
  test("plain tensors are views of the file", () => {
    const file = new GgufFile(all);
    const names = "float32 float16 float64 int8 int16 int32 int64 bfloat16".split(" ");
    const whole = Array.from({ length: 24 }, (_, i) => i);
    for (const name of names) {
      const value = file.tensor(name);
      expect([String(value.dtype), [...value.shape]]).toEqual([`torch.${name}`, [2, 3, 4]]);
      expect(value.flatten().tolist()).toEqual(whole);
      expect(file.dequantize(name).flatten().tolist()).toEqual(whole);
    }
    file.tensor("int32").fill_(9);
    expect(loadGguf(all).tensor("int32").at(0, 0, 1).item()).toBe(1);
    expect(Object.keys(file.tensors)).toEqual(file.keys());
    expect(loadGguf(join(fixtures, "aligned.gguf")).tensors.b?.tolist()).toEqual([0, 1]);
  });
  test("blocks, raw and expanded", () => {
    const blocks = loadGguf(join(fixtures, "blocks.gguf"));
    const names = blocks.keys().filter((name) => !name.endsWith("expected"));
    const integers = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K TQ1_0 TQ2_0 MXFP4 NVFP4";
    const books = "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ4_NL IQ4_XS";
    expect(names).toEqual(`${integers} ${books}`.split(" "));
    for (const name of names) {
      const { type, shape, nbytes } = blocks.entry(name);
      const row = (256 / type.blockSize) * type.blockBytes;
      expect([type.name, shape, nbytes]).toEqual([name, [2, 256], 2 * row]);
      expect([String(blocks.tensor(name).dtype), [...blocks.tensor(name).shape]]).toEqual(["torch.uint8", [2, row]]);
      const expected = blocks.tensor(`${name}.expected`);
      expect([name, blocks.dequantize(name).equal(expected)]).toEqual([name, true]);
      expect(expected.abs().max().item()).toBeGreaterThan(0.5);
    }
    const file = loadGguf(all);
    expect([...file.tensor("Q8_1").shape]).toEqual([2, 80]);
    expect(() => file.dequantize("Q8_1")).toThrow("Q8_1 is not expanded");
    expect(() => file.tensor("nothing")).toThrow('no tensor named "nothing"');
  });
});

/** Fields of a header, little-endian. */
function bytes(...fields: (string | [8 | 32 | 64, number | bigint])[]): Buffer {
  return Buffer.concat(
    fields.map((field) => {
      if (typeof field === "string") return Buffer.concat([bytes([64, Buffer.byteLength(field)]), Buffer.from(field)]);
      const [bits, value] = field;
      const out = Buffer.alloc(bits / 8);
      if (bits === 64) out.writeBigUInt64LE(BigInt(value));
      else if (bits === 32) out.writeUInt32LE(Number(value));
      else out.writeUInt8(Number(value));
      return out;
    }),
  );
}

const path = join(dir, "x.gguf");

function refusal(content: Uint8Array): string {
  writeFileSync(path, content);
  try {
    loadGguf(path);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toStartWith(`${path}: `);
    return (error as Error).message;
  }
  throw new Error("it was loaded");
}

/** A file with these tensors and values, and `data` zeros behind. */
function made(tensors: Buffer[], values: Buffer[] = [], data = 256): Buffer {
  const head = bytes([32, 0x46554747], [32, 3], [64, tensors.length], [64, values.length]);
  return Buffer.concat([head, ...values, ...tensors, Buffer.alloc(data)]);
}

function tensorOf(name: string, dims: (number | bigint)[], type: number, offset: number | bigint = 0): Buffer {
  return bytes(name, [32, dims.length], ...dims.map((n): [64, number | bigint] => [64, n]), [32, type], [64, offset]);
}

describe("hostile files", () => {
  test("a good one, for comparison", () => {
    writeFileSync(path, made([tensorOf("a", [3, 2], 0), tensorOf("b", [], 24, 32), tensorOf("c", [0], 0, 64)]));
    const { tensors } = loadGguf(path);
    expect(Object.values(tensors).map((t) => [...t.shape])).toEqual([[2, 3], [], [0]]);
    expect(tensors.a?.tolist()).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });
  test("tensors that cannot be", () => {
    const max = 2n ** 64n - 1n;
    expect(refusal(made([tensorOf("a", [1000], 0)]))).toContain("reach beyond the file");
    expect(refusal(made([tensorOf("a", [max], 0)]))).toContain("a dimension of");
    expect(refusal(made([tensorOf("a", [2 ** 40, 2 ** 40], 0)]))).toContain("too large");
    expect(refusal(made([tensorOf("a", [1], 0, max)]))).toContain("an offset of");
    expect(refusal(made([tensorOf("a", [1], 0, 2n ** 52n)]))).toContain("reach beyond");
    expect(refusal(made([tensorOf("a", [1], 0, 4)]))).toContain("no multiple of 32");
    expect(refusal(made([tensorOf("a", [33], 2)]))).toContain("do not fill blocks of Q4_0");
    expect(refusal(made([tensorOf("a", [], 2)]))).toContain("do not fill blocks of Q4_0");
    expect(refusal(made([tensorOf("a", new Array(9).fill(1), 0)]))).toContain("9 dimensions");
    expect(refusal(made([tensorOf("a", [1], 0), tensorOf("a", [1], 0, 32)]))).toContain("occurs twice");
    expect(refusal(made([tensorOf("a", [9], 0), tensorOf("b", [1], 0, 32)]))).toContain("overlaps");
  });
  test("types that are not known are named, with their bytes up to what comes next", () => {
    writeFileSync(
      path,
      made([tensorOf("a", [3], 0), tensorOf("b", [7], 4, 32), tensorOf("c", [2], 0, 64), tensorOf("d", [5], 99, 96)]),
    );
    const file = loadGguf(path);
    expect([file.keys(), file.unknownKeys(), Object.keys(file.tensors)]).toEqual([
      ["a", "c"],
      ["b", "d"],
      ["a", "c"],
    ]);
    expect([file.unknown("b"), file.unknown("d")].map(({ dtype, shape, nbytes }) => [dtype, shape, nbytes])).toEqual([
      ["Q4_2", [7], 32],
      ["type 99", [5], expect.any(Number)],
    ]);
    expect(file.unknown("b").bytes?.tolist()).toEqual(new Array(32).fill(0));
    expect(() => file.tensor("b")).toThrow('tensor "b": Q4_2 is not known');
    expect(() => file.unknown("a")).toThrow('no tensor of an unknown type is named "a"');
    expect(refusal(made([tensorOf("a", [1], 4, 0), tensorOf("b", [1], 0, 0)]))).toContain("overlaps");
    expect(refusal(made([tensorOf("a", [2 ** 40, 2 ** 40], 99)]))).toContain("too large");
    expect(refusal(made([tensorOf("a", [1], 99, 2n ** 52n)]))).toContain("reach beyond");
  });
  test("values that cannot be", () => {
    const value = (...fields: Parameters<typeof bytes>): Buffer => made([], [bytes("k", ...fields)]);
    expect(refusal(value([32, 13]))).toContain("value type 13 is not known");
    expect(refusal(value([32, 7], [8, 2]))).toContain("a boolean that is 2");
    expect(refusal(value([32, 8], [64, 2 ** 40]))).toContain("do not fit into the file");
    expect(refusal(value([32, 9], [32, 4], [64, 2n ** 63n]))).toContain("do not fit into the file");
    expect(refusal(value([32, 9], [32, 8], [64, 100]))).toContain("do not fit into the file");
    expect(refusal(value([32, 9], [32, 13], [64, 1]))).toContain("value type 13 is not known");
    const nested = new Array(9)
      .fill([
        [32, 9],
        [64, 1],
      ])
      .flat();
    expect(refusal(value([32, 9], ...nested, [32, 0], [64, 0]))).toContain("nested too deeply");
    expect(refusal(made([], [bytes("k", [32, 0], [8, 1]), bytes("k", [32, 0], [8, 1])]))).toContain("occurs twice");
    for (const alignment of [0, 3, 2 ** 31]) {
      const pair = bytes("general.alignment", [32, 4], [32, alignment]);
      expect(refusal(made([], [pair]))).toContain(`an alignment of ${alignment}`);
    }
    const broken = value([32, 8], "ab");
    broken[broken.indexOf("ab")] = 0xff;
    expect(refusal(broken)).toContain("not UTF-8");
  });
  test("counts beyond the file, other versions, other files", () => {
    const head = (version: number, tensors: bigint, values: bigint): Buffer =>
      Buffer.concat([bytes([32, 0x46554747], [32, version], [64, tensors], [64, values]), Buffer.alloc(64)]);
    expect(refusal(head(3, 2n ** 64n - 1n, 0n))).toContain("tensors do not fit");
    expect(refusal(head(3, 0n, 2n ** 40n))).toContain("values do not fit");
    expect(refusal(head(1, 0n, 0n))).toContain("version 1 of GGUF is not known");
    expect(refusal(head(3 << 24, 0n, 0n))).toContain("other byte order");
    for (const text of ["", "GGUF", "hello, this is no file of that kind"])
      expect(refusal(Buffer.from(text))).toBeDefined();
    expect(() => loadGguf(join(dir, "missing.gguf"))).toThrow(FileNotFoundError);
    expect(() => loadGguf(dir)).toThrow("not a regular file");
  });
  test("files that end too early", () => {
    const whole = readFileSync(all);
    for (let end = 0; end < whole.length - 64; end += 7) refusal(whole.subarray(0, end));
  });
  test("damaged headers: an error or a file that can be read, never anything else", () => {
    const whole = readFileSync(all);
    let state = 7;
    const random = (n: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) % n;
    };
    let refused = 0;
    for (let i = 0; i < 1500; i++) {
      const damaged = Buffer.from(whole);
      damaged[random(1700)] = random(256);
      writeFileSync(path, damaged);
      try {
        const file = loadGguf(path);
        for (const value of Object.values(file.tensors)) value.sum();
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(300);
  });
  test("headers longer than what is read at first", () => {
    const text = "x".repeat(1_200_000);
    writeFileSync(path, made([tensorOf("a", [2], 0)], [bytes("k", [32, 8], text)]));
    const file = loadGguf(path);
    expect([file.metadata.get("k"), file.tensor("a").tolist()]).toEqual([text, [0, 0]]);
  });
});
