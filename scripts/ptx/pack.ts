// Packs a family of GPU kernels for the library: its PTX is cut into functions, with what they call, and compressed.
// The format stands in zig/src/cuda/archive.zig. Usage: pack.ts FAMILY.ptx LEVEL OUT
import { readFileSync, writeFileSync } from "node:fs";

interface Piece {
  readonly name: string;
  readonly text: string;
}

/** A family's text: what comes before the first function, and the functions in their order. */
function cut(ptx: string): { begin: string; pieces: Piece[] } {
  const lines = ptx.split("\n").filter((line) => !/^\s*(\/\/.*)?$/.test(line));
  const begin: string[] = [];
  const pieces: Piece[] = [];
  let open: string[] | null = null;
  let depth = 0;
  for (const line of lines) {
    const short = line.replace(/\s*\/\/.*$/, "").replace(/^\s+/, "");
    if (open === null && /^(\.visible \.entry|\.func)\b/.test(short)) open = [];
    (open ?? begin).push(short);
    if (open === null) continue;
    // A vector of registers is closed on its own line; what is left are bodies, and the blocks of calls in them.
    depth += (short.match(/\{/g)?.length ?? 0) - (short.match(/\}/g)?.length ?? 0);
    const declared = short === ";" && !open.includes("{");
    if (depth > 0 || !(declared || short === "}")) continue;
    const text = shortened(`${open.join("\n")}\n`);
    // A declaration alone says nothing that the function itself does not: it comes first.
    if (!declared) pieces.push({ name: nameOf(text.slice(0, text.indexOf("{"))), text });
    open = null;
  }
  return { begin: `${begin.join("\n")}\n`, pieces };
}

/**
 * Labels and parameters are a function's own, and have its number or name in theirs: without them functions look more
 * alike, which takes a sixth off what they are compressed to.
 */
export function shortened(text: string): string {
  const tables = new Map<string, string>();
  const table = (name: string): string => {
    const short = tables.get(name) ?? `T${tables.size}`;
    tables.set(name, short);
    return short;
  };
  return text
    .replace(/\$L__BB\d+_(\d+)/g, "L$1")
    .replace(/\$L_brx_\d+/g, table)
    .replace(/[\w$]+_param_(\d+)/g, "p$1");
}

/** The name in `.visible .entry name(` or `.func (.param ...) name(`. */
function nameOf(head: string): string {
  const name = /^(?:\.visible \.entry|\.func)\s+(?:\([^)]*\)\s*)?([\w$]+)/.exec(head)?.[1];
  if (name === undefined) throw new Error(`no name in: ${head}`);
  return name;
}

function packed(ptx: string): Uint8Array {
  const { begin, pieces } = cut(ptx);
  const numbers = new Map(pieces.map((p, i) => [p.name, i]));
  const parts: Uint8Array[] = [];
  const bytes = (text: string) => new TextEncoder().encode(text);
  const number = (n: number) => parts.push(new Uint8Array(new Uint32Array([n]).buffer));
  const first = bytes(begin);
  number(first.length);
  parts.push(first);
  for (const { name, text } of pieces) {
    const words = new Set(text.match(/[\w$]+/g));
    const calls = [...words].filter((word) => word !== name).map((word) => numbers.get(word));
    const called = calls.filter((n) => n !== undefined);
    const [id, body] = [bytes(name), bytes(text)];
    for (const n of [id.length, body.length, called.length, ...called]) number(n);
    parts.push(id, body);
  }
  return Buffer.concat(parts);
}

if (import.meta.main) {
  const [from, level, to] = process.argv.slice(2) as [string, string, string];
  const plain = packed(readFileSync(from, "utf8"));
  const length = new Uint8Array(new Uint32Array([plain.length]).buffer);
  writeFileSync(to, Buffer.concat([length, Bun.zstdCompressSync(plain, { level: Number(level) })]));
}
