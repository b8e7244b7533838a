// What others do in a folder while something is written there: a target that comes into being is not replaced, and a
// save whose unfinished files are removed or replaced fails, or what it wrote is there whole.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { openTarget, place } from "../../src/cli/target.ts";
import { full, io, ones, type Tensor, TensorDict, tensordict } from "../../src/index.ts";
import { runStepsLater } from "../../src/io/base/steps.ts";
import { copyMappedFiles } from "../../src/io/disk/tensor-bytes.ts";
import { UnfinishedFile } from "../../src/io/disk/unfinished-file.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";
import { everythingIn, isUnfinished, seeded } from "./folders.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const { ZENSOR_ATTACK_SEED = "1", ZENSOR_ATTACK_RUNS = "40" } = process.env;

/** What somebody else may put in the place of a target. */
const COMERS: Record<string, (path: string) => void> = {
  file: (path) => writeFileSync(path, "theirs"),
  "empty folder": (path) => mkdirSync(path),
  folder: (path) => {
    mkdirSync(path);
    writeFileSync(join(path, "theirs.txt"), "theirs");
  },
  "folder with metadata": (path) => {
    mkdirSync(path);
    writeFileSync(join(path, "meta.json"), '{"_type": "<class>"}');
    writeFileSync(join(path, "theirs.txt"), "theirs");
  },
  link: (path) => symlinkSync("beside.txt", path),
  "dangling link": (path) => symlinkSync("nothing", path),
};

describe("a target that comes into being during a run", () => {
  /** Puts a file or a folder in place while `come` happens; gives what was said. */
  async function placed(folder: string, made: "file" | "folder", force: boolean, come: (path: string) => void) {
    const path = join(folder, "target");
    try {
      const target = await openTarget(path, [], { to: made === "file" ? "npz" : "memmap", force, quiet: true });
      await place(target, async (at) => {
        if (made === "file") writeFileSync(at, "ours");
        else {
          mkdirSync(at);
          writeFileSync(join(at, "meta.json"), '{"_type": "<class>"}');
        }
        come(path);
      });
      return "written";
    } catch (error) {
      return (error as Error).message;
    } finally {
      copyMappedFiles(false);
    }
  }

  for (const made of ["file", "folder"] as const) {
    for (const [name, come] of Object.entries(COMERS)) {
      test(`a ${made}, and a ${name} comes`, async () => {
        const [theirs, ours] = [room.fresh(), room.fresh()];
        for (const folder of [theirs, ours]) {
          mkdirSync(folder, { recursive: true });
          writeFileSync(join(folder, "beside.txt"), "beside");
        }
        come(join(theirs, "target"));
        expect(await placed(ours, made, false, come)).toContain("exists already");
        expect(everythingIn(ours)).toEqual(everythingIn(theirs));
        // By force a folder with something else in it stays as well.
        rmSync(join(ours, "target"), { recursive: true });
        const said = await placed(ours, made, true, come);
        if (!name.startsWith("folder")) expect(said).toBe("written");
        else {
          expect(said).toContain("even with --force");
          expect(everythingIn(ours)).toEqual(everythingIn(theirs));
        }
        expect(readdirSync(ours).sort()).toEqual(["beside.txt", "target"]);
        expect(lstatSync(join(ours, "beside.txt")).isFile()).toBe(true);
      });
    }
  }

  test("functions that are told to replace nothing", async () => {
    const td = new TensorDict({ a: ones(3) });
    for (const [name, later] of [
      ["one.tdz", false],
      ["one", true],
    ] as const) {
      const path = join(room.fresh(), name);
      mkdirSync(dirname(path), { recursive: true });
      const onProgress = () => {
        if (name.endsWith(".tdz")) writeFileSync(path, "theirs");
        else if (!existsSync(path)) {
          mkdirSync(path);
          writeFileSync(join(path, "a.memmap"), "theirs");
        }
      };
      await expect(td.memmapAsync(path, { existsok: false, onProgress })).rejects.toThrow(/exists/);
      const kept = everythingIn(dirname(path));
      expect(Object.values(kept).filter((text) => text !== null)).toEqual(["theirs"]);
      expect([Object.keys(kept).filter(isUnfinished), later]).toEqual([[], later]);
    }
  });
});

/** Saves that tell of their progress, and what reads what they wrote. */
const COUNT = 20_000;
const NAMES = ["a", "b", "c", "d"];
const tensors = (value: number) => Object.fromEntries(NAMES.map((name) => [name, full([COUNT], value)]));
const td = (value: number) => new TensorDict(tensors(value));
const record = (held: unknown) => NAMES.map((name) => (held as Record<string, Tensor>)[name] as Tensor);
const entries = (held: unknown) => NAMES.map((name) => (held as TensorDict).get(name) as Tensor);

interface Later {
  save(value: number, path: string, onProgress: () => void): Promise<unknown>;
  read(path: string): Tensor[];
}

const LATER: Record<string, Later> = {
  "a.safetensors": {
    save: (value, path, onProgress) => io.saveSafetensorsAsync(tensors(value), path, { onProgress }),
    read: (path) => record(io.loadSafetensors(path)),
  },
  "td.safetensors": {
    save: (value, path, onProgress) => tensordict.toSafetensorsAsync(td(value) as never, path, { onProgress }),
    read: (path) => entries(tensordict.fromSafetensors(path)),
  },
  "a.npz": {
    save: (value, path, onProgress) => io.saveNpzAsync(path, tensors(value), { onProgress }),
    read: (path) => record(io.loadNpz(path)),
  },
  "a.npy": {
    save: (value, path, onProgress) => io.saveNpyAsync(path, full([4 * COUNT], value), { onProgress }),
    read: (path) => [io.loadNpy(path)],
  },
  "a.pt": {
    save: (value, path, onProgress) => io.saveTorchAsync(tensors(value), path, { onProgress }),
    read: (path) => record(io.loadTorch(path)),
  },
  "a.tdz": {
    save: (value, path, onProgress) => td(value).memmapAsync(path, { onProgress }),
    read: (path) => entries(TensorDict.loadMemmap(path)),
  },
  "a.consolidated": {
    save: (value, path, onProgress) => td(value).consolidateAsync({ filename: path, onProgress }),
    read: (path) => entries(tensordict.fromConsolidated(path)),
  },
  folder: {
    save: (value, path, onProgress) => td(value).memmapAsync(path, { onProgress }),
    read: (path) => entries(TensorDict.loadMemmap(path)),
  },
  atomic: {
    save: (value, path, onProgress) => td(value).memmapAsync(path, { atomic: true, onProgress }),
    read: (path) => entries(TensorDict.loadMemmap(path)),
  },
  snapshot: {
    save: async (value, path, onProgress) => {
      const state = new io.StateDict(tensors(value));
      const pending = await io.Snapshot.asyncTake({ path, appState: { state }, slabBytes: 2 ** 20, onProgress });
      await pending.wait();
    },
    read: (path) => NAMES.map((name) => new io.Snapshot(path).readObject(`0/state/${name}`) as Tensor),
  },
};

/** Every unfinished file below a folder, and the unfinished folders themselves. */
function unfinished(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(isUnfinished)
    .map((name) => join(folder, name));
}

/** What cleaners and others do with unfinished work. */
const MEDDLERS: Record<string, (path: string) => void> = {
  remove: (path) => rmSync(path, { recursive: true, force: true }),
  "replace by zeros": (path) => {
    if (!statSync(path).isFile()) return;
    const { size } = statSync(path);
    rmSync(path);
    writeFileSync(path, new Uint8Array(size));
  },
};

describe("unfinished files that others remove or replace", () => {
  const random = seeded(Number(ZENSOR_ATTACK_SEED));
  const rounds = Math.ceil(Number(ZENSOR_ATTACK_RUNS) / 10);

  for (const [name, { save, read }] of Object.entries(LATER)) {
    for (const [how, meddle] of Object.entries(MEDDLERS)) {
      test(`${name}, ${how}`, async () => {
        for (let round = 0; round < rounds; round++) {
          const path = join(room.fresh(), name);
          mkdirSync(dirname(path), { recursive: true });
          const old = name !== "snapshot" && random() < 0.5;
          if (old) await save(1, path, () => {});
          const at = Math.floor(random() * 3);
          const share = 0.2 + random();
          let seen = 0;
          const meddling = () => {
            if (seen++ !== at) return;
            for (const each of unfinished(dirname(path))) {
              if (random() < share && existsSync(each)) meddle(each);
            }
          };
          const failed = await save(2, path, meddling).then(
            () => null,
            (error: Error) => error,
          );
          const found = existsSync(path) ? new Set(read(path).flatMap((t) => t.unique().tolist() as number[])) : null;
          if (failed === null) expect([...(found ?? [])]).toEqual([2]);
          else
            expect([failed.constructor.name, found && [...found]]).toEqual([
              expect.stringMatching(/Error/),
              old ? [1] : null,
            ]);
          expect(unfinished(dirname(path))).toEqual([]);
        }
      }, 60_000);
    }
  }
});

/** A file of several parts of which a later one would begin the file anew, in which the earlier ones are missing. */
describe("a large unfinished file that is removed", () => {
  const NBYTES = 150 * 2 ** 20;
  const big = () => ({ a: full([NBYTES], 2, { dtype: "uint8" }) });
  const all = Number(ZENSOR_ATTACK_RUNS) >= 500;
  const ways: Record<string, (path: string, onProgress: () => void) => Promise<unknown>> = {
    "a.safetensors": (path, onProgress) => io.saveSafetensorsAsync(big(), path, { onProgress }),
    folder: (path, onProgress) => new TensorDict(big()).memmapAsync(path, { onProgress }),
    "a.consolidated": (path, onProgress) => new TensorDict(big()).consolidateAsync({ filename: path, onProgress }),
    "a.npz": (path, onProgress) => io.saveNpzAsync(path, big(), { onProgress }),
    "a.npy": (path, onProgress) => io.saveNpyAsync(path, big().a, { onProgress }),
    "a.pt": (path, onProgress) => io.saveTorchAsync(big(), path, { onProgress }),
    "a.tdz": (path, onProgress) => new TensorDict(big()).memmapAsync(path, { onProgress }),
    snapshot: async (path, onProgress) => {
      const state = new io.StateDict(big());
      await (await io.Snapshot.asyncTake({ path, appState: { state }, onProgress })).wait();
    },
  };

  for (const [name, save] of Object.entries(ways).slice(0, all ? undefined : 3)) {
    test(name, async () => {
      const path = join(room.fresh(), name);
      mkdirSync(dirname(path), { recursive: true });
      let removed = 0;
      const saving = save(path, () => {
        if (removed > 0) return;
        for (const each of unfinished(dirname(path))) {
          if (!existsSync(each) || !statSync(each).isFile()) continue;
          rmSync(each);
          removed++;
        }
      });
      await expect(saving).rejects.toThrow(/removed|No such file/);
      expect([existsSync(path), unfinished(dirname(path))]).toEqual([false, []]);
    }, 60_000);
  }
});

describe("the last look and the name are one step", () => {
  const COMING: Record<string, (path: string) => void> = {
    "another file": (path) => {
      rmSync(path);
      writeFileSync(path, "four");
    },
    "a link": (path) => {
      rmSync(path);
      symlinkSync("nothing", path);
    },
    nothing: (path) => rmSync(path),
  };
  for (const [name, come] of Object.entries(COMING)) {
    for (const old of [null, "old"]) {
      test(`${name} comes after the first look, ${old === null ? "nothing" : "a file"} at the target`, async () => {
        const folder = room.fresh();
        mkdirSync(folder, { recursive: true });
        const path = join(folder, "target");
        if (old !== null) writeFileSync(path, old);
        const file = new UnfinishedFile(path);
        writeSync(file.begin(), "ours");
        const placing = runStepsLater(file.placing(4));
        come(file.path);
        await expect(placing).rejects.toThrow("another program removed or replaced it");
        file.close();
        rmSync(file.path, { force: true });
        expect(everythingIn(folder)).toEqual(old === null ? {} : { target: old });
      });
    }
  }
});
