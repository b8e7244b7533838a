// Which names of the running library its declarations lack as values.
import * as ts from "typescript";
import * as zensor from "../../src/index.ts";

const isNamespace = (value: unknown, symbol: ts.Symbol): value is object =>
  typeof value === "object" && value !== null && (symbol.flags & ts.SymbolFlags.Module) !== 0;

/** Paths of names of the library and its namespaces that a program compiled against the file cannot use as values. */
export function undeclaredValues(file: string): { missing: string[]; namespaces: string[] } {
  const options = { skipLibCheck: true, types: [], target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext };
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  const [missing, namespaces]: [string[], string[]] = [[], []];

  const whole = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  /** Whether it is exported as a type alone: what it stands for may be a value all the same. */
  const isTypeOnly = (symbol: ts.Symbol) =>
    symbol.declarations?.some((one) => ts.isTypeOnlyExportDeclaration(one)) === true;

  const walk = (path: string, object: object, symbol: ts.Symbol): void => {
    const declared = new Map(checker.getExportsOfModule(symbol).map((one) => [one.name, one]));
    for (const [name, value] of Object.entries(object)) {
      const one = declared.get(name);
      const is = one === undefined ? undefined : whole(one);
      if (one === undefined || is === undefined || isTypeOnly(one) || (is.flags & ts.SymbolFlags.Value) === 0)
        missing.push(path + name);
      else if (isNamespace(value, is)) {
        namespaces.push(path + name);
        walk(`${path}${name}.`, value, is);
      }
    }
  };
  const source = program.getSourceFile(file) as ts.SourceFile;
  walk("", zensor, checker.getSymbolAtLocation(source) as ts.Symbol);
  return { missing, namespaces };
}
