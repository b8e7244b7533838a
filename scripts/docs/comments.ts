// Where TypeDoc keeps the comments of a name.
import { Comment, CommentTag, type DeclarationReflection, type ProjectReflection } from "typedoc";

/** The comments of a declaration: a function's and a method's stand at its signatures. */
export function commentsOf(one: DeclarationReflection): Comment[] {
  // The functions of a namespace have theirs at their types.
  const type = one.type?.type === "reflection" ? (one.type.declaration.signatures ?? []) : [];
  const places = [one, ...(one.signatures ?? []), one.getSignature, one.setSignature, ...type];
  return places.flatMap((place) => (place?.comment === undefined ? [] : [place.comment]));
}

/** A sentence, or what there is of a text before a link. */
const SENTENCE = /^(?:(?!\{@)[^\n])*?[.;:](?=\s|$)/;
const LONGEST = 110;

/** Gives what stands in the list of all names a line for it: its first sentence. */
export function addSummaries(project: ProjectReflection): void {
  for (const one of project.children ?? []) {
    const [comment] = commentsOf(one);
    const text = comment === undefined ? "" : Comment.combineDisplayParts(comment.summary).replace(/\n(?!\n)/g, " ");
    const sentence = SENTENCE.exec(text)?.[0].replace(/[;:]$/, ".");
    if (sentence === undefined || sentence.length > LONGEST) continue;
    comment?.blockTags.push(new CommentTag("@summary", [{ kind: "text", text: sentence }]));
  }
}
