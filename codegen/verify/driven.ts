// Work in steps (src/io/base/steps.ts) does nothing until something drives it: a call that only makes the steps is a
// mistake, and the compiler sees none in it.

import ts from "typescript";
import type { Violation } from "./source-files.ts";

const STEPS = /\bSteps\b/;

/** The names of functions, methods and properties of a file whose result is `Steps`. */
function makersIn(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const isSteps = (type: ts.TypeNode | undefined) =>
    type !== undefined && ts.isTypeReferenceNode(type) && type.typeName.getText(source) === "Steps";
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && isSteps(node.type)) {
      const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
      if (named !== undefined) found.push(named.getText(source));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The last name of what is called: `steps` of `this.steps()`. */
function calledName(node: ts.Expression, source: ts.SourceFile): string | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  if (ts.isPropertyAccessExpression(expression)) return expression.name.getText(source);
  return ts.isIdentifier(expression) ? expression.text : undefined;
}

/** What of an expression decides what becomes of a call in it. */
function inner(node: ts.Expression): ts.Expression {
  if (ts.isParenthesizedExpression(node) || ts.isAwaitExpression(node) || ts.isVoidExpression(node)) {
    return inner(node.expression);
  }
  // `yield` without a star hands the steps on, and drives none of them.
  if (ts.isYieldExpression(node) && node.asteriskToken === undefined && node.expression !== undefined) {
    return inner(node.expression);
  }
  return node;
}

/** Calls in a file that make steps and drop them: as a statement, or awaited. */
function droppedIn(file: string, source: ts.SourceFile, makers: ReadonlySet<string>): Violation[] {
  const found: Violation[] = [];
  const visit = (node: ts.Node): void => {
    const dropped = ts.isExpressionStatement(node) || ts.isAwaitExpression(node) || ts.isVoidExpression(node);
    const name = dropped ? calledName(inner(node.expression), source) : undefined;
    if (name !== undefined && makers.has(name)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      if (found.at(-1)?.line !== line) {
        found.push({ file, line, message: `${name}() makes steps that nothing drives: yield* them, or runSteps()` });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Checks files, given by path: every call that makes steps hands them on. */
export function checkDriven(files: ReadonlyMap<string, string>): Violation[] {
  const sources = new Map<string, ts.SourceFile>();
  const makers = new Set<string>();
  for (const [file, text] of files) {
    if (!STEPS.test(text)) continue;
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
    sources.set(file, source);
    for (const name of makersIn(source)) makers.add(name);
  }
  // A file that calls them and names no type of theirs is looked at too.
  const calls = new RegExp(`\\b(${[...makers].join("|")})\\(`);
  for (const [file, text] of files) {
    if (makers.size === 0 || sources.has(file) || !calls.test(text)) continue;
    sources.set(file, ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true));
  }
  return [...sources].flatMap(([file, source]) => droppedIn(file, source, makers));
}
