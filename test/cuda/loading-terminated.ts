// Terminates Workers while native threads read a file into their pinned memory. Prints whether one was met midway, and
// whether what is loaded afterwards is right: a block that served again too early would have the bytes of two loads.
import { native } from "../../src/ffi/library.ts";
import { arange, equal, loadAsync, type Tensor } from "../../src/index.ts";

const [path = ""] = process.argv.slice(2);
const ROUNDS = 8;

/** Loads the file again and again. */
async function loadAll(): Promise<never> {
  for (;;) {
    const there = (await loadAsync(path, { device: "cuda" })) as Record<string, Tensor>;
    for (const t of Object.values(there)) t.dispose();
    postMessage("loaded");
  }
}

async function terminateAll(): Promise<void> {
  let midway = false;
  for (let round = 0; round < ROUNDS; round++) {
    const worker = new Worker(import.meta.path, { argv: [path] });
    await new Promise((resolve, reject) => {
      worker.onmessage = resolve;
      worker.onerror = (event) => reject(new Error(event.message));
    });
    await Bun.sleep((round * 7) % 40);
    midway ||= native.zs_cuda_host_live_bytes() > 0;
    worker.terminate();
  }
  const there = (await loadAsync(path, { device: "cuda" })) as Record<string, Tensor>;
  const large = there.large as Tensor;
  const right = equal(large.cpu(), arange(large.numel(), { dtype: "float32" }));
  console.log(JSON.stringify({ right, midway }));
}

if (Bun.isMainThread) await terminateAll();
else await loadAll();
