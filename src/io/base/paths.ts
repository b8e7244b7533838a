// Paths are made absolute where they come in, since the working directory may change. Errors tell them as they came.
import { basename, dirname, join, realpathSync, resolve, sep } from "../../runtime/node.ts";
import { requireText } from "./well-formed.ts";

/** How many paths are remembered. */
const MOST = 256;
/** Absolute paths and what the caller said, the latest last. */
const said = new Map<string, string>();

/** The absolute path of one that the caller gave. Errors that name it, or what lies in it, name it as it was given. */
export function absolutePath(path: string): string {
  requireText(path, () => `the path ${JSON.stringify(path)}`);
  const full = resolve(path);
  rememberPath(full, path);
  return full;
}

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
  return found === path ? message : message.replaceAll(found, () => path);
}

/** The path of a place without links, as far as it is there already. */
export function realPlace(path: string): string {
  const full = resolve(path);
  try {
    return realpathSync(full);
  } catch {
    const parent = dirname(full);
    return parent === full ? full : join(realPlace(parent), basename(full));
  }
}

/** Whether a path is a directory, or lies in it. */
export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}
