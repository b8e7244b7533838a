// Conversions between all formats that hold more than one tensor, each from a file that another conversion made.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORMATS, type FormatName } from "../../src/cli/formats.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const room = mkdtempSync(join(tmpdir(), "zensor-pairs-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));

const formats = (Object.keys(FORMATS) as FormatName[]).filter((name) => {
  return FORMATS[name].written && name !== "npy" && (name !== "hdf5" || hdf5Engine() !== null);
});

test("any format into any other, and into itself", async () => {
  const start = join(room, "start");
  // Tensors of several pages, which are copied from file to file.
  new TensorDict({ a: zeros([300, 100]).add(3), b: tensor([1, 2, 3]), c: zeros([2, 0]) }, []).memmap(start);
  const sources = new Map<FormatName, string>();
  const ending = (format: FormatName) => FORMATS[format].extensions[0] ?? "";
  for (const format of formats) {
    const path = join(room, `from-${format}${ending(format)}`);
    expect(await zensor("convert", start, path, "--to", format, "--lossy")).toMatchObject({ code: 0 });
    sources.set(format, path);
    if (statSync(path).isDirectory()) continue;
    const bare = join(room, `bare-${format}`);
    copyFileSync(path, bare);
    const { code, err } = await zensor("diff", path, bare);
    expect(`${format} without its ending: ${code} ${err}`).toBe(`${format} without its ending: 0 `);
  }
  for (const [from, source] of sources) {
    for (const to of formats) {
      const target = join(room, `${from}-${to}${ending(to)}`);
      const { code, err } = await zensor("convert", source, target, "--to", to, "--lossy");
      expect(`${from} to ${to}: ${code} ${code === 0 ? "" : err}`).toBe(`${from} to ${to}: 0 `);
      const found = await zensor("diff", start, target);
      expect(`${from} to ${to}: ${found.code} ${found.code === 0 ? "" : found.out + found.err}`).toBe(
        `${from} to ${to}: 0 `,
      );
    }
  }
  expect(readdirSync(room).filter((name) => /\.(new|tmp|old)-/.test(name))).toEqual([]);
}, 60_000);

test("a source that the target would remove is refused, by another name too", async () => {
  const outer = join(room, "outer");
  new TensorDict({ inner: new TensorDict({ a: zeros([2]) }, []) }, []).memmap(outer);
  symlinkSync(outer, join(room, "link"));
  for (const target of [outer, join(room, "link")]) {
    const done = await zensor("convert", join(outer, "inner"), target, "--force");
    expect(done).toMatchObject({ code: 1, out: "", err: expect.stringContaining("which would be replaced") });
  }
  expect((await zensor("convert", join(outer, "inner"), join(room, "beside"))).code).toBe(0);
  // A target in the source would be an entry of it, or in the place of one.
  expect(await zensor("convert", outer, join(outer, "inner", "below"))).toMatchObject({ code: 1, out: "" });
});
