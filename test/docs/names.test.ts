// Every name that a program can reach has a text, and an example, which jsdoc.test.ts runs.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacks, publicNames } from "../../scripts/docs/public-names.ts";

const { names, strangers, unwritten } = publicNames();
const find = (name: string) => names.find((row) => row.name === name);

test("the list of public names is the package's", async () => {
  const zensor: Record<string, unknown> = await import("../../src/index.ts");
  const listed = new Set(names.map((row) => row.name.split(/[.#]/)[0] as string));
  // A second name of a thing that is listed: `F` and `nn.functional`.
  const again = (name: string) => Object.keys(zensor).some((one) => listed.has(one) && zensor[one] === zensor[name]);
  expect(Object.keys(zensor).filter((name) => !listed.has(name) && !again(name))).toEqual([]);
  for (const name of ["add", "nn.Linear", "Tensor#add_", "Tensor#item", "F.relu", "TensorDict.loadMemmap"]) {
    expect(find(name)?.name, name).toBe(name);
  }
});

test("every public name has a text and an example", () => {
  const poor = names.map((row) => [row.name, lacks(row, names)] as const).filter(([, without]) => without !== null);
  expect(poor.map(([name, without]) => `${name}: no ${without}`)).toEqual([]);
  expect(names.length).toBeGreaterThan(1400);
});

test("every member has a declaration, at which a text can stand", () => expect(unwritten).toEqual([]));

test("every heading of docs/members names something", () => {
  expect(strangers).toEqual([]);
});

test("a name without a text or an example is seen, and so is a heading without a name", () => {
  const folder = mkdtempSync(join(tmpdir(), "zensor-members-"));
  const fence = (code: string) => `\n\`\`\`ts\n${code}\n\`\`\`\n\n`;
  writeFileSync(
    join(folder, "some.md"),
    `## Tensor#item\n${fence("tensor(1).item() // 1")}## No#thing\n${fence("1 // 1")}`,
  );
  const other = publicNames(folder);
  rmSync(folder, { recursive: true });
  expect(other.strangers).toEqual(["No#thing"]);
  const row = (name: string) => other.names.find((one) => one.name === name) as (typeof names)[number];
  expect(lacks(row("Tensor#item"), other.names)).toBeNull();
  expect(lacks(row("Tensor#bigint"), other.names)).toBe("example");
  expect(lacks({ ...row("Tensor#item"), text: "" }, other.names)).toBe("text");
}, 60_000);
