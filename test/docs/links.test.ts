// The links of the README and of docs/ lead somewhere, and the checks of links see those that do not.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anchorOf, brokenInMarkdown, problemsOfSite } from "../../scripts/docs/links.ts";

const root = join(import.meta.dir, "..", "..");
const place = mkdtempSync(join(tmpdir(), "zensor-links-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
for (const name of readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })) {
  if (name.endsWith(".md") && !name.startsWith("api")) documents.push(join("docs", name));
}

for (const document of documents.sort()) {
  test(document, () => expect(brokenInMarkdown(join(root, document))).toEqual([]));
}

test("a link to nothing is seen, in Markdown", () => {
  expect(anchorOf("In place, or *into* `out`")).toBe("in-place-or-into-out");
  const lines = ["# A title", "[a](#a-title) [b](#no) [c](other.md#there) [d](other.md#no) [e](none.md)"];
  lines.push("[f](https://example.org/none) `[g](code.md)`", "```ts", "[h](code.md)", "```");
  writeFileSync(join(place, "one.md"), lines.join("\n"));
  writeFileSync(join(place, "other.md"), "## There");
  expect(brokenInMarkdown(join(place, "one.md"))).toEqual([
    "#no: there is no such heading",
    "other.md#no: there is no such heading",
    "none.md: there is no such file",
  ]);
});

test("a link to nothing and a large page are seen, in the site", () => {
  const site = join(place, "site");
  mkdirSync(join(site, "sub"), { recursive: true });
  writeFileSync(join(site, "a.html"), '<a href="sub/b.html#x">b</a><a href="c.html">c</a><h1 id="y"></h1>');
  writeFileSync(join(site, "sub", "b.html"), '<a href="../a.html#y">a</a><a href="../a.html#z">a</a>');
  expect(problemsOfSite(site, 65)).toEqual([
    "a.html: 66 bytes, at most 65",
    "a.html: c.html leads to no page",
    "a.html: sub/b.html#x leads to no place of that page",
    "sub/b.html: ../a.html#z leads to no place of that page",
  ]);
});
