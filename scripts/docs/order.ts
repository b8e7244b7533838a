// The order of a function's signatures on its page: what people write first, then collections, then arguments by name.
import {
  type Comment,
  type DeclarationReflection,
  type ProjectReflection,
  ReflectionKind,
  type SignatureReflection,
} from "typedoc";

/** What all arguments that may be named come in. */
const OPTIONS = /^(__namedParameters|options)$/;

/** 0 for sizes one by one, 1 for arguments at their places, 2 for collections, 3 for all by name; rare ones between. */
export function rankOf(signature: SignatureReflection): number {
  const parameters = signature.parameters ?? [];
  const last = parameters.at(-1);
  const isNamed = last !== undefined && OPTIONS.test(last.name) && !last.flags.isOptional;
  if (parameters.length === 1 && (isNamed || /^ByName\b/.test(String(last?.type)))) return 3;
  const types = [...(signature.typeParameters ?? []), ...parameters].map((one) => String(one.type));
  if (types.some((text) => /\bTensorDictBase\b|\bTd\b/.test(text))) return 2;
  if (isNamed) return 1.8;
  // The first argument at its place, or all by name in its stead.
  if (parameters.length === 1 && !last?.flags.isOptional && /Args\b|\bObject\b/.test(String(last?.type))) return 1.9;
  // Whether to keep a dimension is said by name.
  if (parameters.some(({ name, flags }) => name === "keepdim" && !flags.isOptional)) return 1.5;
  return last?.flags.isRest && last.name === "size" ? 0 : 1;
}

/** Puts the signatures of a declaration in order; the first one has the whole text. */
function reorder(one: DeclarationReflection): void {
  const signatures = one.signatures;
  if (signatures === undefined || signatures.length < 2) return;
  const before = signatures[0] as SignatureReflection;
  // Of a class of collections all signatures are about collections.
  signatures.sort((a, b) => rankOf(a) - rankOf(b));
  const first = signatures[0] as SignatureReflection;
  if (first === before) return;
  const text: Comment | undefined = before.comment;
  [before.comment, first.comment] = [first.comment, text];
}

export function orderSignatures(project: ProjectReflection): void {
  for (const one of project.getReflectionsByKind(ReflectionKind.FunctionOrMethod)) {
    if (one.isDeclaration()) reorder(one);
  }
}
