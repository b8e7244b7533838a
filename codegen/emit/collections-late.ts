/** generated/collection-members.ts: the methods of collections, by the file that has them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const CLASSES = join(import.meta.dir, "..", "..", "src", "tensordict", "classes");
/** The files, as they are called without `-methods.ts`. */
const FILES = ["key", "shape", "entry", "plain", "layout", "scan", "map", "element", "math", "disk"];

const has = (node: ts.MethodDeclaration, kind: ts.SyntaxKind) =>
  node.modifiers?.some((one) => one.kind === kind) === true;

/** How a member is noted: `name`, `name!` for what waits, `name.` for what is read, `name=` for what is written too. */
function membersOf(node: ts.ClassDeclaration): Map<string, string> {
  const found = new Map<string, string>();
  for (const member of node.members) {
    const name = member.name?.getText() ?? "";
    if (!/^\w+$/.test(name)) continue;
    if (ts.isSetAccessor(member)) found.set(name, "=");
    else if (ts.isGetAccessor(member) && member.body !== undefined) found.set(name, found.get(name) ?? ".");
    else if (ts.isMethodDeclaration(member) && member.body !== undefined && !has(member, ts.SyntaxKind.StaticKeyword)) {
      const waits = has(member, ts.SyntaxKind.AsyncKeyword) && member.asteriskToken === undefined;
      found.set(name, waits ? "!" : "");
    }
  }
  return found;
}

/** Accessors that a statement behind the class defines. */
function definedBehind(text: string): Map<string, string> {
  const found = text.matchAll(/^Object\.defineProperty\(\w+Methods\.prototype, "(\w+)", \{\n(.*?)^\}\);/gms);
  return new Map([...found].map(([, name, body]) => [name as string, /^ {2}set\(/m.test(body as string) ? "=" : "."]));
}

function namesIn(file: string): string {
  const path = join(CLASSES, `${file}-methods.ts`);
  const text = readFileSync(path, "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const all = new Map<string, string>();
  for (const statement of source.statements) {
    if (!ts.isClassDeclaration(statement) || !statement.name?.text.endsWith("Methods")) continue;
    for (const [name, mark] of membersOf(statement)) all.set(name, mark);
  }
  for (const [name, mark] of definedBehind(text)) all.set(name, mark);
  return [...all].map(([name, mark]) => name + mark).join(" ");
}

export function emitCollectionMembers(): string {
  const rows = FILES.map((file) => `  ${file}:\n    "${namesIn(file)}",`);
  return [
    "/** By file: names of methods; those behind which stands `!` are asynchronous, `.` read, `=` read and written. */",
    `export const COLLECTION_MEMBERS = {\n${rows.join("\n")}\n} as const;`,
    "",
  ].join("\n");
}
