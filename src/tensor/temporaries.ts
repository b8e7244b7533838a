/**
 * Tensors that the library makes on its way and hands to nobody: what an operator written with others makes before its
 * result, what a formula makes before its gradients. JavaScript does not say who still holds an object, but of these it
 * is known: at the end of the code that made them each gives up its claim, and bytes that nobody else claims (a saved
 * tensor, a view that is a result) go back at once. The object itself is left as it is: a view may name it as its base.
 *
 * Code between `begin` and `finish` calls no function of the user's.
 */
import { attention, TAKERS } from "../ffi/attention.ts";
import { type Scoped, scopeState, walker } from "./scope-state.ts";
import type { Storage } from "./storage.ts";
import type { Tensor } from "./tensor.ts";

export { beforeCollections, collectReleased, MOST_RELEASED, released } from "../ffi/memory.ts";

/** Turned off by tests, which compare. */
export const giving = { enabled: true };

/** What was made since `begin`. There is one list: code that begins inside of other such code is a part of it. */
const made: Scoped[] = [];
let around: Scoped[] | null = null;
let open = false;

/** From now on what is made is the library's own. False where it is already, and where somebody takes operators. */
export function begin(): boolean {
  if (open || !giving.enabled || (attention.bits & TAKERS) !== 0) return false;
  open = true;
  around = scopeState.made;
  scopeState.made = made;
  return true;
}

/** After an error all is left to the collector, and to the scope around. */
export function leaveAll(): void {
  close();
  if (around !== null) for (const t of made) around.push(t);
  made.length = 0;
}

function close(): void {
  open = false;
  scopeState.made = around;
}

/** Gives up what was made, but for what the result consists of. */
export function finish<R>(result: R): R {
  if (made.length > 0 && !keep(result)) {
    leaveAll();
    return result;
  }
  close();
  if (made.length > 0) giveUpAll();
  return result;
}

/** Keeps the tensors of a result; false for one of which it is not known what it consists of. */
function keep(result: unknown): boolean {
  if (walker.isTensor(result)) {
    if (takeOver(result) && around !== null) around.push(result);
    return true;
  }
  if (typeof result !== "object" || result === null) return true;
  return Array.isArray(result) && result.every(keep);
}

/** Ends what `begin` began, where what is kept was taken over. */
export function finishTaken(): void {
  close();
  if (made.length > 0) giveUpAll();
}

/** Ends what `begin` began: gives up what was made, but for these. */
export function finishHeld(held: ReadonlySet<unknown>): void {
  close();
  for (const t of made) {
    if (!held.has(t) && !scopeState.taken.has(t)) giveUp(t._storage);
    else if (around !== null) around.push(t);
  }
  made.length = 0;
}

function giveUpAll(): void {
  for (let i = 0; i < made.length; i++) giveUp((made[i] as Scoped)._storage);
  made.length = 0;
}

/** Takes a tensor out of what will be given up: true when it was there. Its claim is the caller's then. */
export function takeOver(t: Scoped): boolean {
  // Mostly it is the one that was made last.
  const at = made[made.length - 1] === t ? made.length - 1 : made.lastIndexOf(t);
  if (at < 0) return false;
  const last = made.pop() as Scoped;
  if (at < made.length) made[at] = last;
  return true;
}

/** One claim less. Tiny blocks are the collector's in any case, and of watched bytes somebody else decides. */
export function giveUp(storage: Storage): void {
  if (storage.claims > 1) storage.claims--;
  else if (storage.kind !== "tiny" && !storage.watched) storage.release();
}

/** Runs a part of the library whose temporaries are its own. */
export function tidy<R>(body: () => R): R {
  if (!begin()) return body();
  let result: R;
  try {
    result = body();
  } catch (error) {
    leaveAll();
    throw error;
  }
  return finish(result);
}

/** Gives up a tensor that library code made and nobody else has. */
export function drop(t: Scoped): void {
  if (!giving.enabled || (attention.bits & TAKERS) !== 0) return;
  leaveScope(t);
  giveUp(t._storage);
}

/**
 * The gradient of a tensor, for code that gives the object to operators and to nobody else. Whoever takes operators
 * gets it, too.
 */
export const gradOf = (t: Tensor): Tensor | null =>
  (attention.bits & TAKERS) === 0 && t._gradFn === null ? t._grad : t.grad;

/** Takes the gradient of a tensor away; its bytes go back at once when nobody outside has had the object. */
export function dropGrad(t: Tensor): void {
  const grad = t._grad;
  t._grad = null;
  const extra = t._extra;
  if (extra === null || extra.ownGrad === null) return;
  const own = extra.ownGrad;
  extra.ownGrad = null;
  if (own === grad) drop(own);
}

/** The same for what was copied where `original` could not be used as it is. */
export function dropCopy(t: Scoped, original: unknown): void {
  if (t !== original) drop(t);
}

/** A tensor without a claim of its own: somebody else's holds its bytes for as long as it is used. */
export function untie<T extends Scoped>(t: T): T {
  t._storage.claims--;
  leaveScope(t);
  return t;
}

function leaveScope(t: Scoped): void {
  const list = scopeState.made;
  const at = list === null ? -1 : list.lastIndexOf(t);
  if (at >= 0) list?.splice(at, 1);
}
