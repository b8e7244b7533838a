// What `using` takes back: locks, views of a batch, tensors put into a module. `using x = td.lock_()` reads the dispose
// method at once, as Python calls `__enter__`: what it takes back is settled then, whatever is called in between.
import type { Collection, Td, Undo } from "./state.ts";

/** Calls that are remembered for one object; older ones are not taken back any more. */
const MOST = 64;
/** Views of views of views that keep what they came from within reach. */
const MOST_VIEWS = 16;

function nothing(): void {}

/** Remembers how the last call on `td` is taken back; null when it changed nothing. */
export function remember(td: Collection, run: (() => void) | null, views = td._undo?.views ?? 0): void {
  if (run === null && td._undo === null) return;
  const depth = td._undo === null ? 0 : td._undo.depth + 1;
  td._undo = depth < MOST ? { run, before: td._undo, depth, views } : { run, before: null, depth: 0, views };
}

/** What takes the last call on `td` back, once. */
export function lastUndo(td: Collection): () => void {
  const undo = td._undo;
  if (undo === null) return nothing;
  undo.held = true;
  return () => {
    const newer = undo.lock ? newerLock(td, undo) : null;
    if (newer !== null) {
      newer.run = undo.run ?? newer.run;
      undo.run = null;
      return;
    }
    forget(td, undo);
    const { run } = undo;
    undo.run = null;
    run?.();
  };
}

/** Remembers how a lock or an unlock is taken back. */
export function rememberLock(td: Collection, run: (() => void) | null): void {
  const before = td._undo;
  remember(td, run);
  if (td._undo !== null && td._undo !== before) td._undo.lock = true;
}

/** The oldest lock that began after `undo` and is still held, by a task that overlaps. */
function newerLock(td: Collection, undo: Undo): Undo | null {
  let found: Undo | null = null;
  let at = td._undo;
  for (; at !== null && at !== undo; at = at.before) if (at.lock && at.held) found = at;
  return at === undo ? found : null;
}

/** Leaves out what was remembered from `undo` on. */
function forget(td: Collection, undo: Undo): void {
  let at = td._undo;
  while (at !== null && at !== undo) at = at.before;
  if (at !== null) td._undo = undo.before;
}

/** Writes what `inverse` makes of a view into what the view came from. */
function writeBack(source: Td, view: Td, inverse: (view: Td) => Td): void {
  const restored = inverse(view);
  if (source._locked) source.update_(restored);
  else source.update(restored);
}

/** Lets `using` write the entries of a view back into what it came from; gives the view. */
export function viewOf(source: Td, view: Td, inverse: (view: Td) => Td): Td {
  if (view === source) {
    remember(view, null);
    return view;
  }
  // The view must not keep more alive than the memory that both share; within a turn of the event loop it would.
  const views = (source._undo?.views ?? 0) + 1;
  if (views > MOST_VIEWS) source._undo = null;
  const from = new WeakRef(source);
  const run = () => {
    const target = from.deref();
    if (target !== undefined) writeBack(target, view, inverse);
  };
  remember(view, run, views > MOST_VIEWS ? 1 : views);
  return view;
}
