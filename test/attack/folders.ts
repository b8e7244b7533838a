// A folder with things that nobody may lose, and what attacks on paths compare.
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Numbers from 0 up to 1 that a seed decides. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of a list. */
export function oneOf<T>(random: () => number, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

/** Fills a folder: files, folders in one another, links to both, to nothing and to themselves. */
export function furnish(folder: string): void {
  for (const name of ["sub/deep", "empty", "meta", "saved"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "thesis.txt"), "years of work");
  writeFileSync(join(folder, "sub", "letter.txt"), "dear");
  writeFileSync(join(folder, "sub", "deep", "photo.jpg"), "light");
  // Metadata of something else, and what looks like a saved directory but for one file.
  writeFileSync(join(folder, "meta", "meta.json"), '{"name": "a page"}');
  writeFileSync(join(folder, "saved", "meta.json"), '{"shape": [], "device": "cpu", "_type": "<class>"}');
  writeFileSync(join(folder, "saved", "diary.txt"), "today");
  symlinkSync("sub", join(folder, "link"));
  symlinkSync("thesis.txt", join(folder, "to-file"));
  symlinkSync(join("sub", "deep"), join(folder, "far"));
  symlinkSync("nowhere", join(folder, "dangling"));
  symlinkSync("loop", join(folder, "loop"));
}

/** Everything in a folder by name: contents of files, where links lead, null for folders. */
export function everythingIn(folder: string, begin = ""): Record<string, string | null> {
  const found: Record<string, string | null> = {};
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const [name, path] = [begin + entry.name, join(folder, entry.name)];
    if (entry.isFile()) found[name] = readFileSync(path, "latin1");
    else if (entry.isSymbolicLink()) found[name] = readlinkSync(path);
    else if (entry.isDirectory()) Object.assign(found, { [name]: null }, everythingIn(path, `${name}/`));
  }
  return found;
}

/** What was there before and is not there any more, or not as it was; and unfinished work that stays. */
export function losses(before: Record<string, string | null>, folder: string): string[] {
  const now = everythingIn(folder);
  const lost = Object.keys(before).filter((name) => !(name in now) || now[name] !== before[name]);
  return [...lost.map((name) => `lost ${name}`), ...Object.keys(now).filter(isUnfinished)];
}

/** Whether a name is that of unfinished work, or of a part of it. */
export function isUnfinished(name: string): boolean {
  return /\.(tmp|new|old|tdtmp|parts)\b-?/.test(name);
}
