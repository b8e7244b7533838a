// Whether links lead somewhere: those of Markdown files, to files and headings of the repository, and those of the API
// site, to pages and anchors of it. Addresses elsewhere are not asked.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** The anchor that GitHub gives a heading. */
export function anchorOf(heading: string): string {
  const text = heading.replace(/[`*]/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** A Markdown text without its fences, where brackets are code. */
function withoutFences(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}

function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm);
  return new Set([...headings].map((match) => anchorOf(match[1] as string)));
}

const ELSEWHERE = /^([a-z][a-z0-9+.-]*:|\/\/)/i;

/** The links of a Markdown file that lead nowhere, each with why. */
export function brokenInMarkdown(file: string): string[] {
  const markdown = readFileSync(file, "utf8");
  const broken: string[] = [];
  for (const match of withoutFences(markdown).matchAll(/\[[^\]]*\]\(([^()\s]+)\)/g)) {
    const link = match[1] as string;
    if (ELSEWHERE.test(link)) continue;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : resolve(dirname(file), decodeURIComponent(path));
    if (!existsSync(target)) broken.push(`${link}: there is no such file`);
    else if (anchor !== undefined && target.endsWith(".md") && !anchorsOf(readFileSync(target, "utf8")).has(anchor)) {
      broken.push(`${link}: there is no such heading`);
    }
  }
  return broken;
}

interface Page {
  links: string[];
  anchors: Set<string>;
}

function pageOf(html: string): Page {
  const unescape = (text: string) => text.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"');
  const found = (pattern: RegExp) => [...html.matchAll(pattern)].map((match) => unescape(match[1] as string));
  return { links: found(/ href="([^"]*)"/g), anchors: new Set(found(/ (?:id|name)="([^"]*)"/g)) };
}

/** What is wrong with a site: links that lead nowhere, and pages of more than so many bytes. */
export function problemsOfSite(folder: string, most = 300_000): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
  const pages = new Map(files.map((name) => [join(folder, name), pageOf(readFileSync(join(folder, name), "utf8"))]));
  const problems = new Set<string>();
  for (const [file, { links }] of pages) {
    const name = relative(folder, file);
    const { size } = statSync(file);
    if (size > most) problems.add(`${name}: ${size} bytes, at most ${most}`);
    for (const link of links) {
      if (ELSEWHERE.test(link)) continue;
      const [path = "", anchor = ""] = link.split("#");
      const target = path === "" ? file : resolve(dirname(file), decodeURIComponent(path.replace(/\?.*$/, "")));
      const page = pages.get(target);
      if (page === undefined && !existsSync(target)) problems.add(`${name}: ${link} leads to no page`);
      else if (page !== undefined && anchor !== "" && !page.anchors.has(decodeURIComponent(anchor))) {
        problems.add(`${name}: ${link} leads to no place of that page`);
      }
    }
  }
  return [...problems].sort();
}
