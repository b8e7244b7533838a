// Targets that lead elsewhere than they seem to: nothing that was there is lost, by commands or by functions, and what
// is written is where the system would put it. ZENSOR_ATTACK_SEED=7 draws other paths, ZENSOR_ATTACK_PATHS=5000 more.
import "../../src/install.ts";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { io, ones, TensorDict } from "../../src/index.ts";
import { exchangeNames, takeName } from "../../src/io/disk/naming.ts";
import { program, zensor } from "../cli/run.ts";
import { TREE_WRITERS } from "../io/all-writers.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";
import { everythingIn, furnish, losses, oneOf, seeded } from "./folders.ts";

const { ZENSOR_ATTACK_SEED = "1", ZENSOR_ATTACK_PATHS = "250" } = process.env;
const room = temporaryDirectory();
const home = process.cwd();
const source = join(room.path, "source.safetensors");
io.saveSafetensors({ a: ones(3) }, source);
afterAll(room.remove);

let folder = "";
beforeEach(() => {
  folder = room.fresh();
  mkdirSync(folder, { recursive: true });
  furnish(folder);
  process.chdir(folder);
});
afterEach(() => process.chdir(home));

/** Targets that must be refused, whoever names them. */
const NOWHERE = ["", "nosuch/..", "sub/nosuch/..", "nosuch/../", "thesis.txt/..", "dangling/..", "loop", "loop/x"];
/** Targets that are there. */
const TAKEN = [
  ".",
  "./",
  "..",
  "sub",
  "sub/",
  "sub/.",
  "sub/..",
  "sub/deep/../..",
  "link",
  "link/",
  "link/..",
  "far/..",
];
const FILES = ["thesis.txt", "./thesis.txt", "sub/../thesis.txt", "far/../letter.txt", "to-file"];
const WRONG = ["thesis.txt/", "thesis.txt/.", "thesis.txt/x", "to-file/", "meta", "saved", "/", "//"];

const COMMANDS: Record<string, (target: string) => string[]> = {
  convert: (target) => ["convert", source, target],
  slice: (target) => ["slice", source, target, "--keys", "a"],
  merge: (target) => ["merge", source, target],
  "merge --stack": (target) => ["merge", source, source, target, "--stack"],
};

describe("commands", () => {
  for (const [name, command] of Object.entries(COMMANDS)) {
    test(`${name}: what is there stays`, async () => {
      const before = everythingIn(folder);
      const problems: string[] = [];
      for (const target of [...NOWHERE, ...TAKEN, ...FILES, ...WRONG]) {
        for (const to of [[], ["--to", "memmap"], ["--to", "npz"], ["--to", "torchsnapshot"]]) {
          for (const force of [[], ["--force"]]) {
            // A file may be replaced by force.
            if (force.length > 0 && FILES.includes(target)) continue;
            const { code } = await zensor(...command(target), ...to, ...force);
            const now = everythingIn(folder);
            if (code === 0) problems.push(`${JSON.stringify(target)} ${to} ${force} was written`);
            if (!Bun.deepEquals(now, before))
              problems.push(`${JSON.stringify(target)} ${to} ${force} changed the folder`);
          }
        }
      }
      expect(problems).toEqual([]);
    }, 60_000);
  }

  test("what is open and has no name is no place for a file", async () => {
    if (process.platform !== "linux") return;
    const before = everythingIn(folder);
    for (const to of ["npz", "memmap"]) {
      for (const target of ["/dev/stdout", "/proc/self/fd/1", "/dev/stdout/x"]) {
        // In a program of its own, whose output is a pipe.
        const { code } = await program(["convert", source, target, "--to", to, "--force"], {});
        expect([to, target, code]).toEqual([to, target, 1]);
      }
    }
    expect(everythingIn(folder)).toEqual(before);
  }, 60_000);

  test("by force a file is replaced where a link leads, and the link stays", async () => {
    expect(await zensor("convert", source, "to-file", "--to", "npz", "--force")).toMatchObject({ code: 0 });
    expect(lstatSync("to-file").isSymbolicLink()).toBe(true);
    expect(Object.keys(io.loadNpz("thesis.txt"))).toEqual(["a"]);
    expect(await zensor("convert", source, "dangling", "--to", "npz")).toMatchObject({ code: 0 });
    expect(Object.keys(io.loadNpz("nowhere"))).toEqual(["a"]);
    expect(lstatSync("dangling").isSymbolicLink()).toBe(true);
  });

  test("checksums replace nothing, and by force not what they are of", async () => {
    const before = everythingIn(folder);
    for (const target of [...NOWHERE, ...TAKEN, ...FILES]) {
      expect(await zensor("verify", source, "--write-sums", target)).not.toMatchObject({ code: 0 });
    }
    expect(await zensor("verify", source, "--write-sums", source, "--force")).not.toMatchObject({ code: 0 });
    expect(everythingIn(folder)).toEqual(before);
    expect(Object.keys(io.loadSafetensors(source))).toEqual(["a"]);
    expect(await zensor("verify", source, "--write-sums", "sums.json")).toMatchObject({ code: 0 });
    expect(await zensor("verify", source, "--write-sums", "sums.json")).toMatchObject({ code: 1 });
    expect(await zensor("verify", source, "--write-sums", "sums.json", "--force")).toMatchObject({ code: 0 });
  });

  test("a folder that commands made is replaced by force; with one thing more in it, it stays", async () => {
    for (const to of ["memmap", "torchsnapshot"]) {
      const made = `made-${to}`;
      expect(await zensor("convert", source, made, "--to", to)).toMatchObject({ code: 0 });
      expect(await zensor("convert", source, made, "--to", to, "--force")).toMatchObject({ code: 0 });
      writeFileSync(join(made, "notes.txt"), "mine");
      const before = everythingIn(folder);
      for (const other of ["memmap", "torchsnapshot", "npz"]) {
        const { code, err } = await zensor("convert", source, made, "--to", other, "--force");
        expect([code, err.includes("notes.txt")]).toEqual([1, true]);
      }
      expect(everythingIn(folder)).toEqual(before);
    }
  });
});

describe("functions", () => {
  const tree = () => ({ a: ones(3), b: ones(2) });
  const readers: Record<string, (path: string) => unknown> = {
    loadSafetensors: (path) => io.loadSafetensors(path),
    loadTorch: (path) => io.loadTorch(path),
    loadNpy: (path) => io.loadNpy(path),
    loadNpz: (path) => io.loadNpz(path),
    loadMemmap: (path) => TensorDict.loadMemmap(path),
    Snapshot: (path) => new io.Snapshot(path),
  };

  for (const writer of TREE_WRITERS) {
    test(`${writer.name}: what is there stays`, async () => {
      const before = everythingIn(folder);
      const problems: string[] = [];
      // As in Python, a save that is not atomic writes its files over those of their names.
      const oneByOne = /^(memmap|memmapAsync|archive|archive later)$/.test(writer.name);
      const attempt = async (target: string) => {
        try {
          await writer.write(tree(), target);
          return true;
        } catch {
          return false;
        }
      };
      for (const target of NOWHERE) {
        // NumPy's ending makes another name of it.
        if (target === "loop" && /npz/i.test(writer.name)) continue;
        if (await attempt(target)) problems.push(`${JSON.stringify(target)} was written`);
        if (!Bun.deepEquals(everythingIn(folder), before))
          problems.push(`${JSON.stringify(target)} changed the folder`);
      }
      for (const target of [...TAKEN, ...WRONG.filter((each) => !each.startsWith("/"))]) {
        await attempt(target);
        const lost = losses(before, folder).filter((what) => !oneByOne || !what.endsWith("/meta.json"));
        problems.push(...lost.map((what) => `${JSON.stringify(target)}: ${what}`));
      }
      expect(problems).toEqual([]);
    });
  }

  test("readers find nothing where the system finds nothing", () => {
    for (const [name, read] of Object.entries(readers)) {
      for (const target of NOWHERE) {
        expect(() => read(target), `${name} ${target}`).toThrow(/^\[Errno (2|20|40)\]|too many levels/i);
      }
    }
  });
});

/** Paths that are put together from names that mean something. */
function* drawn(seed: number, count: number): Generator<string> {
  const random = seeded(seed);
  const names = ["", ".", "..", "sub", "deep", "empty", "nosuch", "link", "far", "dangling", "loop", "thesis.txt", "é"];
  for (let i = 0; i < count; i++) {
    const parts = Array.from({ length: 1 + Math.floor(random() * 5) }, () => oneOf(random, names));
    // An absolute path would lead out of the folder.
    yield parts.join("/").replace(/^\/+/, "./");
  }
}

/** What opening a file for writing does with a path, and what a save does: where there is something new. */
describe("where the system puts a file", () => {
  const changes = (before: Record<string, string | null>, now: Record<string, string | null>) =>
    Object.keys(now).filter((name) => !(name in before) || now[name] !== before[name]);

  test(`a save puts it there too, seed ${ZENSOR_ATTACK_SEED}`, () => {
    const problems: string[] = [];
    const [theirs, ours] = [join(room.path, "theirs"), join(room.path, "ours")];
    for (const path of drawn(Number(ZENSOR_ATTACK_SEED), Number(ZENSOR_ATTACK_PATHS))) {
      for (const place of [theirs, ours]) {
        rmSync(place, { recursive: true, force: true });
        // One level down, so that ".." stays in the room.
        cpSync(folder, join(place, "one", "two"), { recursive: true, verbatimSymlinks: true });
      }
      const before = everythingIn(ours);
      process.chdir(join(theirs, "one", "two"));
      try {
        const fd = openSync(path, "w");
        writeSync(fd, "new");
        closeSync(fd);
      } catch {
        // Neither may the save.
      }
      process.chdir(join(ours, "one", "two"));
      try {
        io.saveSafetensors({ a: ones(3) }, path);
      } catch {
        // As above.
      }
      process.chdir(folder);
      const [expected, found] = [changes(before, everythingIn(theirs)), changes(before, everythingIn(ours))];
      if (!Bun.deepEquals(expected, found)) problems.push(`${path}: ${expected} by the system, ${found} by a save`);
    }
    expect(problems).toEqual([]);
  }, 120_000);
});

describe("a name is taken in one step", () => {
  const EINVAL = 22;
  const steps = { "by the system": undefined, "where there is no such step": () => EINVAL };

  for (const [name, one] of Object.entries(steps)) {
    test(name, () => {
      for (const kind of ["file", "folder"]) {
        for (const taken of ["nothing", "file", "folder", "link", "dangling link"]) {
          const [made, path] = [join(folder, `made ${kind} ${taken}`), join(folder, `at ${kind} ${taken}`)];
          if (kind === "folder") mkdirSync(join(made, "inner"), { recursive: true });
          else writeFileSync(made, "made");
          if (taken === "file") writeFileSync(path, "old");
          if (taken === "folder") mkdirSync(path);
          if (taken === "link") symlinkSync(join(folder, "sub"), path);
          if (taken === "dangling link") symlinkSync(join(folder, "nothing"), path);
          const before = taken === "nothing" ? null : lstatSync(path).ino;
          expect([kind, taken, takeName(made, path, one)]).toEqual([kind, taken, taken === "nothing"]);
          expect(lstatSync(path).ino === before).toBe(taken !== "nothing");
          expect(lstatSync(made, { throwIfNoEntry: false }) === undefined).toBe(taken === "nothing");
        }
      }
      expect(() => takeName(join(folder, "no such"), join(folder, "x"), one)).toThrow("No such file");
    });
  }

  test("two names are exchanged", () => {
    expect(exchangeNames(join(folder, "thesis.txt"), join(folder, "sub"))).toBe(true);
    expect([lstatSync("thesis.txt").isDirectory(), lstatSync("sub").isFile()]).toEqual([true, true]);
    expect(exchangeNames(join(folder, "no such"), join(folder, "sub"))).toBe(false);
  });
});
