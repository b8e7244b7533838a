// The instruction sets: what each variant of the kernels was compiled to, which one is in use, and how one is forced.

import { describe, expect, test } from "bun:test";
import { instructionSets } from "../../scripts/processor.ts";
import { native, textAt } from "../../src/ffi/library.ts";
import { windowOn } from "../../src/ffi/memory.ts";
import { cpu } from "../../src/index.ts";
import { evaluate, runCode } from "./child.ts";
import { decode, type Instruction } from "./x86-decoder.ts";

console.log(`the kernels use ${cpu.isa()}; the best of this processor is ${cpu.bestIsa()}`);

const names: string[] = JSON.parse(textAt(native.zs_manifest() as number)).kernels;
/** Kernel families that are compiled for each instruction set. */
const TUNED = /^(unary|binary|ternary|softmax|matmul|reduce)\./;

interface Census {
  count: number;
  sse: number;
  avx: number;
  fma: number;
  ymm: number;
  evex: number;
  zmm: number;
}

function add(census: Census, i: Instruction): void {
  census.count++;
  if (i.encoding === "sse") census.sse++;
  if (i.encoding === "vex") census.avx++;
  if (i.encoding === "evex") census.evex++;
  if (i.fma) census.fma++;
  if (i.width === 256) census.ymm++;
  if (i.width === 512) census.zmm++;
}

const starts = (level: number) =>
  names.flatMap((name, i) => (TUNED.test(name) ? [native.zs_kernel_code(level, i)] : [])).sort((a, b) => a - b);

/** The instructions between a variant's first kernel and its last: an object's code lies together. */
function census(level: number): Census {
  const entries = starts(level);
  const [first, last] = [entries[0] as number, entries.at(-1) as number];
  const code = new Uint8Array(windowOn(first, last - first + 16));
  const found: Census = { count: 0, sse: 0, avx: 0, fma: 0, ymm: 0, evex: 0, zmm: 0 };
  const known = new Set(entries.map((address) => address - first));
  let at = 0;
  while (at < last - first) {
    known.delete(at);
    const instruction = decode(code, at);
    add(found, instruction);
    at += instruction.length;
  }
  known.delete(last - first);
  // Every kernel begins where an instruction does: the sweep never lost its step.
  expect([...known]).toEqual([]);
  expect(at).toBe(last - first);
  return found;
}

const bytes = (text: string) => Uint8Array.from(text.split(" "), (b) => Number.parseInt(b, 16));

describe("the decoder", () => {
  const cases: [string, Partial<Instruction>][] = [
    ["48 83 ec 10", { length: 4, encoding: "general" }],
    ["48 b8 1 2 3 4 5 6 7 8", { length: 10, encoding: "general" }],
    ["66 c7 4 24 1 0", { length: 6, encoding: "general" }],
    ["f 1f 84 0 0 0 0 0", { length: 8, encoding: "general" }],
    ["66 f 6f 5 1 2 3 4", { length: 8, encoding: "sse", width: 128 }],
    ["66 f 3a f c1 8", { length: 6, encoding: "sse" }],
    ["c5 fc 58 4 87", { length: 5, encoding: "vex", width: 256, fma: false }],
    ["c4 e2 7d b8 c8", { length: 5, encoding: "vex", width: 256, fma: true }],
    ["c5 f8 77", { length: 3, encoding: "vex", width: 0 }],
    ["62 f1 7c 48 58 47 1", { length: 7, encoding: "evex", width: 512 }],
    ["62 f2 7d 28 b8 c8", { length: 6, encoding: "evex", width: 256, fma: true }],
    ["62 f3 7d 48 25 c0 ff", { length: 7, encoding: "evex", width: 512 }],
    ["f6 c1 1", { length: 3, encoding: "general" }],
    ["f7 d8", { length: 2, encoding: "general" }],
  ];
  for (const [text, wanted] of cases) {
    test(text, () => expect(decode(bytes(text), 0)).toMatchObject(wanted));
  }
  test("code that 64-bit processors have not is refused", () => {
    expect(() => decode(bytes("6 0 0"), 0)).toThrow("no instruction at byte 0: 06 00 00");
  });
});

// On other processors than x86-64 there is one variant.
describe.skipIf(process.arch !== "x64")("what the kernels were compiled to", () => {
  // A library with one variant, as developers build it, has the same code at every level.
  const single = process.arch === "x64" && starts(2)[0] === starts(3)[0];
  if (single) console.log("skipped: this library was built with one instruction set only (-Donly)");

  test.skipIf(single)("baseline: SSE, nothing newer", () => {
    const found = census(2);
    expect(found.sse).toBeGreaterThan(10_000);
    expect(found).toMatchObject({ avx: 0, fma: 0, ymm: 0, evex: 0, zmm: 0 });
  });

  test.skipIf(single)("avx2: 256-bit registers and fused multiply-add, no AVX-512", () => {
    const found = census(3);
    expect(found.ymm).toBeGreaterThan(5_000);
    expect(found.fma).toBeGreaterThan(1_000);
    expect(found).toMatchObject({ evex: 0, zmm: 0 });
  });

  test.skipIf(single)("avx512: 512-bit registers", () => {
    const found = census(4);
    expect(found.zmm).toBeGreaterThan(5_000);
    expect(found.fma).toBeGreaterThan(1_000);
  });
});

describe("the set in use", () => {
  test("is the best one unless another is forced", () => {
    expect(cpu.isa()).toBe(process.env.ZENSOR_ISA || cpu.bestIsa());
  });

  test("is forced by ZENSOR_ISA", () => {
    const { present } = instructionSets();
    const wanted = process.arch === "x64" ? present : ["neon"];
    for (const set of wanted) {
      const code = "console.log(JSON.stringify([z.cpu.isa(), z.tensor([1, 2]).add(1).tolist()]))";
      expect(evaluate(code, { ZENSOR_ISA: set })).toEqual([set, [2, 3]]);
    }
  });

  test("an unknown set is refused, with the known ones", () => {
    const { exitCode, stderr } = runCode("0", { ZENSOR_ISA: "sse9" });
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("ZENSOR_ISA=sse9 is none of baseline, avx2, avx512");
  });

  test("a set that this processor has not is refused by name", () => {
    const { absent } = instructionSets();
    const lacking = process.arch === "x64" ? absent : ["avx2"];
    for (const set of lacking) {
      const { exitCode, stderr } = runCode("0", { ZENSOR_ISA: set });
      expect(exitCode).not.toBe(0);
      expect(stderr).toContain(`zensor: ZENSOR_ISA=${set} is not available: the best set of this processor is`);
    }
    // Levels that no processor has take the same way.
    expect(native.zs_init(9, 0)).not.toBe(0);
    expect(cpu.isa()).toBe(process.env.ZENSOR_ISA || cpu.bestIsa());
  });
});
