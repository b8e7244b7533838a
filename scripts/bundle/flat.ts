// The library as one flat list of statements, each with its source file, and what its names refer to.
import ts from "typescript";

/** A statement of a source file, at the top level of the flat file. */
export interface Statement {
  node: ts.Statement;
  /** The source file, from the repository's root. */
  file: string;
  /** The names that it declares at the top level. */
  names: readonly string[];
}

/** A name of the top level where something else uses it. */
export interface Reference {
  name: string;
  node: ts.Identifier;
  statement: Statement;
  /** Whether it gives the name another value. */
  writes: boolean;
}

export interface Flat {
  text: string;
  statements: readonly Statement[];
  references: readonly Reference[];
  /** What the library exports: the public name, and the flat file's own. */
  exports: ReadonlyMap<string, string>;
}

const FILE = /^\/\/ ((?:\.\.\/)*[\w@.-]+(?:\/[\w@.-]+)+\.[cm]?[jt]s)$/gm;

/** Where the parts of each file begin: bun writes the file's name before them. */
function fileStarts(text: string): [at: number, file: string][] {
  return [...text.matchAll(FILE)].map((found) => [found.index, found[1] as string]);
}

/** The names that a pattern declares. */
export function bindingNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((one) => (ts.isOmittedExpression(one) ? [] : bindingNames(one.name)));
}

function declaredNames(node: ts.Statement): string[] {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.flatMap((one) => bindingNames(one.name));
  if ((ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) && node.name !== undefined)
    return [node.name.text];
  if (ts.isImportDeclaration(node)) {
    const bindings = node.importClause?.namedBindings;
    const named = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : [];
    return named.map((one) => one.name.text);
  }
  return [];
}

/** Whether an identifier is the name of something (a property, a label, a declaration) and no use of a variable. */
function isOnlyName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isPropertyAssignment(parent) || ts.isBindingElement(parent)) {
    if (ts.isBindingElement(parent) && parent.name === node) return true;
    return ts.isPropertyAssignment(parent) ? parent.name === node : parent.propertyName === node;
  }
  if (ts.isLabeledStatement(parent) || ts.isBreakOrContinueStatement(parent) || ts.isMetaProperty(parent)) return true;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return true;
  const declares =
    ts.isVariableDeclaration(parent) ||
    ts.isParameter(parent) ||
    ts.isFunctionLike(parent) ||
    ts.isClassLike(parent) ||
    ts.isPropertyDeclaration(parent);
  return declares && parent.name === node;
}

function isAssignment(node: ts.Node): node is ts.BinaryExpression {
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

/** Whether an identifier gets another value where it stands: also as a part of a pattern. */
function isWritten(node: ts.Node): boolean {
  const { parent } = node;
  if (isAssignment(parent)) return parent.left === node;
  if (ts.isPostfixUnaryExpression(parent)) return true;
  if (ts.isPrefixUnaryExpression(parent)) {
    return [ts.SyntaxKind.PlusPlusToken, ts.SyntaxKind.MinusMinusToken].includes(parent.operator);
  }
  if (ts.isForInStatement(parent) || ts.isForOfStatement(parent)) return parent.initializer === node;
  const isPart =
    ts.isArrayLiteralExpression(parent) ||
    ts.isObjectLiteralExpression(parent) ||
    ts.isSpreadElement(parent) ||
    ts.isSpreadAssignment(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    (ts.isPropertyAssignment(parent) && parent.initializer === node);
  return isPart && isWritten(parent);
}

interface Resolver {
  resolveName(name: string, at: ts.Node, meaning: ts.SymbolFlags, excludeGlobals: boolean): ts.Symbol | undefined;
}

function sourceOf(text: string): { source: ts.SourceFile; resolver: Resolver } {
  const name = "flat.js";
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const host: ts.CompilerHost = {
    getSourceFile: (asked) => (asked === name ? source : undefined),
    writeFile: () => {},
    getDefaultLibFileName: () => "lib.d.ts",
    useCaseSensitiveFileNames: () => true,
    getCanonicalFileName: (file) => file,
    getCurrentDirectory: () => "/",
    getNewLine: () => "\n",
    fileExists: (asked) => asked === name,
    readFile: () => undefined,
  };
  const options = { allowJs: true, noLib: true, noResolve: true, target: ts.ScriptTarget.Latest };
  const checker = ts.createProgram([name], options, host).getTypeChecker();
  return { source, resolver: checker as unknown as Resolver };
}

/** Reads what `bun build --format=esm` wrote without making it smaller. */
export function readFlat(text: string): Flat {
  const { source, resolver } = sourceOf(text);
  const starts = fileStarts(text);
  const statements: Statement[] = [];
  const exports = new Map<string, string>();
  let next = 0;
  let file = "";
  for (const node of source.statements) {
    const at = node.getStart(source);
    for (; next < starts.length && (starts[next] as [number, string])[0] <= at; next++) {
      file = (starts[next] as [number, string])[1];
    }
    if (ts.isExportDeclaration(node)) {
      const named = node.exportClause as ts.NamedExports;
      for (const one of named.elements) exports.set(one.name.text, (one.propertyName ?? one.name).text);
      continue;
    }
    statements.push({ node, file, names: declaredNames(node) });
  }
  return { text, statements, references: findReferences(source, resolver, statements), exports };
}

function findReferences(source: ts.SourceFile, resolver: Resolver, statements: readonly Statement[]): Reference[] {
  const top = new Set(statements.flatMap((one) => one.names));
  const found: Reference[] = [];
  const isTop = (node: ts.Identifier) => {
    const symbol = resolver.resolveName(node.text, node, ts.SymbolFlags.Value, true);
    return symbol !== undefined && symbol === sourceLocals(source).get(node.text);
  };
  for (const statement of statements) {
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node) && top.has(node.text) && !isOnlyName(node) && isTop(node)) {
        found.push({ name: node.text, node, statement, writes: isWritten(node) });
      }
      ts.forEachChild(node, visit);
    };
    visit(statement.node);
  }
  return found;
}

/** What a file declares at its top level, as the compiler's binder keeps it. */
function sourceLocals(source: ts.SourceFile): Map<string, ts.Symbol> {
  return (source as unknown as { locals: Map<string, ts.Symbol> }).locals;
}
