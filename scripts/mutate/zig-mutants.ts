// Finds the places of a Zig file where one small change makes another program. Changes that do not compile are sorted
// out when they are built.
import type { Mutant } from "./mutants.ts";

const OPERATORS: Record<string, string> = {
  "==": "!=",
  "!=": "==",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "+%": "-%",
  "-%": "+%",
  "*%": "+%",
  "<<": ">>",
  ">>": "<<",
  "&": "|",
  "|": "&",
  "+=": "-=",
  "-=": "+=",
  "*=": "+=",
  "+%=": "-%=",
  "&=": "|=",
  "|=": "&=",
  and: "or",
  or: "and",
};

/** Text and comments, operators between blanks, truth values, floats, integers, negations: what a line is read as. */
const TOKEN = new RegExp(
  [
    /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/\/.*|\\\\.*/,
    /(?<= )(?:[-+*]%?=?|[/%]=?|[<>]{1,2}=?|[=!]=|[&|]=?|and|or)(?= )/,
    /\b(?:true|false)\b/,
    /(?<![\w.@])\d+\.\d+(?:e[-+]?\d+)?\b/,
    // A part of a hexadecimal number is none.
    /(?<![\w.@]|p[-+])\d+\b(?![.\w])/,
    /!(?=[\w(@])/,
  ]
    .map((part) => part.source)
    .join("|"),
  "g",
);
/** Where nothing that a program computes is said: names of other files, alignments, what is fetched early, exports. */
const SILENT = /@import|@prefetch|@export|assert\(|unreachable|@compileError|@setEvalBranchQuota|^\s*\/\//;
/** A length in a type, and an alignment. */
const TYPE_LENGTH = /\[\d+\](?=[\w[*?@])|align\(\d+\)/g;

function replacement(token: string, line: string, at: number): string | undefined {
  if (Object.hasOwn(OPERATORS, token)) return OPERATORS[token];
  if (token === "true") return "false";
  if (token === "false") return "true";
  // A `!` after a closing parenthesis belongs to the type of a result.
  if (token === "!") return /\)\s*$|\w$/.test(line.slice(0, at)) ? undefined : "";
  if (/^\d+\./.test(token)) return Number(token) === 0 ? "1.0" : `-${token}`;
  if (/^\d+$/.test(token)) return token === "0" ? "1" : token === "1" ? "2" : `${Number(token) - 1}`;
  return undefined;
}

/** All mutants of a Zig source, unit tests left out. */
export function zigMutantsOf(file: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  let start = 0;
  let within = "";
  let inTest = false;
  for (const [i, line] of source.split("\n").entries()) {
    within =
      /\bfn (\w+)\(/.exec(line)?.[1] ?? (/^\S/.test(line) ? (/\bconst (\w+)/.exec(line)?.[1] ?? within) : within);
    if (/^test\b/.test(line)) inTest = true;
    if (!inTest && !SILENT.test(line)) {
      const lengths = [...line.matchAll(TYPE_LENGTH)].map((m) => [m.index, m.index + m[0].length] as const);
      for (const { 0: before, index } of line.matchAll(TOKEN)) {
        if (lengths.some(([from, to]) => index >= from && index < to)) continue;
        const after = replacement(before, line, index);
        if (after === undefined) continue;
        const place = { file, line: i + 1, start: start + index, end: start + index + before.length };
        const nth = found.filter((m) => m.line === i + 1 && m.before === before && m.after === after).length;
        found.push({ ...place, before, after, within, text: line.trim(), nth });
      }
    }
    if (line === "}") inTest = false;
    start += line.length + 1;
  }
  return found;
}
