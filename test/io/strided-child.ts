// Saves 600 MB of transposed tensors and prints, as JSON: how far this process's memory grew meanwhile, whether the
// same is read back, how many native bytes stayed, and for a save in the background that was stopped midway what is in
// the folder then.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import { arange, type Tensor, TensorDict } from "../../src/index.ts";
import type { BackgroundOptions } from "../../src/io/disk/file-jobs.ts";
import type { Td } from "../../src/tensordict/core/state.ts";

const [method, folder] = process.argv.slice(2) as [string, string];
const MIB = 2 ** 20;
const COUNT = 12;
const ROWS = 1024;

function memory(which: "VmRSS" | "VmHWM"): number {
  return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}

const flat = arange((50 * MIB) / 4).float();
const make = (i: number, columns = -1) => {
  return (columns < 0 ? flat : flat.narrow(0, 0, ROWS * columns)).add(i).view(ROWS, -1).t();
};
const collection = (columns = -1, first = 0) => {
  const entries = Array.from({ length: COUNT }, (_, i) => [`w${i}`, make(first + i, columns)]);
  return new TensorDict(Object.fromEntries(entries), []) as unknown as Td;
};

type Save = (td: Td, path: string, options: BackgroundOptions) => unknown;
const SAVES: Record<string, Save> = {
  memmap: (td, path) => td.memmap(path),
  memmapAsync: (td, path, options) => td.memmapAsync(path, options),
  ".tdz": (td, path) => td.memmap(path, { archive: true }),
};

const save = SAVES[method] as Save;
const path = join(folder, "saved");

/** Saves with the result let go of. */
async function saved(td: Td, options: BackgroundOptions = {}): Promise<void> {
  await save(td, path, options);
}

async function liveBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    Bun.gc(true);
    await Bun.sleep(5);
  }
  return native.zs_live_bytes();
}

const td = collection();
// The code that is needed is there before anything is measured.
await saved(collection(16));
rmSync(path, { recursive: true });
const live = await liveBytes();
writeFileSync("/proc/self/clear_refs", "5");
const before = memory("VmRSS");
await saved(td);
const grown = memory("VmHWM") - before;
const kept = (await liveBytes()) - live;

let left: string[] | null = null;
if (method.endsWith("Async")) {
  const stop = new AbortController();
  try {
    await saved(collection(-1, 100), {
      signal: stop.signal,
      onProgress(done, total) {
        if (done > total / 2) stop.abort();
      },
    });
  } catch (error) {
    if ((error as Error).name === "AbortError") left = readdirSync(folder);
  }
}
let equal = true;
for (const [key, tensor] of TensorDict.loadMemmap(path).items() as Iterable<[string, Tensor]>) {
  equal &&= tensor
    .eq(td.get(key as never) as Tensor)
    .all()
    .item() as boolean;
}
console.log(JSON.stringify({ grown, equal, live: kept, left }));
