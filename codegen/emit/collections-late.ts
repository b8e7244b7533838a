/** generated/collection-members.ts: the methods of collections, by the file that has them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const CLASSES = join(import.meta.dir, "..", "..", "src", "tensordict", "classes");
/** The files, as they are called without `-methods.ts`. */
const FILES = ["key", "shape", "entry", "plain", "layout", "scan", "map", "element", "math", "disk"];

/** The names of a class's methods and accessors. */
function membersOf(node: ts.ClassDeclaration): string[] {
  const own = node.members.filter(
    (one) =>
      (ts.isAccessor(one) || ts.isMethodDeclaration(one)) &&
      one.body !== undefined &&
      one.modifiers?.some((each) => each.kind === ts.SyntaxKind.StaticKeyword) !== true,
  );
  return own.map((one) => one.name?.getText() ?? "").filter((name) => /^\w+$/.test(name));
}

/** Accessors that a statement behind the class defines. */
function definedBehind(text: string): string[] {
  const found = text.matchAll(/^Object\.defineProperty\(\w+Methods\.prototype, "(\w+)", \{$/gm);
  return [...found].map(([, name]) => name as string);
}

function namesIn(file: string): string {
  const path = join(CLASSES, `${file}-methods.ts`);
  const text = readFileSync(path, "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const classes = source.statements.filter(ts.isClassDeclaration);
  const holders = classes.filter((one) => one.name?.text.endsWith("Methods"));
  return [...new Set([...holders.flatMap(membersOf), ...definedBehind(text)])].join(" ");
}

export function emitCollectionMembers(): string {
  const rows = FILES.map((file) => `  ${file}:\n    "${namesIn(file)}",`);
  return [
    "/** By file: the names of methods and accessors. */",
    `export const COLLECTION_MEMBERS = {\n${rows.join("\n")}\n} as const;`,
    "",
  ].join("\n");
}
