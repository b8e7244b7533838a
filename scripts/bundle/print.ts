// Writes the flat file again with its cells: names are variables of one scope, and a use of another cell's asks first.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../toolchain.mjs";
import { type Cell, type Plan, plainName } from "./cells.ts";
import type { Flat, Reference, Statement } from "./flat.ts";

interface Edit {
  at: number;
  end: number;
  text: string;
}

/** How cells are run; `$$` and `$cells` are no names of ours. */
const RUNTIME = `
function $$(id) {
  if ($parents[id] >= 0) $$($parents[id]);
  const cell = $cells[id];
  if (cell === undefined) return;
  $cells[id] = undefined;
  try {
    cell();
  } catch (error) {
    $cells[id] = cell;
    throw error;
  }
}
function $name(made, name) {
  if (made.name !== name) Object.defineProperty(made, "name", { value: name });
}
function $names(target, names, at) {
  for (const name of names) {
    Object.defineProperty(target, name, { configurable: true, enumerable: true, get() {
      const value = at(name);
      Object.defineProperty(target, name, { configurable: true, enumerable: true, value });
      return value;
    } });
  }
}
`;

/** Files that nobody takes a name from: what they do, they do when the library is imported. */
const INSTALL = /\/install\.ts$/;

/** An expression that may be evaluated after a question, or not at all. */
function isPlain(node: ts.Expression): boolean {
  if (ts.isPropertyAccessExpression(node)) return isPlain(node.expression);
  return ts.isIdentifier(node) || node.kind === ts.SyntaxKind.ThisKeyword;
}

/** Classes that say themselves what is an instance of them. */
function ownInstances(statements: readonly Statement[]): Set<string> {
  const own = (one: Statement) =>
    ts.isClassDeclaration(one.node) &&
    one.node.members.some((member) => member.name?.getText() === "[Symbol.hasInstance]");
  return new Set(statements.filter(own).flatMap((one) => one.names));
}

/** The exports of a namespace, as bun writes them: `__export(exports_nn, { Linear: () => Linear2, ... })`. */
function namespaceOf(node: ts.Statement): { target: string; names: [name: string, value: string][] } | undefined {
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return undefined;
  const { expression, arguments: args } = node.expression;
  if (!ts.isIdentifier(expression) || expression.text !== "__export") return undefined;
  const [target, table] = args as unknown as [ts.Identifier, ts.ObjectLiteralExpression];
  const names = table.properties.map((one): [string, string] => {
    const { name, initializer } = one as ts.PropertyAssignment;
    return [(name as ts.Identifier).text, ((initializer as ts.ArrowFunction).body as ts.Identifier).text];
  });
  return { target: target.text, names };
}

function isStatic(node: ts.ClassElement): boolean {
  return ts.canHaveModifiers(node) && node.modifiers?.some((one) => one.kind === ts.SyntaxKind.StaticKeyword) === true;
}

const classesOf = new Map<string, ReadonlySet<string>>();

/** The names of the classes of a source file. */
function sourceClasses(file: string): ReadonlySet<string> {
  let names = classesOf.get(file);
  if (names === undefined) {
    const text = readFileSync(join(root, file), "utf8");
    names = new Set([...text.matchAll(/\bclass (\w+)/g)].map((found) => found[1] as string));
    classesOf.set(file, names);
  }
  return names;
}

export interface PrintOptions {
  /** Notes each call of a top-level function, and each file that is evaluated, in `globalThis`. */
  noting?: boolean;
  /** Also gives what is no export, by the name that it has in the flat file: `own(name)`. */
  open?: boolean;
}

export class Printer {
  private readonly edits = new Map<Statement, Edit[]>();
  private readonly own: Set<string>;

  constructor(
    private readonly flat: Flat,
    private readonly plan: Plan,
    private readonly options: PrintOptions = {},
  ) {
    this.own = ownInstances(flat.statements);
    for (const reference of flat.references) this.guardReference(reference);
  }

  /** A name where it is sure to have a value. */
  private guarded(name: string, from: Cell | undefined): string {
    const cell = this.plan.cellOfName.get(name);
    if (cell === undefined) return name;
    for (let at = from ?? null; at !== null; at = at.parent) if (at === cell) return name;
    return `(${name}??($$(${cell.id}),${name}))`;
  }

  private edit(statement: Statement, at: number, end: number, text: string): void {
    const list = this.edits.get(statement) ?? [];
    this.edits.set(statement, list);
    list.push({ at, end, text });
  }

  private guardReference({ name, node, statement }: Reference): void {
    const text = this.guarded(name, this.plan.cellOf.get(statement));
    if (text === name) return;
    const { parent } = node;
    const [at, end] = [node.getStart(), node.end];
    const isTest =
      ts.isBinaryExpression(parent) &&
      parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword &&
      parent.right === node;
    if (isTest && isPlain(parent.left) && !this.own.has(name)) {
      this.edit(statement, parent.getStart(), parent.getStart(), `(${name}!==void 0&&`);
      this.edit(statement, end, end, ")");
      return;
    }
    this.edit(statement, at, end, ts.isShorthandPropertyAssignment(parent) ? `${name}:${text}` : text);
  }

  /** The text of a part of a statement, with its edits. */
  private textOf(statement: Statement, from: number, to: number): string {
    const edits = (this.edits.get(statement) ?? []).filter((one) => one.at >= from && one.end <= to);
    // What is put in before a place comes before what replaces it.
    edits.sort((a, b) => a.at - b.at || a.end - b.end);
    let text = "";
    let at = from;
    for (const one of edits) {
      text += this.flat.text.slice(at, one.at) + one.text;
      at = one.end;
    }
    return text + this.flat.text.slice(at, to);
  }

  private namespaceText(statement: Statement, cell: Cell | undefined): string | undefined {
    const found = namespaceOf(statement.node);
    if (found === undefined) return undefined;
    const names = JSON.stringify(found.names.map(([name]) => name));
    return `$names(${found.target},${names},${this.switchText(found.names, cell)});`;
  }

  /** A function that gives values by name. */
  private switchText(names: readonly (readonly [name: string, own: string])[], from?: Cell): string {
    const cases = names.map(([name, own]) => `case ${JSON.stringify(name)}:return ${this.guarded(own, from)};`);
    return `function(name){switch(name){\n${cases.join("\n")}\n}}`;
  }

  private topNames(): string[] {
    return this.flat.statements.flatMap((one) => (one.file === "" ? [] : one.names));
  }

  /** A statement as it stands, or where it fills variables that are declared elsewhere. */
  private statementText(statement: Statement, cell: Cell | undefined): string {
    const { node } = statement;
    const namespace = this.namespaceText(statement, cell);
    if (namespace !== undefined) return namespace;
    const whole = (from = node.getStart()) => this.textOf(statement, from, node.end);
    if (ts.isFunctionDeclaration(node) && node.body !== undefined) {
      if (this.options.noting)
        this.edit(statement, node.body.getStart() + 1, node.body.getStart() + 1, this.note(statement));
      if (cell === undefined) return whole();
      const { name } = node as { name: ts.Identifier };
      return `${name.text}=${this.textOf(statement, node.getStart(), name.getStart())}${whole(name.end)};`;
    }
    if (cell === undefined) return ts.isClassDeclaration(node) ? `${whole()}${this.classNaming(statement)}` : whole();
    if (ts.isClassDeclaration(node)) return `${node.name?.text}=${whole()};${this.classNaming(statement)}`;
    if (!ts.isVariableStatement(node)) return whole();
    const parts = node.declarationList.declarations.map(({ name, initializer }) => {
      if (initializer === undefined) return "";
      const value = this.textOf(statement, initializer.getStart(), initializer.end);
      return ts.isIdentifier(name) ? `${name.text}=${value};` : `(${name.getText()}=${value});`;
    });
    return parts.join("\n");
  }

  /** Classes carry the names that users know them by, also where bun or a minifier calls them otherwise. */
  private classNaming({ node, file, names: [own = ""] }: Statement): string {
    const members = (node as ts.ClassDeclaration).members;
    if (file === "" || members.some((one) => one.name?.getText() === "name" && isStatic(one))) return "";
    const name = sourceClasses(file).has(own) ? own : plainName(own);
    return `$name(${own},${JSON.stringify(name)});`;
  }

  private note({ file, names }: Statement): string {
    return `(globalThis.touched??=new Set).add(${JSON.stringify(`${file} ${names[0]}`)});`;
  }

  private cellText(cell: Cell): string {
    const { functions, statements, children, id } = cell;
    const file = (statements[0] ?? functions[0])?.file;
    const note =
      this.options.noting && file !== undefined ? `(globalThis.evaluated??=new Set).add(${JSON.stringify(file)});` : "";
    const parts = [
      ...functions.map((one) => this.statementText(one, cell)),
      ...children.map((one) => this.cellText(one)),
      ...statements.map((one) => this.statementText(one, cell)),
    ];
    return `$cells[${id}]=function(){${note}\n${parts.join("\n")}\n};`;
  }

  private importText({ node }: Statement): string {
    const { importClause, moduleSpecifier } = node as ts.ImportDeclaration;
    const named = importClause?.namedBindings as ts.NamedImports;
    const parts = named.elements.map(({ propertyName, name }) =>
      propertyName === undefined ? name.text : `${propertyName.text}:${name.text}`,
    );
    return `var {${parts.join()}}=require(${moduleSpecifier.getText()});`;
  }

  /** The whole file: CommonJS that exports one function, which gives the value of a public name. */
  text(): string {
    const { eager, roots, cells, cellOfName } = this.plan;
    const parts = [
      "(function(){",
      `var ${[...cellOfName.keys()].join()};`,
      `var $cells=[],$parents=[${cells.map((one) => one.parent?.id ?? -1).join()}];`,
      RUNTIME,
      ...this.flat.statements.filter((one) => ts.isImportDeclaration(one.node)).map((one) => this.importText(one)),
      ...roots.map((one) => this.cellText(one)),
      ...eager.filter(({ names }) => names[0] !== "__require").map((one) => this.statementText(one, undefined)),
      ...cells.filter((one) => one.statements.some(({ file }) => INSTALL.test(file))).map((one) => `$$(${one.id});`),
      `$module.exports=${this.switchText([...this.flat.exports])};`,
      this.options.open ? `$module.exports.own=${this.switchText(this.topNames().map((name) => [name, name]))};` : "",
      "})();",
    ];
    // A program may have variables that are called as a module's own.
    return `var $module=module;\n${parts.join("\n").replaceAll("__require(", "require(")}`;
  }
}
