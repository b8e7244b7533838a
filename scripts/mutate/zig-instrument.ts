// Puts all mutants of the kernels into their sources at once, each behind its number, and builds the library with them.
// What is decided when it is compiled cannot be switched later: such mutants are left out, as are those with which the
// library does not build. Every switch that gets into the machine code leaves its number in a section of the library.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { switchable } from "../../test/ops/kernel-switch.ts";
import { findZig, toolEnv } from "../toolchain.mjs";
import type { Mutant } from "./mutants.ts";
import { ROOM } from "./switch.ts";
import { buildParser, chain, isKnown, type Node, type Tree, treeOf } from "./zig-tree.ts";

const BINARY =
  /^(equal_equal|bang_equal|(less|greater)_(than|or_equal)|(add|sub|mul)(_wrap|_sat)?|div|mod|sh[lr]|bit_(and|or|xor)|bool_(and|or))$/;
const ASSIGNING = /^assign_(add|sub|mul|div|mod|sh[lr]|bit)/;
const COMPILED = /^(comptime|array_type|ptr_type|fn_proto|test_decl|asm|switch_range)/;
/** Functions of the language whose arguments have a type by themselves, and those that are run by the compiler. */
const TYPED = /^@(splat|as)\b/;
const BY_COMPILER = /^@(Vector|Type|Int|typeInfo|field|shuffle|setFloatMode|memset|memcpy|prefetch)\b/;
/** Which instruction set is taken: no question for a library that has one. */
const ONE_SET = "zig/src/core/isa.zig";
const ROUNDS = 20;

interface Placed {
  id: number;
  m: Mutant;
  host: Node;
}

const textOf = ({ source }: Tree, n: Node): string => source.slice(n.start, n.end);

function nodeOf({ nodes }: Tree, m: Mutant): Node | undefined {
  if (/^\d/.test(m.before)) return nodes.find((n) => n.kind === "number_literal" && n.start === m.start);
  if (m.before === "true" || m.before === "false")
    return nodes.find((n) => n.kind === "identifier" && n.start === m.start);
  if (m.before === "!") return nodes.find((n) => n.kind === "bool_not" && n.name === m.start);
  return nodes.find((n) => (BINARY.test(n.kind) || ASSIGNING.test(n.kind)) && n.name === m.start);
}

/** Whether the compiler alone sees it. */
function isCompiled(tree: Tree, node: Node): boolean {
  const around = chain(node.parent);
  const f = around.findIndex((n) => n.kind === "fn_decl");
  const scope = around.find((n) => /^(block|container_decl|tagged_union)/.test(n.kind));
  if (f < 0 || scope === undefined || !scope.kind.startsWith("block") || around.indexOf(scope) > f) return true;
  if (around.slice(0, f).some((n) => COMPILED.test(n.kind))) return true;
  const branch = around.find((n) => n.kind.startsWith("switch_case"));
  if (branch !== undefined && node.end <= branch.name) return true;
  const unrolled = around.find((n) => /^(for|while)/.test(n.kind) && textOf(tree, n).startsWith("inline "));
  return unrolled !== undefined && node.start < (unrolled.parts.at(-1) as Node).start;
}

/** The expression around a number that has a type of its own; null where only the compiler knows one. */
function typedAround(tree: Tree, number: Node): Node | null {
  let host = number;
  for (let at = number; at.parent !== undefined; at = at.parent) {
    const { parent } = at;
    if (BINARY.test(parent.kind)) return parent;
    if (/^(grouped_expression|negation|bit_not|deref)$/.test(parent.kind)) continue;
    if (parent.kind === "if" && parent.parts[0] !== at) {
      host = parent;
      continue;
    }
    if (parent.kind.startsWith("builtin_call")) {
      const text = textOf(tree, parent);
      return TYPED.test(text) ? at : BY_COMPILER.test(text) ? null : parent;
    }
    if (parent.kind.endsWith("var_decl")) {
      const typed = /^(?:pub )?(?:const|var) \w+\s*:/.test(textOf(tree, parent));
      return typed || host !== number ? host : null;
    }
    return host === number ? at : host;
  }
  return host;
}

/** Where a mutant can be switched; null when it cannot. */
function hostOf(tree: Tree, m: Mutant): Node | null {
  const node = nodeOf(tree, m);
  if (node === undefined || isCompiled(tree, node)) return null;
  const host = /^\d/.test(m.before) ? typedAround(tree, node) : node;
  return host === null || isKnown(tree, host) || textOf(tree, host).includes("//") ? null : host;
}

const flat = (text: string): string => text.replace(/\s*\n\s*/g, " ");

/** The source with its mutants, line by line where it was. */
function rendered(tree: Tree, placed: readonly Placed[]): string {
  const { source, nodes } = tree;
  const at = new Map<Node, Placed[]>();
  for (const p of placed) at.set(p.host, [...(at.get(p.host) ?? []), p]);
  const touched = new Set(placed.flatMap((p) => chain(p.host)));
  const inside = (n: Node): string => {
    let text = "";
    let from = n.start;
    for (const part of n.parts) {
      text += source.slice(from, part.start) + whole(part);
      from = part.end;
    }
    return text + source.slice(from, n.end);
  };
  const whole = (n: Node): string => {
    if (!touched.has(n)) return textOf(tree, n);
    const mine = at.get(n);
    if (mine === undefined) return inside(n);
    if (ASSIGNING.test(n.kind)) {
      const [{ id, m }, left, right] = [mine[0] as Placed, n.parts[0] as Node, n.parts.at(-1) as Node];
      const [to, value] = [textOf(tree, left), flat(textOf(tree, right))];
      const [after, before] = [m.after, m.before].map((x) => x.slice(0, -1));
      const changed = `if (mutants.on(${id})) ${to} ${after} (${value})`;
      return `${to} = ${changed} else ${to} ${before} (${whole(right)})`;
    }
    let text = inside(n);
    for (const { id, m } of mine) {
      const changed = flat(source.slice(n.start, m.start) + m.after + source.slice(m.end, n.end));
      text = `if (mutants.on(${id})) ${changed} else ${text}`;
    }
    return n.parent?.kind === "for_range" ? `@as(usize, ${text})` : `(${text})`;
  };
  let text = "";
  let from = 0;
  for (const n of nodes) {
    if (n.parent !== undefined || n.start < from) continue;
    text += source.slice(from, n.start) + whole(n);
    from = n.end;
  }
  return text + source.slice(from);
}

const SWITCH = `extern var zs_mutant: u32;
extern var zs_hits: [${ROOM}]u8;
pub inline fn on(comptime id: u32) bool {
    if (@inComptime()) return false;
    asm volatile (".pushsection zs_mutants,\\"aR\\",@progbits\\n.long %[id:c]\\n.popsection"
        :
        : [id] "i" (id),
    );
    @as(*volatile u8, &zs_hits[id]).* = 1;
    return @as(*volatile u32, &zs_mutant).* == id;
}
`;
const EXPORTS = `
export var zs_mutant: u32 = ${ROOM};
export var zs_hits: [${ROOM}]u8 = @splat(0);
export fn zs_mutate(id: u32) void {
    @as(*volatile u32, &zs_mutant).* = id;
}
export fn zs_mutant_hits() usize {
    return @intFromPtr(&zs_hits);
}
extern const __start_zs_mutants: u8;
extern const __stop_zs_mutants: u8;
export fn zs_mutants_begin() usize {
    return @intFromPtr(&__start_zs_mutants);
}
export fn zs_mutants_end() usize {
    return @intFromPtr(&__stop_zs_mutants);
}
`;

/** What a build said: an error with the notes that belong to it, each by file and line. */
type Complaint = { file: string; line: number; text: string }[];

function complaints(folder: string, said: string): Complaint[] {
  const all: Complaint[] = [];
  for (const row of said.split("\n")) {
    const [, path, line, kind, text] = /^(\S+\.zig):(\d+):\d+: (error|note): (.*)/.exec(row) ?? [];
    if (path === undefined) continue;
    const file = path.startsWith("/") ? relative(folder, path) : path.replace(/^.*?(zig\/)?src\//, "zig/src/");
    const place = { file, line: Number(line), text: text as string };
    if (kind === "error") all.push([place]);
    else all.at(-1)?.push(place);
  }
  return all;
}

class Instrumented {
  readonly trees = new Map<string, Tree>();
  live: Placed[] = [];

  constructor(
    readonly folder: string,
    all: readonly Mutant[],
  ) {
    const parser = buildParser(folder);
    for (const file of new Set(all.map((m) => m.file))) {
      const path = join(folder, file);
      this.trees.set(file, treeOf(parser, path, readFileSync(path, "utf8")));
    }
    for (const [id, m] of all.entries()) {
      if (m.file === ONE_SET) continue;
      const host = hostOf(this.trees.get(m.file) as Tree, m);
      if (host !== null) this.live.push({ id, m, host });
    }
    if (all.length > ROOM) throw new Error(`${all.length} mutants, but room for ${ROOM}`);
    writeFileSync(join(folder, "zig/src/core/mutants.zig"), SWITCH);
    const exported = join(folder, "zig/src/abi/exports.zig");
    writeFileSync(exported, readFileSync(exported, "utf8") + EXPORTS);
  }

  write(): void {
    for (const [file, tree] of this.trees) {
      const placed = this.live.filter((p) => p.m.file === file);
      const module = relative(join(file, ".."), "zig/src/core/mutants.zig");
      const tail = placed.length > 0 ? `\nconst mutants = @import("${module}");\n` : "";
      writeFileSync(join(this.folder, file), rendered(tree, placed) + tail);
    }
  }

  private lineOf(file: string, at: number): number {
    return (this.trees.get(file) as Tree).source.slice(0, at).split("\n").length;
  }

  /** Those whose expression has a line, or that stand in the function around it. */
  private near(file: string, line: number, wide: boolean): Placed[] {
    const tree = this.trees.get(file);
    if (tree === undefined) return [];
    const lines = tree.source.split("\n");
    let [from, to] = [line, line];
    if (wide) {
      while (from > 1 && !/\bfn \w+\(/.test(lines[from - 1] as string)) from--;
      while (to < lines.length && !/\bfn \w+\(/.test(lines[to] as string)) to++;
    }
    const meets = ({ host }: Placed) => this.lineOf(file, host.start) <= to && this.lineOf(file, host.end - 1) >= from;
    return this.live.filter((p) => p.m.file === file && meets(p));
  }

  /** Leaves out what a complaint is about: the line itself, then where it was called from, then the function. */
  blamed([error, ...notes]: Complaint): Placed[] {
    const at = error as Complaint[number];
    const runtime = notes.filter((n) => /runtime|comptime|control flow|argument|known/.test(n.text));
    const found = [at, ...runtime].flatMap((n) => this.near(n.file, n.line, false));
    if (found.length > 0) return found;
    for (const n of notes.filter((x) => x.text.startsWith("called"))) {
      const calling = this.near(n.file, n.line, false);
      if (calling.length > 0) return calling;
    }
    return this.near(at.file, at.line, true);
  }
}

/** Where a copy that is kept says which mutants its library has. */
const ABLE = "zig/mutants.json";

/** Builds a copy's library with its mutants in it; gives the numbers of those that can be switched. */
export async function instrumentKernels(folder: string, all: readonly Mutant[], set: string): Promise<Set<number>> {
  const note = join(folder, ABLE);
  const hash = `${Bun.hash(JSON.stringify([set, all]))}`;
  if (existsSync(note)) {
    const before = JSON.parse(readFileSync(note, "utf8")) as { hash: string; able: number[] };
    if (before.hash !== hash) throw new Error(`${folder} has the mutants of other sources: remove it`);
    return new Set(before.able);
  }
  await built(folder, all, set);
  const able = switchable(folder);
  writeFileSync(note, JSON.stringify({ hash, able }));
  return new Set(able);
}

async function built(folder: string, all: readonly Mutant[], set: string): Promise<void> {
  const work = new Instrumented(folder, all);
  const place = ["--build-file", join(folder, "zig/build.zig"), "--prefix", join(folder, "build")];
  const words = [findZig() as string, "build", ...place, "--cache-dir", join(folder, ".zig-cache")];
  for (let round = 1; round <= ROUNDS; round++) {
    work.write();
    const flags = ["-Doptimize=ReleaseFast", `-Donly=${set}`, "--color", "off"];
    const run = Bun.spawn([...words, ...flags], { cwd: folder, env: toolEnv(), stdout: "ignore", stderr: "pipe" });
    const said = await new Response(run.stderr).text();
    if ((await run.exited) === 0) return;
    const blamed = new Set(complaints(folder, said).flatMap((c) => work.blamed(c)));
    console.log(`build ${round}: ${blamed.size} of ${work.live.length} mutants do not compile`);
    if (blamed.size === 0) throw new Error(`the kernels do not build:\n${said.slice(0, 2000)}`);
    work.live = work.live.filter((p) => !blamed.has(p));
  }
  throw new Error(`the kernels do not build in ${ROUNDS} rounds`);
}
