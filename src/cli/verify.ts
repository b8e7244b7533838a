// `zensor verify`: whether a file or a directory is whole: its structure, its checksums where the format has some, and
// those of a file that was written before. Nothing larger than a part is in memory, except what is compressed.
import { isAbsolute, relative } from "node:path";
import { FormatError } from "../io/base/errors.ts";
import { asSaid } from "../io/base/paths.ts";
import { systemPath } from "../io/base/places.ts";
import { copyMappedFiles } from "../io/disk/tensor-bytes.ts";
import { isRemote } from "../io/store/s3.ts";
import type { Td } from "../tensordict/core/state.ts";
import { TensorDict } from "../tensordict/index.ts";
import { openAnyClass } from "./any-class.ts";
import { reachable, reachableTarget } from "./byte-paths.ts";
import { checkArchive, checkDirectory, checkObjects, checkSnapshot } from "./check-places.ts";
import { checkZip } from "./check-zip.ts";
import { openCollection, type Trust } from "./collections.ts";
import { color } from "./colors.ts";
import { CliError } from "./errors.ts";
import { membersOf } from "./folder.ts";
import { FORMATS, type FormatName } from "./formats.ts";
import { withPlaces } from "./lifetime.ts";
import { say } from "./output.ts";
import { Report } from "./report.ts";
import { type Reached, reach, type TrustOptions, trustOf } from "./source.ts";
import {
  compareSums,
  findOverlaps,
  hdf5Tensors,
  npzTensors,
  type Parts,
  sumsOf,
  sumsPlace,
  tensorsOf,
  writeSums,
} from "./sums.ts";
import { counted, printable, withFlags } from "./text.ts";

/** Options of the command. */
export interface VerifyOptions extends TrustOptions {
  from?: string;
  sums?: string;
  writeSums?: string;
  force?: boolean;
  json?: boolean;
  quiet?: boolean;
}

/** What is said of a file, without the file's name before it: that stands there already. */
function withoutName(text: string, path: string): string {
  const full = isRemote(path) ? path : systemPath(path);
  const name = [asSaid(full), full, path].find((name) => text.startsWith(`${name}: `));
  return name === undefined ? text : text.slice(name.length + 2);
}

/** Runs one check; what it throws is a problem, told once. */
async function attempt(path: string, report: Report, check: () => unknown): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof CliError || (error as Error).name === "AbortError") throw error;
    const what = withoutName((error as Error).message, path);
    if (!report.problems.some((known) => what.includes(known.what))) report.problem("", what);
  }
}

async function checkArchiveFile(
  path: string,
  format: FormatName,
  report: Report,
  { maxBytes }: Trust,
): Promise<boolean> {
  const before = report.problems.length;
  await attempt(path, report, async () => await checkZip(path, report, maxBytes));
  if (report.problems.length > before) return false;
  if (format === "tdz") await attempt(path, report, () => checkArchive(path, report));
  return true;
}

async function isLegacy(path: string): Promise<boolean> {
  const { FileRanges } = await import("../io/disk/file-ranges.ts");
  return FileRanges.with(path, (file) => file.size > 0 && file.read(0, 1)[0] !== 0x50);
}

/** Everything about the structure; gives whether the tensors can be opened. */
async function checkStructure(path: string, format: FormatName, report: Report, trust: Trust): Promise<boolean> {
  const before = report.problems.length;
  switch (format) {
    case "memmap":
      await attempt(path, report, () => checkDirectory(path, report, trust));
      break;
    case "torchsnapshot":
      await attempt(path, report, () => checkSnapshot(path, report, trust));
      break;
    case "tdz":
    case "npz":
      return await checkArchiveFile(path, format, report, trust);
    case "pt":
      if (!(await isLegacy(path))) return await checkArchiveFile(path, format, report, trust);
  }
  return report.problems.length === before;
}

/** The collection; of a directory or an archive without its bytes unless they are wanted. */
async function open(path: string, format: FormatName, wantsBytes: boolean, trust: Trust): Promise<Td> {
  if (format !== "memmap" && format !== "tdz") return (await openCollection(path, format, trust)).td;
  using _ = openAnyClass();
  // Pickles of values are no damage; nothing of them is read.
  const how = wantsBytes ? ({ mode: "r" } as const) : ({ device: "meta" } as const);
  return TensorDict.loadMemmap(path, { ...how, ...trust, pickles: "keep" }) as Td;
}

/** Reads all tensors for their checksums. */
async function useSums(path: string, tensors: Iterable<Parts>, options: VerifyOptions, report: Report): Promise<void> {
  if (Array.isArray(tensors)) report.expect(tensors.reduce((sum, { nbytes }) => sum + nbytes, 0));
  const sums = await sumsOf(tensors, report);
  if (options.sums !== undefined) compareSums(options.sums, sums, report);
  if (options.writeSums === undefined) return;
  if (report.problems.length > 0) throw new CliError(`${path} is damaged: no checksums were written.`);
  writeSums(options.writeSums, sums, options.force === true);
}

/** What is in a store: its header or its metadata, the sizes of its objects, and its tensors for checksums only. */
async function checkRemote(url: string, format: FormatName, options: VerifyOptions, report: Report): Promise<void> {
  const { openRemote } = await import("./remote.ts");
  const remote = await openRemote(url, format).catch((error: unknown) => {
    if (!(error instanceof FormatError)) throw error;
    report.problem("", withoutName(error.message, url));
    return null;
  });
  if (remote === null) return;
  const { node, place } = remote;
  if (node !== null) {
    const root = `s3:/${place.bucket}`;
    const objects = await place.list();
    checkObjects(node.path, node, new Map(objects.map(({ key, size }) => [`${root}/${key}`, size])), report);
  }
  if (options.sums === undefined && options.writeSums === undefined) return;
  await useSums(url, [...tensorsOf(remote.td, (tensor) => remote.parts(tensor))], options, report);
}

async function checkTensors(path: string, format: FormatName, options: VerifyOptions, report: Report): Promise<void> {
  const wantsSums = options.sums !== undefined || options.writeSums !== undefined;
  const trust = trustOf(options);
  const { maxBytes } = trust;
  const use = (tensors: Iterable<Parts>) => useSums(path, tensors, options, report);
  if (format === "hdf5") {
    const { Hdf5File } = await import("../io/hdf5/hdf5.ts");
    using file = new Hdf5File(path, "r");
    const tensors = [...hdf5Tensors(file, report)];
    // The library compares the checksums of chunks when it reads them.
    await use(tensors);
    return;
  }
  // Snapshots were compared with their manifest; they are taken into memory for checksums only.
  if (format === "torchsnapshot" && !wantsSums) return;
  if (format === "pt" && !wantsSums) {
    // Files of other things than tensors by name are whole, too.
    (await import("../io/torch/torch-file.ts")).loadTorch(path, maxBytes === undefined ? {} : { maxBytes });
    return;
  }
  if (format === "npz") {
    // One array at a time: compressed ones have to be in memory.
    const arrays = npzTensors(path, maxBytes);
    if (wantsSums) await use(arrays);
    else for (const _ of arrays);
    return;
  }
  const td = await open(path, format, wantsSums, trust);
  if (format === "consolidated") findOverlaps(td, report);
  if (wantsSums) await use([...tensorsOf(td)]);
}

function shown(where: string, path: string): string {
  return isAbsolute(where) ? relative(path, where) : where;
}

async function reachFor(path: string, options: VerifyOptions, report: Report): Promise<Reached | null> {
  try {
    return await reach(path, options);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    report.problem("", withoutName(error.message, path));
    return null;
  }
}

/** What is in a folder, file by file. */
async function checkFolder(path: string, options: VerifyOptions, report: Report): Promise<void> {
  const trust = trustOf(options);
  const { sums, writeSums, ...structure } = options;
  const { members } = await membersOf(path, trust);
  for (const { name, at, format } of members) {
    report.member = name;
    if (await checkStructure(at, format, report, trust)) {
      await attempt(at, report, async () => await checkTensors(at, format, structure, report));
    }
  }
  report.member = "";
  if (sums === undefined && writeSums === undefined) return;
  const { td } = await openCollection(path, "folder", trust);
  await useSums(path, [...tensorsOf(td)], options, report);
}

/** Prints what is wrong with a file or a directory; gives whether nothing is. */
export async function verify(path: string, given: VerifyOptions): Promise<boolean> {
  copyMappedFiles(true);
  const { writeSums: sumsFile } = given;
  const place =
    sumsFile === undefined ? {} : { writeSums: sumsPlace(reachableTarget(sumsFile), path, given.force === true) };
  const sums = given.sums === undefined ? {} : { sums: reachable(given.sums) };
  const options = { ...given, ...place, ...sums };
  const report = new Report(options.quiet === true);
  const reached = await reachFor(path, options, report);
  const { at, format } = reached ?? { at: path, format: null };
  try {
    if (format === "folder") await attempt(at, report, async () => await checkFolder(at, options, report));
    else if (format !== null && isRemote(at)) await checkRemote(at, format, options, report);
    else if (format !== null && (await checkStructure(at, format, report, trustOf(options)))) {
      await attempt(at, report, async () => await checkTensors(at, format, options, report));
    }
  } finally {
    report.stop();
  }
  const { checksums } = report;
  const problems = report.problems.map(({ where, what }) => {
    const name = `${where === "" ? path : `${path}/${where}`}: `;
    const told = withFlags(withPlaces(what));
    return { where, what: told.startsWith(name) ? told.slice(name.length) : told };
  });
  const ok = problems.length === 0;
  if (options.json) {
    say(JSON.stringify({ path, format, ok, checksums, problems }, null, 2));
    return ok;
  }
  for (const { where, what } of problems) {
    const place = where === "" ? path : shown(where, at);
    // A part of a file that is told by the file's own name.
    const told = where === "" && what.startsWith(`${path}/`) ? what : `${place}: ${what}`;
    say(color("red", printable(told)));
  }
  if (ok && !options.quiet && format !== null) {
    const compared = checksums === 0 ? "" : `, ${counted(checksums, "checksum")} compared`;
    say(`${printable(path)}: ${FORMATS[format].title}: ${color("green", "no damage found")}${compared}`);
  }
  return ok;
}
