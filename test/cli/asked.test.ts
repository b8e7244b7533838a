// What commands tell, and leave out: long values, what only one side has, files beside those that were asked for.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, io, ones } from "../../src/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-asked-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const at = (name: string) => join(dir, name);
const lines = async (...words: string[]) => (await zensor(...words)).out.trim().split("\n");

test("a long value is cut, and whole where it was named", async () => {
  const state = Array.from({ length: 624 }, (_, i) => BigInt(i * 7919));
  io.saveTorch({ rng: state, note: "x".repeat(5000), short: [1n, 2n] }, at("rng.pt"));
  const [rng = "", note = "", short] = await lines("inspect", at("rng.pt"));
  expect(rng).toMatch(/^rng = \[0, 7919, .*\.\.\. \(\d+ characters; --keys and --json tell all\)$/);
  for (const line of [rng, note]) expect(line.length).toBeLessThan(400);
  expect(short).toBe("short = [1, 2]");
  const [whole] = await lines("inspect", at("rng.pt"), "--keys", "rng");
  expect(whole).toBe(`rng = [${state.join(", ")}]`);
  const { values } = JSON.parse((await zensor("inspect", at("rng.pt"), "--json")).out);
  expect(values[0].value).toHaveLength(624);
});

test("what is on one side is told once", async () => {
  const first = { a: { list: [ones(1)] }, t: Object.freeze([1n, ones(1)]), same: [ones(2)] };
  io.saveTorch(first, at("first.pt"));
  io.saveTorch({ other: Object.freeze([ones(1)]), same: Object.freeze([ones(2)]) }, at("second.pt"));
  expect((await lines("diff", at("first.pt"), at("second.pt"))).sort()).toEqual([
    "a: only in the first",
    "other: only in the second",
    "same: in Python list and tuple",
    "t: only in the first",
  ]);
});

test("rows of an array without a name", async () => {
  io.saveNpy(at("one.npy"), arange(12).view(6, 2));
  expect(await zensor("slice", at("one.npy"), at("rows.npy"), "--rows", "1:3")).toMatchObject({ code: 0, err: "" });
  expect(io.loadNpy(at("rows.npy"))).toEqual(arange(12).view(6, 2).at("1:3"));
  const { err } = await zensor("slice", at("one.npy"), at("no.npy"), "--rows", "1:3", "--keys", "a");
  expect(err).toBe('error: there is no entry "a".\n  there is tensor');
  io.saveNpz(at("two.npz"), { a: arange(3), b: ones(3) });
  const two = await zensor("slice", at("two.npz"), at("no.npz"), "--rows", "1:3");
  expect(two).toMatchObject({ code: 1, err: expect.stringContaining("name tensors with --keys") });
});

test("files that are no tensors are missed where the whole folder is wanted", async () => {
  mkdirSync(at("arrays"));
  io.saveNpy(at("arrays/a.npy"), ones(3));
  io.saveNpy(at("arrays/b.npy"), arange(3));
  writeFileSync(at("arrays/README.txt"), "read me");
  const whole = await zensor("convert", at("arrays"), at("whole.npz"));
  expect(whole.err).toContain("files that are no tensors: README.txt");
  expect(await zensor("slice", at("arrays"), at("part.npz"), "--keys", "a")).toMatchObject({ code: 0, err: "" });
  expect(await zensor("convert", at("arrays"), at("both.npz"), "--keys", "a,b")).toMatchObject({ code: 0, err: "" });
  expect(Object.keys(io.loadNpz(at("both.npz")))).toEqual(["a", "b"]);
});

test("a name beside others that begin with it is named", async () => {
  mkdirSync(at("beside/inner"), { recursive: true });
  io.saveNpy(at("beside/inner/z.npy"), ones(1));
  io.saveNpy(at("beside/x.npy"), ones(1));
  io.saveNpy(at("beside/x.y.npy"), ones(1));
  const { err } = await zensor("convert", at("beside"), at("beside.npz"));
  expect(err).toContain("levels: a name stands beside others that begin with it: x");
});

test("checkpoints of Lightning are read and written by their ending", async () => {
  io.saveTorch({ epoch: 3n, state_dict: { w: ones(2) } }, at("last.pt"));
  expect(await zensor("convert", at("last.pt"), at("last.ckpt"))).toMatchObject({ code: 0, err: "" });
  expect(await zensor("diff", at("last.pt"), at("last.ckpt"))).toMatchObject({ code: 0, out: "" });
  const { code, err } = await zensor("convert", at("last.pt"), at("model.bin"));
  expect([code, err]).toEqual([2, expect.stringContaining("no format ends in .bin. Name one with --to")]);
  expect(err).toContain("There are memmap, tdz, consolidated, safetensors, pt,");
});
