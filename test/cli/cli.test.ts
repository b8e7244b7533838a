// The command line: output, exit codes, conversions both ways.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHdf5 } from "../../src/ffi/hdf5.ts";
import { arange, lazyStack, ones, randn } from "../../src/index.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import "../../src/install.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-cli-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const MAIN = join(import.meta.dir, "..", "..", "src", "cli", "main.ts");

function run(...args: string[]): { code: number; out: string; err: string } {
  const done = Bun.spawnSync([process.execPath, MAIN, ...args], { env: { ...process.env, NO_COLOR: "1" } });
  return { code: done.exitCode, out: done.stdout.toString(), err: done.stderr.toString() };
}

describe("help and mistakes", () => {
  test("help and version", () => {
    expect(run("--help").code).toBe(0);
    expect(run("--help").out).toContain("convert [options] <from> <to>");
    expect(run("--help").out).toContain(".safetensors");
    const manifest = JSON.parse(readFileSync(join(import.meta.dir, "..", "..", "package.json"), "utf8")) as {
      version: string;
    };
    expect(run("--version").out.trim()).toBe(manifest.version);
  });
  test("mistakes in the command line end with 2, wrong input with 1", () => {
    expect(run().code).toBe(2);
    expect(run("frobnicate")).toMatchObject({
      code: 2,
      err: expect.stringContaining("unknown command 'frobnicate'"),
    });
    expect(run("--nope")).toMatchObject({ code: 2, err: expect.stringContaining("zensor --help") });
    expect(run("tree")).toMatchObject({
      code: 2,
      err: expect.stringContaining("missing required argument 'directory'"),
    });
    expect(run("inspect", join(dir, "missing"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not exist"),
    });
    expect(run("tree", ".", "--depth", "x").code).toBe(2);
    const junk = join(dir, "junk");
    writeFileSync(junk, "not safetensors at all");
    expect(run("inspect", junk)).toMatchObject({ code: 1, err: expect.stringContaining("--from") });
    const plain = join(dir, "no-tensors");
    mkdirSync(plain);
    writeFileSync(join(plain, "notes.txt"), "x");
    expect(run("inspect", plain)).toMatchObject({ code: 1, err: expect.stringContaining("has no meta.json") });
  });
});

describe("conversion", () => {
  const file = join(dir, "model.safetensors");
  const directory = join(dir, "model");
  test("file to directory and back gives the same bytes", () => {
    saveSafetensors(
      {
        "layer.weight": tensor([
          [1, 2],
          [3, 4],
        ]),
        "layer.bias": zeros([2]),
        top: tensor([7n]),
      },
      file,
      { metadata: { format: "pt" } },
    );
    expect(run("convert", file, directory)).toMatchObject({
      code: 0,
      out: expect.stringContaining("3 tensors, 32 B"),
    });
    const td = TensorDict.loadMemmap(directory);
    expect(td.at(["layer", "weight"]).tolist()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    const back = join(dir, "back.safetensors");
    expect(run("convert", directory, back, "--threads", "2").code).toBe(0);
    expect(readFileSync(back)).toEqual(readFileSync(file));
  });
  test("existing targets are kept unless forced", () => {
    expect(run("convert", file, directory)).toMatchObject({
      code: 1,
      err: expect.stringContaining("--force"),
    });
    expect(run("convert", file, directory, "--force", "--quiet")).toMatchObject({ code: 0, out: "" });
  });
  test("a forced target is replaced as a whole, and only what a conversion made", () => {
    const other = join(dir, "other.safetensors");
    saveSafetensors({ only: zeros([1]) }, other);
    expect(run("convert", other, directory, "--force").code).toBe(0);
    expect(readdirSync(directory).sort()).toEqual(["meta.json", "only.memmap"]);
    expect(run("convert", file, directory, "--force").code).toBe(0);
    const home = join(dir, "home");
    mkdirSync(home);
    writeFileSync(join(home, "letter.txt"), "dear");
    expect(run("convert", file, home, "--force")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no meta.json"),
    });
    expect(readdirSync(home)).toEqual(["letter.txt"]);
    expect(run("convert", file, file, "--force")).toMatchObject({
      code: 1,
      err: expect.stringContaining("onto itself"),
    });
  });
  test("what fails leaves nothing behind", () => {
    const before = readdirSync(dir).sort();
    const target = join(dir, "never");
    const cut = join(dir, "model.safetensors.cut");
    writeFileSync(cut, readFileSync(file).subarray(0, -3));
    expect(run("convert", cut, target)).toMatchObject({ code: 1, err: expect.stringContaining(cut) });
    // A name that is too long for a file is found after half of the tensors were laid out.
    const long = join(dir, "model.safetensors.long");
    saveSafetensors({ a: zeros([2]), ["k".repeat(300)]: zeros([2]) }, long);
    expect(run("convert", long, target)).toMatchObject({ code: 1, err: expect.stringContaining("255") });
    expect(run("convert", directory, join(dir, "missing", "x.safetensors")).code).toBe(1);
    const after = readdirSync(dir).filter((name) => !name.startsWith("model.safetensors."));
    expect(after.sort()).toEqual(before);
  });
  test("inspect and tree", () => {
    const seen = run("inspect", directory);
    expect(seen.out).toContain("layer.weight  float32  [2, 2]");
    expect(seen.out).toContain("memory-mapped directory: 3 tensors, 32 B");
    const json = JSON.parse(run("inspect", file, "--json").out) as {
      rows: { name: string }[];
      values: unknown;
    };
    expect(json.rows.map((row) => row.name).sort()).toEqual(["layer.bias", "layer.weight", "top"]);
    expect(json.values).toEqual([{ name: "__metadata__", value: { format: "pt" } }]);
    expect(run("tree", directory).out).toContain("model/\n    __metadata__/\n        meta.json");
    expect(run("tree", directory, "--branches").out).toContain("├── layer\n");
  });
});

describe("formats", () => {
  const folder = mkdtempSync(join(dir, "formats-"));
  const file = join(folder, "model.safetensors");
  saveSafetensors(
    { "layer.weight": randn(30, 7), "layer.bias": zeros([0]), top: tensor([7n]), half: tensor([1, 2]).to("bfloat16") },
    file,
    { metadata: { format: "pt", "a key": "ü" } },
  );
  const round = (...names: string[]) => {
    let from = file;
    for (const name of names) {
      const to = join(folder, name);
      expect(run("convert", from, to)).toMatchObject({ code: 0, err: "" });
      expect(run("inspect", to).out).toContain("layer.weight");
      expect(run("diff", file, to)).toMatchObject({ code: 0, out: "" });
      from = to;
    }
    const back = join(folder, `${names.join("-")}.safetensors`);
    expect(run("convert", from, back).code).toBe(0);
    expect(readFileSync(back)).toEqual(readFileSync(file));
  };
  for (const name of ["directory", "archive.tdz", "file.pt", "file.consolidated", "state.snapshot"]) {
    test(`safetensors to ${name} and back gives the same bytes`, () => round(name), 60_000);
  }
  test("through all of them", () => round("b", "b.tdz", "b.consolidated", "b.pt", "b.snapshot", "c"), 60_000);
  test("NumPy archives, which have no bfloat16", () => {
    const plain = join(folder, "plain.safetensors");
    saveSafetensors({ "a.b": randn(3), "a.c": arange(4) }, plain, { metadata: { k: "v" } });
    expect(run("convert", plain, join(folder, "n.npz"))).toMatchObject({ code: 0, err: "" });
    expect(run("convert", join(folder, "n.npz"), join(folder, "n.safetensors")).code).toBe(0);
    expect(readFileSync(join(folder, "n.safetensors"))).toEqual(readFileSync(plain));
    expect(run("convert", file, join(folder, "no.npz"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("bfloat16"),
    });
    expect(readdirSync(folder).filter((name) => name.startsWith("no."))).toEqual([]);
  });
  test.skipIf(findHdf5().library === null)("HDF5 (libhdf5)", () => {
    const plain = join(folder, "plain5.safetensors");
    saveSafetensors({ "a.b": randn(3), "a.c": arange(4) }, plain, { metadata: { k: "v" } });
    expect(run("convert", plain, join(folder, "h.h5"))).toMatchObject({ code: 0, err: "" });
    expect(run("convert", join(folder, "h.h5"), join(folder, "h.safetensors")).code).toBe(0);
    expect(readFileSync(join(folder, "h.safetensors"))).toEqual(readFileSync(plain));
  });
  test("structure stays where the format has room for it", () => {
    const source = join(folder, "structured");
    const td = new TensorDict({ a: randn(4, 2), n: { b: arange(4) }, s: "text" }, [4]);
    td.memmap(source);
    for (const name of ["s.tdz", "s.consolidated", "s.safetensors", "s.pt"]) {
      expect(run("convert", source, join(folder, name)).code).toBe(0);
      expect(run("diff", source, join(folder, name))).toMatchObject({ code: 0, out: "" });
    }
    expect(JSON.parse(run("inspect", join(folder, "s.pt"), "--json").out)).toMatchObject({ batchSize: [4] });
  }, 60_000);
  test("lazy stacks whose members differ", () => {
    const source = join(folder, "ragged");
    const member = (n: number) => new TensorDict({ a: ones(n) });
    lazyStack([member(2), member(3)] as never).memmap(source);
    expect(run("inspect", source).out).toMatch(/0\.a\s+float32\s+\[2\].*\n1\.a\s+float32\s+\[3\]/);
    expect(run("convert", source, join(folder, "ragged.tdz")).code).toBe(0);
    expect(run("diff", source, join(folder, "ragged.tdz"))).toMatchObject({ code: 0, out: "" });
    const other = join(folder, "ragged2");
    lazyStack([member(2), member(4)] as never).memmap(other);
    expect(run("diff", source, other)).toMatchObject({ code: 1, out: "1.a: shape [3] and [4]\n" });
  });
  test("differences are told", () => {
    const [a, b] = [join(folder, "x.safetensors"), join(folder, "y.safetensors")];
    const nan = Number.NaN;
    saveSafetensors({ same: tensor([1, nan]), other: ones(3), shape: ones(2), dtype: ones(1), gone: ones(1) }, a);
    saveSafetensors(
      { same: tensor([1, nan]), other: zeros([3]), shape: ones(3), dtype: tensor([1n]), new: ones(1) },
      b,
    );
    const { code, out } = run("diff", a, b);
    expect(code).toBe(1);
    expect(out.trim().split("\n").sort()).toEqual([
      "dtype: float32 and int64",
      "gone: only in the first",
      "new: only in the second",
      "other: elements differ: 3 of 3, by at most 1 at [0]",
      "shape: shape [2] and [3]",
    ]);
    expect(JSON.parse(run("diff", a, b, "--json").out)).toHaveLength(5);
    expect(run("diff", a, join(folder, "missing")).code).toBe(2);
  });
  test("what cannot be written, or is no format, is refused", () => {
    expect(run("convert", file, join(folder, "x.gguf"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("only be read"),
    });
    expect(run("convert", file, join(folder, "x.xyz"))).toMatchObject({
      code: 2,
      err: expect.stringContaining("--to"),
    });
    expect(run("convert", file, join(folder, "x"), "--to", "xyz")).toMatchObject({
      code: 2,
      err: expect.stringContaining("unknown format"),
    });
    expect(run("inspect", "/dev/null").code).toBe(1);
  });
  test("completion scripts name the commands", () => {
    for (const shell of ["bash", "zsh", "fish"]) expect(run("completion", shell).out).toContain("convert");
    expect(Bun.spawnSync(["bash", "-n", "-c", run("completion", "bash").out]).exitCode).toBe(0);
    expect(run("completion", "tcsh").code).toBe(2);
  });
});

describe("interrupted", () => {
  const ROWS = 20_000;
  const many = join(dir, "many.safetensors");
  const row = zeros([8]);
  saveSafetensors(Object.fromEntries(Array.from({ length: ROWS }, (_, i) => [`t${i}`, row])) as never, many);

  /** Starts a conversion and interrupts it as soon as it has written beside its target. */
  async function interrupt(folder: string, ...args: string[]): Promise<{ code: number; err: string }> {
    const child = Bun.spawn([process.execPath, MAIN, ...args], {
      stderr: "pipe",
      env: { ...process.env, NO_COLOR: "1" },
    });
    const before = readdirSync(folder).length;
    while (readdirSync(folder).length === before && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGINT");
    return { code: await child.exited, err: await new Response(child.stderr).text() };
  }

  test("a conversion into a directory leaves the old one and nothing beside it", async () => {
    const folder = mkdtempSync(join(dir, "stop-"));
    const to = join(folder, "out");
    new TensorDict({ old: tensor([1, 2]) }, []).memmap(to);
    const { code, err } = await interrupt(folder, "convert", many, to, "--force");
    expect({ code, err }).toMatchObject({ code: 130, err: expect.stringContaining("interrupted") });
    expect(readdirSync(folder)).toEqual(["out"]);
    expect(TensorDict.loadMemmap(to).get("old").tolist()).toEqual([1, 2]);
  }, 60_000);

  test("a conversion into a file leaves the old one and nothing beside it", async () => {
    const folder = mkdtempSync(join(dir, "stop-"));
    const from = mkdtempSync(join(dir, "from-"));
    const big = zeros([1_000_000]);
    new TensorDict(
      Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`t${i}`, big.expand(1_000_000)])),
      [],
    ).memmap(from);
    const to = join(folder, "out.safetensors");
    writeFileSync(to, "old");
    const { code, err } = await interrupt(folder, "convert", from, to, "--force");
    expect({ code, err }).toMatchObject({ code: 130, err: expect.stringContaining("interrupted") });
    expect(readdirSync(folder)).toEqual(["out.safetensors"]);
    expect(readFileSync(to, "utf8")).toBe("old");
  }, 60_000);
});
