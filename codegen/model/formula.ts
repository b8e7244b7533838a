/** Reads gradient formulas: which names they use, so that what must be saved follows from the text. */
import { Node, Project, type SourceFile, SyntaxKind } from "ts-morph";
import { SchemaError } from "./literal.ts";
import type { Arg, Model, Op } from "./load.ts";
import type { TangentFormulas } from "./types.ts";

/** How one argument is used by a formula. */
export type Use = "value" | "geometry";

export interface Formula {
  /** Names of the differentiable arguments that the expression gives, in order. */
  readonly targets: readonly string[];
  /** TypeScript, with saved names left as they are. */
  readonly code: string;
  readonly uses: ReadonlyMap<string, Use>;
  readonly results: readonly number[];
  readonly usesNeeds: boolean;
}

const project = new Project({ useInMemoryFileSystem: true });
let counter = 0;

const GEOMETRY = new Set(["shape", "strides", "offset", "dtype", "ndim", "device"]);
const GLOBALS = new Set(["Math", "undefined", "Infinity", "NaN", "Number", "Array"]);
const GRADIENT_WORDS = new Set(["grad", "grads"]);
/** `O` are the operators; `outputs` is what the results look like; `through` pushes through a function. */
const TANGENT_WORDS = new Set(["tangent", "tangents", "outputs", "through", "O"]);

/** Several artefacts are made of them. */
const parsed = new WeakMap<Op, Formula[]>();

/** Parses the formulas of an op; unknown names are errors. */
export function formulasOf(op: Op, model: Model): Formula[] {
  let found = parsed.get(op);
  if (found === undefined) {
    const all = typeof op.grad === "object" ? Object.entries(op.grad) : [];
    const words: Words = { free: GRADIENT_WORDS, helpers: prefixed("F", model.formulaHelpers) };
    found = all.map(([key, text]) => parse(op, words, key, text));
    parsed.set(op, found);
  }
  return found;
}

/** Parses the formulas of an op's tangents, where it has some of its own. */
export function tangentFormulasOf(op: Op, model: Model): Formula[] {
  if (op.transforms.jvp !== "formula") return [];
  const helpers = new Map([...prefixed("F", model.formulaHelpers), ...prefixed("T", model.tangentHelpers)]);
  const all = Object.entries(op.jvp as TangentFormulas);
  return all.map(([key, text]) => parse(op, { free: TANGENT_WORDS, helpers }, key, text));
}

/** What formulas may name beside arguments and results. */
interface Words {
  readonly free: ReadonlySet<string>;
  readonly helpers: ReadonlyMap<string, string>;
}

function prefixed(prefix: string, names: readonly string[]): Map<string, string> {
  return new Map(names.map((name) => [name, `${prefix}.${name}`]));
}

function parse(op: Op, { free, helpers }: Words, key: string, text: string): Formula {
  const file = project.createSourceFile(`formula${counter++}.ts`, `(${text});`);
  const refuse = (what: string): never => {
    throw new SchemaError(op.where, `op "${op.key}": formula ${what}`);
  };
  if (!isExpression(file)) refuse(`"${text}" is no expression`);
  const uses = new Map<string, Use>();
  const results = new Set<number>();
  let usesNeeds = false;
  const edits: { at: number; length: number; text: string }[] = [];
  const args = new Map<string, Arg>(op.args.map((a) => [a.name, a]));
  for (const id of file.getDescendantsOfKind(SyntaxKind.Identifier)) {
    const parent = id.getParent();
    if (Node.isPropertyAccessExpression(parent) && parent.getNameNode() === id) continue;
    if (Node.isPropertyAssignment(parent) && parent.getNameNode() === id) continue;
    const name = id.getText();
    if (free.has(name) || GLOBALS.has(name)) continue;
    if (name === "needs") usesNeeds = true;
    else if (/^result\d*$/.test(name)) {
      const index = Number(name.slice(6) || 0);
      if (index >= (op.results?.length ?? 1)) refuse(`uses "${name}", which is no result`);
      results.add(index);
    } else if (args.has(name)) {
      noteUse(uses, args.get(name) as Arg, parent);
    } else if (helpers.has(name)) {
      edits.push({ at: id.getStart(), length: name.length, text: helpers.get(name) as string });
    } else refuse(`uses unknown name "${name}"`);
  }
  let code = file.getFullText();
  for (const e of edits.sort((a, b) => b.at - a.at)) {
    code = code.slice(0, e.at) + e.text + code.slice(e.at + e.length);
  }
  project.removeSourceFile(file);
  return {
    targets: key.split(",").map((s) => s.trim()),
    code: code.replace(/^\(/, "").replace(/\);$/, ""),
    uses,
    results: [...results],
    usesNeeds,
  };
}

/** One expression in parentheses, and nothing that the parser had to make up. */
function isExpression(file: SourceFile): boolean {
  const { parseDiagnostics } = file.compilerNode as unknown as { parseDiagnostics: readonly unknown[] };
  return parseDiagnostics.length === 0 && file.getStatements().length === 1;
}

function noteUse(uses: Map<string, Use>, arg: Arg, parent: Node | undefined): void {
  const single = ["Tensor", "Tensor?", "Tensor|Scalar", "TensorList"].includes(arg.role);
  const geometry =
    single && parent !== undefined && Node.isPropertyAccessExpression(parent) && GEOMETRY.has(parent.getName());
  if (!geometry || uses.get(arg.name) === "value") uses.set(arg.name, "value");
  else uses.set(arg.name, "geometry");
}
