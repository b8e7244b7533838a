// Every name that a program can reach through `import "zensor"`: functions, classes and their members, constants,
// types and their fields, with what their comments say.
import { join, relative, sep } from "node:path";
import ts from "typescript";
import { examplesUnder } from "./member-examples.ts";

export type Kind = "function" | "class" | "method" | "property" | "constant" | "type" | "field";

export interface PublicName {
  /** `cat`, `io.loadNpy`, `Tensor#add`, `TensorDict.load` (static), `nn.init.ones_`. */
  name: string;
  kind: Kind;
  /** The public class or interface that it is a member of. */
  owner: string | null;
  /** The name that the declaration has in its own file: `MathMethods.add`. */
  declared: string;
  /** Names of the arguments, `?` behind those that may be left out; none for what is not called. */
  parameters: string[];
  file: string;
  line: number;
  text: string;
  /** The example's code, from the comment or from docs/members. */
  example: string | null;
  /** PyTorch's or tensordict's name, of the `@torch` tag. */
  torch: string | null;
}

export interface Inventoried {
  names: PublicName[];
  /** Headings of the examples' folder that name nothing. */
  strangers: string[];
  /** Second names of functions, in an object of functions: `special.expit` and `sigmoid`. */
  aliases: (readonly [string, string])[];
  /** Members that no declaration has: a mapped type makes them, and no text can stand at them. */
  unwritten: string[];
}

const root = join(import.meta.dir, "..", "..");
const { SymbolFlags: Flag } = ts;

/** What a language protocol calls, nobody writes. */
const PROTOCOL = /^(toString|toJSON|then)$/;

class Inventory {
  readonly #checker: ts.TypeChecker;
  readonly #names = new Map<ts.Declaration, PublicName>();
  readonly #entry: ts.Symbol;
  /** Classes by their public names. */
  readonly #classes = new Map<string, { instance: ts.Type; statics: ts.Type }>();
  readonly #examples = new Map<string, string>();
  readonly #seconds: { name: string; declaration: ts.Declaration }[] = [];
  /** Members that a type computes: nothing can say what they are. */
  readonly #unwritten: string[] = [];

  constructor() {
    const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
    const files = ["src/index.ts"];
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: undefined, files }, ts.sys, root);
    const entry = join(root, "src", "index.ts");
    const program = ts.createProgram([entry], { ...options, incremental: false, tsBuildInfoFile: undefined });
    this.#checker = program.getTypeChecker();
    const source = program.getSourceFile(entry);
    this.#entry = this.#checker.getSymbolAtLocation(source as ts.SourceFile) as ts.Symbol;
  }

  /** All names, in the order of the exports; what is wrong with headings and members. */
  read(folder: string): Inventoried {
    for (const { name, code } of examplesUnder(folder)) {
      const before = this.#examples.get(name);
      this.#examples.set(name, before === undefined ? code : `${before}\n\n${code}`);
    }
    this.#module("", this.#entry, 0);
    // A class before those that extend it, so that a member is named by the class that has it first.
    const classes = [...this.#classes].sort((a, b) => this.#depth(a[1].instance) - this.#depth(b[1].instance));
    for (const [name] of classes) this.#members(name);
    const used = this.#spread();
    this.#inherit();
    const strangers = [...this.#examples.keys()].filter((name) => !used.has(name));
    const names = [...this.#names.values()];
    const aliases = this.#seconds.flatMap(({ name, declaration }) => {
      const row = this.#names.get(declaration);
      return row === undefined ? [] : [[name, row.name] as const];
    });
    return { names, strangers, aliases, unwritten: this.#unwritten };
  }

  #depth(type: ts.Type): number {
    const [base] = this.#basesOf(type);
    return base === undefined ? 1 : 1 + this.#depth(base);
  }

  #basesOf(type: ts.Type): ts.Type[] {
    const target = (type as ts.TypeReference).target ?? type;
    return target.isClassOrInterface() ? this.#checker.getBaseTypes(target) : [];
  }

  /** Examples of docs/members, each to the declaration that its heading names. */
  #spread(): Set<string> {
    const used = new Set<string>();
    for (const [heading, code] of this.#examples) {
      const [owner = "", member] = heading.split(/#|(?<=[A-Z]\w*)\.(?=\w+$)/);
      const type = this.#classes.get(owner)?.[heading.includes("#") ? "instance" : "statics"];
      const found = member === undefined ? undefined : type?.getProperty(member)?.declarations?.find(isOurs);
      const row =
        found !== undefined
          ? this.#names.get(found)
          : [...this.#names.values()].find((one) => one.name === heading && one.kind !== "type");
      if (row === undefined) continue;
      used.add(heading);
      row.example = row.example === null ? code : `${row.example}\n\n${code}`;
    }
    return used;
  }

  /** A method that overrides one of a public class has the example of that one, as it has its text. */
  #inherit(): void {
    for (const { instance } of this.#classes.values()) {
      for (const member of instance.getProperties()) {
        const row = this.#rowOf(member);
        if (row === undefined || row.example !== null) continue;
        for (let [base] = this.#basesOf(instance); base !== undefined; [base] = this.#basesOf(base)) {
          row.example ??= this.#rowOf(base.getProperty(member.name))?.example ?? null;
        }
      }
    }
  }

  #rowOf(symbol: ts.Symbol | undefined): PublicName | undefined {
    const declaration = symbol?.declarations?.find(isOurs);
    return declaration === undefined ? undefined : this.#names.get(declaration);
  }

  #module(prefix: string, module: ts.Symbol, depth: number): void {
    const target = (s: ts.Symbol) => (s.flags & Flag.Alias ? this.#checker.getAliasedSymbol(s) : s);
    // The shortest name of a thing first, and its own before its second names.
    const rank = (s: ts.Symbol) => (target(s).flags & Flag.ValueModule ? 2 : target(s).name === s.name ? 0 : 1);
    for (const exported of this.#checker.getExportsOfModule(module).sort((a, b) => rank(a) - rank(b))) {
      const symbol = target(exported);
      const name = prefix + exported.name;
      if (symbol.flags & Flag.Class) {
        const declaration = symbol.declarations?.find(isOurs);
        if (declaration !== undefined && this.#names.has(declaration)) continue;
        this.#add(name, "class", symbol, null);
        const instance = this.#checker.getDeclaredTypeOfSymbol(symbol);
        this.#classes.set(name, { instance, statics: this.#checker.getTypeOfSymbol(symbol) });
      } else if (symbol.flags & Flag.ValueModule) {
        if (depth < 4) this.#module(`${name}.`, symbol, depth + 1);
      } else if (symbol.flags & Flag.Function) this.#add(name, "function", symbol, null);
      else if (symbol.flags & Flag.Variable) this.#variable(name, symbol);
      if (symbol.flags & (Flag.Interface | Flag.TypeAlias) && !(symbol.flags & Flag.Class)) this.#type(name, symbol);
    }
  }

  /** A constant; one that makes objects is a class, one that holds functions a namespace. */
  #variable(name: string, symbol: ts.Symbol): void {
    const type = this.#checker.getTypeOfSymbol(symbol);
    const instance = type.getConstructSignatures()[0]?.getReturnType();
    if (instance !== undefined) {
      this.#add(name, "class", symbol, null);
      this.#classes.set(name, { instance, statics: type });
      return;
    }
    const members = this.#checker.getPropertiesOfType(type);
    const functions = members.filter((m) => m.valueDeclaration && ts.isPropertyAssignment(m.valueDeclaration));
    this.#add(name, "constant", symbol, null);
    for (const member of members) {
      const place = member.valueDeclaration;
      if (place === undefined || !isOurs(place) || !ts.isShorthandPropertyAssignment(place)) continue;
      const [signature] = this.#checker.getTypeOfSymbol(member).getCallSignatures();
      const declaration = signature?.declaration as ts.Declaration | undefined;
      if (declaration !== undefined) this.#seconds.push({ name: `${name}.${member.name}`, declaration });
    }
    for (const member of functions) {
      const value = (member.valueDeclaration as ts.PropertyAssignment).initializer;
      const target = this.#checker.getSymbolAtLocation(value);
      if (target !== undefined) this.#add(`${name}.${member.name}`, "function", target, name);
    }
  }

  #type(name: string, symbol: ts.Symbol): void {
    this.#add(name, "type", symbol, null);
    if (!(symbol.flags & Flag.Interface)) return;
    for (const member of this.#checker.getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(symbol))) {
      if (isVisible(member)) this.#add(`${name}#${member.name}`, "field", member, name);
    }
  }

  #members(name: string): void {
    const { instance, statics } = this.#classes.get(name) as { instance: ts.Type; statics: ts.Type };
    const isMethod = (m: ts.Symbol) =>
      m.declarations?.some((d) => ts.isMethodDeclaration(d) || ts.isMethodSignature(d));
    const kind = (m: ts.Symbol): Kind => (isMethod(m) && !PROTOCOL.test(m.name) ? "method" : "property");
    for (const m of instance.getProperties()) {
      if (isVisible(m)) this.#add(`${name}#${m.name}`, kind(m), m, name);
      else if (!m.declarations?.length) this.#unwritten.push(`${name}#${m.name}`);
    }
    for (const m of statics.getProperties()) {
      if (m.name !== "prototype" && isVisible(m)) this.#add(`${name}.${m.name}`, kind(m), m, name);
    }
  }

  #parameters(symbol: ts.Symbol, declaration: ts.Declaration): string[] {
    const [signature] = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration).getCallSignatures();
    return (signature?.parameters ?? []).map((one) => {
      const place = one.valueDeclaration as ts.ParameterDeclaration;
      const optional = place.questionToken !== undefined || place.initializer !== undefined;
      return `${place.dotDotDotToken === undefined ? "" : "..."}${one.name}${optional ? "?" : ""}`;
    });
  }

  #add(name: string, kind: Kind, symbol: ts.Symbol, owner: string | null): void {
    const declaration = symbol.declarations?.find(isOurs);
    if (declaration === undefined || this.#names.has(declaration)) return;
    const tags = symbol.getJsDocTags(this.#checker);
    const tag = (wanted: string) => {
      const found = tags.filter((one) => one.name === wanted);
      return found.length === 0 ? null : found.map((one) => ts.displayPartsToString(one.text)).join("\n\n");
    };
    // A size by its place has no text of its own.
    if (tag("internal") !== null || /#\d+$/.test(name)) return;
    const source = declaration.getSourceFile();
    const parent = declaration.parent as { name?: ts.Node };
    const within = owner !== null && parent.name !== undefined ? `${parent.name.getText(source)}.` : "";
    this.#names.set(declaration, {
      name,
      kind,
      owner,
      declared: within + symbol.name,
      parameters: this.#parameters(symbol, declaration),
      file: relative(root, source.fileName).split(sep).join("/"),
      line: source.getLineAndCharacterOfPosition(declaration.getStart(source)).line + 1,
      text: ts.displayPartsToString(symbol.getDocumentationComment(this.#checker)).trim(),
      example: tag("example"),
      torch: tag("torch")?.split("\n\n")[0]?.trim() ?? null,
    });
  }
}

function isOurs(declaration: ts.Node): boolean {
  const { fileName } = declaration.getSourceFile();
  return fileName.startsWith(`${root}/`) && !fileName.includes("/node_modules/");
}

/** Not the members of a language protocol (`Symbol.iterator`), nor what begins with an underscore. */
function isVisible(member: ts.Symbol): boolean {
  const declaration = member.declarations?.find(isOurs);
  if (declaration === undefined || /^(_|#)/.test(member.name)) return false;
  return !(ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected));
}

/** All public names. */
export function publicNames(folder = join(root, "docs", "members")): Inventoried {
  return new Inventory().read(folder);
}

/** What a name lacks: its text, or its example. */
export function lacks(row: PublicName, all: readonly PublicName[]): "text" | "example" | null {
  if (row.text === "") return "text";
  if (row.kind === "type" || row.kind === "field" || row.example !== null) return null;
  const last = row.name.split(/[.#]/).at(-1) as string;
  if (row.kind === "property") {
    // Shown by an example of its class or of another member of it.
    if (PROTOCOL.test(last)) return null;
    const family = all.filter((one) => one.name === row.owner || one.owner === row.owner);
    return family.some((one) => one.example?.includes(`.${last}`)) ? null : "example";
  }
  return "example";
}

if (import.meta.main) {
  const { names, strangers } = publicNames();
  const poor = names.map((row) => ({ row, without: lacks(row, names) })).filter(({ without }) => without !== null);
  for (const { row, without } of poor) console.log(`${row.name} (${row.kind}, ${row.file}:${row.line}): no ${without}`);
  for (const name of strangers) console.log(`docs/members: there is no ${name}`);
  console.log(`${names.length} public names, ${poor.length} of them without text or example`);
}
