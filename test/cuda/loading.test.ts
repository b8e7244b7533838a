// Files that are loaded to devices: every reader gives there what it gives on the CPU.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildStandin } from "../../scripts/standin.ts";
import type * as z from "../../src/index.ts";
import { LOADERS, writeSamples } from "../io/loaders.ts";
import { available } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = buildStandin();

const folder = mkdtempSync(join(tmpdir(), "zensor-loading-"));
beforeAll(() => writeSamples(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const all = (tensors: Record<string, z.Tensor>) =>
  Object.entries(tensors).map(([name, t]) => [name, String(t.dtype), t.stride(), t.cpu().tolist()]);

describe.if(available)("loading to a device", () => {
  test.each(Object.entries(LOADERS))("%s", (_, load) => {
    const there = load(folder, { device: "cuda" });
    expect([...new Set(Object.values(there).map((t) => String(t.device)))]).toEqual(["cuda:0"]);
    expect(all(there)).toEqual(all(load(folder, {})));
  });
});
