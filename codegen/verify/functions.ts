// Finds the functions of a source text and their lengths, for TypeScript and for Zig.

import ts from "typescript";

export interface FunctionSpan {
  name: string;
  /** The line on which it starts, from 1. */
  line: number;
  lines: number;
}

function nameOf(node: ts.FunctionLikeDeclaration, source: ts.SourceFile): string {
  if (node.name !== undefined) return node.name.getText(source);
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const parent = node.parent;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText(source);
  return "(anonymous)";
}

/** The body of `describe("...", () => { ... })` is a list of tests, as a class is a list of methods. */
function isTestList(node: ts.Node): boolean {
  const { parent } = node;
  return ts.isCallExpression(parent) && /^describe(\b|[A-Z])/.test(parent.expression.getText());
}

/** Every function, method and arrow function with a body; nested ones count for themselves and for the outer one. */
export function tsFunctions(file: string, text: string): FunctionSpan[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const found: FunctionSpan[] = [];
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined && !isTestList(node)) {
      const line = lineOf(node.getStart(source));
      const name = nameOf(node as ts.FunctionLikeDeclaration, source);
      found.push({ name, line, lines: lineOf(node.end) - line + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The same text with the contents of comments, strings and characters blanked, line breaks kept. */
export function blankZig(text: string): string {
  const pattern = /\/\/[^\n]*|\\\\[^\n]*|"(?:\\[^\n]|[^"\\\n])*"|'(?:\\[^\n]|[^'\\\n])*'/g;
  return text.replace(pattern, (match) => " ".repeat(match.length));
}

/**
 * Every `fn` with a body, by counting braces. A function that returns a type is a container of declarations,
 * as a struct is, and is not measured itself.
 */
export function zigFunctions(text: string): FunctionSpan[] {
  const code = blankZig(text);
  const found: FunctionSpan[] = [];
  for (const match of code.matchAll(/\bfn\s+(@\s+|\w+\s*)\(/g)) {
    const start = match.index;
    const parameters = closing(code, start + match[0].length - 1, "(", ")");
    const open = bodyOf(code, parameters + 1);
    if (open === undefined) continue;
    if (/\btype\s*$/.test(code.slice(parameters + 1, open))) continue;
    const end = closing(code, open, "{", "}");
    const line = code.slice(0, start).split("\n").length;
    const name = text
      .slice(start, start + match[0].length - 1)
      .replace(/^fn\s+/, "")
      .trim();
    found.push({ name, line, lines: code.slice(start, end).split("\n").length });
  }
  return found;
}

/** The index of the bracket that closes the one at `from`. */
function closing(code: string, from: number, open: string, close: string): number {
  let depth = 0;
  for (let i = from; i < code.length; i++) {
    if (code[i] === open) depth++;
    else if (code[i] === close && --depth === 0) return i;
  }
  return code.length;
}

/** The brace that opens the body after a parameter list; none for a prototype or a function type. */
function bodyOf(code: string, from: number): number | undefined {
  for (let i = from; i < code.length; i++) {
    const char = code[i];
    if (char === ";" || char === "," || char === ")" || char === "=") return undefined;
    if (char === "(") i = closing(code, i, "(", ")");
    else if (char === "{") {
      // `error{A,B}!T`, `struct { ... }` and the like are parts of the result type.
      if (!/\b(error|struct|union|enum|opaque)\s*$/.test(code.slice(from, i))) return i;
      i = closing(code, i, "{", "}");
    }
  }
  return undefined;
}
