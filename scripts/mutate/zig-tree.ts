// The syntax tree of a Zig file, as Zig's own parser sees it (zig_spans.zig), and the names in it that are known when
// it is compiled.
import { join } from "node:path";
import { findZig, ToolError, toolEnv } from "../toolchain.mjs";

export interface Node {
  kind: string;
  start: number;
  end: number;
  /** Where the token is that names it: an operator, the arrow of a case of a switch. */
  name: number;
  parent?: Node;
  parts: Node[];
}

export interface Tree {
  source: string;
  nodes: Node[];
  /** Names that are known where the function is compiled, by the node of the function. */
  known: Map<Node, Set<string>>;
}

/** Builds the parser into a folder. */
export function buildParser(folder: string): string {
  const program = join(folder, "zig-spans");
  const words = [findZig() as string, "build-exe", join(import.meta.dir, "zig_spans.zig"), `-femit-bin=${program}`];
  const built = Bun.spawnSync([...words, "--cache-dir", join(folder, ".zig-cache")], { cwd: folder, env: toolEnv() });
  if (built.exitCode !== 0) throw new ToolError(`zig_spans.zig does not compile:\n${built.stderr}`);
  return program;
}

function nodesOf(text: string): Node[] {
  const found = text.trim().split("\n");
  const all = found.map((line): Node => {
    const [kind, start, end, name] = line.split(" ");
    return { kind: kind as string, start: Number(start), end: Number(end), name: Number(name), parts: [] };
  });
  // Wider ones first; of two with the same span the later printed holds the other.
  const place = new Map(all.map((n, i) => [n, i]));
  const later = (a: Node, b: Node): number => (place.get(b) as number) - (place.get(a) as number);
  all.sort((a, b) => a.start - b.start || b.end - a.end || later(a, b));
  const open: Node[] = [];
  for (const node of all) {
    while (open.length > 0 && (open.at(-1) as Node).end < node.end) open.pop();
    while (open.length > 0 && (open.at(-1) as Node).end <= node.start) open.pop();
    const parent = open.at(-1);
    if (parent !== undefined) {
      node.parent = parent;
      parent.parts.push(node);
    }
    open.push(node);
  }
  return all;
}

/** A node and all around it, the nearest first. */
export function chain(node: Node | undefined): Node[] {
  const all: Node[] = [];
  for (let at = node; at !== undefined; at = at.parent) all.push(at);
  return all;
}

const WORDS = new Set(
  `const var if else while for return and or orelse catch try switch break continue fn pub inline comptime struct
  undefined true false null usize isize u8 u16 u32 u64 u128 i8 i16 i32 i64 f16 f32 f64 bool type anytype void
  unreachable error defer align`.split(/\s+/),
);

/** Names of values in a text: no fields, no texts, nothing of which only the type or the size is asked. */
export function names(text: string): string[] {
  const bare = text
    .replace(/"(?:[^"\\]|\\.)*"|\/\/.*/g, " ")
    .replace(/@(TypeOf|sizeOf|bitSizeOf|typeInfo)\((?:[^()]|\([^()]*\))*\)/g, " ");
  return [...bare.matchAll(/(?<![\w@.])[A-Za-z_]\w*/g)].map((m) => m[0]).filter((name) => !WORDS.has(name));
}

const enclosing = (node: Node): Node | undefined => chain(node.parent).find((n) => n.kind === "fn_decl");

function knownIn({ source, nodes, known }: Tree, f: Node): Set<string> {
  const before = known.get(f);
  if (before !== undefined) return before;
  const outer = enclosing(f);
  const file = source.matchAll(/^(?:pub |export )*(?:inline )?(?:const|fn) (\w+)/gm);
  const set = new Set(
    outer === undefined ? [...file].map((m) => m[1] as string) : knownIn({ source, nodes, known }, outer),
  );
  known.set(f, set);
  const text = source.slice(f.start, f.end);
  for (const m of text.matchAll(/comptime (\w+)\s*:|(\w+): type\b|\bfn (\w+)\(/g))
    set.add((m[1] ?? m[2] ?? m[3]) as string);
  for (const m of text.matchAll(/inline for \((?:[^()]|\([^()]*\))*\) \|([^|]*)\|/g)) {
    for (const name of (m[1] as string).split(",")) set.add(name.trim());
  }
  for (const n of nodes) {
    if (!n.kind.endsWith("var_decl") || n.start < f.start || n.end > f.end || enclosing(n) !== f) continue;
    const [, name, value] = /^(?:pub )?const (\w+)(?:\s*:[^=]*)? = ([\s\S]*)$/.exec(source.slice(n.start, n.end)) ?? [];
    if (name === undefined || value === undefined) continue;
    if (value.startsWith("comptime ") || names(value).every((x) => set.has(x))) set.add(name);
  }
  return set;
}

/** Whether a node reads nothing but what is known when the function around it is compiled. */
export function isKnown(tree: Tree, node: Node): boolean {
  const f = enclosing(node);
  const read = names(tree.source.slice(node.start, node.end));
  return f !== undefined && read.length > 0 && read.every((name) => knownIn(tree, f).has(name));
}

export function treeOf(parser: string, file: string, source: string): Tree {
  const run = Bun.spawnSync([parser, file]);
  return { source, nodes: nodesOf(run.stdout.toString()), known: new Map() };
}
