// Writes the npm packages into dist/: `zensor`, and one package a platform that holds the native library alone.
//   bun run pack [--host] [--cli]     --host: only this machine's platform
//                                    --cli: the command line too, one executable a platform
// All libraries are compiled here; the same sources give the same bytes.
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { entryText } from "../bundle/entry.ts";
import { EXTERNAL, namesText, readExports, readParts, writeCompiled, writePlain } from "../bundle/parts.ts";
import { libraryFile, root, ToolError, toolEnv, writeEmptyMap } from "../toolchain.mjs";
import { crossBuild, hostPlatform, objections, PLATFORMS, type Platform } from "./platforms.ts";
import { writeTypes } from "./types.ts";

const stage = join(root, "build", "pack", "stage");

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { version, license, description, engines, peerDependencies, peerDependenciesMeta } = manifest;

function run(words: string[], cwd = root): void {
  const { success, stdout, stderr } = Bun.spawnSync(words, { cwd, env: toolEnv() });
  if (!success) throw new Error(`${words.join(" ")}\n${stdout}${stderr}`);
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** A source and all that it imports as one file. Platform packages are found when the program runs. */
function bundle(source: string, folder: string, name: string, form: string[]): void {
  const options = [...EXTERNAL, ...form];
  run([process.execPath, "build", source, ...options, `--outdir=${folder}`, `--entry-naming=${name}`]);
  if (form === COMPILED) writeEmptyMap(join(folder, name));
}

/**
 * With compiled code beside it, which loads in a third of the time; a source's path there would be this machine's.
 */
const COMPILED = [
  "--target=bun",
  "--format=cjs",
  "--bytecode",
  "--minify-whitespace",
  "--no-deprecated-namespace-object-setters",
  "--define",
  "import.meta.path=module.filename",
];

/**
 * As bundlers read it: plain CommonJS, where they see which packages are asked for. Those made for bun say that they
 * are bundles, and are taken as they are. Where this one will lie is not known here.
 */
const READABLE = [
  "--target=node",
  "--format=cjs",
  "--external",
  "bun",
  "--external",
  "bun:*",
  "--define",
  'import.meta.path=""',
];

/** Sets `$get`: the compiled core where programs run, the one that bundlers can read where they are bundled. */
const CORE = `${readFileSync(join(root, "src", "needs-bun.cjs"), "utf8")}
// A bundler sees the last line only: compiled files are closed to it, so their name is not plain to see.
let $get;
try {
  $get = require(\`./zensor.\${typeof Bun === "object" ? "compiled" : "none"}.js\`);
} catch (error) {
  if (!/MODULE_NOT_FOUND/.test(error?.code)) throw error;
}
$get ??= require("./zensor.plain.js");
`;

/** What loaders take that do not know the condition "bun". */
const common = (names: readonly string[]) => `${CORE}
for (const name of ${JSON.stringify(names)}) {
  Object.defineProperty(exports, name, { configurable: true, enumerable: true, get: () => $get(name) });
}
`;

async function stageMain(): Promise<string> {
  const folder = join(stage, "zensor");
  const lib = join(folder, "lib");
  mkdirSync(lib, { recursive: true });
  const parts = readParts(join(root, "build", "bundle"));
  const core = writeCompiled(parts, join(root, "build", "bundle"), lib);
  writePlain(parts, join(lib, "zensor.plain.js"));
  writeFileSync(join(lib, "zensor.mjs"), entryText(CORE, readExports(parts, core, libraryFile())));
  const names = `// Names for other runtimes, which read them here.\n${namesText(parts)}`;
  writeFileSync(join(lib, "zensor.js"), `${common([...parts.flat.exports.keys()])}${names}`);
  bundle("src/cli/main.ts", lib, "cli.js", COMPILED);
  await writeTypes(join(lib, "zensor.d.ts"));
  for (const name of ["README.md", "LICENSE", "CHANGELOG.md"]) cpSync(join(root, name), join(folder, name));
  writeJson(join(folder, "package.json"), {
    name: "zensor",
    version,
    description,
    license,
    type: "commonjs",
    exports: {
      ".": { types: "./lib/zensor.d.ts", bun: "./lib/zensor.mjs", default: "./lib/zensor.js" },
      "./package.json": "./package.json",
    },
    types: "./lib/zensor.d.ts",
    bin: { zensor: "./lib/cli.js" },
    files: ["lib", "CHANGELOG.md"],
    engines,
    optionalDependencies: Object.fromEntries(PLATFORMS.map((p) => [p.name, version])),
    peerDependencies,
    peerDependenciesMeta,
  });
  return folder;
}

/** The library, and a module that says where it is: a bundler copies or embeds the file that it names. */
const INDEX = (file: string) => `import file from "./${file}" with { type: "file" };
export default file;
`;

function stagePlatform(platform: Platform, library: string): string {
  const folder = join(stage, platform.name);
  mkdirSync(folder, { recursive: true });
  cpSync(library, join(folder, platform.file));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "index.js"), INDEX(platform.file));
  writeFileSync(join(folder, "index.d.ts"), "declare const file: string;\nexport default file;\n");
  writeJson(join(folder, "package.json"), {
    name: platform.name,
    version,
    description: `The native library of zensor for ${platform.text}.`,
    license,
    type: "module",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./package.json": "./package.json" },
    files: [platform.file, "index.js", "index.d.ts"],
    os: [platform.os],
    cpu: [platform.cpu],
    ...(platform.libc === undefined ? {} : { libc: [platform.libc] }),
  });
  return folder;
}

/** The command line with Bun and the library in one file; Bun itself comes from npm for other platforms. */
function compileCli(platform: Platform, dist: string): void {
  const folder = join(stage, "cli");
  const packages = join(folder, "node_modules");
  mkdirSync(packages, { recursive: true });
  // The program's own first line, which names Bun, would make its bundle one that is taken as it is.
  writeFileSync(
    join(folder, "entry.ts"),
    `export { endWith, main } from ${JSON.stringify(join(root, "src", "cli", "main.ts"))};\n`,
  );
  bundle(join(folder, "entry.ts"), folder, "commands.js", [...READABLE, "--define", "import.meta.main=false"]);
  const start = "const { endWith, main } = require('./commands.js');";
  writeFileSync(join(folder, "main.js"), `${start}\nmain(process.argv.slice(2)).then(endWith);\n`);
  cpSync(join(stage, platform.name), join(packages, platform.name), { recursive: true });
  const system = platform.os === "win32" ? "windows" : platform.os;
  const target = `--target=bun-${system}-${platform.cpu}${platform.libc === "musl" ? "-musl" : ""}`;
  const name = platform.name.replace("zensor-", "zensor-cli-") + (platform.os === "win32" ? ".exe" : "");
  const foreign = platform === hostPlatform() ? [] : [target];
  run([process.execPath, "build", "main.js", "--compile", ...foreign, `--outfile=${join(dist, name)}`], folder);
  rmSync(folder, { recursive: true });
}

/** This machine's library, as `bun run build` left it; one that is compiled for its package is checked there. */
function builtHere(platform: Platform): string {
  const wrong = objections(platform, libraryFile());
  if (wrong !== "") throw new ToolError(`${libraryFile()} ${wrong}: run the build first`);
  return libraryFile();
}

/** Writes the packages into a folder, which is emptied first; gives the folders that they were packed from. */
export async function packAll(dist: string, host: boolean, cli = false): Promise<string[]> {
  rmSync(stage, { recursive: true, force: true });
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const folders = [await stageMain()];
  for (const platform of PLATFORMS) {
    if (host && platform !== hostPlatform()) continue;
    folders.push(stagePlatform(platform, host ? builtHere(platform) : crossBuild(platform)));
    if (cli) compileCli(platform, dist);
  }
  for (const folder of folders) {
    run([process.execPath, "pm", "pack", "--destination", dist, "--ignore-scripts", "--quiet"], folder);
  }
  return folders;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { host: { type: "boolean", default: false }, cli: { type: "boolean", default: false } },
  });
  const dist = join(root, "dist");
  await packAll(dist, values.host, values.cli);
  for (const file of new Bun.Glob("zensor*").scanSync(dist)) {
    console.log(`dist/${file}  ${(statSync(join(dist, file)).size / 1e6).toFixed(2)} MB`);
  }
}
