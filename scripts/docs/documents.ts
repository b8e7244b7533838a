// The Markdown files that are pages of the site: the guide in its own order, the tables of names, the figures, and what
// the README leads to.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Application,
  Comment,
  DocumentReflection,
  MinimalSourceFile,
  normalizePath,
  type ProjectReflection,
} from "typedoc";

const root = join(import.meta.dir, "..", "..");
const GUIDE = "docs/guide";

/** The files of a folder, those that a list names first. */
function pagesOf(folder: string, first: readonly string[] = []): string[] {
  const all = readdirSync(join(root, folder)).filter((name) => name.endsWith(".md"));
  return [...new Set([...first.filter((name) => all.includes(name)), ...all.sort()])].map(
    (name) => `${folder}/${name}`,
  );
}

/** The guide's pages, in the order of its list. */
export function guidePages(): string[] {
  const list = readFileSync(join(root, GUIDE, "README.md"), "utf8").matchAll(/\]\(([\w-]+\.md)\)/g);
  return pagesOf(GUIDE, ["README.md", ...[...list].map((match) => match[1] as string)]);
}

/** All pages, with the heading under which the list of pages has them. */
function pages(): [file: string, heading: string][] {
  const guide = guidePages();
  const isForeign = (file: string) => file.includes("/from-");
  return [
    ...guide.filter((file) => !isForeign(file)).map((file) => [file, "The guide"] as [string, string]),
    ...[...guide.filter(isForeign), ...pagesOf("generated").filter((file) => file.includes("/FROM-"))].map(
      (file) => [file, "Coming from elsewhere"] as [string, string],
    ),
    ...["generated/OPS.md", "generated/ERRORS.md", ...pagesOf("bench"), ...pagesOf("docs"), "CONTRIBUTING.md"].map(
      (file) => [file, "Reference"] as [string, string],
    ),
  ];
}

/** Adds the pages, by their headings; gives the file of each. */
export function addDocuments(app: Application, project: ProjectReflection): Map<DocumentReflection, string> {
  const files = new Map<DocumentReflection, string>();
  for (const [file, category] of pages()) {
    const path = normalizePath(join(root, file));
    const source = new MinimalSourceFile(readFileSync(path, "utf8"), path);
    const { content } = app.converter.parseRawComment(source, project.files);
    const heading = /^# (.*)$/m.exec(Comment.combineDisplayParts(content))?.[1] ?? file;
    const page = new DocumentReflection(heading.replaceAll("`", ""), project, content, { category });
    project.addChild(page);
    project.registerReflection(page, undefined, path);
    files.set(page, file);
  }
  return files;
}

/** What a page counts in the search; nothing where its text is a table of names, which are found by themselves. */
export function importanceOf(file: string): number {
  if (file.startsWith("generated/")) return 0;
  return file.startsWith(GUIDE) ? 7 : 0.5;
}
