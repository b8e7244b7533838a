// All names that a program can reach through the package, with their comments as the compiler finds them.
import ts from "typescript";

export interface Member {
  readonly name: string;
  readonly doc: string;
}

/** Exports, those of namespaces in them, and the members of classes that the package declares. */
export function publicMembers(program: ts.Program, declarations: string): Member[] {
  const checker = program.getTypeChecker();
  const found: Member[] = [];
  const done = new Set<ts.Symbol>();
  const docOf = (symbol: ts.Symbol): string => ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const isOwn = (symbol: ts.Symbol): boolean =>
    symbol.declarations?.some((one) => one.getSourceFile().fileName === declarations) === true;
  const isPrivate = (symbol: ts.Symbol): boolean =>
    symbol.declarations?.some(
      (one) => (ts.getCombinedModifierFlags(one) & ts.ModifierFlags.NonPublicAccessibilityModifier) !== 0,
    ) === true;
  const members = (owner: string, type: ts.Type, mark: string): void => {
    for (const member of type.getProperties()) {
      if (!isOwn(member) || isPrivate(member) || !/^[\w$]+$/.test(member.name) || member.name === "prototype") continue;
      found.push({ name: `${owner}${mark}${member.name}`, doc: docOf(member) });
    }
  };
  const visit = (name: string, exported: ts.Symbol): void => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
    if ((symbol.flags & ts.SymbolFlags.Value) === 0) return;
    const isModule = (symbol.flags & ts.SymbolFlags.ValueModule) !== 0;
    if (!isModule) found.push({ name, doc: docOf(exported) || docOf(symbol) });
    if (done.has(symbol)) return;
    done.add(symbol);
    if ((symbol.flags & ts.SymbolFlags.Class) !== 0) {
      members(name, checker.getTypeOfSymbol(symbol), ".");
      members(name, checker.getDeclaredTypeOfSymbol(symbol), "#");
    }
    if (isModule) for (const one of checker.getExportsOfModule(symbol)) visit(`${name}.${one.name}`, one);
  };
  const module = checker.getSymbolAtLocation(program.getSourceFile(declarations) as ts.SourceFile) as ts.Symbol;
  for (const one of checker.getExportsOfModule(module)) visit(one.name, one);
  return found;
}
