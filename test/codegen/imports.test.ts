// The import rules, each seen to hold on a clean graph and to fail on a tampered one.

import { describe, expect, test } from "bun:test";
import { checkImports, importsOf, roomOf } from "../../codegen/verify/imports.ts";

/** A text of lines. */
function lines(...all: string[]): string {
  return `${all.join("\n")}\n`;
}

/** A small library in which every import is allowed. */
const CLEAN: Record<string, string> = {
  "src/ffi/library.ts": lines(
    'import { dlopen } from "bun:ffi";',
    'import { SYMBOLS } from "../../generated/symbols.ts";',
    'export const native = dlopen("x", SYMBOLS);',
  ),
  "src/tensor/tensor.ts": lines('import { native } from "../ffi/library.ts";', "export const tensor = native;"),
  "src/dispatch/call.ts": 'import { tensor } from "../tensor/tensor.ts";\nexport const call = tensor;\n',
  "src/autograd/engine.ts": 'import { call } from "../dispatch/call.ts";\nexport const engine = call;\n',
  "src/autograd/formulas.ts": 'import { add } from "../../generated/methods.ts";\nexport const formula = add;\n',
  "src/api/print.ts": 'import { add } from "../../generated/methods.ts";\nexport const print = add;\n',
  "src/nn/linear.ts": 'import { print } from "../api/print.ts";\nexport const linear = print;\n',
  "src/runtime/node.ts": 'import { readFileSync } from "node:fs";\nexport { readFileSync };\n',
  "src/io/file.ts": lines(
    'import { readFileSync } from "../runtime/node.ts";',
    'import { native } from "../ffi/library.ts";',
    "export const file = [native, readFileSync];",
  ),
  "src/tensordict/dict.ts": lines(
    'import { file } from "../io/file.ts";',
    'import { linear } from "../nn/linear.ts";',
    "export const dict = [file, linear];",
  ),
  "src/install.ts": lines(
    'import { print } from "./api/print.ts";',
    'import { tensor } from "./tensor/tensor.ts";',
    "void [print, tensor];",
  ),
  "src/index.ts": 'import "./install.ts";\nexport * from "./api/print.ts";\nexport * from "./tensor/tensor.ts";\n',
  "src/cli/main.ts": 'import { dict } from "../tensordict/dict.ts";\nvoid dict;\n',
  "generated/symbols.ts": "export const SYMBOLS = {};\n",
  "generated/methods.ts": lines(
    'import { engine } from "../src/autograd/engine.ts";',
    "export interface Methods { x: number }",
    'declare module "../src/tensor/tensor.ts" { interface Tensor extends Methods {} }',
    "export const add = engine;",
  ),
};

/** The messages for the clean library with some files replaced or added. */
function check(changes: Record<string, string>): string[] {
  const files = new Map(Object.entries({ ...CLEAN, ...changes }));
  return checkImports(files).map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

describe("checkImports", () => {
  test("accepts a library whose values flow down", () => {
    expect(check({})).toEqual([]);
  });

  test.each([
    ["src/tensor/up.ts", "../dispatch/call.ts", "dispatch lies above tensor"],
    ["src/dispatch/up.ts", "../../generated/methods.ts", "generated lies above dispatch"],
    ["src/autograd/up.ts", "./formulas.ts", "formulas lies above autograd"],
    ["src/autograd/formulas/up.ts", "../../api/print.ts", "api lies above formulas"],
    ["src/api/up.ts", "../install.ts", "install lies above api"],
    ["src/tensordict/up.ts", "../index.ts", "index lies above tensordict"],
    ["src/nn/up.ts", "../cli/main.ts", "cli lies above nn"],
    ["generated/up.ts", "../src/nn/linear.ts", "nn lies above generated"],
    ["src/api/side.ts", "../nn/linear.ts", "api and nn are siblings"],
    ["src/io/side.ts", "../tensordict/dict.ts", "io and tensordict are siblings"],
    ["src/nn/side.ts", "../io/file.ts", "nn and io are siblings"],
    ["src/api/native.ts", "../ffi/library.ts", "only tensor"],
    ["src/autograd/native.ts", "../ffi/library.ts", "only tensor"],
  ])("%s may not import %s", (file, specifier, message) => {
    const found = check({ [file]: `// head\nimport { x } from "${specifier}";\nvoid x;\n` });
    expect(found).toHaveLength(1);
    expect(found[0]).toStartWith(`${file}:2: `);
    expect(found[0]).toContain(message);
    expect(check({ [file]: `import type { x } from "${specifier}";\n` })).toEqual([]);
    expect(check({ [file]: `export { x } from "${specifier}";\n` })[0]).toContain(message);
    expect(check({ [file]: `export const f = () => import("${specifier}");\n` })[0]).toContain(message);
  });

  test("only src/ffi imports bun:ffi", () => {
    for (const file of ["src/io/x.ts", "src/tensor/x.ts", "generated/x.ts", "examples/x.ts", "scripts/x.ts"]) {
      expect(check({ [file]: 'import { ptr } from "bun:ffi";\nvoid ptr;\n' })[0]).toContain("only src/ffi");
    }
    expect(check({ "src/ffi/memory.ts": 'import { ptr } from "bun:ffi";\nvoid ptr;\n' })).toEqual([]);
  });

  test("only src/runtime and the command line import Node's modules", () => {
    for (const file of ["src/io/x.ts", "src/ffi/x.ts", "src/tensordict/x.ts"]) {
      expect(check({ [file]: 'import { join } from "node:path";\nvoid join;\n' })[0]).toContain("src/runtime/node.ts");
      expect(check({ [file]: 'import type { Stats } from "node:fs";\n' })).toEqual([]);
    }
    expect(check({ "src/cli/x.ts": 'import { join } from "node:path";\nvoid join;\n' })).toEqual([]);
  });

  test("the library has no dependencies and stays inside src/ and generated/", () => {
    expect(check({ "src/api/x.ts": 'import ts from "typescript";\nvoid ts;\n' })[0]).toContain("no dependencies");
    const outside = check({
      "src/api/x.ts": 'import { y } from "../../codegen/y.ts";\nvoid y;\n',
      "codegen/y.ts": "export const y = 1;\n",
    });
    expect(outside[0]).toContain("nothing outside of src/ and generated/");
  });

  test("specifiers carry their ending and exist", () => {
    expect(check({ "src/api/x.ts": 'import { print } from "./print";\nvoid print;\n' })[0]).toContain("file ending");
    expect(check({ "src/api/x.ts": 'import { y } from "./y.ts";\nvoid y;\n' })[0]).toContain("does not exist");
  });

  test("a file outside of the rooms is named", () => {
    expect(check({ "src/misc/x.ts": "export {};\n" })[0]).toContain("lies in no room");
  });

  test("a generated table is open to all, until it imports from a room", () => {
    const tampered = 'import { engine } from "../src/autograd/engine.ts";\nexport const SYMBOLS = engine;\n';
    const found = check({ "generated/symbols.ts": tampered });
    expect(found.some((text) => text.includes("generated lies above ffi"))).toBe(true);
  });

  test("circles of files are errors, of values and of types; dynamic imports make none", () => {
    const b = 'import { a } from "./a.ts";\nexport const b = () => a;\n';
    const circle = "src/api/a.ts -> src/api/b.ts -> src/api/a.ts";
    const withA = (a: string) => check({ "src/api/a.ts": a, "src/api/b.ts": b });
    for (const a of [
      'import { b } from "./b.ts";\nexport const a = () => b;\n',
      'import type { b } from "./b.ts";\nexport const a = 1 as unknown as typeof b;\n',
      'export const a = 1 as unknown as import("./b.ts").B;\n',
      'declare module "./b.ts" {\n  interface B {\n    a: 1;\n  }\n}\nexport const a = 1;\n',
    ]) {
      expect(withA(a)).toHaveLength(1);
      expect(withA(a)[0]).toContain(circle);
    }
    expect(withA('export const a = () => import("./b.ts");\n')).toEqual([]);
    const longer = check({
      "src/api/a.ts": 'export type { C } from "./c.ts";\n',
      "src/api/b.ts": 'import type { A } from "./a.ts";\nexport type B = A;\n',
      "src/api/c.ts": 'import type { B } from "./b.ts";\nexport type C = B;\n',
    });
    expect(longer).toHaveLength(1);
    expect(longer[0]).toContain("src/api/a.ts -> src/api/c.ts -> src/api/b.ts -> src/api/a.ts");
  });

  test("folders of a room are used one way, by values and by types", () => {
    const library = {
      "src/io/base/errors.ts": "export const e = 1;\n",
      "src/io/zip/zip.ts": 'import { e } from "../base/errors.ts";\nexport const zip = e;\n',
      "src/io/numpy/npz.ts": 'import { zip } from "../zip/zip.ts";\nexport const npz = zip;\n',
      "src/io/index.ts": 'export { npz } from "./numpy/npz.ts";\n',
      "src/cli/npz.ts": 'import { npz } from "../io/numpy/npz.ts";\nvoid npz;\n',
    };
    expect(check(library)).toEqual([]);
    for (const kind of ["import", "import type"]) {
      for (const [file, specifier, message] of [
        ["src/io/base/up.ts", "../zip/zip.ts", "base of io may import none of the others"],
        ["src/io/zip/up.ts", "../numpy/npz.ts", "zip of io may import only base, disk"],
        ["src/io/numpy/up.ts", "../index.ts", "numpy of io may import only base, disk, zip, store"],
        ["src/tensordict/core/up.ts", "../ops/shape.ts", "core of tensordict may import none of the others"],
      ] as const) {
        const there = { ...library, "src/tensordict/ops/shape.ts": "export const x = 1;\n" };
        const found = check({ ...there, [file]: `${kind} { x } from "${specifier}";\nexport type X = typeof x;\n` });
        expect(found).toHaveLength(1);
        expect(found[0]).toContain(`${file}:1: imports `);
        expect(found[0]).toContain(message);
      }
    }
    expect(check({ "src/io/attic/x.ts": "export {};\n" })[0]).toContain("lies in no folder of io");
  });
});

test("importsOf sees every form, with its line", () => {
  const text = [
    'import "./side.ts";',
    'import type { A } from "./a.ts";',
    'import { type B, b } from "./b.ts";',
    'export type { C } from "./c.ts";',
    'export * as d from "./d.ts";',
    'const text = "import { x } from \\"./x.ts\\"";',
    'const lazy = () => import("./lazy.ts");',
    'type E = import("./e.ts").E;',
    'declare module "./f.ts" {}',
  ].join("\n");
  const value = { dynamic: false, type: false };
  const type = { dynamic: false, type: true };
  expect(importsOf("x.ts", text)).toEqual([
    { specifier: "./side.ts", line: 1, ...value },
    { specifier: "./a.ts", line: 2, ...type },
    { specifier: "./b.ts", line: 3, ...value },
    { specifier: "./c.ts", line: 4, ...type },
    { specifier: "./d.ts", line: 5, ...value },
    { specifier: "./f.ts", line: 9, ...type },
    { specifier: "./lazy.ts", line: 7, dynamic: true, type: false },
    { specifier: "./e.ts", line: 8, ...type },
  ]);
});

test("roomOf tells formulas from the engine", () => {
  expect(roomOf("src/autograd/formulas-linalg.ts")).toBe("formulas");
  expect(roomOf("src/autograd/formulas/index.ts")).toBe("formulas");
  expect(roomOf("src/autograd/engine.ts")).toBe("autograd");
  expect(roomOf("src/install.ts")).toBe("install");
  expect(roomOf("src/misc/x.ts")).toBeUndefined();
});
