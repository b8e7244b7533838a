// Puts the checks of arguments before what classes of collections do.
import { installChecks } from "../../tensor/checks.ts";
import { MATH } from "./math-names.ts";
import { METHODS } from "./signatures.ts";
import { explainDepth } from "./too-deep.ts";

type Texts = Readonly<Record<string, string>>;

/** What the methods of every collection take. */
export const ALL: Texts = { ...METHODS, ...MATH, toString: "" };

/** Checks the methods of a class: those of every collection, its own, and its functions. */
export function checkCollections(
  type: { prototype: object },
  own: Texts | null = null,
  statics: Texts | null = null,
): void {
  installChecks(type.prototype, own === null ? ALL : { ...ALL, ...own }, explainDepth);
  if (statics !== null) installChecks(type, statics, explainDepth);
}
