/** Hooks of modules, in the order in which they run. */

/** Takes a hook out again. @torch torch.utils.hooks.RemovableHandle */
export interface RemovableHandle {
  /** Takes the hook away. Once more does nothing. */
  remove(): void;
  [Symbol.dispose](): void;
}

/** Hooks by number; the numbers only order them. */
export class HookList<H> {
  private entries: { id: number; hook: H; always: boolean }[] = [];
  private next = 0;

  get size(): number {
    return this.entries.length;
  }

  add(hook: H, prepend: boolean, always = false): RemovableHandle {
    const id = this.next++;
    const entry = { id, hook, always };
    // A new list, so that a call that is running keeps the hooks it started with.
    this.entries = prepend ? [entry, ...this.entries] : [...this.entries, entry];
    const remove = (): void => {
      this.entries = this.entries.filter((e) => e.id !== id);
    };
    return { remove, [Symbol.dispose]: remove };
  }

  list(): readonly { readonly id: number; readonly hook: H; readonly always: boolean }[] {
    return this.entries;
  }
}
