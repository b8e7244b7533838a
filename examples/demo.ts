// The main job: saves the weights of a Transformer as a folder of memory-mapped tensors, loads them and compares.
// `npm run demo` runs it. Options: --keep leaves the folder, --threads <n> sets the number of writing threads.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { directoryTree, manualSeed, nn, TensorDict } from "zensor";

const MB = 1e6;

/** Runs `body`, prints how long it took, and at which rate when it moved bytes. */
function timed<T>(label: string, body: () => T, bytes = 0): T {
  const start = performance.now();
  const result = body();
  const ms = performance.now() - start;
  const rate = bytes > 0 ? `   ${Math.round(bytes / MB / (ms / 1000))} MB/s` : "";
  console.log(`${label.padEnd(42)}${ms.toFixed(1).padStart(9)} ms${rate}`);
  return result;
}

function run(folder: string, numThreads: number): boolean {
  manualSeed(0);
  const model = timed("nn.Transformer() with random weights", () => new nn.Transformer());
  const weights = timed("TensorDict.fromModule", () => TensorDict.fromModule(model));
  const leaves = weights.keys({ includeNested: true, leavesOnly: true }).length;
  const bytes = weights.bytes();
  const path = join(folder, "transformer");

  const saved = timed(`memmap, ${numThreads} thread(s)`, () => weights.memmap(path, { numThreads }), bytes);
  const loaded = timed("loadMemmap (maps, reads nothing yet)", () => TensorDict.loadMemmap(path));
  const same = timed("compare every weight with the original", () => weights.eq(loaded).all() === true, bytes);

  console.log(`\n${leaves} tensors, ${(bytes / MB).toFixed(1)} MB in ${saved.savedPath}`);
  console.log(directoryTree(path, { maxDepth: 2, maxLines: 12 }));
  console.log(same ? "\nThe loaded weights equal the model's." : "\nThe loaded weights DIFFER from the model's.");
  return same;
}

const { values } = parseArgs({ options: { keep: { type: "boolean" }, threads: { type: "string", default: "2" } } });
const threads = Number(values.threads);
if (!Number.isInteger(threads) || threads < 1 || threads > 256) {
  console.error(`--threads takes a number from 1 to 256, not ${values.threads}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "zensor-demo-"));
try {
  process.exitCode = run(folder, threads) ? 0 : 1;
} finally {
  if (values.keep) console.log(`kept: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}
