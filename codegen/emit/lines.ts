/** Tables of generated files that are a text until somebody asks for one of their rows (src/tensor/late-table.ts). */

/** A line of the text. */
export function line(name: string, row: readonly unknown[]): string {
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
