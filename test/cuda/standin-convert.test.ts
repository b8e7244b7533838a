// The stand-in's conversions, halves, comparisons and matrix products against the host.

import { beforeAll, describe, expect, test } from "bun:test";
import { allocate, download, emulated, free, kernel, launch, load, ok, start, upload } from "./standin-driver.ts";

beforeAll(() => {
  if (emulated) start();
});

/** A kernel over elements of 4 bytes (or 8 for f64): $0 is stored, $1 and $2 are loaded. */
function compute<T extends NodeJS.TypedArray>(code: string, inputs: NodeJS.TypedArray[], into: T): T {
  const wide = (x: NodeJS.TypedArray) => x.BYTES_PER_ELEMENT === 8;
  const register = (x: NodeJS.TypedArray, n: number) => `${wide(x) ? "%d" : "%r"}${n}`;
  const all = [into, ...inputs];
  const loads = inputs.map((x, n) => {
    const [bits, r] = [x.BYTES_PER_ELEMENT * 8, register(x, n + 1)];
    return `ld.param.u64 %a, [i${n}]; mad.wide.u32 %a, %t, ${bits / 8}, %a; ld.global.b${bits} ${r}, [%a];`;
  });
  const params = ["o", ...inputs.map((_, n) => `i${n}`)].map((name) => `.param .u64 ${name}`);
  const ptx = `.visible .entry k(${params.join(", ")}) {
    .reg .b64 %a, %d<9>; .reg .b32 %t, %r<9>; .reg .b16 %h<9>; .reg .pred %p<4>;
    mov.u32 %t, %tid.x; ${loads.join("\n")}
    ${code.replace(/\$(\d)/g, (_, n) => register(all[Number(n)] as NodeJS.TypedArray, Number(n)))}
    ld.param.u64 %a, [o]; mad.wide.u32 %a, %t, ${into.BYTES_PER_ELEMENT}, %a;
    st.global.b${into.BYTES_PER_ELEMENT * 8} [%a], ${register(into, 0)}; ret; }`;
  const places = inputs.map((x) => upload(x));
  const o = allocate(into.byteLength);
  ok(launch(kernel(load(ptx), "k"), 1, into.length, [o, ...places]));
  download(o, into);
  for (const at of [o, ...places]) free(at);
  return into;
}

const f32 = Math.fround;
const FLOATS = [0, -0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.7, -3.7, 2 ** 31, -(2 ** 31), 1e20, -1e20, 255.5, 1e-45]
  .concat([Infinity, -Infinity, NaN])
  .map(f32);

/** To the nearest whole number, ties to the even one. */
function even(x: number): number {
  const r = Math.round(x);
  return Math.abs(x - Math.trunc(x)) === 0.5 && r % 2 !== 0 ? r - 1 : r;
}

const clamp = (x: number, low: number, high: number) => (Number.isNaN(x) ? 0 : Math.max(low, Math.min(high, x)));

describe.skipIf(!emulated)("floats to whole numbers and back", () => {
  const roundings: [string, (x: number) => number][] = [
    ["rni", even],
    ["rzi", Math.trunc],
    ["rmi", Math.floor],
    ["rpi", Math.ceil],
  ];
  test.each(roundings)("cvt.%s clamps, and NaN is 0", (how, on) => {
    const from = Float32Array.from(FLOATS);
    const whole = FLOATS.map(on);
    const s32 = compute(`cvt.${how}.s32.f32 $0, $1;`, [from], new Int32Array(from.length));
    expect([...s32]).toEqual(whole.map((x) => clamp(x, -(2 ** 31), 2 ** 31 - 1) + 0));
    const u32 = compute(`cvt.${how}.u32.f32 $0, $1;`, [from], new Uint32Array(from.length));
    expect([...u32]).toEqual(whole.map((x) => clamp(x, 0, 2 ** 32 - 1) + 0));
    const u8 = compute(`cvt.${how}.u8.f32 $0, $1;`, [from], new Uint32Array(from.length));
    expect([...u8]).toEqual(whole.map((x) => clamp(x, 0, 255) + 0));
    const same = compute(`cvt.${how}.f32.f32 $0, $1;`, [from], new Float32Array(from.length));
    expect([...same]).toEqual(whole.map(f32));
    const s64 = compute(`cvt.${how}.s64.f32 $0, $1;`, [from], new BigInt64Array(from.length));
    const limit = (x: number) =>
      Number.isNaN(x) || x < -9e18 ? -(1n << 63n) : x > 9e18 ? (1n << 63n) - 1n : BigInt(x);
    expect([...s64]).toEqual(whole.map(limit));
  });

  test("whole numbers round to the nearest float", () => {
    const ints = Int32Array.of(0, 1, -1, 16777217, 16777219, -16777217, 2147483647, -2147483648);
    expect([...compute("cvt.rn.f32.s32 $0, $1;", [ints], new Float32Array(8))]).toEqual([...ints].map(f32));
    expect([...compute("cvt.rn.f32.u32 $0, $1;", [ints], new Float32Array(8))]).toEqual(
      [...ints].map((x) => f32(x >>> 0)),
    );
    const longs = BigInt64Array.of(0n, 9007199254740993n, -9007199254740993n, (1n << 63n) - 1n, 36028797018963969n);
    expect([...compute("cvt.rn.f64.s64 $0, $1;", [longs], new Float64Array(5))]).toEqual([...longs].map(Number));
    expect([...compute("cvt.rz.f64.s64 $0, $1;", [longs], new Float64Array(5))].slice(1, 3)).toEqual([
      9007199254740992, -9007199254740992,
    ]);
  });

  test("narrower whole numbers wrap, or stay at the end with .sat", () => {
    const ints = Int32Array.of(0, 127, 128, 255, 256, -1, -129, 70000);
    const run = (code: string) => [...compute(code, [ints], new Int32Array(8))];
    expect(run("cvt.s8.s32 $0, $1;")).toEqual([0, 127, -128, -1, 0, -1, 127, 112]);
    expect(run("cvt.u16.s32 $0, $1;")).toEqual([0, 127, 128, 255, 256, 65535, 65407, 4464]);
    expect(run("cvt.sat.s8.s32 $0, $1;")).toEqual([0, 127, 127, 127, 127, -1, -128, 127]);
    expect(run("cvt.sat.u8.s32 $0, $1;")).toEqual([0, 127, 128, 255, 255, 0, 0, 255]);
  });

  test("between float sizes", () => {
    const doubles = Float64Array.of(0.1, 1e300, -1e300, 1e-46, 3.4028235677973366e38, NaN, -0);
    const near = compute("cvt.rn.f32.f64 $0, $1;", [doubles], new Float32Array(7));
    expect([...near]).toEqual([...doubles].map(f32));
    const zero = compute("cvt.rz.f32.f64 $0, $1;", [doubles], new Float32Array(7));
    expect(zero[1]).toBe(3.4028234663852886e38);
    expect(zero[0]).toBeLessThanOrEqual(0.1);
    expect(compute("cvt.rp.f32.f64 $0, $1;", [doubles], new Float32Array(7))[3]).toBe(f32(1e-45));
  });
});

describe.skipIf(!emulated)("halves", () => {
  const values = [
    0,
    -0,
    1,
    -2,
    0.1,
    1 / 3,
    65504,
    65519.99,
    65520,
    1e6,
    6e-8,
    2.9e-8,
    2 ** -14,
    1.00048828125,
    1.0014648,
  ]
    .concat([NaN, -Infinity])
    .map(f32);

  test("float16 like the host's", () => {
    const from = Float32Array.from(values);
    const code = "cvt.rn.f16.f32 %h1, $1; cvt.f32.f16 $0, %h1;";
    expect([...compute(code, [from], new Float32Array(from.length))]).toEqual([...Float16Array.from(from)]);
    const tied = compute("cvt.rz.f16.f32 %h1, $1; cvt.f32.f16 $0, %h1;", [from], new Float32Array(from.length));
    expect([tied[7], tied[8], tied[9]]).toEqual([65504, 65504, 65504]);
  });

  /** The upper half of a float32, rounded to the nearest, ties to even. */
  function bfloat(x: number): number {
    const bits = new Uint32Array(Float32Array.of(x).buffer);
    if (Number.isNaN(x)) return NaN;
    const b = bits[0] as number;
    bits[0] = ((b + 0x7fff + ((b >>> 16) & 1)) & 0xffff0000) >>> 0;
    return new Float32Array(bits.buffer)[0] as number;
  }

  test("bfloat16, also two at a time", () => {
    const from = Float32Array.from([...values, 3.4e38, 1e-40]);
    const one = compute("cvt.rn.bf16.f32 %h1, $1; mov.b32 $0, {0, %h1};", [from], new Float32Array(from.length));
    expect([...one]).toEqual([...from].map(bfloat));
    const pair = compute("cvt.rn.bf16x2.f32 $0, $1, $2;", [from, from.toReversed()], new Uint32Array(from.length));
    const halves = new Float32Array(pair.map((x) => (x << 16) >>> 0).buffer);
    expect([...halves]).toEqual([...from.toReversed()].map(bfloat));
  });

  test("arithmetic rounds once", () => {
    const [a, b, c] = [
      [1.5, 2049, 1e-7, 60000, -3],
      [0.333, 1, 1e-7, 60000, 7],
      [1, 0.5, 1, -60000, 21],
    ].map((x) => Float32Array.from(Float16Array.from(x))) as [Float32Array, Float32Array, Float32Array];
    const load3 = "cvt.rn.f16.f32 %h1, $1; cvt.rn.f16.f32 %h2, $2; cvt.rn.f16.f32 %h3, $3;";
    const run = (op: string) => [...compute(`${load3} ${op}; cvt.f32.f16 $0, %h4;`, [a, b, c], new Float32Array(5))];
    const host = (on: (x: number, y: number, z: number) => number) => [
      ...Float16Array.from([...a].map((x, n) => on(x, b[n] as number, c[n] as number))),
    ];
    expect(run("add.rn.f16 %h4, %h1, %h2")).toEqual(host((x, y) => x + y));
    expect(run("mul.rn.f16 %h4, %h1, %h2")).toEqual(host((x, y) => x * y));
    expect(run("fma.rn.f16 %h4, %h1, %h2, %h3")).toEqual(host((x, y, z) => x * y + z));
    expect(run("max.f16 %h4, %h1, %h3")).toEqual(host((x, _, z) => Math.max(x, z)));
    expect(run("neg.f16 %h4, %h1")).toEqual(host((x) => -x));
    const both = compute(
      `${load3} mov.b32 %r5, {%h1, %h2}; mov.b32 %r6, {%h2, %h3}; add.rn.f16x2 %r5, %r5, %r6; mov.b32 {%h1, %h4}, %r5;
        cvt.f32.f16 $0, %h4;`,
      [a, b, c],
      new Float32Array(5),
    );
    expect([...both]).toEqual(host((_, y, z) => y + z));
  });
});

describe.skipIf(!emulated)("comparisons and choices", () => {
  const nan = (a: number, b: number) => Number.isNaN(a) || Number.isNaN(b);
  const tests: [string, (a: number, b: number) => boolean][] = [
    ["eq", (a, b) => a === b],
    ["ne", (a, b) => a !== b && !nan(a, b)],
    ["lt", (a, b) => a < b],
    ["ge", (a, b) => a >= b],
    ["equ", (a, b) => a === b || nan(a, b)],
    ["neu", (a, b) => a !== b],
    ["ltu", (a, b) => !(a >= b)],
    ["gtu", (a, b) => !(a <= b)],
    ["num", (a, b) => !nan(a, b)],
    ["nan", nan],
  ];
  const a = Float32Array.of(1, 2, -0, NaN, 1, NaN, Infinity, -3);
  const b = Float32Array.of(2, 2, 0, 1, NaN, NaN, Infinity, -4);
  test.each(tests)("setp.%s.f32, and combined", (how, on) => {
    const wanted = [...a].map((x, n) => Number(on(x, b[n] as number)));
    const run = (code: string) => [...compute(code, [a, b], new Uint32Array(8))];
    expect(run(`setp.${how}.f32 %p1, $1, $2; selp.u32 $0, 1, 0, %p1;`)).toEqual(wanted);
    expect(run(`setp.${how}.f32 %p1|%p2, $1, $2; selp.u32 $0, 1, 0, %p2;`)).toEqual(wanted.map((x) => 1 - x));
    const odd = `and.b32 %r5, %t, 1; setp.eq.u32 %p3, %r5, 1; setp.${how}`;
    expect(run(`${odd}.and.f32 %p1, $1, $2, !%p3; selp.u32 $0, 1, 0, %p1;`)).toEqual(
      wanted.map((x, n) => (n % 2 ? 0 : x)),
    );
    expect(run(`${odd}.xor.f32 %p1, $1, $2, %p3; selp.u32 $0, 1, 0, %p1;`)).toEqual(wanted.map((x, n) => x ^ (n % 2)));
    expect(run(`set.${how}.u32.f32 $0, $1, $2;`)).toEqual(wanted.map((x) => (x ? 0xffffffff : 0)));
  });

  test("testp and slct", () => {
    const x = Float32Array.of(1, 1e-40, Infinity, NaN, 0);
    const run = (kind: string) => [
      ...compute(`testp.${kind}.f32 %p1, $1; selp.u32 $0, 1, 0, %p1;`, [x], new Uint32Array(5)),
    ];
    expect(run("finite")).toEqual([1, 1, 0, 0, 1]);
    expect(run("normal")).toEqual([1, 0, 0, 0, 0]);
    expect(run("subnormal")).toEqual([0, 1, 0, 0, 0]);
    expect(run("infinite")).toEqual([0, 0, 1, 0, 0]);
    const chosen = compute("slct.u32.s32 $0, 7, 9, $1;", [Int32Array.of(-1, 0, 5)], new Uint32Array(3));
    expect([...chosen]).toEqual([9, 7, 7]);
  });

  test("approximate functions", () => {
    const x = Float32Array.of(0.5, 1, 2, 10);
    const close = (op: string, on: (v: number) => number) => {
      const made = compute(`${op}.f32 $0, $1;`, [x], new Float32Array(4));
      made.forEach((y, n) => expect(Math.abs(y - on(x[n] as number)) / (1 + Math.abs(y))).toBeLessThan(1e-6));
    };
    close("ex2.approx", (v) => 2 ** v);
    close("lg2.approx", (v) => Math.log2(v));
    close("rsqrt.approx.ftz", (v) => v ** -0.5);
    close("sqrt.rn", Math.sqrt);
    close("rcp.approx", (v) => 1 / v);
    close("tanh.approx", Math.tanh);
    close("sin.approx", Math.sin);
    close("cos.approx", Math.cos);
    const quotients = compute("div.approx.f32 $0, $1, $2;", [x, Float32Array.of(3, 7, -2, 0.25)], new Float32Array(4));
    expect([...quotients]).toEqual([0.5 / 3, 1 / 7, -1, 40].map(Math.fround));
    const doubles = Float64Array.of(3, -0.7, 1e300, 1 + 2 ** -40);
    const inverse = compute("rcp.approx.ftz.f64 $0, $1;", [doubles], new Float64Array(4));
    inverse.forEach((y, n) => expect(Math.abs(y * (doubles[n] as number) - 1)).toBeLessThan(2 ** -19));
    expect([...new Uint32Array(inverse.buffer)].filter((_, n) => n % 2 === 0)).toEqual([0, 0, 0, 0]);
  });
});

describe.skipIf(!emulated)("matrix tiles", () => {
  const M = 16;
  const N = 8;

  /** A product of tiles whose lanes load their parts as the manual lays them out. */
  function product(type: "f16" | "bf16" | "tf32", depth: number, a: number[][], b: number[][]): number[][] {
    const small = (x: number) => (type === "f16" ? Float16Array.of(x) : Float32Array.of(x));
    const bits = (x: number): number => {
      const raw = small(x);
      if (type === "f16") return new Uint16Array(raw.buffer)[0] as number;
      const word = new Uint32Array(raw.buffer)[0] as number;
      return type === "bf16" ? word >>> 16 : word;
    };
    const each = type === "tf32" ? 1 : 2;
    const count = depth / (4 * each);
    const word = (at: (part: number) => number) => (each === 1 ? bits(at(0)) : (bits(at(1)) << 16) | bits(at(0))) >>> 0;
    const lanes = Array.from({ length: 32 }, (_, l) => l);
    const partsA = lanes.flatMap((l) =>
      Array.from({ length: count * 2 }, (_, r) =>
        word((p) => a[(l >> 2) + (r % 2) * 8]?.[(r >> 1) * 4 * each + (l % 4) * each + p] as number),
      ),
    );
    const partsB = lanes.flatMap((l) =>
      Array.from({ length: count }, (_, r) => word((p) => b[r * 4 * each + (l % 4) * each + p]?.[l >> 2] as number)),
    );
    const [ra, rb] = [count * 2, count];
    const names = (prefix: string, n: number) => Array.from({ length: n }, (_, k) => `%${prefix}${k}`);
    const take = (prefix: string, n: number, param: string) =>
      `ld.param.u64 %d, [${param}]; mad.wide.u32 %d, %t, ${n * 4}, %d; ${names(prefix, n)
        .map((r, k) => `ld.global.b32 ${r}, [%d+${k * 4}];`)
        .join(" ")}`;
    const ptx = `.visible .entry k(.param .u64 o, .param .u64 a, .param .u64 b) {
      .reg .b64 %d; .reg .b32 %t, %a<5>, %b<5>; .reg .f32 %c<5>; mov.u32 %t, %tid.x;
      ${take("a", ra, "a")} ${take("b", rb, "b")}
      ${names("c", 4)
        .map((c) => `mov.f32 ${c}, 0f3F800000;`)
        .join(" ")}
      mma.sync.aligned.m16n8k${depth}.row.col.f32.${type}.${type}.f32
        {${names("c", 4)}}, {${names("a", ra)}}, {${names("b", rb)}}, {${names("c", 4)}};
      ld.param.u64 %d, [o]; mad.wide.u32 %d, %t, 16, %d; st.global.v4.f32 [%d], {${names("c", 4)}}; ret; }`;
    const [at, bt, o] = [upload(Uint32Array.from(partsA)), upload(Uint32Array.from(partsB)), allocate(512)];
    ok(launch(kernel(load(ptx), "k"), 1, 32, [o, at, bt]));
    const made = download(o, new Float32Array(128));
    for (const x of [at, bt, o]) free(x);
    return Array.from({ length: M }, (_, r) =>
      Array.from({ length: N }, (_, c) => made[((r % 8) * 4 + (c >> 1)) * 4 + (r >> 3) * 2 + (c % 2)] as number),
    );
  }

  test.each([
    ["f16", 8],
    ["f16", 16],
    ["bf16", 8],
    ["bf16", 16],
    ["tf32", 4],
    ["tf32", 8],
  ] as const)("mma.m16n8 of %s, depth %i", (type, depth) => {
    const a = Array.from({ length: M }, (_, r) => Array.from({ length: depth }, (_, k) => ((r * 7 + k * 3) % 11) - 5));
    const b = Array.from({ length: depth }, (_, k) => Array.from({ length: N }, (_, c) => ((k * 5 + c * 2) % 7) - 3));
    const wanted = a.map((row) =>
      Array.from({ length: N }, (_, c) => row.reduce((s, x, k) => s + x * (b[k]?.[c] as number), 1)),
    );
    expect(product(type, depth, a, b)).toEqual(wanted);
  });

  test.each([
    [8, 4],
    [16, 4],
    [16, 8],
    [16, 16],
  ])("mma of f64, %i rows, depth %i", (rows, depth) => {
    const left = (r: number, k: number) => 2 ** -40 * (((r * 7 + k * 3) % 11) - 5) + r;
    const right = (k: number, c: number) => ((k * 5 + c * 2) % 7) - 3;
    const high = rows / 8;
    const [na, nb, nc] = [(high * depth) / 4, depth / 4, high * 2];
    const lanes = Array.from({ length: 32 }, (_, l) => l);
    const of = (n: number, value: (l: number, i: number) => number) =>
      Float64Array.from(lanes.flatMap((l) => Array.from({ length: n }, (_, i) => value(l, i))));
    const a = of(na, (l, i) => left((l >> 2) + (i % high) * 8, (l % 4) + Math.floor(i / high) * 4));
    const b = of(nb, (l, i) => right((l % 4) + i * 4, l >> 2));
    const names = (prefix: string, n: number) => Array.from({ length: n }, (_, k) => `%${prefix}${k}`);
    const take = (prefix: string, n: number) => `ld.param.u64 %d, [${prefix}]; mad.wide.u32 %d, %t, ${n * 8}, %d;
      ${names(prefix, n)
        .map((r, k) => `ld.global.f64 ${r}, [%d+${k * 8}];`)
        .join(" ")}`;
    const ptx = `.visible .entry k(.param .u64 o, .param .u64 a, .param .u64 b) {
      .reg .b64 %d; .reg .b32 %t; .reg .f64 %a<9>, %b<5>, %c<5>; mov.u32 %t, %tid.x; ${take("a", na)} ${take("b", nb)}
      ${names("c", nc)
        .map((c) => `mov.f64 ${c}, 0d3FF0000000000000;`)
        .join(" ")}
      mma.sync.aligned.m${rows}n8k${depth}.row.col.f64.f64.f64.f64
        {${names("c", nc)}}, {${names("a", na)}}, {${names("b", nb)}}, {${names("c", nc)}};
      ld.param.u64 %d, [o]; mad.wide.u32 %d, %t, ${nc * 8}, %d;
      ${names("c", nc)
        .map((c, k) => `st.global.f64 [%d+${k * 8}], ${c};`)
        .join(" ")} ret; }`;
    const at = [allocate(32 * nc * 8), upload(a), upload(b)];
    ok(launch(kernel(load(ptx), "k"), 1, 32, at));
    const made = [...download(at[0] as bigint, new Float64Array(32 * nc))];
    for (const x of at) free(x);
    const wanted = of(nc, (l, i) => {
      const [r, c] = [(l >> 2) + (i >> 1) * 8, (l % 4) * 2 + (i % 2)];
      return Array.from({ length: depth }, (_, k) => left(r, k) * right(k, c)).reduce((s, x) => s + x, 1);
    });
    expect(made).toEqual([...wanted]);
  });

  test("ldmatrix, plain and transposed", () => {
    const run = (trans: string) => {
      const ptx = `.visible .entry k(.param .u64 o) {
        .reg .b64 %d<3>; .reg .b32 %t, %r<9>; .shared .align 16 .b8 s[512];
        mov.u32 %t, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 16, %r1; mad.lo.u32 %r3, %t, 0x80008, 0x10000;
        st.shared.u32 [%r2], %r3; add.u32 %r3, %r3, 0x20002; st.shared.u32 [%r2+4], %r3;
        add.u32 %r3, %r3, 0x20002; st.shared.u32 [%r2+8], %r3; add.u32 %r3, %r3, 0x20002; st.shared.u32 [%r2+12], %r3;
        bar.warp.sync -1;
        ldmatrix.sync.aligned.m8n8.x4${trans}.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];
        ld.param.u64 %d1, [o]; mad.wide.u32 %d1, %t, 16, %d1; st.global.v4.u32 [%d1], {%r4, %r5, %r6, %r7}; ret; }`;
      const o = allocate(512);
      ok(launch(kernel(load(ptx), "k"), 1, 32, [o]));
      const made = [...download(o, new Uint16Array(256))];
      free(o);
      return made;
    };
    const at = (tile: number, row: number, column: number) => tile * 64 + row * 8 + column;
    const wanted = (transposed: boolean) =>
      Array.from({ length: 256 }, (_, n) => {
        const [lane, tile, half] = [n >> 3, (n >> 1) & 3, n & 1];
        const [row, column] = [lane >> 2, (lane % 4) * 2 + half];
        return transposed ? at(tile, column, row) : at(tile, row, column);
      });
    expect(run("")).toEqual(wanted(false));
    expect(run(".trans")).toEqual(wanted(true));
  });
});
