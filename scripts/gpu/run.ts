// Checks and measures zensor on a GPU: `bun run gpu [part...]`.
//   --budget SECONDS   the time for all of it, 480
//   --sizes small      everything runs, little is measured: for the stand-in driver
//   --out FOLDER       where gpu.json and GPU.md go, bench/ unless the driver is emulated
// Results are written as they come. The stand-in's (`ZENSOR_LIBCUDA`) are labelled emulated, and never replace a GPU's.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { attribute, problem } from "../../src/cuda/driver.ts";
import * as z from "../../src/index.ts";
import { bandwidth } from "./bandwidth.ts";
import { conformance, memory } from "./checks.ts";
import { documents } from "./documents.ts";
import { networks } from "./networks.ts";
import { isLate, type Part, type Run } from "./parts.ts";
import { bandwidthOf, type Facts } from "./peak.ts";
import { Peers } from "./peers.ts";
import { products } from "./products.ts";
import { type Kind, type PartState, Results } from "./results.ts";
import { small } from "./small.ts";
import { tests } from "./tests.ts";
import { clockName } from "./timing.ts";
import { transfers } from "./transfers.ts";

/**
 * In their order, each with its share of what time is left when it begins. Small operators come first: theirs is the
 * time of the host's code, which the compiler has not seen do anything else yet.
 */
const PARTS: readonly (readonly [name: string, share: number, part: Part])[] = [
  ["small", 0.15, small],
  ["conformance", 0.2, conformance],
  ["documents", 0.1, documents],
  ["memory", 0.15, memory],
  ["bandwidth", 0.5, bandwidth],
  ["products", 0.6, products],
  ["networks", 0.7, networks],
  ["transfers", 1, transfers],
  ["tests", 1, tests],
];

// Its own kernels are what is measured.
process.env.ZENSOR_CUDA_LIBS ??= "off";

const NAMES = PARTS.map(([name]) => name);
const home = join(import.meta.dir, "..", "..");

/** Numbers of CUDA for attributes of a device. */
const ATTRIBUTES = { clock: 13, multiprocessors: 16, memoryClock: 36, busWidth: 37, cache: 38, threads: 39, ecc: 32 };

function attributeOf(which: keyof typeof ATTRIBUTES): number | null {
  try {
    return attribute(0, ATTRIBUTES[which]) || null;
  } catch {
    return null;
  }
}

function facts(peers: Peers): Facts & Record<string, string | number | null> {
  const { major, minor, totalMemory } = z.cuda.getDeviceProperties(0);
  const known: Facts = {
    capability: `${major}.${minor}`,
    multiprocessors: attributeOf("multiprocessors") ?? 0,
    clock: attributeOf("clock"),
    memoryClock: attributeOf("memoryClock"),
    busWidth: attributeOf("busWidth"),
  };
  return {
    device: z.cuda.getDeviceName(0),
    devices: z.cuda.deviceCount(),
    driver: `CUDA ${z.cuda.getDriverVersion()}`,
    "memory, GiB": Number((totalMemory / 2 ** 30).toFixed(2)),
    ...known,
    "bandwidth of the memory, GB/s": Math.round((bandwidthOf(known) ?? 0) / 1e9),
    "cache, MiB": (attributeOf("cache") ?? 0) / 2 ** 20,
    bun: Bun.version,
    timed: `by ${clockName()}`,
    PyTorch: peers.found.torch,
    cuBLAS: peers.found.cublas,
  };
}

async function runParts(run: Run, wanted: readonly string[], end: number): Promise<boolean> {
  let good = true;
  for (const [name, share, part] of PARTS) {
    const start = performance.now();
    const note = (state: Partial<PartState>): void => {
      const seconds = (performance.now() - start) / 1000;
      const late = isLate(run) ? "out of time" : "done";
      run.results.record.parts[name] = { state: late, ...state, seconds };
      run.results.write();
      const { state: how, note: why = "" } = run.results.record.parts[name] as PartState;
      console.log(`${name.padEnd(12)} ${how.padEnd(12)} ${seconds.toFixed(1).padStart(6)} s   ${why}`);
      if (how === "failed") good = false;
    };
    run.until = start + share * (end - start);
    if (!wanted.includes(name)) run.results.record.parts[name] = { state: "left out", seconds: 0 };
    else if (start > end) note({ state: "out of time" });
    else {
      try {
        note((await part(run)) ?? {});
      } catch (error) {
        note({ state: "failed", note: String((error as Error).message ?? error).split("\n")[0] });
      }
    }
  }
  return good;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      budget: { type: "string", default: "480" },
      sizes: { type: "string", default: "full" },
      out: { type: "string" },
    },
  });
  const budget = Number(values.budget);
  const unknown = positionals.filter((name) => !NAMES.includes(name));
  if (unknown.length > 0 || !(budget > 0) || !["full", "small"].includes(values.sizes)) {
    console.error(`usage: bun run gpu [${NAMES.join("|")}...] [--budget seconds] [--sizes small] [--out folder]`);
    return 2;
  }
  const end = performance.now() + 1000 * budget;
  const absent = problem();
  const kind: Kind = absent !== null ? "none" : process.env.ZENSOR_LIBCUDA ? "emulated" : "device";
  const device = absent === null ? z.cuda.getDeviceName(0) : absent.message;
  const aside = join(home, "build", "gpu");
  const folder = values.out === undefined ? (kind === "emulated" ? aside : join(home, "bench")) : resolve(values.out);
  const results = new Results(kind, device, values.sizes, budget, folder, aside);
  console.log(`${kind === "emulated" ? "emulated: " : ""}${device}; results in ${dirname(results.file)}`);
  if (absent !== null) return 0;
  const peers = await Peers.find(kind === "emulated", home);
  results.record.facts = facts(peers);
  results.write();
  const fixtures = join(home, "test", "fixtures");
  if (!existsSync(fixtures)) console.log(`there are no cases in ${fixtures}`);
  const run: Run = { results, small: values.sizes === "small", peers, fixtures, until: end };
  const good = await runParts(run, positionals.length > 0 ? positionals : NAMES, end);
  await peers.close();
  return good ? 0 : 1;
}

process.exit(await main());
