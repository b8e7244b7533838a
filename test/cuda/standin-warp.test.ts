// The stand-in's warps: branches that part and meet, barriers, shuffles, votes, atomics, calls, memory spaces.

import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  allocate,
  control,
  counter,
  download,
  emulated,
  fault,
  free,
  kernel,
  launch,
  load,
  ok,
  report,
  start,
  upload,
} from "./standin-driver.ts";

beforeAll(() => {
  if (emulated) start();
});

beforeEach(() => {
  if (!emulated) return;
  control("reset");
  control("clear");
});

/** A kernel in which %t is the thread's number in its block, and %r1 is stored to the thread's own place. */
const body = (code: string, declarations = "") => `.visible .entry k(.param .u64 p) {
  .reg .pred %p<5>; .reg .b16 %h<5>; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .b32 %t; ${declarations}
  mov.u32 %t, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 0;
  ${code}
  ld.param.u64 %d1, [p]; mad.wide.u32 %d1, %t, 4, %d1; st.global.u32 [%d1], %r1;
  ret;
}`;

function results(ptx: string, threads = 32, shared = 0): number[] {
  const at = upload(new Uint32Array(threads));
  const f = kernel(load(ptx), "k");
  ok(launch(f, 1, threads, [at], shared));
  const made = [...download(at, new Uint32Array(threads))];
  free(at);
  return made;
}

const LANES = Array.from({ length: 32 }, (_, n) => n);

describe.skipIf(!emulated)("branches", () => {
  test("if and else, and both again together", () => {
    const made = results(
      body(`and.b32 %r3, %t, 1; setp.eq.u32 %p1, %r3, 0;
        @%p1 bra $even; add.u32 %r1, %r1, 100; bra $join;
        $even: add.u32 %r1, %r1, 200;
        $join: activemask.b32 %r4; popc.b32 %r4, %r4; add.u32 %r1, %r1, %r4;`),
    );
    expect(made).toEqual(LANES.map((n) => (n % 2 ? 132 : 232)));
  });

  test("loops of different lengths, one inside of the other", () => {
    const made = results(
      body(`mov.u32 %r3, 0;
        $outer: setp.ge.u32 %p1, %r3, %t; @%p1 bra $done;
        mov.u32 %r4, 0;
        $inner: add.u32 %r1, %r1, 1; add.u32 %r4, %r4, 1; setp.le.u32 %p2, %r4, %r3; @%p2 bra $inner;
        add.u32 %r3, %r3, 1; bra.uni $outer;
        $done: `),
    );
    expect(made).toEqual(LANES.map((n) => (n * (n + 1)) / 2));
  });

  test("lanes that leave early do not come back", () => {
    const code = "setp.lt.u32 %p1, %t, 5; @%p1 exit; activemask.b32 %r1;";
    expect(results(body(code))).toEqual(LANES.map((n) => (n < 5 ? 0 : 0xffffffe0)));
  });

  test("a table of targets", () => {
    const code = `and.b32 %r3, %t, 3; $table: .branchtargets $a, $b, $c, $a;
      brx.idx %r3, $table;
      $a: mov.u32 %r1, 10; bra $end; $b: mov.u32 %r1, 20; bra $end; $c: mov.u32 %r1, 30; $end: `;
    expect(results(body(code))).toEqual(LANES.map((n) => [10, 20, 30, 10][n % 4] as number));
  });

  test("blocks of code have labels and registers of their own", () => {
    const block = `{ .reg .b32 %x; mov.u32 %x, 3;
      loop: add.u32 %r1, %r1, 2; sub.u32 %x, %x, 1; setp.ne.u32 %p1, %x, 0; @%p1 bra loop; }`;
    expect(results(body(block + block))[0]).toBe(12);
  });
});

describe.skipIf(!emulated)("functions", () => {
  const TWICE = `.func (.param .b32 r) twice(.param .b32 x, .param .b32 times);
    .func (.param .b32 r) twice(.param .b32 x, .param .b32 times) {
      .reg .b32 %r<4>; .reg .pred %p;
      ld.param.u32 %r1, [x]; ld.param.u32 %r2, [times];
      $more: setp.eq.u32 %p, %r2, 0; @%p bra $out; add.u32 %r1, %r1, %r1; sub.u32 %r2, %r2, 1; bra $more;
      $out: st.param.b32 [r], %r1; ret;
    }`;
  const CALL = (x: string, times: string) => `{ .param .b32 a; .param .b32 b; .param .b32 c;
    st.param.b32 [a], ${x}; st.param.b32 [b], ${times}; call.uni (c), twice, (a, b); ld.param.b32 %r1, [c]; }`;

  test("are called with parameters, from two places, by some of the lanes", () => {
    const code = `and.b32 %r3, %t, 3; add.u32 %r4, %t, 1;
      ${CALL("%r4", "%r3")} setp.lt.u32 %p1, %t, 16; @!%p1 bra $end; ${CALL("%r1", "1")} $end: `;
    const made = results(`${TWICE}\n${body(code)}`);
    expect(made).toEqual(LANES.map((n) => (n + 1) * 2 ** (n % 4) * (n < 16 ? 2 : 1)));
  });

  test("cannot call themselves", () => {
    const again = ".func f() { call f; ret; }";
    expect(() => load(`${again}\n${body("call f;")}`)).toThrow("recursion");
  });
});

describe.skipIf(!emulated)("what lanes do together", () => {
  const own = "mov.u32 %r3, %laneid; mul.lo.u32 %r3, %r3, %r3;";
  const square = (n: number) => n * n;
  test.each([
    ["idx", "5, 31", () => 25],
    ["idx", "%t, 0x1807", (n: number) => square((n & 24) | (n & 7))],
    ["up", "2, 0", (n: number) => square(n < 2 ? n : n - 2)],
    ["down", "3, 31", (n: number) => square(n + 3 > 31 ? n : n + 3)],
    ["down", "3, 0x180F", (n: number) => square((n & 7) + 3 > 7 ? n : n + 3)],
    ["bfly", "7, 31", (n: number) => square(n ^ 7)],
  ])("shfl.%s %s", (mode, rest, on) => {
    const made = results(body(`${own} shfl.sync.${mode}.b32 %r1|%p1, %r3, ${rest}, -1;`));
    expect(made).toEqual(LANES.map((n) => on(n)));
  });

  test("votes, matches and sums over lanes", () => {
    const odd = "and.b32 %r3, %t, 1; setp.eq.u32 %p1, %r3, 1;";
    const run = (code: string) => results(body(odd + code));
    expect(run("vote.sync.ballot.b32 %r1, %p1, -1;")[7]).toBe(0xaaaaaaaa);
    expect(run("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;")[0]).toBe(1);
    expect(run("vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r1, 1, 0, %p2;")[0]).toBe(0);
    expect(run("shr.u32 %r4, %t, 3; match.any.sync.b32 %r1, %r4, -1;")[9]).toBe(0xff00);
    expect(run("match.all.sync.b32 %r1|%p2, %r3, -1;")[9]).toBe(0);
    expect(run("redux.sync.add.u32 %r1, %t, -1;")[3]).toBe(496);
    expect(run("redux.sync.max.s32 %r1, %t, -1;")[3]).toBe(31);
    expect(run("mov.u32 %r1, %lanemask_lt;")).toEqual(LANES.map((n) => 2 ** n - 1));
  });

  test("lanes that come later are waited for", () => {
    const code = `setp.lt.u32 %p1, %t, 8; @%p1 bra $join; mov.u32 %r2, 40;
      $spin: sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra $spin;
      $join: bar.warp.sync -1; activemask.b32 %r1;`;
    expect(results(body(code)).every((m) => m === 0xffffffff)).toBe(true);
  });

  test("lanes that never come are an error", () => {
    const code = `setp.lt.u32 %p1, %t, 8; @%p1 bra $a; shfl.sync.idx.b32 %r1, %t, 0, 31, -1; bra $end;
      $a: vote.sync.ballot.b32 %r1, %p1, -1; $end: `;
    const at = allocate(128);
    const [result, told] = fault(kernel(load(body(code)), "k"), 1, 32, [at]);
    expect(result).toBe(719);
    expect(told).toContain("divergent");
    expect(fault(kernel(load(body("shfl.sync.idx.b32 %r1, %t, 0, 31, 1;")), "k"), 1, 32, [at])[1]).toContain("mask");
    free(at);
  });
});

describe.skipIf(!emulated)("shared memory and barriers", () => {
  const SHARED = ".shared .align 4 .b8 s[1024];";
  const put = "mov.u32 %r3, s; mad.lo.u32 %r4, %t, 4, %r3; st.shared.u32 [%r4], %t;";
  const take = "sub.u32 %r5, 255, %t; mad.lo.u32 %r5, %r5, 4, %r3; ld.shared.u32 %r1, [%r5];";

  test("what one warp writes, another reads after the barrier", () => {
    const made = results(body(`${put} bar.sync 0; ${take}`, SHARED), 256);
    expect(made).toEqual(Array.from({ length: 256 }, (_, n) => 255 - n));
    expect(counter("races")).toBe(0);
  });

  test("without the barrier it is a race", () => {
    const before = counter("races");
    results(body(`${put} ${take}`, SHARED), 256);
    expect(counter("races")).toBeGreaterThan(before);
    expect(report()).toContain("race");
    control("race_faults", 1);
    const at = allocate(1024);
    expect(fault(kernel(load(body(`${put} ${take}`, SHARED)), "k"), 1, 256, [at])[0]).toBe(719);
    free(at);
  });

  test("fresh shared memory is poisoned, dynamic memory is as large as asked for", () => {
    expect(results(body("ld.shared.u32 %r1, [s];", SHARED))[0]).toBe(0xcdcdcdcd);
    const dynamic = `.extern .shared .align 16 .b8 dyn[];\n${body(
      `mov.u32 %r3, dyn; mad.lo.u32 %r3, %t, 4, %r3; st.shared.u32 [%r3], %t; ld.shared.u32 %r1, [%r3];
      mov.u32 %r5, %dynamic_smem_size; add.u32 %r1, %r1, %r5;`,
    )}`;
    expect(results(dynamic, 32, 128)).toEqual(LANES.map((n) => n + 128));
    const at = allocate(128);
    expect(fault(kernel(load(dynamic), "k"), 1, 32, [at], 64)[0]).toBe(700);
    free(at);
  });

  test("threads that have ended are not waited for", () => {
    const code = "setp.ge.u32 %p1, %t, 40; @%p1 exit; bar.sync 0; mov.u32 %r1, 1;";
    expect(results(body(code), 96)).toEqual(Array.from({ length: 96 }, (_, n) => Number(n < 40)));
  });

  test("a barrier in one branch only, and one that nobody else reaches", () => {
    const at = allocate(1024);
    const half = "setp.lt.u32 %p1, %t, 16; @%p1 bra $a; bar.sync 0; bra $end; $a: bar.sync 0; $end: ";
    const [first, divergent] = fault(kernel(load(body(half)), "k"), 1, 32, [at]);
    expect([first, divergent.includes("divergent")]).toEqual([719, true]);
    const other = "setp.lt.u32 %p1, %t, 32; @%p1 bra $a; bar.sync 1; bra $end; $a: bar.sync 0; $end: ";
    const [second, deadlock] = fault(kernel(load(body(other)), "k"), 1, 64, [at]);
    expect([second, deadlock.includes("deadlock")]).toEqual([702, true]);
    free(at);
  });

  test("barriers that count, arrive and reduce", () => {
    const reduce = "setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r1, 0, %p1;";
    expect(results(body(reduce), 64).every((n) => n === 40)).toBe(true);
    const any = "setp.eq.u32 %p1, %t, 63; bar.red.or.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;";
    expect(results(body(any), 64).every((n) => n === 1)).toBe(true);
    const all = "setp.eq.u32 %p1, %t, 63; bar.red.and.pred %p2, 0, !%p1; selp.u32 %r1, 1, 0, %p2;";
    expect(results(body(all), 64).every((n) => n === 0)).toBe(true);
    const produce = `setp.lt.u32 %p1, %t, 32; @%p1 bra $producer;
      bar.sync 1, 64; sub.u32 %r5, %t, 32; mad.lo.u32 %r5, %r5, 4, %r3; ld.shared.u32 %r1, [%r5]; bra $end;
      $producer: ${put} bar.arrive 1, 64; $end: `;
    const made = results(body(`mov.u32 %r3, s; ${produce}`, SHARED), 64);
    expect(made.slice(32)).toEqual(LANES);
  });

  test("a launch that never ends is stopped", () => {
    control("timeout_ms", 50);
    const at = allocate(128);
    const [code, told] = fault(kernel(load(body("$l: bra $l;")), "k"), 1, 32, [at]);
    expect([code, told.includes("does not end")]).toEqual([702, true]);
    free(at);
  });

  test("a lock that lanes of one warp take in turn", () => {
    const code = `ld.param.u64 %d2, [p]; mov.u32 %r5, 0;
      $try: atom.global.cas.b32 %r3, [%d2+128], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra $try;
      ld.volatile.global.u32 %r4, [%d2+132]; add.u32 %r4, %r4, 1; st.volatile.global.u32 [%d2+132], %r4;
      membar.gl; atom.global.exch.b32 %r3, [%d2+128], 0;`;
    const at = upload(new Uint32Array(34));
    ok(launch(kernel(load(body(code)), "k"), 1, 32, [at]));
    expect([...download(at, new Uint32Array(34))].slice(32)).toEqual([0, 32]);
    free(at);
  });
});

describe.skipIf(!emulated)("atomics, local memory, generic addresses, copies", () => {
  test.each([
    ["add.u32", 32 * 3 + 10],
    ["max.u32", 10],
    ["min.u32", 3],
    ["or.b32", 11],
    ["xor.b32", 10],
    ["exch.b32", 3],
  ])("atom.%s by every lane", (op, wanted) => {
    const at = upload(Uint32Array.of(10));
    const ptx = body(`ld.param.u64 %d2, [p]; atom.global.${op} %r1, [%d2], 3; exit;`);
    ok(launch(kernel(load(ptx), "k"), 1, 32, [at]));
    expect(download(at, new Uint32Array(1))[0]).toBe(wanted);
    free(at);
  });

  test("float sums from many blocks lose nothing", () => {
    const at = upload(new Float32Array(1));
    const ptx = body("ld.param.u64 %d2, [p]; red.global.add.f32 [%d2], 0f3F800000; exit;");
    ok(launch(kernel(load(ptx), "k"), 500, 256, [at]));
    expect(download(at, new Float32Array(1))[0]).toBe(128000);
    free(at);
  });

  test("local memory is each thread's own, also by generic addresses", () => {
    const code = `mov.u64 %d2, l; cvta.local.u64 %d3, %d2; mul.lo.u32 %r3, %t, 7;
      st.local.u32 [%d2+8], %r3; ld.u32 %r1, [%d3+8];
      isspacep.local %p1, %d3; @%p1 add.u32 %r1, %r1, 1000; isspacep.shared %p1, %d3; @%p1 add.u32 %r1, %r1, 5000;`;
    expect(results(body(code, ".local .align 8 .b8 l[16];"))).toEqual(LANES.map((n) => n * 7 + 1000));
  });

  test("vectors, bytes and signs in memory", () => {
    const at = upload(Int8Array.from({ length: 64 }, (_, n) => n - 32));
    const ptx = body(`ld.param.u64 %d2, [p];
      ld.global.s8 %r3, [%d2+1]; ld.global.u8 %r4, [%d2+1]; ld.global.v2.s16 {%h1, %h2}, [%d2+4];
      cvt.s32.s16 %r5, %h2; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d2+16];
      st.global.v4.b32 [%d2], {%r3, %r4, %r5, %r9}; exit;`);
    ok(launch(kernel(load(ptx), "k"), 1, 1, [at]));
    const bytes = new Int8Array(64).map((_, n) => n - 32);
    const view = new DataView(bytes.buffer);
    const wanted = [-31, 225, view.getInt16(6, true), view.getInt32(28, true)];
    expect([...download(at, new Int32Array(4))]).toEqual(wanted);
    free(at);
  });

  test("an asynchronous copy is there after the wait, not before", () => {
    const code = (wait: string) => `ld.param.u64 %d2, [p]; mad.wide.u32 %d3, %t, 16, %d2;
      mov.u32 %r3, s; mad.lo.u32 %r3, %t, 16, %r3;
      cp.async.cg.shared.global [%r3], [%d3], 16; cp.async.commit_group; ${wait} ld.shared.u32 %r1, [%r3+4];`;
    const run = (wait: string) => {
      const at = upload(Uint32Array.from({ length: 128 }, (_, n) => n));
      ok(launch(kernel(load(body(code(wait), ".shared .align 16 .b8 s[512];")), "k"), 1, 32, [at]));
      const made = [...download(at, new Uint32Array(32))];
      free(at);
      return made;
    };
    expect(run("cp.async.wait_group 0;")).toEqual(LANES.map((n) => n * 4 + 1));
    expect(run("cp.async.wait_group 1;")[0]).toBe(0xcdcdcdcd);
  });
});
