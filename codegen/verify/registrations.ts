// The registration file is the only one that changes, while it is loaded, what it imports from another file: whoever
// reads any other file knows that nothing depends on its having been loaded. What a file declares it may change itself.

import { posix } from "node:path";
import ts from "typescript";
import type { Violation } from "./source-files.ts";

const LIBRARY = /^(src|generated)\/.*\.ts$/;
const REGISTRATION = "src/install.ts";
/** Functions that change the class or namespace they are given: for those of the file itself. */
const ON_OWN =
  /^(installChecks|checkCollections|checkForward|checkDiscreet|markDiscreet|takeLateMethods|tellMissing\w+)$/;
/** Functions whose first argument is what they change. */
const CHANGERS = /^(Object|Reflect)\.(assign|define\w+|set\w*)$/;

/** The names that a file imports from files of the library. */
function importedNames(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const clause = statement.importClause;
    if (clause === undefined || !statement.moduleSpecifier.text.startsWith(".")) continue;
    if (clause.name !== undefined) names.add(clause.name.text);
    const bindings = clause.namedBindings;
    if (bindings === undefined) continue;
    if (ts.isNamespaceImport(bindings)) names.add(bindings.name.text);
    else for (const { name } of bindings.elements) names.add(name.text);
  }
  return names;
}

/** The classes and constants that a file declares. */
function declaredNames(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (ts.isClassDeclaration(statement) && statement.name !== undefined) names.add(statement.name.text);
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name } of statement.declarationList.declarations) if (ts.isIdentifier(name)) names.add(name.text);
  }
  return names;
}

/** `a` of `a.b["c"].d`. */
function rootOf(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isNonNullExpression(node)) {
    return rootOf(node.expression);
  }
  return ts.isIdentifier(node) ? node.text : undefined;
}

/** The imported thing that an expression changes, or hands to a function for its effect. */
function changed(node: ts.Expression, imported: ReadonlySet<string>, own: ReadonlySet<string>): string | undefined {
  const known = (root: string | undefined) => (root !== undefined && imported.has(root) ? root : undefined);
  if (ts.isBinaryExpression(node) && /=$/.test(node.operatorToken.getText())) return known(rootOf(node.left));
  if (!ts.isCallExpression(node)) return undefined;
  const first = node.arguments[0];
  if (CHANGERS.test(node.expression.getText()) && first !== undefined) return known(rootOf(first));
  const callee = node.expression.getText();
  if (ON_OWN.test(callee) && node.arguments.some((one) => own.has(rootOf(one) ?? ""))) return undefined;
  return known(rootOf(node.expression));
}

/** Finds, in files given by path, what is registered outside of the registration file. */
export function checkRegistrations(files: ReadonlyMap<string, string>): Violation[] {
  const found: Violation[] = [];
  for (const [file, text] of files) {
    if (!LIBRARY.test(file) || file === REGISTRATION) continue;
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
    const [imported, own] = [importedNames(source), declaredNames(source)];
    const add = (node: ts.Node, message: string) => {
      found.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1, message });
    };
    const visit = (node: ts.Node): void => {
      // What a function does, it does when it is called.
      if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
      if (ts.isExpressionStatement(node)) {
        const name = changed(node.expression, imported, own);
        if (name !== undefined) add(node, `changes ${name}, which it imports: do that in src/install.ts`);
        return;
      }
      if (ts.isImportDeclaration(node) && node.importClause === undefined) {
        const { text: specifier } = node.moduleSpecifier as ts.StringLiteral;
        if (specifier.startsWith(".") && posix.basename(specifier) !== "install.ts") {
          add(node, `imports ${specifier} for what it does when it is loaded: register that in src/install.ts`);
        }
      }
      ts.forEachChild(node, visit);
    };
    for (const statement of source.statements) visit(statement);
  }
  return found;
}
