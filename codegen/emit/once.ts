/** Values of generated files that are made when they are first asked for: importing the library does not make them. */

/** A function of this name that gives what the lines of `made` return, made at its first call. */
export function once(name: string, made: readonly string[], before = ""): string[] {
  const type = `ReturnType<typeof ${name}_make>`;
  const make = [`function ${name}_make() {`, ...made, "}", "", `let ${name}_made: ${type} | undefined;`, ""];
  return [
    ...make,
    `${before}function ${name}(): ${type} {`,
    `  ${name}_made ??= ${name}_make();`,
    `  return ${name}_made;`,
    "}",
    "",
  ];
}

/** The same of a table whose rows are all of one type. */
export function tableOnce(name: string, rows: readonly string[], type: string): string[] {
  return once(name, ["  return {", ...rows, `  } satisfies Record<string, ${type}>;`]);
}
