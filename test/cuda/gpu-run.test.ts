// `bun run gpu` on the stand-in, whole and at small sizes: what it checks is right, and what it writes is labelled.
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bandwidthOf, type Facts, peakOf } from "../../scripts/gpu/peak.ts";
import type { Record as Results } from "../../scripts/gpu/results.ts";
import { readOutcome } from "../../scripts/gpu/tests.ts";
import { buildStandin } from "../../scripts/standin.ts";
import { root, runProgram, scratch } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const out = join(scratch, "gpu-run");

function run(args: string[], env: Record<string, string>): { exitCode: number; stdout: string; stderr: string } {
  return runProgram([process.execPath, join(root, "scripts", "gpu", "run.ts"), ...args, "--out", out], env);
}

const read = (): Results => JSON.parse(readFileSync(join(out, "gpu.json"), "utf8")) as Results;
const table = (): string => readFileSync(join(out, "GPU.md"), "utf8");

describe.if(emulated)("a run on the stand-in", () => {
  let finished: ReturnType<typeof run>;

  beforeAll(() => {
    rmSync(out, { recursive: true, force: true });
    finished = run(["--sizes", "small"], { ZENSOR_LIBCUDA: buildStandin() });
  }, 120_000);

  test("ends well, with every part done", () => {
    expect([finished.exitCode, finished.stdout]).toEqual([0, expect.stringContaining("emulated: ")]);
    const states = Object.entries(read().parts).map(([name, { state }]) => `${name} ${state}`);
    expect(states.filter((line) => !/ (done|left out)$/.test(line))).toEqual([]);
    expect(states).toHaveLength(9);
  });

  test("is labelled emulated", () => {
    expect(read().kind).toBe("emulated");
    expect(table()).toContain("**Emulated** by the stand-in driver");
  });

  test("finds nothing wrong, and says what is missing", () => {
    const { conformance, memory, rows } = read();
    const sets = Object.values(conformance) as { passed: number; wrong: string[] }[];
    expect(sets.flatMap(({ wrong }) => wrong)).toEqual([]);
    expect(sets[0]?.passed).toBeGreaterThan(640);
    expect(memory["statistics to the byte"]).toEqual([]);
    expect(memory["products of whole numbers that are wrong"]).toEqual([]);
    // A dead result or two may wait for the next collection.
    expect(memory["growth on the device, bytes"]).toBeLessThan(64 * 1024);
    const all = Object.values(rows).flat();
    expect(all.filter(({ seconds, note }) => seconds === undefined && !/^no kernel: [\w.]+$/.test(note ?? ""))).toEqual(
      [],
    );
    expect(all.filter(({ seconds }) => (seconds ?? 0) > 0).length).toBeGreaterThan(25);
  });

  test("has a row for each measurement", () => {
    const { rows } = read();
    expect(Object.keys(rows).sort()).toEqual(["bandwidth", "networks", "products", "small", "transfers"]);
    const lines = table().split("\n");
    for (const row of rows.bandwidth ?? []) {
      expect(lines.some((line) => line.startsWith(`| ${row.name} | ${row.dtype} | ${row.elements} | `))).toBe(true);
    }
  });
});

test("peaks are those of the products' data sheets", () => {
  const a100 = { capability: "8.0", multiprocessors: 108, clock: 1_410_000, memoryClock: 1_215_000, busWidth: 5120 };
  const t4 = { capability: "7.5", multiprocessors: 40, clock: 1_590_000, memoryClock: 5_001_000, busWidth: 256 };
  const teraflops = (facts: Facts, dtype: string): string => ((peakOf(facts, dtype) ?? 0) / 1e12).toFixed(1);
  expect(["f32", "tf32", "f16", "bf16", "f64"].map((dtype) => teraflops(a100, dtype))).toEqual([
    "19.5",
    "155.9",
    "311.9",
    "311.9",
    "19.5",
  ]);
  expect(["f32", "tf32", "f16", "bf16", "f64"].map((dtype) => teraflops(t4, dtype))).toEqual([
    "8.1",
    "0.0",
    "65.1",
    "0.0",
    "0.3",
  ]);
  expect([a100, t4].map((facts) => Math.round((bandwidthOf(facts) ?? 0) / 1e9))).toEqual([1555, 320]);
  expect(peakOf({ ...t4, capability: "99.0" }, "f32")).toBeNull();
});

describe("what is there already", () => {
  test("is replaced without a GPU, and never where a GPU measured it", () => {
    rmSync(out, { recursive: true, force: true });
    const nowhere = { ZENSOR_LIBCUDA: join(scratch, "no-such-library.so") };
    expect(run([], nowhere).exitCode).toBe(0);
    expect(read().kind).toBe("none");
    expect(table()).toContain("There was no GPU on the machine of the last run");
    mkdirSync(out, { recursive: true });
    const real = JSON.stringify({ ...read(), kind: "device" });
    writeFileSync(join(out, "gpu.json"), real);
    expect(run([], nowhere).exitCode).toBe(0);
    expect(readFileSync(join(out, "gpu.json"), "utf8")).toBe(real);
  });

  test.if(emulated)("a run of one part leaves the others out, and one without time says so", () => {
    rmSync(out, { recursive: true, force: true });
    const standin = { ZENSOR_LIBCUDA: buildStandin() };
    expect(run(["transfers", "bandwidth", "--budget", "0.001"], standin).exitCode).toBe(0);
    const { parts } = read();
    expect([parts.bandwidth?.state, parts.transfers?.state]).toEqual(["out of time", "out of time"]);
    expect(parts.products?.state).toBe("left out");
    expect(run(["nonsense"], standin).exitCode).toBe(2);
    expect(existsSync(join(out, "GPU.md"))).toBe(true);
  });
});

test("what bun says of tests is read", () => {
  const text =
    "(pass) one [2.00ms]\n(fail) many > of them [1.50ms]\n(skip) late\n\n 12 pass\n 1 skip\n 1 fail\nRan 14 tests";
  expect(readOutcome(text)).toEqual({ passed: 12, failed: 1, skipped: 1, failures: ["many > of them"] });
});
