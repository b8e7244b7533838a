// `zensor rename`: entries under other names, in any format that can be written. Levels stay what they are.
import { Size, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isNested, make, type NewState, shapeOf, stateOf, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import type { Opened } from "./collections.ts";
import { CliError } from "./errors.ts";
import { keysOption, nearNames, type Path } from "./keys.ts";
import { METADATA, SEPARATOR } from "./losses.ts";
import { type Naming, type NamingOptions, newNames } from "./new-names.ts";
import { isAlone, NO_STATE, nestedAtDots, unnested } from "./python-tree.ts";
import { isDictClass, type PythonNode } from "./python-values.ts";
import { openSource, type Source, type TrustOptions } from "./source.ts";
import { openTarget, type TargetOptions, writeTarget } from "./target.ts";
import { nameText } from "./text.ts";

/** Options of the command. */
export interface RenameOptions extends TargetOptions, TrustOptions, NamingOptions {
  from?: string;
  keys?: string[];
}

/** An entry that has a name: a tensor, a value, or a level that is kept whole. */
interface Leaf {
  path: Path;
  entry: Entry;
  node: PythonNode | null;
  now: Path;
}

interface Level {
  state: NewState;
  node: PythonNode | null;
}

const MOST_TOLD = 20;
const idOf = (path: Path): string => JSON.stringify(path);
const shown = (path: Path): string => nameText(path.join(SEPARATOR));

/** The levels and leaves of a collection, with what they were in Python. */
class Parts {
  readonly leaves: Leaf[] = [];
  readonly levels = new Map<string, Level>();

  constructor(td: Td, tree: PythonNode | null) {
    this.visit(td, tree, []);
  }

  private visit(td: Td, node: PythonNode | null, path: Path): void {
    this.levels.set(idOf(path), { state: stateOf(td), node });
    for (const [key, entry] of entriesOf(td)) {
      const inner = [...path, key];
      const own = node?.entries?.get(key) ?? null;
      const isLevel = !(entry instanceof Tensor) && !isNested(entry) && (entry as Td)._kind === "tensordict";
      const isHeader = path.length === 0 && key === METADATA;
      if (isLevel && !isHeader && [...(entry as Td)._keys()].length > 0) this.visit(entry as Td, own, inner);
      else this.leaves.push({ path: inner, entry, node: own, now: inner });
    }
  }
}

/** A part of a name, and whether a level ended before it; null for the first, and where nobody knows. */
interface Part {
  text: string;
  begins: boolean | null;
}

function partsOf(path: Path): Part[] {
  return path.flatMap((key, i) =>
    key.split(SEPARATOR).map((text, k) => ({ text, begins: i === 0 && k === 0 ? null : k === 0 })),
  );
}

/** Pairs of parts that two names have in common, in order: as many as there are. */
function common(a: readonly string[], b: readonly string[]): [number, number][] {
  const best = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  const at = (i: number, j: number) => (best[i] as number[])[j] as number;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      (best[i] as number[])[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    if (a[i] === b[j] && at(i, j) === at(i + 1, j + 1) + 1) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/**
 * The path of a new name. Before a part that stayed, a level ends if it did before; parts in between go with those that
 * they replace, and what is left with the next part, or the one before.
 */
function pathOf(before: Path, name: string, otherwise: boolean): Path {
  const old = partsOf(before);
  const parts: Part[] = name.split(SEPARATOR).map((text) => ({ text, begins: null }));
  const texts = (all: readonly Part[]) => all.map(({ text }) => text);
  let [i, j] = [0, 0];
  for (const [next, here] of [...common(texts(old), texts(parts)), [old.length, parts.length] as const]) {
    for (; i < next && j < here; i++, j++) (parts[j] as Part).begins = (old[i] as Part).begins;
    if (here < parts.length) (parts[here] as Part).begins = (old[next] as Part).begins;
    [i, j] = [next + 1, here + 1];
  }
  const known = (from: number): boolean =>
    parts.slice(from).find(({ begins }) => begins !== null)?.begins ??
    parts.slice(0, from).findLast(({ begins }) => begins !== null)?.begins ??
    otherwise;
  const path: string[] = [];
  for (const [at, { text }] of parts.entries()) {
    if (at === 0 || known(at)) path.push(text);
    else path[path.length - 1] += SEPARATOR + text;
  }
  return path;
}

function isPrefix(a: Path, b: Path): boolean {
  return a.length < b.length && a.every((key, i) => key === b[i]);
}

/** Throws `CliError` where two entries would have one name, or one would lie in another. */
function requireDistinct(leaves: readonly Leaf[]): void {
  const taken = new Map<string, Leaf>();
  const clashes: string[] = [];
  for (const leaf of leaves) {
    if (leaf.now.includes("")) throw new CliError(`${shown(leaf.path)} would have no name: a part of it is empty.`);
    const other = taken.get(idOf(leaf.now));
    if (other !== undefined)
      clashes.push(`  ${shown(other.path)} and ${shown(leaf.path)} would both be ${shown(leaf.now)}`);
    taken.set(idOf(leaf.now), leaf);
  }
  for (const leaf of leaves) {
    for (let n = 1; n < leaf.now.length; n++) {
      const other = taken.get(idOf(leaf.now.slice(0, n)));
      if (other === undefined || !isPrefix(other.now, leaf.now)) continue;
      clashes.push(`  ${shown(leaf.path)} would be ${shown(leaf.now)}, in ${shown(other.path)}, which is no level`);
    }
  }
  if (clashes.length === 0) return;
  const more = clashes.length > MOST_TOLD ? [`  and ${clashes.length - MOST_TOLD} more`] : [];
  throw new CliError(`names would clash:\n${[...clashes.slice(0, MOST_TOLD), ...more].join("\n")}`);
}

/** A level while it is put together. */
interface Making {
  path: Path;
  state: NewState;
  node: PythonNode;
  entries: Map<string, Entry | Making>;
  nodes: Map<string, PythonNode | null>;
  keys: Map<string, unknown>;
}

class Building {
  readonly root: Making;

  constructor(private readonly parts: Parts) {
    const { state, node } = parts.levels.get(idOf([])) as Level;
    this.root = this.level([], state, node);
  }

  private level(path: Path, state: NewState, node: PythonNode | null): Making {
    const { entries: _, keys: __, ...facts } = node ?? {};
    return { path, state, node: facts, entries: new Map(), nodes: new Map(), keys: new Map() };
  }

  /** The level that one of a leaf's new ones was: the same one, or the one as far from the leaf. */
  private before({ path, now }: Leaf, depth: number): Path | null {
    const same = now.slice(0, depth).every((key, i) => path[i] === key) && depth < path.length;
    const from = same ? depth : path.length - (now.length - depth);
    return from < 1 ? null : path.slice(0, from);
  }

  add(leaf: Leaf): void {
    let at = this.root;
    for (const [i, key] of leaf.now.entries()) {
      const isLast = i === leaf.now.length - 1;
      const old = isLast ? leaf.path : this.before(leaf, i + 1);
      this.keepKey(at, key, old);
      if (isLast) {
        this.requireBatch(at, leaf);
        at.entries.set(key, leaf.entry);
        at.nodes.set(key, leaf.node);
        return;
      }
      const known = at.entries.get(key) as Making | undefined;
      const facts = old === null ? undefined : this.parts.levels.get(idOf(old));
      const state = facts?.state ?? { ...NO_STATE, batchSize: at.state.batchSize };
      if (known === undefined) at.entries.set(key, this.level(leaf.now.slice(0, i + 1), state, facts?.node ?? null));
      else if (!sameSizes(known.state.batchSize, state.batchSize)) {
        known.state = { ...NO_STATE, batchSize: at.state.batchSize };
      }
      at = at.entries.get(key) as Making;
    }
  }

  /** A key that was no text stays what it was, unless its name changed. */
  private keepKey(at: Making, key: string, old: Path | null): void {
    if (old === null || old.at(-1) !== key) return;
    const keys = this.parts.levels.get(idOf(old.slice(0, -1)))?.node?.keys;
    if (keys?.has(key)) at.keys.set(key, keys.get(key));
  }

  private requireBatch(at: Making, { entry, now }: Leaf): void {
    const { batchSize } = at.state;
    const shape = entry instanceof Tensor || isNested(entry) ? shapeOf(entry) : (entry as Td)._batchSize;
    if (sameSizes(shape.slice(0, batchSize.length), batchSize)) return;
    throw new CliError(
      `${shown(now)} has the shape [${shape.join(", ")}], and its level the batch size [${batchSize.join(", ")}].`,
    );
  }

  built(level = this.root): { td: Td; node: PythonNode } {
    const entries = new Map<string, Entry>();
    const nodes = new Map<string, PythonNode | null>();
    const { is } = level.node;
    const names = [...level.entries.keys()];
    const isList = !isDictClass(is) && (is === "list" || is === "tuple");
    if (isList && names.some((name, i) => name !== String(i))) {
      const where = level.path.length === 0 ? "the whole" : shown(level.path);
      throw new CliError(`${where} is a ${is} in Python: what is in it has places and no names.`);
    }
    for (const [key, entry] of level.entries) {
      const inner = "nodes" in entry ? this.built(entry as Making) : null;
      entries.set(key, inner === null ? (entry as Entry) : (inner.td as Entry));
      nodes.set(key, inner === null ? (level.nodes.get(key) ?? null) : inner.node);
    }
    const node = { ...level.node, entries: nodes, ...(level.keys.size > 0 ? { keys: level.keys } : {}) };
    const state = { ...level.state, batchSize: Size.fromList([...level.state.batchSize]) };
    return { td: make.tensordict(entries, state), node };
  }
}

/** Gives every entry its new name; the header's strings keep theirs. */
function renamedLeaves(
  parts: Parts,
  steps: readonly Naming[],
  chosen: ReadonlySet<string> | null,
  otherwise: boolean,
): Leaf[] {
  for (const leaf of parts.leaves) {
    if (leaf.path.length === 1 && leaf.path[0] === METADATA) continue;
    const name = leaf.path.join(SEPARATOR);
    if (chosen !== null && !chosen.has(name)) continue;
    for (const step of steps) {
      const [was, now] = [leaf.now.join(SEPARATOR), step(leaf.now.join(SEPARATOR))];
      if (now !== was) leaf.now = pathOf(leaf.now, now, otherwise);
    }
  }
  return parts.leaves.filter(({ path, now }) => idOf(path) !== idOf(now));
}

/** The names of entries that were named, and of all below. */
function chosenNames(td: Td, keys: readonly string[] | undefined, leaves: readonly Leaf[]): Set<string> | null {
  const paths = keysOption(keys)
    ?.all(td)
    .map((path) => path.join(SEPARATOR));
  if (paths === undefined) return null;
  const names = leaves.map(({ path }) => path.join(SEPARATOR));
  return new Set(names.filter((name) => paths.some((own) => name === own || name.startsWith(own + SEPARATOR))));
}

/** Throws `CliError` for names that nothing begins with. */
function requireUsed(unused: readonly string[], td: Td): void {
  if (unused.length === 0) return;
  const lines = unused.slice(0, MOST_TOLD).map((name) => {
    const near = nearNames(td, name);
    return `  ${JSON.stringify(name)}${near.length === 0 ? "" : `; near: ${near.join("; ")}`}`;
  });
  throw new CliError(`no entry has a name that begins with\n${lines.join("\n")}`);
}

/** A collection with new names, and the entries whose names are new. */
function renamed(source: Source, options: RenameOptions): { opened: Opened; changed: Leaf[] } {
  const { td, tree, lost } = source;
  if (td._kind !== "tensordict")
    throw new CliError(`${source.path} is no plain TensorDict: its entries cannot be renamed.`);
  const own = tree === null ? td : unnested(td, tree);
  const parts = new Parts(own, tree);
  const { steps, unused } = newNames(options);
  // New levels come where there are some already: a state dict stays flat.
  const hasLevels = [...parts.levels].length > 1;
  const changed = renamedLeaves(parts, steps, chosenNames(td, options.keys, parts.leaves), tree === null || hasLevels);
  requireUsed(unused(), td);
  if (changed.length === 0) throw new CliError(`${source.path}: no entry has a name that would change.`);
  requireDistinct(parts.leaves);
  const building = new Building(parts);
  // What stood alone is one of several names now.
  if (isAlone(building.root.node)) delete building.root.node.is;
  for (const leaf of parts.leaves) building.add(leaf);
  const made = building.built();
  if (tree === null) return { opened: { td: made.td, lost, tree, flat: source.flat === true }, changed };
  return { opened: { td: nestedAtDots(made.td), lost, tree: made.node }, changed };
}

/** Writes a source with other names. */
export async function rename(from: string, to: string, options: RenameOptions): Promise<void> {
  newNames(options);
  const target = await openTarget(to, [from], options);
  const { opened, changed } = renamed(await openSource(from, options), options);
  const names = changed.map(({ path, now }) => [path.join(SEPARATOR), now.join(SEPARATOR)]);
  await writeTarget(opened, target, {
    text: `${changed.length} renamed`,
    facts: { renamed: Object.fromEntries(names) },
  });
}
