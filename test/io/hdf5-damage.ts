// A process of its own for damaged HDF5 files: the library itself may end it.
//   hdf5-damage.ts FILE DIRECTORY FROM TO   damages the file in the ways of these seeds, and reads what is left of it
// Prints "begin SEED" before each and "read SEED" or "refused SEED ERROR" after it.
import "../../src/install.ts";
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { TensorDict } from "../../src/tensordict/index.ts";

const [source = "", directory = "", from = "0", to = "0"] = process.argv.slice(2);
const whole = readFileSync(source);

/** Numbers below a bound that depend on the seed only. */
function randomOf(seed: number): (bound: number) => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  };
}

function damaged(seed: number): Buffer {
  const random = randomOf(seed);
  if (seed % 4 === 0) return whole.subarray(0, random(whole.length));
  const bytes = Buffer.from(whole);
  for (let i = 1 + random(6); i > 0; i--) {
    const at = random(bytes.length);
    if (random(2) === 0) bytes[at] = (bytes[at] as number) ^ (1 << random(8));
    else bytes[at] = [0, 1, 127, 128, 255][random(5)] as number;
  }
  return bytes;
}

for (let seed = Number(from); seed < Number(to); seed++) {
  const path = join(directory, "damaged.h5");
  writeFileSync(path, damaged(seed));
  writeSync(1, `begin ${seed}\n`);
  try {
    using td = TensorDict.fromH5(path);
    String(td.toTensorDict());
    writeSync(1, `read ${seed}\n`);
  } catch (error) {
    const { name, message } = error as Error;
    writeSync(1, `refused ${seed} ${name} ${JSON.stringify(message.slice(0, 200))}\n`);
  }
}
writeSync(1, `memory ${process.memoryUsage.rss()}\n`);
