// Where TypeDoc keeps a name's comments, and what the name is called.
import { Comment, CommentTag, type DeclarationReflection, type ProjectReflection, ReflectionKind } from "typedoc";

/** The comments of a declaration: a function's and a method's stand at its signatures. */
export function commentsOf(one: DeclarationReflection): Comment[] {
  // The functions of a namespace have theirs at their types.
  const type = one.type?.type === "reflection" ? (one.type.declaration.signatures ?? []) : [];
  const places = [one, ...(one.signatures ?? []), one.getSignature, one.setSignature, ...type];
  return places.flatMap((place) => (place?.comment === undefined ? [] : [place.comment]));
}

/** `Tensor#add`, `TensorDict.load`, `nn.Linear`: names as the list of public names has them. */
export function publicName(one: DeclarationReflection): string {
  const owner = one.parent;
  if (!owner?.isDeclaration() || !owner.kindOf(ReflectionKind.Class))
    return one.getFullName().replaceAll(".__type", "");
  return `${owner.getFullName()}${one.flags.isStatic ? "." : "#"}${one.name}`;
}

/** A sentence, or what there is of a text before a link. */
const SENTENCE = /^(?:(?!\{@)[^\n])*?[.;:](?=\s|$)/;
const LONGEST = 90;

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
