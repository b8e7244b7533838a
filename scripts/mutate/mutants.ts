// Finds the places of a TypeScript file where one small change makes another program, and makes it.
import ts from "typescript";

export interface Mutant {
  file: string;
  line: number;
  start: number;
  end: number;
  /** What stands there, and what is put in its place. */
  before: string;
  after: string;
  /** The function or class that it stands in, and the line without indentation: names of a mutant that moves. */
  within: string;
  text: string;
  /** The how manyth of the same change in its line; from 0. */
  nth: number;
}

const K = ts.SyntaxKind;

const BINARY = new Map<ts.SyntaxKind, string>([
  [K.PlusToken, "-"],
  [K.MinusToken, "+"],
  [K.AsteriskToken, "/"],
  [K.SlashToken, "*"],
  [K.PercentToken, "*"],
  [K.LessThanToken, "<="],
  [K.LessThanEqualsToken, "<"],
  [K.GreaterThanToken, ">="],
  [K.GreaterThanEqualsToken, ">"],
  [K.EqualsEqualsEqualsToken, "!=="],
  [K.ExclamationEqualsEqualsToken, "==="],
  [K.AmpersandAmpersandToken, "||"],
  [K.BarBarToken, "&&"],
]);
const ASSIGNING = new Map<ts.SyntaxKind, string>([
  [K.PlusEqualsToken, "-="],
  [K.MinusEqualsToken, "+="],
  [K.AsteriskEqualsToken, "/="],
]);
/** Methods that formulas are written with. */
const METHODS: Record<string, string> = { add: "sub", sub: "add", mul: "div", div: "mul", sin: "cos", cos: "sin" };

/** Where nothing that a program computes is said. */
export function isSilent(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isImportDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isThrowStatement(node)
  );
}

/** One less, or half of what has no such neighbour. */
const lower = (x: number): number => (x - 1 === x ? x / 2 : x - 1);

function replaced(node: ts.Node): [ts.Node, string] | undefined {
  if (ts.isBinaryExpression(node)) {
    const after = BINARY.get(node.operatorToken.kind) ?? ASSIGNING.get(node.operatorToken.kind);
    const joins = node.operatorToken.kind === K.PlusToken && [node.left, node.right].some(isText);
    return after === undefined || joins ? undefined : [node.operatorToken, after];
  }
  if (ts.isNumericLiteral(node) && !ts.isEnumMember(node.parent)) {
    return [node, node.text === "0" ? "1" : node.text === "1" ? "2" : `${lower(Number(node.text))}`];
  }
  if (node.kind === K.TrueKeyword) return [node, "false"];
  if (node.kind === K.FalseKeyword) return [node, "true"];
  if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken) return [node, node.operand.getText()];
  if (ts.isPropertyAccessExpression(node) && ts.isCallExpression(node.parent) && node.parent.expression === node) {
    const after = Object.hasOwn(METHODS, node.name.text) ? METHODS[node.name.text] : undefined;
    return after === undefined ? undefined : [node.name, after];
  }
  return undefined;
}

/** The call that a node is an argument of, by its function's last name, and which argument it is. */
function argumentOf(node: ts.Node): { name: string; at: number; of: ts.NodeArray<ts.Expression> } | undefined {
  const call = node.parent;
  if (!ts.isCallExpression(call)) return undefined;
  const at = call.arguments.indexOf(node as ts.Expression);
  return at < 0 ? undefined : { name: call.expression.getText().split(".").pop() as string, at, of: call.arguments };
}

/** Arguments that no function of that name reads: options of torch that mean nothing to a processor's memory. */
const UNREAD: Record<string, number> = { expand: 2, gather: 3, toDevice: 3 };
/** Copies, pointwise operators and reductions: whose kernels read the flags of their operands. */
const READS_FLAGS = /dispatch\/(copy|pointwise|reduce)/;

/** Changes that no call can see, each class with its reason. */
const UNSEEN: readonly ((node: ts.Node, file: string) => boolean)[] = [
  // How many operands a call has is read by indexing kernels alone, and a frame has room for eight.
  (node) => argumentOf(node)?.name === "begin" && argumentOf(node)?.at === 0 && Number(node.getText()) <= 8,
  // Flags of operands that no kernel reads.
  (node, file) => {
    const call = argumentOf(node);
    const last = call !== undefined && /^(broadcastO|o)perand$/.test(call.name) && call.at === call.of.length - 1;
    return last && !READS_FLAGS.test(file);
  },
  // Attributes that are a yes or a no: kernels compare them with zero.
  (node) => {
    const choice = node.parent;
    if (!ts.isConditionalExpression(choice) || node.getText() !== "1") return false;
    const arms = [choice.whenTrue, choice.whenFalse].map((x) => x.getText());
    const place = ts.isBinaryExpression(choice.parent) ? choice.parent.left.getText() : argumentOf(choice)?.name;
    return arms.includes("0") && arms.includes("1") && /^attr(ibutes\[|$)/.test(place ?? "");
  },
  // Parameters that nothing reads, and their arguments.
  (node) => ts.isParameter(node.parent) && node.parent.name.getText().startsWith("_"),
  (node) => {
    const call = argumentOf(node);
    return call !== undefined && Object.hasOwn(UNREAD, call.name) && UNREAD[call.name] === call.at;
  },
  // Whether a call is in place is asked only where it has an `out`: not by default, nor beside an absent one.
  (node) => ts.isParameter(node.parent) && /^in[pP]lace$/.test(node.parent.name.getText()),
  (node) => {
    const call = argumentOf(node);
    return node.kind === K.FalseKeyword && call?.of[call.at - 1]?.getText() === "undefined";
  },
];

/** The name of the class around a node, or of the outermost function or variable. */
function around(node: ts.Node): string {
  let name = "";
  for (let at = node; at !== undefined; at = at.parent) {
    if (ts.isClassDeclaration(at) && at.name !== undefined) return at.name.getText();
    if (ts.isFunctionDeclaration(at) || ts.isVariableDeclaration(at)) {
      name = at.name?.getText() ?? name;
    }
  }
  return name;
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteral(node) || ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node);
}

/** All mutants of a source. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const lines = source.split("\n");
  const found: Mutant[] = [];
  const visit = (node: ts.Node): void => {
    if (isSilent(node)) return;
    const change = replaced(node);
    if (change !== undefined && !UNSEEN.some((rule) => rule(node, file))) {
      const [at, after] = change;
      const line = tree.getLineAndCharacterOfPosition(at.getStart()).line;
      const place = { file, line: line + 1, start: at.getStart(), end: at.getEnd() };
      const before = at.getText();
      const nth = found.filter((m) => m.line === line + 1 && m.before === before && m.after === after).length;
      found.push({ ...place, before, after, within: around(at), text: (lines[line] as string).trim(), nth });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** The source with a mutant in it. */
export function applied(source: string, { start, end, after }: Mutant): string {
  return source.slice(0, start) + after + source.slice(end);
}

export function shown(m: Mutant): string {
  return `${m.file}:${m.line} ${m.before} -> ${m.after}   ${m.text}`;
}
