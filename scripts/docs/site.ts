// What the API site has beside what TypeDoc does by itself: a page for each method of the large classes, inherited
// members on the page of the class that has them, the examples of docs/members, an index of PyTorch's names, and a
// search that finds them.
import {
  type Application,
  Comment,
  type CommentDisplayPart,
  CommentTag,
  Converter,
  DeclarationReflection,
  DocumentReflection,
  IndexEvent,
  KindRouter,
  type PageKind,
  type ProjectReflection,
  ReferenceReflection,
  type Reflection,
  ReflectionKind,
} from "typedoc";
import { type PublicName, publicNames } from "./public-names.ts";

/** Classes with more methods than this have a page for each. */
const LARGE = 30;

function isMethod(one: DeclarationReflection): boolean {
  return one.kindOf(ReflectionKind.Method);
}

/** Classes of kinds, functions of kinds, and so on, in folders; methods of large classes in `methods`. */
class MethodRouter extends KindRouter {
  protected override getPageKind(target: Reflection): PageKind | undefined {
    const kind = super.getPageKind(target);
    if (kind !== undefined || !target.isDeclaration() || !isMethod(target)) return kind;
    const owner = target.parent;
    if (!owner?.isDeclaration() || !owner.kindOf(ReflectionKind.Class)) return undefined;
    const methods = owner.children?.filter(isMethod) ?? [];
    return methods.length > LARGE ? "reflection" : undefined;
  }

  protected override getIdealBaseName(target: Reflection): string {
    this.directories.set(ReflectionKind.Method, "methods");
    return super.getIdealBaseName(target);
  }
}

/**
 * Takes the members away that a class inherits from another class of the site, which has them on its own page. A
 * constant that makes objects extends nothing, and shows all that they have.
 */
function withoutInherited(project: ProjectReflection, names: readonly PublicName[]): void {
  // Two classes of one name, in two namespaces, declare members of the same names.
  const byDeclaration = Map.groupBy(names, (row) => row.declared);
  const doomed: DeclarationReflection[] = [];
  for (const one of project.getReflectionsByKind(ReflectionKind.Class) as DeclarationReflection[]) {
    if (one.extendedTypes === undefined) continue;
    for (const member of one.children ?? []) {
      const declared = project.getSymbolIdFromReflection(member)?.qualifiedName ?? "";
      const owners = (byDeclaration.get(declared) ?? []).map((row) => row.owner);
      if (owners.length > 0 && owners.every((owner) => owner !== null && owner !== one.getFullName())) {
        doomed.push(member);
      }
    }
  }
  for (const member of doomed) project.removeReflection(member);
}

/** A thing that is exported by several names goes by the one that its declaration has. */
function byOwnName(project: ProjectReflection): void {
  for (const one of project.getReflectionsByKind(ReflectionKind.Reference)) {
    if (!(one instanceof ReferenceReflection)) continue;
    const target = one.tryGetTargetReflection();
    if (target === undefined || target.parent !== one.parent) continue;
    if (project.getSymbolIdFromReflection(target)?.qualifiedName !== one.name) continue;
    [target.name, one.name] = [one.name, target.name];
  }
}

/** The comments of a declaration: a function's and a method's stand at its signatures. */
function commentsOf(one: DeclarationReflection): Comment[] {
  const places = [one, ...(one.signatures ?? []), one.getSignature, one.setSignature];
  return places.flatMap((place) => (place?.comment === undefined ? [] : [place.comment]));
}

/** `Tensor#add`, `TensorDict.load`, `nn.Linear`: names as the list of public names has them. */
export function publicName(one: DeclarationReflection): string {
  const owner = one.parent;
  if (!owner?.isDeclaration() || !owner.kindOf(ReflectionKind.Class))
    return one.getFullName().replaceAll(".__type", "");
  return `${owner.getFullName()}${one.flags.isStatic ? "." : "#"}${one.name}`;
}

/** Puts the examples of docs/members behind the texts. */
function addExamples(
  project: ProjectReflection,
  byName: ReadonlyMap<string, PublicName>,
  byDeclaration: ReadonlyMap<string, PublicName>,
): void {
  for (const one of project.getReflectionsByKind(ReflectionKind.All)) {
    if (!(one instanceof DeclarationReflection)) continue;
    const declared = project.getSymbolIdFromReflection(one)?.qualifiedName ?? "";
    const example = (byName.get(publicName(one)) ?? byDeclaration.get(declared))?.example ?? null;
    if (example === null) continue;
    const fenced = example.match(/^```ts\n[\s\S]*?^```$/gm) ?? [];
    const plain = example.replace(/^```ts\n[\s\S]*?^```$/gm, "").split("\n\n");
    const own = commentsOf(one).some((comment) => comment.getTag("@example") !== undefined);
    const place = one.signatures?.[0] ?? one.getSignature ?? one;
    place.comment ??= new Comment();
    const fences = plain.filter((code) => code.trim() !== "").map((code) => `\`\`\`ts\n${code.trim()}\n\`\`\``);
    for (const text of own ? fences : [...fenced, ...fences]) {
      place.comment.blockTags.push(new CommentTag("@example", [{ kind: "text", text }]));
    }
  }
}

/** PyTorch's names of a declaration, of its `@torch` tags. */
function torchNames(one: DeclarationReflection): string[] {
  const tags = commentsOf(one).flatMap((comment) => comment.getTags("@torch"));
  return [...new Set(tags.map((tag) => Comment.combineDisplayParts(tag.content).trim()))];
}

/** Names of tensordict, with its classes; all others are PyTorch's. */
const OF_TENSORDICT = /^(tensordict\b|TensorDict|LazyStacked|Persistent|MemoryMapped|NonTensor|Probabilistic)/;

/** A page with names of elsewhere, each with what it is here. */
function addNames(project: ProjectReflection, from: string, found: readonly [string, DeclarationReflection][]): void {
  const head = `${from}'s names, and what they are here.\n\n| there | here |\n| --- | --- |\n`;
  const parts: CommentDisplayPart[] = [{ kind: "text", text: head }];
  for (const [name, one] of found) {
    parts.push({ kind: "text", text: `| ${name.replaceAll("|", "\\|")} | ` });
    parts.push({ kind: "inline-tag", tag: "@link", text: publicName(one), target: one });
    parts.push({ kind: "text", text: " |\n" });
  }
  project.addChild(new DocumentReflection(`Names in ${from}`, project, parts, {}));
}

/** Pages with all of PyTorch's and of tensordict's names. */
function addTorchIndex(project: ProjectReflection): void {
  const found: [string, DeclarationReflection][] = [];
  for (const one of project.getReflectionsByKind(ReflectionKind.All)) {
    if (!(one instanceof DeclarationReflection)) continue;
    // The functions of a namespace have their comments at their types.
    const place = one.kindOf(ReflectionKind.TypeLiteral) ? one.parent : one;
    if (place instanceof DeclarationReflection) for (const name of torchNames(one)) found.push([name, place]);
  }
  found.sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const isOfTensordict = ([name]: readonly [string, unknown]) => OF_TENSORDICT.test(name);
  addNames(
    project,
    "PyTorch",
    found.filter((one) => !isOfTensordict(one)),
  );
  addNames(project, "tensordict", found.filter(isOfTensordict));
}

/** Lets the search find `index_select`. */
function addTorchToSearch(event: IndexEvent): void {
  event.searchFieldWeights.torch = 8;
  for (const [i, result] of event.searchResults.entries()) {
    const names = result instanceof DeclarationReflection ? torchNames(result) : [];
    const words = names.flatMap((name) => [name, ...name.split(".")]);
    (event.searchFields[i] as Record<string, string>).torch = words.join(" ");
  }
}

/** Pages go by their headings, not by their files' names. */
function nameDocuments(project: ProjectReflection): void {
  for (const one of project.documents ?? []) {
    const heading = /^# (.*)$/m.exec(Comment.combineDisplayParts(one.content))?.[1];
    if (heading !== undefined) one.name = heading.replaceAll("`", "");
  }
}

/** The public names that the site does not have. */
export function missingFrom(project: ProjectReflection, rows: readonly PublicName[]): string[] {
  const all = project.getReflectionsByKind(ReflectionKind.All);
  const there = new Set(all.map((one) => (one instanceof DeclarationReflection ? publicName(one) : one.getFullName())));
  const hash = (name: string) => name.replace("#", ".");
  return rows.map((row) => row.name).filter((name) => !there.has(name) && !there.has(hash(name)));
}

/** What TypeDoc calls. */
export function load(app: Application): void {
  app.renderer.defineRouter("methods", MethodRouter);
  const { names } = publicNames();
  const byName = new Map(names.map((row) => [row.name, row]));
  const byDeclaration = new Map(names.map((row) => [row.declared, row]));
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    byOwnName(project);
    withoutInherited(project, names);
    addExamples(project, byName, byDeclaration);
    nameDocuments(project);
    addTorchIndex(project);
  });
  app.renderer.on(IndexEvent.PREPARE_INDEX, addTorchToSearch);
}
