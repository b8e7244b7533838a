/**
 * The module that `import "zensor"` loads. What the core makes at once is exported as it is. A function that it makes
 * later is a short one here (the engine makes the functions of a module when they are first read), and a class or a
 * namespace stands in for itself until something is asked of it: then the export becomes the real one.
 */
import ts from "typescript";
import type { Plan } from "./cells.ts";
import type { Flat } from "./flat.ts";

/** What an export is: `value` where it is there at once. */
export type ExportKind = "value" | "function" | "class" | "object";

export interface Exported {
  name: string;
  kind: ExportKind;
  /** The parameters of a function, as a short one takes and gives them. */
  parameters: readonly string[];
}

type Signature = Pick<Exported, "parameters">;

/** The parameters of a function: as many as it names, or all where it takes any number. */
function parametersOf(node: ts.SignatureDeclaration & { body?: ts.Node }): string[] {
  let open = node.parameters.some((one) => one.dotDotDotToken !== undefined);
  const visit = (at: ts.Node): void => {
    if (ts.isIdentifier(at) && at.text === "arguments") open = true;
    if (!open) ts.forEachChild(at, visit);
  };
  if (node.body !== undefined && !ts.isArrowFunction(node)) visit(node.body);
  if (open) return ["...args"];
  return node.parameters.map((one, n) => `a${n}${one.initializer === undefined ? "" : "=void 0"}`);
}

/** How each top-level function is called. */
function signatures(flat: Flat): Map<string, Signature> {
  const found = new Map<string, Signature>();
  for (const { node } of flat.statements) {
    if (ts.isFunctionDeclaration(node) && node.name !== undefined) {
      found.set(node.name.text, { parameters: parametersOf(node) });
    }
    if (!ts.isVariableStatement(node)) continue;
    for (const { name, initializer } of node.declarationList.declarations) {
      const isFunction =
        initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer));
      if (isFunction) found.set(name.getText(), { parameters: parametersOf(initializer) });
    }
  }
  return found;
}

/** What the library exports; `kinds` is what each export turned out to be. */
export function exportedBy(flat: Flat, plan: Plan, kinds: ReadonlyMap<string, ExportKind>): Exported[] {
  const known = signatures(flat);
  return [...flat.exports].map(([name, own]) => ({
    name,
    kind: plan.cellOfName.has(own) ? (kinds.get(name) ?? "object") : "value",
    parameters: known.get(own)?.parameters ?? ["...args"],
  }));
}

const STANDS_IN = `
// What is asked of these goes to the class or the namespace itself, which is made then and takes their place.
class $StandsIn {
  constructor(name) { this.name = name; this.real = undefined; }
  load() { return this.real ??= $become(this.name, $get(this.name)); }
  // Static methods and classes that were derived from the one that stands in know it as themselves.
  apply(_, self, args) { return Reflect.apply(this.load(), self, args); }
  construct(_, args, made) {
    const real = this.load();
    return Reflect.construct(real, args, made === this.own ? real : made);
  }
  get(_, key) { return Reflect.get(this.load(), key); }
  set(_, key, value) { return Reflect.set(this.load(), key, value); }
  has(_, key) { return Reflect.has(this.load(), key); }
  deleteProperty(_, key) { return Reflect.deleteProperty(this.load(), key); }
  ownKeys() { return Reflect.ownKeys(this.load()); }
  getPrototypeOf() { return Reflect.getPrototypeOf(this.load()); }
  setPrototypeOf(_, prototype) { return Reflect.setPrototypeOf(this.load(), prototype); }
  defineProperty(_, key, property) { return Reflect.defineProperty(this.load(), key, property); }
  getOwnPropertyDescriptor(_, key) {
    const found = Reflect.getOwnPropertyDescriptor(this.load(), key);
    return found && { ...found, configurable: true };
  }
}
// A proxy is shown as its target, and its target as the namespace that it stands for.
const $shown = new Map();
const $target = { [Symbol.for("nodejs.util.inspect.custom")]() { return $get($shown.get(this)); } };
function $standIn(name, target) {
  const asked = new $StandsIn(name);
  asked.own = new Proxy(target, asked);
  $shown.set(target, name).set(asked.own, name);
  return asked.own;
}
const $anyClass = function () {}.bind();
`;

/** A name that may be declared. */
const local = (name: string): string => (/^(var|delete|default)$/.test(name) ? `${name}_` : name);

function shortFunction({ name, parameters }: Exported): string {
  const given = parameters.map((one) => one.replace("=void 0", "")).join();
  const own = `$${name}`;
  const real = `(${own}??=$get(${JSON.stringify(name)}))`;
  return `let ${own};\nfunction ${local(name)}(${parameters.join()}){return${real}(${given})}`;
}

/** The text of the module, after the lines that set \`$get\`. */
export function entryText(head: string, exported: readonly Exported[]): string {
  const of = (...kinds: ExportKind[]) => exported.filter((one) => kinds.includes(one.kind));
  const late = of("class", "object");
  const values = of("value").map(({ name }) => `${local(name)}=$get(${JSON.stringify(name)})`);
  const standing = late.map(({ name, kind }) => {
    const target = kind === "class" ? "$anyClass" : "Object.create($target)";
    return `${local(name)}=$standIn(${JSON.stringify(name)},${target})`;
  });
  const cases = late.map(({ name }) => `case ${JSON.stringify(name)}:return ${local(name)}=value;`);
  const names = exported.map(({ name }) => (local(name) === name ? name : `${local(name)} as ${name}`));
  return [
    head,
    STANDS_IN,
    `const ${values.join(",\n")};`,
    `let ${standing.join(",\n")};`,
    `function $become(name, value) {\nswitch (name) {\n${cases.join("\n")}\n}\n}`,
    ...of("function").map(shortFunction),
    `export {${names.join(",\n")}};`,
    "",
  ].join("\n");
}
