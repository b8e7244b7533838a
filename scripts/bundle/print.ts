// The text of cells: names are variables of a chunk's scope, and a use of another cell's or chunk's asks first.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../toolchain.mjs";
import { type Cell, isMovable, type Plan, plainName, writtenNames } from "./cells.ts";
import type { Flat, Reference, Statement } from "./flat.ts";

interface Edit {
  at: number;
  end: number;
  text: string;
}

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
  /** One file instead of chunks. */
  whole?: boolean;
  /** Notes each use of what is made apart from its file, and each file that is evaluated, in `globalThis`. */
  noting?: boolean;
  /** Also gives what is no export, by the name that it has in the flat file: `own(name)`. */
  open?: boolean;
}

/** Where a name is used: in a cell, or at the top of a chunk. */
export interface Place {
  cell: Cell | undefined;
  chunk: number;
}

export class Printer {
  /** Names that other chunks ask for, by number. */
  readonly asked = new Map<string, number>();
  /** The names of others that each chunk keeps once it has asked for them. */
  readonly kept = new Map<number, Set<string>>();
  private readonly made = new Map<string, number>();
  private readonly edits = new Map<Statement, Edit[]>();
  private readonly own: Set<string>;
  private readonly movable: ReadonlyMap<string, Statement>;
  private readonly written: ReadonlySet<string>;
  /** Functions that are there from the beginning: chunks take these when they are read. */
  private readonly steady: ReadonlySet<string>;
  private readonly outer: ReadonlySet<string>;

  constructor(
    readonly flat: Flat,
    readonly plan: Plan,
    private readonly options: PrintOptions = {},
  ) {
    this.own = ownInstances(flat.statements);
    this.written = writtenNames(flat);
    const functions = plan.eager.filter((one) => ts.isFunctionDeclaration(one.node));
    this.steady = new Set(functions.flatMap((one) => one.names).filter((name) => !this.written.has(name)));
    const imports = flat.statements.filter((one) => ts.isImportDeclaration(one.node));
    this.outer = new Set(imports.flatMap((one) => one.names));
    this.movable = new Map(flat.statements.filter(isMovable).map((one) => [one.names[0] as string, one]));
    for (const reference of flat.references) this.guardReference(reference);
  }

  /** The chunk in which a name is a variable. */
  private chunkOf(name: string): number {
    return this.options.whole ? 0 : (this.plan.cellOfName.get(name)?.chunk ?? 0);
  }

  placeOf(statement: Statement): Place {
    const cell = this.plan.cellOf.get(statement);
    return { cell, chunk: this.options.whole ? 0 : (cell?.chunk ?? 0) };
  }

  /** The number by which another chunk asks for a name. */
  numberOf(name: string): number {
    const number = this.asked.get(name) ?? this.asked.size;
    this.asked.set(name, number);
    return number;
  }

  /** The place in `$made` where a class stands once it exists: others ask what is an instance of it. */
  private madeOf(name: string): number {
    const number = this.made.get(name) ?? this.made.size;
    this.made.set(name, number);
    return number;
  }

  private keep(chunk: number, name: string): number {
    const names = this.kept.get(chunk) ?? new Set();
    this.kept.set(chunk, names.add(name));
    return this.numberOf(name);
  }

  /** Whether a chunk has a name from another one, of which it keeps what it was given. */
  private isForeign(name: string, { chunk }: Place): boolean {
    return this.chunkOf(name) !== chunk && !this.outer.has(name);
  }

  isSteady(name: string): boolean {
    return this.steady.has(name);
  }

  /** A name where it is sure to have a value. */
  guarded(name: string, from: Place): string {
    if (this.isForeign(name, from)) {
      if (this.written.has(name)) return `$from(${this.numberOf(name)})`;
      const number = this.keep(from.chunk, name);
      return this.steady.has(name) ? name : `(${name}??(${name}=$from(${number})))`;
    }
    const cell = this.plan.cellOfName.get(name);
    if (cell === undefined) return name;
    for (let at = from.cell ?? null; at !== null; at = at.parent) if (at === cell) return name;
    return `(${name}??($$(${cell.id}),${name}))`;
  }

  private edit(statement: Statement, at: number, end: number, text: string): void {
    const list = this.edits.get(statement) ?? [];
    this.edits.set(statement, list);
    list.push({ at, end, text });
  }

  private guardReference({ name, node, statement, writes }: Reference): void {
    const place = this.placeOf(statement);
    const foreign = this.isForeign(name, place);
    if (foreign && writes) throw new Error(`${statement.file}: ${name} is a variable of another chunk`);
    const read = this.movable.get(name);
    const guarded = this.guarded(name, place);
    const text = this.options.noting && read !== undefined ? `(${this.note(read)}${guarded})` : guarded;
    if (text === name) return;
    const { parent } = node;
    const [at, end] = [node.getStart(), node.end];
    const isTest =
      ts.isBinaryExpression(parent) &&
      parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword &&
      parent.right === node;
    if (isTest && isPlain(parent.left) && !this.own.has(name)) {
      // Of a class that does not exist yet nothing is an instance.
      const known = foreign ? `$made[${this.madeOf(name)}]` : name;
      this.edit(statement, parent.getStart(), parent.getStart(), `(${known}!==void 0&&`);
      if (foreign) this.edit(statement, at, end, known);
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

  private namespaceText(statement: Statement, place: Place): string | undefined {
    const found = namespaceOf(statement.node);
    if (found === undefined) return undefined;
    const names = JSON.stringify(found.names.map(([name]) => name));
    return `$names(${found.target},${names},${this.switchText(found.names, place)});`;
  }

  /** A function that gives values by name. */
  switchText(names: readonly (readonly [name: string, own: string])[], from: Place): string {
    const cases = names.map(([name, own]) => `case ${JSON.stringify(name)}:return ${this.guarded(own, from)};`);
    return `function(name){switch(name){\n${cases.join("\n")}\n}}`;
  }

  /** A statement as it stands, or where it fills variables that are declared elsewhere. */
  statementText(statement: Statement): string {
    const { node } = statement;
    const place = this.placeOf(statement);
    const { cell } = place;
    const namespace = this.namespaceText(statement, place);
    if (namespace !== undefined) return namespace;
    const whole = (from = node.getStart()) => this.textOf(statement, from, node.end);
    if (ts.isFunctionDeclaration(node) && node.body !== undefined) {
      if (this.options.noting)
        this.edit(statement, node.body.getStart() + 1, node.body.getStart() + 1, `${this.note(statement)}0;`);
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
    const number = this.made.get(own);
    const made = number === undefined ? "" : `$made[${number}]=${own};`;
    const members = (node as ts.ClassDeclaration).members;
    if (file === "" || members.some((one) => one.name?.getText() === "name" && isStatic(one))) return made;
    const name = sourceClasses(file).has(own) ? own : plainName(own);
    return `${made}$name(${own},${JSON.stringify(name)});`;
  }

  private note({ file, names }: Statement): string {
    return `(globalThis.touched??=new Set).add(${JSON.stringify(`${file} ${names[0]}`)}),`;
  }

  cellText(cell: Cell): string {
    const { functions, statements, children, id } = cell;
    const file = statements.find((one) => !isMovable(one))?.file;
    const note =
      this.options.noting && file !== undefined ? `(globalThis.evaluated??=new Set).add(${JSON.stringify(file)});` : "";
    const within = children.filter((one) => this.options.whole || one.chunk === cell.chunk);
    const parts = [
      ...functions.map((one) => this.statementText(one)),
      ...within.map((one) => this.cellText(one)),
      ...statements.map((one) => this.statementText(one)),
    ];
    return `$cells[${id}]=function(){${note}\n${parts.join("\n")}\n};`;
  }
}
