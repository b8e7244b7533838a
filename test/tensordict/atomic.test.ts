// Directories that are replaced in one step: crashes, readers, aborts, and what is refused.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { leftoversOf, temporaryBeside, writerMark } from "../../src/io/base/leftovers.ts";
import { runSteps } from "../../src/io/base/steps.ts";
import { AtomicDirectory } from "../../src/io/disk/atomic-directory.ts";
import { looked, metadataOf } from "../../src/io/disk/directory-contents.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import { rounds } from "../campaign.ts";
import { filesBelow, temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
/** A target alone in a directory of its own, so that what is left beside it can be seen. */
const fresh = () => join(room.fresh(), "saved");
const beside = (target: string) => readdirSync(join(target, "..")).filter((name) => name !== "saved");
const load = (path: string) => TensorDict.loadMemmap(path) as unknown as Td;
const save = (path: string, values: number[], options = {}) =>
  new TensorDict({ a: tensor(values), n: { b: zeros([2]) }, s: "text" }).save(path, { atomic: true, ...options });

/** The version of a directory that `atomic-child.ts` saved; anything but one whole version is a failure. */
function versionOf(path: string): number {
  const td = load(path);
  const version = (td.at("count") as Tensor).at(0).item() as number;
  const rows = 1 + (version % 5);
  expect(td.batchSize).toEqual([rows] as never);
  expect(td.at("text")).toBe(`version ${version}` as never);
  expect(td.keys().filter((key) => String(key).startsWith("l")).length).toBe(1 + (version % 3));
  const seen = td.keys({ includeNested: true, leavesOnly: true });
  for (const key of seen) {
    const entry = td.get(key as string) as Tensor;
    if (String(key) !== "text") expect(entry.eq(version).all().item()).toBe(true);
  }
  return version;
}

async function startChild(target: string, version: number) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "atomic-child.ts"), target, String(version)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  await reader.read();
  reader.releaseLock();
  return child;
}

describe("a process that is killed while it saves", () => {
  // ZENSOR_CRASH_TESTS sets another number.
  const kills = Number(process.env.ZENSOR_CRASH_TESTS ?? rounds(10, 40));
  test(
    `${kills} times`,
    async () => {
      const target = fresh();
      let version = 1;
      // Time for a few saves, however busy the machine is.
      let window = 25;
      for (let i = 0; i < kills; i++) {
        const child = await startChild(target, version);
        await Bun.sleep(Math.random() * window);
        child.kill("SIGKILL");
        await child.exited;
        const found = existsSync(target) ? versionOf(target) : 0;
        expect(found).toBeGreaterThanOrEqual(version - 1);
        window = found < version ? Math.min(window * 1.5, 1000) : Math.max(window * 0.9, 15);
        version = found + 1;
      }
      expect(version).toBeGreaterThan(1);
      // What the killed processes left goes away with the next save.
      save(target, [1]);
      expect(beside(target)).toEqual([]);
    },
    kills * 2000,
  );
});

test("a reader finds whole versions while another process saves", async () => {
  const target = fresh();
  const child = await startChild(target, 1);
  const versions = new Set<number>();
  try {
    const end = Date.now() + 10_000;
    while (versions.size < 20 && Date.now() < end) {
      if (existsSync(target)) versions.add(versionOf(target));
      await Bun.sleep(1);
    }
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
  expect(versions.size).toBeGreaterThan(3);
}, 30_000);

describe("saving", () => {
  test("the first time, over an empty directory, and over an older save", () => {
    const target = fresh();
    const first = save(target, [1, 2]);
    expect((first.at("a") as MemoryMappedTensor).filename).toBe(join(target, "a.memmap"));
    expect(first.savedPath).toBe(target);
    const second = save(target, [3, 4, 5]);
    expect((load(target).at("a") as Tensor).tolist()).toEqual([3, 4, 5]);
    expect((first.at("a") as Tensor).tolist()).toEqual([1, 2]);
    (second.at("a") as Tensor).fill_(9);
    second.set_("s", "changed");
    expect((load(target).at("a") as Tensor).tolist()).toEqual([9, 9, 9]);
    expect(load(target).at("s")).toBe("changed" as never);
    const empty = fresh();
    mkdirSync(empty);
    chmodSync(empty, 0o700);
    save(empty, [1]);
    expect(statSync(empty).mode & 0o777).toBe(0o700);
    expect([...beside(target), ...beside(empty)]).toEqual([]);
  });
  test("the same bytes as a plain save, nothing of the old content", () => {
    const target = fresh();
    save(target, [1]);
    writeFileSync(join(target, "other.memmap"), "x");
    save(target, [1, 2]);
    const plain = fresh();
    new TensorDict({ a: tensor([1, 2]), n: { b: zeros([2]) }, s: "text" }).memmap(plain);
    expect(filesBelow(target)).toEqual(filesBelow(plain));
  });
  test("memmap, memmap_, lazy stacks, missing parents", () => {
    const target = join(fresh(), "deep", "er");
    const td = new TensorDict({ a: tensor([1]) }) as unknown as Td;
    expect(td.memmap_(target, { atomic: true })).toBe(td);
    expect(td.at("a")).toBeInstanceOf(MemoryMappedTensor);
    const members = [1, 2, 3].map((n) => new TensorDict({ a: tensor([n]) }));
    TensorDict.lazyStack(members).memmap(target, { atomic: true });
    TensorDict.lazyStack(members.slice(1)).memmap(target, { atomic: true, numThreads: 2 });
    expect((load(target).at("a") as Tensor).tolist()).toEqual([[2], [3]]);
    expect(readdirSync(target).sort()).toEqual(["0", "1", "meta.json"]);
  });
  test("a tensor that is mapped from the target needs copyExisting", () => {
    const target = fresh();
    save(target, [1, 2]);
    const td = load(target);
    expect(() => td.memmap(target, { atomic: true })).toThrow("copy_existing=True");
    td.memmap(target, { atomic: true, copyExisting: true });
    expect((load(target).at("a") as Tensor).tolist()).toEqual([1, 2]);
    expect(beside(target)).toEqual([]);
  });
  test("through a link: the link stays", () => {
    const target = fresh();
    save(target, [1]);
    const link = `${fresh()}-link`;
    symlinkSync(target, link);
    save(link, [2, 3]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect((load(target).at("a") as Tensor).tolist()).toEqual([2, 3]);
  });
});

describe("where names cannot be exchanged", () => {
  const replace = (target: string, exchange: () => boolean) => {
    const made = new AtomicDirectory(target, { exchange });
    made.begin();
    writeFileSync(join(made.path, "meta.json"), "new");
    return made;
  };
  test("the old directory steps aside", () => {
    const target = fresh();
    save(target, [1]);
    runSteps(replace(target, () => false).commit());
    expect([...filesBelow(target).keys()]).toEqual(["meta.json"]);
    expect(beside(target)).toEqual([]);
  });
  test("and comes back when the new one cannot take its place", () => {
    const target = fresh();
    save(target, [1]);
    const made = replace(target, () => {
      rmSync(made.path, { recursive: true });
      return false;
    });
    expect(() => runSteps(made.commit())).toThrow("No such file or directory");
    runSteps(made.abandon());
    expect((load(target).at("a") as Tensor).tolist()).toEqual([1]);
    expect(beside(target)).toEqual([]);
  });
});

describe("what is refused changes nothing", () => {
  const refused = (target: string, message: string, options = {}) => {
    const before = existsSync(target) && statSync(target).isDirectory() ? filesBelow(target) : null;
    expect(() => save(target, [7], options)).toThrow(message);
    if (before !== null) expect(filesBelow(target)).toEqual(before);
    expect(beside(target)).toEqual([]);
  };
  test("a directory of something else, a file, existsok: false", () => {
    const target = fresh();
    mkdirSync(target);
    writeFileSync(join(target, "letter.txt"), "dear");
    refused(target, `Refusing to replace ${target} with atomic=True: it is not empty and holds no saved tensordict`);
    const file = fresh();
    writeFileSync(file, "x");
    refused(file, `${file} exists and is not a directory.`);
    const saved = fresh();
    save(saved, [1]);
    refused(saved, `${saved} is not empty and existsok=False.`, { existsok: false });
  });
  test("no place, memmapLike, a key that cannot be saved", () => {
    const td = new TensorDict({ a: tensor([1]) });
    expect(() => td.memmap(null, { atomic: true })).toThrow("atomic=True needs a prefix");
    expect(() => td.memmapLike(fresh(), { atomic: true })).toThrow("memmapLike keeps the content");
    const target = fresh();
    save(target, [1]);
    expect(() => new TensorDict(new Map([["shape", 1]])).save(target, { atomic: true })).toThrow("cannot be saved");
    expect((load(target).at("a") as Tensor).tolist()).toEqual([1]);
    expect(beside(target)).toEqual([]);
  });
  test("an aborted save in the background", async () => {
    const target = fresh();
    save(target, [1]);
    const big = new TensorDict(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, zeros([4096])])));
    const stop = new AbortController();
    const saving = big.memmapAsync(target, { atomic: true, signal: stop.signal, onProgress: () => stop.abort() });
    expect(saving).rejects.toThrow("abort");
    await saving.catch(() => {});
    expect((load(target).at("a") as Tensor).tolist()).toEqual([1]);
    expect(beside(target)).toEqual([]);
    const done = await big.memmapAsync(target, { atomic: true });
    expect(done.savedPath).toBe(target);
    expect(load(target).keys().length).toBe(200);
  });
});

describe("what is left of crashed saves", () => {
  // No process has this number: it is above the largest that Linux gives.
  const dead = 2 ** 22 + 5;
  test("only directories of this target and of ended processes go away", async () => {
    const target = fresh();
    const child = await startChild(target, 1);
    await Bun.sleep(10);
    child.kill("SIGKILL");
    await child.exited;
    const other = join(target, "..", "other");
    save(target, [1]);
    save(other, [1]);
    const ended = temporaryBeside(other).replace(`-${writerMark()}-`, `-${dead}-`);
    for (const path of [ended, join(target, "..", "keep")]) mkdirSync(path);
    save(target, [2]);
    expect(beside(target).sort()).toEqual(["keep", "other", basename(ended)].sort());
    expect(leftoversOf(target)).toEqual([]);
  });
});

describe("a look at what another writer puts away meanwhile", () => {
  const swap = (target: string, made: string) => {
    renameSync(target, join(room.fresh(), "old"));
    renameSync(made, target);
  };

  test("counts only for what still has the name", () => {
    const target = fresh();
    const others = [fresh(), fresh()];
    for (const path of [target, ...others]) save(path, [1]);
    const seen: number[] = [];
    const found = looked(target, ({ ino }) => {
      seen.push(ino);
      const other = others.pop();
      if (other === undefined) return;
      swap(target, other);
      throw new Error("what was seen of the old one");
    });
    expect([found, new Set(seen).size, seen.at(-1)]).toEqual([true, 3, lstatSync(target).ino]);
    expect(looked(target, () => rmSync(target, { recursive: true }))).toBe(false);
    expect(looked(target, () => expect.unreachable())).toBe(false);
    mkdirSync(target);
    expect(() =>
      looked(target, () => {
        throw new Error("what is there");
      }),
    ).toThrow("what is there");
  });

  test("a number that a later directory has again is no proof", () => {
    const target = fresh();
    let looks = 0;
    mkdirSync(target);
    looked(target, () => {
      if (++looks > 1) return;
      rmSync(target, { recursive: true });
      mkdirSync(target);
      throw new Error("what was seen of the old one");
    });
    expect(looks).toBe(2);
  });

  test("metadata that has gone, or whose link leads nowhere, is none", () => {
    const target = fresh();
    save(target, [1]);
    rmSync(join(target, "meta.json"));
    expect(metadataOf(target)).toBeNull();
    symlinkSync("nowhere", join(target, "meta.json"));
    expect(() => save(target, [2])).toThrow("it holds meta.json, which is no part of a tensordict");
  });
});

test("metadata is replaced, not written over", () => {
  const target = fresh();
  const saved = new TensorDict({ a: zeros([3]), s: "text" }, [3]).memmap(target) as unknown as Td;
  const inode = (file: string) => statSync(join(target, file)).ino;
  const [meta, text] = [inode("meta.json"), inode("s/meta.json")];
  saved.makeMemmap("late", [3]);
  saved.set_("s", "other");
  expect(inode("meta.json")).not.toBe(meta);
  expect(inode("s/meta.json")).not.toBe(text);
  expect(readdirSync(target).sort()).toEqual(["a.memmap", "late.memmap", "meta.json", "s"]);
  expect(load(target).at("s")).toBe("other" as never);
});
