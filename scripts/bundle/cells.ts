/**
 * Which parts of the library come into being together. A cell is a function of the built file that makes what it holds
 * when one of its names is first touched: a source file, or some functions of one that are seldom called.
 */
import { dirname } from "node:path";
import ts from "typescript";
import type { Flat, Statement } from "./flat.ts";

export interface Cell {
  id: number;
  /** The cell that makes this one; null for those that are there from the beginning. */
  parent: Cell | null;
  functions: Statement[];
  statements: Statement[];
  children: Cell[];
}

/** What a program of a user's kind touches, found by running some (`profile.ts`). */
export interface Profile {
  /** Files that the smallest program evaluates: these are no cells. */
  eager: readonly string[];
  /** The functions of each file that were called. */
  called: Readonly<Record<string, readonly string[]>>;
}

export interface Plan {
  /** What is there from the beginning, in order. */
  eager: readonly Statement[];
  roots: readonly Cell[];
  /** All cells, each after its parent. */
  cells: readonly Cell[];
  /** The cell of each statement that is in one. */
  cellOf: ReadonlyMap<Statement, Cell>;
  /** The cell of each name that is in one. */
  cellOfName: ReadonlyMap<string, Cell>;
}

/** How many functions that nobody calls come into being with one that somebody does. */
const BLOCK = 6;

/** How many blocks a cell of blocks has. */
const BRANCHES = 8;

/** Files with fewer functions that are seldom called keep them. */
const FEW = 6;

/** Files that call native functions when they are evaluated: another one may be filling the call frame by then. */
const AT_ONCE = ["src/dispatch/generator.ts"];

/** A name without the number that the bundler gives to the second of its name. */
export const plainName = (name: string): string => name.replace(/\d+$/, "");

class Planner {
  readonly cells: Cell[] = [];
  readonly roots: Cell[] = [];
  readonly cellOf = new Map<Statement, Cell>();
  private readonly groups = new Map<string, Cell>();

  add(parent: Cell | null): Cell {
    const cell: Cell = { id: this.cells.length, parent, functions: [], statements: [], children: [] };
    this.cells.push(cell);
    (parent === null ? this.roots : parent.children).push(cell);
    return cell;
  }

  /** The cell that makes those of a folder, or those that are seldom touched. */
  group(name: string, isCommon = true): Cell {
    const key = isCommon ? name : `${name}, seldom`;
    let cell = this.groups.get(key);
    if (cell === undefined) {
      cell = this.add(isCommon ? null : this.group(name));
      this.groups.set(key, cell);
    }
    return cell;
  }

  put(cell: Cell, statement: Statement): void {
    const list = ts.isFunctionDeclaration(statement.node) ? cell.functions : cell.statements;
    list.push(statement);
    this.cellOf.set(statement, cell);
  }

  /** The functions of a file that are seldom called, in a cell that makes their blocks. */
  seldom(parent: Cell, functions: readonly Statement[]): void {
    if (functions.length > 0) this.blocks(functions.length > BLOCK ? this.add(parent) : parent, functions);
  }

  /** Functions in blocks of neighbours; many blocks in cells of some. */
  blocks(parent: Cell, functions: readonly Statement[]): void {
    if (functions.length <= BLOCK) {
      const cell = this.add(parent);
      for (const statement of functions) this.put(cell, statement);
      return;
    }
    let size = BLOCK;
    while (functions.length > size * BRANCHES) size *= BRANCHES;
    for (let at = 0; at < functions.length; at += size) {
      const part = functions.slice(at, at + size);
      this.blocks(size > BLOCK ? this.add(parent) : parent, part);
    }
  }
}

/** The functions of a file that are seldom called; none where nobody knows and they are few. */
function seldomOf(statements: readonly Statement[], called: readonly string[] | undefined): Set<Statement> {
  const names = new Set(called?.map(plainName));
  const seldom = statements.filter(
    (one) => ts.isFunctionDeclaration(one.node) && !names.has(plainName(one.names[0] as string)),
  );
  const least = called === undefined ? 64 : FEW;
  return new Set(seldom.length < least ? [] : seldom);
}

/** Cells for all that the profile does not need at import. */
export function planCells({ statements }: Flat, profile: Profile): Plan {
  const eagerFiles = new Set([...profile.eager, ...AT_ONCE]);
  const planner = new Planner();
  const there = new Set<Statement>();
  const byFile = Map.groupBy(statements, (one) => one.file);
  for (const [file, parts] of byFile) {
    const isEager = file === "" || eagerFiles.has(file);
    const seldom = file === "" ? new Set<Statement>() : seldomOf(parts, profile.called[file]);
    const own = parts.filter((one) => !seldom.has(one) && !ts.isImportDeclaration(one.node));
    if (isEager) {
      for (const one of own) there.add(one);
      planner.seldom(planner.group(`seldom ${dirname(file)}`), [...seldom]);
      continue;
    }
    // Cells that a program touches sooner or later make each other; the others of a folder have a cell of their own.
    const isCommon = profile.called[file] !== undefined;
    const cell = planner.add(planner.group(dirname(file), isCommon));
    for (const one of own) planner.put(cell, one);
    planner.seldom(cell, [...seldom]);
  }
  const cellOfName = new Map<string, Cell>();
  for (const [{ names }, cell] of planner.cellOf) for (const name of names) cellOfName.set(name, cell);
  // In the order in which they stand: bun writes the exports of a namespace before all that they name.
  const eager = statements.filter((one) => there.has(one));
  return { eager, roots: planner.roots, cells: planner.cells, cellOf: planner.cellOf, cellOfName };
}
