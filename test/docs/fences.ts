// Reads the examples out of documents: code fences of Markdown files and `@example` blocks of JSDoc comments.

/** A ```ts fence: a whole program, and what its comments say that it prints. */
export interface Fence {
  line: number;
  code: string;
  prints: string;
  /** The name in its first line (`// buffer.ts`), by which later programs of the page import it. */
  name?: string;
}

/** An `@example`: code whose last expression has a text. */
export interface Example {
  line: number;
  code: string;
  result: string;
}

const PRINTING = /^\s*(?:print|console\.log|printDirectoryTree)\(.*\);(?:\s*\/\/ ?(.*))?$/;

/**
 * What a program prints, by its comments: the one behind a printing line, and the comment lines right below it.
 * Other comments are just comments.
 */
export function statedOutput(code: string): string {
  const out: string[] = [];
  let open = false;
  for (const line of code.split("\n")) {
    const printing = PRINTING.exec(line);
    const comment = /^\s*\/\/ ?(.*)$/.exec(line);
    if (printing !== null) {
      open = true;
      if (printing[1] !== undefined) out.push(printing[1]);
    } else if (comment !== null && open) out.push(comment[1] as string);
    else open = false;
  }
  return out.join("\n");
}

/** All ```ts fences of a Markdown text. */
export function fencesOf(markdown: string): Fence[] {
  const fences: Fence[] = [];
  const lines = markdown.split("\n");
  for (let i = 0; i < lines.length; i++) {
    if (lines[i] !== "```ts") continue;
    const end = lines.indexOf("```", i + 1);
    if (end < 0) throw new Error(`line ${i + 1}: the fence has no end`);
    const code = lines.slice(i + 1, end).join("\n");
    const name = /^\/\/ ([\w-]+\.ts)\n/.exec(code)?.[1];
    fences.push({ line: i + 1, code, prints: statedOutput(code), ...(name === undefined ? {} : { name }) });
    i = end;
  }
  return fences;
}

/** An example's lines apart: the code, and the text of the comment behind its last line, or below the code. */
export function splitExample(lines: readonly string[], line: number): Example {
  const uncommented = (text: string) => text.replace(/^\/\/ ?/, "");
  const end = lines.findLastIndex((text) => !text.startsWith("//") && text.includes(" // "));
  if (end >= 0) {
    const last = lines[end] as string;
    const at = last.lastIndexOf(" // ");
    const code = [...lines.slice(0, end), last.slice(0, at)].join("\n");
    return { line, code, result: [last.slice(at + 4), ...lines.slice(end + 1).map(uncommented)].join("\n") };
  }
  const below = lines.findLastIndex((text) => !text.startsWith("//")) + 1;
  if (below === lines.length) throw new Error(`line ${line}: the example does not say what it gives`);
  const result = lines.slice(below).map(uncommented).join("\n");
  return { line, code: lines.slice(0, below).join("\n"), result };
}

/** All `@example` blocks of a source text. */
export function examplesOf(source: string): Example[] {
  const examples: Example[] = [];
  for (const block of source.matchAll(/^ *\* @example\n *\* ```ts\n((?: *\*.*\n)*?) *\* ```$/gm)) {
    const lines = (block[1] as string)
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/^ *\* ?/, ""));
    examples.push(splitExample(lines, source.slice(0, block.index).split("\n").length));
  }
  return examples;
}
