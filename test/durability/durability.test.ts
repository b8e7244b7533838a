// What is left after a disk that is full, read-only or gone, after files that are cut short, after a lack of open files
// and mappings, and after a process that is killed: the old content or the new, an error that names the file, and
// nothing else. Every scenario runs in a process of its own (`program.ts`), for every writer (`writers.ts`).
import "../../src/install.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appendMemmap, TensorDict } from "../../src/tensordict/index.ts";
import type { Problems } from "./checks.ts";
import { rowsOf } from "./limits.ts";
import { leaves, valueIn, WRITERS } from "./writers.ts";

const PROGRAM = join(import.meta.dir, "program.ts");
const TIME = 60_000;
/** In memory where there is room for that: thousands of files are flushed. */
const room = roomIn(existsSync("/dev/shm") && statfsSync("/dev/shm").bavail > 2 ** 14 ? "/dev/shm" : tmpdir());
const disk = roomIn(tmpdir());
afterAll(() => {
  for (const path of [room, disk]) rmSync(path, { recursive: true, force: true });
}, TIME);

function roomIn(path: string): string {
  const made = realpathSync(mkdtempSync(join(path, "zensor-durability-")));
  // Somebody else works in it, too.
  chmodSync(made, 0o755);
  return made;
}

let count = 0;
function fresh(parent = room): string {
  const path = join(parent, String(count++));
  mkdirSync(path);
  return path;
}

const quiet = { stdout: "ignore", stderr: "ignore" } as const;

/** A command that may mount in a namespace of its own, where nothing can stay mounted; null where there is none. */
function namespaceCommand(): string[] | null {
  for (const command of [
    ["unshare", "-m"],
    ["unshare", "-rm"],
  ]) {
    try {
      const { exitCode } = Bun.spawnSync([...command, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", room], quiet);
      if (exitCode === 0) return command;
    } catch {
      // No such program: another system.
    }
  }
  return null;
}

const namespace = process.platform === "linux" ? namespaceCommand() : null;

/** Runs shell commands and then a scenario; gives what it found, by writer. */
async function findings(scenario: string, root: string, before = "", small: readonly string[] = []): Promise<Problems> {
  const script = `${before} exec "$0" "$1" ${scenario} "$2"`;
  const child = Bun.spawn([...small, "sh", "-c", script, process.execPath, PROGRAM, root], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ZENSOR_DURABILITY_SPARE: fresh() },
  });
  const [out, problem, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${scenario} ended with ${child.signalCode ?? code}\n${out}\n${problem}`);
  return JSON.parse(out.trim().split("\n").at(-1) as string) as Problems;
}

/** One test for each thing that a scenario looked at. */
function scenario(
  title: string,
  options: { name: string; before?: string; size?: string; of?: readonly string[]; needsLinux?: boolean },
): void {
  const { name, before = "", size, of = WRITERS.map((writer) => writer.name), needsLinux = false } = options;
  const missing = size !== undefined ? namespace === null : needsLinux && process.platform !== "linux";
  const reason = size === undefined ? "only on Linux" : "no way to mount a small file system here";
  describe.skipIf(missing)(missing ? `${title} (not run: ${reason})` : title, () => {
    let found: Problems = {};
    beforeAll(async () => {
      const root = fresh();
      const mount = `mount -t tmpfs -o size=${size} tmpfs "$2" &&`;
      found = await findings(name, root, `${size === undefined ? "" : mount} ${before}`, size ? (namespace ?? []) : []);
    }, TIME);
    test.each(of.map((what) => [what]))("%s", (what) => {
      expect(found[what]).toEqual([]);
    });
    test("nothing else was looked at", () => {
      expect(Object.keys(found).sort()).toEqual([...of].sort());
    });
  });
}

scenario("a full disk", { name: "fullDisk", size: "1m" });
scenario("no permission", { name: "denied" });
scenario("a read-only file system", {
  name: "readOnly",
  size: "10m",
  before: '"$0" "$1" prepare "$2" && mount -o remount,bind,ro "$2" &&',
});
scenario("a directory that vanishes", { name: "vanished" });
scenario("files that are cut short while they are mapped", { name: "truncated", needsLinux: true });
scenario("writing through mappings on a full disk", {
  name: "mappedWrites",
  size: "1m",
  of: [
    ...["fill_", "copy_", "add_", "an element", "a view", "an index", "typed array", "one of a typed array", "out"],
    ...["reading", "saving", "saving as .tdz", "reading a snapshot into it", "with WebAssembly"],
  ],
});
scenario("adding to a saved collection on a full disk", {
  name: "additions",
  size: "1m",
  of: ["makeMemmapFromTensor", "makeMemmapFromStorage", "fromTensor", "full"],
});
scenario("appending on a full disk", { name: "appends", size: "1m", of: ["appendMemmap"] });
scenario("setting entries of an HDF5 file on a full disk", {
  name: "hdf5Entries",
  size: "1m",
  of: WRITERS.some(({ name }) => name === "toH5") ? ["PersistentTensorDict.set"] : [],
});
const many = ["memmap", "atomic", "archive", "consolidate", "shared memory", "npz"];
scenario("few open files", {
  name: "descriptors",
  before: "ulimit -n 40;",
  needsLinux: true,
  of: [
    ...many.flatMap((way) => [1, 2].map((threads) => `${way} of 1000 with ${threads} threads`)),
    ...WRITERS.map(({ name }) => name),
  ],
});
scenario("all mappings that there are", { name: "mappings", needsLinux: true, of: ["mappings"] });

/** What a killed process left: each version is whole, and none older than before. Gives the newest. */
function checkVersions(root: string, before: Map<string, number>): number {
  const versions = new Map<string, number>();
  for (const { name, target, read, whole, oneByOne, replaces } of WRITERS) {
    if (!whole || oneByOne) continue;
    const newest = replaces === false ? newestOf(root, target) : existsSync(join(root, target)) ? target : null;
    if (newest !== null) versions.set(name, valueIn(read(join(root, newest))));
  }
  for (const [name, version] of versions) {
    expect([name, version]).toEqual([name, Math.max(version, before.get(name) ?? 0)]);
    before.set(name, version);
  }
  return Math.max(0, ...versions.values());
}

/** The newest directory of these that has a manifest. */
function newestOf(root: string, target: string): string | null {
  const number = (name: string) => Number(name.slice(target.length + 1));
  const made = readdirSync(root).filter((name) => name.startsWith(`${target}-`) && !name.includes("."));
  const whole = made.filter((name) => existsSync(join(root, name, ".snapshot_metadata")));
  return whole.sort((a, b) => number(b) - number(a))[0] ?? null;
}

/** Rows that a killed process left: none is lost, and the next append finds all levels at the same number. */
function checkRows(path: string, before: number): number {
  if (!existsSync(join(path, "meta.json"))) return before;
  appendMemmap(path, rowsOf(1));
  const td = TensorDict.loadMemmap(path);
  const rows = td.batchSize[0] as number;
  expect(rows).toBeGreaterThan(before);
  for (const tensor of leaves(td)) expect(tensor.shape).toEqual([rows] as never);
  expect(valueIn(leaves(td))).toBe(1);
  return rows;
}

describe.skipIf(process.platform === "win32")("a process that is killed while it saves", () => {
  // ZENSOR_CRASH_TESTS sets another number.
  const kills = Number(process.env.ZENSOR_CRASH_TESTS ?? 8);
  test(
    `${kills} times, with every writer`,
    async () => {
      const root = fresh(disk);
      const versions = new Map<string, number>();
      let [next, rows] = [1, 0];
      for (let kill = 0; kill < kills; kill++) {
        const child = Bun.spawn([process.execPath, PROGRAM, "endless", root], {
          stdout: "pipe",
          stderr: "ignore",
          env: { ...process.env, ZENSOR_DURABILITY_SPARE: fresh(), ZENSOR_DURABILITY_FIRST: String(next) },
        });
        const reader = child.stdout.getReader();
        await reader.read();
        reader.releaseLock();
        await Bun.sleep(Math.random() * 400);
        child.kill("SIGKILL");
        await child.exited;
        next = Math.max(next, checkVersions(root, versions) + 1);
        rows = checkRows(join(root, "rows"), rows);
      }
      expect(versions.size).toBeGreaterThan(3);
    },
    kills * 4000,
  );
});
