/** generated/texts.ts: one function for each text of codegen/schema/texts.ts; generated/ERRORS.md lists them. */
import type { Model } from "../model/load.ts";
import type { TextSchema } from "../model/types.ts";

const placeholders = (t: TextSchema): string[] => [...new Set([...t.text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!))];

function template(t: TextSchema): string {
  const escaped = t.text.replace(/[`\\]|\$(?=\{)/g, "\\$&");
  return `\`${escaped.replace(/\{(\w+)\}/g, (_, name: string) => `\${part(${name})}`)}\``;
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
    'const part = (x: Part): string => (typeof x === "object" ? listText(x) : String(x));',
  ];
  for (const t of model.texts) {
    const parts = placeholders(t).map((name) => `${name}: Part`);
    out.push("", `/** ${t.text} */`);
    if (t.error === undefined) {
      out.push(
        `export function ${t.name}(${parts.join(", ")}): void {`,
        `  warn(${template(t)}, "${t.warning}");`,
        "}",
      );
      continue;
    }
    const signature = ["op: string | undefined", ...parts].join(", ");
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
    out.push(`| ${t.error ?? t.warning} | ${t.code ?? ""} | ${t.text.replace(/\|/g, "\\|")} |`);
  }
  return `${out.join("\n")}\n`;
}
