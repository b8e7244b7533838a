// What the API site has beside what TypeDoc does by itself: a page for each method of the large classes, inherited
// members on the page of the class that has them, the examples of docs/members, headings for operators and members, the
// form that people write first, tables of names of elsewhere, and a search that finds them and the guide.
import {
  Application,
  Comment,
  CommentTag,
  Converter,
  DeclarationReflection,
  type DocumentReflection,
  IndexEvent,
  KindRouter,
  PageEvent,
  type PageKind,
  type ProjectReflection,
  ReferenceReflection,
  type Reflection,
  ReflectionKind,
  type RouterTarget,
} from "typedoc";
import { addDocuments, importanceOf } from "./documents.ts";
import { addHeadings, HEADINGS } from "./grouping.ts";
import { type Names, readNames } from "./names.ts";
import { orderSignatures } from "./order.ts";
import { type PublicName, publicNames } from "./public-names.ts";
import { addSummaries, commentsOf, publicName } from "./reflections.ts";
import { places, prepareIndex } from "./search.ts";

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

  /** Rows of the search lead to a place on a page. */
  override getFullUrl(target: RouterTarget): string {
    const place = places.get(target as Reflection);
    if (place === undefined) return super.getFullUrl(target);
    const url = super.getFullUrl(place.page);
    return place.anchor === undefined ? url : `${url}#${place.anchor}`;
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

/** The public names that the site does not have. */
export function missingFrom(project: ProjectReflection, rows: readonly PublicName[]): string[] {
  const all = project.getReflectionsByKind(ReflectionKind.All);
  const there = new Set(all.map((one) => (one instanceof DeclarationReflection ? publicName(one) : one.getFullName())));
  const hash = (name: string) => name.replace("#", ".");
  return rows.map((row) => row.name).filter((name) => !there.has(name) && !there.has(hash(name)));
}

/** A row of a list of names: the sign of its kind, which its heading says, its name, and a link to itself. */
const ROW = new RegExp(
  [
    '(<span class="tsd-member-summary-name">)<svg(?:(?!</svg>).)*</svg>',
    '(<a href="[^"#]+">[^<]*</a>)<a href="#(?:(?!</a>).)*</a>',
  ].join(""),
  "g",
);

/** What TypeDoc calls. */
export function load(app: Application): void {
  app.renderer.defineRouter("methods", MethodRouter);
  app.on(Application.EVENT_BOOTSTRAP_END, () => app.options.setValue("categoryOrder", HEADINGS));
  const { names: rows } = publicNames();
  const byName = new Map(rows.map((row) => [row.name, row]));
  const byDeclaration = new Map(rows.map((row) => [row.declared, row]));
  const names: Names = { translated: [], absent: [] };
  let files = new Map<DocumentReflection, string>();
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    byOwnName(project);
    withoutInherited(project, rows);
    orderSignatures(project);
    addExamples(project, byName, byDeclaration);
    addHeadings(project, (one) => {
      const declared = project.getSymbolIdFromReflection(one)?.qualifiedName ?? "";
      return byName.get(publicName(one)) ?? byDeclaration.get(declared);
    });
    addSummaries(project);
    files = addDocuments(app, project);
    const declarations = new Map<string, DeclarationReflection>();
    for (const one of project.getReflectionsByKind(ReflectionKind.All)) {
      // The functions of a namespace have a type of their own below their names.
      const isPlace = one instanceof DeclarationReflection && !one.kindOf(ReflectionKind.TypeLiteral);
      if (isPlace) declarations.set(publicName(one), one);
    }
    for (const [page, file] of files) {
      if (file.startsWith("generated/FROM-")) readNames(page, (name) => declarations.get(name), names);
    }
  });
  app.renderer.on(PageEvent.END, (event) => {
    // The list of all names is the largest page, and both are half of it.
    event.contents = event.contents?.replace(ROW, "$1$2");
  });
  app.renderer.on(IndexEvent.PREPARE_INDEX, (event) => {
    prepareIndex(event, names, (page) => importanceOf(files.get(page) ?? ""));
  });
}
