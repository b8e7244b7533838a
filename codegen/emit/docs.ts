/** The comments of generated functions and methods: what the schema says, and what follows from it. */
import type { Op } from "../model/load.ts";

const DTYPES: Readonly<Record<string, string>> = {
  arith: "of the promoted dtype",
  float: "of the promoted dtype; integers and bools give the default float dtype",
  compare: "of bools",
  bool: "of bools",
  same: "of the same dtype",
  bitwise: "of the promoted dtype, which is an integer dtype or bool",
  abs: "of the same dtype; complex dtypes give their real one",
};

/** Shape and dtype of a pointwise result, which the schema's other fields imply. */
function resultText(op: Op): string | null {
  if (op.kind !== "pointwise") return null;
  const operands = op.args.filter((a) => /^Tensor/.test(a.role)).length;
  const shape = operands > 1 ? "a tensor of the shape to which the operands broadcast" : "a tensor of the same shape";
  const dtype = DTYPES[op.promote ?? "none"];
  return dtype === undefined ? shape : `${shape}, ${dtype}`;
}

function torchName(op: Op, inplace: boolean): string {
  return `@torch torch.${op.namespace ? `${op.namespace}.` : ""}${op.name}${inplace ? "_" : ""}`;
}

/** The comment of a name with all its overloads; it stands before the first. */
export function docOf(ops: readonly Op[], inplace: boolean, indent: string): string[] {
  const first = ops[0] as Op;
  const lines: string[] = [];
  for (const op of ops) lines.push(...wrap(op.doc));
  if (first.mayCopy) lines.push("A view of the same memory where the strides allow it, else a copy.");
  else if (first.kind === "view") lines.push("A view: it shares the memory of the tensor.");
  if (inplace) lines.push("Writes into the tensor itself, which is also returned.");
  else if (resultText(first) !== null) lines.push(...wrap(`@returns ${resultText(first)}`));
  for (const op of ops) for (const t of op.throws ?? []) lines.push(`@throws ${t}`);
  const example = inplace ? inplaceExample(ops) : ops.find((op) => op.example !== undefined)?.example;
  if (example !== undefined) lines.push("@example", "```ts", ...example.split("\n"), "```");
  lines.push(torchName(first, inplace));
  return [`${indent}/**`, ...lines.map((l) => `${indent} * ${l}`.trimEnd()), `${indent} */`];
}

/**
 * The example of an operator's in-place form: its own, or the operator's with the writing method in place of the call.
 * The result is the same where the dtype stays; where it does not, the schema has an example of its own.
 */
export function inplaceExample(ops: readonly Op[]): string | undefined {
  const own = ops.find((op) => op.inplaceExample !== undefined)?.inplaceExample;
  const op = ops.find((one) => one.example !== undefined);
  if (own !== undefined || op?.example === undefined) return own;
  const { example, publicName: name } = op;
  if (example.includes(`.${name}(`) && !/\bnn\./.test(example)) return example.replace(`.${name}(`, `.${name}_(`);
  const call = new RegExp(`\\b(nn\\.functional\\.)?${name}\\(`).exec(example);
  if (call === null) return example;
  const first = firstArgument(example, call.index + call[0].length);
  const rest = example.slice(call.index + call[0].length + first.length).replace(/^, /, "");
  return `${example.slice(0, call.index)}${first}.${name}_(${rest}`;
}

/** The text of a call's first argument, which begins at a position. */
function firstArgument(code: string, from: number): string {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    const c = code[at] as string;
    if (depth === 0 && (c === "," || c === ")")) return code.slice(from, at);
    if ("([{".includes(c)) depth++;
    else if (")]}".includes(c)) depth--;
  }
  return code.slice(from);
}

/** The comment of a further overload: its first sentence. */
export function overloadDoc(op: Op, inplace: boolean, indent: string, before = ""): string {
  const sentence = /^.*?[.;](?=\s|$)/s.exec(op.doc)?.[0] ?? op.doc;
  return `${indent}/** ${before}${sentence.replace(/\s+/g, " ").replace(/;$/, ".")} ${torchName(op, inplace)} */`;
}

function wrap(text: string): string[] {
  const out: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line.length + word.length > 100) {
      out.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...out, line];
}
