/**
 * Loaded before the tests of the built file: what tests import of the sources is then taken from it, so that they see
 * parts that come into being when they are touched.
 *   bun test --preload ./test/built.ts test/ops
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { bindingNames } from "../scripts/bundle/flat.ts";
import { readParts, writeOpen } from "../scripts/bundle/parts.ts";
import { libraryFile, root } from "../scripts/toolchain.mjs";

process.env.ZENSOR_LIBRARY ??= libraryFile();
const parts = readParts(join(root, "build", "bundle"));
const [core, names] = writeOpen(parts, join(root, "build", "bundle", "open"));

/** The name in the flat file of what a source file declares; undefined where the built file has left it out. */
function ownName(file: string, name: string): string | undefined {
  const own = names[file] ?? [];
  const isSecond = (one: string) => one.startsWith(name) && /^\d+$/.test(one.slice(name.length));
  return own.find((one) => one === name) ?? own.find(isSecond);
}

interface Exports {
  /** The file's own names, or those of the file that they are handed on from, by the name that is exported. */
  named: Map<string, { from: string | null; name: string }>;
  /** Files all of whose names are handed on. */
  all: string[];
}

const known = new Map<string, Exports>();

/** What a source file exports, as it says itself. */
function exportsOf(file: string): Exports {
  const found = known.get(file) ?? readExports(file);
  known.set(file, found);
  return found;
}

function readExports(file: string): Exports {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);
  const found: Exports = { named: new Map(), all: [] };
  const imported = new Map<string, { from: string; name: string }>();
  const target = (at: ts.Expression | undefined) =>
    at === undefined ? null : join(file, "..", (at as ts.StringLiteral).text);
  for (const node of source.statements) {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      if (bindings === undefined || !ts.isNamedImports(bindings)) continue;
      for (const one of bindings.elements) {
        imported.set(one.name.text, {
          from: target(node.moduleSpecifier) ?? "",
          name: (one.propertyName ?? one.name).text,
        });
      }
    } else if (ts.isExportDeclaration(node) && !node.isTypeOnly) {
      const from = target(node.moduleSpecifier);
      if (node.exportClause === undefined) found.all.push(from ?? "");
      else if (ts.isNamespaceExport(node.exportClause)) {
        found.named.set(node.exportClause.name.text, { from, name: "*" });
      } else if (ts.isNamedExports(node.exportClause)) {
        for (const one of node.exportClause.elements) {
          const name = (one.propertyName ?? one.name).text;
          if (!one.isTypeOnly) found.named.set(one.name.text, { from, name });
        }
      }
    } else if (ts.canHaveModifiers(node) && node.modifiers?.some((one) => one.kind === ts.SyntaxKind.ExportKeyword)) {
      const declared = ts.isVariableStatement(node)
        ? node.declarationList.declarations.flatMap((one) => bindingNames(one.name))
        : ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)
          ? [node.name?.text ?? "default"]
          : [];
      for (const name of declared) found.named.set(name, { from: null, name });
    }
  }
  for (const [name, one] of found.named) {
    const handed = one.from === null ? imported.get(one.name) : undefined;
    if (handed !== undefined) found.named.set(name, handed);
  }
  return found;
}

/** The name in the flat file of what a source file exports. */
function flatName(file: string, name: string): string | undefined {
  const { named, all } = exportsOf(file);
  const one = named.get(name);
  if (one !== undefined) return one.from === null ? ownName(file, one.name) : flatName(one.from, one.name);
  for (const other of all) {
    const found = flatName(other, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function allNames(file: string): string[] {
  const { named, all } = exportsOf(file);
  return [...new Set([...named.keys(), ...all.flatMap(allNames)])];
}

/** A module with the same exports, of the built file. */
function standIn(file: string): string {
  const value = (name: string): string =>
    file === "src/index.ts" ? `core(${JSON.stringify(name)})` : `core.own(${JSON.stringify(flatName(file, name))})`;
  const exported = file === "src/index.ts" ? [...parts.flat.exports.keys()] : allNames(file);
  const lines = exported.map((name, n) => {
    const from = exportsOf(file).named.get(name);
    if (from?.name === "*") return `export * as ${name} from ${JSON.stringify(join(root, from.from ?? ""))};`;
    return `const v${n} = ${value(name)}; export { v${n} as ${name} };`;
  });
  return `const core = require(${JSON.stringify(core)});\n${lines.join("\n")}`;
}

Bun.plugin({
  name: "built",
  setup(build) {
    build.onLoad({ filter: /[\\/](src|generated)[\\/].*\.ts$/ }, ({ path }) => {
      const file = relative(root, path);
      // The command line is a program of its own.
      if (file.startsWith("src/cli/")) return { contents: readFileSync(path, "utf8"), loader: "ts" };
      return { contents: standIn(file), loader: "js" };
    });
  },
});
