// The import graph as a checked rule: values flow one way through the rooms of src/ and generated/, values and types
// one way through the folders of a room, and neither in a circle of files. Dynamic imports obey the rooms, but make no
// circle.

import { posix } from "node:path";
import ts from "typescript";
import { checkRegistrations } from "./registrations.ts";
import { listFiles, readText, report, repositoryRoot, type Violation } from "./source-files.ts";

/** Rooms from the lowest to the highest: a room may import from every line below its own. */
const LEVELS: readonly (readonly string[])[] = [
  ["runtime"],
  ["ffi"],
  ["tensor"],
  ["dispatch"],
  ["autograd"],
  ["generated"],
  ["formulas"],
  ["api", "nn", "func", "optim", "distributions", "tensordict", "io", "cuda", "distributed", "profiler"],
  ["testing"],
  ["install"],
  ["index"],
  ["cli"],
];

/** What a room may import from the rooms on its own line. */
const SIBLINGS: Record<string, readonly string[]> = {
  tensordict: ["io", "nn", "api", "distributions", "func"],
  nn: ["api"],
  func: ["api", "nn"],
  distributions: ["api"],
  optim: ["api", "nn"],
  io: ["api"],
  distributed: ["api", "io", "tensordict"],
  profiler: ["io"],
};

/** The folders of rooms that have some, and what each may import of them. Files beside the folders may import all. */
const FOLDERS: Record<string, Readonly<Record<string, readonly string[]>>> = {
  io: {
    base: [],
    disk: ["base"],
    zip: ["base", "disk"],
    store: ["base", "disk", "zip"],
    pickle: ["base"],
    numpy: ["base", "disk", "zip", "store"],
    torch: ["base", "disk", "zip", "store", "pickle", "numpy"],
    safetensors: ["base", "disk", "store"],
    memmap: ["base", "disk", "zip", "store"],
    gguf: ["base", "disk"],
    hdf5: ["base", "disk"],
    snapshot: ["base", "disk", "store", "torch"],
    codec: ["base", "zip"],
    columns: ["base"],
    arrow: ["base", "codec", "columns"],
    parquet: ["base", "codec", "columns", "arrow"],
    tables: ["base", "disk", "columns", "arrow", "parquet"],
  },
  tensordict: {
    core: [],
    ops: ["core"],
    disk: ["core", "ops"],
    classes: ["core", "ops", "disk"],
    nn: ["core", "ops", "classes"],
  },
};

/** The rooms that may call native code by themselves: all others call operators. */
const FFI_USERS = ["tensor", "dispatch", "io", "cuda"];

/** Packages that are part of the runtime; the library needs no other. */
const RUNTIME = /^(bun|bun:[\w-]+|node:[\w/-]+)$/;

/** Folders whose files are read; of those outside src/ and generated/, only the use of bun:ffi is checked. */
const READ = /^(src|generated|codegen|scripts|examples)\/.*\.(ts|mts|mjs|js)$/;
const LIBRARY = /^(src|generated)\//;

export interface Import {
  specifier: string;
  line: number;
  dynamic: boolean;
  /** It exists for the compiler only. */
  type: boolean;
}

/** The room of a file of src/ or generated/, undefined for one that lies in no room. */
export function roomOf(file: string): string | undefined {
  // The kernel table is what dispatch calls; it knows nothing of operators.
  if (file === "generated/kernels.ts") return "dispatch";
  // Texts know only the error classes.
  if (file === "generated/texts.ts") return "tensor";
  // What the registration file gives to the rooms below operators.
  if (file === "generated/late.ts") return "install";
  // Tangents are of the transforms alone.
  if (file === "generated/tangents.ts") return "func";
  if (file.startsWith("generated/")) return "generated";
  if (/^src\/(index|install)\.ts$/.test(file)) return posix.basename(file, ".ts");
  const [, room] = /^src\/([^/]+)\//.exec(file) ?? [];
  if (room === undefined || !LEVELS.some((level) => level.includes(room))) return undefined;
  return /^src\/autograd\/(formulas|composites|api)[^/]*(\/|$)/.test(file) ? "formulas" : room;
}

/** The folder of a file inside its room; "" for one beside the folders. */
function folderOf(file: string): string {
  return /^src\/[^/]+\/([^/]+)\//.exec(file)?.[1] ?? "";
}

function levelOf(room: string): number {
  return LEVELS.findIndex((level) => level.includes(room));
}

/** The imports of a source text, among them modules that it adds declarations to. */
export function importsOf(file: string, text: string): Import[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, false);
  const found: Import[] = [];
  const add = (at: ts.Node, specifier: ts.Node, kind: Partial<Import>) => {
    if (!ts.isStringLiteralLike(specifier)) return;
    const line = source.getLineAndCharacterOfPosition(at.getStart(source)).line + 1;
    found.push({ specifier: specifier.text, line, dynamic: false, type: false, ...kind });
  };
  for (const node of source.statements) {
    if (ts.isImportDeclaration(node)) add(node, node.moduleSpecifier, { type: node.importClause?.isTypeOnly === true });
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      add(node, node.moduleSpecifier, { type: node.isTypeOnly });
    } else if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) add(node, node.name, { type: true });
  }
  if (!/\b(import|require)\s*\(/.test(text)) return found;
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.arguments.length > 0) {
      const callee = node.expression;
      const required = ts.isIdentifier(callee) && callee.text === "require";
      if (callee.kind === ts.SyntaxKind.ImportKeyword || required) add(node, node.arguments[0]!, { dynamic: true });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, { type: true });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Generated files that import no values but those of other such files: plain tables, open to every room. */
function generatedTables(graph: Map<string, { target: string }[]>): Set<string> {
  const tables = new Set([...graph.keys()].filter((file) => file.startsWith("generated/")));
  for (let before = -1; before !== tables.size; ) {
    before = tables.size;
    for (const file of tables) {
      if (graph.get(file)!.some(({ target }) => !tables.has(target))) tables.delete(file);
    }
  }
  return tables;
}

/** Why a room may not import another, or undefined if it may. */
function objection(from: string, to: string): string | undefined {
  if (from === to) return undefined;
  if (to === "ffi" && !FFI_USERS.includes(from)) {
    return `only ${FFI_USERS.join(", ")} use src/ffi directly; call an operator or go through src/tensor`;
  }
  const [a, b] = [levelOf(from), levelOf(to)];
  if (a > b) return undefined;
  if (a < b) {
    return `${to} lies above ${from}; use \`import type\`, move the code down, or install it in src/install.ts`;
  }
  if (SIBLINGS[from]?.includes(to)) return undefined;
  const allowed = SIBLINGS[from] ?? [];
  const may = allowed.length > 0 ? `${from} may import only ${allowed.join(", ")}` : `${from} may import none of them`;
  return `${from} and ${to} are siblings and ${may}; move the shared code down`;
}

/** Why a file may not import another one of its room, values or types. */
function folderObjection(room: string, file: string, target: string): string | undefined {
  const folders = FOLDERS[room];
  const [from, to] = [folderOf(file), folderOf(target)];
  if (folders === undefined || from === to || from === "") return undefined;
  const allowed = folders[from] ?? [];
  if (allowed.includes(to)) return undefined;
  const may = allowed.length > 0 ? `may import only ${allowed.join(", ")}` : "may import none of the others";
  return `${from} of ${room} ${may}; move the shared code down`;
}

/** Packages of the command line. */
const COMMAND_LINE_PACKAGES = new Set(["commander", "cli-progress"]);

interface Edge extends Import {
  target: string;
}

function checkEdge(file: string, edge: Edge, files: ReadonlyMap<string, string>): string | undefined {
  const { specifier, target } = edge;
  if (specifier === "bun:ffi") {
    return file.startsWith("src/ffi/") ? undefined : `only src/ffi imports "bun:ffi"; use what src/ffi exports`;
  }
  if (!LIBRARY.test(file)) return undefined;
  if (!/^\.{1,2}\//.test(specifier)) {
    if (specifier.startsWith("node:") && !edge.type && !/^src\/(runtime|cli)\//.test(file)) {
      return `"${specifier}" would be loaded with the library; use what src/runtime/node.ts exports`;
    }
    if (RUNTIME.test(specifier)) return undefined;
    // The platforms' packages hold our own native library.
    if (file === "src/ffi/library.ts" && /^zensor-/.test(specifier)) return undefined;
    if (file.startsWith("src/cli/") && COMMAND_LINE_PACKAGES.has(specifier)) return undefined;
    return `"${specifier}" is not part of Bun; the library has no dependencies`;
  }
  if (!/\.(ts|json|so|dylib|dll)$/.test(specifier)) return `"${specifier}" needs its file ending (.ts)`;
  if (!specifier.endsWith(".ts")) return undefined;
  if (!LIBRARY.test(target)) return `the library imports nothing outside of src/ and generated/, not ${target}`;
  if (!files.has(target)) return `${target} does not exist`;
  return undefined;
}

/** One cycle through every group of files that import each other, as paths from a file back to itself. */
function cycles(graph: ReadonlyMap<string, Edge[]>): Violation[] {
  const found: Violation[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    path.push(file);
    for (const { target, dynamic, line } of graph.get(file) ?? []) {
      const at = path.indexOf(target);
      if (dynamic || done.has(target)) continue;
      if (at < 0) visit(target);
      else {
        const loop = [...path.slice(at), target].join(" -> ");
        found.push({ file, line, message: `cycle of imports: ${loop}; move what both need into a file below` });
      }
    }
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) if (!done.has(file)) visit(file);
  return found;
}

/** Checks a set of files, given by path relative to the repository. */
export function checkImports(files: ReadonlyMap<string, string>): Violation[] {
  const found: Violation[] = [];
  const graph = new Map<string, Edge[]>();
  for (const [file, text] of files) {
    const edges = importsOf(file, text).map((item) => ({
      ...item,
      target: posix.join(posix.dirname(file), item.specifier),
    }));
    const local: Edge[] = [];
    for (const edge of edges) {
      const message = checkEdge(file, edge, files);
      if (message !== undefined) found.push({ file, line: edge.line, message });
      else if (LIBRARY.test(file) && edge.specifier.startsWith(".") && files.has(edge.target)) local.push(edge);
    }
    if (LIBRARY.test(file)) graph.set(file, local);
  }
  const values = new Map([...graph].map(([file, edges]) => [file, edges.filter((edge) => !edge.type)]));
  const tables = generatedTables(values);
  for (const [file, edges] of graph) {
    const from = roomOf(file);
    if (from === undefined) {
      found.push({ file, line: 0, message: "lies in no room of src/; see LEVELS in codegen/verify/imports.ts" });
      continue;
    }
    const folder = folderOf(file);
    if (folder !== "" && FOLDERS[from] !== undefined && FOLDERS[from][folder] === undefined) {
      found.push({ file, line: 0, message: `lies in no folder of ${from}; see FOLDERS in codegen/verify/imports.ts` });
    }
    for (const { target, line, type } of edges) {
      const to = roomOf(target);
      if (to === undefined || tables.has(target)) continue;
      const why = from === to ? folderObjection(from, file, target) : type ? undefined : objection(from, to);
      if (why !== undefined) found.push({ file, line, message: `imports ${target}: ${why}` });
    }
  }
  return [...found, ...cycles(graph)];
}

if (import.meta.main) {
  const names = listFiles(repositoryRoot).filter((file) => READ.test(file));
  const files = new Map(names.map((file) => [file, readText(repositoryRoot, file)]));
  const violations = [...checkImports(files), ...checkRegistrations(files)];
  process.exitCode = report(
    "imports",
    violations,
    `${files.size} files, imports go down, and in no circle; what is registered is in install.ts`,
  );
}
