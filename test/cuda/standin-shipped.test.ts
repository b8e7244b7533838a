// The kernels that zensor ships, run by the stand-in: the same numbers as on the CPU, bit for bit.

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findZig, root, toolEnv } from "../../scripts/toolchain.mjs";
import * as z from "../../src/index.ts";
import { runProgram, scratch } from "../ffi/child.ts";
import { allocate, available, download, free, kernel, launch, load, ok, start, upload } from "./standin-driver.ts";

let module = 0n;

beforeAll(() => {
  if (!available) return;
  start();
  const args = ["build", "ptx", "--build-file", join(root, "zig", "build.zig"), "--prefix", scratch];
  const words = [findZig() ?? "zig", ...args, "--cache-dir", join(root, ".zig-cache")];
  const made = runProgram(words, toolEnv() as Record<string, string>);
  if (made.exitCode !== 0) throw new Error(`zig build ptx failed:\n${made.stderr}`);
  module = load(readFileSync(join(scratch, "share", "zensor_kernels.ptx"), "utf8"));
}, 240_000);

/** Edge values, and enough others for several blocks with a ragged end. */
const INPUT = Float32Array.from([0, -0, 1, -1, 1e-40, 3e38, -3e38, Infinity, -Infinity, NaN])
  .values()
  .toArray()
  .concat(Array.from({ length: 5000 }, (_, n) => ((n * 7919) % 5000) / 250 - 10));

function run(name: string, input: Float32Array): Float32Array {
  const f = kernel(module, `zs_unary_${name}_f32`);
  const [from, to, attrs] = [upload(input), allocate(input.byteLength), upload(new Float64Array(16))];
  ok(launch(f, 7, 96, [BigInt(input.length), to, from, attrs]));
  const made = download(to, new Float32Array(input.length));
  for (const at of [from, to, attrs]) free(at);
  return made;
}

/** With AVX-512 the CPU divides by an approximate reciprocal here, whose last bit may differ. */
const divides = ["tanh", "sigmoid"];

describe.skipIf(!available)("shipped kernels", () => {
  const input = Float32Array.from(INPUT);
  const names = ["exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "sqrt", "rsqrt", "erf"];
  const others = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "erfc", "exp2", "log2", "log10"];
  const more = [
    "abs",
    "neg",
    "floor",
    "ceil",
    "trunc",
    "round",
    "frac",
    "sign",
    "relu",
    "reciprocal",
    "lgamma",
    "digamma",
  ];

  test.each([...names, ...others, ...more])("%s", (name) => {
    const on = (z as unknown as Record<string, (x: z.Tensor) => z.Tensor>)[name];
    if (on === undefined) throw new Error(`no function ${name}`);
    const wanted = on(z.tensor([...input], { dtype: "float32" })).typedArray() as Float32Array;
    const made = run(name, input);
    const wrong = [...made.keys()].filter((n) => {
      const [a, b] = [made[n] as number, wanted[n] as number];
      if (Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b))) return false;
      return !divides.includes(name) || Math.abs(a - b) > Math.abs(b) * 2 ** -22;
    });
    expect(wrong.map((n) => [input[n], made[n], wanted[n]]).slice(0, 5)).toEqual([]);
  });
});
