// The npm packages that write tables. A program that does has to install them; they are looked for when they are used.
import { dirname } from "../../runtime/node.ts";
import { OSError } from "../base/errors.ts";

const PACKAGES = {
  arrow: ["apache-arrow", "Arrow tables"],
  parquet: ["parquet-wasm/node", "Parquet files that are written"],
} as const;

type Name = keyof typeof PACKAGES;
const loaded = new Map<string, object>();

/** Where packages are looked for: beside the program, in the folder it was started in, and beside this library. */
function places(): string[] {
  const main = typeof Bun.main === "string" && Bun.main !== "" ? [dirname(Bun.main)] : [];
  // Empty in a program of one file.
  const here = import.meta.path;
  return [...main, process.cwd(), ...(here === "" ? [] : [dirname(here)])];
}

/** Gives a package that the program has imported itself, where none can be found. */
export function givePackage(name: Name, made: object): void {
  loaded.set(name, made);
}

/** A package; without it one error that says what to install. */
export function tablePackage<T extends object>(name: Name): T {
  const known = loaded.get(name);
  if (known !== undefined) return known as T;
  const [specifier, what] = PACKAGES[name];
  for (const place of places()) {
    let path: string;
    try {
      path = Bun.resolveSync(specifier, place);
    } catch {
      continue;
    }
    // As the program would import it, so that both have the same classes.
    const found = require(path) as T;
    loaded.set(name, found);
    return found;
  }
  const npm = specifier.split("/")[0];
  throw new OSError(`${what} need the npm package ${npm}, which was not found: npm install ${npm}`, {
    code: "package_missing",
  });
}

/** Whether a package is there. */
export function hasTablePackage(name: Name): boolean {
  try {
    tablePackage(name);
    return true;
  } catch {
    return false;
  }
}
