// The table of what the GPU kernels take, bench/PTX.md: `bun run ptx:table`; with `--check` it is only compared.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../toolchain.mjs";
import { type Assembled, assembleAll, findPtxas, spilling, TARGETS, type Use, versionOf } from "./assemble.ts";

export const TABLE = join(root, "bench", "PTX.md");

const MOST = 12;

const kernelsOf = (uses: readonly Use[]): Use[] => uses.filter((use) => use.isKernel);
const most = (uses: readonly Use[], key: "registers" | "stack" | "shared"): number =>
  Math.max(0, ...uses.map((use) => use[key]));
const sum = (uses: readonly Use[], key: "spills" | "code"): number => uses.reduce((total, use) => total + use[key], 0);

/** A figure for each target; one where they agree. */
function each(results: readonly Assembled[], figure: (uses: readonly Use[]) => string | number): string {
  const figures = TARGETS.map((target) => {
    const uses = results.filter((r) => r.target === target).flatMap((r) => r.uses);
    return String(figure(uses));
  });
  return new Set(figures).size === 1 ? (figures[0] as string) : figures.join(" / ");
}

function row(name: string, results: readonly Assembled[]): string {
  const kilobytes = (uses: readonly Use[]): string => (sum(uses, "code") / 1e3).toFixed(0);
  const cells = [
    name,
    each(results, (uses) => kernelsOf(uses).length),
    each(results, (uses) => most(uses, "registers")),
    each(results, (uses) => most(uses, "stack")),
    each(results, (uses) => sum(uses, "spills")),
    each(results, (uses) => most(uses, "shared")),
    each(results, kilobytes),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The kernels with the most registers, by what they take for any target. */
function largest(all: readonly Assembled[]): string[] {
  const found = new Map<string, number[]>();
  for (const target of TARGETS) {
    for (const use of all.filter((r) => r.target === target).flatMap((r) => kernelsOf(r.uses))) {
      found.set(use.name, [...(found.get(use.name) ?? []), use.registers]);
    }
  }
  const ordered = [...found].sort(([, a], [, b]) => Math.max(...b) - Math.max(...a)).slice(0, MOST);
  return ordered.map(([name, registers]) => `| ${name} | ${registers.join(" / ")} |`);
}

export function tableText(all: readonly Assembled[], version: string): string {
  const families = [...new Set(all.map((r) => r.family))];
  return [
    "# GPU kernels as ptxas assembles them",
    "",
    `Made by \`bun run ptx:table\` with ptxas ${version}, from PTX for sm_75: nothing here was run on a GPU. Figures`,
    `are for ${TARGETS.join(" / ")}; one figure where all agree. A thread's stack and its spills are in bytes, a`,
    "block's memory too, code in KB. Stack without spills is of arrays and calls.",
    "",
    "| family | kernels | most registers | most stack | spills | most block memory | code, KB |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...families.map((family) =>
      row(
        family,
        all.filter((r) => r.family === family),
      ),
    ),
    row("**all**", all),
    "",
    "| kernels with the most registers | registers |",
    "| --- | --- |",
    ...largest(all),
    "",
  ].join("\n");
}

/** One line about a run, for the test driver. */
export function summary(all: readonly Assembled[], version: string): string {
  const uses = all.flatMap((r) => r.uses);
  const kernels = kernelsOf(all.filter((r) => r.target === TARGETS[0]).flatMap((r) => r.uses)).length;
  const targets = new Set(all.map((r) => r.target)).size;
  return `${kernels} kernels for ${targets} targets, at most ${most(uses, "registers")} registers by ptxas ${version}`;
}

async function main(): Promise<number> {
  const ptxas = findPtxas();
  if (ptxas === null) {
    console.error("there is no ptxas: ./scripts/engines.sh fetches it, or ZENSOR_PTXAS names one");
    return process.argv.includes("--check") ? 77 : 2;
  }
  const [all, version] = [await assembleAll(ptxas), versionOf(ptxas)];
  if (!process.argv.includes("--check")) writeFileSync(TABLE, tableText(all, version));
  const wrong = spilling(all);
  for (const line of wrong) console.error(line);
  console.log(summary(all, version));
  return wrong.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main();
