// The parts of the library, read from the sources, and the files that are written of them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, toolEnv, writeEmptyMap } from "../toolchain.mjs";
import { CHUNKS, type Plan, type Profile, planCells } from "./cells.ts";
import { chunkTexts } from "./chunks.ts";
import { type Exported, type ExportKind, exportedBy } from "./entry.ts";
import { type Flat, readFlat } from "./flat.ts";
import type { PrintOptions } from "./print.ts";

export const profileFile = join(import.meta.dir, "profile.json");
/** Bun would write down what the builder's environment says. */
const ENVIRONMENT = ["--define", "process.env.NODE_ENV=process.env.NODE_ENV"];

/** Words of the language that are names of ours, too. */
const RESERVED = new Set(["var", "delete", "default"]);

/** Packages of others, and those with the native library: they are found when the program runs. */
export const EXTERNAL = ["h5wasm", "apache-arrow", "parquet-wasm", "zensor-*"].flatMap((name) => ["--external", name]);

/** Runs a program of bun's; gives what it prints. */
export function bun(words: readonly string[], env: Record<string, string> = {}): string {
  const { success, stdout, stderr } = Bun.spawnSync([process.execPath, ...words], {
    cwd: root,
    env: { ...toolEnv(), ...env },
  });
  if (!success) throw new Error(`bun ${words.join(" ")}\n${stdout}${stderr}`);
  return stdout.toString();
}

/** The library's parts, and how they are divided. */
export interface Parts {
  flat: Flat;
  plan: Plan;
}

/** Reads the sources; `folder` takes the files in between. */
export function readFlatFile(folder: string): Flat {
  mkdirSync(folder, { recursive: true });
  const form = ["--target=bun", "--format=esm", ...EXTERNAL, ...ENVIRONMENT];
  bun(["build", "src/index.ts", ...form, `--outdir=${folder}`, "--entry-naming=flat.js"]);
  return readFlat(readFileSync(join(folder, "flat.js"), "utf8"));
}

export function readProfile(): Profile {
  return JSON.parse(readFileSync(profileFile, "utf8")) as Profile;
}

/** How the core says which file it is. */
const OWN_PATH = "$module.filename";

/** The library's chunks as text. */
function texts({ flat, plan }: Parts, path: string, options: PrintOptions = {}): string[] {
  return chunkTexts(flat, plan, options).map((text) => text.replaceAll("import.meta.path", path));
}

/** The library as the text of one file. */
function wholeText(parts: Parts, path: string, options: PrintOptions = {}): string {
  return texts(parts, path, { ...options, whole: true })[0] as string;
}

/** Writes a file that notes what is touched, in `globalThis.evaluated` and `touched`. */
export function writeNoting(parts: Parts, file: string): void {
  writeFileSync(file, wholeText(parts, OWN_PATH, { noting: true }));
}

/** The sources, divided. */
export function readParts(folder: string): Parts {
  const flat = readFlatFile(folder);
  return { flat, plan: planCells(flat, readProfile()) };
}

/** The names of the compiled files: the first is the one to load. */
export const CHUNK_FILES = CHUNKS.map((name) => `zensor.${name}.js`);

/** Writes the chunks with compiled code beside each, which loads in a third of the time. Gives the first. */
export function writeCompiled(parts: Parts, folder: string, lib: string): string {
  const form = ["--target=bun", "--format=cjs", "--bytecode", "--minify-whitespace", ...ENVIRONMENT];
  for (const [n, text] of texts(parts, OWN_PATH).entries()) {
    const name = CHUNK_FILES[n] as string;
    const source = join(folder, name);
    writeFileSync(source, text);
    bun([
      "build",
      source,
      ...form,
      ...EXTERNAL,
      "--external",
      "./zensor.*",
      `--outdir=${lib}`,
      `--entry-naming=${name}`,
    ]);
    writeEmptyMap(join(lib, name));
  }
  return join(lib, CHUNK_FILES[0] as string);
}

/** Writes the library as bundlers read it, who see which packages are asked for. Where it will lie is unknown. */
export function writePlain(parts: Parts, file: string): void {
  writeFileSync(file, wholeText(parts, '""'));
}

/** Writes the chunks for the project's own tests, which also look at what is no export; gives where each name is. */
export function writeOpen(parts: Parts, folder: string): [first: string, names: Record<string, string[]>] {
  mkdirSync(folder, { recursive: true });
  for (const [n, text] of texts(parts, OWN_PATH, { open: true }).entries()) {
    writeFileSync(join(folder, CHUNK_FILES[n] as string), text);
  }
  const names: Record<string, string[]> = {};
  for (const one of parts.flat.statements) (names[one.file] ??= []).push(...one.names);
  return [join(folder, CHUNK_FILES[0] as string), { ...names, "src/index.ts": [] }];
}

/** What the core exports; asked of the compiled one. */
export function readExports({ flat, plan }: Parts, core: string, library: string): Exported[] {
  const program = `
    const get = require(${JSON.stringify(core)});
    const kind = (value) => typeof value !== "function" || (Object.keys(value).length > 0 && !value.prototype)
      ? "object" : /^class\\b/.test(Function.prototype.toString.call(value)) ? "class" : "function";
    console.log(JSON.stringify(${JSON.stringify([...flat.exports.keys()])}.map((name) => [name, kind(get(name))])));`;
  const kinds = new Map(JSON.parse(bun(["-e", program], { ZENSOR_LIBRARY: library })) as [string, ExportKind][]);
  return exportedBy(flat, plan, kinds);
}

/** The names of the exports, in the form in which other runtimes read them before they run anything. */
export function namesText({ flat }: Parts): string {
  const names = [...flat.exports.keys()].filter((name) => !RESERVED.has(name));
  return `0 && (module.exports = {${names.join(",")}});\n`;
}

export function writeNames(parts: Parts, file: string): void {
  writeFileSync(file, namesText(parts));
}
