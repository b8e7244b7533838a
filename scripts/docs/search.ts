// What the site's search finds beside names and texts: names of PyTorch, NumPy and tensordict as they are written there,
// those that are not there yet, and the guide section by section.
import { Comment, type DeclarationReflection, DocumentReflection, type IndexEvent, type Reflection } from "typedoc";
import { commentsOf } from "./comments.ts";
import { anchorOf } from "./links.ts";
import type { Names } from "./names.ts";

/** Rows of the search that are no pages of their own: where they lead. */
export const places = new WeakMap<Reflection, { page: DocumentReflection; anchor: string }>();

const snake = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a}_${b.toLowerCase()}`);

/** How a name is written: with all of its path, without the library's, by the usual short name of it, and alone. */
export function spellings(full: string): string[] {
  const parts = full.replace(/\(.*$/, "").replace(/ .*$/, "").split(".");
  const tails = parts.map((_, i) => parts.slice(i).join("."));
  const name = parts.at(-1) as string;
  if (parts[0] === "np" || parts[0] === "numpy") tails.push(`np.${name}`, `numpy.${name}`);
  if (parts[0] === "TensorDict") tails.push(`tensordict.${full}`);
  if (full.startsWith("torch.nn.functional.")) tails.push(`F.${name}`);
  return [...new Set(tails)];
}

/** Words of a text: no marks, no links' targets. */
function wordsOf(text: string): string {
  const told = text.replace(/\]\([^)]*\)/g, "] ").replace(/<[^>]*>/g, " ");
  return (told.match(/[\p{L}\p{N}_$]+(?:[.-][\p{L}\p{N}_$]+)*/gu) ?? []).join(" ");
}

/** What a result counts: a page of the guide more than a function that has the word in its text, an absent name less. */
const TOLD = 4;
const ABSENT = 0.2;

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
    const name = heading.replaceAll("`", "");
    const row = new DocumentReflection(name, page, [], {});
    row.relevanceBoost = TOLD;
    places.set(row, { page, anchor: anchorOf(heading) });
    return { row, text: rest.join("\n") };
  });
}

/** Words for the search index, and rows of its own. */
export function prepareIndex(event: IndexEvent, names: Names, isTold: (page: DocumentReflection) => boolean): void {
  Object.assign(event.searchFieldWeights, { name: 10, names: 10, document: 10, comment: 2 });
  const add = (row: DocumentReflection, fields: Fields) => {
    event.searchResults.push(row);
    event.searchFields.push({ ...fields });
  };
  const elsewhere = new Map<DeclarationReflection, Set<string>>();
  for (const { there, here } of names.translated) {
    for (const one of here) {
      const known = elsewhere.get(one) ?? new Set();
      for (const name of spellings(there)) known.add(name);
      elsewhere.set(one, known);
    }
  }
  for (const [i, result] of [...event.searchResults].entries()) {
    if (result instanceof DocumentReflection) {
      const document = isTold(result) ? wordsOf(Comment.combineDisplayParts(result.content)) : "";
      event.searchFields[i] = { ...event.searchFields[i], document };
      result.relevanceBoost = document === "" ? ABSENT : TOLD;
      if (document !== "") for (const { row, text } of sectionsOf(result)) add(row, { document: wordsOf(text) });
      continue;
    }
    const comments = commentsOf(result as DeclarationReflection);
    const torch = comments.flatMap((one) => one.getTags("@torch"));
    const spelled = torch.flatMap((tag) => spellings(Comment.combineDisplayParts(tag.content).trim()));
    const known = new Set([...spelled, ...(elsewhere.get(result as DeclarationReflection) ?? []), snake(result.name)]);
    known.delete(result.name);
    const comment = wordsOf(comments.map((one) => Comment.combineDisplayParts(one.summary)).join(" "));
    event.searchFields[i] = { ...event.searchFields[i], names: [...known].join(" "), comment };
  }
  const holders = new Map<string, DocumentReflection>();
  for (const { there, why, anchor, page } of names.absent) {
    const parts = there.split(".");
    const name = parts.pop() as string;
    const holder = `${why}: ${parts.join(".")}`;
    const parent = holders.get(holder) ?? new DocumentReflection(holder, page, [], {});
    parent.parent = page.project;
    holders.set(holder, parent);
    const row = new DocumentReflection(name, parent, [], {});
    row.relevanceBoost = ABSENT;
    places.set(row, { page, anchor });
    add(row, { names: [...spellings(there), snake(name)].join(" ") });
  }
}
