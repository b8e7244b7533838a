// Paths that are no UTF-8: the runtime cannot say them, and readers take texts. What such a path leads to is reached by
// a link among the temporary files; messages name it as the user did.
import { readFileSync, symlinkSync } from "node:fs";
import { bytesOfName, isUndecoded, nameOfBytes, shownName } from "../io/base/byte-names.ts";
import { CliError, EXIT } from "./errors.ts";
import { temporaries } from "./lifetime.ts";
import { temporaryFor } from "./scratch.ts";

/** The working directory, whatever its name is. */
const HERE = "/proc/self/cwd";

/** Arguments as the system gave them: the runtime's have U+FFFD for what is no UTF-8. */
export function argumentsOf(decoded: readonly string[]): readonly string[] {
  if (process.platform !== "linux" || !decoded.some(isUndecoded)) return decoded;
  const all = readFileSync("/proc/self/cmdline");
  const words: string[] = [];
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf(0, at);
    words.push(nameOfBytes(all.subarray(at, end < 0 ? all.length : end)));
    at = end < 0 ? all.length : end + 1;
  }
  const own = words.slice(-decoded.length);
  // Whatever else the runtime takes for its own is not what it says.
  const same =
    own.length === decoded.length && own.every((word, i) => isUndecoded(decoded[i] as string) || word === decoded[i]);
  return same ? own : decoded;
}

function linkTo(path: string, bytes: Buffer): string {
  const link = temporaryFor(path);
  const here = isUndecoded(process.cwd()) ? HERE : process.cwd();
  symlinkSync(bytes[0] === 0x2f ? bytes : Buffer.concat([Buffer.from(`${here}/`), bytes]), link);
  return link;
}

/** A path by which the runtime finds what is at a path. */
export function reachable(path: string): string {
  if (path === "") return path;
  const bytes = bytesOfName(path);
  if (bytes !== null) return linkTo(path, bytes);
  if (path.startsWith("/") || path.includes("://") || !isUndecoded(process.cwd())) return path;
  // The working directory's own name is no UTF-8.
  const full = `${HERE}/${path}`;
  temporaries.add(full, path);
  return full;
}

/** The same for what is to be made: its own name has to be UTF-8, those of the folders that it lies in need not. */
export function reachableTarget(path: string): string {
  if (path.isWellFormed()) return reachable(path);
  const [, folder = "", name = ""] = /^(.*\/)?([^/]*\/*)$/s.exec(path) ?? [];
  if (!name.isWellFormed()) {
    throw new CliError(
      `${shownName(path)}: nothing is written under a name that is no UTF-8. ` +
        "Folders that it lies in may have such names.",
      EXIT.usage,
    );
  }
  return `${reachable(folder)}/${name}`;
}
