// Builds the API site in docs/api with TypeDoc, and fails on a warning of it, on a public name that is missing there,
// on a link that leads nowhere, on a page that is too large or begins with a form by name, and on a search that does
// not find what it should.
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { Application } from "typedoc";
import { lostNames, lostQueries, namedFirst } from "./found.ts";
import { problemsOfSite } from "./links.ts";
import { publicNames } from "./public-names.ts";
import { missingFrom } from "./site.ts";

const root = join(import.meta.dir, "..", "..");
const out = join(root, "docs", "api");
const MOST_PROBLEMS = 30;

async function main(): Promise<number> {
  const start = performance.now();
  rmSync(out, { recursive: true, force: true });
  const app = await Application.bootstrapWithPlugins({ options: join(root, "typedoc.json") });
  const project = await app.convert();
  if (project === undefined) return 1;
  app.validate(project);
  await app.generateDocs(project, out);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) return 1;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const missing = missingFrom(project, publicNames().names).map((name) => `${name}: the site does not have it`);
  const problems = [...missing, ...problemsOfSite(out), ...namedFirst(out), ...lostQueries(out), ...lostNames(out, 25)];
  for (const problem of problems.slice(0, MOST_PROBLEMS)) console.error(problem);
  const pages = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
  const largest = Math.max(...pages.map((name) => statSync(join(out, name)).size));
  console.log(`${pages.length} pages in ${seconds} s, the largest ${Math.ceil(largest / 1000)} KB`);
  if (problems.length > 0) console.error(`${problems.length} problems`);
  return problems.length > 0 ? 1 : 0;
}

process.exitCode = await main();
