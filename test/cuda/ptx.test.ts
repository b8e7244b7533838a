// GPU kernels compiled from the CPU kernels' bodies: every one is there, and PTX that a driver could load.

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "../../codegen/model/load.ts";
import { findZig, toolEnv } from "../../scripts/toolchain.mjs";
import { root, runProgram, scratch } from "../ffi/child.ts";

const POINTWISE = ["activation", "unary", "binary", "ternary"];
/** Compiled for newer GPUs than the oldest that is served. */
const NEWER = ["tensor_core"];
const OTHERS = ["reduce", "softmax", "scan", "index", "index_mask", "search", "sort", "matmul", "random", "range"];
const FAMILIES = [...POINTWISE, ...OTHERS, ...NEWER];
/** Kernels of the schema whose calls are launched as those of another. */
const THROUGH: Readonly<Record<string, string>> = {
  "sort.topk": "sort.sort",
  "random.default_range": "random.from_to",
  "random.full_64": "random.from_to",
};
/** What generators are asked, and permutations: the host does that. */
const ON_HOST = new Set(["get_state", "initial_seed", "randperm", "seed", "set_state"].map((name) => `random.${name}`));
const texts = new Map<string, string>();
let model: ReturnType<typeof loadModel>;

beforeAll(() => {
  model = loadModel();
  const args = ["build", "ptx", "--build-file", join(root, "zig", "build.zig"), "--prefix", scratch];
  const words = [findZig() ?? "zig", ...args, "--cache-dir", join(root, ".zig-cache")];
  const made = runProgram(words, toolEnv() as Record<string, string>);
  if (made.exitCode !== 0) throw new Error(`zig build ptx failed:\n${made.stderr}`);
  for (const family of FAMILIES)
    texts.set(family, readFileSync(join(scratch, "share", "ptx", `${family}.ptx`), "utf8"));
}, 300_000);

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
    // The launch gives shared memory.
    if (/^\s*\.extern\b(?! \.shared)/.test(line)) found.push(`external: ${line.trim()}`);
    const callee = /\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$]+)/.exec(line)?.[1];
    if (callee !== undefined && !defined.has(callee)) found.push(`calls ${callee}`);
  }
  return found;
}

describe.each(FAMILIES)("zig build ptx: %s", (family) => {
  const text = () => texts.get(family) as string;

  test("targets the oldest GPU that is served", () => {
    expect(text()).toMatch(NEWER.includes(family) ? /^\.target sm_80$/m : /^\.target sm_75$/m);
    expect(text()).toMatch(/^\.address_size 64$/m);
  });

  test("every entry takes its arguments by value, writes global memory, and returns", () => {
    for (const [name, body] of entries(text())) {
      expect([name, body.match(/\.param \.align 8 \.b8 [^\n]*_param_\d/g)?.length]).toEqual([name, 1]);
      expect([name, /\bret;/.test(body)]).toEqual([name, true]);
      expect([name, /\bst\.global/.test(body)]).toEqual([name, true]);
    }
  });

  test("needs nothing from outside", () => {
    expect(objections(text())).toEqual([]);
  });

  test("computes with the same formulas as the CPU: approximate functions only where PyTorch draws with them", () => {
    for (const [name, body] of entries(text())) {
      const drawn = /^random_(normal|log_normal|exponential|cauchy|geometric)_/.test(name);
      expect([name, /\b\w+\.approx/.test(body)]).toEqual([name, drawn]);
    }
  });
});

test.each(OTHERS)("%s has an entry for every kernel", (family) => {
  const wanted = model.kernels.filter((path) => path.startsWith(`${family}.`) && !ON_HOST.has(path));
  const present = [...entries(texts.get(family) as string).keys()];
  for (const path of wanted) {
    const name = (THROUGH[path] ?? path).replace(".", "_");
    expect([path, present.some((entry) => entry.startsWith(`${name}_`))]).toEqual([path, true]);
  }
});

test.each(POINTWISE)("%s has a dense and a strided entry in every compute type", (family) => {
  const { kernels, fast } = model;
  const all = [...entries(texts.get(family) as string).keys()];
  // Copies that move bytes have a third way.
  const turned = ["i32", "i64", "c128"].map((c) => `unary_convert_${c}_turned`);
  expect(all.filter((name) => name.endsWith("_turned")).sort()).toEqual(family === "unary" ? turned.sort() : []);
  const present = all.filter((name) => !turned.includes(name));
  const groups = new Set(present.map((name) => name.replace(/_(dense|strided)$/, "")));
  expect(present.sort()).toEqual([...groups].flatMap((name) => [`${name}_dense`, `${name}_strided`]).sort());
  const named = new Set([...groups].map((name) => name.replace(/_[a-z]+\d+$/, "").replace("_", ".")));
  expect([...named].sort()).toEqual(kernels.filter((path) => path.startsWith(`${family}.`)));
  for (const { path, computes } of fast.filter((k) => named.has(k.path))) {
    for (const c of computes) expect(groups).toContain(`${path.replace(".", "_")}_${c}`);
  }
});

test("products have tiles of two sizes, a form for vectors, and what adds parts up, in every compute type", () => {
  const computes = ["f32", "f64", "i32", "i64", "c64", "c128"];
  const names = computes.flatMap((c) =>
    ["large", "small", "combine", "vector"].map((way) => `matmul_gemm_${c}_${way}`),
  );
  expect([...entries(texts.get("matmul") as string).keys()].sort()).toEqual(names.sort());
});

test("matrix units multiply 16-bit floats, tf32 and doubles, from asynchronous copies", () => {
  const present = entries(texts.get("tensor_core") as string);
  const products: Record<string, string> = {
    bfloat16: "m16n8k16.row.col.f32.bf16.bf16.f32",
    float16: "m16n8k16.row.col.f32.f16.f16.f32",
    tf32: "m16n8k8.row.col.f32.tf32.tf32.f32",
    float64: "m8n8k4.row.col.f64.f64.f64.f64",
  };
  const names = Object.keys(products).flatMap((d) => [`tensor_core_${d}_large`, `tensor_core_${d}_small`]);
  expect([...present.keys()].sort()).toEqual(names.sort());
  for (const [name, body] of present) {
    const kind = name.split("_")[2] as string;
    expect(body).toContain(`mma.sync.aligned.${products[kind]}`);
    const words = ["cp.async.cg.shared.global", "cp.async.wait_group"];
    if (kind !== "float64") words.push("ldmatrix.sync");
    for (const word of words) expect(body).toContain(word);
    expect(body).not.toContain(".local");
  }
});

test("every distribution is there for floats and doubles", () => {
  const names = [
    "uniform",
    "normal",
    "log_normal",
    "exponential",
    "cauchy",
    "geometric",
    "bernoulli",
    "bernoulli_each",
  ];
  const present = [...entries(texts.get("random") as string).keys()];
  for (const name of names) for (const c of ["f32", "f64"]) expect(present).toContain(`random_${name}_${c}_fill`);
  const others = ["from_to_i64_short", "from_to_i64_long", "bernoulli_f32_kept"];
  for (const name of others) expect(present).toContain(`random_${name}`);
});

test("what a text needs from outside is found", () => {
  const text = ".visible .entry k()\n{\n ret;\n}\n.extern .func sinf\n{\n call.uni (r), __nv_expf, (p);\n}";
  expect(objections(text)).toHaveLength(2);
});

/** The variants of each kernel and compute type, in the order of their names. */
function variants(family: string): Map<string, string> {
  const found = new Map<string, string[]>();
  for (const name of entries(texts.get(family) as string).keys()) {
    const [, group, variant] = /^(.*)_([a-z]+)$/.exec(name) as unknown as [string, string, string];
    found.set(group, [...(found.get(group) ?? []), variant].sort());
  }
  return new Map([...found].map(([group, list]) => [group, list.join(" ")]));
}

describe("zig build ptx: variants", () => {
  const kernelsOf = (family: string) => model.kernels.filter((path) => path.startsWith(`${family}.`));
  const named = (groups: Iterable<string>) => [
    ...new Set([...groups].map((name) => name.replace(/_[a-z]+\d+$/, "").replace("_", "."))),
  ];

  test("softmax: short lines, long ones, and all", () => {
    const names = kernelsOf("softmax").map((path) => path.replace(".", "_"));
    const groups = names.flatMap((name) => [`${name}_f32`, `${name}_f64`]).sort();
    expect([...variants("softmax")].sort()).toEqual(groups.map((group) => [group, "held long strided"]));
  });

  test("scan: lines without gaps, any, and neighbours", () => {
    const found = variants("scan");
    expect(named(found.keys()).sort()).toEqual([...kernelsOf("scan")].sort());
    expect(found.size).toBe(20);
    expect(new Set(found.values())).toEqual(new Set(["columns dense strided"]));
  });

  test("reduce: elements without gaps and with them, and what joins parts", () => {
    const found = variants("reduce");
    expect(named(found.keys()).sort()).toEqual([...kernelsOf("reduce")].sort());
    for (const [group, list] of found) {
      const whole = /^reduce_(isclose|equal)_/.test(group);
      expect([group, list]).toEqual([group, whole ? "dense strided" : "dense join strided"]);
    }
  });
});
