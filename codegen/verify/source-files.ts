// Reads the repository's files for the checks, and prints what they find.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

export const repositoryRoot = dirname(dirname(import.meta.dir));

/** A broken rule: where, which, and what to do about it. Line 0 stands for the whole file. */
export interface Violation {
  file: string;
  line: number;
  message: string;
}

/** Folders that tools make; .gitignore names the same ones. */
const MADE = new Set(["node_modules", ".git", ".zig-cache", "zig-out", ".cache", "coverage"]);
const MADE_PATHS = new Set(["build", "dist", "docs/api"]);

/** Every file below a folder, as paths with slashes relative to the repository, sorted. */
export function listFiles(root: string, below = ""): string[] {
  const files: string[] = [];
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!MADE.has(entry.name) && !MADE_PATHS.has(path)) files.push(...listFiles(root, path));
    } else if (entry.isFile()) {
      files.push(path);
    }
  }
  return files.sort();
}

export function readText(root: string, file: string): string {
  return readFileSync(join(root, file), "utf8");
}

export function fileSize(root: string, file: string): number {
  return statSync(join(root, file)).size;
}

/** A path as the checks write it. */
export function toSlashes(root: string, file: string): string {
  return relative(root, file).split(sep).join("/");
}

/** Prints every violation and gives the exit code. */
export function report(check: string, violations: readonly Violation[], looked: string): number {
  for (const { file, line, message } of violations) {
    console.log(line > 0 ? `${file}:${line}: ${message}` : `${file}: ${message}`);
  }
  console.log(violations.length === 0 ? `${check}: ${looked}` : `${check}: ${violations.length} to fix`);
  return violations.length === 0 ? 0 : 1;
}
