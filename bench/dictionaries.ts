// What 100,000 dictionaries of two small tensors take of the machine's memory, here and in Python.
//   bun bench/dictionaries.ts
import { TensorDict, zeros } from "zensor";
import { findPython } from "./peer.ts";

const COUNT = 100_000;
const THEIRS = `
import gc, torch
from tensordict import TensorDict
make = lambda: TensorDict({"a": torch.zeros(3), "b": torch.zeros(4)}, [])
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
kept = [make() for _ in range(2000)]
gc.collect()
before = resident()
kept += [make() for _ in range(${COUNT})]
gc.collect()
print((resident() - before) / ${COUNT})
`;

/** Held until the end: the collector takes what a function does not look at any more. */
const kept: unknown[] = [];

function ours(): number {
  const make = () => new TensorDict({ a: zeros(3), b: zeros(4) }, []);
  for (let i = 0; i < 2000; i++) kept.push(make());
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  for (let i = 0; i < COUNT; i++) kept.push(make());
  Bun.gc(true);
  return (process.memoryUsage.rss() - before) / COUNT;
}

function theirs(): number | null {
  const python = findPython();
  return python === null ? null : Number(Bun.spawnSync([python, "-W", "ignore", "-c", THEIRS]).stdout);
}

console.log(`ours ${ours().toFixed(0)} bytes each, Python's ${theirs()?.toFixed(0) ?? "not measured"}`);
