// Restores a snapshot's 256 MB into a mapped tensor, and prints how far this process's memory grew meanwhile, and the
// sum of what was read.
import "../../src/install.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { MemoryMappedTensor } from "../../src/tensordict/index.ts";

const [path, budget] = process.argv.slice(2) as [string, string];
const MIB = 2 ** 20;

/** Bytes of this process that are in memory: now, or at most since the last reset. */
function memory(which: "VmRSS" | "VmHWM"): number {
  if (process.platform !== "linux") return 0;
  return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}

const target = MemoryMappedTensor.empty([64, MIB], { filename: join(path, "target") });
const appState = { state: new StateDict({ tensor: target }) };
const options = budget === "none" ? {} : { memoryBudgetBytes: Number(budget) };
const snapshot = new Snapshot(join(path, "snapshot"));
// The code that is needed is there before anything is measured.
snapshot.readObject("0/small/x", options);
if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
const before = memory("VmRSS");
snapshot.restore({ appState, ...options });
const grown = memory("VmHWM") - before;
console.log(grown, target.sum().item());
