/** The printed form of modules. */
import type { Registered } from "./registers.ts";

/** Everything after the first line moves to the right. */
export function indented(text: string, spaces = 2): string {
  return text.split("\n").join(`\n${" ".repeat(spaces)}`);
}

/** torch's form: extra text and children, one on each line. */
export function moduleText(module: Registered): string {
  const extra = module.extraRepr();
  const extraLines = extra === "" ? [] : extra.split("\n");
  const childLines: string[] = [];
  for (const [name, child] of module._modules) {
    childLines.push(`(${name}): ${indented(child === null ? "None" : String(child))}`);
  }
  const lines = [...extraLines, ...childLines];
  const head = `${module._getName()}(`;
  if (lines.length === 0) return `${head})`;
  if (extraLines.length === 1 && childLines.length === 0) return `${head}${extraLines[0]})`;
  return `${head}\n  ${lines.join("\n  ")}\n)`;
}

/** As `moduleText`, with runs of equal children on one line. */
export function listText(module: Registered): string {
  const texts = [...module._modules.values()].map((m) => String(m));
  if (texts.length === 0) return `${module._getName()}()`;
  const lines: string[] = [];
  let first = 0;
  for (let i = 1; i <= texts.length; i++) {
    if (texts[i] === texts[first]) continue;
    const run = i - first;
    const head = run === 1 ? `(${first}): ` : `(${first}-${i - 1}): ${run} x `;
    lines.push(indented(`${head}${texts[first]}`));
    first = i;
  }
  return `${module._getName()}(\n  ${lines.join("\n  ")}\n)`;
}
