// Commands that are killed at any moment: what was there before stays or the new is there whole, nothing else changes,
// and after the next command nothing of the killed one is left. To look further, by environment:
//   ZENSOR_ATTACK_SEED=7     other moments
//   ZENSOR_ATTACK_RUNS=500   so many runs
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { full, io, type Tensor, TensorDict, tensordict } from "../../src/index.ts";
import { rounds } from "../campaign.ts";
import { started, zensor } from "../cli/run.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";
import { everythingIn, furnish, oneOf, seeded } from "./folders.ts";

const { ZENSOR_ATTACK_SEED = "1", ZENSOR_ATTACK_RUNS } = process.env;
const RUNS = Number(ZENSOR_ATTACK_RUNS ?? rounds(28, 84));
const room = temporaryDirectory();
afterAll(room.remove);

const COUNT = 1_000_000;
const NAMES = ["a", "b", "c"];
/** Files whose elements are all 1, and all 2. */
const sources = [1, 2].map((value) => {
  const path = join(room.path, `source-${value}.safetensors`);
  io.saveSafetensors(Object.fromEntries(NAMES.map((name) => [name, full([COUNT], value)])), path);
  return path;
}) as [string, string];

const ofObject = (held: unknown) => NAMES.map((name) => (held as Record<string, Tensor>)[name] as Tensor);
const ofTd = (held: unknown) => NAMES.map((name) => (held as TensorDict).get(name) as Tensor);
const READERS: Record<string, (path: string) => Tensor[]> = {
  "t.safetensors": (path) => ofObject(io.loadSafetensors(path)),
  "t.pt": (path) => ofObject(io.loadTorch(path)),
  "t.npz": (path) => ofObject(io.loadNpz(path)),
  "t.tdz": (path) => ofTd(TensorDict.loadMemmap(path)),
  "t.consolidated": (path) => ofTd(tensordict.fromConsolidated(path)),
  t: (path) => ofTd(TensorDict.loadMemmap(path)),
  "t.snapshot": (path) => NAMES.map((name) => new io.Snapshot(path).readObject(`0/state/${name}`) as Tensor),
};
const COMMANDS: Record<string, (source: string, target: string) => string[]> = {
  convert: (source, target) => ["convert", source, target],
  slice: (source, target) => ["slice", source, target, "--rows", `0:${COUNT}`, "--keys", NAMES.join()],
  merge: (source, target) => ["merge", source, target],
};

/** What a target holds: null for nothing, else the value that all its elements have. */
function valueAt(path: string, read: (path: string) => Tensor[]): number | null {
  if (!existsSync(path)) return null;
  const values = new Set<number>();
  for (const tensor of read(path)) {
    expect(tensor.numel()).toBe(COUNT);
    for (const end of [tensor.min(), tensor.max()]) values.add(end.item() as number);
  }
  expect(values.size).toBe(1);
  return [...values][0] as number;
}

/** Kills a command some time after it has begun to write, or at any time. */
async function killed(args: string[], folder: string, random: () => number, usual: number): Promise<void> {
  const before = readdirSync(folder).length;
  const child = started(args, { TMPDIR: join(room.path, "tmp") });
  const until = performance.now() + usual * 1.2 * random();
  if (random() < 0.7) {
    while (readdirSync(folder).length === before && child.exitCode === null) await Bun.sleep(1);
    await Bun.sleep(usual * 0.25 * random() ** 2);
  } else while (performance.now() < until && child.exitCode === null) await Bun.sleep(1);
  child.kill("SIGKILL");
  await child.exited;
}

describe("killed commands", () => {
  mkdirSync(join(room.path, "tmp"));
  for (const [i, [name, read]] of Object.entries(READERS).entries()) {
    const runs = Math.ceil(RUNS / Object.keys(READERS).length);
    test(
      `${name}, ${runs} times`,
      async () => {
        const random = seeded(Number(ZENSOR_ATTACK_SEED) * 1000 + i);
        const folder = room.fresh();
        mkdirSync(folder, { recursive: true });
        furnish(folder);
        const target = join(folder, name);
        const bystanders = everythingIn(folder);
        const others = () =>
          Object.fromEntries(Object.entries(everythingIn(folder)).filter(([at]) => at in bystanders));
        const [old, next] = sources;
        const start = performance.now();
        const probe = started(["convert", old, target, "--quiet"], { TMPDIR: join(room.path, "tmp") });
        expect(await probe.exited).toBe(0);
        const usual = performance.now() - start;
        for (let run = 0; run < runs; run++) {
          const hadOne = random() < 0.7;
          if (!hadOne) rmSync(target, { recursive: true, force: true });
          const before = valueAt(target, read);
          const command = oneOf(random, Object.values(COMMANDS))(before === 1 ? next : old, target);
          await killed([...command, "--force", "--quiet"], folder, random, usual);
          const made = before === 1 ? 2 : 1;
          // Nothing is lost: the old one is there, or the new one.
          expect([before, made]).toContain(valueAt(target, read));
          expect(others()).toEqual(bystanders);
          const again = await zensor("convert", before === 1 ? next : old, target, "--force", "--quiet");
          expect(again).toMatchObject({ code: 0 });
          expect(valueAt(target, read)).toBe(made);
          // And nothing is left.
          expect(readdirSync(folder).sort()).toEqual(
            [...new Set(Object.keys(bystanders).filter(isOutermost)), name].sort(),
          );
        }
      },
      60_000 + RUNS * 2_000,
    );
  }

  test("temporary copies of places in stores", () => expect(readdirSync(join(room.path, "tmp"))).toEqual([]));
});

function isOutermost(name: string): boolean {
  return !name.includes("/");
}
