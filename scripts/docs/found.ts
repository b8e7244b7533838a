// Asks a built site's search as its pages do, and looks at its pages as people do: what stands first.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { QUERIES } from "./queries.ts";

interface Row {
  name: string;
  url: string;
  parent?: string;
}

export interface Search {
  rows: Row[];
  index: Index;
}

interface Index {
  search(query: string): { ref: string; score: number }[];
}

/** The library that TypeDoc's index is of, as TypeDoc finds it. */
const { Index: Lunr }: { Index: { load(index: object): Index } } = createRequire(require.resolve("typedoc"))("lunr");

/** The site's index, unpacked. */
export function searchOf(site: string): Search {
  const script = readFileSync(join(site, "assets", "search.js"), "utf8");
  const packed = /"([^"]*)"/.exec(script)?.[1] ?? "";
  const { rows, index } = JSON.parse(inflateSync(Buffer.from(packed, "base64")).toString());
  return { rows, index: Lunr.load(index) };
}

/**
 * The results of a query, best first, as TypeDoc's script gives them: words within words, and names that begin with the
 * query before others.
 */
export function ask({ rows, index }: Search, query: string): Row[] {
  const words = query.split(" ").map((word) => (word === "" ? "" : `*${word}*`));
  const found = index.search(words.join(" ")).map(({ ref, score }) => {
    const row = rows[Number(ref)] as Row;
    const begins = row.name.toLowerCase().startsWith(query.toLowerCase());
    return { row, score: begins ? (score * 10) / (1 + Math.abs(row.name.length - query.length)) : score };
  });
  return found.sort((a, b) => b.score - a.score).map(({ row }) => row);
}

const BEST = 3;
/** How many results the pages' script shows. */
const SHOWN = 10;

/** Queries whose page is not among the first results, and results that lead to no place. */
export function lostQueries(site: string): string[] {
  const search = searchOf(site);
  const isPage = (url: string, page: string) => url.endsWith(page) || url.replace(/#.*/, "").endsWith(page);
  const lost = QUERIES.flatMap(([query, ...pages]) => {
    const best = ask(search, query).slice(0, BEST);
    if (best.some(({ url }) => pages.some((page) => isPage(url, page)))) return [];
    return [`search: "${query}" does not find ${pages.join(" or ")}, but ${best.map(({ url }) => url).join(", ")}`];
  });
  const texts = new Map<string, string>();
  const astray = search.rows.flatMap(({ url, name }) => {
    const [path = "", anchor] = url.split("#");
    const file = join(site, decodeURIComponent(path));
    if (!texts.has(path)) texts.set(path, existsSync(file) ? readFileSync(file, "utf8") : "");
    const text = texts.get(path) as string;
    const isThere = text !== "" && (anchor === undefined || text.includes(`id="${anchor}"`));
    return isThere ? [] : [`search: ${name} leads to ${url}, which is not there`];
  });
  return [...lost, ...astray];
}

/** Some of a list, by a seed: as many as asked for. */
function drawn<T>(list: readonly T[], count: number, seed: number): T[] {
  const left = [...list];
  let state = seed;
  return Array.from({ length: Math.min(count, left.length) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return left.splice(Math.floor((state / 2 ** 32) * left.length), 1)[0] as T;
  });
}

/** What a page of names has: each name of elsewhere with the pages it leads to, or its own place. */
function namesOf(html: string, page: string): { name: string; places: string[] }[] {
  const rows = [...html.matchAll(/<tr>\s*<td><code>([\w.]+)<\/code><\/td>\s*<td>([\s\S]*?)<\/td>/g)].map((match) => ({
    name: match[1] as string,
    places: [...(match[2] as string).matchAll(/href="\.\.\/([^"]+)"/g)].map((link) => link[1] as string),
  }));
  const absent = [...html.matchAll(/<code id="name-([\w.]+)">/g)].map((match) => ({
    name: match[1] as string,
    places: [`${page}#name-${match[1]}`],
  }));
  return [...rows.filter(({ places }) => places.length > 0), ...absent];
}

/** Names of the tables, drawn by a seed, that the search does not lead to among its results. */
export function lostNames(site: string, count = 60, seed = Number(process.env.ZENSOR_SEED ?? 7)): string[] {
  const search = searchOf(site);
  const pages = readdirSync(join(site, "documents")).filter((name) => name.endsWith("_s_names.html"));
  return pages.flatMap((file) => {
    const page = `documents/${file}`;
    const names = namesOf(readFileSync(join(site, page), "utf8"), page);
    // What is a part of many other names, as `torch.t` is, cannot be told from them by words within words.
    const lower = names.map(({ name }) => name.toLowerCase());
    const isPart = (name: string) => lower.filter((other) => other.includes(name.toLowerCase())).length > SHOWN / 2;
    const distinct = names.filter(({ name }) => !isPart(name));
    return drawn(distinct, count, seed).flatMap(({ name, places }) => {
      const shown = ask(search, name).slice(0, SHOWN);
      if (shown.some(({ url }) => places.some((place) => url === place || url.startsWith(`${place}#`)))) return [];
      return [`search: "${name}" does not find ${places[0]}, but ${shown[0]?.url}`];
    });
  });
}

const plain = (html: string): string =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&nbsp;", " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replace(/\s+/g, " ");

/** The signatures of a page, in its order. */
export function signaturesOf(html: string): string[] {
  const found = html.matchAll(/<div class="tsd-signature tsd-anchor-link"[^>]*>([\s\S]*?)<\/div>/g);
  return [...found].map((match) => plain(match[1] as string).trim());
}

/** A form whose arguments have to be named: `sum(options: { input: Tensor })`. */
export const isNamed = (signature: string): boolean => /^\w+(<.*?>)?\( ?(options|__namedParameters): /.test(signature);

/** What some pages have to begin with. */
const FIRST: Readonly<Record<string, RegExp>> = {
  "functions/add.html": /^add\( ?(self|input): Tensor \| Scalar, other: Tensor \| Scalar, options\?/,
  "functions/arange.html": /^arange\( ?end: Scalar, options\?/,
  "functions/cat.html": /^cat\( ?tensors: readonly Tensor\[\], dim\??: number/,
  "functions/gather.html": /^gather\( ?(self|input): Tensor, dim: number, index: Tensor/,
  "functions/matmul.html": /^matmul\( ?(self|input): Tensor, other: Tensor/,
  "functions/randn.html": /^randn\( ?\.\.\.size: /,
  "functions/sum.html": /^sum\( ?(self|input): Tensor, /,
  "functions/where.html": /^where\( ?condition: Tensor/,
  "functions/zeros.html": /^zeros\( ?\.\.\.size: /,
  "methods/Tensor.sum.html": /^sum\( ?(options|dim)\?: /,
  "methods/Tensor.view.html": /^view\( ?\.\.\.size: /,
  "methods/Tensor.add_.html": /^add_\( ?other: Tensor \| Scalar/,
};

/** Pages that begin with a form by name although there is one by place, or with another than they should. */
export function namedFirst(site: string): string[] {
  const read = (page: string) => signaturesOf(readFileSync(join(site, page), "utf8"))[0] ?? "";
  const odd = Object.entries(FIRST).flatMap(([page, first]) =>
    first.test(read(page)) ? [] : [`${page} begins with ${read(page)}`],
  );
  const named = ["functions", "methods"].flatMap((folder) =>
    readdirSync(join(site, folder)).flatMap((file) => {
      const signatures = signaturesOf(readFileSync(join(site, folder, file), "utf8"));
      const isWrong = isNamed(signatures[0] ?? "") && signatures.some((one) => !isNamed(one));
      return isWrong ? [`${folder}/${file} begins with ${signatures[0]}`] : [];
    }),
  );
  return [...odd, ...named];
}
