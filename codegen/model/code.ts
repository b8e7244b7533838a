/**
 * What the schema names and TypeScript has: the functions that compute, with the number of their arguments, and those
 * that formulas are written with. Read from the text alone: asking the compiler for types takes seconds.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ts } from "ts-morph";
import { ownBatchRules } from "./batch-rules.ts";
import type { Model } from "./load.ts";

/** What the schema names and TypeScript has. */
export type Code = Pick<Model, "formulaHelpers" | "tangentHelpers" | "arities" | "implemented" | "batchRules">;

const SRC = join(import.meta.dir, "..", "..", "src");

/** What one file exports under a name: a declaration of its own, or a name of another file. */
type Exported = ts.FunctionDeclaration | ts.VariableDeclaration | { readonly file: string; readonly name: string };

class Sources {
  readonly #files = new Map<string, ReadonlyMap<string, Exported>>();
  readonly #tops = new Map<string, ReadonlyMap<string, ts.FunctionDeclaration | ts.VariableDeclaration>>();

  /** The exports of a file by their names. */
  exportsOf(path: string): ReadonlyMap<string, Exported> {
    let found = this.#files.get(path);
    if (found === undefined) {
      found = this.#read(path);
      this.#files.set(path, found);
    }
    return found;
  }

  #read(path: string): Map<string, Exported> {
    const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ESNext, true);
    const found = new Map<string, Exported>();
    const tops = new Map<string, ts.FunctionDeclaration | ts.VariableDeclaration>();
    const note = (name: string, declared: ts.FunctionDeclaration | ts.VariableDeclaration, isExported: boolean) => {
      if (!tops.has(name)) tops.set(name, declared);
      if (isExported && !found.has(name)) found.set(name, declared);
    };
    for (const one of source.statements) {
      const isExported =
        ts.canHaveModifiers(one) && ts.getModifiers(one)?.some((m) => m.kind === ts.SyntaxKind.ExportKeyword) === true;
      if (ts.isFunctionDeclaration(one)) note(one.name?.text ?? "", one, isExported);
      if (ts.isVariableStatement(one)) {
        for (const v of one.declarationList.declarations) note(v.name.getText(source), v, isExported);
      }
      if (!ts.isExportDeclaration(one) || one.isTypeOnly || one.moduleSpecifier === undefined) continue;
      const file = join(dirname(path), (one.moduleSpecifier as ts.StringLiteral).text);
      if (one.exportClause === undefined)
        for (const name of this.exportsOf(file).keys()) found.set(name, { file, name });
      else if (ts.isNamedExports(one.exportClause)) {
        for (const e of one.exportClause.elements)
          found.set(e.name.text, { file, name: (e.propertyName ?? e.name).text });
      }
    }
    this.#tops.set(path, tops);
    return found;
  }

  /** How many arguments an exported function takes; undefined for what is no function, or does not look like one. */
  arity(path: string, name: string): number | undefined {
    const found = this.exportsOf(path).get(name);
    if (found === undefined) return undefined;
    if ("file" in found) return this.arity(found.file, found.name);
    return this.#taken(path, found);
  }

  #taken(path: string, node: ts.Node | undefined): number | undefined {
    if (node === undefined) return undefined;
    if (ts.isFunctionLike(node)) return node.parameters.length;
    if (ts.isVariableDeclaration(node)) {
      return node.type !== undefined && ts.isFunctionTypeNode(node.type)
        ? node.type.parameters.length
        : this.#taken(path, node.initializer);
    }
    if (ts.isParenthesizedExpression(node)) return this.#taken(path, node.expression);
    if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return undefined;
    return this.#taken(path, givenBy(this.#tops.get(path)?.get(node.expression.text)));
  }
}

/** What a function gives back: a type that is written there, or the expression of its only statement. */
function givenBy(made: ts.FunctionDeclaration | ts.VariableDeclaration | undefined): ts.Node | undefined {
  const maker = made !== undefined && ts.isVariableDeclaration(made) ? made.initializer : made;
  if (maker === undefined || !(ts.isFunctionDeclaration(maker) || ts.isArrowFunction(maker))) return undefined;
  if (maker.type !== undefined) return maker.type;
  if (maker.body === undefined || !ts.isBlock(maker.body)) return maker.body;
  return maker.body.statements.find(ts.isReturnStatement)?.expression;
}

const files = (dir: string): string[] =>
  readdirSync(join(SRC, dir))
    .sort()
    .map((file) => join(SRC, dir, file));

/** The kernels of all families, `family.name`: what is public in the file that a family's root exports. */
function nativeKernels(): Set<string> {
  const folder = join(SRC, "..", "zig", "src");
  const found = new Set<string>();
  for (const root of readdirSync(folder)) {
    const family = /^kernels_(\w+)\.zig$/.exec(root)?.[1];
    if (family === undefined) continue;
    const file = /exports\("\w+", @import\("([^"]+)"\)\)/.exec(readFileSync(join(folder, root), "utf8"))?.[1];
    if (file === undefined) continue;
    const text = readFileSync(join(folder, file), "utf8");
    for (const [, name] of text.matchAll(/^pub (?:const|fn) (?:@")?(\w+)/gm)) found.add(`${family}.${name}`);
  }
  return found;
}

/** The project's own code. */
export function ownCode(): Code {
  const sources = new Sources();
  const modules = new Map<string, string>();
  for (const path of files("dispatch")) modules.set(path, basename(path, ".ts").replaceAll("-", "_"));
  for (const path of files("autograd")) if (/composites-[\w-]+\.ts$/.test(path)) modules.set(path, "composites");
  const arities = new Map<string, number>();
  for (const [path, module] of modules) {
    for (const name of sources.exportsOf(path).keys()) {
      const arity = sources.arity(path, name);
      if (arity !== undefined) arities.set(`${module}.${name}`, arity);
    }
  }
  const functionsOf = (dir: string, name: RegExp): string[] =>
    files(dir)
      .filter((path) => name.test(basename(path)))
      .flatMap((path) => [...sources.exportsOf(path)])
      .filter(([, found]) => "file" in found || ts.isFunctionDeclaration(found))
      .map(([n]) => n);
  const formulaHelpers = functionsOf("autograd", /^formulas.*\.ts$/);
  const tangentHelpers = functionsOf("func", /^tangents.*\.ts$/);
  return { formulaHelpers, tangentHelpers, arities, implemented: nativeKernels(), batchRules: ownBatchRules() };
}
