// The tables of PyTorch's, NumPy's and tensordict's names on the site: each name leads to its page, and what is not
// there has a place, to which the search leads.
import type { CommentDisplayPart, DeclarationReflection, DocumentReflection } from "typedoc";

/** A name of elsewhere that is here: `np.concatenate`, and what it is here. */
export interface Translated {
  there: string;
  here: DeclarationReflection[];
}

/** One that is not: why, and the anchor of its place. */
export interface Absent {
  there: string;
  /** `not there yet`, `not applicable`. */
  why: string;
  anchor: string;
  page: DocumentReflection;
}

export interface Names {
  translated: Translated[];
  absent: Absent[];
}

const HEADED: readonly (readonly [start: string, name: string])[] = [
  ["x.", "Tensor#"],
  ["dst.", "Tensor#"],
  ["td.", "TensorDictBase#"],
  ["td.", "TensorDict#"],
  ["TensorDict.", "TensorDictBase."],
];

/** The public names that a call may mean: `x.add_(other)` is `Tensor#add_`. */
function candidates(call: string): string[] {
  const head = /^[A-Za-z_][\w.]*/.exec(call)?.[0] ?? "";
  const members = HEADED.filter(([start]) => head.startsWith(start)).map(([start, name]) => {
    return name + head.slice(start.length);
  });
  return [head, ...members];
}

const isCode = (part: CommentDisplayPart | undefined): boolean => part?.kind === "code";
const bare = (text: string): string => text.replace(/^`+|`+$/g, "");

/** `torch.nn`, of `**torch.nn** (3 of 7): `, the text before a list of names. */
const LIST = /\*\*([\w. ]+)\*\* \(\d+ of \d+\):\s*$/;

/** Rewrites a page of names, and tells what stands on it. */
export function readNames(
  page: DocumentReflection,
  find: (name: string) => DeclarationReflection | undefined,
  found: Names,
): void {
  let section = "";
  let space = "";
  let row: Translated | undefined;
  const left: string[] = [];
  page.content = page.content.map((part, i): CommentDisplayPart => {
    if (!isCode(part)) {
      section = [...part.text.matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? section;
      space = LIST.exec(part.text)?.[1] ?? space;
      if (/\n\| $/.test(part.text)) row = undefined;
      return part;
    }
    const name = bare(part.text);
    if (/^Not/.test(section) && /^[\w.]+$/.test(name)) {
      // In the table of reasons the names stand in front, the reason behind the last of them.
      const full = space === "" ? name : `${space === "Tensor" ? "torch.Tensor" : space}.${name}`;
      const why = section.toLowerCase();
      const anchor = full.replace(/^TensorDict\b/, "tensordict.TensorDict");
      const absent = { there: full, why, anchor: `name-${anchor}`, page };
      if (!left.includes(full)) found.absent.push(absent);
      left.push(full);
      return { kind: "text", text: `<code id="${absent.anchor}">${name}</code>` };
    }
    if (row === undefined && /\| $/.test(page.content[i - 1]?.text ?? "")) {
      row = { there: name, here: [] };
      found.translated.push(row);
      return part;
    }
    const target = candidates(name)
      .map(find)
      .find((one) => one !== undefined);
    if (target === undefined || row === undefined) return part;
    row.here.push(target);
    return { kind: "inline-tag", tag: "@linkcode", text: name, target };
  });
}
