// Calls by name in the package's declarations: what the tables of signatures say of a function or method becomes
// overloads that take an object of its last arguments, behind those that are declared.
import { type Node, Project, SyntaxKind, ts } from "ts-morph";
import { type Parameter, parseSignature, type Signature } from "../signatures/parse.ts";
import { allSignatures, functionSignature } from "../signatures/tables.ts";

/** Kinds where an object is what is given, so that it names nothing. */
const DATA = new Set(["value", "dict", "source"]);

/** Types of what has no parameter of its own in the declaration. */
const BY_KIND: Readonly<Record<string, string>> = {
  int: "number",
  number: "number",
  bool: "boolean",
  string: "string",
  text: "string",
  td: "Td",
  size: "number | readonly number[]",
};

/** Types of a rest argument that is named. */
const REST_BY_KIND: Readonly<Record<string, string>> = {
  size: "number | readonly number[]",
  key: "string | readonly NestedKey[]",
  string: "readonly (string | null)[]",
  td: "readonly Td[]",
  keySet: "readonly (readonly NestedKey[] | ReadonlyMap<string, NestedKey>)[]",
  any: "readonly IndexPart[]",
  item: "readonly unknown[]",
  value: "readonly unknown[]",
};

/** A parameter as it is declared. */
interface Declared {
  /** The types that it may have. */
  types: readonly ts.TypeNode[];
  optional: boolean;
  rest: boolean;
}

type Callable = ts.SignatureDeclarationBase;

function unionOf(node: ts.TypeNode | undefined): readonly ts.TypeNode[] {
  if (node === undefined) return [];
  if (ts.isParenthesizedTypeNode(node)) return unionOf(node.type);
  return ts.isUnionTypeNode(node) ? node.types.flatMap(unionOf) : [node];
}

const isInternal = (node: ts.Node): boolean => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal");

const isThis = (p: ts.ParameterDeclaration): boolean => p.name.getText() === "this";

/** Parameters one by one; those of a rest tuple, too. */
function declaredOf(node: Callable): Declared[] {
  return node.parameters
    .filter((p) => !isThis(p))
    .flatMap((p): Declared[] => {
      const rest = p.dotDotDotToken !== undefined;
      if (rest && p.type !== undefined && ts.isTupleTypeNode(p.type)) {
        return p.type.elements.map((element) => {
          if (ts.isRestTypeNode(element)) return { types: unionOf(element.type), optional: true, rest: true };
          const named = ts.isNamedTupleMember(element);
          const inner = named ? element.type : ts.isOptionalTypeNode(element) ? element.type : element;
          const optional = named ? element.questionToken !== undefined : ts.isOptionalTypeNode(element);
          return { types: unionOf(inner), optional, rest: false };
        });
      }
      const type = rest && p.type !== undefined && ts.isArrayTypeNode(p.type) ? p.type.elementType : p.type;
      return [{ types: unionOf(type), optional: p.questionToken !== undefined, rest }];
    });
}

const isOptions = (node: ts.TypeNode): boolean =>
  ts.isTypeLiteralNode(node) ||
  (ts.isIntersectionTypeNode(node) && node.types.every(isOptions)) ||
  (ts.isTypeReferenceNode(node) && /Options$|^Omit$|^Conversion$/.test(node.typeName.getText()));

const isUndefined = (node: ts.TypeNode): boolean => node.kind === SyntaxKind.UndefinedKeyword;

const isNone = (node: ts.TypeNode): boolean =>
  isUndefined(node) || (ts.isLiteralTypeNode(node) && node.literal.kind === SyntaxKind.NullKeyword);

const textOf = (nodes: readonly ts.TypeNode[]): string => nodes.map((node) => node.getText()).join(" | ");

/** Names of the members of an object type, where they stand in it. */
function literalNames(nodes: readonly ts.TypeNode[]): Set<string> {
  const members = nodes.flatMap((node) => (ts.isTypeLiteralNode(node) ? [...node.members] : []));
  return new Set(members.map((member) => member.name?.getText() ?? ""));
}

class ByName {
  private readonly fixed: readonly Parameter[];
  private readonly rest: Parameter | undefined;
  private readonly given: readonly Declared[];
  private readonly open: Declared | undefined;
  private readonly typeParameters: ReadonlySet<string>;
  private readonly knownNames: Map<string, Set<string>[]>;

  constructor(
    private readonly where: string,
    private readonly signature: Signature,
    node: Callable,
    knownNames: Map<string, Set<string>[]>,
    private readonly handWritten: ReadonlySet<string>,
  ) {
    this.knownNames = knownNames;
    this.fixed = signature.positional.filter(({ rest }) => !rest);
    this.rest = signature.positional.find(({ rest }) => rest);
    const declared = declaredOf(node);
    this.typeParameters = new Set(node.typeParameters?.map(({ name }) => name.text));
    this.given = declared.filter(({ rest }) => !rest);
    this.open = declared.find(({ rest }) => rest);
  }

  /** The type of an argument: what is declared in its place without objects of options, or what its kind says. */
  private type(at: number): string {
    const { kind, name } = this.fixed[at] as Parameter;
    const own = this.given[at]?.types;
    const plain = own?.filter((node) => !isOptions(node) || DATA.has(kind)) ?? [];
    if (plain.length > 0) return textOf(plain);
    if (own !== undefined) return textOf(own);
    const found = BY_KIND[kind] ?? textOf(this.open?.types.filter((node) => !isOptions(node)) ?? []);
    if (found === "") throw new Error(`${this.where}: no type for the argument ${name} of the kind ${kind}`);
    return found;
  }

  /** Arguments that have no place of their own in the declaration are among the options there. */
  private among(at: number): boolean {
    const options = this.options();
    return this.given[at] === undefined && options !== null && !options.startsWith("{");
  }

  /** The type of the options, null without any. */
  private options(): string | null {
    const behind = this.given.slice(this.fixed.length).flatMap(({ types }) => types.filter((node) => !isNone(node)));
    const among = this.open?.types ?? (this.signature.options.length > 0 ? this.given.at(-1)?.types : undefined) ?? [];
    const candidates = behind.length > 0 ? behind : among.filter(isOptions);
    if (candidates.length > 0) return candidates.length > 1 ? `(${textOf(candidates)})` : textOf(candidates);
    if (this.signature.options.length === 0) return null;
    const members = this.signature.options.map(({ name, kind }) => {
      const type = BY_KIND[kind];
      if (type === undefined) throw new Error(`${this.where}: no type for the option ${name} of the kind ${kind}`);
      return `${name}?: ${type}`;
    });
    return `{ ${members.join("; ")} }`;
  }

  /** Whether what is declared in the place of the first argument that is named takes all those names already. */
  private isDeclared(first: number): boolean {
    const wanted = [...this.fixed.slice(first), ...this.signature.options].map(({ name }) => name);
    if (this.rest !== undefined || wanted.length === 0) return false;
    const takesAll = (node: ts.TypeNode): boolean => {
      if (ts.isTypeLiteralNode(node)) return wanted.every((name) => literalNames([node]).has(name));
      if (!ts.isTypeReferenceNode(node)) return false;
      const sets = this.knownNames.get(node.typeName.getText()) ?? [];
      return sets.length > 0 && sets.every((names) => wanted.every((name) => names.has(name)));
    };
    return (this.given[first]?.types ?? []).some(takesAll);
  }

  /** The parameters of an overload that names all arguments from `first` on. */
  private from(first: number, count: number): string | null {
    const places = this.fixed.slice(0, first).map(({ name }, i) => `${safe(name)}: ${this.type(i)}`);
    const members: string[] = [];
    for (let i = first; i < count; i++) {
      if (this.among(i)) continue;
      const { name, optional } = this.fixed[i] as Parameter;
      const own = this.given[i];
      const mayMiss = own?.types.some(isUndefined) || (optional && own?.optional !== false);
      members.push(`${name}${mayMiss ? "?" : ""}: ${this.type(i)}`);
    }
    if (this.rest !== undefined) {
      // A list whose members the result knows.
      const list = this.open?.types.length === 1 ? this.open.types[0]?.getText() : undefined;
      const each = textOf(this.open?.types.filter((node) => !isOptions(node)) ?? []);
      const own = REST_BY_KIND[this.rest.kind] ?? `readonly (${each})[]`;
      const type = list !== undefined && this.typeParameters.has(list) ? list : own;
      members.push(`${this.rest.name}${first === 0 && count === 0 ? "" : "?"}: ${type}`);
    }
    // What is left are options, which are declared.
    if (members.length === 0) return null;
    const options = this.options();
    const all = [`{ ${members.join("; ")} }`, ...(options === null ? [] : [options])].join(" & ");
    return [...places, `given: ${all}`].join(", ");
  }

  /** The parameters of all overloads. */
  all(): string[] {
    if (this.open?.types.some((node) => ts.isTypeReferenceNode(node) && /Arguments$/.test(node.getText()))) return [];
    const inUnion = this.open !== undefined && this.rest === undefined;
    const count = inUnion ? this.fixed.length : Math.min(this.fixed.length, this.given.length);
    if (count === 0 && this.rest === undefined) return [];
    const found: string[] = [];
    const most = inUnion && this.open?.types.some(isOptions) ? this.given.length + 1 : count;
    for (let first = 0; first < most + (this.rest === undefined ? 0 : 1); first++) {
      const at = this.fixed[first] ?? this.rest;
      if (at !== undefined && DATA.has(at.kind)) continue;
      if (this.isDeclared(first)) continue;
      // Declared by hand.
      if (first === 0 && this.handWritten.has(at?.name as string)) continue;
      const parameters = this.from(first, count);
      if (parameters !== null) found.push(parameters);
    }
    return found;
  }
}

const safe = (name: string): string => (["function", "default", "from"].includes(name) ? `${name}_` : name);

/** What stands before the parameters of an overload, and behind them. */
function frame(node: Callable): [string, string] {
  const text = node.getText();
  const start = node.getStart();
  const open = node.parameters.pos - start;
  const close = text.indexOf(")", Math.max(open, node.parameters.end - start));
  const self = node.parameters.find(isThis);
  return [text.slice(0, open) + (self === undefined ? "" : `${self.getText()}, `), text.slice(close)];
}

interface Edit {
  at: number;
  text: string;
}

/** The names of the members of each interface, with those that it inherits. */
function membersByName(project: Project): Map<string, Set<string>[]> {
  const found = new Map<string, Set<string>[]>();
  const inner = (name: string, depth: number): string[] =>
    depth > 8 ? [] : (declared.get(name) ?? []).flatMap((one) => own(one, depth));
  const own = (one: ts.InterfaceDeclaration, depth: number): string[] => {
    const bases = one.heritageClauses?.flatMap(({ types }) => types.map((type) => type.expression.getText())) ?? [];
    return [...one.members.map((m) => m.name?.getText() ?? ""), ...bases.flatMap((base) => inner(base, depth + 1))];
  };
  const all = project.getSourceFiles().flatMap((file) => file.getInterfaces().map((one) => one.compilerNode));
  const declared = Map.groupBy(all, (one) => one.name.text);
  for (const [name, list] of declared)
    found.set(
      name,
      list.map((one) => new Set(own(one, 0))),
    );
  return found;
}

/** The first sentence of a declaration's comment, as a comment. */
function shortComment(node: Callable | undefined): string {
  const doc = (node as unknown as { jsDoc?: ts.JSDoc[] } | undefined)?.jsDoc?.at(-1);
  const text = ts.getTextOfJSDocComment(doc?.comment) ?? "";
  const sentence = /^[\s\S]*?[.;](?=\s|$)/.exec(text)?.[0].replace(/\s+/g, " ").replace(/;$/, ".");
  return sentence === undefined ? "" : `/** ${sentence} */\n`;
}

/** Whether an overload takes so many arguments. */
function takes(node: Callable, count: number): boolean {
  const list = node.parameters.filter((p) => !isThis(p));
  const needed = list.filter((p) => p.questionToken === undefined && p.dotDotDotToken === undefined).length;
  return needed <= count && (count <= list.length || list.at(-1)?.dotDotDotToken !== undefined);
}

/**
 * Overloads for a function, method or constructor that has these declarations. The compiler speaks of the last overload
 * when more than three could have been meant and none fits: then the first one, which people write, is there again.
 */
function edits(
  where: string,
  text: string,
  nodes: readonly Callable[],
  knownNames: Map<string, Set<string>[]>,
): Edit[] {
  const signature = parseSignature(text);
  const comment = shortComment(nodes[0]);
  // Names in objects that are declared in the place of the first argument.
  const handWritten = literalNames(nodes.flatMap((node) => declaredOf(node)[0]?.types ?? []));
  const calls = nodes.flatMap((node) => {
    const [before, behind] = frame(node);
    const all = new ByName(where, signature, node, knownNames, handWritten).all();
    return all.map((parameters) => ({ parameters, text: `${comment}${before}${parameters}${behind}` }));
  });
  if (calls.length === 0) return [];
  const [first, last] = [nodes[0] as Callable, nodes.at(-1) as Callable];
  const lines = [...new Set(calls.map((call) => call.text))];
  const named = new Set(calls.map((call) => call.parameters)).size;
  const isNeeded = (p: ts.ParameterDeclaration) => p.questionToken === undefined && p.dotDotDotToken === undefined;
  const count = Math.max(1, first.parameters.filter((p) => !isThis(p) && isNeeded(p)).length);
  const alike = nodes.filter((node) => takes(node, count)).length + (count === 1 ? named : 0);
  const takesObject = unionOf(first.parameters.find((p) => !isThis(p))?.type).some(isOptions);
  if (alike > 3 && nodes.length > 1 && !takesObject) lines.push(`${comment}${first.getText()}`);
  return [{ at: last.end, text: `\n${lines.join("\n")}` }];
}

/** The names of a class and of what it extends, the nearest first. */
function lineage(project: Project, name: string): string[] {
  const found = [name];
  for (const file of project.getSourceFiles()) {
    const made = file.getClass(name);
    const base = made?.getExtends()?.getExpression().getText();
    if (base !== undefined) return [...found, ...lineage(project, base)];
  }
  return found;
}

function membersOf(node: ts.ClassDeclaration | ts.InterfaceDeclaration): [name: string, Callable[]][] {
  const callable = [...node.members].filter(
    (member) => ts.isMethodDeclaration(member) || ts.isMethodSignature(member) || ts.isConstructorDeclaration(member),
  );
  const isStatic = (member: ts.Node) =>
    ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(({ kind }) => kind === SyntaxKind.StaticKeyword);
  const key = (member: ts.ClassElement | ts.TypeElement) =>
    `${isStatic(member) ? "static " : ""}${ts.isConstructorDeclaration(member) ? "new" : member.name?.getText()}`;
  return [...Map.groupBy(callable, key)].map(([name, list]) => [name, list as Callable[]]);
}

/** Adds the overloads to the declarations that tsc wrote into a folder. */
export function addByName(emitted: string): void {
  const project = new Project({ skipAddingFilesFromTsConfig: true });
  project.addSourceFilesAtPaths(`${emitted}/src/**/*.d.ts`);
  const knownNames = membersByName(project);
  const publicNames = new Map<string, string>();
  for (const file of project.getSourceFiles()) {
    for (const specifier of file.getExportDeclarations().flatMap((one) => one.getNamedExports())) {
      const alias = specifier.getAliasNode()?.getText();
      if (alias !== undefined) publicNames.set(specifier.getName(), alias);
    }
  }
  for (const file of project.getSourceFiles()) {
    const room = file.getFilePath().slice(emitted.length + "/src/".length);
    const found: Edit[] = [];
    const functions = file.getFunctions().map((one) => one.compilerNode);
    for (const [name, nodes] of Map.groupBy(functions, (one) => one.name?.getText() ?? "")) {
      const text = functionSignature(room, publicNames.get(name) ?? name) ?? functionSignature(room, name);
      if (text !== undefined) found.push(...edits(name, text, nodes, knownNames));
    }
    const visit = (node: Node) => {
      const { compilerNode } = node;
      if (!ts.isClassDeclaration(compilerNode) && !ts.isInterfaceDeclaration(compilerNode)) return;
      const owner = compilerNode.name?.getText() ?? "";
      const classes = lineage(project, owner);
      for (const [name, nodes] of membersOf(compilerNode)) {
        const shown = nodes.filter((one) => !isInternal(one));
        if (shown.length === 0) continue;
        for (const text of allSignatures(name === "new" ? [owner] : classes, name)) {
          found.push(...edits(`${owner}.${name}`, text, shown, knownNames));
        }
      }
    };
    file.forEachDescendant(visit);
    if (found.length === 0) continue;
    let text = file.getFullText();
    for (const { at, text: more } of found.sort((a, b) => b.at - a.at))
      text = text.slice(0, at) + more + text.slice(at);
    file.replaceWithText(text);
  }
  project.saveSync();
}
