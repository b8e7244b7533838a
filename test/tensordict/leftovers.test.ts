// What saves leave behind that were killed: the next save to the same place removes it, and nothing else.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemError } from "../../src/io/base/errors.ts";
import { leftoversOf, temporaryBeside, writerMark } from "../../src/io/base/leftovers.ts";
import { replaceDurably } from "../../src/io/disk/durable.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { loadSafetensors, saveSafetensors, saveSafetensorsAsync } from "../../src/io/safetensors/safetensors.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const { fresh } = room;

// No process has this number: it is above the largest that Linux gives.
const DEAD = 2 ** 22 + 5;
const unfinished = (path: string, pid = DEAD, what: "tmp" | "new" | "old" = "tmp") =>
  temporaryBeside(path, what).replace(`-${writerMark()}-`, `-${pid}-`);
const small = () => new TensorDict({ a: zeros([3]) }, []);

interface Way {
  target: string;
  save(path: string): unknown;
  /** What the finished one consists of, beside `target` itself. */
  inside?: string[];
}

const WAYS: Record<string, Way> = {
  file: { target: "one.safetensors", save: (path) => saveSafetensors({ a: zeros([3]) }, path) },
  "file-later": { target: "one.safetensors", save: (path) => saveSafetensorsAsync({ a: zeros([3]) }, path) },
  archive: { target: "one.tdz", save: (path) => small().save(path) },
  h5: { target: "one.h5", save: (path) => small().toH5(path).close() },
  "directory-later": { target: "one", save: (path) => small().saveAsync(path) },
  atomic: { target: "one", save: (path) => small().save(path, { atomic: true }) },
};

const entriesBelow = (folder: string) => readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();

const unfinishedBelow = (target: string) => entriesBelow(dirname(target)).filter((name) => /tmp-/.test(name));

/** Kills a program that saves until something unfinished is there. */
async function killMidway(target: string, way: string): Promise<string[]> {
  const program = join(import.meta.dir, "leftovers-child.ts");
  for (let attempt = 0; attempt < 40; attempt++) {
    const child = Bun.spawn([process.execPath, program, target, way], { stdout: "pipe", stderr: "inherit" });
    await child.stdout.getReader().read();
    // On a busy machine a fixed wait would end before the program had a turn.
    const until = performance.now() + 10_000;
    while (unfinishedBelow(target).length === 0 && performance.now() < until) await Bun.sleep(0);
    child.kill("SIGKILL");
    await child.exited;
    const left = unfinishedBelow(target);
    if (left.length > 0) return left;
  }
  return [];
}

describe("a save that was killed", () => {
  for (const [way, { target: name, save }] of Object.entries(WAYS)) {
    test.skipIf(way === "h5" && hdf5Engine() === null)(
      way,
      async () => {
        const target = join(fresh(), name);
        await save(target);
        const whole = entriesBelow(dirname(target));
        expect(await killMidway(target, way)).not.toEqual([]);
        await save(target);
        const now = entriesBelow(dirname(target));
        expect(now.filter((entry) => !/^one.b\.memmap$/.test(entry))).toEqual(whole);
      },
      120_000,
    );
  }
});

describe("what is removed", () => {
  test("only unfinished work of ended processes, on this machine, for this name", () => {
    const folder = fresh();
    const target = join(folder, "one.safetensors");
    const own = unfinished(target);
    const stays = [
      temporaryBeside(target),
      unfinished(target, process.ppid),
      unfinished(join(folder, "one")),
      unfinished(join(folder, "two.safetensors")),
      unfinished(`${target}.safetensors`),
      own.replace(/tmp-[a-z0-9]+-/, "tmp-otherhost-"),
      own.replace(".tmp-", ".part-"),
      `${own}.bak`,
      `${own}-1`,
      own.replace(String(DEAD), `0${DEAD}`),
      own.replace(String(DEAD), "x1"),
      `${target}.tmp-${DEAD}-abcdefgh`,
      `${target}.tmp`,
    ];
    for (const path of [own, ...stays]) writeFileSync(path, "bytes");
    expect(leftoversOf(target)).toEqual([own]);
    saveSafetensors({ a: zeros([3]) }, target);
    expect(readdirSync(folder).sort()).toEqual([basename(target), ...stays.map((path) => basename(path))].sort());
    for (const path of stays) expect(readFileSync(path, "utf8")).toBe("bytes");
  });

  test("links stay, and so does what they lead to", () => {
    const folder = fresh();
    const [target, precious] = [join(folder, "one.npz"), join(folder, "precious")];
    mkdirSync(precious);
    writeFileSync(join(precious, "file"), "bytes");
    const [link, stage] = [unfinished(target), unfinished(target)];
    symlinkSync(precious, link);
    mkdirSync(stage);
    symlinkSync(precious, join(stage, "inner"));
    saveNpz(target, { a: zeros([3]) });
    expect(readdirSync(folder).sort()).toEqual([basename(target), basename(link), "precious"].sort());
    expect(readFileSync(join(precious, "file"), "utf8")).toBe("bytes");
  });

  test("by a save at once, what those in the background left beside and inside of the directory", () => {
    const target = join(fresh(), "one");
    small().save(target);
    const whole = entriesBelow(dirname(target));
    const place = join(fresh(), "one");
    const left = [unfinished(place), unfinished(join(place, ".zensor"))];
    const stays = temporaryBeside(join(place, ".zensor"));
    for (const path of [...left, stays]) mkdirSync(join(path, "inner"), { recursive: true });
    small().save(place);
    expect(left.filter((path) => existsSync(path))).toEqual([]);
    expect(existsSync(join(stays, "inner"))).toBe(true);
    expect(entriesBelow(dirname(place)).filter((name) => !name.includes(".zensor"))).toEqual(whole);
  });

  test("of files that were to be replaced one by one, now and later", async () => {
    for (const save of [(path: string) => small().save(path), (path: string) => small().saveAsync(path)]) {
      const saved = join(fresh(), "one");
      small().save(saved);
      const whole = entriesBelow(saved);
      // A directory that was listed is not listed again for a while, which is long on a busy machine.
      const target = join(fresh(), "one");
      cpSync(saved, target, { recursive: true });
      for (const name of ["a.memmap", "meta.json"]) writeFileSync(unfinished(join(target, name)), "bytes");
      await save(target);
      expect(entriesBelow(target)).toEqual(whole);
    }
  });

  test("what is written beside unfinished work is its target's", () => {
    const target = join(fresh(), "one.npz");
    const made = temporaryBeside(target, "new");
    const inner = temporaryBeside(made);
    expect(inner.startsWith(`${target}.tmp-`)).toBe(true);
    expect(basename(inner).split(/tmp-|new-/)).toHaveLength(2);
    // A process of the same number that began at another time has ended.
    const again = inner.replace(/s[a-z0-9]+(?=t\d+-[a-z0-9]+$)/, "s1");
    for (const path of [made, inner, again]) writeFileSync(path, "bytes");
    expect(leftoversOf(target)).toEqual(process.platform === "linux" ? [again] : []);
    // Nobody's work but the target's own.
    expect(leftoversOf(made)).toEqual([]);
  });

  test("nothing when the save fails", async () => {
    const target = join(fresh(), "one");
    mkdirSync(join(target, "a.memmap"), { recursive: true });
    const left = unfinished(join(target, ".zensor"));
    mkdirSync(left);
    const ended = await small()
      .saveAsync(target)
      .then(
        () => "saved",
        () => "failed",
      );
    expect([ended, existsSync(left)]).toEqual(["failed", true]);
  });

  test("also what a replaced directory left under other names", () => {
    const folder = fresh();
    const target = join(folder, "one");
    const made = temporaryBeside(target, "new");
    for (const what of ["new", "old"] as const) mkdirSync(unfinished(target, DEAD, what));
    writeFileSync(made, "text");
    replaceDurably(made, target);
    expect(readdirSync(folder)).toEqual(["one"]);
  });
});

test("names of 255 bytes can be saved, and what is left of them is found", async () => {
  const folder = fresh();
  const name = `${"ä".repeat(121)}.safetensors`;
  expect(Buffer.byteLength(name)).toBe(254);
  const target = join(folder, name);
  const left = unfinished(target);
  writeFileSync(left, "");
  writeFileSync(unfinished(`${target}x`), "");
  saveSafetensors({ a: zeros([3]) }, target);
  await saveSafetensorsAsync({ a: zeros([3]) }, target);
  expect(Object.keys(loadSafetensors(target))).toEqual(["a"]);
  expect(existsSync(left)).toBe(false);
  expect(readdirSync(folder)).toHaveLength(2);
});

test("errors name what was to be written, not the unfinished file", async () => {
  const folder = fresh();
  const target = join(folder, "missing", "one.safetensors");
  const text = `No such file or directory: '${target}'`;
  expect(() => saveSafetensors({ a: zeros([3]) }, target)).toThrow(text);
  const later = await saveSafetensorsAsync({ a: zeros([3]) }, target).catch((error: Error) => error.message);
  expect(later).toContain(text);
  const inside = join(temporaryBeside(join(folder, ".zensor")), "n", "a.memmap");
  expect(systemError(28, inside)).toMatchObject({ path: join(folder, "n", "a.memmap"), errno: 28 });
  expect(systemError(28, join(folder, "a.tmp-1")).path).toBe(join(folder, "a.tmp-1"));
});

test.skipIf(process.platform === "win32")("what is no file is not replaced by one", async () => {
  const folder = fresh();
  const [pipe, link] = [join(folder, "pipe"), join(folder, "link")];
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  symlinkSync(pipe, link);
  const made = join(folder, "made");
  writeFileSync(made, "text");
  for (const target of [pipe, link]) {
    const text = `${target} is not a regular file`;
    expect(() => saveSafetensors({ a: zeros([3]) }, target)).toThrow(text);
    const later = await saveSafetensorsAsync({ a: zeros([3]) }, target).catch((error: Error) => error.message);
    expect(later).toBe(text);
    expect(() => small().consolidate({ filename: target })).toThrow(text);
    expect(() => replaceDurably(made, target)).toThrow(text);
  }
  expect(readdirSync(folder).sort()).toEqual(["link", "made", "pipe"]);
  expect(lstatSync(pipe).isFIFO()).toBe(true);
});
