// Where commands print and write: an output that takes nothing ends them, and a target has nothing to do with a source.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { closeSync, copyFileSync, linkSync, mkdirSync, openSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { arange, io, ones } from "../../src/index.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { contentOf } from "../durability/writers.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";
import { zensor } from "./run.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const MAIN = join(import.meta.dir, "..", "..", "src", "cli", "main.ts");

/** A directory, one file of it, and one beside it. */
function sources(): { folder: string; dir: string; file: string } {
  const folder = room.fresh();
  const dir = join(folder, "dd");
  new TensorDict({ a: arange(6), n: new TensorDict({ b: ones(3) }), s: "text" }).memmap(dir);
  const file = join(folder, "x.safetensors");
  io.saveSafetensors({ a: arange(6), c: ones(2) }, file);
  return { folder, dir, file };
}

describe.skipIf(process.platform !== "linux")("an output that cannot be written", () => {
  const { folder, dir, file } = sources();
  const commands: string[][] = [
    ["inspect", dir],
    ["inspect", dir, "--json"],
    ["inspect", file],
    ["tree", dir],
    ["tree", dir, "--json"],
    ["diff", dir, file],
    ["diff", dir, file, "--json"],
    ["verify", dir],
    ["verify", file, "--json"],
    ["convert", dir, join(folder, "one.tdz")],
    ["convert", dir, join(folder, "two.tdz"), "--json"],
    ["slice", file, join(folder, "three.npz"), "--keys", "a"],
    ["merge", file, join(folder, "four")],
    ["bench", folder, "--size", "64KiB"],
    ["completion", "bash"],
    ["--help"],
    ["inspect", "--help"],
    ["--version"],
  ];
  test.each(commands.map((command) => [command.filter((part) => !part.startsWith("/")).join(" "), command] as const))(
    "%s",
    async (_, command) => {
      const full = openSync("/dev/full", "w");
      const child = Bun.spawn([process.execPath, MAIN, ...command], { stdout: full, stderr: "pipe" });
      const told = await new Response(child.stderr).text();
      closeSync(full);
      expect([await child.exited, Bun.stripANSI(told).trim()]).toEqual([
        command[0] === "diff" ? 2 : 1,
        "error: the output cannot be written: ENOSPC: no space left on device, write",
      ]);
    },
    20_000,
  );

  test("a reader that has gone is no mistake", async () => {
    const many = join(folder, "many.safetensors");
    io.saveSafetensors(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`tensor-${i}`, ones(1)])), many);
    const script = `"$0" "$1" inspect "$2" | head -n 1; exit "\${PIPESTATUS[0]}"`;
    const child = Bun.spawn(["bash", "-c", script, process.execPath, MAIN, many], { stdout: "pipe", stderr: "pipe" });
    const [out, told] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, told, out.startsWith("tensor-0")]).toEqual([0, "", true]);
  }, 20_000);
});

describe("a target inside of a source, around it, or the same by another name", () => {
  const ways: [string, (source: string, target: string) => string[]][] = [
    ["convert", (source, target) => ["convert", source, target, "--force", "--lossy"]],
    ["slice", (source, target) => ["slice", source, target, "--keys", "a", "--force", "--lossy"]],
    ["merge", (source, target) => ["merge", source, target, "--force", "--lossy"]],
    ["merge --stack", (source, target) => ["merge", source, source, target, "--stack", "--force", "--lossy"]],
  ];
  test.each(ways)("%s", async (_, command) => {
    const { folder, dir, file } = sources();
    const at = (...parts: string[]) => join(folder, ...parts);
    symlinkSync(dir, at("link"));
    symlinkSync(file, at("link.safetensors"));
    linkSync(file, at("hard.safetensors"));
    mkdirSync(at("outer"));
    new TensorDict({ a: ones(2) }).memmap(at("outer", "inner"));
    new TensorDict({ a: ones(2) }).memmap(at("outer"));
    const before = contentOf(folder);
    const pairs: [string, string, string][] = [
      [dir, at("dd", "sub"), "lies in"],
      [dir, at("dd", "n"), "lies in"],
      [dir, at("dd", "a.memmap"), ""],
      [dir, at("dd", "deep", "er.tdz"), "lies in"],
      [dir, at("dd", "..", "dd", "x.npz"), "lies in"],
      [dir, at("link", "sub"), "lies in"],
      [at("link"), at("dd", "sub"), "lies in"],
      [at("link"), dir, "onto itself"],
      [dir, at("link"), "onto itself"],
      [`${dir}/`, dir, "onto itself"],
      [file, at("link.safetensors"), "onto itself"],
      [file, at("hard.safetensors"), "onto itself"],
      [at("hard.safetensors"), file, "onto itself"],
      [at("outer", "inner"), at("outer"), "lies in"],
    ];
    for (const [source, target, told] of pairs) {
      const { code, err } = await zensor(...command(source, target));
      expect([target, code > 0, err.includes(told)]).toEqual([target, true, true]);
      expect(contentOf(folder)).toEqual(before);
    }
    // What only begins with the same letters is another place.
    const beside = command(dir, at("dd-other"));
    expect((await zensor(...beside)).code).toBe(0);
    expect(readdirSync(folder)).toContain("dd-other");
  });
});

describe("a memory-mapped directory with somebody's own files", () => {
  test.each(["raw.memmap", "n/raw.memmap", "mine/a.memmap", "n/letter.txt"])(
    "%s stays, --force or not",
    async (name) => {
      const { dir, file } = sources();
      mkdirSync(join(dir, dirname(name)), { recursive: true });
      copyFileSync(join(dir, "a.memmap"), join(dir, name));
      const before = contentOf(dir);
      const { code, err } = await zensor("convert", file, dir, "--force");
      expect([code, err.includes(name)]).toEqual([1, true]);
      expect(contentOf(dir)).toEqual(before);
    },
  );

  test("keys of any letters and nested tensors are its own", async () => {
    const { dir, file } = sources();
    new TensorDict({ "a.b": ones(1), "x y": ones(1), "é%": ones(2), deep: { "a/b": ones(2) } }).memmap(dir);
    rmSync(join(dir, "a.memmap"));
    expect(await zensor("convert", file, dir, "--force")).toMatchObject({ code: 0, err: "" });
    expect(readdirSync(dir).sort()).toEqual(["a.memmap", "c.memmap", "meta.json"]);
  });
});
