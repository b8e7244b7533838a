/** Which operators have a rule of their own for batches of calls, of those that the schema says have one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ts } from "ts-morph";
import { SchemaError } from "./literal.ts";
import type { Op } from "./load.ts";

const FUNC = join(import.meta.dir, "..", "..", "src", "func");

/** By the kind of rule: the keys of the tables in src/func, which are found by the names of the constants. */
export interface BatchRules {
  readonly own: ReadonlySet<string>;
  readonly view: ReadonlySet<string>;
  readonly whole: ReadonlySet<string>;
  /** Of operators written with others, which have those where there is no rule. */
  readonly composite: ReadonlySet<string>;
}

const TABLES: Readonly<Record<string, keyof BatchRules>> = {
  POINTWISE_RULES: "own",
  DIMS_RULES: "own",
  MATRIX_RULES: "own",
  IMAGE_RULES: "own",
  INDEX_RULES: "own",
  LOSS_RULES: "own",
  VIEWS: "view",
  WHOLE: "whole",
  WHOLE_RULES: "composite",
};

/** The tables as they stand in the project. */
export function ownBatchRules(): BatchRules {
  const found = {
    own: new Set<string>(),
    view: new Set<string>(),
    whole: new Set<string>(),
    composite: new Set<string>(),
  };
  for (const file of readdirSync(FUNC)) {
    if (!/^rules-\w+\.ts$/.test(file)) continue;
    const source = ts.createSourceFile(file, readFileSync(join(FUNC, file), "utf8"), ts.ScriptTarget.ESNext, true);
    for (const one of source.statements.filter(ts.isVariableStatement)) {
      for (const { name, initializer } of one.declarationList.declarations) {
        const kind = TABLES[name.getText(source)];
        if (kind === undefined || initializer === undefined || !ts.isObjectLiteralExpression(initializer)) continue;
        for (const { name: key } of initializer.properties) {
          if (key !== undefined && (ts.isIdentifier(key) || ts.isStringLiteral(key))) found[kind].add(key.text);
        }
      }
    }
  }
  return found;
}

/** Refuses an operator whose rule is nowhere, and rules that are no operator's: nothing becomes `each` by itself. */
export function checkBatchRules(ops: readonly Op[], rules: BatchRules): void {
  const unused = new Set([...rules.own, ...rules.view, ...rules.whole, ...rules.composite]);
  for (const op of ops) {
    const { batch } = op.transforms;
    const kind = op.kind === "composite" ? "composite" : batch;
    if (kind === "own" || kind === "view" || kind === "whole") {
      if (!rules[kind].has(op.key))
        throw new SchemaError(op.where, `op "${op.key}": src/func has no rule for its batches`);
      unused.delete(op.key);
    } else if (kind === "composite") unused.delete(op.key);
    else if (rules.own.has(op.key)) {
      throw new SchemaError(
        op.where,
        `op "${op.key}": src/func has a rule for its batches: say "own" and not "${kind}"`,
      );
    }
  }
  for (const key of unused) throw new Error(`src/func: a rule for batches of "${key}", which is no such operator`);
}
