// Names of unfinished files and directories. Each one tells the process and the thread that write it, so that the next
// save to the same place removes what a process left that was killed, or a Worker that was terminated.

import { threadLives, threadNumber } from "../../ffi/threads.ts";
import {
  basename,
  dirname,
  hostname,
  join,
  lstatSync,
  promises,
  readdirSync,
  readFileSync,
  readlinkSync,
  resolve,
  rmSync,
} from "../../runtime/node.ts";
import { type Steps, wait } from "./steps.ts";

/** A directory is listed again after this many times the time that took: many saves into a large one go on as fast. */
const LISTING_SHARE = 20;
/** Bytes of a target's own name up to which it is a part of the unfinished one's: names end at 255 bytes. */
const LONGEST_NAME = 200;
const WHAT = "(?:tmp|new|old)";
/** A process, when it began where the system tells, and a thread of it. */
const WRITER = "[1-9][0-9]{0,9}(?:s[a-z0-9]{1,13})?(?:t[0-9]{1,9})?";
/** What follows on the name: what it is, the machine, the writer, and a random part. */
const ENDING = new RegExp(`\\.${WHAT}-([a-z0-9]{1,13})-(${WRITER})-[a-z0-9]{1,10}$`);

/** A short text for a longer one. */
function shortHash(text: string): string {
  return Bun.hash(text).toString(36);
}

/** The unfinished directory inside of its target, and endings of unfinished names. */
const UNFINISHED = new RegExp(
  `/\\.zensor${ENDING.source.slice(0, -1)}(?![a-z0-9])|${ENDING.source.slice(0, -1)}(?![a-z0-9])`,
  "g",
);

/** A text with paths in or of unfinished work, as they will be: what errors tell about. */
export function finishedPath(text: string): string {
  return text.replace(UNFINISHED, "");
}

let mark: string | undefined;
/** Stands for this machine and, in a container, for that: the number of a process says nothing elsewhere. */
export function hostMark(): string {
  mark ??= shortHash(`${hostname()} ${processNamespace()}`);
  return mark;
}

function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/** What unfinished names of a target begin with. */
function stem(path: string): string {
  const name = basename(path);
  return Buffer.byteLength(name) <= LONGEST_NAME ? name : `.zensor-${shortHash(name)}`;
}

/**
 * A name beside a path that nothing has yet. Beside an unfinished one it is a name of the same target: whatever writes
 * that next finds it.
 */
export function temporaryBeside(path: string, what: "tmp" | "new" | "old" = "tmp"): string {
  const target = resolve(path);
  const begin = stem(target).replace(ENDING, (ending, machine) => (machine === hostMark() ? "" : ending));
  const random = Math.random().toString(36).slice(2, 10);
  return join(dirname(target), `${begin}.${what}-${hostMark()}-${writerMark()}-${random}`);
}

const beganAt = new Map<number, string>();
/** When a process began, as Linux tells: the next one with its number began at another time. */
function beginningOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program comes before, and may hold anything.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return ticks === undefined ? "" : Number(ticks).toString(36);
  } catch {
    return "";
  }
}

/** When this one did. */
function ownBeginning(): string {
  let found = beganAt.get(process.pid);
  if (found === undefined) beganAt.set(process.pid, (found = beginningOf(process.pid)));
  return found;
}

/** This thread, as names of unfinished work tell it. */
export function writerMark(): string {
  const began = ownBeginning();
  return `${process.pid}${began && `s${began}`}t${threadNumber()}`;
}

/** Whether the writer that a name tells has ended: a process of this machine, or a thread of this one. */
function hasEnded(writer: string): boolean {
  const [, number, began, thread] = /^(\d+)(?:s(\w+?))?(?:t(\d+))?$/.exec(writer) ?? [];
  const pid = Number(number);
  if (pid === process.pid) {
    if (began !== undefined && began !== ownBeginning()) return true;
    return thread !== undefined && thread !== "0" && !threadLives(Number(thread));
  }
  const now = began === undefined ? "" : beginningOf(pid);
  if (now !== "" && now !== began) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH";
  }
}

/** The names in a directory; none where it cannot be read. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Directories whose names are remembered at a time. */
const MOST_LISTED = 16;
const listed = new Map<string, { names: string[]; until: number }>();

/** The names of unfinished work in a directory. */
function unfinishedIn(directory: string): string[] {
  const start = performance.now();
  const known = listed.get(directory);
  if (known !== undefined && start < known.until) return known.names;
  const names = namesIn(directory).filter((name) => ENDING.test(name));
  const end = performance.now();
  if (listed.size >= MOST_LISTED) listed.clear();
  listed.set(directory, { names, until: end + LISTING_SHARE * (end - start) });
  return names;
}

/** Of the names in a directory those that processes left which have ended; `begin` is what comes before the ending. */
function leftIn(directory: string, mine: (begin: string) => boolean): string[] {
  return unfinishedIn(directory)
    .filter((name) => {
      const [ending = "", machine, writer] = ENDING.exec(name) ?? [];
      if (machine !== hostMark() || writer === undefined) return false;
      return mine(name.slice(0, name.length - ending.length)) && hasEnded(writer);
    })
    .map((name) => join(directory, name))
    .filter(isPlain);
}

/** Files and directories that processes which have ended left beside a target, links never. */
export function leftoversOf(path: string): string[] {
  const target = resolve(path);
  const begin = stem(target);
  return leftIn(dirname(target), (name) => name === begin);
}

/** The same of what was to be files of these names in a directory. */
export function leftoversIn(directory: string, names: ReadonlySet<string>): string[] {
  return leftIn(directory, (name) => names.has(name));
}

/** What this thread itself has not finished beside a target. */
export function ownUnfinished(path: string): string[] {
  const target = resolve(path);
  const mine = `-${hostMark()}-${writerMark()}-`;
  const begin = stem(target);
  return namesIn(dirname(target))
    .filter((name) => {
      const [ending = ""] = ENDING.exec(name) ?? [];
      return ending !== "" && ending.includes(mine) && name === begin + ending;
    })
    .map((name) => join(dirname(target), name));
}

/** Whether a name is that of unfinished work. */
export function isUnfinished(name: string): boolean {
  return ENDING.test(name);
}

function isPlain(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isFile() || stat.isDirectory();
  } catch {
    return false;
  }
}

/** Removes them. What cannot be removed stays: the save that asks for it is done. */
export function sweepLeftovers(path: string, left: readonly string[] = leftoversOf(path)): void {
  for (const each of left) {
    try {
      rmSync(each, { recursive: true, force: true });
    } catch {
      // Somebody else's, or a file system that takes no more changes.
    }
  }
}

/** The same as a step: giving back the pages of large files takes a while. */
export function swept(path: string, left: readonly string[] = leftoversOf(path)): Steps<void> {
  return wait(
    () => sweepLeftovers(path, left),
    async () => {
      for (const each of left) await promises.rm(each, { recursive: true, force: true }).catch(() => {});
    },
  );
}
