// Everything that the generator refuses in the schema, and what it derives for transforms.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Project } from "ts-morph";
import { emitOps } from "../../codegen/emit/ops.ts";
import { emitRefusals } from "../../codegen/emit/refusals.ts";
import { emitTexts } from "../../codegen/emit/texts.ts";
import { checkBatchRules, ownBatchRules } from "../../codegen/model/batch-rules.ts";
import { formulasOf } from "../../codegen/model/formula.ts";
import { exportedLiteral } from "../../codegen/model/literal.ts";
import {
  checkUnique,
  cudaKernelsOf,
  loadModel,
  type Model,
  type Op,
  readTexts,
  requireKernels,
  toOp,
} from "../../codegen/model/load.ts";
import { placesOf } from "../../codegen/model/places.ts";
import type { OpSchema } from "../../codegen/model/types.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as z from "../../src/index.ts";

const project = new Project({ useInMemoryFileSystem: true });
const where = project.createSourceFile("schema.ts", "export const ops = [];").getStatements()[0] as never;
const model = loadModel();

const UNARY: OpSchema = {
  name: "thing",
  kind: "pointwise",
  doc: "A thing.",
  args: { self: "Tensor" },
  variants: ["function", "method", "inplace", "out"],
  promote: "float",
  kernels: { cpu: ["unary.exp"] },
  node: "ThingBackward0",
  grad: { self: "grad" },
};

const read = (changes: object): Op => toOp({ ...UNARY, ...changes } as OpSchema, where, "schema");
const op = { kind: "op", impl: "reduce.sum", jvp: "linear", kernels: undefined, promote: undefined } as const;

const ENTRIES: readonly [changes: object, message: string][] = [
  [{ colour: "red" }, 'unknown field "colour"'],
  [{ name: undefined }, '"undefined" lacks "name"'],
  [{ kind: undefined }, '"thing" lacks "kind"'],
  [{ doc: undefined }, '"thing" lacks "doc"'],
  [{ args: undefined }, '"thing" lacks "args"'],
  [{ variants: undefined }, '"thing" lacks "variants"'],
  [{ grad: undefined }, '"thing" lacks "grad"'],
  [{ kind: "factory", impl: "factories.zeros" }, "a factory has no in-place form"],
  [{ kind: "view", impl: "views.t" }, "a view has no out form"],
  [{ kind: "op" }, "needs `impl`"],
  [{ kernels: undefined }, "needs `kernels` or `impl`"],
  [{ kernels: { cpu: [] } }, "needs `kernels` or `impl`"],
  [{ promote: undefined }, "needs `promote`"],
  [{ impl: "arith.add", attrs: ["self"] }, "`attrs` are for operators without `impl`"],
  [
    { impl: "arith.add", refuses: [{ dtypes: ["bool"], text: "no" }] },
    "an operator with `impl` refuses by a kernel's name",
  ],
  [{ attrs: ["alpha"] }, 'no argument "alpha"'],
  [{ refuses: [{ dtypes: ["bool"], kernel: "thing", all: ["other"] }] }, 'no argument "other"'],
  [{ refuses: [{ dtypes: ["bool"] }] }, "a refusal has a kernel's name or a text"],
  [{ refuses: [{ dtypes: ["bool"], kernel: "a", text: "b" }] }, "a refusal has a kernel's name or a text"],
  [{ args: { self: "Int" }, grad: "none" }, "a method needs a tensor argument"],
  [{ node: undefined }, "formulas need `node`"],
  [{ also: ["thing"] }, '"thing" is no full name'],
  [{ also: ["nn.functional.thing_"], variants: ["function"] }, '"nn.functional.thing_": there is no form "inplace"'],
  [{ also: ["torch.thing_"] }, '"torch.thing_": in place it is a method'],
  [{ grad: "composite" }, 'grad "composite" is for composites'],
  [{ grad: { other: "grad" } }, 'gradient for unknown argument "other"'],
  [{ args: { self: "Tensor", n: "Int" }, grad: { n: "grad" } }, 'gradient for "n", which is no tensor'],
  [{ ...op, args: { self: "Tensor", other: "Tensor" } }, 'needs "batch", which does not follow from its roles'],
];

const list = { ...op, batch: "each", args: { self: "TensorList", other: "TensorList" }, grad: "none" } as const;
const inner = { ...list, internal: true, variants: ["inplace"] } as const;

/** What is not known of lists of tensors. */
const LISTS: readonly [changes: object, message: string][] = [
  [{ ...list, variants: ["method"] }, "a list has no methods"],
  [{ ...list, variants: ["inplace"] }, "an in-place form of a list is for internal operators only"],
  [{ ...inner, grad: { self: "grads" } }, "an in-place form of a list has no gradient"],
  [{ ...inner, kind: "composite", impl: "composites.hstack" }, 'an in-place form of a list is of kind "op"'],
  [{ ...list, kind: "view", variants: ["function"] }, 'kind "view" takes no lists'],
  [{ ...list, args: { self: "Tensor?[]" }, variants: ["inplace"] }, "an in-place form cannot write a Tensor?[]"],
  [{ ...inner, args: { self: ["TensorList", 3] } }, 'the default of "self" can only be []'],
  [{ ...inner, args: { self: "TensorList", n: ["Int", []] } }, '"n" is no list of tensors'],
  [{ ...inner, writes: ["nobody"] }, 'writes "nobody", which is no tensor and no list'],
  [{ ...inner, writes: ["self"] }, 'the in-place form writes "self" by itself'],
  [{ ...list, variants: ["function"], writes: ["other"] }, "`writes` is for in-place forms"],
  [
    { args: { self: "Tensor", other: "Tensor" }, writes: ["other"] },
    "an operator that writes several arguments has no gradient",
  ],
  [{ ...list, variants: [], returns: "Tensor[]", results: ["a", "b"] }, "has `returns` and `results`"],
  [{ returns: "Tensor[]" }, 'a list of results is for kind "op"'],
  [
    { ...list, variants: [], returns: "Tensor[]", grad: { self: "[result]" } },
    "a formula cannot read a list of results",
  ],
  [
    { ...list, variants: [], returns: "Tensor[]", grad: { self: "[grad]" } },
    "the gradients of a list of results are `grads`",
  ],
  [
    { ...list, variants: [], grad: { "self, other": "[grad]" } },
    'one formula for "self, other": each of several operands has its own beside a list',
  ],
  [
    { ...list, variants: [], grad: { self: "needs[0] ? [grad] : []", other: "[grad]" } },
    "`needs` counts operands, of which lists have several",
  ],
  [
    { ...list, variants: [], saves: ["self"], grad: { self: "[grad]", other: "[grad]" } },
    "`saves` is not known beside gradients of lists and others",
  ],
];

describe("entries that are refused", () => {
  for (const [changes, message] of [...ENTRIES, ...LISTS]) {
    test(message, () => {
      expect(() => read(changes)).toThrow(message);
    });
  }
});

test("an entry that is right is read", () => {
  expect(read({}).key).toBe("thing");
  expect(() => checkUnique([read({}), read({})])).toThrow('op "thing" is declared twice');
});

test("formulas name arguments, results and helpers only", () => {
  const known = formulasOf(read({ grad: { self: "scaled(grad, 2) * result" } }), model)[0];
  expect([known?.code, known?.results]).toEqual(["F.scaled(grad, 2) * result", [0]]);
  expect(() => formulasOf(read({ grad: { self: "grad * colour" } }), model)).toThrow('unknown name "colour"');
});

test("every refusal of a kernel is asked for by a function that computes", () => {
  const folder = join(import.meta.dir, "..", "..", "src", "dispatch");
  const text = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
  // REFUSALS.abs_cpu, REFUSALS[`${op}_all`]
  const asked = [...text.matchAll(/REFUSALS(?:\.(\w+)|\[`\$\{op\}(\w+)`\])/g)];
  const known = (kernel: string) => asked.some(([, name, tail]) => name === kernel || (tail && kernel.endsWith(tail)));
  expect(Object.keys(REFUSALS).filter((kernel) => !known(kernel))).toEqual([]);
  expect(Object.keys(REFUSALS).length).toBeGreaterThan(30);
});

test("a kernel has its refusals once", () => {
  const one = read({
    kind: "pointwise",
    impl: "arith.abs",
    refuses: [{ dtypes: ["bool", "complex"], kernel: "thing" }],
  });
  const refusals = (ops: Op[]) => emitRefusals({ ...model, ops });
  expect(refusals([one])).toContain('thing: {"dtypes":3073,"kernel":"thing"');
  expect(() => refusals([one, one])).toThrow('kernel "thing" has its refusals already');
  expect(() => refusals([{ ...one, refuses: [{ dtypes: ["colour"], kernel: "a" }] }])).toThrow('no dtype is "colour"');
});

test("every file of a schema has a list of operators", () => {
  const folder = mkdtempSync(join(tmpdir(), "zensor-schema-"));
  try {
    writeFileSync(join(folder, "ops.ts"), "export const ops = { glow: 1 };\n");
    expect(() => loadModel(folder)).toThrow("ops.ts:1: `ops` must be an array");
    writeFileSync(join(folder, "ops.ts"), "export const operators = [];\n");
    expect(() => loadModel(folder)).toThrow('no exported constant "ops"');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const emitting = (changes: object): (() => string) => {
  const only: Model = { ...model, ops: [read(changes)] };
  return () => emitOps(only);
};

test("what computes is there and takes the arguments", () => {
  expect(emitting({})).not.toThrow();
  expect(emitting({ ...op, impl: "reduce.nothing", batch: "whole" })).toThrow("there is no function reduce.nothing");
  const many = { self: "Tensor", a: "Int", b: "Int", c: "Int", d: "Int", e: "Int" };
  expect(emitting({ ...op, args: many, batch: "whole" })).toThrow('reduce.sum takes 3 arguments, "thing" has 6 to 8');
  expect(emitting({ refuses: [{ dtypes: ["colour"], kernel: "a" }] })).toThrow('no dtype is "colour"');
});

const literal = (text: string) => () =>
  exportedLiteral(project.createSourceFile("literal.ts", `export const ops = ${text};`, { overwrite: true }), "ops");

test("the schema holds literal data", () => {
  expect(literal("[{ a: 1, b: [-2, 'x'] }] as const")().value).toEqual([{ a: 1, b: [-2, "x"] }]);
  expect(literal("[f()]")).toThrow("the schema holds literal data only, not CallExpression");
  expect(literal("[{ a: 1, a: 2 }]")).toThrow('duplicate key "a"');
  expect(literal("[{ a() {} }]")).toThrow("only `key: value` and spreads of constants are allowed");
  expect(literal("[nothing]")).toThrow('unknown constant "nothing"');
});

test("rules for transforms follow from kind and roles, or are written", () => {
  expect(read({}).transforms).toEqual({
    batch: "broadcast",
    jvp: "pointwise",
    decompose: { refused: "a kernel of its own computes it" },
  });
  expect(read({ ...op, args: { self: "Tensor", dim: "Dim" } }).transforms.batch).toBe("dims");
  expect(read({ ...op, jvp: undefined, grad: "none", batch: "each" }).transforms).toMatchObject({
    batch: "each",
    jvp: { refused: "its results have no gradient" },
  });
  expect(read({ ...op, batch: "whole" }).transforms.jvp).toBe("linear");
  expect(read({ jvp: { self: "tangent" } }).transforms.jvp).toBe("formula");
  expect(() => read({ ...op, jvp: undefined, batch: "whole" })).toThrow('op "thing": needs "jvp"');
  const random = read({ ...op, args: { self: "Tensor", generator: "Generator?" } }).transforms.batch;
  expect(random).toBe("random");
  for (const one of model.ops) {
    for (const rule of Object.values(one.transforms)) {
      expect(typeof rule === "string" || rule.refused.length > 10).toBe(true);
    }
  }
});

describe("texts of errors", () => {
  const families = (...lists: readonly object[][]) => {
    const folder = mkdtempSync(join(tmpdir(), "zensor-texts-"));
    lists.forEach((list, i) => {
      writeFileSync(join(folder, `family${i}.ts`), `export const texts = ${JSON.stringify(list)} as const;\n`);
    });
    try {
      return readTexts(new Project({ skipFileDependencyResolution: true }), folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const text = { name: "tooLong", error: "ValueError", code: "value", text: "{op}: {a} is too long for {b}" };

  test("have one name each, and no two names for the same error", () => {
    expect(families([text], [{ ...text, name: "tooLongHere", code: "length" }])).toHaveLength(2);
    expect(() => families([text], [{ ...text, text: "another" }])).toThrow('text "tooLong" is declared twice');
    const same = { ...text, name: "same", text: "{op}: {x} is too long for {y}" };
    expect(() => families([text, same])).toThrow('"same" says the same as "tooLong"');
  });

  test("become functions of their values; `{op}` is the operator of the error", () => {
    const code = emitTexts({ ...model, texts: families([text]) });
    expect(code).toContain("export function tooLong(op: string, a: Part, b: Part): ValueError {");
    const value = ["`$", "{op}: $", "{part(a)} is too long for $", "{part(b)}`"].join("");
    expect(code).toContain(`return new ValueError(${value}, { op, code: "value" });`);
  });

  test("keep backquotes, backslashes, line feeds and outer braces", () => {
    const odd = { name: "odd", error: "ValueError", code: "value", text: "a `b` \\ {{x}}\n${" };
    const code = emitTexts({ ...model, texts: families([odd]) });
    const [, template] = /new ValueError\((`.*`), \{ op/.exec(code) ?? [];
    const made = new Function("x", "part", `return ${template}`)(3, String);
    expect(made).toBe("a `b` \\ {3}\n${");
  });
});

test("a rule for batches that is nowhere is told with its operator, and nothing becomes `each`", () => {
  const none = new Set<string>();
  const rules = { own: new Set(["linalg.thing.x"]), view: none, whole: none, composite: none };
  const thing = { namespace: "linalg", overload: "x" };
  const check =
    (changes: object, own = rules) =>
    () =>
      checkBatchRules([read(changes)], own);
  expect(check({ ...thing, batch: "own" })).not.toThrow();
  expect(check({ batch: "own" })).toThrow('op "thing": src/func has no rule for its batches');
  expect(check({ overload: "x", batch: "own" })).toThrow('op "thing.x": src/func has no rule for its batches');
  expect(check({ ...op, batch: "whole" })).toThrow('op "thing": src/func has no rule for its batches');
  expect(check(thing)).toThrow('op "linalg.thing.x": src/func has a rule for its batches: say "own"');
  expect(check({ batch: "each" })).toThrow('a rule for batches of "linalg.thing.x", which is no such operator');
  expect(() => checkBatchRules(model.ops, ownBatchRules())).not.toThrow();
  expect(ownBatchRules().view.has("transpose")).toBe(true);
});

test("a kernel that nobody wrote is told with its operator", () => {
  const missing = read({ kernels: { cpu: ["unary.exp", "unary.hope"] } });
  const { implemented } = model;
  expect(() => requireKernels(missing, implemented)).toThrow(
    'op "thing": there is no kernel "unary.hope": zig/src/kernels_unary.zig exports no "hope"',
  );
  expect(() => requireKernels(read({ kernels: { cpu: ["unary.exp"] } }), implemented)).not.toThrow();
  expect([...model.kernels].filter((path) => !implemented?.has(path))).toEqual([]);
});

test("a kernel that is no body is named for CUDA by itself", () => {
  const ops = [read({}), read({ name: "copy", kernels: { cpu: ["copy.copy", "copy.triangle"] } })];
  expect(() => cudaKernelsOf(ops, ["unary.*", "copy.*"], where)).toThrow('"copy.*": a kernel that is no pointwise');
  expect(cudaKernelsOf(ops, ["unary.*", "copy.copy"], where).map((one) => one.kernels?.cuda)).toEqual([
    ["unary.exp"],
    ["copy.copy"],
  ]);
  expect(() => cudaKernelsOf(ops, ["unary.*", "copy.square"], where)).toThrow('no operator has a kernel "copy.square"');
});

test("an operator is in other namespaces too, the same one", () => {
  const places = placesOf(read({ also: ["nn.functional.some_thing", "linalg.thing_"] }));
  const told = places.map(({ namespace, name, op: { fn, variants } }) => [namespace, name, fn, variants.join(" ")]);
  expect(told).toEqual([
    ["", "thing", "thing", "function method inplace out"],
    ["nn.functional", "someThing", "thing", "function"],
    ["linalg", "thing", "thing", "inplace"],
  ]);
  const [main] = placesOf(read({ namespace: "nn.functional", also: ["torch.thing"] })).slice(1);
  expect([main?.namespace, main?.name, main?.op.namespace]).toEqual(["", "thing", undefined]);
  expect(String(z.nn.functional.sigmoid(z.tensor([0, 1])))).toBe(String(z.sigmoid(z.tensor([0, 1]))));
});
