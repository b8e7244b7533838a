// A folder of files of tensors as one collection: the name of a file, without its ending, is that of its array, or of
// the level with what it holds; a folder in it is a level.
import { statSync } from "node:fs";
import { keyOfName, namesIn, pathIn, systemName } from "../io/base/byte-names.ts";
import { FormatError, guarded } from "../io/base/errors.ts";
import { isUnfinished } from "../io/base/leftovers.ts";
import { isPlainObject } from "../io/base/python-json.ts";
import { Folder } from "../io/disk/folder.ts";
import { entriesOf, make, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor, NonTensorData } from "../tensordict/index.ts";
import { reachable } from "./byte-paths.ts";
import { NO_TENSORS, type Opened, openCollection, type Trust } from "./collections.ts";
import { CliError } from "./errors.ts";
import { directoryFormat, type FormatName, formatByEnding, formatOf, stemOf } from "./formats.ts";
import { METADATA } from "./losses.ts";
import { isAlone, NO_STATE, nestedAtDots, type PythonTree, unnested } from "./python-tree.ts";
import type { PythonNode } from "./python-values.ts";

const MAX_DEPTH = 32;
const MOST_FILES = 100_000;

/** A file or directory of tensors. */
export interface Member {
  /** Its path from the folder on. */
  name: string;
  /** Where it can be opened. */
  at: string;
  format: FormatName;
  /** Names of levels, the last of them for the member itself. */
  path: readonly string[];
}

/** What is in a folder. */
export interface Members {
  members: Member[];
  /** Files that are of no format. */
  others: string[];
}

/** The names in a folder, in order; those that are no UTF-8 as well. */
function visibleIn(path: string): string[] {
  const all = guarded(path, () => namesIn(path));
  return all.filter((name) => !name.startsWith(".") && !isUnfinished(name)).sort();
}

/** The files and directories of a folder that have a format. Links that lead out of it are refused by name. */
export async function membersOf(root: string, { followLinks }: Trust): Promise<Members> {
  const folder = new Folder(root, followLinks);
  const found: Members = { members: [], others: [] };
  let seen = 0;
  const folders = new Set<string>();
  const visit = async (names: readonly string[]): Promise<void> => {
    if (names.length > MAX_DEPTH) throw new FormatError(`more than ${MAX_DEPTH} levels of folders`, root);
    const { dev, ino } = statSync(systemName([root, ...names].reduce(pathIn)));
    // Links may lead into circles.
    if (folders.has(`${dev}:${ino}`)) return;
    folders.add(`${dev}:${ino}`);
    for (const own of visibleIn([root, ...names].reduce(pathIn))) {
      if (++seen > MOST_FILES) throw new FormatError(`more than ${MOST_FILES} files`, root);
      const inner = [...names, own];
      const name = inner.join("/");
      if (own.isWellFormed()) folder.place(name);
      const stat = statSync(systemName(pathIn(root, name)), { throwIfNoEntry: false });
      const at = reachable(pathIn(root, name));
      const levels = [...names, stat?.isDirectory() ? own : stemOf(own)].map(keyOfName);
      const format = stat?.isDirectory() ? await directoryFormat(at) : formatByEnding(own);
      if (format !== null) {
        found.members.push({ name, at, format: stat?.isFile() ? await formatOf(at) : format, path: levels });
      } else if (stat?.isDirectory()) await visit(inner);
      else found.others.push(name);
    }
  };
  await visit([]);
  return found;
}

/** A level while it is put together. */
interface Level {
  entries: Map<string, Entry | Level>;
  nodes: Map<string, PythonNode | null>;
  /** The file behind each entry. */
  origins: Map<string, string>;
}

const newLevel = (): Level => ({ entries: new Map(), nodes: new Map(), origins: new Map() });

/** An array by itself, or what a member holds as a level. */
function entryOf({ td, tree }: Opened): { entry: Entry; node: PythonNode | null } {
  if (tree === null) return { entry: td as Entry, node: null };
  const own = unnested(td, tree);
  if (!isAlone(tree)) return { entry: own as Entry, node: tree };
  const [[key, entry]] = [...entriesOf(own)] as [[string, Entry]];
  return { entry, node: tree.entries?.get(key) ?? null };
}

/** Takes the strings of a header out of a level: they are those of the whole. */
function withoutHeader(td: Td, name: string, header: Map<string, unknown>): Td {
  const entry = td._kind === "tensordict" ? td._own(METADATA) : undefined;
  const strings = isNonTensor(entry) ? (entry as { data?: unknown }).data : null;
  if (!isPlainObject(strings)) return td;
  for (const [key, value] of Object.entries(strings)) {
    const same = !header.has(key) || JSON.stringify(header.get(key)) === JSON.stringify(value);
    header.set(same ? key : `${name}.${key}`, value);
  }
  return make.tensordict(new Map([...entriesOf(td)].filter(([key]) => key !== METADATA)), NO_STATE);
}

function add(root: Level, { name, path }: Member, entry: Entry, node: PythonNode | null): void {
  let level = root;
  for (const [i, key] of path.entries()) {
    const known = level.entries.get(key);
    if (i === path.length - 1) {
      const first = level.origins.get(key);
      if (first !== undefined) throw new CliError(`${first} and ${name} are both ${JSON.stringify(path.join("."))}.`);
      level.entries.set(key, entry);
      level.nodes.set(key, node);
      level.origins.set(key, name);
    } else if (known === undefined || !("origins" in known)) {
      if (known !== undefined) {
        throw new CliError(
          `${level.origins.get(key)} and ${name} are both ${JSON.stringify(path.slice(0, i + 1).join("."))}.`,
        );
      }
      const inner = newLevel();
      level.entries.set(key, inner);
      level.origins.set(key, path.slice(0, i + 1).join("/"));
      level = inner;
    } else level = known as Level;
  }
}

function built(level: Level): { td: Td; node: PythonNode } {
  const entries = new Map<string, Entry>();
  const nodes = new Map<string, PythonNode | null>();
  for (const [key, entry] of level.entries) {
    const inner = "origins" in entry ? built(entry as Level) : null;
    entries.set(key, inner === null ? (entry as Entry) : (inner.td as Entry));
    nodes.set(key, inner === null ? (level.nodes.get(key) ?? null) : inner.node);
  }
  return { td: make.tensordict(entries, NO_STATE), node: { entries: nodes } };
}

/** Opens a folder. */
export async function openFolder(root: string, trust: Trust): Promise<Opened> {
  const { members, others } = await membersOf(root, trust);
  const all = newLevel();
  const header = new Map<string, unknown>();
  const lost: string[] = others.length === 0 ? [] : [`${NO_TENSORS}${listedNames(others)}`];
  let isPython = false;
  for (const member of members) {
    const opened = await openCollection(member.at, member.format, trust);
    lost.push(...opened.lost.map((line) => `  ${member.name}: ${line.trim()}`));
    const { entry, node } = entryOf({ ...opened, td: withoutHeader(opened.td, member.path.join("."), header) });
    isPython ||= opened.tree !== null && !isAlone(opened.tree);
    add(all, member, entry, node);
  }
  if (header.size > 0) all.entries.set(METADATA, new NonTensorData(Object.fromEntries(header)) as never);
  const { td, node } = built(all);
  return { td: nestedAtDots(td), lost, tree: isPython ? node : null };
}

function listedNames(names: readonly string[]): string {
  const more = names.length > 8 ? `; and ${names.length - 8} more` : "";
  return `${names.slice(0, 8).join("; ")}${more}`;
}

/** What was opened at a path under the name of its file, if it is one array without a name. */
export function namedByFile(path: string, opened: PythonTree): PythonTree {
  const { td, tree } = opened;
  if (tree === null || !isAlone(tree)) return opened;
  const { entry, node } = entryOf({ td, tree, lost: [] });
  const name = keyOfName(stemOf(path.replace(/\/+$/, "").replace(/^.*\//s, "")));
  return {
    td: nestedAtDots(make.tensordict(new Map([[name, entry]]), NO_STATE)),
    tree: { entries: new Map([[name, node]]) },
  };
}
