/** `scope`: returns the memory of intermediate tensors at its end, without waiting for the collector. */
import * as texts from "../../generated/texts.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { Mode, refuseOverlap, requireSync, requireSyncResult } from "../tensor/modes.ts";
import { addFields, type Scoped, scopeState, tensorsIn } from "../tensor/scope-state.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { DISPOSED, type Storage } from "../tensor/storage.ts";
import { collectReleased, MOST_RELEASED, released } from "../tensor/temporaries.ts";

/** An open scope: `using s = scope()`. */
export interface ScopeGuard {
  /** Lets the tensors in a value (a tensor, or anything that holds some) outlive this scope. Returns the value. */
  keep<T>(value: T): T;
  [Symbol.dispose](): void;
}

const scopes = new Mode<Scoped[] | null>(
  () => scopeState.made,
  (made) => {
    scopeState.made = made;
  },
);

class OpenScope implements ScopeGuard {
  private readonly made: Scoped[] = [];
  private readonly kept = new Set<Scoped>();
  private readonly entry = scopes.hold(this.made, "scope");
  private readonly leftBefore = scopeState.left;
  private readonly calledAround = scopeState.called;
  private open = scopeState.open.push(this.made) > 0;

  constructor() {
    scopeState.called = new Set();
  }

  keep<T>(value: T): T {
    for (const t of tensorsIn(value)) this.kept.add(t);
    return value;
  }

  [Symbol.dispose](): void {
    if (!this.open) return;
    if (scopeState.made !== this.made && !this.entry.awaited) throw texts.scopesCross(undefined);
    this.open = false;
    scopeState.open.splice(scopeState.open.lastIndexOf(this.made), 1);
    // A cache of keys and values, a running mean in an array: what a module has it will use again.
    const { called } = scopeState;
    addFields(called, this.kept);
    scopeState.called = this.calledAround;
    // Which task made what is not known: all is left to the collector.
    if (!scopes.end(this.entry)) refuseOverlap("scope");
    const left = freeUnclaimed(this.made, this.kept);
    // What survives belongs to the scope around this one.
    const around = scopeState.made;
    if (around !== null) {
      for (const t of left) around.push(t);
      for (const module of called) this.calledAround.add(module);
    }
    released.bytes += scopeState.left - this.leftBefore;
    if (released.bytes > MOST_RELEASED) collectReleased(false);
  }
}

function survives(t: Scoped, kept: Set<Scoped>): boolean {
  return kept.has(t) || scopeState.taken.has(t) || t._storage.exported;
}

/** Gives up the claims of tensors that nobody keeps; those whose bytes somebody else claims stay usable. */
function freeUnclaimed(made: readonly Scoped[], kept: Set<Scoped>): Scoped[] {
  const alive = made.filter((t) => t._storage !== DISPOSED);
  const left = alive.filter((t) => survives(t, kept));
  const idle = alive.filter((t) => !survives(t, kept));
  const claims = new Map<Storage, number>();
  for (const t of idle) claims.set(t._storage, (claims.get(t._storage) ?? 0) + 1);
  const unclaimed = new Set([...claims].filter(([storage, own]) => storage.claims === own).map(([storage]) => storage));
  for (const t of idle) {
    if (unclaimed.has(t._storage)) t.dispose();
    else left.push(t);
  }
  return left;
}

/**
 * Runs a function and then returns the memory of every tensor that it made, except of those in its result (in arrays,
 * objects, TensorDicts and modules too), of gradients, of what was put into a TensorDict or a module, of what modules
 * that were used (called, or asked for a parameter, buffer or child) have in their fields (in arrays, maps and objects
 * there), of what a recorded graph still needs, and of whatever shares bytes with these. What only variables and
 * objects of your own hold is freed: return it, or `keep` it. A tensor that was freed says so when it is used. Nothing
 * needs a scope: it only returns memory earlier than the collector would.
 *
 * A scope that makes much does not keep it all: when the collector comes while it is open, it has the first 32 MiB
 * of its tensors, and leaves the others to the collector, as if they had been made without a scope. So a loop in a
 * scope needs no more than those above what it needs without one. At the end they and what was made since go back at
 * once.
 *
 * Without a function it is a guard: `using s = scope()`, and `s.keep(x)` for what has to outlive it.
 *
 * @example
 * const norm = scope(() => x.sub(x.mean()).pow(2).sum().sqrt());
 */
export function scope(): ScopeGuard;
export function scope<R>(body: () => R): R;
export function scope<R>(body?: () => R): R | ScopeGuard {
  if (isDict(body) || arguments.length > 1) [body] = inOrder<[(() => R)?]>("scope", FUNCTIONS.scope, arguments);
  if (body === undefined) return new OpenScope();
  requireSync(body, "scope");
  const guard = new OpenScope();
  try {
    return guard.keep(requireSyncResult(body(), "scope"));
  } finally {
    guard[Symbol.dispose]();
  }
}
