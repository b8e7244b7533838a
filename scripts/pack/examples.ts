// Editors show what the comments say: the examples of docs/members are put into the comments of the declarations.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { type PublicName, publicNames } from "../docs/public-names.ts";

interface Insertion {
  at: number;
  text: string;
}

/** The examples of docs/members of a name; those of the sources are in its comment already. */
function examplesOf({ example }: PublicName): string[] {
  const plain = (example ?? "").replace(/^```ts\n[\s\S]*?^```$/gm, "");
  return plain.split("\n\n").filter((code) => code.trim() !== "");
}

/** Where the comment of a node ends, before its last two characters, and how far it is indented. */
function commentEnd(node: ts.Node, text: string): { at: number; indent: string } | undefined {
  const comment = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
  if (comment === undefined || !text.startsWith("/**", comment.pos)) return undefined;
  return { at: comment.end - 2, indent: /[ ]*$/.exec(text.slice(0, comment.pos))?.[0] ?? "" };
}

function declarationsOf(source: ts.SourceFile): Map<string, ts.Node> {
  const found = new Map<string, ts.Node>();
  const visit = (node: ts.Node): void => {
    if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
      const owner = node.name?.text ?? "";
      if (!found.has(owner)) found.set(owner, node);
      for (const member of node.members) {
        const name = member.name === undefined ? "" : `${owner}.${member.name.getText(source)}`;
        if (!found.has(name)) found.set(name, member);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Adds the examples to the comments of the emitted declarations; gives how many there were. */
export function addExamples(emitted: string): number {
  const byFile = Map.groupBy(publicNames().names, (row) => row.file);
  let count = 0;
  for (const [file, rows] of byFile) {
    const path = join(emitted, file.replace(/\.ts$/, ".d.ts"));
    const text = readFileSync(path, "utf8");
    const declarations = declarationsOf(ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true));
    const insertions: Insertion[] = [];
    for (const row of rows) {
      const node = declarations.get(row.declared);
      const end = node === undefined ? undefined : commentEnd(node, text);
      if (end === undefined) continue;
      const lines = examplesOf(row).flatMap((code) => ["@example", "```ts", ...code.split("\n"), "```"]);
      if (lines.length === 0) continue;
      const { at, indent } = end;
      insertions.push({ at, text: `\n${lines.map((line) => `${indent} * ${line}`).join("\n")}\n${indent} ` });
      count++;
    }
    insertions.sort((a, b) => b.at - a.at);
    const filled = insertions.reduce(
      (all, { at, text: more }) => all.slice(0, at).trimEnd() + more + all.slice(at),
      text,
    );
    if (insertions.length > 0) writeFileSync(path, filled);
  }
  return count;
}
