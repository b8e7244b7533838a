// Gradient formulas: what is saved, under which names, what is refused. And how literal data is read from the schema.

import { describe, expect, test } from "bun:test";
import { Project } from "ts-morph";
import { planOf } from "../../codegen/emit/nodes.ts";
import { emitTangents } from "../../codegen/emit/tangents.ts";
import { formulasOf } from "../../codegen/model/formula.ts";
import { exportedLiteral } from "../../codegen/model/literal.ts";
import { camel, type Model, type Op, toOp } from "../../codegen/model/load.ts";
import type { ArgSchema, OpSchema } from "../../codegen/model/types.ts";

const project = new Project({ useInMemoryFileSystem: true });
const where = project.createSourceFile("schema.ts", "export const ops = [];").getStatements()[0] as never;
const model = { formulaHelpers: ["scaled", "other"], tangentHelpers: ["bent"] } as unknown as Model;

const ARGS = { self: "Tensor", weight: "Tensor?", all: "TensorList", by: "Scalar", mixed: "Tensor|Scalar" } as const;

function op(grad: Record<string, string>, changes: object = {}): Op {
  const args: Record<string, ArgSchema> = { ...ARGS };
  const base = { name: "thing", kind: "op", impl: "a.b", batch: "whole", variants: [], doc: "A thing.", node: "Thing" };
  const jvp = "transpose";
  return toOp({ ...base, jvp, args, grad, ...changes } as unknown as OpSchema, where, "schema");
}

const formula = (text: string, changes: object = {}) => formulasOf(op({ self: text }, changes), model)[0]!;
const uses = (text: string) => Object.fromEntries(formula(text).uses);

describe("what a formula reads", () => {
  test("a tensor by itself is saved whole", () => {
    expect(uses("grad.mul(self)")).toEqual({ self: "value" });
    expect(uses("grad.mul(self.abs())")).toEqual({ self: "value" });
    expect(uses("scaled(grad, weight)")).toEqual({ weight: "value" });
    expect(uses("all.map(all)")).toEqual({ all: "value" });
    expect(uses("scaled({ self })")).toEqual({ self: "value" });
  });

  test("its shape, strides, offset, dtype and rank are kept without it", () => {
    for (const part of ["shape", "strides", "offset", "dtype", "ndim"]) {
      expect([part, uses(`scaled(grad, self.${part})`)]).toEqual([part, { self: "geometry" }]);
    }
    expect(uses("scaled(grad, weight.shape, all.shape)")).toEqual({ weight: "geometry", all: "geometry" });
    expect(uses("scaled(self.shape.length)")).toEqual({ self: "geometry" });
  });

  test("one use of the elements is enough, wherever it stands", () => {
    expect(uses("scaled(self.shape, self)")).toEqual({ self: "value" });
    expect(uses("scaled(self, self.shape)")).toEqual({ self: "value" });
  });

  test("numbers are saved whole; of what may be one the sizes are kept like a tensor's", () => {
    expect(uses("scaled(grad, by)")).toEqual({ by: "value" });
    expect(uses("scaled(grad, by, by.shape)")).toEqual({ by: "value" });
    expect(uses("scaled(grad, mixed.shape)")).toEqual({ mixed: "geometry" });
    expect(uses("scaled(grad, mixed, mixed.shape)")).toEqual({ mixed: "value" });
  });

  test("names of properties are no arguments", () => {
    expect(uses("grad.self(1).by({ weight: 2 })")).toEqual({});
    expect(uses("scaled({ dim: by })")).toEqual({ by: "value" });
  });

  test("the gradient, globals and numbers are not saved", () => {
    expect(uses("grad.mul(Math.PI).add(Number(2)).add(Infinity - NaN)")).toEqual({});
    expect(uses("grads[0] === undefined ? null : Array.from(grads)")).toEqual({});
  });
});

describe("names", () => {
  test("helpers are found among the formulas, as often as they stand there", () => {
    expect(formula("scaled(scaled(grad, 2), by).scaled").code).toBe("F.scaled(F.scaled(grad, 2), by).scaled");
  });

  test("an argument wins over a helper of its name", () => {
    const args = { self: "Tensor", other: "Tensor" };
    expect(formula("grad.mul(other)", { args }).code).toBe("grad.mul(other)");
    expect(formula("other(grad)").code).toBe("F.other(grad)");
  });

  test("results by their numbers", () => {
    const results = { results: ["values", "indices"] };
    expect(formula("grad.mul(result)").results).toEqual([0]);
    expect([...formula("scaled(result1, result0, result1)", results).results].sort()).toEqual([0, 1]);
  });

  test("which gradients are wanted", () => {
    expect([formula("scaled(grad, needs[0])").usesNeeds, formula("grad.needs").usesNeeds]).toEqual([true, false]);
  });

  test("several arguments of one formula", () => {
    expect(formulasOf(op({ "self,  weight": "scaled(grad)" }), model)[0]?.targets).toEqual(["self", "weight"]);
    expect(formulasOf(op("none" as never), model)).toEqual([]);
  });

  test("snake case becomes camel case, and a trailing underscore stays", () => {
    const names = ["index_select", "_strand", "add_", "scatter_add_", "log1p", "is_set_to", "a_2d"];
    expect(names.map(camel)).toEqual(["indexSelect", "_strand", "add_", "scatterAdd_", "log1p", "isSetTo", "a2d"]);
  });
});

describe("what is refused", () => {
  const REFUSED: readonly [formula: string, message: string][] = [
    ["grad.mul(colour)", 'op "thing": formula uses unknown name "colour"'],
    ["globalThis.grad", 'unknown name "globalThis"'],
    ["((x) => x)(grad)", 'unknown name "x"'],
    ["grad.mul(result1)", 'uses "result1", which is no result'],
    ["grad.mul(", 'formula "grad.mul(" is no expression'],
    ["", 'formula "" is no expression'],
    ["grad; self", "is no expression"],
    ["grad); scaled(self", "is no expression"],
  ];
  for (const [text, message] of REFUSED) {
    test(text === "" ? "nothing" : text, () => expect(() => formula(text)).toThrow(message));
  }
});

describe("formulas of tangents", () => {
  const emit = (grad: Record<string, string>, jvp: unknown, changes: object = {}) => {
    const one = op(grad, { jvp, args: { self: "Tensor", weight: "Tensor?", by: "Scalar" }, ...changes });
    return emitTangents({ ...model, ops: [one] });
  };

  test("each operand's part is added", () => {
    const text = emit({ self: "grad.mul(weight)", weight: "grad.mul(self)" }, "multilinear");
    expect(text).toContain("sum = T.plus(sum, O.thing(tangent, weight, by));");
    expect(text).toContain("sum = T.plus(sum, O.thing(self, tangent, by));");
    expect(emit({ self: "grad" }, { self: "bent(tangent, outputs)" })).toContain("return T.bent(tangent, outputs);");
    expect(emit({ self: "grad" }, "zero")).toContain("return T.nothing;");
    expect(emit({ self: "grad" }, "transpose")).not.toContain("push_thing");
  });

  test("what is not saved cannot be read", () => {
    const unsaved = '"jvp" reads "weight", which its gradients do not save';
    expect(() => emit({ self: "grad" }, "linear")).toThrow(`op "thing": ${unsaved}`);
    expect(() => emit({ self: "grad", weight: "grad.mul(self)" }, { self: "bent(tangent, weight)" })).toThrow(unsaved);
    expect(() => emit({ self: "grad" }, { self: "tangent.mul(result)" })).toThrow('"jvp" reads result 0');
    expect(() => emit({ self: "grad" }, { self: "bent(colour)" })).toThrow('unknown name "colour"');
    expect(() => emit({ self: "grad" }, { self: "grad" })).toThrow('unknown name "grad"');
    expect(() => emit({ self: "grad" }, { weight: "tangent" })).toThrow('tangent of "weight", which has no gradient');
  });

  test("an operator that says nothing is refused", () => {
    expect(() => op({ self: "grad" }, { jvp: undefined })).toThrow('op "thing": needs "jvp"');
  });
});

describe("the plan of a node", () => {
  const plan = (grad: Record<string, string>, changes: object = {}) => {
    const p = planOf(op(grad, changes), model)!;
    const names = (list: readonly { name: string }[]) => list.map((a) => a.name);
    return { targets: names(p.targets), values: names(p.values), geometry: names(p.geometry), results: p.results };
  };

  test("targets in the order of the arguments, whatever the order of the formulas", () => {
    expect(plan({ weight: "grad", self: "grad" }).targets).toEqual(["self", "weight"]);
  });

  test("what one formula needs whole is not kept as geometry for another", () => {
    const both = plan({ self: "scaled(weight.shape)", weight: "grad.mul(weight)" });
    expect(both).toEqual({ targets: ["self", "weight"], values: ["weight"], geometry: [], results: [] });
  });

  test("`saves` keeps whole what is read as geometry", () => {
    const kept = plan({ self: "scaled(grad, self.shape)" }, { saves: ["self"] });
    expect([kept.values, kept.geometry]).toEqual([["self"], []]);
  });

  test("results of all formulas, once", () => {
    const two = { results: ["a", "b"] };
    expect(plan({ self: "grad.mul(result1)", weight: "scaled(result0, result1)" }, two).results).toEqual([0, 1]);
  });

  test("plain arguments that tangents read are saved, tensors are not", () => {
    expect(plan({ self: "grad" }, { jvp: { self: "bent(tangent, by)" } }).values).toEqual(["by"]);
    expect(plan({ self: "grad" }, { jvp: { self: "bent(tangent, weight)" } }).values).toEqual([]);
    expect(plan({ self: "grad" }, { jvp: "linear" }).values).toEqual(["by"]);
  });

  test("none without formulas", () => {
    expect(planOf(op("none" as never), model)).toBeNull();
  });
});

describe("literal data", () => {
  const read = (text: string, name = "x") =>
    exportedLiteral(project.createSourceFile("data.ts", text, { overwrite: true }), name).value;

  test("numbers, texts, truth values, nothing", () => {
    expect(read("export const x = [1e-8, -2.5, 0x10, 1_000, -Infinity_]; const Infinity_ = 3;")).toEqual([
      1e-8, -2.5, 16, 1000, -3,
    ]);
    expect(read("export const x = [true, false, null, 'a', \"b\", `c`, 'd' + \"e\" + 'f'];")).toEqual([
      true,
      false,
      null,
      "a",
      "b",
      "c",
      "def",
    ]);
  });

  test("constants, spreads, and what is said for the compiler only", () => {
    const text = "const a = { k: 1, l: 2 } as const; const b = [2, 3]; export const x = [{ ...a, l: 5 }, (4), ...b]";
    expect(read(`${text} satisfies object;`)).toEqual([{ k: 1, l: 5 }, 4, 2, 3]);
    expect(read("export const x = { 'two words': 1, \"a, b\": 2 };")).toEqual({ "two words": 1, "a, b": 2 });
  });

  test("a later spread wins over an earlier key, a key of its own is given once", () => {
    expect(read("const a = { k: 1 }; export const x = { k: 2, ...a };")).toEqual({ k: 1 });
    expect(() => read("export const x = { k: 2, k: 3 };")).toThrow('duplicate key "k"');
  });

  const REFUSED: readonly [text: string, message: string][] = [
    ["export const y = 1;", 'no exported constant "x"'],
    ["export let x: number;", 'no exported constant "x"'],
    ["export const x = f();", "the schema holds literal data only, not CallExpression"],
    ["export const x = new Set();", "not NewExpression"],
    ["export const x = 2 * 3;", "not BinaryExpression"],
    ["export const x = `a$" + "{1}`;", "not TemplateExpression"],
    ["export const x = () => 1;", "not ArrowFunction"],
    ["export const x = !true;", "not PrefixUnaryExpression"],
    ["export const x = ~1;", "not PrefixUnaryExpression"],
    ["export const x = -'1';", "not PrefixUnaryExpression"],
    ["export const x = 1 + 2;", "not BinaryExpression"],
    ["export const x = nothing;", 'unknown constant "nothing"'],
    ["import { nothing } from 'a'; export const x = nothing;", 'unknown constant "nothing"'],
    ["const k = 1; export const x = { k };", "only `key: value` and spreads of constants are allowed"],
    ["export const x = { get k() { return 1; } };", "only `key: value` and spreads of constants are allowed"],
  ];
  for (const [text, message] of REFUSED) test(`no ${text}`, () => expect(() => read(text)).toThrow(message));

  test("a complaint says file and line", () => {
    expect(() => read("export const x = [\n  1,\n  f(),\n];")).toThrow("/data.ts:3: the schema holds");
  });
});
