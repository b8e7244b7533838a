// What the generator reads of the functions that compute, from their text, against what the compiler knows of them.

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { Node, Project } from "ts-morph";
import { ownCode } from "../../codegen/model/code.ts";

const src = join(import.meta.dir, "..", "..", "src");

/** The exported functions by their modules, with the number of their parameters. */
function byCompiler(): Map<string, number> {
  const project = new Project({ skipAddingFilesFromTsConfig: true, skipFileDependencyResolution: true });
  const files = (dir: string): string[] => readdirSync(join(src, dir)).map((file) => join(src, dir, file));
  const modules = new Map<string, string>();
  for (const path of files("dispatch")) modules.set(path, basename(path, ".ts").replaceAll("-", "_"));
  for (const path of files("autograd")) if (/composites-[\w-]+\.ts$/.test(path)) modules.set(path, "composites");
  const sources = [...modules].map(([path, module]) => ({ module, source: project.addSourceFileAtPath(path) }));
  const found = new Map<string, number>();
  for (const { module, source } of sources) {
    for (const [name, [declared]] of source.getExportedDeclarations()) {
      if (!Node.isFunctionDeclaration(declared) && !Node.isVariableDeclaration(declared)) continue;
      const [signature] = declared.getType().getCallSignatures();
      if (signature !== undefined) found.set(`${module}.${name}`, signature.getParameters().length);
    }
  }
  return found;
}

test("arguments are counted as the compiler counts them", () => {
  const { arities } = ownCode();
  const sorted = (map: ReadonlyMap<string, number>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  expect(sorted(arities)).toEqual(sorted(byCompiler()));
  expect(arities.get("composites.float")).toBe(2);
  expect(arities.get("random.rand")).toBe(6);
});
