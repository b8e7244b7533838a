/** generated/texts.ts: one function for each text of codegen/schema/texts/; generated/ERRORS.md lists them. */
import type { Model } from "../model/load.ts";
import type { TextSchema } from "../model/types.ts";

const placeholders = (t: TextSchema): string[] => [...new Set([...t.text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!))];
const isOp = (t: TextSchema, name: string): boolean => name === "op" && t.error !== undefined;

function template(t: TextSchema): string {
  const escaped = t.text.replace(/[`\\]|\$(?=\{)/g, "\\$&").replaceAll("\n", "\\n");
  const value = (name: string): string => (isOp(t, name) ? name : `part(${name})`);
  return `\`${escaped.replace(/\{(\w+)\}/g, (_, name: string) => `\${${value(name)}}`)}\``;
}

export function emitTexts(model: Model): string {
  const classes = [...new Set(model.texts.flatMap((t) => (t.error === undefined ? [] : [t.error])))].sort();
  const out = [
    `import { ${[...classes, "warn"].join(", ")} } from "../src/tensor/errors.ts";`,
    'import { listText } from "../src/tensor/size.ts";',
    "",
    "/** What a text may show: lists as torch writes them. */",
    "export type Part = string | number | bigint | readonly number[];",
    "",
    "// What the types promise may be wrong: such values are shown in errors most of all.",
    "const part = (x: Part): string => {",
    "  if (Array.isArray(x)) return listText(x);",
    '  return typeof x === "number" && Number.isInteger(x) && Math.abs(x) >= 2 ** 53 ? String(BigInt(x)) : String(x);',
    "};",
  ];
  for (const t of model.texts) {
    const names = placeholders(t);
    const parts = names.filter((name) => !isOp(t, name)).map((name) => `${name}: Part`);
    out.push("", `/** ${t.text.replaceAll("\n", " ")} */`);
    if (t.error === undefined) {
      out.push(
        `export function ${t.name}(${parts.join(", ")}): void {`,
        `  warn(${template(t)}, "${t.warning}");`,
        "}",
      );
      continue;
    }
    const signature = [names.includes("op") ? "op: string" : "op: string | undefined", ...parts].join(", ");
    out.push(
      `export function ${t.name}(${signature}): ${t.error} {`,
      `  return new ${t.error}(${template(t)}, { op, code: "${t.code}" });`,
      "}",
    );
  }
  return `${out.join("\n")}\n`;
}

export function emitErrorList(model: Model): string {
  const out = ["# Errors and warnings", "", "| class | code | text |", "| --- | --- | --- |"];
  for (const t of model.texts) {
    out.push(
      `| ${t.error ?? t.warning} | ${t.code ?? ""} | ${t.text.replace(/\|/g, "\\|").replaceAll("\n", "<br>")} |`,
    );
  }
  return `${out.join("\n")}\n`;
}
