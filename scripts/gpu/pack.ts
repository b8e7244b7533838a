// Packs what `bun run gpu` needs for a machine that has nothing but Linux on x86-64 and NVIDIA's driver:
//   bun run gpu:pack [--preset N] [--out FILE]   then, over there:   tar xf zensor-gpu.tar.xz && ./zensor-gpu/run
// One archive of Bun, the built library, the sources, the cases and the bench. Unpacking takes tar and xz.
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findBun, libraryFile, root, ToolError } from "../toolchain.mjs";

const NAME = "zensor-gpu";

/** Folders and files of the repository, in their places. */
const SOURCES = [
  "package.json",
  "tsconfig.json",
  "LICENSE",
  "src",
  "generated",
  "scripts/gpu",
  "test/conformance",
  "test/spelling.ts",
  "test/seeds",
  "test/fixtures/cases-small",
  "test/fixtures/cases-oracle",
  "bench/statistics.ts",
  "bench/peer.ts",
  "bench/case.ts",
  "bench/peers/gpu_torch.py",
  "bench/peers/gpu-cublas.ts",
];

/** Needs a shell and nothing else; results lie beside it. */
const RUN = `#!/bin/sh
# Checks and measures zensor on this machine's GPU; see README. Arguments go to scripts/gpu/run.ts.
here=$(cd "$(dirname "$0")" && pwd)
# Where this folder cannot be written, results go where the caller is.
out="$here/results"
mkdir -p "$out" 2>/dev/null && [ -w "$out" ] || out="$(pwd)/zensor-gpu-results"
export BUN_RUNTIME_TRANSPILER_CACHE_PATH=0
exec "$here/bun" "$here/scripts/gpu/run.ts" --out "$out" "$@"
`;

const README = `zensor on a GPU

  ./run                       everything, in at most eight minutes; results/GPU.md and gpu.json grow as it goes
  ./run --budget 120          in at most two minutes
  ./run products small        some parts: small conformance documents memory bandwidth products transfers

Needs Linux on x86-64 with glibc and NVIDIA's driver. A python3 with torch, or the one that ZENSOR_ORACLE_PYTHON names,
is measured beside it, and cuBLAS where it is found.
`;

/** Sources without types and comments: half the size, and quicker to start. */
function shorten(folder: string): void {
  const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun", minifyWhitespace: true });
  for (const name of new Bun.Glob("**/*.ts").scanSync(folder)) {
    const file = join(folder, name);
    writeFileSync(file, transpiler.transformSync(readFileSync(file, "utf8")));
  }
}

/** Without pages for readers, sources of the library, and tests that need the rest of the repository. */
const isNeeded = (path: string): boolean => !/\.(md|zig|test\.ts)$/.test(path) || path.includes("test/seeds");

function stage(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const name of SOURCES) {
    const to = join(folder, name);
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(root, name), to, { recursive: true, dereference: true, filter: isNeeded });
  }
  shorten(folder);
  const bun = findBun();
  if (bun === undefined) throw new ToolError("bun is not installed");
  cpSync(bun, join(folder, "bun"), { dereference: true });
  const library = join(folder, "build", "lib", "libzensor.so");
  mkdirSync(dirname(library), { recursive: true });
  cpSync(libraryFile(), library);
  writeFileSync(join(folder, "run"), RUN);
  writeFileSync(join(folder, "README"), README);
  chmodSync(join(folder, "run"), 0o755);
}

/** The archive's file; `preset` is xz's, 9 for the smallest. */
export function packForGpu(file: string, preset = 9): string {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new ToolError("this packs for Linux on x86-64, there");
  const folder = join(root, "build", `gpu-pack-${process.pid}`, NAME);
  stage(folder);
  mkdirSync(dirname(file), { recursive: true });
  // The large files first: what follows them finds nothing alike anyway.
  const names = readdirSync(folder).sort((a, b) => Number(b === "bun") - Number(a === "bun"));
  const words = ["--owner=0", "--group=0", "--numeric-owner", "-C", dirname(folder), "-cf", file, "-I"];
  // Most of it is Bun's machine code, in which calls of one function look alike once they name its address.
  const xz = `xz -T1 --x86 --lzma2=preset=${preset}${preset === 9 ? "e" : ""},lc=4,pb=0`;
  const made = Bun.spawnSync(["tar", ...words, xz, ...names.map((name) => `${NAME}/${name}`)]);
  if (made.exitCode !== 0) throw new ToolError(`tar fails:\n${made.stderr}`);
  rmSync(dirname(folder), { recursive: true });
  return file;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { preset: { type: "string", default: "9" }, out: { type: "string", default: `dist/${NAME}.tar.xz` } },
  });
  const file = packForGpu(resolve(root, values.out), Number(values.preset));
  console.log(
    `${file}  ${(statSync(file).size / 1e6).toFixed(2)} MB; over there: tar xf ${NAME}.tar.xz && ./${NAME}/run`,
  );
}
