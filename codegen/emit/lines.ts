/** Tables of generated files that are a text until somebody asks for one of their rows (src/tensor/late-table.ts). */

/** A line of the text; what is null at its end is left out. */
export function line(name: string, cells: readonly unknown[]): string {
  const row = cells.slice(0, cells.findLastIndex((one) => one !== null) + 1);
  return `${name} ${JSON.stringify(row).replace(/[\\`$]/g, "\\$&")}`;
}

/** The table of this name; `made` makes it of the function that gives its lines. */
export function lateTable(name: string, lines: readonly string[], made: string): string[] {
  return [
    `const ${name} = ${made}(${name}_lines);`,
    "",
    "/** A line each, so that none costs anything until it is read. */",
    `function ${name}_lines(): string {`,
    "  return `",
    ...lines,
    "`;",
    "}",
    "",
  ];
}
