// Nested tensors on the command line: listed, compared, checked, converted where a format has room for them.
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nested, zeros } from "../../src/index.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-nested-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function saved(name: string, ...rows: number[][]): string {
  const path = join(dir, name);
  new TensorDict({ x: zeros([2]), j: nested.nestedTensor(rows) }, [2]).memmap(path);
  return path;
}

const source = saved("source", [1], [2, 3]);
const copy = saved("copy", [1], [2, 3]);
const other = saved("other", [1], [2, 4]);
const split = saved("split", [1, 2], [3]);

test("inspect", async () => {
  expect((await zensor("inspect", source)).out).toContain("j  float32  [2, -1]  12 B");
});

test("diff", async () => {
  expect((await zensor("diff", source, copy)).code).toBe(0);
  expect((await zensor("diff", source, other)).out).toBe(
    "j: elements differ: 1 of 3, by at most 1 at [2], relative 0.25",
  );
  expect((await zensor("diff", source, split)).out).toContain("j: sizes of components differ");
  const plain = join(dir, "plain");
  new TensorDict({ x: zeros([2]), j: zeros([2]) }, [2]).memmap(plain);
  expect((await zensor("diff", source, plain)).code).toBe(1);
});

test("verify: structure and checksums, of the sizes too", async () => {
  const sums = join(dir, "sums.json");
  expect((await zensor("verify", source, "--write-sums", sums)).code).toBe(0);
  expect((await zensor("verify", copy, "--sums", sums)).code).toBe(0);
  for (const path of [other, split]) expect((await zensor("verify", path, "--sums", sums)).code).toBe(1);
  const damaged = saved("damaged", [1], [2, 3]);
  writeFileSync(join(damaged, "j.shape.memmap"), new Uint8Array(15));
  expect((await zensor("verify", damaged)).code).toBe(1);
});

test("convert and slice", async () => {
  const archive = join(dir, "a.tdz");
  expect((await zensor("convert", source, archive)).code).toBe(0);
  expect((await zensor("diff", source, archive)).code).toBe(0);
  expect((await zensor("slice", source, join(dir, "s.tdz"), "--keys", "j")).code).toBe(0);
  expect((await zensor("slice", source, join(dir, "r.tdz"), "--rows", "0:1")).err).toContain(
    "rows of the nested tensor j cannot be taken",
  );
  for (const ending of ["safetensors", "npz", "pt", "bin", "h5"]) {
    const target = join(dir, `a.${ending}`);
    const done = await zensor("convert", source, target, ...(ending === "bin" ? ["--to", "consolidated"] : []));
    expect([done.code, done.err.includes("nested tensors cannot be written: j")]).toEqual([1, true]);
    expect(existsSync(target)).toBe(false);
  }
});

test("merge", async () => {
  const more = join(dir, "more");
  new TensorDict({ y: zeros([2]) }, [2]).memmap(more);
  const union = join(dir, "union");
  expect(await zensor("merge", source, more, union)).toMatchObject({ code: 0, err: "" });
  expect((await zensor("diff", source, union)).out).toBe("y: only in the second");
  for (const how of ["--stack", "--cat"]) {
    expect((await zensor("merge", source, copy, join(dir, "never"), how)).err).toContain(
      "the nested tensor j cannot be stacked or concatenated",
    );
  }
  expect((await zensor("merge", source, copy, join(dir, "never"))).err).toContain("  j\n");
  expect(existsSync(join(dir, "never"))).toBe(false);
});
