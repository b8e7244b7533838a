// The stand-in's interpreter against arithmetic on the host: one kernel for each instruction, edge values in pairs.

import { beforeAll, describe, expect, test } from "bun:test";
import { allocate, download, emulated, free, kernel, launch, load, ok, start, upload } from "./standin-driver.ts";

beforeAll(() => {
  if (emulated) start();
});

const REGISTER: Record<string, string> = { b16: "%h", b32: "%r", b64: "%d" };

interface Shape {
  /** Types of the operands in memory and in registers. */
  from: string[];
  to: string;
  /** The instruction, with $0 for its result and $1 to $3 for its operands. */
  code: string;
}

const bitsOf = (type: string): string => `b${type.slice(1)}`;

/** A kernel that loads one element of each input, runs the code, and stores one element. */
function program({ from, to, code }: Shape): string {
  const params = ["o", ...from.map((_, n) => `i${n}`)].map((name) => `.param .u64 ${name}`);
  const size = (type: string) => Number(type.slice(1)) / 8;
  const lines = from.map((type, n) => {
    const r = `${REGISTER[bitsOf(type)]}${n + 1}`;
    return `ld.param.u64 %a, [i${n}];
      mad.wide.u32 %a, %t, ${size(type)}, %a;
      ld.global.${type} ${r}, [%a];`;
  });
  const place = (n: number) => {
    const type = n === 0 ? to : (from[n - 1] as string);
    return `${REGISTER[bitsOf(type)]}${n}`;
  };
  const text = code.replace(/\$(\d)/g, (_, n) => place(Number(n)));
  return `.visible .entry k(${params.join(", ")}) {
    .reg .b64 %a; .reg .b32 %t; .reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;
    mov.u32 %t, %tid.x;
    ${lines.join("\n")}
    ${text}
    ld.param.u64 %a, [o];
    mad.wide.u32 %a, %t, ${size(to)}, %a;
    st.global.${to} [%a], ${place(0)};
    ret;
  }`;
}

type Numbers = Float32Array | Float64Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Uint16Array;

/** Runs an instruction over arrays of the same length. */
function compute<T extends NodeJS.TypedArray>(shape: Shape, inputs: Numbers[], into: T): T {
  const f = kernel(load(program(shape)), "k");
  const places = inputs.map((x) => upload(x));
  const o = allocate(into.byteLength);
  ok(launch(f, 1, into.length, [o, ...places]));
  download(o, into);
  for (const at of [o, ...places]) free(at);
  return into;
}

/** All pairs of values. */
function pairs<T>(values: T[]): [T[], T[]] {
  return [values.flatMap((a) => values.map(() => a)), values.flatMap(() => values)];
}

const MAX64 = (1n << 64n) - 1n;
const INTS = [0, 1, -1, 2, 7, -8, 31, 32, 33, 0x7fffffff, -0x80000000, 0x12345678, -0x12345678, 65535, 65536];
const LONGS = [0n, 1n, -1n, 5n, 63n, 64n, 1n << 32n, -(1n << 63n), (1n << 63n) - 1n, 0x123456789abcdefn];
const FLOATS = [
  ...[0, -0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.3, 1e-45, -1e-40, 1.1754944e-38, 3.4e38, -3.4e38, 16777217, 1e10],
  ...[Infinity, -Infinity, NaN],
];

describe.skipIf(!emulated)("whole numbers of 32 bits", () => {
  const s = (n: bigint) => Number(BigInt.asIntN(32, n));
  const signed: [string, (a: number, b: number) => number][] = [
    ["add.s32", (a, b) => (a + b) | 0],
    ["sub.s32", (a, b) => (a - b) | 0],
    ["mul.lo.s32", Math.imul],
    ["mul.hi.s32", (a, b) => s((BigInt(a) * BigInt(b)) >> 32n)],
    ["mul.hi.u32", (a, b) => s((BigInt(a >>> 0) * BigInt(b >>> 0)) >> 32n)],
    ["div.s32", (a, b) => (b === 0 ? -1 : (a / b) | 0)],
    ["rem.s32", (a, b) => (b === 0 ? a : (a % b) | 0)],
    ["div.u32", (a, b) => (b === 0 ? -1 : Math.floor((a >>> 0) / (b >>> 0)) | 0)],
    ["rem.u32", (a, b) => (b === 0 ? a : ((a >>> 0) % (b >>> 0)) | 0)],
    ["min.s32", Math.min],
    ["max.s32", Math.max],
    ["min.u32", (a, b) => Math.min(a >>> 0, b >>> 0) | 0],
    ["max.u32", (a, b) => Math.max(a >>> 0, b >>> 0) | 0],
    ["and.b32", (a, b) => a & b],
    ["or.b32", (a, b) => a | b],
    ["xor.b32", (a, b) => a ^ b],
    ["shl.b32", (a, b) => (b >>> 0 > 31 ? 0 : a << b)],
    ["shr.s32", (a, b) => a >> Math.min(b >>> 0, 31)],
    ["shr.u32", (a, b) => (b >>> 0 > 31 ? 0 : (a >>> b) | 0)],
    ["add.sat.s32", (a, b) => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, a + b))],
    ["sub.sat.s32", (a, b) => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, a - b))],
  ];
  test.each(signed)("%s", (name, on) => {
    const [a, b] = pairs(INTS);
    const shape = { from: ["s32", "s32"], to: "s32", code: `${name} $0, $1, $2;` };
    const made = compute(shape, [Int32Array.from(a), Int32Array.from(b)], new Int32Array(a.length));
    expect([...made]).toEqual(a.map((x, n) => on(x, b[n] as number) + 0));
  });

  const alone: [string, (a: number) => number][] = [
    ["neg.s32", (a) => -a | 0],
    ["abs.s32", (a) => Math.abs(a) | 0],
    ["not.b32", (a) => ~a],
    ["cnot.b32", (a) => Number(a === 0)],
    ["popc.b32", (a) => (a >>> 0).toString(2).replaceAll("0", "").length],
    ["clz.b32", Math.clz32],
    ["brev.b32", (a) => Number.parseInt([...(a >>> 0).toString(2).padStart(32, "0")].reverse().join(""), 2) | 0],
    ["bfind.u32", (a) => 31 - Math.clz32(a)],
    ["bfind.s32", (a) => 31 - Math.clz32(a < 0 ? ~a : a)],
    ["bfind.shiftamt.u32", (a) => (a === 0 ? -1 : Math.clz32(a))],
  ];
  test.each(alone)("%s", (name, on) => {
    const made = compute(
      { from: ["s32"], to: "s32", code: `${name} $0, $1;` },
      [Int32Array.from(INTS)],
      new Int32Array(15),
    );
    expect([...made]).toEqual(INTS.map((x) => on(x) + 0));
  });

  const three: [string, (a: number, b: number, c: number) => number][] = [
    ["mad.lo.s32", (a, b, c) => (Math.imul(a, b) + c) | 0],
    ["mad.hi.s32", (a, b, c) => (s((BigInt(a) * BigInt(b)) >> 32n) + c) | 0],
    ["sad.s32", (a, b, c) => (Math.abs(a - b) + c) | 0],
    ["sad.u32", (a, b, c) => (Math.abs((a >>> 0) - (b >>> 0)) + c) | 0],
    ["shf.l.wrap.b32", (a, b, c) => s((((BigInt(b >>> 0) << 32n) | BigInt(a >>> 0)) << BigInt(c & 31)) >> 32n)],
    ["shf.r.clamp.b32", (a, b, c) => s(((BigInt(b >>> 0) << 32n) | BigInt(a >>> 0)) >> BigInt(Math.min(c >>> 0, 32)))],
    ["prmt.b32", (a, b, c) => permuted(a, b, c)],
    ["bfe.u32", (a, b, c) => field(a, b & 255, c & 255, false)],
    ["bfe.s32", (a, b, c) => field(a, b & 255, c & 255, true)],
    ["lop3.b32", (a, b, c) => (a & b) ^ c],
  ];
  test.each(three)("%s", (name, on) => {
    const [a, b] = pairs(INTS);
    const c = a.map((x, n) => (n % 3 === 0 ? n : n % 3 === 1 ? x : -(b[n] as number)) | 0);
    const tail = name === "lop3.b32" ? ", 0x6A" : "";
    const shape = { from: ["s32", "s32", "s32"], to: "s32", code: `${name} $0, $1, $2, $3${tail};` };
    const made = compute(
      shape,
      [a, b, c].map((x) => Int32Array.from(x)),
      new Int32Array(a.length),
    );
    expect([...made]).toEqual(a.map((x, n) => on(x, b[n] as number, c[n] as number) + 0));
  });
});

/** Bytes of b and a, picked by the nibbles of a selector; its eighth bit spreads the byte's sign. */
function permuted(a: number, b: number, selector: number): number {
  const bytes = [0, 8, 16, 24].flatMap((n) => [(a >>> n) & 255]).concat([0, 8, 16, 24].map((n) => (b >>> n) & 255));
  return [0, 1, 2, 3].reduce((r, n) => {
    const nibble = (selector >>> (4 * n)) & 15;
    const byte = bytes[nibble & 7] as number;
    return r | ((nibble & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * n));
  }, 0);
}

/** Bit by bit, as the manual has it. */
function field(a: number, start: number, count: number, signed: boolean): number {
  if (count === 0) return 0;
  const sign = signed ? (a >>> Math.min(start + count - 1, 31)) & 1 : 0;
  let r = 0;
  for (let i = 0; i < 32; i++) {
    const bit = i < count && start + i <= 31 ? (a >>> (start + i)) & 1 : sign;
    r |= bit << i;
  }
  return r;
}

describe.skipIf(!emulated)("whole numbers of 64 and 16 bits", () => {
  const u = (n: bigint) => BigInt.asUintN(64, n);
  const div = (a: bigint, b: bigint) => (b === 0n ? -1n : a / b);
  const wide: [string, (a: bigint, b: bigint) => bigint][] = [
    ["add.s64", (a, b) => a + b],
    ["sub.s64", (a, b) => a - b],
    ["mul.lo.s64", (a, b) => a * b],
    ["mul.hi.s64", (a, b) => (a * b) >> 64n],
    ["mul.hi.u64", (a, b) => (u(a) * u(b)) >> 64n],
    ["div.s64", div],
    ["rem.s64", (a, b) => (b === 0n ? a : a % b)],
    ["div.u64", (a, b) => div(u(a), u(b))],
    ["min.s64", (a, b) => [a, b].toSorted((x, y) => Number(x > y) - Number(x < y))[0] as bigint],
    ["max.u64", (a, b) => (u(a) > u(b) ? a : b)],
    ["xor.b64", (a, b) => a ^ b],
  ];
  test.each(wide)("%s", (name, on) => {
    const [a, b] = pairs(LONGS);
    const shape = { from: ["s64", "s64"], to: "s64", code: `${name} $0, $1, $2;` };
    const made = compute(shape, [BigInt64Array.from(a), BigInt64Array.from(b)], new BigInt64Array(a.length));
    expect([...made]).toEqual(a.map((x, n) => BigInt.asIntN(64, on(x, b[n] as bigint))));
  });

  test("a carry goes from the low halves to the high ones", () => {
    const [a, b] = pairs(LONGS.map((x) => u(x)));
    const code = `mov.b64 {%r1, %r2}, $1; mov.b64 {%r3, %r4}, $2;
      add.cc.u32 %r5, %r1, %r3; addc.u32 %r6, %r2, %r4; mov.b64 $0, {%r5, %r6};`;
    const into = new BigUint64Array(a.length);
    const sums = compute(
      { from: ["u64", "u64"], to: "u64", code },
      [a, b].map((x) => BigUint64Array.from(x)),
      into,
    );
    expect([...sums]).toEqual(a.map((x, n) => (x + (b[n] as bigint)) & MAX64));
    const less = code.replace("add.cc", "sub.cc").replace("addc", "subc");
    const rest = compute(
      { from: ["u64", "u64"], to: "u64", code: less },
      [a, b].map((x) => BigUint64Array.from(x)),
      into,
    );
    expect([...rest]).toEqual(a.map((x, n) => (x - (b[n] as bigint)) & MAX64));
  });

  test("16 bits wrap, and widen by their sign", () => {
    const a = [0, 1, 0x7fff, 0x8000, 0xffff, 300];
    const run = (code: string, to: string, into: NodeJS.TypedArray) =>
      Array.from(compute({ from: ["u16", "u16"], to, code }, [Uint16Array.from(a), Uint16Array.from(a)], into), Number);
    expect(run("add.u16 $0, $1, $2;", "u16", new Uint16Array(6))).toEqual(a.map((x) => (x + x) & 0xffff));
    expect(run("mul.wide.u16 $0, $1, $2;", "u32", new Uint32Array(6))).toEqual(a.map((x) => x * x));
    expect(run("cvt.s32.s16 $0, $1;", "u32", new Int32Array(6))).toEqual(a.map((x) => (x << 16) >> 16));
    expect(run("cvt.u32.u8 $0, $1;", "u32", new Int32Array(6))).toEqual(a.map((x) => x & 255));
  });
});

const F32 = (x: number) => Math.fround(x);

describe.skipIf(!emulated)("floats", () => {
  const two: [string, (a: number, b: number) => number][] = [
    ["add.rn", (a, b) => a + b],
    ["sub.rn", (a, b) => a - b],
    ["mul.rn", (a, b) => a * b],
    ["div.rn", (a, b) => a / b],
    ["min", (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b))],
    ["max", (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b))],
    ["copysign", (a, b) => (Object.is(Math.sign(a), -0) || a < 0 ? -Math.abs(b) : Math.abs(b))],
  ];
  test.each(two)("%s.f32 and .f64", (name, on) => {
    const [a, b] = pairs(FLOATS);
    const code = (type: string) => ({ from: [type, type], to: type, code: `${name}.${type} $0, $1, $2;` });
    const singles = [a, b].map((x) => Float32Array.from(x)) as [Float32Array, Float32Array];
    const single = compute(code("f32"), singles, new Float32Array(a.length));
    expect([...single]).toEqual([...singles[0]].map((x, n) => F32(on(x, singles[1][n] as number))));
    const doubles = [a, b].map((x) => Float64Array.from(x));
    const double = compute(code("f64"), doubles, new Float64Array(a.length));
    expect([...double]).toEqual(a.map((x, n) => on(x, b[n] as number)));
  });

  test("NaN is canonical in float32", () => {
    const shape = { from: ["f32"], to: "f32", code: "mul.rn.f32 $0, $1, 0fBF800000;" };
    const from = new Float32Array(Uint32Array.of(0x7fc00001, 0xffc12345, 0x7f800001).buffer);
    const made = compute(shape, [from], new Uint32Array(3));
    expect([...made]).toEqual([0x7fffffff, 0x7fffffff, 0x7fffffff]);
  });

  test("directed rounding brackets the exact result", () => {
    const [a, b] = pairs([1, 3, 0.1, -7, 1e-5, 123456.789].map(F32));
    for (const op of ["add", "mul", "div"]) {
      const run = (how: string) => {
        const shape = { from: ["f32", "f32"], to: "f32", code: `${op}.${how}.f32 $0, $1, $2;` };
        return compute(shape, [Float32Array.from(a), Float32Array.from(b)], new Float32Array(a.length));
      };
      const [down, up, zero, near] = ["rm", "rp", "rz", "rn"].map(run) as [Float32Array, ...Float32Array[]];
      a.forEach((x, n) => {
        const y = b[n] as number;
        const exact = op === "add" ? x + y : op === "mul" ? x * y : x / y;
        const [lo, hi] = [down[n] as number, up?.[n] as number];
        expect(lo <= exact && exact <= hi).toBe(true);
        expect(zero?.[n]).toBe(exact > 0 ? lo : hi);
        expect([lo, hi]).toContain(near?.[n] as number);
        if (F32(exact) === exact) expect([lo, hi]).toEqual([exact, exact]);
        else expect(lo).toBeLessThan(hi);
      });
    }
  });

  test("flushing, saturation and a fused product", () => {
    const x = Float32Array.of(1e-40, -1e-40, 2, -2, 0.25, NaN);
    const run = (code: string) => [...compute({ from: ["f32"], to: "f32", code }, [x], new Float32Array(6))];
    expect(run("add.rn.ftz.f32 $0, $1, 0f00000000;").slice(0, 3)).toEqual([0, 0, 2]);
    expect(run("add.rn.sat.f32 $0, $1, 0f00000000;")).toEqual([F32(1e-40), 0, 1, 0, 0.25, 0]);
    const third = F32(1 / 3);
    const fused = compute(
      { from: ["f32"], to: "f32", code: "fma.rn.f32 $0, $1, $1, 0fBDE38E39;" },
      [Float32Array.of(third)],
      new Float32Array(1),
    );
    const minus = -new Float32Array(Uint32Array.of(0x3de38e39).buffer)[0]!;
    expect(fused[0]).toBe(F32(third * third + minus));
    expect(fused[0]).not.toBe(0);
  });
});
