// The parts of the API site that need no built site: headings, pages, spellings. `bun run docs` builds it, and asks its
// search what scripts/docs/queries.ts lists.
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CATEGORIES } from "../../codegen/model/categories.ts";
import ops from "../../generated/ops.json";
import { guidePages } from "../../scripts/docs/documents.ts";
import { ask, isNamed, signaturesOf } from "../../scripts/docs/found.ts";
import { QUERIES } from "../../scripts/docs/queries.ts";
import { spellings, wordsOf } from "../../scripts/docs/search.ts";

const root = join(import.meta.dir, "..", "..");

test("every operator has a heading, and every heading an operator", () => {
  const rows = ops as unknown as readonly { key: string; internal: boolean; category: string }[];
  const open = rows.filter(({ internal }) => !internal);
  const names: readonly string[] = CATEGORIES;
  expect(open.filter(({ category }) => !names.includes(category)).map(({ key }) => key)).toEqual([]);
  expect(names.filter((name) => !open.some(({ category }) => category === name))).toEqual([]);
});

test("every page of the guide is in its list", () => {
  const guide = readdirSync(join(root, "docs", "guide")).filter((name) => name.endsWith(".md"));
  const listed = Bun.file(join(root, "docs", "guide", "README.md")).text();
  expect(guidePages().length).toBe(guide.length);
  return listed.then((text) => {
    expect(guide.filter((name) => name !== "README.md" && !text.includes(`](${name})`))).toEqual([]);
  });
});

test("names of elsewhere are spelled as they are written there", () => {
  expect(spellings("torch.nn.functional.mse_loss")).toEqual(["torch.nn.functional.mse_loss", "F.mse_loss"]);
  expect(spellings("np.linalg.norm")).toEqual(["numpy.linalg.norm", "np.linalg.norm"]);
  expect(spellings("Tensor#indexAdd_")).toEqual(["torch.Tensor.indexAdd_", "x.indexAdd_"]);
  expect(spellings("TensorDict.memmap(path)")).toEqual(["tensordict.TensorDict.memmap", "td.memmap"]);
  expect(wordsOf("[a page](other.md#x), `x.view(2)` <br> per-example")).toBe("a page x.view 2 per-example");
});

test("what is asked of the search is a page of the guide that is there, or looks like a page", () => {
  expect(QUERIES.length).toBeGreaterThan(60);
  const odd = QUERIES.filter(
    ([, ...pages]) => pages.length === 0 || pages.some((page) => !/\.html|^#name-/.test(page)),
  );
  expect(odd).toEqual([]);
});

test("results are in the order of the pages' own script", () => {
  const rows = ["catalogue", "cat", "concat"].map((name) => ({ name, url: `${name}.html` }));
  const asked: string[] = [];
  const index = {
    search(query: string) {
      asked.push(query);
      return rows.map((_, i) => ({ ref: String(i), score: 1 }));
    },
  };
  expect(ask({ rows, index }, "cat").map(({ name }) => name)).toEqual(["cat", "catalogue", "concat"]);
  ask({ rows, index }, "two words");
  expect(asked).toEqual(["*cat*", "*two* *words*"]);
});

test("forms by name are told from others", () => {
  const row = (text: string) => `<div class="tsd-signature tsd-anchor-link" id="x">${text}</div>`;
  const html =
    row("<span>sum</span>(<br/>\u00a0<span>options</span>: { input: Tensor }): Tensor") +
    row("sum(self: Tensor): Tensor");
  expect(signaturesOf(html).map(isNamed)).toEqual([true, false]);
  expect(isNamed("zeros(...size: number[]): Tensor")).toBe(false);
  expect(isNamed("sum(options?: { dim?: number }): Tensor")).toBe(false);
});

test("the script of the pages asks as `ask` does", async () => {
  const file = join(root, "node_modules", "typedoc", "static", "main.js");
  expect(existsSync(file)).toBe(true);
  const script = await Bun.file(file).text();
  // Words within words, and names that begin with the query ten times before others.
  expect(script).toContain(`i.split(" ").map(c=>c.length?\`*\${c}*\`:"").join(" ")`);
  expect(script).toContain("toLowerCase().startsWith(i.toLowerCase())&&(d*=10/(1+Math.abs(l.name.length-i.length)))");
});
