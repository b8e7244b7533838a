// What the site's search finds beside names and texts: names of PyTorch, NumPy and tensordict as they are written
// there, those that are not there yet, and the guide section by section.
import {
  Comment,
  DeclarationReflection,
  DocumentReflection,
  type IndexEvent,
  type Reflection,
  ReflectionKind,
  type RouterTarget,
} from "typedoc";
import { anchorOf } from "./links.ts";
import type { Names } from "./names.ts";
import { commentsOf, publicName } from "./reflections.ts";

/** Rows of the search that are no pages of their own: where they lead. */
export const places = new WeakMap<Reflection, { page: RouterTarget; anchor?: string }>();

/** What counts of a page whose text is not searched, and of a name that is not there. */
const LITTLE = 0.2;

const snake = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a}_${b.toLowerCase()}`);

/** How a name is written. Ends of these are found, too: the search looks for a word within words. */
export function spellings(full: string): string[] {
  const plain = full
    .replace(/[( ].*$/, "")
    .replace("#", ".")
    .replace(/^np\./, "numpy.");
  const found = [plain.replace(/^TensorDict\b/, "tensordict.TensorDict").replace(/^Tensor\b/, "torch.Tensor")];
  const short = (start: RegExp, instead: string) => {
    if (start.test(plain)) found.push(plain.replace(start, instead));
  };
  short(/^numpy\./, "np.");
  short(/^torch\.nn\.functional\./, "F.");
  short(/^(torch\.)?Tensor\./, "x.");
  short(/^TensorDict(Base)?\./, "td.");
  return found;
}

/** Words of a text: no marks, no links' targets. */
export function wordsOf(text: string): string {
  const told = text.replace(/\]\([^)]*\)/g, "] ").replace(/<[^>]*>/g, " ");
  return (told.match(/[\p{L}\p{N}_$]+(?:[.-][\p{L}\p{N}_$]+)*/gu) ?? []).join(" ");
}

interface Fields {
  names?: string;
  comment?: string;
  document?: string;
}

/** A page's sections, each a row that leads to its heading. */
function sectionsOf(page: DocumentReflection): { row: DocumentReflection; text: string }[] {
  const text = Comment.combineDisplayParts(page.content);
  const plain = text.replace(/^```[\s\S]*?^```$/gm, (fence) => fence.replace(/^#/gm, " #"));
  const [, ...sections] = plain.split(/^## /m);
  return sections.map((section) => {
    const [heading = "", ...rest] = section.split("\n");
    const row = new DocumentReflection(heading.replaceAll("`", ""), page, [], {});
    if (page.relevanceBoost !== undefined) row.relevanceBoost = page.relevanceBoost;
    places.set(row, { page, anchor: anchorOf(heading) });
    return { row, text: rest.join("\n") };
  });
}

/** The names by which a declaration is looked for, beside its own. */
function namesOf(one: DeclarationReflection, elsewhere: ReadonlySet<string> | undefined): string {
  const tags = commentsOf(one).flatMap((comment) => comment.getTags("@torch"));
  const there = tags.flatMap((tag) => spellings(Comment.combineDisplayParts(tag.content).trim()));
  const known = new Set([...there, ...(elsewhere ?? [])]);
  const full = publicName(one);
  // Members of other classes would be found by the class's name, before the class.
  const isMember = one.parent?.kindOf(ReflectionKind.ClassOrInterface) && !/^Tensor(Dict(Base)?)?[.#]/.test(full);
  if (!isMember) for (const name of spellings(full)) if (name !== one.name) known.add(name);
  const written = snake(one.name);
  const [holder] = full.split(/[.#](?=\w+$)/);
  if (written !== one.name && /^Tensor(Dict)?$/.test(holder as string)) {
    known.add(spellings(`${holder}.${written}`)[0] as string);
  } else if (written !== one.name && !there.some((name) => name.endsWith(written))) known.add(written);
  return [...known].join(" ");
}

/** A function of an object of functions, as a function of a namespace: `F.softmax`. */
function asFunction(one: DeclarationReflection): DeclarationReflection {
  if (one.parent?.name !== "__type" || !one.parent.parent) return one;
  const row = new DeclarationReflection(one.name, ReflectionKind.Function, one.parent.parent);
  places.set(row, { page: one });
  return row;
}

/** What a name counts: functions and classes first, then members of the classes that everybody uses. */
function weightOf(one: DeclarationReflection): number {
  const isMain = one.kindOf([ReflectionKind.Class, ReflectionKind.Function, ReflectionKind.Variable]);
  if (isMain) return one.parent?.isProject() ? 3 : 2.2;
  const holder = one.parent?.getFullName() ?? "";
  if (/^(Tensor|TensorDict)$/.test(holder)) return 1.5;
  return /^(TensorDictBase|nn\.Module)$/.test(holder) ? 1.2 : 0.6;
}

/** Rows for names that are not there: they lead to their places in the tables of names. */
function absentRows({ absent }: Names): { row: DocumentReflection; names: string }[] {
  const holders = new Map<string, DocumentReflection>();
  return absent.map(({ there, why, anchor, page }) => {
    const parts = there.split(".");
    const name = parts.pop() as string;
    const holder = `${why}: ${parts.join(".")}`;
    const parent = holders.get(holder) ?? new DocumentReflection(holder, page.project, [], {});
    holders.set(holder, parent);
    const row = new DocumentReflection(name, parent, [], {});
    row.relevanceBoost = LITTLE;
    places.set(row, { page, anchor });
    return { row, names: spellings(there).join(" ") };
  });
}

/** Words for the search index, and rows of its own; a page counts by its importance. */
export function prepareIndex(event: IndexEvent, names: Names, importance: (page: DocumentReflection) => number): void {
  Object.assign(event.searchFieldWeights, { name: 10, names: 8, document: 12, comment: 2 });
  const { searchResults: results, searchFields: fields } = event;
  const add = (row: DocumentReflection, words: Fields) => {
    results.push(row);
    fields.push({ ...words });
  };
  const elsewhere = new Map<DeclarationReflection, Set<string>>();
  for (const { there, here } of names.translated) {
    for (const one of here) {
      elsewhere.set(one, new Set([...(elsewhere.get(one) ?? []), ...spellings(there)]));
    }
  }
  for (const [i, result] of [...results].entries()) {
    if (result instanceof DocumentReflection) {
      const counts = importance(result);
      result.relevanceBoost = counts || LITTLE;
      if (counts === 0) continue;
      // The title twice: short sections of other pages that use its words would stand before the page that has it.
      const document = wordsOf(Comment.combineDisplayParts(result.content));
      fields[i] = { ...fields[i], names: wordsOf(result.name), document };
      for (const { row, text } of sectionsOf(result)) add(row, { document: wordsOf(text) });
    } else if (result instanceof DeclarationReflection) {
      const comment = wordsOf(
        commentsOf(result)
          .map((one) => Comment.combineDisplayParts(one.summary))
          .join(" "),
      );
      fields[i] = { ...fields[i], names: namesOf(result, elsewhere.get(result)), comment };
      const row = asFunction(result);
      row.relevanceBoost = weightOf(row);
      results[i] = row;
    }
  }
  for (let i = results.length - 1; i >= 0; i--) if (results[i]?.name === "__type") event.removeResult(i);
  for (const { row, names: words } of absentRows(names)) add(row, { names: words });
}
