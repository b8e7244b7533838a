/** This thread of the program's, the main one or a Worker, as the native library knows it. */
import { ThreadState } from "../../generated/abi.ts";
import { native } from "./library.ts";
import { type Anchor, ownHandle, peek, releaseThread } from "./memory.ts";

interface Self {
  readonly number: number;
  /** Goes when the thread does, and tells the library. */
  readonly handle: Anchor;
}

let self: Self | null = null;

/** A number that no other thread of this process has had; 0 when there was no memory to note it. */
export function threadNumber(): number {
  if (self === null) {
    const handle = native.zs_thread_begin();
    if (handle === 0) return 0;
    self = { number: peek.f64(handle, 0), handle: ownHandle(handle, releaseThread) };
  }
  return self.number;
}

/** Whether a thread of this process goes on. */
export function threadLives(number: number): boolean {
  return native.zs_thread_state(number) === ThreadState.living;
}

/** Whether it has ended, and the runtime did not take its heap down: what is owned there is lost. */
export function threadWasKept(number: number): boolean {
  return native.zs_thread_state(number) === ThreadState.kept;
}
