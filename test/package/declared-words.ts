// Which arguments the declarations let be one of a few words only: by function or method, and by argument.
import ts from "typescript";

/** The words of a type that has some and takes no other string. */
function wordsOf(type: ts.Type): string[] {
  const parts = type.isUnion() ? type.types : [type];
  if (parts.some((part) => (part.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) !== 0)) return [];
  return parts.filter((part) => part.isStringLiteral()).map((part) => part.value);
}

/** Objects that are values and no options: those of classes, and those with many members. */
const isOptions = (type: ts.Type): boolean =>
  (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0 &&
  !type.isClass() &&
  type.getCallSignatures().length === 0 &&
  type.getProperties().length < 40;

/** Words that are shapes of data, or that the language's own types have. */
const OTHER = /\.(kind|name|scalarType|cppName|layout|rest)$|^toLocale/;

/** `method.argument` of everything that the file exports. */
export function declaredWords(file: string): string[] {
  const options = { strict: true, lib: ["lib.esnext.d.ts"], skipLibCheck: true, noEmit: true, types: [] };
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  const found = new Set<string>();
  const done = new Set<ts.Symbol>();
  const note = (name: string, argument: string, type: ts.Type) => {
    if (wordsOf(type).filter((word) => word !== "...").length > 0) found.add(`${name}.${argument}`);
  };
  const look = (name: string, argument: string, type: ts.Type) => {
    note(name, argument, type);
    for (const part of type.isUnion() ? type.types : [type]) {
      const inner = checker.isTupleType(part) ? checker.getTypeArguments(part as ts.TypeReference) : [];
      for (const one of inner) look(name, argument, one);
      if (inner.length > 0 || checker.isArrayType(part) || !isOptions(part)) continue;
      for (const property of part.getProperties()) {
        if (/^\w+$/.test(property.name)) note(name, property.name, checker.getTypeOfSymbol(property));
      }
    }
  };
  const calls = (name: string, signatures: readonly ts.Signature[]) => {
    for (const signature of signatures) {
      for (const one of signature.parameters) look(name, one.name, checker.getTypeOfSymbol(one));
    }
  };
  const walk = (name: string, exported: ts.Symbol) => {
    const alias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = alias ? checker.getAliasedSymbol(exported) : exported;
    if (done.has(symbol) || name.startsWith("_")) return;
    done.add(symbol);
    const type = checker.getTypeOfSymbol(symbol);
    calls(name, [...type.getCallSignatures(), ...type.getConstructSignatures()]);
    if ((symbol.flags & ts.SymbolFlags.Class) !== 0) {
      const made = checker.getDeclaredTypeOfSymbol(symbol);
      for (const member of [...type.getProperties(), ...made.getProperties()]) {
        if (/^_|^prototype$/.test(member.name)) continue;
        calls(member.name, checker.getTypeOfSymbol(member).getCallSignatures());
      }
    }
    if ((symbol.flags & ts.SymbolFlags.Module) === 0) return;
    for (const one of checker.getExportsOfModule(symbol)) walk(one.name, one);
  };
  const module = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile);
  for (const one of checker.getExportsOfModule(module as ts.Symbol)) walk(one.name, one);
  return [...found].filter((name) => !OTHER.test(name)).sort();
}
