/** Reads literal data out of TypeScript source, with file and line for every complaint. */
import {
  type Expression,
  type Identifier,
  Node,
  type ObjectLiteralExpression,
  type SourceFile,
  SyntaxKind,
} from "ts-morph";

/** A complaint about the schema, at a place. */
export class SchemaError extends Error {
  constructor(node: Node, message: string) {
    super(`${node.getSourceFile().getFilePath()}:${node.getStartLineNumber()}: ${message}`);
  }
}

export type Literal = string | number | boolean | null | Literal[] | { [key: string]: Literal };

/** The value of the exported constant `name`; anything that is not plain data is an error. */
export function exportedLiteral(file: SourceFile, name: string): { value: Literal; node: Node } {
  const declaration = file.getVariableDeclaration(name);
  const initializer = declaration?.getInitializer();
  if (initializer === undefined) throw new Error(`${file.getFilePath()}: no exported constant "${name}"`);
  return { value: evaluate(initializer), node: unwrap(initializer) };
}

/** Strips `as const`, `satisfies T` and parentheses. */
export function unwrap(node: Expression): Expression {
  if (Node.isAsExpression(node) || Node.isSatisfiesExpression(node) || Node.isParenthesizedExpression(node)) {
    return unwrap(node.getExpression());
  }
  return node;
}

function evaluate(raw: Expression): Literal {
  const node = unwrap(raw);
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)) return node.getLiteralValue();
  // getLiteralValue() reads "1e-8" as 1.
  if (Node.isNumericLiteral(node)) return Number(node.getLiteralText());
  if (Node.isTrueLiteral(node)) return true;
  if (Node.isFalseLiteral(node)) return false;
  if (Node.isNullLiteral(node)) return null;
  if (Node.isPrefixUnaryExpression(node) && node.getOperatorToken() === SyntaxKind.MinusToken) {
    const value = evaluate(node.getOperand());
    if (typeof value === "number") return -value;
  }
  if (Node.isArrayLiteralExpression(node)) return evaluateArray(node.getElements());
  if (Node.isObjectLiteralExpression(node)) return evaluateObject(node);
  if (Node.isIdentifier(node)) return evaluateConstant(node);
  if (Node.isBinaryExpression(node) && node.getOperatorToken().getText() === "+") {
    const [left, right] = [evaluate(node.getLeft()), evaluate(node.getRight())];
    if (typeof left === "string" && typeof right === "string") return left + right;
  }
  throw new SchemaError(node, `the schema holds literal data only, not ${node.getKindName()}`);
}

function evaluateArray(elements: Expression[]): Literal[] {
  const out: Literal[] = [];
  for (const e of elements) {
    if (Node.isSpreadElement(e)) out.push(...(evaluate(e.getExpression()) as Literal[]));
    else out.push(evaluate(e));
  }
  return out;
}

function evaluateObject(node: ObjectLiteralExpression): { [key: string]: Literal } {
  const out: { [key: string]: Literal } = {};
  const own = new Set<string>();
  for (const p of node.getProperties()) {
    if (Node.isPropertyAssignment(p)) {
      const name = p.getNameNode();
      const key = Node.isStringLiteral(name) ? name.getLiteralValue() : p.getName();
      if (own.has(key)) throw new SchemaError(p, `duplicate key "${key}"`);
      own.add(key);
      out[key] = evaluate(p.getInitializerOrThrow());
    } else if (Node.isSpreadAssignment(p)) {
      Object.assign(out, evaluate(p.getExpression()));
    } else {
      throw new SchemaError(p, "only `key: value` and spreads of constants are allowed");
    }
  }
  return out;
}

function evaluateConstant(node: Identifier): Literal {
  const local = node.getSourceFile().getVariableDeclaration(node.getText());
  const initializer = local?.getInitializer();
  if (initializer === undefined) throw new SchemaError(node, `unknown constant "${node.getText()}"`);
  return evaluate(initializer);
}
