// What is registered outside of the registration files is found.

import { expect, test } from "bun:test";
import { checkRegistrations } from "../../codegen/verify/registrations.ts";

const IMPORTS =
  'import { installChecks, late, registerKinds, Tensor } from "../tensor.ts";\nimport * as all from "../b.ts";\n';

/** The lines that are wrong. */
const wrong = (text: string, file = "src/api/x.ts"): number[] =>
  checkRegistrations(new Map([[file, IMPORTS + text]])).map(({ line }) => line);

test.each([
  "late.print = () => 1;",
  'late["print"] ??= () => 1;',
  "all.table.x += 1;",
  "registerKinds({});",
  "late.list.push(1);",
  "installChecks(Tensor.prototype, {});",
  "Object.assign(late, {});",
  'Object.defineProperty(Tensor.prototype, "x", {});',
  "for (const name of [1]) registerKinds(name);",
  "if (process.env.X) {\n  late.x = 1;\n}",
  'import "./kinds.ts";',
])("%s", (text) => {
  const line = text.includes("\n") ? 4 : 3;
  expect(wrong(text)).toEqual([line]);
  expect(wrong(text, "src/install.ts")).toEqual([]);
  expect(wrong(text, "src/nn/install.ts")).toEqual([line]);
});

test("a file may do with its own things, and in its functions, what it likes", () => {
  const text = `const own = new Map<string, number>();
own.set("a", 1);
Object.assign(own, { late });
for (const name of Object.keys(all)) own.set(name, 1);
function later() {
  late.x = 1;
  registerKinds({});
}
later();
class Own extends Tensor {
  m() {
    late.x = 1;
  }
}
installChecks(Own.prototype, all.TABLE);
import "../install.ts";
import { readFileSync } from "node:fs";
readFileSync("x");
`;
  expect(wrong(text)).toEqual([]);
});
