/**
 * Which parts of the library come into being together. A cell is a function of the built files that makes what it holds
 * when one of its names is first touched: what a source file evaluates, or some functions. A chunk is a built file: a
 * program reads the first, and each other when it touches one of its cells.
 */
import { dirname } from "node:path";
import ts from "typescript";
import type { Flat, Statement } from "./flat.ts";

export interface Cell {
  id: number;
  /** The cell that makes this one; null for those that are there from the beginning. */
  parent: Cell | null;
  /** The chunk that holds it, by its place in `CHUNKS`. */
  chunk: number;
  functions: Statement[];
  statements: Statement[];
  children: Cell[];
}

/** What programs of a user's kind touch, found by running some (`profile.ts`). */
export interface Profile {
  /** The files that were evaluated, each with the first program that did. */
  evaluated: Readonly<Record<string, string>>;
  /** What each call of a program was the first to use: functions with their files, in the order of their use. */
  calls: readonly { readonly program: string; readonly functions: readonly string[] }[];
}

export interface Plan {
  /** What is there from the beginning, in order. */
  eager: readonly Statement[];
  /** All cells, by their ids. */
  cells: readonly Cell[];
  /** The cell of each statement that is in one. */
  cellOf: ReadonlyMap<Statement, Cell>;
  /** The cell of each name that is in one. */
  cellOfName: ReadonlyMap<string, Cell>;
}

/** The built files, each with what stands in it. */
export const CHUNKS = ["compiled", "common", "dictionaries", "operators", "collections", "formats"] as const;
type Chunk = (typeof CHUNKS)[number];

/** The program for which all is there at import, and those that go on to dictionaries and modules. */
export const SMALLEST = "smallest";
const FURTHER = new Set(["modules", "dictionaries"]);

/** How many functions that nobody calls come into being with one that somebody does. */
const BLOCK = 6;

/** How many cells one makes at most: each is a function that waits. */
const BRANCHES = 8;

/** What a call needs of so few functions comes with what the call after it needs. */
const FEW = 3;

/** A name without the number that the bundler gives to the second of its name. */
export const plainName = (name: string): string => name.replace(/\d+$/, "");

/** Files whose functions stay: what they do depends on where the library lies. */
const WHOLE = new Set(["src/ffi/library.ts"]);

const isLiteral = (node: ts.Node) =>
  ts.isNumericLiteral(node) ||
  ts.isStringLiteral(node) ||
  [ts.SyntaxKind.NullKeyword, ts.SyntaxKind.TrueKeyword, ts.SyntaxKind.FalseKeyword].includes(node.kind);

/** An expression that only reads names and makes plain objects of them. */
function isPlainValue(node: ts.Node): boolean {
  if (ts.isObjectLiteralExpression(node)) {
    return node.properties.every((one) => ts.isPropertyAssignment(one) && isPlainValue(one.initializer));
  }
  if (ts.isArrayLiteralExpression(node)) return node.elements.every(isPlainValue);
  if (ts.isPropertyAccessExpression(node)) return isPlainValue(node.expression);
  return ts.isIdentifier(node) || isLiteral(node);
}

/** A generated constant that is made of these: it may be made when it is first used. */
function isPlainConstant({ node, file }: Statement): boolean {
  if (!file.startsWith("generated/") || !ts.isVariableStatement(node)) return false;
  const { declarations } = node.declarationList;
  const [{ initializer } = { initializer: undefined }] = declarations;
  if (declarations.length !== 1 || initializer === undefined) return false;
  if (ts.isObjectLiteralExpression(initializer)) return isPlainValue(initializer);
  if (!ts.isNewExpression(initializer)) return false;
  return ts.isIdentifier(initializer.expression) && initializer.arguments?.every(isLiteral) === true;
}

/** Statements that need not be made together with their file: each is when its name is first used. */
export const isMovable = (statement: Statement): boolean =>
  ts.isFunctionDeclaration(statement.node) ? !WHOLE.has(statement.file) : isPlainConstant(statement);

/** Where stands what none of the programs touched. */
function seldomChunk(file: string): Chunk {
  if (/^src\/(io|cuda|testing|profiler|tensordict\/disk)\//.test(file)) return "formats";
  return /^src\/(tensordict|nn|distributions|func)\//.test(file) ? "collections" : "operators";
}

class Planner {
  readonly cells: Cell[] = [];
  readonly cellOf = new Map<Statement, Cell>();
  private readonly groups = new Map<string, Cell>();

  add(parent: Cell | null, chunk: Chunk): Cell {
    const cell: Cell = {
      id: this.cells.length,
      parent,
      chunk: CHUNKS.indexOf(chunk),
      functions: [],
      statements: [],
      children: [],
    };
    this.cells.push(cell);
    parent?.children.push(cell);
    return cell;
  }

  /** The cell that makes those of a folder in one chunk. */
  group(folder: string, chunk: Chunk): Cell {
    const key = `${chunk} ${folder}`;
    let cell = this.groups.get(key);
    if (cell === undefined) {
      cell = this.add(null, chunk);
      this.groups.set(key, cell);
    }
    return cell;
  }

  put(cell: Cell, statements: readonly Statement[]): void {
    for (const one of statements) {
      (ts.isFunctionDeclaration(one.node) ? cell.functions : cell.statements).push(one);
      this.cellOf.set(one, cell);
    }
  }

  /** The functions of a file that nobody called. */
  seldom(file: string, functions: readonly Statement[]): void {
    const chunk = seldomChunk(file);
    const parent = this.group(dirname(file), chunk);
    this.blocks(functions.length > BLOCK ? this.add(parent, chunk) : parent, functions, chunk);
  }

  /** Functions in blocks of neighbours. */
  blocks(parent: Cell, functions: readonly Statement[], chunk: Chunk): void {
    for (let at = 0; at < functions.length; at += BLOCK) {
      this.put(this.add(parent, chunk), functions.slice(at, at + BLOCK));
    }
  }

  /** Cells between those that make many and what they make. */
  balance(): void {
    for (const cell of this.cells) {
      while (cell.children.length > BRANCHES) {
        const made = cell.children.splice(0);
        for (let at = 0; at < made.length; at += BRANCHES) {
          const part = made.slice(at, at + BRANCHES);
          if (part.length === 1) cell.children.push(...part);
          else this.adopt(this.add(cell, CHUNKS[cell.chunk] as Chunk), part);
        }
      }
    }
  }

  private adopt(parent: Cell, cells: readonly Cell[]): void {
    parent.children.push(...cells);
    for (const one of cells) one.parent = parent;
  }
}

/** The names that functions of the library give other values. */
export function writtenNames(flat: Flat): ReadonlySet<string> {
  return new Set(flat.references.flatMap(({ name, writes }) => (writes ? [name] : [])));
}

/** Variables without a value at first, each with the one function that uses it. */
function ownedVariables(flat: Flat): Map<Statement, Statement> {
  const users = new Map<string, Set<Statement>>();
  for (const { name, statement } of flat.references) users.set(name, (users.get(name) ?? new Set()).add(statement));
  const owned = new Map<Statement, Statement>();
  for (const one of flat.statements) {
    const { node, names } = one;
    if (!ts.isVariableStatement(node) || node.declarationList.declarations.some((each) => each.initializer)) continue;
    const found = new Set(names.flatMap((name) => [...(users.get(name) ?? [])]));
    const [user] = found;
    if (found.size === 1 && user !== undefined && ts.isFunctionDeclaration(user.node)) owned.set(one, user);
  }
  return owned;
}

/** What is known of each statement before cells are made. */
class Survey {
  readonly owned: ReadonlyMap<Statement, Statement>;
  readonly byFile: ReadonlyMap<string, readonly Statement[]>;
  private readonly movable: ReadonlySet<Statement>;
  private readonly named = new Map<string, Statement>();
  private readonly alike: ReadonlyMap<string, readonly Statement[]>;

  constructor(
    flat: Flat,
    readonly profile: Profile,
  ) {
    this.owned = ownedVariables(flat);
    this.byFile = Map.groupBy(
      flat.statements.filter((one) => !ts.isImportDeclaration(one.node) && !this.owned.has(one)),
      (one) => one.file,
    );
    const ownedNames = new Set([...this.owned.keys()].flatMap((one) => one.names));
    // Functions that use a variable which changes stay with it, in its file: another chunk would ask for it each time.
    const changing = new Set([...writtenNames(flat)].filter((name) => !ownedNames.has(name)));
    const bound = new Set(flat.references.flatMap(({ name, statement }) => (changing.has(name) ? [statement] : [])));
    const movable = flat.statements.filter((one) => one.file !== "" && isMovable(one) && !bound.has(one));
    for (const one of movable) this.named.set(`${one.file} ${one.names[0]}`, one);
    this.alike = Map.groupBy(movable, (one) => `${one.file} ${plainName(one.names[0] as string)}`);
    this.movable = new Set(movable);
  }

  isEager(file: string): boolean {
    return file === "" || this.profile.evaluated[file] === SMALLEST;
  }

  isMovable(one: Statement): boolean {
    return this.movable.has(one);
  }

  /** The statement that a line of the profile means: it may be gone, or have another number by now. */
  find(name: string): Statement | undefined {
    const alike = this.alike.get(plainName(name));
    return this.named.get(name) ?? (alike?.length === 1 ? alike[0] : undefined);
  }
}

/** Cells for all that the profile does not need at import. */
export function planCells(flat: Flat, profile: Profile): Plan {
  const survey = new Survey(flat, profile);
  const planner = new Planner();
  const there = new Set<Statement>();
  planFiles(planner, survey, there);
  planCalls(planner, survey, there);
  for (const [file, statements] of survey.byFile) {
    const isLeft = (one: Statement) => survey.isMovable(one) && !planner.cellOf.has(one) && !there.has(one);
    const seldom = statements.filter(isLeft);
    if (seldom.length > 0) planner.seldom(file, seldom);
  }
  planner.balance();
  for (const [variable, user] of survey.owned) {
    const cell = planner.cellOf.get(user);
    if (cell !== undefined) planner.put(cell, [variable]);
    else there.add(variable);
  }
  // A constant may be made of one that stands before it.
  const order = new Map(flat.statements.map((one, n) => [one, n]));
  for (const cell of planner.cells) cell.statements.sort((x, y) => (order.get(x) ?? 0) - (order.get(y) ?? 0));
  const cellOfName = new Map<string, Cell>();
  for (const [{ names }, cell] of planner.cellOf) for (const name of names) cellOfName.set(name, cell);
  // In the order in which they stand: bun writes the exports of a namespace before all that they name.
  const eager = flat.statements.filter((one) => there.has(one));
  return { eager, cells: planner.cells, cellOf: planner.cellOf, cellOfName };
}

const chunkOf = (program: string): Chunk => (FURTHER.has(program) ? "dictionaries" : "common");

/** What is made when a file is evaluated: a cell of the file, or nothing to wait for. */
function planFiles(planner: Planner, survey: Survey, there: Set<Statement>): void {
  for (const [file, statements] of survey.byFile) {
    const own = statements.filter((one) => !survey.isMovable(one));
    if (survey.isEager(file)) {
      for (const one of own) there.add(one);
      continue;
    }
    const program = survey.profile.evaluated[file];
    const chunk = program === undefined ? seldomChunk(file) : chunkOf(program);
    const cell = planner.add(planner.group(dirname(file), chunk), chunk);
    planner.put(cell, own);
  }
}

/** What a call is the first to use comes into being together, from whichever files. */
function planCalls(planner: Planner, survey: Survey, there: Set<Statement>): void {
  let waiting: Statement[] = [];
  let last = "";
  const make = (): void => {
    if (waiting.length > 0) planner.put(planner.add(planner.group(last, chunkOf(last)), chunkOf(last)), waiting);
    waiting = [];
  };
  for (const { program, functions } of survey.profile.calls) {
    const found = new Set(functions.map((name) => survey.find(name)).filter((one) => one !== undefined));
    if (program === SMALLEST) {
      for (const one of found) there.add(one);
      continue;
    }
    if (program !== last) make();
    last = program;
    waiting.push(...found);
    if (waiting.length >= FEW) make();
  }
  make();
}
