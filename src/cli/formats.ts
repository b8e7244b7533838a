// The formats of the command line: how each is recognised, opened and written.
import { existsSync, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { CliError, EXIT } from "./errors.ts";
import { suggestion } from "./near.ts";

/** A format that files and directories have. */
export type FormatName =
  | "memmap"
  | "tdz"
  | "consolidated"
  | "safetensors"
  | "pt"
  | "npz"
  | "npy"
  | "gguf"
  | "hdf5"
  | "torchsnapshot"
  | "sharded"
  | "folder";

/** What is said of a format. */
interface FormatFacts {
  title: string;
  /** Endings of names that mean this format. */
  extensions: readonly string[];
  /** It can be written as well. */
  written: boolean;
}

/** All formats, in the order of the help. */
export const FORMATS: Readonly<Record<FormatName, FormatFacts>> = {
  memmap: { title: "memory-mapped directory", extensions: [], written: true },
  tdz: { title: "archive of a memory-mapped directory", extensions: [".tdz"], written: true },
  consolidated: { title: "consolidated TensorDict", extensions: [".consolidated"], written: true },
  safetensors: { title: "safetensors file", extensions: [".safetensors"], written: true },
  pt: { title: "file of torch.save", extensions: [".pt", ".pth", ".ckpt"], written: true },
  npz: { title: "NumPy archive", extensions: [".npz"], written: true },
  npy: { title: "NumPy array", extensions: [".npy"], written: true },
  gguf: { title: "GGUF file", extensions: [".gguf"], written: false },
  hdf5: { title: "HDF5 file", extensions: [".h5", ".hdf5"], written: true },
  torchsnapshot: { title: "torchsnapshot directory", extensions: [".snapshot"], written: true },
  sharded: { title: "checkpoint in several files", extensions: [], written: false },
  folder: { title: "folder of files", extensions: [], written: false },
};

/** The name of a format as the user wrote it. */
export function formatNamed(name: string): FormatName {
  if (Object.hasOwn(FORMATS, name)) return name as FormatName;
  const names = Object.keys(FORMATS);
  const advice = suggestion(name, names);
  throw new CliError(`unknown format ${JSON.stringify(name)}: one of ${names.join(", ")}.${advice}`, EXIT.usage);
}

/** A format in a sentence: "an HDF5 file". */
export function aFormat(format: FormatName): string {
  const { title } = FORMATS[format];
  return `${/^(HDF5|archive)/.test(title) ? "an" : "a"} ${title}`;
}

/** Formats that are directories. */
export function isDirectoryFormat(format: FormatName): boolean {
  return format === "memmap" || format === "torchsnapshot" || format === "folder";
}

/** Formats of which parts are read from S3 stores, and which are written there piece by piece. */
export function hasDirectWay(format: FormatName): boolean {
  return format === "memmap" || format === "safetensors";
}

/** The format that the ending of a name means. */
export function formatByEnding(path: string): FormatName | null {
  const extension = extname(path).toLowerCase();
  for (const [name, { extensions }] of Object.entries(FORMATS)) {
    if (extensions.includes(extension)) return name as FormatName;
  }
  return null;
}

/** The name of a file without the ending that says its format. */
export function stemOf(name: string): string {
  return formatByEnding(name) === null ? name : name.slice(0, -extname(name).length);
}

/** The format of a directory that is one thing. */
export async function directoryFormat(path: string): Promise<FormatName | null> {
  if (existsSync(join(path, "meta.json"))) return "memmap";
  if (existsSync(join(path, ".snapshot_metadata"))) return "torchsnapshot";
  return (await import("../io/disk/shard-index.ts")).findIndex(path) === null ? null : "sharded";
}

/** Files that are looked at to find one of tensors. */
const MOST_LOOKED_AT = 10_000;

/** Whether files of tensors are in a folder, by their names. */
async function holdsFormats(path: string): Promise<boolean> {
  const { guarded } = await import("../io/base/errors.ts");
  const folders = [path];
  let seen = 0;
  while (folders.length > 0) {
    const folder = folders.pop() as string;
    for (const entry of guarded(folder, () => readdirSync(folder, { withFileTypes: true }))) {
      if (++seen > MOST_LOOKED_AT) return false;
      if (entry.name.startsWith(".")) continue;
      const inner = join(folder, entry.name);
      if (entry.isDirectory()) {
        if ((await directoryFormat(inner)) !== null) return true;
        folders.push(inner);
      } else if (formatByEnding(entry.name) !== null) return true;
    }
  }
  return false;
}

async function bytesOf(path: string, start: number, count: number): Promise<Uint8Array> {
  // With this the native library is loaded, which help does not need.
  const { FileRanges } = await import("../io/disk/file-ranges.ts");
  return FileRanges.with(path, (file) => file.read(start, count));
}

/** The format of what is at a path: by what is in it, and where that says nothing by its name. */
export async function formatOf(path: string): Promise<FormatName> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${path} does not exist.`);
  if (stat.isDirectory()) {
    const found = (await directoryFormat(path)) ?? ((await holdsFormats(path)) ? "folder" : null);
    if (found !== null) return found;
    throw new CliError(
      `${path} has no meta.json: it is no memory-mapped directory, and no file in it has the name of one of tensors. ` +
        `\`zensor tree ${path}\` shows its files.`,
    );
  }
  if (!stat.isFile()) throw new CliError(`${path} is neither a file nor a directory.`);
  if (path.endsWith(".index.json")) return "sharded";
  // One character for each byte; a TextDecoder of that name takes those from 0x80 on for others.
  const first = Buffer.from(await bytesOf(path, 0, Math.min(16, stat.size))).toString("latin1");
  if (first.startsWith("GGUF")) return "gguf";
  if (first.startsWith("\x93NUMPY")) return "npy";
  if (first.startsWith("\x89HDF\r\n\x1a\n")) return "hdf5";
  if (first.startsWith("PK\x03\x04")) {
    const { readZip } = await import("../io/zip/zip.ts");
    const { entries } = readZip(path);
    if (entries.has("meta.json")) return "tdz";
    return [...entries.keys()].some((name) => name.endsWith(".npy")) ? "npz" : "pt";
  }
  const named = formatByEnding(path);
  if (named !== null) return named;
  if (first.startsWith("\x80")) return "pt";
  // What is left begins with the length of its header, or ends with the length of its metadata.
  if (first[8] === "{") return "safetensors";
  if (stat.size >= 8 && (await lengthAtEnd(path, stat.size)) <= stat.size - 8) return "consolidated";
  throw new CliError(`${path} is of no format that is known here. Name one with --from.`);
}

async function lengthAtEnd(path: string, size: number): Promise<number> {
  const last = await bytesOf(path, size - 8, 8);
  return Number(new DataView(last.buffer, last.byteOffset).getBigUint64(0, true));
}

/** The format to be written at a path: a name without an ending is a directory. */
export function targetFormat(path: string): FormatName {
  const found = formatByEnding(path);
  if (found !== null) return found;
  const extension = extname(path);
  if (extension === "" || path.endsWith("/") || existsSync(path)) return "memmap";
  const written = Object.keys(FORMATS).filter((name) => FORMATS[name as FormatName].written);
  const advice = `Name one with --to, or leave the ending away. There are ${written.join(", ")}.`;
  throw new CliError(`${path}: no format ends in ${extension}. ${advice}`, EXIT.usage);
}
