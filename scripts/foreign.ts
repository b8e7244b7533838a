// Runs tests on Linux platforms that this machine is not: ARM64 under qemu, musl with a loader of its own.
// Nothing is installed: Bun comes from npm, the emulator and the C and C++ libraries from Debian and PyPI, all into
// .cache/engines; where something cannot be had it says so.
//   bun scripts/foreign.ts [arm64] [musl] [--only TEST...]     without names both
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { readOutcome } from "./gpu/tests.ts";
import { crossBuild, PLATFORMS } from "./pack/platforms.ts";
import { findZig, root, toolEnv } from "./toolchain.mjs";

const engines = join(root, ".cache", "engines", "foreign");
const MINUTES = 60_000;

/** Whether scripts/engines.sh found the means: the test driver fetches nothing on its own account. */
export function isFetchAllowed(): boolean {
  return existsSync(engines);
}

interface Place {
  package: string;
  bun: string;
  /** Words before the arguments of `bun`, or why they cannot be had. */
  prepare(): string[];
  env: Record<string, string>;
}

function done(words: string[], cwd = engines, env: Record<string, string> = {}): void {
  const { success, stderr } = Bun.spawnSync(words, { cwd, env: toolEnv(env), timeout: 5 * MINUTES });
  if (!success) throw new Error(`${words.join(" ")}: ${stderr.toString().trim().split("\n").at(-1)}`);
}

/** Debian packages, unpacked into a folder. */
function debian(folder: string, ...names: string[]): string {
  const place = join(engines, folder);
  if (existsSync(place)) return place;
  const packed = join(engines, `${folder}-packed`);
  mkdirSync(packed, { recursive: true });
  done(["apt-get", "download", ...names], packed);
  for (const file of readdirSync(packed)) done(["dpkg", "-x", join(packed, file), `${place}-new`]);
  done(["mv", `${place}-new`, place]);
  return place;
}

/** Bun for another platform, in the version of this one. */
function bunFor(name: string): string {
  const file = join(engines, "node_modules", "@oven", name, "bin", "bun");
  if (!existsSync(file)) {
    const flags = ["--force", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    const all = [name, ...["bun-linux-aarch64", "bun-linux-x64-musl"].filter((one) => one !== name)];
    done(["npm", "install", ...flags, ...all.map((one) => `@oven/${one}@${Bun.version}`)]);
  }
  return file;
}

function arm64(): string[] {
  const place = debian(
    "arm64",
    "qemu-user-static",
    "libc6-arm64-cross",
    "libstdc++6-arm64-cross",
    "libgcc-s1-arm64-cross",
  );
  const emulator = join(place, "usr", "bin", "qemu-aarch64-static");
  return [emulator, "-L", join(place, "usr", "aarch64-linux-gnu"), bunFor("bun-linux-aarch64")];
}

// The loader's name in Bun's file is replaced by one of these letters at most: a link in the folder where tests run.
const LOADER = "/lib/ld-musl-x86_64.so.1";
const LINK = ".cache/ld-musl";
// Two functions that its C++ library is too old for; both end a program that is lost already.
const NEWER = ["_ZSt21__glibcxx_assert_failPKciS0_S0_", "_ZSt28__throw_bad_array_new_lengthv"];
// This wheel brings a C++ library that Debian's musl can load: later ones pack their relocations.
const WHEEL = "kiwisolver==1.4.5";

const muslLibraries = () => join(engines, "musl-libraries");

function musl(): string[] {
  const loader = join(debian("musl", "musl"), "lib", "x86_64-linux-musl", "libc.so");
  const [libraries, copy] = [muslLibraries(), join(engines, "bun-musl")];
  if (!existsSync(libraries)) {
    const made = `${libraries}-new`;
    const pip = [
      "python3",
      "-m",
      "pip",
      "download",
      "--quiet",
      "--no-deps",
      "--only-binary=:all:",
      "--python-version=3.12",
    ];
    done([...pip, "--platform=musllinux_1_1_x86_64", "--dest", engines, WHEEL]);
    const wheel = readdirSync(engines).find((name) => name.endsWith(".whl")) as string;
    done(["python3", "-m", "zipfile", "-e", wheel, `${made}-wheel`]);
    mkdirSync(made, { recursive: true });
    const brought = join(`${made}-wheel`, "kiwisolver.libs");
    for (const name of readdirSync(brought)) {
      writeFileSync(join(made, name.replace(/^libstdc\+\+.*/, "libstdc++.so.6")), readFileSync(join(brought, name)));
    }
    const source = join(made, "newer.c");
    writeFileSync(source, NEWER.map((name) => `void ${name}(void) { __builtin_trap(); }\n`).join(""));
    const shape = ["-target", "x86_64-linux-musl", "-nostdlib", "-fno-sanitize=all", "-shared"];
    done([findZig() ?? "zig", "cc", ...shape, "-o", join(made, "newer.so"), source]);
    done(["mv", made, libraries]);
  }
  if (!existsSync(copy)) {
    const bytes = readFileSync(bunFor("bun-linux-x64-musl"));
    const at = bytes.indexOf(LOADER);
    bytes.fill(0, at, at + LOADER.length).write(LINK, at);
    writeFileSync(copy, bytes);
    chmodSync(copy, 0o755);
  }
  rmSync(join(root, LINK), { force: true });
  symlinkSync(relative(join(root, ".cache"), loader), join(root, LINK));
  return [copy];
}

const PLACES: Record<string, Place> = {
  arm64: { package: "zensor-linux-arm64-gnu", bun: "bun-linux-aarch64", prepare: arm64, env: {} },
  musl: {
    package: "zensor-linux-x64-musl",
    bun: "bun-linux-x64-musl",
    prepare: musl,
    env: { LD_LIBRARY_PATH: muslLibraries(), LD_PRELOAD: join(muslLibraries(), "newer.so") },
  },
};

/** Tests that start programs, which cannot be had there, or that measure memory, which is the emulator's. */
const ELSEWHERE = /spawn|child\.ts|inChild|strided-bytes|residentBytes|hdf5/;

function testFiles(): string[] {
  const rooms = ["ops", "tensordict", "io"].map((room) => join("test", room));
  const all = rooms.flatMap((room) => readdirSync(join(root, room)).map((name) => join(room, name)));
  return all.filter((file) => file.endsWith(".test.ts") && !ELSEWHERE.test(readFileSync(join(root, file), "utf8")));
}

export interface ForeignResult {
  passed: number;
  failed: number;
  output: string;
  /** Why nothing ran. */
  absent?: string;
}

/** Compiles the library for a place and runs test files there. */
export async function runThere(
  name: string,
  files: readonly string[] = testFiles(),
  settings: Readonly<Record<string, string>> = {},
): Promise<ForeignResult> {
  const place = PLACES[name] as Place;
  let words: string[];
  try {
    mkdirSync(engines, { recursive: true });
    if (!existsSync(join(engines, "package.json")))
      writeFileSync(join(engines, "package.json"), '{ "private": true }\n');
    words = place.prepare();
    done([...words, "--version"], root, place.env);
  } catch (error) {
    return { passed: 0, failed: 0, output: "", absent: String(error) };
  }
  const platform = PLATFORMS.find((p) => p.name === place.package) as (typeof PLATFORMS)[number];
  // One instruction set, which is what these tests run, and nothing for GPUs.
  const library = crossBuild(platform, ["-Dgpu=false", ...(platform.cpu === "x64" ? ["-Donly=native"] : [])]);
  const env = toolEnv({ ...place.env, ...settings, ZENSOR_LIBRARY: library, CI: "true", NO_COLOR: "1" });
  const report = join(root, "build", "logs", `foreign-${name}.xml`);
  mkdirSync(join(root, "build", "logs"), { recursive: true });
  rmSync(report, { force: true });
  const flags = [
    "test",
    "--timeout",
    String(10 * MINUTES),
    "--only-failures",
    "--reporter=junit",
    `--reporter-outfile=${report}`,
  ];
  const child = Bun.spawn([...words, ...flags, ...files], { cwd: root, env, stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))).join(
    "",
  );
  const code = await child.exited;
  const { passed, failed } = readOutcome(output);
  return { passed, failed: code === 0 ? failed : Math.max(failed, 1), output };
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { only: { type: "string", multiple: true } },
    allowPositionals: true,
  });
  const names = positionals.length > 0 ? positionals : Object.keys(PLACES);
  for (const name of names) {
    if (!(name in PLACES)) throw new Error(`${name} is none of ${Object.keys(PLACES).join(", ")}`);
    const start = performance.now();
    const { passed, failed, output, absent } = await runThere(name, values.only);
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    if (failed > 0) console.log(output);
    console.log(
      absent === undefined ? `${name}: ${passed} passed, ${failed} failed, ${seconds} s` : `${name}: ${absent}`,
    );
    if (failed > 0) process.exitCode = 1;
  }
}
