// Readers that break one rule each, to see that the rule is checked.
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { FormatError } from "../../src/io/index.ts";
import { one, type Reader } from "./reader-helpers.ts";

const kept: Uint8Array[] = [];

/** Computes for so long, however busy the machine is. */
function compute(ms: number): void {
  const start = process.cpuUsage().user;
  while (process.cpuUsage().user < start + ms * 1000);
}

const BAD: Record<string, (path: string, outside: string) => unknown> = {
  good: () => ({ a: 1 }),
  refuses: (path) => {
    throw new FormatError("is damaged", path);
  },
  crashes: () => process.kill(process.pid, "SIGSEGV"),
  exits: () => process.exit(0),
  slow: () => compute(500),
  hangs: () => compute(1e9),
  "waits for ever": () => new Promise(() => setInterval(() => {}, 1000)),
  "takes memory": () => void kept.push(new Uint8Array(600 * 2 ** 20).fill(1)),
  "throws what is no error": () => {
    throw null;
  },
  "throws an error of the language": () => (undefined as unknown as { x: unknown }).x,
  "throws an error of the runtime": () => unlinkSync("/nowhere/at/all"),
  "says what the language says": (path) => {
    throw new FormatError("undefined is not an object", path);
  },
  "writes outside": (_, outside) => writeFileSync(join(outside, "new"), ""),
  "changes a file outside": (_, outside) => appendFileSync(join(outside, "secret"), "."),
  "rewrites a file outside": (_, outside) => writeFileSync(join(outside, "secret"), "secret"),
  "removes a file outside": (_, outside) => rmSync(join(outside, "secret")),
  "changes rights outside": (_, outside) => chmodSync(join(outside, "secret"), 0o777),
  "renames outside": (_, outside) => renameSync(join(outside, "pipe"), join(outside, "pipe2")),
  "leaves a temporary file": () => writeFileSync(join(process.env.TMPDIR as string, "left"), "x"),
  "leaves a file where it works": () => mkdirSync("left"),
  "changes what it reads": (path) => appendFileSync(path, "x"),
  "writes next to what it reads": (path) => symlinkSync("/", join(dirname(path), "link")),
};

/** Every reader of this file. */
export const READERS: readonly Reader[] = Object.entries(BAD).map(([name, run]) => {
  let whole = true;
  return {
    name,
    file: "a.bin",
    container: "none",
    cases: 1,
    seeds: () => [one("a.bin", Buffer.from("some bytes that are damaged"))],
    read(path) {
      // The rules hold for damaged files: the undamaged one is read first.
      const first = whole;
      whole = false;
      return first ? null : run(path, join(dirname(dirname(path)), "outside"));
    },
  };
});
