/** The notation of einsum: which names the dimensions of operands and result have. */
import * as texts from "../../generated/texts.ts";

/** Names of dimensions are numbers: letters from 0 on, those that an ellipsis stands for behind them. */
export interface Equation {
  /** Of each operand's dimensions. */
  readonly labels: readonly number[][];
  /** All names: the result's first, then those that are summed over. */
  readonly order: readonly number[];
  /** How many of them the result has. */
  readonly outputs: number;
  readonly letter: (label: number) => string;
}

const OP = "einsum";
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ELLIPSIS = -1;

const letterOf = (label: number): string => LETTERS[label] ?? "...";

/** The names of each operand, an ellipsis as -1. */
function operandsOf(equation: string, end: number, count: number): number[][] {
  const lists: number[][] = [[]];
  let current = lists[0] as number[];
  for (let i = 0; i < end; i++) {
    const c = equation[i] as string;
    const at = lists.length - 1;
    if (c === " ") continue;
    if (c === ".") {
      if (current.includes(ELLIPSIS)) throw texts.einsumTwoEllipses(OP, at);
      if (equation.slice(i, i + 3) !== "...") throw texts.einsumDot(OP, at);
      current.push(ELLIPSIS);
      i += 2;
    } else if (c === ",") {
      if (lists.length >= count) throw texts.einsumFewerOperands(OP);
      current = [];
      lists.push(current);
    } else current.push(labelAt(equation, i));
  }
  if (lists.length < count) throw texts.einsumMoreOperands(OP);
  return lists;
}

function labelAt(equation: string, i: number): number {
  const label = LETTERS.indexOf(equation[i] as string);
  if (label < 0) throw texts.einsumSubscript(OP, i);
  return label;
}

function outputsOf(equation: string, start: number, known: ReadonlySet<number>, width: number): number[] {
  const out: number[] = [];
  let found = false;
  for (let i = start; i < equation.length; i++) {
    const c = equation[i] as string;
    if (c === " ") continue;
    if (c === ".") {
      if (found) throw texts.einsumOutputEllipses(OP);
      if (equation.slice(i, i + 3) !== "...") throw texts.einsumOutputDot(OP);
      found = true;
      i += 2;
      for (let k = 0; k < width; k++) out.push(LETTERS.length + k);
      continue;
    }
    const label = labelAt(equation, i);
    if (out.includes(label)) throw texts.einsumOutputTwice(OP, c);
    if (!known.has(label)) throw texts.einsumOutputUnknown(OP, c);
    out.push(label);
  }
  return out;
}

/** Without an arrow: what an ellipsis stands for, then the names that occur once, in the order of letters. */
function impliedOutputs(lists: readonly number[][], width: number): number[] {
  const counts = new Map<number, number>();
  for (const label of lists.flat()) counts.set(label, (counts.get(label) ?? 0) + 1);
  const once = [...counts].filter(([label, n]) => n === 1 && label !== ELLIPSIS).map(([label]) => label);
  return [...Array.from({ length: width }, (_, k) => LETTERS.length + k), ...once.sort((a, b) => a - b)];
}

export function parseEquation(equation: string, ranks: readonly number[]): Equation {
  const arrow = equation.indexOf("->");
  const lists = operandsOf(equation, arrow < 0 ? equation.length : arrow, ranks.length);
  let width = 0;
  lists.forEach((list, i) => {
    const rank = ranks[i] as number;
    const open = list.includes(ELLIPSIS);
    const names = list.length - (open ? 1 : 0);
    if (open ? names > rank : names !== rank)
      throw texts.einsumRank(OP, names, rank, i, open ? "" : " and no ellipsis was given");
    if (open) width = Math.max(width, rank - names);
  });
  // What an ellipsis stands for is aligned at its end.
  const labels = lists.map((list, i) => {
    const own = (ranks[i] as number) - list.length + 1;
    return list.flatMap((label) =>
      label === ELLIPSIS ? Array.from({ length: own }, (_, k) => LETTERS.length + width - own + k) : [label],
    );
  });
  const known = new Set(labels.flat());
  const outputs = arrow < 0 ? impliedOutputs(lists, width) : outputsOf(equation, arrow + 2, known, width);
  const rest = [...known].filter((label) => !outputs.includes(label)).sort((a, b) => a - b);
  return { labels, order: [...outputs, ...rest], outputs: outputs.length, letter: letterOf };
}
