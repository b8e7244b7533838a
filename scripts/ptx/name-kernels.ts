// Gives GPU kernels their exported names, and their argument. Zig exports a function as an alias of one with a private
// name, but PTX knows no aliases of kernels: the alias goes, and the function takes its name. A kernel takes a pointer;
// what it points at shall come by value, as Zig cannot say: `<name>$bytes` is its size. `<name>$threads`, where there
// is one, is how many threads a block has at most, and `<name>$blocks` how many blocks a processor shall have room for.
// Usage: name-kernels.ts IN.ll OUT.ll
import { readFileSync, writeFileSync } from "node:fs";

/** A global name, `@name` or `@"any text"`. */
const GLOBAL = String.raw`@(?:"[^"]*"|[\w.$-]+)`;
const NAME = new RegExp(GLOBAL, "g");
const ALIAS = new RegExp(String.raw`^(${GLOBAL}) = .*\balias .*\bptr (${GLOBAL})`);
const CONSTANT = new RegExp(String.raw`^(${GLOBAL}) = .* constant i64 (\d+)`);
const KERNEL = new RegExp(String.raw`^define private (ptx_kernel .*?)${GLOBAL}\([^%]*%0(\).*)$`);
const NUMBER = /^@"(.+)\$(bytes|threads|blocks)"$/;

/** What the aliases of a module say. */
interface Aliases {
  /** Exported names by the private names that they stand for; of several the first. */
  readonly exported: Map<string, string>;
  /** Further names of kernels by the first: bodies that come out the same are one function to the compiler. */
  readonly further: Map<string, string[]>;
  /** Bytes of arguments by exported names of kernels. */
  readonly bytes: Map<string, string>;
  /** Threads of a block, of those kernels that say it. */
  readonly threads: Map<string, string>;
  /** Blocks that a processor has at the same time, of those kernels that ask for it. */
  readonly blocks: Map<string, string>;
}

function aliasesOf(lines: readonly string[]): Aliases {
  const numbers = { bytes: new Map(), threads: new Map(), blocks: new Map() };
  const aliases: Aliases = { exported: new Map(), further: new Map(), ...numbers };
  const constants = new Map<string, string>();
  for (const line of lines) {
    if (!line.startsWith("@")) continue;
    const [, constant, value] = CONSTANT.exec(line) ?? [];
    if (constant !== undefined) constants.set(constant, value as string);
    const [, name, target] = ALIAS.exec(line) ?? [];
    if (name === undefined || target === undefined) continue;
    const [, kernel, what] = NUMBER.exec(name) ?? [];
    const first = aliases.exported.get(target);
    if (kernel !== undefined) {
      const size = constants.get(target);
      if (size === undefined) throw new Error(`no size for ${name}`);
      aliases[what as keyof typeof numbers].set(`@${kernel}`, size);
    } else if (first === undefined) aliases.exported.set(target, name);
    else aliases.further.set(first, [...(aliases.further.get(first) ?? []), name]);
  }
  return aliases;
}

/** The kernel whose first line is given, under an exported name and with its argument by value. */
function kernel(line: string, name: string, { bytes, threads, blocks }: Aliases): string {
  const size = bytes.get(name);
  if (size === undefined) throw new Error(`no size for ${name}`);
  const [, result, rest] = KERNEL.exec(line) ?? [];
  if (result === undefined) throw new Error(`one argument is taken: ${line}`);
  const most = threads.get(name);
  const least = blocks.get(name);
  const said = `${most ? ` "nvvm.maxntid"="${most}"` : ""}${least ? ` "nvvm.minctasm"="${least}"` : ""}`;
  const end = rest?.replace(/(?= #\d+| \{)/, said);
  return `define ${result}${name}(ptr byval([${size} x i8]) align 8 %0${end}`;
}

/** The text of a module in LLVM's language with the names and arguments of its kernels put right. */
export function nameKernels(text: string): string {
  const lines = text.split("\n");
  const aliases = aliasesOf(lines);
  const renamed = (line: string) =>
    line.includes("@") ? line.replace(NAME, (name) => aliases.exported.get(name) ?? name) : line;
  const out: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    if (line.startsWith("@") && ALIAS.test(line)) continue;
    const name = line.startsWith("define private ptx_kernel ") ? line.match(NAME)?.[0] : undefined;
    const first = name === undefined ? undefined : aliases.exported.get(name);
    if (first === undefined) {
      out.push(renamed(line));
      continue;
    }
    const end = lines.indexOf("}", i);
    if (end < 0) throw new Error(`a kernel without an end: ${line}`);
    const body = lines.slice(i + 1, end + 1).map(renamed);
    const head = renamed(line);
    for (const each of [...(aliases.further.get(first) ?? []), first]) out.push(kernel(head, each, aliases), ...body);
    i = end;
  }
  return out.join("\n");
}

if (import.meta.main) {
  const [from, to] = process.argv.slice(2) as [string, string];
  writeFileSync(to, nameKernels(readFileSync(from, "utf8")));
}
