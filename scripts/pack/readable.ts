// What editors show of the package's declarations: namespaces under their own names, whose members are the things
// themselves and not other names of them, members of a class under the class's name, and nothing of what is internal.
import ts from "typescript";

interface Edit {
  from: number;
  to: number;
  text: string;
}

/** The text with parts replaced; parts within parts that go are gone with them. */
function edited(text: string, edits: readonly Edit[]): string {
  let [out, at] = ["", 0];
  for (const { from, to, text: now } of [...edits].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (from < at) continue;
    out += text.slice(at, from) + now;
    at = to;
  }
  return out + text.slice(at);
}

const parse = (text: string): ts.SourceFile => ts.createSourceFile("zensor.d.ts", text, ts.ScriptTarget.Latest, true);

/** From the comment of a node to its end, with the rest of its line. */
function whole(node: ts.Node, text: string): Edit {
  const from = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1)?.pos ?? node.getStart();
  const line = text.lastIndexOf("\n", from) + 1;
  const isAlone = text.slice(line, from).trim() === "" && text[node.end] === "\n";
  return { from: isAlone ? line : from, to: isAlone ? node.end + 1 : node.end, text: "" };
}

const isTagged = (node: ts.Node): boolean => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal");

/** Names of members that types are found by: `T extends { readonly _schema: infer S }`. */
function namesInTypes(source: ts.SourceFile): Set<string> {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isTypeLiteralNode(node)) {
      for (const member of node.members) if (member.name !== undefined) found.add(member.name.getText());
    }
    if (ts.isIndexedAccessTypeNode(node) && ts.isLiteralTypeNode(node.indexType)) {
      found.add(node.indexType.getText().slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether a member tells classes apart, or what a type parameter of its class is, and perhaps nothing else does. */
function isMark(node: ts.Node): boolean {
  const owner = node.parent;
  if (!ts.isClassDeclaration(owner) && !ts.isInterfaceDeclaration(owner)) return false;
  if (!ts.isPropertyDeclaration(node) && !ts.isPropertySignature(node) && !ts.isGetAccessor(node)) return false;
  if (node.type !== undefined && ts.isLiteralTypeNode(node.type) && ts.isStringLiteral(node.type.literal)) return true;
  const type = node.type?.getText() ?? "";
  return (owner.typeParameters ?? []).some(({ name }) => new RegExp(`\\b${name.text}\\b`).test(type));
}

/** Takes internal members out; those that types are found by get a name that no program can write. */
function withoutInternals(text: string): string {
  const source = parse(text);
  const needed = namesInTypes(source);
  const edits: Edit[] = [];
  const symbols = new Set<string>();
  const visit = (node: ts.Node): void => {
    const own = (ts.isClassElement(node) || ts.isTypeElement(node)) && !ts.isConstructorDeclaration(node) && node.name;
    const name = own ? own.getText() : undefined;
    if (own && name !== undefined && (/^_[a-zA-Z]/.test(name) || isTagged(node))) {
      if (!isMark(node) && !(needed.has(name) && name.startsWith("_"))) edits.push(whole(node, text));
      else if (name.startsWith("_")) {
        symbols.add(name);
        edits.push({ from: own.getStart(), to: own.end, text: `[${name}]` });
      }
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const declared = [...symbols].map((name) => `declare const ${name}: unique symbol;\n`);
  return edited(text, edits) + declared.join("");
}

/** Other names that the bundler gives to members of a namespace: `type nn_Linear = Linear`. */
function withoutAliases(text: string): string {
  const source = parse(text);
  const aliases = new Map<string, string>();
  const edits: Edit[] = [];
  for (const node of source.statements) {
    const aliasOf = ts.isTypeAliasDeclaration(node)
      ? [node.name.text, ts.isTypeReferenceNode(node.type) ? node.type.typeName.getText() : ""]
      : ts.isVariableStatement(node)
        ? aliasOfVariable(node)
        : undefined;
    const [name, target] = aliasOf ?? [];
    if (name === undefined || target === undefined || !/^\w+_d(\$\d+)?_/.test(name)) continue;
    if (name.replace(/^\w+_d(\$\d+)?_/, "") !== target) continue;
    aliases.set(name, target);
    edits.push(whole(node, text));
  }
  const visit = (node: ts.Node): void => {
    if (ts.isExportSpecifier(node) && node.propertyName !== undefined) {
      const target = aliases.get(node.propertyName.text);
      if (target !== undefined) {
        const as = target === node.name.text ? target : `${target} as ${node.name.text}`;
        edits.push({ from: node.getStart(), to: node.end, text: as });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edited(text, edits);
}

function aliasOfVariable(node: ts.VariableStatement): [string, string] | undefined {
  const [only] = node.declarationList.declarations;
  if (only?.type === undefined || !ts.isTypeQueryNode(only.type)) return undefined;
  return [only.name.getText(), only.type.exprName.getText()];
}

/** Names of values that the text declares at its top, or in one of its namespaces. */
function valuesIn(source: ts.SourceFile): Set<string> {
  const found = new Set<string>();
  for (const node of source.statements) {
    if (ts.isVariableStatement(node)) {
      for (const one of node.declarationList.declarations) found.add(one.name.getText());
    } else if (ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isEnumDeclaration(node)) {
      if (node.name !== undefined) found.add(node.name.text);
    }
  }
  return found;
}

/**
 * Classes beside an interface of the same name, and constants beside a type, are exported as values: the bundler takes
 * the last declaration of a name for all of it, and exports a type alone.
 */
function valuesExported(text: string): string {
  const source = parse(text);
  const values = valuesIn(source);
  const edits: Edit[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExportDeclaration(node) && node.isTypeOnly && node.exportClause !== undefined) {
      if (!ts.isNamedExports(node.exportClause)) return;
      const isValue = (one: ts.ExportSpecifier) => values.has((one.propertyName ?? one.name).text);
      const of = (some: readonly ts.ExportSpecifier[]) => some.map((one) => one.getText()).join(", ");
      const [kept, moved] = [true, false].map((isType) =>
        (node.exportClause as ts.NamedExports).elements.filter((one) => isValue(one) !== isType),
      ) as [ts.ExportSpecifier[], ts.ExportSpecifier[]];
      if (moved.length === 0) return;
      const types = kept.length === 0 ? "" : ` export type { ${of(kept)} };`;
      edits.push({ from: node.getStart(), to: node.end, text: `export { ${of(moved)} };${types}` });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edited(text, edits);
}

/** Objects of functions become namespaces of them: then each member has its function's comment. */
function functionsAsNamespaces(text: string): string {
  const edits: Edit[] = [];
  for (const node of parse(text).statements) {
    if (!ts.isVariableStatement(node)) continue;
    const [only] = node.declarationList.declarations;
    if (only?.type === undefined || !ts.isTypeLiteralNode(only.type)) continue;
    const members = only.type.members.map((member) => {
      const type = ts.isPropertySignature(member) ? member.type : undefined;
      if (type === undefined || !ts.isTypeQueryNode(type)) return undefined;
      const [name, target] = [member.name?.getText() ?? "", type.exprName.getText()];
      return name === target ? name : `${target} as ${name}`;
    });
    if (members.length === 0 || members.includes(undefined)) continue;
    const list = members.map((member) => `    ${member},\n`).join("");
    edits.push({
      from: node.getStart(),
      to: node.end,
      text: `declare namespace ${only.name.getText()} {\n  export {\n${list}  };\n}`,
    });
  }
  return edited(text, edits);
}

/** Parts of a class that stand in interfaces of their own become parts with the class's name. */
function partsNamed(text: string): string {
  let now = text;
  for (let more = true; more; ) {
    more = false;
    for (const [line, owner, part] of now.matchAll(/^interface (\w+) extends (\w+) \{\s*\}\n/gm)) {
      const isPart = part?.startsWith(`${owner}_of_`) || part === `${owner}Methods`;
      if (!isPart || now.match(new RegExp(`\\b${part}\\b`, "g"))?.length !== 2) continue;
      now = now.replace(line, "").replace(new RegExp(`\\binterface ${part}\\b`), `interface ${owner}`);
      more = true;
    }
  }
  return now;
}

const NAMESPACE = /\b([\w$]+_d(?:\$\d+)?|namespace_\w+) as (\w+)\b/g;

/** Namespaces under the names that programs give them. */
function namespacesNamed(text: string): string {
  let now = text;
  const taken = new Set(
    [
      ...text.matchAll(
        /^(?:export )?(?:declare )?(?:\w+ )*(?:class|interface|type|const|function|namespace) ([\w$]+)/gm,
      ),
    ].map(([, name]) => name),
  );
  const exported = text.slice(text.lastIndexOf("\nexport {"));
  const aliases = [...exported.matchAll(NAMESPACE), ...text.matchAll(NAMESPACE)];
  for (const [, own, name] of aliases) {
    if (own === undefined || name === undefined || !now.includes(own)) continue;
    const free = [name, `${name}Of`, `${name}Members`].find((one) => !taken.has(one));
    if (free === undefined) continue;
    taken.add(free);
    now = now.replace(new RegExp(`(?<![\\w$])${own.replaceAll("$", "\\$")}(?![\\w$])`, "g"), free);
    now = now.replace(new RegExp(`\\b${name} as ${name}\\b`, "g"), name);
  }
  return now;
}

/** Classes and types under the names that they are exported by: the bundler numbers those that are there twice. */
function typesNamed(text: string): string {
  let now = text;
  const done = new Set<string>();
  // Names that something is exported by which has no other.
  const lists = [...text.matchAll(/^ *export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list]) => (list ?? "").split(","));
  const plain = new Set(lists.map((one) => one.trim()));
  const exported = text.slice(text.lastIndexOf("\nexport {"));
  const whole = (name: string) => new RegExp(`(?<![\\w$.])${name.replaceAll("$", "\\$")}(?![\\w$])`, "g");
  for (const [, own, name] of [...exported.matchAll(NUMBERED), ...text.matchAll(NUMBERED)]) {
    if (own === undefined || name === undefined || done.has(name)) continue;
    done.add(name);
    if (plain.has(name)) {
      now = now.replace(whole(own), qualified(now, own, name));
      continue;
    }
    now = now.replace(whole(own), "\u0000").replace(new RegExp(`\\u0000 as ${name}\\b`, "g"), "\u0001");
    const other = isDeclared(name, now) ? `${name}2` : `globalThis.${name}`;
    now = now.replace(whole(name), other).replaceAll("\u0000", name).replaceAll("\u0001", name);
  }
  return now;
}

/** Whether the text declares something of that name; otherwise it is the language's. */
const isDeclared = (name: string, text: string): boolean =>
  new RegExp(
    `^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|const|function|namespace) ${name}\\b`,
    "m",
  ).test(text);

/** A name with that of the namespace that exports it in front. */
function qualified(text: string, own: string, name: string): string {
  const before = text.slice(0, text.indexOf(`${own} as ${name}`));
  const space = /.*declare namespace (\w+)/s.exec(before)?.[1] ?? "";
  const made = `${space.charAt(0).toUpperCase()}${space.slice(1)}${name}`;
  return isDeclared(made, text) ? own : made;
}

const NUMBERED = /\b([A-Z]\w*\$\d+) as ([A-Z]\w*)\b/g;

/** Constructors without a comment have that of their class: editors show it while arguments are written. */
function constructorsExplained(text: string): string {
  const edits: Edit[] = [];
  for (const node of parse(text).statements) {
    if (!ts.isClassDeclaration(node)) continue;
    const comment = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
    if (comment === undefined) continue;
    for (const member of node.members) {
      if (!ts.isConstructorDeclaration(member) || ts.getJSDocCommentsAndTags(member).length > 0) continue;
      const at = member.getStart();
      edits.push({ from: at, to: at, text: `${text.slice(comment.pos, comment.end)}\n    ` });
    }
  }
  return edited(text, edits);
}

const STEPS = [
  withoutAliases,
  valuesExported,
  functionsAsNamespaces,
  partsNamed,
  namespacesNamed,
  typesNamed,
  withoutInternals,
  constructorsExplained,
];

/** The declarations as editors should show them. */
export function readable(text: string): string {
  return STEPS.reduce((now, step) => step(now), text);
}
