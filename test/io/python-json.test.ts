// Python's JSON: the same text as json.dumps, and a parser that trusts nothing.
import { describe, expect, test } from "bun:test";
import {
  isPythonJson,
  type PythonJson,
  PythonJsonError,
  parsePythonJson,
  parsePythonJsonObject,
  pythonFloatRepr,
  pythonJsonStringify,
  toPlain,
} from "../../src/io/base/python-json.ts";
import { Float, Int } from "../../src/tensor/complex.ts";

describe("floats print as Python's repr", () => {
  const cases: [number, string][] = [
    [1e-5, "1e-05"],
    [1e16, "1e+16"],
    [1e15, "1000000000000000.0"],
    [1, "1.0"],
    [-0, "-0.0"],
    [0.1, "0.1"],
    [123456789.125, "123456789.125"],
    [1e22, "1e+22"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [0.0001, "0.0001"],
    [0.00012345, "0.00012345"],
    [9999999999999998, "9999999999999998.0"],
    [1.2345678901234567e19, "1.2345678901234567e+19"],
    [Number.NaN, "nan"],
    [Number.NEGATIVE_INFINITY, "-inf"],
  ];
  test.each(cases)("%p", (value, text) => expect(pythonFloatRepr(value)).toBe(text));
});

describe("writing", () => {
  test("default and compact separators", () => {
    const value = { b: [1, 2.5, null, true], a: { c: "x" } };
    expect(pythonJsonStringify(value)).toBe('{"b": [1, 2.5, null, true], "a": {"c": "x"}}');
    expect(pythonJsonStringify(value, { compact: true })).toBe('{"b":[1,2.5,null,true],"a":{"c":"x"}}');
  });
  test("everything outside printable ASCII is escaped", () => {
    expect(pythonJsonString('é漢\u0000\u007f😀\n\t"\\/')).toBe(
      '"\\u00e9\\u6f22\\u0000\\u007f\\ud83d\\ude00\\n\\t\\"\\\\/"',
    );
  });
  test("numbers keep their kind", () => {
    expect(
      pythonJsonStringify([2, new Float(2), new Int(2), 2n ** 70n, -0, Number.NaN, Number.POSITIVE_INFINITY]),
    ).toBe("[2, 2.0, 2, 1180591620717411303424, -0.0, NaN, Infinity]");
  });
  test("what JSON cannot hold is refused", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => pythonJsonStringify(circle as never)).toThrow("Circular");
    expect(() => pythonJsonStringify(new Date() as never)).toThrow("Date is not JSON serializable");
    expect(() => pythonJsonStringify((() => 1) as never)).toThrow("not JSON serializable");
    expect(isPythonJson({ a: new Set() })).toBe(false);
    expect(isPythonJson(circle)).toBe(false);
    expect(isPythonJson({ a: [1, { b: null }] })).toBe(true);
  });
});

function pythonJsonString(text: string): string {
  return pythonJsonStringify(text);
}

describe("parsing", () => {
  test("keys keep their order, numbers their kind", () => {
    const text =
      '{"10": 1, "2": [1.0, -0.0, 1e400, NaN, -Infinity, 1180591620717411303424, -0], "__proto__": {"x": 1}}';
    const value = parsePythonJsonObject(text);
    expect([...value.keys()]).toEqual(["10", "2", "__proto__"]);
    expect(pythonJsonStringify(value)).toBe(text.replace("1e400", "Infinity").replace("-0]", "0]"));
    const plain = toPlain(value) as Record<string, unknown>;
    expect(Object.hasOwn(plain, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
  });
  test("compact UTF-8 text of other writers", () => {
    expect(toPlain(parsePythonJson(new TextEncoder().encode('{"é":[1,2.5e-3],"s":"\\u00e9\\/"}')))).toEqual({
      é: [1, 0.0025],
      s: "é/",
    });
  });
  const bad = [
    "",
    "{",
    "[1,]",
    "{,}",
    '{"a" 1}',
    '{"a": 1,}',
    "[1 2]",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "nan",
    "Nan",
    "tru",
    "'a'",
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"a\nb"',
    '"open',
    "[1] 2",
    '{"a": 1, "a": 2}',
    "{1: 2}",
    "\ufeff1",
    "--1",
    "Infinit",
    "\\",
    "-",
  ];
  test.each(bad)("refuses %j", (text) => expect(() => parsePythonJson(text)).toThrow(PythonJsonError));
  test("bounds", () => {
    expect(() => parsePythonJson("[".repeat(100_000))).toThrow("nesting exceeds");
    expect(() => parsePythonJson(`{"a":`.repeat(300))).toThrow("nesting exceeds");
    expect(parsePythonJson("[".repeat(200) + "]".repeat(200))).toBeArray();
    expect(() => parsePythonJson("9".repeat(5000))).toThrow("too many digits");
    expect(() => parsePythonJson("[1, 2, 3]", { maxLength: 4 })).toThrow("exceeds the limit");
    expect(() => parsePythonJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow("not valid UTF-8");
  });
});

// A small generator of random values: what is written must be read back as the same text.
function randomSource(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomValue(random: () => number, depth: number): PythonJson {
  const pick = Math.floor(random() * (depth > 3 ? 7 : 9));
  switch (pick) {
    case 0:
      return null;
    case 1:
      return random() < 0.5;
    case 2:
      return Math.floor((random() - 0.5) * 2 ** Math.floor(random() * 53));
    case 3:
      return (random() - 0.5) * 10 ** Math.floor(random() * 600 - 300);
    case 4:
      return BigInt(Math.floor(random() * 2 ** 40)) ** 3n + 2n ** 60n;
    case 5:
      return new Float(Math.floor(random() * 2 ** Math.floor(random() * 80)));
    case 6:
      return String.fromCharCode(
        ...Array.from({ length: Math.floor(random() * 9) }, () => Math.floor(random() * 65536)),
      );
    case 7:
      return Array.from({ length: Math.floor(random() * 5) }, () => randomValue(random, depth + 1));
    default:
      return new Map(
        Array.from({ length: Math.floor(random() * 5) }, () => [
          String(Math.floor(random() * 99)),
          randomValue(random, depth + 1),
        ]),
      );
  }
}

test("what is written is read back, 3000 random values", () => {
  const random = randomSource(7);
  for (let i = 0; i < 3000; i++) {
    const text = pythonJsonStringify(randomValue(random, 0), { compact: i % 2 === 0 });
    expect(pythonJsonStringify(parsePythonJson(text), { compact: i % 2 === 0 })).toBe(text);
  }
});

test("damaged text never parses into something else without an error or hangs", () => {
  const random = randomSource(11);
  const text = '{"a": {"device": "cpu", "shape": [2, 3], "dtype": "torch.float32"}, "f": -1.5e-05, "s": "\\u00e9"}';
  for (let i = 0; i < 3000; i++) {
    const at = Math.floor(random() * text.length);
    const damaged = text.slice(0, at) + String.fromCharCode(Math.floor(random() * 128)) + text.slice(at + 1);
    try {
      const value = parsePythonJson(damaged);
      expect(pythonJsonStringify(parsePythonJson(pythonJsonStringify(value)))).toBe(pythonJsonStringify(value));
    } catch (error) {
      expect(error).toBeInstanceOf(PythonJsonError);
    }
  }
});
