// Puts all mutants of a TypeScript source into it at once, each behind its number (switch.ts).
import ts from "typescript";
import { isSilent, type Mutant } from "./mutants.ts";

const M = "__mutants";

/** The source with every mutant in it, numbered from `first` in the order of `mutants`. */
export function instrumented(file: string, source: string, mutants: readonly Mutant[], first: number): string {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const ids = new Map(mutants.map((m, i) => [`${m.start}:${m.end}`, i]));
  const placed = new Set<number>();
  const take = (node: ts.Node): [number, Mutant] | undefined => {
    const i = ids.get(`${node.getStart()}:${node.getEnd()}`);
    if (i === undefined) return undefined;
    placed.add(i);
    return [first + i, mutants[i] as Mutant];
  };

  const rendered = (node: ts.Node): string => {
    if (isSilent(node)) return node.getText();
    return changed(node) ?? inside(node);
  };
  /** A node as it stands, its parts rendered. */
  const inside = (node: ts.Node): string => {
    const parts: ts.Node[] = [];
    ts.forEachChild(node, (part) => void parts.push(part));
    parts.sort((a, b) => a.getStart() - b.getStart());
    let text = "";
    let at = node.getStart();
    for (const part of parts) {
      if (part.getStart() < at) continue;
      text += source.slice(at, part.getStart()) + rendered(part);
      at = part.getEnd();
    }
    return text + source.slice(at, node.getEnd());
  };
  const binary = (node: ts.BinaryExpression): string | undefined => {
    const taken = take(node.operatorToken);
    if (taken === undefined) return undefined;
    const [id, { before, after }] = taken;
    const [left, right] = [rendered(node.left), rendered(node.right)];
    if (before === "&&" || before === "||")
      return `${M}.${before === "&&" ? "and" : "or"}(${id}, ${left}, () => (${right}))`;
    if (!before.endsWith("=") || before.length !== 2 || /[<>]/.test(before)) {
      return `${M}.op(${id}, "${before}", "${after}", ${left}, ${right})`;
    }
    const value = `${M}.op(${id}, "${before[0]}", "${after[0]}", ${node.left.getText()}, ${right})`;
    return `${node.left.getText()} = ${value}`;
  };
  const changed = (node: ts.Node): string | undefined => {
    if (ts.isBinaryExpression(node)) return binary(node);
    if (ts.isPropertyAccessExpression(node)) {
      const taken = take(node.name);
      if (taken === undefined) return undefined;
      const dot = node.questionDotToken === undefined ? "" : "?.";
      const [id, { before, after }] = taken;
      return `${rendered(node.expression)}${dot}[${M}.one(${id}, "${before}", "${after}")]`;
    }
    const taken = take(node);
    if (taken === undefined) return undefined;
    const [id, { before, after }] = taken;
    if (ts.isPrefixUnaryExpression(node)) return `${M}.not(${id}, ${rendered(node.operand)})`;
    const value = `${M}.one(${id}, ${before}, ${after})`;
    return ts.isPropertyAssignment(node.parent) && node.parent.name === node ? `[${value}]` : value;
  };
  const text = `const ${M} = (globalThis as any).${M};\n${inside(tree)}`;
  const lost = mutants.find((_, i) => !placed.has(i));
  if (lost !== undefined) throw new Error(`no place for a mutant: ${file}:${lost.line} ${lost.text}`);
  return text;
}
