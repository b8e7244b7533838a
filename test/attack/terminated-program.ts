// Terminates Workers in the middle of their saves. Prints how many it met, and what is left: blocks, mappings, and
// unfinished names.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import { threadLives, threadWasKept } from "../../src/ffi/threads.ts";
import { io, ones, TensorDict } from "../../src/index.ts";

const [folder = "", rounds = "8"] = process.argv.slice(2);
const settle = async (done: () => boolean, turns = 300) => {
  for (let i = 0; i < turns && !done(); i++) await Bun.sleep(20);
};

const unfinished = () => readdirSync(folder).filter((name) => /\.(tmp|new|old)-|\.tdtmp-/.test(name));
/** Rounds that ended while a file was being written. */
let midway = 0;
const threads: number[] = [];
const before = { bytes: native.zs_live_bytes(), maps: native.zs_io_live_maps() };
for (let round = 0; round < Number(rounds); round++) {
  const worker = new Worker(join(import.meta.dir, "worker-program.ts"));
  const begun = new Promise<number>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
  worker.postMessage({ kind: round, folder, lent: (round >> 3) % 2 === 1 });
  threads.push(await begun);
  await Bun.sleep((round * 7) % 40);
  // On a busy machine native threads may not have had a turn yet.
  if (midway === 0) await settle(() => unfinished().length > 0, 50);
  if (unfinished().length > 0) midway++;
  worker.terminate();
}
/** Workers whose heap the runtime kept although they have ended: what they own is not given back. */
const kept = () => threads.filter(threadWasKept).length;
await settle(() => threads.every((one) => !threadLives(one)));
await settle(() => kept() > 0 || (native.zs_live_bytes() <= before.bytes && native.zs_io_live_maps() <= before.maps));

// The next save to each place removes what is left there, although this process lives; a second one where native
// threads were still filling a directory.
const small = new TensorDict({ a: ones(3) }, []);
for (let save = 0; save < 2 && unfinished().length > 0; save++) {
  await small.memmapAsync(join(folder, "directory"));
  small.memmap(join(folder, "atomic"), { atomic: true });
  small.memmap(join(folder, "archive.tdz"));
  io.saveSafetensors({ a: ones(3) }, join(folder, "safetensors"));
  io.saveNpz(join(folder, "npz.npz"), { a: ones(3) });
  io.saveTorch({ a: ones(3) }, join(folder, "pt"));
  small.consolidate({ filename: join(folder, "consolidated") });
  rmSync(join(folder, "snapshot"), { recursive: true, force: true });
  io.Snapshot.take({ path: join(folder, "snapshot"), appState: { small } as never });
  if (unfinished().length > 0) await Bun.sleep(1500);
}
console.log(
  JSON.stringify({
    kept: kept(),
    over: native.zs_live_bytes() - before.bytes,
    maps: native.zs_io_live_maps() - before.maps < 20,
    midway,
    after: unfinished(),
  }),
);
