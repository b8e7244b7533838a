// `zensor bench`, completion, and JSON of the commands that print.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sizeOption } from "../../src/cli/text.ts";
import { ones } from "../../src/index.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-bench-test-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const MAIN = join(import.meta.dir, "..", "..", "src", "cli", "main.ts");
const FORMATS = ["plain loop", "directory", ".tdz", ".safetensors", ".pt", ".npz"];

describe("bench", () => {
  test("measures every format both ways and cleans up", async () => {
    const { code, out, err } = await zensor("bench", dir, "--size", "200KB", "--json");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const { rows, nbytes } = JSON.parse(out) as {
      nbytes: number;
      rows: { what: string; direction: string; seconds: number; bytesPerSecond: number; share: number }[];
    };
    expect(nbytes).toBe(200_000);
    expect(rows.map(({ what }) => what)).toEqual([...FORMATS, ...FORMATS]);
    for (const { what, seconds, bytesPerSecond, share } of rows) {
      expect(seconds).toBeGreaterThan(0);
      expect(bytesPerSecond).toBeCloseTo(nbytes / seconds, 3);
      if (what === "plain loop") expect(share).toBe(1);
    }
    expect(readdirSync(dir)).toEqual([]);
    const text = await zensor("bench", dir, "--size", "40KiB");
    expect(text.out).toMatch(/^save {2}plain loop +\d+\.\d ms +\d+\.\d\d GB\/s +100 %$/m);
    expect(readdirSync(dir)).toEqual([]);
  });
  test("sizes that do not fit, or are none", async () => {
    expect(await zensor("bench", dir, "--size", "900TB")).toMatchObject({
      code: 1,
      err: expect.stringContaining("do not fit"),
    });
    for (const size of ["", "x", "-5", "1e9", "10XB", "12", "99999999999999TB"]) {
      expect([size, (await zensor("bench", dir, `--size=${size}`)).code]).toEqual([size, 2]);
    }
    expect((await zensor("bench", join(dir, "missing"))).code).toBe(1);
    expect(readdirSync(dir)).toEqual([]);
  });
  test("sizes in words", () => {
    const size = (text: string) => sizeOption("size", text, 1, 1);
    expect(["1", "2kB", "1.5MB", "1GiB", "3 mib"].map(size)).toEqual([1, 2000, 1_500_000, 2 ** 30, 3 * 2 ** 20]);
  });
  test("an interruption cleans up", async () => {
    const child = Bun.spawn([process.execPath, MAIN, "bench", dir, "--size", "60MB"], { stderr: "pipe" });
    while (readdirSync(dir).length === 0 && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await new Response(child.stderr).text()).toContain("interrupted");
    expect(readdirSync(dir)).toEqual([]);
  }, 60_000);
});

describe("JSON", () => {
  test("of a tree", async () => {
    const path = join(dir, "tree");
    mkdirSync(join(path, "a", "b"), { recursive: true });
    writeFileSync(join(path, "a", "b", "c"), "123");
    writeFileSync(join(path, "d"), "");
    expect(JSON.parse((await zensor("tree", path, "--json")).out)).toEqual({
      path,
      entries: [
        { name: "a", entries: [{ name: "b", entries: [{ name: "c", size: 3 }] }] },
        { name: "d", size: 0 },
      ],
    });
    expect(JSON.parse((await zensor("tree", path, "--json", "--depth", "1")).out)).toEqual({
      path,
      entries: [{ name: "a" }, { name: "d", size: 0 }],
    });
    rmSync(path, { recursive: true });
  });
  test("of a command that fails is nothing: errors stay on stderr", async () => {
    const missing = join(dir, "missing");
    for (const args of [
      ["tree", missing],
      ["inspect", missing],
      ["verify", missing],
      ["diff", missing, missing],
      ["convert", missing, join(dir, "x")],
      ["slice", missing, join(dir, "x"), "--keys", "a"],
      ["merge", missing, missing, join(dir, "x")],
      ["bench", missing],
    ]) {
      expect(await zensor(...args, "--json")).toMatchObject({
        code: args[0] === "diff" ? 2 : 1,
        out: "",
        err: expect.stringContaining("error:"),
      });
    }
  });
  test("of differences", async () => {
    new TensorDict({ a: ones(1) }).memmap(join(dir, "one"));
    new TensorDict({ a: ones(2) }).memmap(join(dir, "two"));
    const { code, out } = await zensor("diff", join(dir, "one"), join(dir, "two"), "--json");
    expect({ code, out: JSON.parse(out) }).toEqual({ code: 1, out: [{ name: "a", what: "shape [1] and [2]" }] });
  });
});

test("completion knows every command and option", async () => {
  const { out } = await zensor("completion", "bash");
  for (const word of ["slice", "merge", "verify", "bench", "--lossy", "--keys", "--rows", "--cat", "--write-sums"]) {
    expect(out).toContain(word);
  }
  // What a shell makes of it.
  const ask = (...words: string[]) => {
    const list = words.map((word) => `'${word}'`).join(" ");
    const script = `${out}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _zensor; echo "\${COMPREPLY[@]}"`;
    return Bun.spawnSync(["bash", "-c", script]).stdout.toString().trim().split(" ");
  };
  expect(ask("zensor", "ver")).toEqual(["verify"]);
  expect(ask("zensor", "slice", "--r")).toEqual(["--rows"]);
  expect(ask("zensor", "merge", "a", "--to", "safe")).toEqual(["safetensors"]);
  expect((await zensor("completion", "fish")).out).toContain('__fish_seen_subcommand_from merge" -l to -x -a "memmap');
});
