// TypeScript's language service, as editors ask it, over programs that use the package in a project of `bun init`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { writeTypes } from "../../scripts/pack/types.ts";

/** What `bun init` writes into tsconfig.json, as the compiler reads it. */
const SETTINGS: ts.CompilerOptions = {
  lib: ["lib.esnext.d.ts"],
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.Preserve,
  moduleDetection: ts.ModuleDetectionKind.Force,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  noFallthroughCasesInSwitch: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  types: [],
};

/** What stands before every program. */
const HEAD = `import {
  abs, add, arange, autograd, cat, cuda, distributions, errors, F, float32, full, func, Generator, gather, io, linalg,
  load, loadMemmap, manualSeed, maximum, mm, nn, noGrad, normal, ones, profiler, rand, randint, save, setDefaultDtype,
  slice, special, stack, sum, TensorDict, tensor, tensordict, where, zeros,
} from "zensor";
const a = ones(2, 3);
const td = new TensorDict({ a: ones(2, 3), b: { c: ones(2, 3) } }, [2, 3]);
`;

export type Kind = "completions" | "signature" | "hover" | "message";

/** A place in a program, marked by `|`; of messages all of the program is one. */
export interface Position {
  readonly kind: Kind;
  readonly code: string;
}

const text = (parts: ts.SymbolDisplayPart[] | undefined): string => ts.displayPartsToString(parts);
const firstSentence = (doc: string): string => (/^[\s\S]*?[.;:](?=\s|$)/.exec(doc)?.[0] ?? doc).replace(/\s+/g, " ");

/** Lists up to this length are told whole. */
const FEW = 60;

export class Editor {
  readonly folder = mkdtempSync(join(tmpdir(), "zensor-editor-"));
  private readonly files = new Map<string, string>();
  private service: ts.LanguageService | undefined;

  /** Writes the package's declarations into a project. */
  async install(): Promise<void> {
    const folder = join(this.folder, "node_modules", "zensor");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "zensor", types: "./zensor.d.ts" }));
    await writeTypes(join(folder, "zensor.d.ts"));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  get declarations(): string {
    return join(this.folder, "node_modules", "zensor", "zensor.d.ts");
  }

  /** All programs are opened at once: the service looks at the package once. */
  open(positions: readonly Position[]): void {
    for (const [i, { kind, code }] of positions.entries()) {
      this.files.set(this.fileOf(i), HEAD + (kind === "message" ? code : code.replace("|", "")));
    }
    const read = (file: string) => this.files.get(file) ?? ts.sys.readFile(file);
    this.service = ts.createLanguageService({
      readDirectory: ts.sys.readDirectory,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
      useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
      getCompilationSettings: () => SETTINGS,
      getScriptFileNames: () => [...this.files.keys()],
      getScriptVersion: () => "1",
      getScriptSnapshot: (file) => {
        const found = read(file);
        return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found);
      },
      getCurrentDirectory: () => this.folder,
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: (file) => this.files.has(file) || ts.sys.fileExists(file),
      readFile: read,
    });
  }

  get program(): ts.Program {
    return this.service?.getProgram() as ts.Program;
  }

  private fileOf(i: number): string {
    return join(this.folder, `program${i}.ts`);
  }

  /** What the editor shows at a position. */
  ask(i: number, { kind, code }: Position): string {
    const service = this.service as ts.LanguageService;
    const [file, at] = [this.fileOf(i), HEAD.length + code.indexOf("|")];
    const shown = {
      completions: () => this.completions(service, file, at),
      signature: () => this.signature(service, file, at),
      hover: () => this.hover(service, file, at),
      message: () => this.messages(service, file),
    }[kind]();
    return shown.replaceAll(this.folder, "");
  }

  private completions(service: ts.LanguageService, file: string, at: number): string {
    const found = service.getCompletionsAtPosition(file, at, { includeCompletionsWithInsertText: true })?.entries ?? [];
    const names = found
      .filter(({ kind, name }) => kind !== ts.ScriptElementKind.keyword && !name.startsWith("Symbol"))
      .sort((a, b) => (a.sortText < b.sortText ? -1 : a.sortText > b.sortText ? 1 : 0))
      .map(({ name }) => name);
    if (names.length <= FEW) return names.join(" ");
    // A long list grows with the library.
    const internal = names.filter((name) => name.startsWith("_"));
    return [...names.slice(0, 12), "...", ...internal].join(" ");
  }

  private signature(service: ts.LanguageService, file: string, at: number): string {
    const help = service.getSignatureHelpItems(file, at, {});
    const item = help?.items[help.selectedItemIndex];
    if (help === undefined || item === undefined) return "nothing";
    const parameters = item.parameters
      .map(({ displayParts }) => text(displayParts))
      .join(text(item.separatorDisplayParts));
    const shown = `${text(item.prefixDisplayParts)}${parameters}${text(item.suffixDisplayParts)}`;
    return `${help.selectedItemIndex + 1}/${help.items.length} ${shown}\n  ${firstSentence(text(item.documentation))}`;
  }

  private hover(service: ts.LanguageService, file: string, at: number): string {
    const info = service.getQuickInfoAtPosition(file, at);
    if (info === undefined) return "nothing";
    return `${text(info.displayParts)}\n  ${firstSentence(text(info.documentation))}`;
  }

  private messages(service: ts.LanguageService, file: string): string {
    const found = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)];
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")).join("\n") || "nothing";
  }
}
