// Data larger than memory: a dataset preallocated as sparse files and filled by two processes, ten rows of it read, and
// twelve gigabytes converted. Prints what it measured; needs 30 GB of disk. bun scripts/large.ts [FOLDER]
import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadMemmap, MemoryMappedTensor, randint, TensorDict, uint8, zeros } from "../src/index.ts";

const GIB = 2 ** 30;
const MIB = 2 ** 20;

function status(): { resident: number; minor: number; major: number } {
  const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") as string[];
  return { resident, minor: Number(fields[7]), major: Number(fields[9]) };
}

function blocks(path: string): number {
  return statSync(path).blocks * 512;
}

function measured<T>(what: string, work: () => T): T {
  const [before, start] = [status(), performance.now()];
  const result = work();
  const [after, ms] = [status(), performance.now() - start];
  const grown = ((after.resident - before.resident) / MIB).toFixed(1);
  const faults = `${after.minor - before.minor} page faults, ${after.major - before.major} with reading`;
  console.log(`${what}: ${ms.toFixed(1)} ms, resident memory +${grown} MiB, ${faults}`);
  return result;
}

async function child(...args: string[]): Promise<{ code: number; peak: number; seconds: number }> {
  const start = performance.now();
  const process_ = Bun.spawn([process.execPath, ...args], { stdio: ["ignore", "inherit", "inherit"] });
  const code = await process_.exited;
  return { code, peak: process_.resourceUsage()?.maxRSS ?? 0, seconds: (performance.now() - start) / 1000 };
}

const ROWS = 1_000_000;

function fill(path: string, begin: number, end: number): void {
  const images = loadMemmap(path, { mode: "r+" }).get("image");
  for (let row = begin; row < end; row++) images.at(row).fill_(row);
}

async function dataset(folder: string): Promise<void> {
  const path = join(folder, "dataset");
  const datum = new TensorDict({ image: randint(255, [3, 64, 64]), label: 0 }, []);
  measured("expand(1_000_000).memmapLike", () => datum.expand(ROWS).memmapLike(path));
  const file = join(path, "image.memmap");
  console.log(
    `  ${(statSync(file).size / 1e9).toFixed(1)} GB, of which ${(blocks(file) / MIB).toFixed(1)} MiB are on the disk`,
  );
  const workers = [0, 500_000].map((begin) =>
    child(import.meta.path, "fill", path, String(begin), String(begin + 1000)),
  );
  const codes = (await Promise.all(workers)).map(({ code }) => code);
  console.log(`two processes filled 1,000 rows each at once: exit codes ${codes.join(" and ")}`);
  const images = loadMemmap(path).get("image");
  const seen = [0, 999, 1000, 500_999].map((row) => images.at(row).sum().item());
  console.log(`  rows 0, 999, 1000 and 500999 sum to ${seen.join(", ")} (12288 elements each)`);
  const big = join(folder, "images.memmap");
  const all = measured("MemoryMappedTensor.empty([1_000_000, 3, 480, 480])", () =>
    MemoryMappedTensor.empty([ROWS, 3, 480, 480], { dtype: uint8, filename: big }),
  );
  console.log(
    `  ${(statSync(big).size / 1e9).toFixed(1)} GB, of which ${(blocks(big) / MIB).toFixed(1)} MiB are on the disk`,
  );
  const batch = all.at("500000:500010");
  const pages = (10 * 3 * 480 * 480) / 4096;
  measured(`ten rows read (${pages.toFixed(1)} pages of 4096 bytes)`, () => batch.sum().item());
}

async function conversion(folder: string): Promise<void> {
  const [directory, file, back] = ["td", "td.safetensors", "back"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const leaf = 512 * MIB;
  const td = TensorDict.fromDict(
    Object.fromEntries(Array.from({ length: 24 }, (_, i) => [`w${i}`, zeros([], { dtype: uint8 }).expand(leaf)])),
  );
  td.memmapLike(directory);
  const chunk = new Uint8Array(64 * MIB);
  for (let i = 0; i < 24; i++) {
    const writer = Bun.file(join(directory, `w${i}.memmap`)).writer();
    for (let at = 0; at < leaf; at += chunk.length) {
      crypto.getRandomValues(chunk.subarray(0, 65_536));
      writer.write(chunk);
      await writer.flush();
    }
    await writer.end();
  }
  console.log(`a directory of 24 tensors, ${((24 * leaf) / GIB).toFixed(0)} GiB`);
  const cli = join(import.meta.dir, "..", "src", "cli", "main.ts");
  for (const [from, to] of [
    [directory, file],
    [file, back],
  ] as const) {
    const { code, peak, seconds } = await child(cli, "convert", from, to, "--quiet");
    const size = ((24 * leaf) / seconds / 1e9).toFixed(2);
    const speed = `${seconds.toFixed(1)} s (${size} GB/s), at most ${(peak / MIB).toFixed(0)} MiB of memory`;
    console.log(`convert to ${to.slice(folder.length + 1)}: exit code ${code}, ${speed}`);
    if (from === file) rmSync(file);
  }
  const hash = (path: string) => {
    const hasher = new Bun.CryptoHasher("blake2b256");
    hasher.update(readFileSync(path));
    return hasher.digest("hex");
  };
  const same = [0, 11, 23].every((i) => hash(join(directory, `w${i}.memmap`)) === hash(join(back, `w${i}.memmap`)));
  console.log(`three tensors compared: ${same ? "the same" : "NOT the same"}`);
}

if (process.argv[2] === "fill") {
  fill(process.argv[3] as string, Number(process.argv[4]), Number(process.argv[5]));
} else {
  const folder = join(process.argv[2] ?? tmpdir(), `zensor-large-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    await dataset(folder);
    await conversion(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
