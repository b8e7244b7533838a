// The examples in docs/members: those of members whose files would be long with them. A heading is the member's name,
// the fence below it an example as `@example` has it: code, and behind its last expression what that gives.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface MemberExample {
  /** `Tensor#add`, `TensorDict.load`. */
  name: string;
  file: string;
  line: number;
  code: string;
}

/** All examples of one Markdown text. */
export function memberExamples(file: string, markdown: string): MemberExample[] {
  const found: MemberExample[] = [];
  const lines = markdown.split("\n");
  let name: string | null = null;
  for (let i = 0; i < lines.length; i++) {
    const heading = /^## (\S+)$/.exec(lines[i] as string);
    if (heading !== null) name = heading[1] as string;
    if (lines[i] !== "```ts") continue;
    const end = lines.indexOf("```", i + 1);
    if (end < 0) throw new Error(`${file}:${i + 1}: the fence has no end`);
    if (name === null) throw new Error(`${file}:${i + 1}: the example stands below no heading`);
    found.push({ name, file, line: i + 2, code: lines.slice(i + 1, end).join("\n") });
    i = end;
  }
  return found;
}

/** The examples of all Markdown files of a folder. */
export function examplesUnder(folder: string): MemberExample[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".md"));
  return files.sort().flatMap((name) => memberExamples(name, readFileSync(join(folder, name), "utf8")));
}
