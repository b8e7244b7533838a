// GPU kernels compiled from the CPU kernels' bodies: every one is there, and PTX that a driver could load.

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "../../codegen/model/load.ts";
import { findZig, toolEnv } from "../../scripts/toolchain.mjs";
import { root, runProgram, scratch } from "../ffi/child.ts";

let ptx = "";

beforeAll(() => {
  const args = ["build", "ptx", "--build-file", join(root, "zig", "build.zig"), "--prefix", scratch];
  const words = [findZig() ?? "zig", ...args, "--cache-dir", join(root, ".zig-cache")];
  const made = runProgram(words, toolEnv() as Record<string, string>);
  if (made.exitCode !== 0) throw new Error(`zig build ptx failed:\n${made.stderr}`);
  ptx = readFileSync(join(scratch, "share", "zensor_kernels.ptx"), "utf8");
}, 120_000);

/** The bodies of the kernels, by name. */
function entries(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const m of text.matchAll(/^\.visible \.entry (\w+)\(([\s\S]*?)^\}/gm)) found.set(m[1] as string, m[2] as string);
  return found;
}

/** What keeps a text from being loaded alone by a driver. */
function objections(text: string): string[] {
  const found: string[] = [];
  const defined = new Set([...text.matchAll(/^(?:\.visible )?\.func[^@\n]*?([\w$]+)\s*\(/gm)].map((m) => m[1]));
  for (const line of text.split("\n")) {
    if (/^\s*\.extern\b/.test(line)) found.push(`external: ${line.trim()}`);
    const callee = /\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$]+)/.exec(line)?.[1];
    if (callee !== undefined && !defined.has(callee)) found.push(`calls ${callee}`);
  }
  return found;
}

describe("zig build ptx", () => {
  test("targets the oldest GPU that is served", () => {
    expect(ptx).toMatch(/^\.target sm_75$/m);
    expect(ptx).toMatch(/^\.address_size 64$/m);
  });

  test("has an entry for every pointwise kernel of one input in float32", () => {
    const wanted = loadModel()
      .fast.filter((k) => k.path.startsWith("unary.") && k.computes.includes("f32"))
      .map((k) => `zs_unary_${k.path.slice("unary.".length)}_f32`);
    expect(wanted.length).toBeGreaterThan(10);
    const present = entries(ptx);
    expect(wanted.filter((name) => !present.has(name))).toEqual([]);
  });

  test("every entry takes four parameters, reads and writes global memory, and returns", () => {
    for (const [name, body] of entries(ptx)) {
      expect([name, body.match(/\.param \.u64[^\n]*_param_\d/g)?.length]).toEqual([name, 4]);
      expect([name, /\bld\.global/.test(body), /\bst\.global/.test(body), /\bret;/.test(body)]).toEqual([
        name,
        true,
        true,
        true,
      ]);
    }
  });

  test("needs nothing from outside", () => {
    expect(objections(ptx)).toEqual([]);
    expect(objections(`${ptx}\n.extern .func sinf\n{\n call.uni (r), __nv_expf, (p);\n}`)).toHaveLength(2);
  });

  test("computes with the same formulas as the CPU: fused steps, no approximate functions", () => {
    const present = entries(ptx);
    expect(present.get("zs_unary_exp_f32")).toMatch(/\bfma\.rn\.f32/);
    for (const [name, body] of present) expect([name, /\b\w+\.approx/.test(body)]).toEqual([name, false]);
  });
});
