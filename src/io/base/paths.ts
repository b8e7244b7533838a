// Errors tell paths as they came from the caller, whatever the library made of them.
import { sep } from "../../runtime/node.ts";

/** How many paths are remembered. */
const MOST = 256;
/** Absolute paths and what the caller said, the latest last. */
const said = new Map<string, string>();

/** For a path by which something is known that the caller named in another way. */
export function rememberPath(full: string, path: string): void {
  said.delete(full);
  if (said.size === MOST) said.delete(said.keys().next().value as string);
  said.set(full, path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path);
}

/** A message with paths as the caller gave them. */
export function asSaid(message: string): string {
  let [found, path] = ["", ""];
  // Of a file and the directory that it lies in the caller may have named both.
  for (const [full, given] of said) {
    if (full.length > found.length && message.includes(full)) [found, path] = [full, given];
  }
  if (found === path) return message;
  // The path of something else may begin alike: what follows is no part of its last name.
  return message
    .split(found)
    .reduce((told, rest) => told + (/^(?:[\w-]|\.\w)/.test(rest) && !found.endsWith(sep) ? found : path) + rest);
}

/** Whether a path is a directory, or lies in it. */
export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}
