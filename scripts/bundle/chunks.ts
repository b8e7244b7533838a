// Writes the built files: the first has what is there from the beginning, and how cells are run and chunks are read.
import ts from "typescript";
import { type Cell, CHUNKS, type Plan } from "./cells.ts";
import type { Flat, Statement } from "./flat.ts";
import { Printer, type PrintOptions } from "./print.ts";

/** How cells are run; `$$`, `$cells` and the like are no names of ours. A cell that ran is null. */
const RUNTIME = `
function $$(id) {
  if ($parents[id] >= 0) $$($parents[id]);
  if ($cells[id] === undefined) $read($chunks[id]);
  const cell = $cells[id];
  if (cell === null || cell === undefined) return;
  $cells[id] = null;
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

/** How a chunk comes by the names of others: by number, each with the chunk and the cell that it is in. */
const ACROSS = `
function $read(chunk) { $values[chunk] ??= $open(chunk)($own); }
function $from(n) {
  const chunk = $placed[n];
  $read(chunk);
  const value = $values[chunk](n);
  if (value !== undefined && value !== null || $celled[n] < 0) return value;
  $$($celled[n]);
  return $values[chunk](n);
}
`;

/** Files that nobody takes a name from: what they do, they do when the library is imported. */
const INSTALL = /\/install\.ts$/;

function importText({ node }: Statement): string {
  const { importClause, moduleSpecifier } = node as ts.ImportDeclaration;
  const named = importClause?.namedBindings as ts.NamedImports;
  const parts = named.elements.map(({ propertyName, name }) =>
    propertyName === undefined ? name.text : `${propertyName.text}:${name.text}`,
  );
  return `var {${parts.join()}}=require(${moduleSpecifier.getText()});`;
}

const variables = (names: Iterable<string>): string => {
  const list = [...names].join();
  return list === "" ? "" : `var ${list};`;
};

/**
 * A chunk's file. A program may have variables called as a module's own. The text stands in a class, whose code
 * is strict as modules are: bun leaves out what files say of that.
 */
const asModule = (text: string) => `var $module=module;\n${text.replaceAll("__require(", "require(")}`;

class Writer {
  private readonly printer: Printer;

  constructor(
    private readonly flat: Flat,
    private readonly plan: Plan,
    private readonly options: PrintOptions,
  ) {
    this.printer = new Printer(flat, plan, options);
  }

  private chunkOf(cell: Cell | undefined): number {
    return this.options.whole ? 0 : (cell?.chunk ?? 0);
  }

  /** The imports of other modules that a chunk uses. */
  private imports(chunk: number): string[] {
    const used = new Set<string>();
    for (const { name, statement } of this.flat.references) {
      if (this.chunkOf(this.plan.cellOf.get(statement)) === chunk) used.add(name);
    }
    const imports = this.flat.statements.filter((one) => ts.isImportDeclaration(one.node));
    return imports.filter((one) => one.names.some((name) => used.has(name))).map(importText);
  }

  /** The cells that a chunk itself makes: those in it that no other cell of it makes. */
  private cells(chunk: number): string[] {
    const tops = this.plan.cells.filter(
      (one) => this.chunkOf(one) === chunk && (one.parent === null || this.chunkOf(one.parent) !== chunk),
    );
    return tops.map((one) => this.printer.cellText(one));
  }

  /** Variables for the names of a chunk's cells, and for those of other chunks. */
  private variables(chunk: number): string[] {
    const names = [...this.plan.cellOfName].flatMap(([name, cell]) => (this.chunkOf(cell) === chunk ? [name] : []));
    const kept = [...(this.printer.kept.get(chunk) ?? [])];
    const steady = kept.filter((name) => this.printer.isSteady(name));
    const taken = steady.map((name) => `${name}=$from(${this.printer.numberOf(name)});`);
    return [variables([...names, ...kept]), taken.join("")];
  }

  /** A function that gives the names of a chunk by number, as they are. */
  private valuesText(chunk: number): string {
    const asked = [...this.printer.asked].filter(([name]) => this.chunkOf(this.plan.cellOfName.get(name)) === chunk);
    const cases = asked.map(([name, number]) => `case ${number}:return ${name};`);
    return `function(n){switch(n){\n${cases.join("\n")}\n}}`;
  }

  /** A chunk that the first one reads. */
  private furtherText(chunk: number, body: readonly string[]): string {
    return asModule(
      [
        "$module.exports=(class{static read({$$,$cells,$from,$made,$name,$names,$module}){",
        ...this.imports(chunk),
        ...this.variables(chunk),
        ...body,
        `return ${this.valuesText(chunk)};`,
        "}}).read;",
      ].join("\n"),
    );
  }

  private acrossText(): string[] {
    if (this.options.whole) return ["function $read(){}"];
    const asked = [...this.printer.asked.keys()].map((name) => this.plan.cellOfName.get(name));
    const chunks = asked.map((cell) => this.chunkOf(cell));
    const celled = asked.map((cell) => cell?.id ?? -1);
    const cases = CHUNKS.map((name, n) => (n === 0 ? "" : `case ${n}:return require("./zensor.${name}.js");`));
    return [
      ACROSS,
      `function $open(chunk){switch(chunk){\n${cases.join("\n")}\n}}`,
      `var $placed=[${chunks.join()}],$celled=[${celled.join()}];`,
      `var $values=[${this.valuesText(0)}],$own={$$,$cells,$from,$made,$name,$names,$module};`,
    ];
  }

  /** What the first chunk does: it exports one function, which gives the value of a public name. */
  private firstBody(): string[] {
    const { eager, cells } = this.plan;
    const top = { cell: undefined, chunk: 0 };
    const own = this.flat.statements.flatMap((one) => (one.file === "" ? [] : one.names));
    const ownValues = () =>
      this.printer.switchText(
        own.map((name) => [name, name]),
        top,
      );
    return [
      ...this.cells(0),
      ...eager.filter(({ names }) => names[0] !== "__require").map((one) => this.printer.statementText(one)),
      ...cells.filter((one) => one.statements.some(({ file }) => INSTALL.test(file))).map((one) => `$$(${one.id});`),
      `$module.exports=${this.printer.switchText([...this.flat.exports], top)};`,
      this.options.open ? `$module.exports.own=${ownValues()};` : "",
    ];
  }

  private firstText(body: readonly string[]): string {
    const { cells } = this.plan;
    return asModule(
      [
        "(class{static read(){",
        ...this.variables(0),
        `var $cells=[],$parents=[${cells.map((one) => one.parent?.id ?? -1).join()}];`,
        `var $chunks=[${cells.map((one) => this.chunkOf(one)).join()}];`,
        "var $made=[];",
        RUNTIME,
        ...this.imports(0),
        ...this.acrossText(),
        ...body,
        "}}).read();",
      ].join("\n"),
    );
  }

  /** The texts of all chunks, or of the one file. */
  texts(): string[] {
    const chunks = this.options.whole ? [0] : CHUNKS.keys();
    // Only when all bodies are written is it known what chunks ask of each other.
    const bodies = [...chunks].map((n) => (n === 0 ? this.firstBody() : this.cells(n)));
    return bodies.map((body, n) => (n === 0 ? this.firstText(body) : this.furtherText(n, body)));
  }
}

/** The library's text: a file for each chunk, or one. */
export function chunkTexts(flat: Flat, plan: Plan, options: PrintOptions = {}): string[] {
  return new Writer(flat, plan, options).texts();
}
