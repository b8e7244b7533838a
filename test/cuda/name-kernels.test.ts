// The build's step that gives GPU kernels their exported names and their argument by value.

import { expect, test } from "bun:test";
import { nameKernels } from "../../scripts/ptx/name-kernels.ts";
import { shortened } from "../../scripts/ptx/pack.ts";

const BYTES = "@bytes.k = private unnamed_addr constant i64 24, align 8";
const KERNEL = String.raw`@"a.kernel(\22exp\22)"`;

function module(aliases: readonly string[], argument = "ptr nonnull readonly %0"): string {
  const body = ["  call void @helper()", "}"];
  const kernel = [`define private ptx_kernel void ${KERNEL}(${argument}) {`, ...body];
  return [BYTES, ...aliases, "@plain = global i32 0", ...kernel, "define private void @helper() {", "}"].join("\n");
}

const alias = (name: string) => [
  `@${name} = alias void (i64), ptr ${KERNEL}`,
  `@"${name}$bytes" = alias i64, ptr @bytes.k`,
];

test("kernels take the names of their aliases, and their argument by value", () => {
  const kernel = (name: string) =>
    `define ptx_kernel void @${name}(ptr byval([24 x i8]) align 8 %0) {\n  call void @helper()\n}`;
  expect(nameKernels(module([...alias("k_exp"), ...alias("k_also")]))).toBe(
    [BYTES, "@plain = global i32 0", kernel("k_also"), kernel("k_exp"), "define private void @helper() {", "}"].join(
      "\n",
    ),
  );
});

test("kernels say how many threads a block has at most, where they know it", () => {
  const threads = ["@count.k = private constant i64 384", '@"k_exp$threads" = alias i64, ptr @count.k'];
  expect(nameKernels(module([...alias("k_exp"), ...threads]))).toContain(
    'define ptx_kernel void @k_exp(ptr byval([24 x i8]) align 8 %0) "nvvm.maxntid"="384" {',
  );
  const blocks = ["@blocks.k = private constant i64 6", '@"k_exp$blocks" = alias i64, ptr @blocks.k'];
  expect(nameKernels(module([...alias("k_exp"), ...threads, ...blocks]))).toContain(
    '%0) "nvvm.maxntid"="384" "nvvm.minctasm"="6" {',
  );
});

test("calls of an aliased function take its exported name", () => {
  const text = "@out = alias void (), ptr @in\ndefine private void @in() {\n}\n  call void @in()";
  expect(nameKernels(text)).toBe("define private void @out() {\n}\n  call void @out()");
});

test("a kernel without a size, or with two arguments, is refused", () => {
  expect(() => nameKernels(module(alias("k_exp").slice(0, 1)))).toThrow("no size for @k_exp");
  expect(() => nameKernels(module(alias("k_exp"), "i32 %0, ptr %1"))).toThrow("one argument is taken");
  expect(() => nameKernels(module(alias("k_exp")).replace(BYTES, ""))).toThrow('no size for @"k_exp$bytes"');
});

test("labels and parameters have no name of their function in theirs, and stay what they are", () => {
  const text = `.func (.param .b32 r) gpu_$_f(.param .b32 gpu_$_f_param_0, .param .b64 gpu_$_f_param_1)
{ ld.param.b32 %r1, [gpu_$_f_param_0]; @%p1 bra $L__BB12_3;
$L__BB12_30: $L_brx_7: .branchtargets $L__BB12_3, $L__BB12_30;
$L__BB12_3: brx.idx %r1, $L_brx_7; $L_brx_9: call gpu_$_g, (param0); }`;
  expect(shortened(text)).toBe(`.func (.param .b32 r) gpu_$_f(.param .b32 p0, .param .b64 p1)
{ ld.param.b32 %r1, [p0]; @%p1 bra L3;
L30: T0: .branchtargets L3, L30;
L3: brx.idx %r1, T0; T1: call gpu_$_g, (param0); }`);
});
