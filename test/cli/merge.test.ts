// `zensor merge`: entries together, stacked, concatenated.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, manualSeed, ones, randn, zeros } from "../../src/index.ts";
import { loadSafetensors, SafetensorsFile, saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { cat, lazyStack, NonTensorData, NonTensorStack, stack, TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-merge-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const at = (name: string) => join(dir, name);

describe("union", () => {
  const [a, b] = [at("a.safetensors"), at("b.safetensors")];
  saveSafetensors({ "l.0.w": ones(2), "l.0.b": zeros([1]) }, a, { metadata: { format: "pt" } });
  saveSafetensors({ "l.1.w": arange(3), top: ones(1) }, b, { metadata: { format: "pt", by: "b" } });
  test("shards of a model become one file", async () => {
    expect(await zensor("merge", a, b, at("ab.safetensors"))).toMatchObject({ code: 0, err: "" });
    const file = new SafetensorsFile(at("ab.safetensors"));
    expect(file.keys().sort()).toEqual(["l.0.b", "l.0.w", "l.1.w", "top"]);
    expect(Object.fromEntries(file.metadata)).toEqual({ format: "pt", by: "b" });
    expect(loadSafetensors(at("ab.safetensors"))["l.1.w"]?.tolist()).toEqual([0, 1, 2]);
  });
  test("of any formats", async () => {
    new TensorDict({ extra: ones(2), l: { "2": { w: ones(1) } } }).memmap(at("c"));
    expect(await zensor("merge", a, b, at("c"), at("abc.npz"))).toMatchObject({ code: 0, err: "" });
    const { out } = await zensor("inspect", at("abc.npz"), "--json");
    const { rows } = JSON.parse(out) as { rows: { name: string }[] };
    expect(rows.map(({ name }) => name).sort()).toEqual(["extra", "l.0.b", "l.0.w", "l.1.w", "l.2.w", "top"]);
  });
  test("the same entry twice is refused unless the last one is wanted", async () => {
    const c = at("twice.safetensors");
    saveSafetensors({ "l.0.w": zeros([5]), "l.9.w": ones(1) }, c, { metadata: { format: "np" } });
    const done = await zensor("merge", a, c, at("no.safetensors"));
    expect([done.code, done.out]).toEqual([1, ""]);
    expect(done.err).toContain("--last");
    expect(done.err).toContain("  l.0.w\n");
    expect(done.err).toContain("  __metadata__.format\n");
    expect(existsSync(at("no.safetensors"))).toBe(false);
    expect((await zensor("merge", a, c, at("last.safetensors"), "--last")).code).toBe(0);
    expect(loadSafetensors(at("last.safetensors"))["l.0.w"]?.tolist()).toEqual([0, 0, 0, 0, 0]);
  });
  test("a tensor and a level of the same name", async () => {
    new TensorDict({ l: ones(1) }).memmap(at("tensor"));
    expect(await zensor("merge", a, at("tensor"), at("no"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("  l\n"),
    });
  });
  test("batch sizes that differ are a loss", async () => {
    new TensorDict({ x: ones(2) }, [2]).memmap(at("b2"));
    new TensorDict({ y: ones(3) }, [3]).memmap(at("b3"));
    new TensorDict({ z: ones(2) }, [2]).memmap(at("b2b"));
    expect(await zensor("merge", at("b2"), at("b3"), at("no"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("batch sizes that differ"),
    });
    expect((await zensor("merge", at("b2"), at("b3"), at("b23"), "--lossy")).code).toBe(0);
    expect([...TensorDict.loadMemmap(at("b23")).batchSize]).toEqual([]);
    expect(await zensor("merge", at("b2"), at("b2b"), at("b22"))).toMatchObject({ code: 0, err: "" });
    expect([...TensorDict.loadMemmap(at("b22")).batchSize]).toEqual([2]);
  });
  test("what is no plain TensorDict", async () => {
    lazyStack([new TensorDict({ a: ones(1) }), new TensorDict({ a: ones(2) })] as never).memmap(at("lazy"));
    expect((await zensor("merge", a, at("lazy"), at("no"))).code).toBe(1);
    expect((await zensor("merge", at("lazy"), at("lazy"), at("no"), "--stack")).code).toBe(1);
  });
});

describe("stack and cat", () => {
  manualSeed(1);
  const parts = [4, 4, 4].map(
    (n, i) =>
      new TensorDict(
        {
          a: randn(n, 3),
          n: { b: arange(n).add(i) },
          half: ones(n).to("bfloat16"),
          v: new NonTensorData("same") as never,
          s: new NonTensorStack(Array.from({ length: n }, (_, j) => `${i}.${j}`)) as never,
        } as never,
        [n],
      ),
  );
  for (const [i, td] of parts.entries()) td.memmap(at(`p${i}`));
  const paths = parts.map((_, i) => at(`p${i}`));

  test.each(["", ".tdz", ".consolidated", ".pt"])("stacked: %s", async (ending) => {
    const to = at(`stacked${ending}`);
    expect(await zensor("merge", ...paths, to, "--stack")).toMatchObject({ code: 0, err: "" });
    const expected = at(`expected-stack${ending}`);
    stack(parts.map((td) => td.exclude("v")) as never, 0).memmap(expected);
    const { out } = await zensor("diff", expected, to);
    expect(out).toBe("v: only in the second");
    expect(readdirSync(dir).filter((name) => name.includes(".new"))).toEqual([]);
  });
  test("concatenated, whatever the formats", async () => {
    expect((await zensor("convert", paths[1] as string, at("p1.pt"))).code).toBe(0);
    expect(
      await zensor("merge", paths[0] as string, at("p1.pt"), paths[2] as string, at("c.tdz"), "--cat"),
    ).toMatchObject({
      code: 0,
      err: "",
    });
    cat(parts.map((td) => td.exclude("v", "s")) as never, 0).memmap(at("expected-cat"));
    const { out } = await zensor("diff", at("expected-cat"), at("c.tdz"));
    expect(out.split("\n").sort()).toEqual(["s: only in the second", "v: only in the second"]);
    const td = TensorDict.loadMemmap(at("c.tdz"));
    expect(td.at("s")).toHaveLength(12);
    expect(td.at("v")).toBe("same");
  });
  test("model files are stacked tensor by tensor", async () => {
    const files = [0, 1].map((i) => at(`m${i}.safetensors`));
    for (const [i, file] of files.entries()) saveSafetensors({ "l.w": ones(2).mul(i), s: ones(1).squeeze() }, file);
    expect((await zensor("merge", ...files, at("m.npz"), "--stack", "--lossy")).code).toBe(0);
    expect((await zensor("inspect", at("m.npz"))).out).toMatch(/l\.w +float32 +\[2, 2\]/);
    expect(await zensor("merge", ...files, at("no"), "--cat")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no batch size"),
    });
  });
  test("sources that are not alike are refused, and nothing is written", async () => {
    const before = readdirSync(dir).sort();
    const save = (name: string, td: { memmap(path: string): unknown }) => {
      td.memmap(at(`odd-${name}`));
      return at(`odd-${name}`);
    };
    const first = save("first", new TensorDict({ a: ones(2, 3), n: { b: ones(2) } }, [2]));
    const others: Record<string, string> = {
      shape: save("shape", new TensorDict({ a: ones(2, 4), n: { b: ones(2) } }, [2])),
      float64: save("dtype", new TensorDict({ a: ones(2, 3).to("float64"), n: { b: ones(2) } } as never, [2])),
      "same entries": save("keys", new TensorDict({ a: ones(2, 3) }, [2])),
      kind: save("kind", new TensorDict({ a: ones(2, 3), n: ones(2) }, [2])),
      '"c"': save("more", new TensorDict({ a: ones(2, 3), n: { b: ones(2), c: ones(2) } }, [2])),
    };
    for (const [what, path] of Object.entries(others)) {
      for (const how of ["--stack", "--cat"]) {
        expect(await zensor("merge", first, path, at("odd"), how)).toMatchObject({
          code: 1,
          err: expect.stringContaining(what),
        });
      }
    }
    expect(
      readdirSync(dir)
        .filter((name) => !name.startsWith("odd-"))
        .sort(),
    ).toEqual(before);
  });
  test("the command line is checked", async () => {
    expect((await zensor("merge", paths[0] as string)).code).toBe(2);
    expect((await zensor("merge", ...paths, at("no"), "--stack", "--cat")).code).toBe(2);
    expect((await zensor("merge", ...paths, at("no"), "--stack", "--last")).code).toBe(2);
    expect(await zensor("merge", ...paths, paths[0] as string, "--force")).toMatchObject({ code: 1 });
    expect(JSON.parse((await zensor("merge", ...paths, at("json"), "--cat", "--json")).out)).toMatchObject({
      tensors: 3,
    });
    expect(readFileSync(join(at("json"), "meta.json"), "utf8")).toContain("[12]");
  });
});

test("an interruption leaves nothing behind", async () => {
  const folder = at("stop");
  mkdirSync(folder);
  const source = join(folder, "source");
  // 2 GiB of zeros that take no room on the disk.
  const wide = zeros([1]).expand(2 ** 23, 4);
  new TensorDict(Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`t${i}`, wide])), []).memmapLike(source);
  for (const to of ["out", "out.tdz"]) {
    const before = readdirSync(folder).sort();
    const args = ["merge", source, source, join(folder, to), "--stack"];
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "..", "..", "src", "cli", "main.ts"), ...args], {
      stderr: "pipe",
    });
    while (readdirSync(folder).length === before.length && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await new Response(child.stderr).text()).toContain("interrupted");
    expect(readdirSync(folder).sort()).toEqual(before);
  }
}, 60_000);
