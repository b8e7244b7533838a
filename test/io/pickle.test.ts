// Pickles as data: what Python writes is read, what would run code is named and refused, nothing hangs.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError } from "../../src/io/base/errors.ts";
import { readPlainPickle } from "../../src/io/pickle/plain-pickle.ts";
import { Complex } from "../../src/tensor/complex.ts";

const written = JSON.parse(readFileSync(join(import.meta.dir, "../fixtures/torch/pickles.json"), "utf8")) as Record<
  string,
  string[]
>;

function read(bytes: Uint8Array | string): unknown {
  return readPlainPickle(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes, "x.pickle");
}

/** One value in all protocols. */
function each(name: string, check: (value: never, protocol: number) => void): void {
  for (const [protocol, text] of (written[name] as string[]).entries()) {
    check(read(Buffer.from(text, "base64")) as never, protocol);
  }
}

/** The error of a pickle, which must be the format's. */
function refusal(bytes: Uint8Array | string): string {
  try {
    read(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toStartWith("x.pickle: ");
    return (error as Error).message;
  }
  throw new Error("it was read");
}

describe("what Python wrote, in protocols 0 to 5", () => {
  test("scalars", () => {
    each("scalars", (value: unknown[]) =>
      expect(value).toEqual([
        null,
        true,
        false,
        0,
        255,
        256,
        65535,
        65536,
        -1,
        2147483647,
        -2147483648,
        9007199254740992n,
        1180591620717411303424n,
        -1180591620717411303424n,
        0.5,
        1e300,
      ]),
    );
    each("floats", (value) => expect(value).toEqual([Infinity, -Infinity, -0, 1e-7] as never));
    each("complex", (value) => expect(value).toEqual(new Complex(1, 2) as never));
  });
  test("text and bytes", () => {
    each("text", (value) => expect(value).toEqual(["", "plain", "ü\n\\u0041'\"", "😀", "x".repeat(300)] as never));
    each("bytes", (value: Uint8Array[]) => {
      expect(value.map((bytes) => bytes.length)).toEqual([0, 3, 512, 2]);
      expect([...(value[1] as Uint8Array)]).toEqual([0, 255, 10]);
      expect((value[2] as Uint8Array)[511]).toBe(255);
      expect(value.every((bytes) => bytes instanceof Uint8Array)).toBe(true);
    });
  });
  test("containers", () => {
    each("containers", (value: { tuple: unknown[]; list: unknown[] }) => {
      expect(value).toEqual({
        tuple: [1, [2], [3, 4], [5, 6, 7], [8, 9, 10, 11], []],
        list: [[], [1]],
        dict: { a: {} },
      } as never);
      expect(Object.isFrozen(value.tuple) && Object.isFrozen(value.tuple[1])).toBe(true);
      expect(Object.isFrozen(value.list)).toBe(false);
    });
    each("keys", (value: Map<unknown, unknown>) => {
      expect([...value.values()]).toEqual(["one", "minus five", "pair"]);
      expect([...value.keys()]).toEqual([1, -5, [1, 2]]);
    });
    each("ordered", (value) => expect(Object.entries(value)).toEqual([["b", 1] as never, ["a", 2] as never]));
    each("sets", (value) => expect(value).toEqual([new Set([1, 2, 3]), new Set(["x"]), new Set()] as never));
    each("long", (value: number[]) => expect([value.length, value[2499]]).toEqual([2500, 2499]));
  });
  test("what is shared stays shared", () => {
    each("shared", (value: unknown[]) => expect(value[0]).toBe(value[1]));
    each("loop", (value: unknown[]) => expect(value[1]).toBe(value));
  });
  test("a key named __proto__ is a key", () => {
    each("proto", (value: object) => {
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.keys(value)).toEqual(["__proto__", "constructor"]);
    });
  });
});

describe("what is refused", () => {
  test("names outside of the list, whatever the way to them", () => {
    const calls = [
      "cos\nsystem\n(S'touch /tmp/x'\ntR.",
      "cposix\nsystem\n(X\u0004\0\0\0truetR.",
      "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
      "(S'id'\nios\nsystem\n.",
      "(cos\nsystem\nS'id'\no.",
      "\x80\x02cos\nsystem\n)\x81.",
      "c__builtin__\neval\n(S'1'\ntR.",
      "cbuiltins\ngetattr\n.",
      "c__builtin__\nset.__class__\n.",
      "cfractions\nFraction\n(K\x01K\x02tR.",
    ];
    for (const call of calls)
      expect(refusal(call)).toMatch(/names "[\w.]+", which is no data; code in pickles is never/);
    expect(refusal("cos\nsystem\n.")).toContain('names "os.system"');
    expect(refusal("\x80\x04\x8c\x09__proto__\x8c\x08toString\x93.")).toContain("__proto__.toString");
  });
  test("listed names used for something else", () => {
    expect(refusal("c__builtin__\nset\n)\x81.")).toContain("wants builtins.set to be instantiated");
    expect(refusal("c__builtin__\nset\n.")).toContain("holds builtins.set itself");
    expect(refusal("c__builtin__\nset\n}b.")).toContain("a state for something that has none");
    expect(refusal("K\x01)R.")).toContain("no listed name");
    expect(refusal("c__builtin__\nset\n(K\x01tR.")).toContain("no list");
    expect(refusal("c_codecs\nencode\n(X\x01\0\0\0aX\x03\0\0\0rottR.")).toContain("something else than bytes");
  });
  test("opcodes that are no data, or out of place", () => {
    for (const code of ["\x82\x01.", "\x97.", "\x98.", "\xff.", "Q.", "Pid\n."]) refusal(code);
    for (const code of [".", "0.", "a.", "e.", "t.", "s.", "u.", "R.", "b.", "2.", "q\0.", "h\0.", "(.", "1.", "\x93."])
      refusal(code);
    for (const code of ["K\x01K\x02a.", ")K\x02a.", "]K\x01K\x02s.", "}(K\x01u.", "\x80\x06."]) refusal(code);
    for (const code of ["I1e5\n.", "Fnine\n.", "S'x\n.", "Lx\n.", "g-1\n.", "X\x01\0\0\0\xff."]) refusal(code);
  });
  test("lengths that are not there", () => {
    for (const code of [
      "X\xff\xff\xff\xff",
      "B\xff\xff\xff\x7f",
      "\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
      "\x8b\xff\xff\xff\xff",
    ])
      refusal(code);
    expect(refusal("\x8b\xff\xff\xff\x7f.")).toContain("an integer of 2147483647 bytes");
    expect(refusal(`L${"9".repeat(100_000)}L\n.`)).toContain("digits");
    expect(refusal("X\x05\0\0\0ab")).toContain("ends too early");
  });
});

describe("pickles made to exhaust", () => {
  test("depth", () => {
    expect(refusal(`${"]".repeat(100_000)}${"a".repeat(99_999)}.`)).toContain("nested too deeply");
    expect(refusal(`(${"\x85".repeat(10)}`)).toContain("stack is empty");
    expect(refusal(`K\x01${"\x85".repeat(200_000)}.`)).toContain("nested too deeply");
  });
  test("doubling through the memo stays small", () => {
    let code = "]q\0";
    for (let i = 1; i < 60; i++)
      code += `]q${String.fromCharCode(i)}(h${String.fromCharCode(i - 1)}h${String.fromCharCode(i - 1)}e`;
    let value = read(`${code}.`) as unknown[];
    for (let i = 0; i < 58; i++) {
      expect(value[0]).toBe(value[1]);
      value = value[0] as unknown[];
    }
  });
  test("copies of one large value", () => {
    const large = `B\0\0\x10\0${"a".repeat(1 << 20)}q\x010`;
    expect(refusal(`${large}c__builtin__\nbytearray\nq\x02${"h\x01\x85Rq\x030h\x02".repeat(2000)}.`)).toContain(
      "copy too much",
    );
  });
  test("memo indices far apart take no room", () => {
    expect(read("K\x01r\xff\xff\xff\xffj\xff\xff\xff\xff\x86.")).toEqual([1, 1]);
  });
  test("damaged files: an error or a value, never anything else", () => {
    let state = 12345;
    const random = (n: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) % n;
    };
    const whole = Object.values(written).flatMap((row) => row.map((text) => Buffer.from(text, "base64")));
    for (const bytes of whole) {
      for (let end = 0; end < Math.min(bytes.length, 200); end++) refusal(bytes.subarray(0, end));
      for (let i = 0; i < 60; i++) {
        const damaged = Buffer.from(bytes);
        damaged[random(damaged.length)] = random(256);
        try {
          read(damaged);
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
        }
      }
    }
  });
});
