// Every reader takes the device that its tensors go to; on a machine without GPUs "meta" is one.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "../../src/index.ts";
import { LOADERS, samples, writeSamples } from "./loaders.ts";
import { describeWithStore } from "./s3-server.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-placing-"));
beforeAll(() => writeSamples(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const devices = (tensors: Record<string, z.Tensor>) => [
  ...new Set(Object.values(tensors).map((t) => String(t.device))),
];
const outlines = (tensors: Record<string, z.Tensor>) =>
  Object.entries(tensors).map(([name, t]) => [name, String(t.dtype), [...t.shape], t.stride()]);

describe.each(Object.entries(LOADERS))("%s", (_, load) => {
  test("puts its tensors where they are wanted", () => {
    const usual = load(folder, {});
    expect(devices(usual)).toEqual(["cpu"]);
    expect(devices(load(folder, { device: "cpu" }))).toEqual(["cpu"]);
    expect(devices(load(folder, { device: null }))).toEqual(["cpu"]);
    const there = load(folder, { device: "meta" });
    expect(devices(there)).toEqual(["meta"]);
    expect(outlines(there)).toEqual(outlines(usual));
    const a = usual.a;
    if (a !== undefined) expect(a.contiguous().sum().item()).toBe(595);
  });

  test("refuses what is no device", () => {
    expect(() => load(folder, { device: "gpu" as z.DeviceLike })).toThrow("gpu");
    if (z.cuda.isAvailable()) return;
    expect(() => load(folder, { device: "cuda" })).toThrow(/NVIDIA|CUDA/);
  });
});

test("collections know the device that they were loaded to", () => {
  const file = join(folder, "one.td");
  expect(z.fromConsolidated(file).device).toBeNull();
  expect(String(z.fromConsolidated(file, { device: "cpu" }).device)).toBe("cpu");
  const there = z.fromConsolidated(file, { device: "meta" }) as z.TensorDict;
  expect([String(there.device), String((there.get("n") as z.TensorDict).device), there.at("word")]).toEqual([
    "meta",
    "meta",
    "x",
  ]);
});

test("options of other names are refused", () => {
  expect(() => z.io.loadGguf(join(folder, "all.gguf"), { devices: "meta" } as never)).toThrow("devices");
  expect(() => z.fromConsolidated(join(folder, "one.td"), { mapLocation: "meta" } as never)).toThrow("mapLocation");
});

describeWithStore((store) => {
  test("what comes from a store, too", async () => {
    const url = store.url("placed.safetensors");
    await z.saveSafetensorsAsync(samples(), url, { remote: store.options });
    const file = await z.io.RemoteSafetensors.open(url, { ...store.options, device: "meta" });
    expect(devices(Object.fromEntries(await file.tensors()))).toEqual(["meta"]);
    const rows = await file.tensor("a", { rows: [1, 3] });
    expect([String(rows.device), [...rows.shape]]).toEqual(["meta", [2, 7]]);
    const directory = store.url("placed");
    await z.saveRemote(new z.TensorDict(samples(), []), directory, store.options);
    const td = await z.loadRemote(directory, { ...store.options, device: "meta" });
    expect([String(td.device), String((td.get("a") as z.Tensor).device)]).toEqual(["meta", "meta"]);
    await expect(z.loadRemote(directory, { ...store.options, device: "gpu" as never })).rejects.toThrow("gpu");
  });
});
