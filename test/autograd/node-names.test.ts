// Names of backward nodes that depend on the kinds of the arguments, as torch gives them
// (scripts/oracle/make_node_names.py).
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tensor } from "../../src/index.ts";
import { Adapter, camel } from "../conformance/adapter.ts";

type Line = [op: string, form: "f" | "m" | "i", args: unknown[], options: Record<string, unknown>, name: string | null];

const lines = readFileSync(join(import.meta.dir, "../fixtures/node-names.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Line);
const adapter = await Adapter.load();

function nameOf([op, form, args, options]: Line): string | null {
  const x = tensor([1, 2, 3], { requiresGrad: true }).clone();
  const others = args.map((v) => (v === "t" || v === "g" ? tensor([2, 2, 2], { requiresGrad: v === "g" }) : v));
  const keys = Object.entries(options).map(([k, v]) => [camel(k), v]);
  const rest = keys.length > 0 ? [...others, Object.fromEntries(keys)] : others;
  const r = form === "f" ? adapter.fn(op)(x, ...rest) : adapter.method(x, form === "i" ? `${op}_` : op)(...rest);
  return adapter.snapshot(r).gradFn;
}

test("names of backward nodes", () => {
  const wrong: unknown[] = [];
  for (const line of lines) {
    const got = nameOf(line);
    if (got !== line[4]) wrong.push([...line, got]);
  }
  expect(wrong).toEqual([]);
  expect(lines.length).toBeGreaterThan(100);
});
