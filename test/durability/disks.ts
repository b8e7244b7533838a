// Disks that are full, read-only, forbidden or gone, and files that are cut short, for every writer. Each scenario
// gives what misbehaved: no text, no problem.
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Td } from "../../src/tensordict/core/state.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import {
  checkError,
  Findings,
  failureOf,
  forEach,
  freeBlocks,
  hasFree,
  LARGE,
  NOBODY,
  type Problems,
  SMALL,
} from "./checks.ts";
import { contentOf, valueIn, WRITERS, type Writer } from "./writers.ts";

/** A disk of one megabyte, and two to be written. */
export async function fullDisk(root: string): Promise<Problems> {
  return await forEach(root, async (writer, directory, findings) => {
    const path = join(directory, writer.target);
    const empty = statfsSync(root).bfree;
    const first = await failureOf(() => writer.write(path, { value: 2, count: LARGE }));
    checkError(findings, first, ["ENOSPC"], directory);
    findings.check(readdirSync(directory).length === 0, `left after the first save: ${readdirSync(directory)}`);
    findings.check(await hasFree(root, empty), `space is lost: ${empty} - ${statfsSync(root).bfree}`);

    await writer.write(path, { value: 1, count: SMALL });
    const before = contentOf(directory);
    const free = await freeBlocks(root);
    const path2 = writer.replaces === false ? `${path}-2` : path;
    const error = await failureOf(() => writer.write(path2, { value: 2, count: LARGE }));
    checkError(findings, error, ["ENOSPC"], directory);
    const after = contentOf(directory);
    if (writer.whole) {
      findings.check(Bun.deepEquals(after, before), `changed: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`);
      findings.check(valueIn(writer.read(path)) === 1, "the old content is lost");
      findings.check(await hasFree(root, free), `space is lost: ${free} - ${statfsSync(root).bfree}`);
    } else {
      const added = Object.keys(after).filter((name) => !(name in before));
      findings.check(added.length === 0, `new files: ${added}`);
    }
    const path3 = writer.replaces === false ? `${path}-3` : path;
    await writer.write(path3, { value: 3, count: SMALL });
    findings.check(valueIn(writer.read(path3)) === 3, "a save that fits does not work afterwards");
  });
}

/** Nothing can be written: `code` says why. */
async function unwritable(
  writer: Writer,
  directory: string,
  findings: Findings,
  codes: readonly string[],
): Promise<void> {
  const path = join(directory, writer.target);
  const before = contentOf(directory);
  const other = writer.replaces === false ? `${path}-2` : path;
  checkError(findings, await failureOf(() => writer.write(other, { value: 2, count: SMALL })), codes, directory);
  findings.check(Bun.deepEquals(contentOf(directory), before), "something changed");
  findings.check(valueIn(writer.read(path)) === 1, "the old content is lost");
}

/** The superuser may everything: he becomes somebody else. */
function becomeNobody(root: string): void {
  if (process.getuid?.() !== 0) return;
  for (const path of [root, process.env.ZENSOR_DURABILITY_SPARE as string]) chownSync(path, NOBODY, NOBODY);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}

/** A directory in which nothing may be changed, and files that may not be read. Not for the superuser. */
export async function denied(root: string): Promise<Problems> {
  becomeNobody(root);
  return await forEach(root, async (writer, directory, findings) => {
    const path = join(directory, writer.target);
    await writer.write(path, { value: 1, count: SMALL });
    const directories = [directory, ...Object.keys(contentOf(directory)).filter((name) => name.endsWith("/"))];
    const places = directories.map((name) => (name === directory ? name : join(directory, name)));
    const files = Object.keys(contentOf(directory)).filter((name) => !name.endsWith("/"));
    for (const name of files) chmodSync(join(directory, name), 0o444);
    for (const place of places) chmodSync(place, 0o555);
    await unwritable(writer, directory, findings, ["EACCES"]);
    for (const name of files) chmodSync(join(directory, name), 0o000);
    checkError(findings, await failureOf(() => writer.read(path)), ["EACCES"], directory);
    for (const place of places) chmodSync(place, 0o755);
  });
}

/** What `readOnly` finds there. */
export async function prepare(root: string): Promise<Problems> {
  for (const [i, writer] of WRITERS.entries()) {
    mkdirSync(join(root, `r${i}`));
    await writer.write(join(root, `r${i}`, writer.target), { value: 1, count: SMALL });
  }
  return {};
}

/** A file system that is mounted for reading only. */
export async function readOnly(root: string): Promise<Problems> {
  const problems: Problems = {};
  for (const [i, writer] of WRITERS.entries()) {
    const findings = new Findings();
    await unwritable(writer, join(root, `r${i}`), findings, ["EROFS"]);
    problems[writer.name] = findings.list;
  }
  return problems;
}

/** The directory is not there, or goes away while something is written. */
export async function vanished(root: string): Promise<Problems> {
  return await forEach(root, async (writer, directory, findings) => {
    const place = join(directory, "gone");
    const path = join(place, writer.target);
    checkError(findings, await failureOf(() => writer.read(path)), ["ENOENT"], directory);
    // Directories are made with their parents.
    const makes = /memmap|Snapshot|convert to dir/.test(writer.name);
    const error = await failureOf(() => writer.write(path, { value: 2, count: SMALL }));
    if (makes) findings.check(error === null, `failed: ${error}`);
    else {
      checkError(findings, error, ["ENOENT"], directory);
      findings.check(readdirSync(directory).length === 0, "something was made");
    }
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place);
    const saving = failureOf(() => writer.write(path, { value: 3, count: LARGE }));
    rmSync(place, { recursive: true, force: true });
    const late = await saving;
    if (late !== null) checkError(findings, late, ["ENOENT"], directory);
  });
}

/** Mapped files are cut short: everything that reads them says so, again and again, until they are whole. */
export async function truncated(root: string): Promise<Problems> {
  return await forEach(root, async (writer, directory, findings) => {
    if (!writer.mapped) return;
    const path = join(directory, writer.target);
    await writer.write(path, { value: 1, count: LARGE });
    const tensors = writer.read(path);
    const files = Object.keys(contentOf(directory))
      .filter((name) => !name.endsWith("/"))
      .map((name) => join(directory, name));
    const sizes = files.map((file) => statSync(file).size);
    for (const file of files) if (statSync(file).size > 4096) truncateSync(file, 4096);
    const uses: [string, () => unknown][] = [
      ["sum", () => tensors.map((tensor) => tensor.sum().item())],
      ["sum again", () => tensors.map((tensor) => tensor.sum().item())],
      ["the last element", () => tensors.at(-1)?.at(-1).item()],
      ["clone", () => tensors.map((tensor) => tensor.clone())],
      ["String", () => tensors.map(String)],
    ];
    const shorter = (what: string, error: unknown) => {
      const text = (error as Error | null)?.message ?? "no error";
      const right = text.includes("shorter than when it was mapped") && files.some((file) => text.includes(file));
      findings.check(right, `${what}: ${text}`);
    };
    for (const [what, use] of uses) shorter(what, await failureOf(use));
    // Saved, they give an error and no file.
    const td = new TensorDict(Object.fromEntries(tensors.map((tensor, i) => [`t${i}`, tensor]))) as unknown as Td;
    const there = readdirSync(directory);
    const copy = join(directory, "copy");
    shorter("memmap", await failureOf(() => td.memmap(copy, { copyExisting: true })));
    shorter("atomic", await failureOf(() => td.memmap(copy, { copyExisting: true, atomic: true })));
    shorter("archive", await failureOf(() => td.memmap(`${copy}.tdz`)));
    shorter("consolidate", await failureOf(() => td.consolidate({ filename: copy })));
    const left = readdirSync(directory).filter((name) => !there.includes(name));
    findings.check(left.length === 0, `left behind: ${left}`);
    for (const [i, file] of files.entries()) truncateSync(file, sizes[i]);
    // Longer again: readable again, with zeros where bytes were lost.
    findings.check((await failureOf(() => tensors.map((tensor) => tensor.sum().item()))) === null, "not usable again");
  });
}
