// The table of tensordict's names has every name: what it is here, why it is not, or that it waits for an operator.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NOT_APPLICABLE, WAITING } from "../../codegen/peers/tensordict.ts";

const root = join(import.meta.dir, "..", "..");
const text = readFileSync(join(root, "generated", "FROM-TENSORDICT.md"), "utf8");
const peers = JSON.parse(readFileSync(join(root, "codegen", "peers", "names.json"), "utf8"));

const all: string[] = [
  ...peers.TensorDict.map((name: string) => `TensorDict.${name}`),
  ...[...peers.tensordict, ...peers["tensordict classes"]].map((name: string) => `tensordict.${name}`),
  ...peers["tensordict.utils"].map((name: string) => `tensordict.utils.${name}`),
  ...peers["tensordict.nn"].map((name: string) => `tensordict.nn.${name}`),
];

test("every name of tensordict is in the table", () => {
  const shown = new Set([...text.matchAll(/`([\w.]+)`/g)].map(([, name]) => name as string));
  // A method in place stands with its name without the underscore.
  const lost = all.filter((name) => !shown.has(name) && !shown.has(name.replace(/_$/, "")));
  expect(lost).toEqual([]);
});

test("what is not there has a reason, or waits for an operator", () => {
  const [, open = ""] = text.split("## Not there yet");
  expect([...open.matchAll(/`([\w.]+)`/g)].map(([, name]) => name).sort()).toEqual([...WAITING].sort());
});

test("reasons are about names that tensordict has and that are not here", () => {
  const explained = NOT_APPLICABLE.flatMap(([, names]) => names);
  expect(explained.filter((name) => !all.includes(name))).toEqual([]);
  expect(new Set(explained).size).toBe(explained.length);
  const [table = ""] = text.split("## Not applicable");
  expect(explained.filter((name) => table.includes(`| \`${name}\` |`))).toEqual([]);
});
