// The declarations of the whole library as one file, for the package: emitted by tsc, augmentations of modules turned
// into plain inheritance, then bundled.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { Project, type SourceFile } from "ts-morph";
import { root, toolEnv, tsc } from "../toolchain.mjs";
import { addByName } from "./by-name.ts";
import { addExamples } from "./examples.ts";
import { readable } from "./readable.ts";

/** What tsc says of the sources, one file a source. */
function emit(emitted: string): void {
  const config = join(emitted, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: emitted,
    rootDir: root,
    incremental: false,
    tsBuildInfoFile: null,
    allowJs: false,
    checkJs: false,
  };
  const files = [join(root, "src", "index.ts")];
  writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include: [], files }));
  const command = [process.execPath, tsc, "-p", config];
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd: root, env: toolEnv() });
  if (!success) throw new Error(`the declarations cannot be written:\n${stdout}${stderr}`);
}

/**
 * `declare module "./x.ts" { interface T { … } }` names a file that the bundle does not have. The members become an
 * interface of their own, which `T` extends where it stands.
 */
function unfold(project: Project, file: SourceFile, emitted: string): void {
  for (const block of file.getModules().filter((m) => m.hasDeclareKeyword() && /^["']/.test(m.getName()))) {
    const path = resolve(dirname(file.getFilePath()), block.getName().slice(1, -1).replace(/\.ts$/, ".d.ts"));
    const target = project.getSourceFile(path);
    if (target === undefined) throw new Error(`${file.getFilePath()} adds to ${path}, which is not there`);
    for (const part of block.getInterfaces()) {
      const tag = relative(emitted, file.getFilePath())
        .replace(/\.d\.ts$/, "")
        .replace(/\W/g, "_");
      const name = `${part.getName()}_of_${tag}`;
      const parameters = part.getTypeParameters().map((p) => p.getText());
      const args = part.getTypeParameters().map((p) => p.getName());
      const structure = part.getStructure();
      file.addInterface({ ...structure, name, isExported: true, hasDeclareKeyword: false });
      const from = relative(dirname(path), file.getFilePath()).replace(/\.d\.ts$/, ".ts");
      target.addImportDeclaration({
        isTypeOnly: true,
        moduleSpecifier: from.startsWith(".") ? from : `./${from}`,
        namedImports: [name],
      });
      const list = (some: string[]) => (some.length > 0 ? `<${some.join(", ")}>` : "");
      target.addStatements(`export interface ${part.getName()}${list(parameters)} extends ${name}${list(args)} {}`);
    }
    block.remove();
  }
}

function unfoldAll(emitted: string): void {
  const project = new Project({
    skipAddingFilesFromTsConfig: true,
    compilerOptions: { allowImportingTsExtensions: true },
  });
  project.addSourceFilesAtPaths(join(emitted, "**", "*.d.ts"));
  for (const file of project.getSourceFiles()) unfold(project, file, emitted);
  project.saveSync();
}

/**
 * What the declarations take from their surroundings. A program may be compiled without Bun's types and without the
 * DOM's: these names have to mean something there too.
 */
const AROUND = `/// <reference lib="esnext.disposable" />
/// <reference lib="es2025.float16" />

/** A typed array of any kind. */
type TypedArray =
  | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array | Float16Array | Float32Array | Float64Array;
/** The global AbortSignal, where the program's libraries have it. */
type AbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : { readonly aborted: boolean };
`;

function standAlone(text: string): string {
  // Bun's client for S3 is any without Bun's types.
  const withClient = text.replace(/^import \{ (\w+) \} from 'bun';$/m, "// @ts-ignore\nimport type { $1 } from 'bun';");
  // Members of a namespace are other names of classes; those may not say that their parameters are constant.
  const open = withClient.replace(/^type [\w$]+<.*> = [\w$]+<[\w$, ]+>;$/gm, (line) =>
    line.replace(/\b(const|in out) /g, ""),
  );
  const result = AROUND + open.replaceAll("NodeJS.TypedArray", "TypedArray");
  const code = result.replace(/\/\*\*[\s\S]*?\*\//g, "");
  const foreign = code.match(/\b(NodeJS|Bun|Buffer)\.\w+|^import .* from '(?!bun')/gm);
  if (foreign !== null)
    throw new Error(`the declarations need names from elsewhere: ${[...new Set(foreign)].join(", ")}`);
  return result;
}

/** Writes the declarations to a file. */
export async function writeTypes(file: string): Promise<void> {
  mkdirSync(join(root, "build"), { recursive: true });
  const emitted = mkdtempSync(join(root, "build", "declarations-"));
  try {
    emit(emitted);
    addExamples(emitted);
    addByName(emitted);
    unfoldAll(emitted);
    await bundle(emitted, file);
  } finally {
    rmSync(emitted, { recursive: true });
  }
}

async function bundle(emitted: string, file: string): Promise<void> {
  const made = await rollup({
    input: join(emitted, "src", "index.d.ts"),
    plugins: [dts()],
    external: [/^node:/, /^bun/],
    onwarn: (warning) => {
      throw new Error(`declarations: ${warning.message}`);
    },
  });
  await made.write({ file, format: "es" });
  await made.close();
  writeFileSync(file, readable(standAlone(readFileSync(file, "utf8"))));
}
