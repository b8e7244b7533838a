// The packages as users meet them: packed, added to an empty project without a network, imported, bundled, compiled
// into one file, each in another folder than the one before, with nothing but Bun on the PATH.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHUNK_FILES } from "../../scripts/bundle/parts.ts";
import { packAll } from "../../scripts/pack/main.ts";
import { hostPlatform } from "../../scripts/pack/platforms.ts";
import { root, tsc } from "../../scripts/toolchain.mjs";
import { COMPILER, PROGRAMS } from "./typed/configs.ts";

const scratch = mkdtempSync(join(tmpdir(), "zensor-package-"));
const dist = join(scratch, "dist");
const project = join(scratch, "project");
const platform = hostPlatform();

const PROGRAM = `import { arange, int, io, nn, TensorDict, tensor } from "zensor";
const td = new TensorDict({ a: arange(6).reshape(2, 3) }, [2]);
const wrong = () => { try { tensor([1]).add("x" as never); } catch (error) { return String(error).slice(0, 9); } };
const x = tensor([1.5], { requiresGrad: true });
console.log(String(td.get("a").sum()), String(new nn.Tanh()), td.at(0).constructor.name, typeof io, wrong());
console.log(String(x.mul(2)), tensor([2]).add(int(1)).item());
`;
const PRINTED = "tensor(15) Tanh() TensorDict object TypeError\ntensor([3.], grad_fn=<MulBackward0>) 3\n";

const OFFLINE = { BUN_CONFIG_REGISTRY: "http://127.0.0.1:9", npm_config_registry: "http://127.0.0.1:9" };

/** Runs a command with Bun alone on the PATH, and no registry to ask. */
function run(words: string[], cwd: string, env: Record<string, string> = OFFLINE): { out: string; error: string } {
  const { stdout, stderr, exitCode } = Bun.spawnSync(words, {
    cwd,
    env: { PATH: join(scratch, "bin"), HOME: scratch, NO_COLOR: "1", ...env },
  });
  const [out, error] = [stdout.toString(), stderr.toString()];
  if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${exitCode}\n${out}${error}`);
  return { out, error };
}

const bun = process.execPath;
const tarballs = () =>
  readdirSync(dist)
    .filter((name) => name.endsWith(".tgz"))
    .sort();

/** The installed project is out of the way while `work` runs. */
function without(work: () => void): void {
  renameSync(project, `${project}-away`);
  try {
    work();
  } finally {
    renameSync(`${project}-away`, project);
  }
}

beforeAll(async () => {
  await packAll(dist, true, true);
  mkdirSync(join(scratch, "bin"));
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  writeFileSync(join(project, "program.ts"), PROGRAM);
  run([bun, "add", ...tarballs().map((name) => join(dist, name))], project);
}, 180_000);

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("packages", () => {
  test("the library, compiled and readable, its types and the command; the platform's library apart", () => {
    const files = (name: string) => {
      const all = readdirSync(join(project, "node_modules", name), { recursive: true, withFileTypes: true });
      return all
        .filter((entry) => entry.isFile() && entry.name !== ".bun-tag")
        .map((entry) => entry.name)
        .sort();
    };
    expect(files("zensor")).toEqual(
      [
        ...["CHANGELOG.md", "LICENSE", "README.md", "package.json"],
        ...["cli.js", ...CHUNK_FILES].flatMap((file) => [file, `${file}.jsc`, `${file}.map`]),
        ...["zensor.d.ts", "zensor.js", "zensor.mjs", "zensor.plain.js"],
      ].sort(),
    );
    expect(files(platform.name)).toEqual(["LICENSE", "index.d.ts", "index.js", platform.file, "package.json"].sort());
  });

  test("nothing in them names the folder that they were made in", () => {
    for (const name of ["zensor", platform.name]) {
      const folder = join(project, "node_modules", name);
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        expect(readFileSync(join(entry.parentPath, entry.name)).includes(root), entry.name).toBe(false);
      }
    }
  });

  test("the same sources give the same bytes", async () => {
    const again = join(scratch, "again");
    await packAll(again, true);
    for (const name of tarballs()) {
      expect(Bun.hash(readFileSync(join(again, name))), name).toBe(Bun.hash(readFileSync(join(dist, name))));
    }
  }, 120_000);
});

// `bun init` adds the types of Bun, which come from a registry.
const registry = Bun.spawnSync([bun, "info", "@types/bun", "version"], { timeout: 20_000 }).success;

describe("an installed package", () => {
  test.skipIf(!registry)(
    "is added to a project begun by `bun init`, in two or three seconds",
    () => {
      const folder = join(scratch, "begun");
      mkdirSync(folder);
      symlinkSync(bun, join(scratch, "bin", "bun"));
      const start = performance.now();
      run([bun, "init", "-y"], folder, {});
      run([bun, "add", ...tarballs().map((name) => join(dist, name))], folder, {});
      writeFileSync(join(folder, "index.ts"), PROGRAM);
      expect(run([bun, "index.ts"], folder, {}).out).toBe(PRINTED);
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`bun init, bun add and a first program: ${seconds} s`);
    },
    60_000,
  );

  test("is imported, by its compiled file", () => {
    expect(run([bun, "program.ts"], project).out).toBe(PRINTED);
    const loaded =
      "import 'zensor'; console.log(Object.keys(require.cache).filter((f) => f.includes('compiled')).length)";
    expect(run([bun, "-e", loaded], project).out).toBe("1\n");
  });

  test("has types, which are true", () => {
    const compilerOptions = { ...COMPILER, module: "nodenext", moduleResolution: "nodenext" };
    for (const name of PROGRAMS) {
      cpSync(join(import.meta.dir, "typed", name), join(project, name));
      run([bun, name], project);
    }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: PROGRAMS }));
    expect(run([bun, tsc, "-p", "tsconfig.json"], project).out).toBe("");
  }, 60_000);

  test("has its command in one file, which needs nothing else", () => {
    const cli = join(dist, platform.name.replace("zensor-", "zensor-cli-"));
    const found = JSON.parse(run([cli, "doctor", "--json"], scratch).out) as { what: string; detail: string }[];
    expect(found.find(({ what }) => what === "library")?.detail).toContain("$bunfs");
    expect(readFileSync(cli).includes(root)).toBe(false);
  });

  test("has a command", () => {
    writeFileSync(join(project, "save.ts"), 'import { ones, save } from "zensor";\nsave({ w: ones(2, 2) }, "w.pt");\n');
    run([bun, "save.ts"], project);
    expect(run([bun, join("node_modules", ".bin", "zensor"), "inspect", "w.pt"], project).out).toContain("[2, 2]");
  });

  for (const form of [["--format=esm"], ["--format=cjs"], ["--minify"]]) {
    test(`is bundled (${form.join(" ")}): the library beside the bundle, in a folder of its own`, () => {
      run([bun, "build", "program.ts", "--target=bun", ...form, "--outdir=out"], project);
      const folder = join(scratch, "elsewhere");
      cpSync(join(project, "out"), folder, { recursive: true });
      rmSync(join(project, "out"), { recursive: true });
      without(() => {
        expect(run([bun, join(folder, "program.js")], scratch).out).toBe(PRINTED);
        // Imported by a program elsewhere it finds the library as well.
        writeFileSync(join(scratch, "other.mjs"), `await import(${JSON.stringify(join(folder, "program.js"))});\n`);
        expect(run([bun, join(scratch, "other.mjs")], scratch).out).toBe(PRINTED);
      });
      expect(readFileSync(join(folder, "program.js")).includes(scratch)).toBe(false);
      rmSync(folder, { recursive: true });
    });

    test(`is compiled into one file (${form.join(" ")}), which runs alone`, () => {
      run([bun, "build", "program.ts", "--compile", ...form, "--outfile=program"], project);
      renameSync(join(project, "program"), join(scratch, "program"));
      without(() => expect(run([join(scratch, "program")], scratch).out).toBe(PRINTED));
      rmSync(join(scratch, "program"));
    }, 30_000);
  }

  test("says where it looked when the platform's package is missing, and takes ZENSOR_LIBRARY", () => {
    const folder = join(project, "node_modules", platform.name);
    renameSync(folder, `${folder}-away`);
    try {
      expect(() => run([bun, "program.ts"], project)).toThrow(
        new RegExp(`native library was not found: no ${platform.file} in .*${platform.os}-${platform.cpu}`),
      );
      const library = join(`${folder}-away`, platform.file);
      expect(run([bun, "program.ts"], project, { ...OFFLINE, ZENSOR_LIBRARY: library }).out).toBe(PRINTED);
      expect(() => run([bun, "program.ts"], project, { ...OFFLINE, ZENSOR_LIBRARY: "/nowhere.so" })).toThrow(
        "ZENSOR_LIBRARY names /nowhere.so, which does not exist",
      );
    } finally {
      renameSync(`${folder}-away`, folder);
    }
  });
});

describe("other runtimes", () => {
  const node = Bun.which("node");
  test.skipIf(node === null)("Node says in a sentence that Bun is needed, however it imports", () => {
    const program = (name: string, code: string) => {
      writeFileSync(join(project, name), code);
      const { stderr, exitCode } = Bun.spawnSync([node as string, name], { cwd: project });
      return { exitCode, text: stderr.toString() };
    };
    for (const [name, code] of [
      ["named.mjs", 'import { tensor } from "zensor";\nconsole.log(tensor);\n'],
      ["whole.mjs", 'import * as z from "zensor";\nconsole.log(z);\n'],
      ["required.cjs", 'require("zensor");\n'],
      ["later.cjs", 'import("zensor").then(console.log);\n'],
    ] as const) {
      const { exitCode, text } = program(name, code);
      expect([name, exitCode]).toEqual([name, 1]);
      expect(text).toContain("zensor needs Bun");
      expect(text).not.toMatch(/\n\s+at |bun:ffi|plain\.js/);
    }
  });
});
