// `zensor doctor`: what is there, what is not, and that no secret is shown.
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/cli/doctor.ts";
import { cpu } from "../../src/index.ts";
import { zensor } from "./run.ts";

const WHATS = ["library", "instructions", "threads", "memory", "huge pages", "CUDA", "HDF5", "MPI", "S3"];
const MAIN = join(import.meta.dir, "..", "..", "src", "cli", "main.ts");

/** In a process of its own, since settings are read when the library is loaded. */
function doctor(env: Record<string, string>): Map<string, Finding> {
  const { PATH = "", HOME = "" } = process.env;
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, MAIN, "doctor", "--json"], {
    env: { PATH, HOME, ...env },
  });
  expect({ exitCode, error: stderr.toString() }).toEqual({ exitCode: 0, error: "" });
  return new Map((JSON.parse(stdout.toString()) as Finding[]).map((finding) => [finding.what, finding]));
}

test("has a line and a meaning for everything", async () => {
  const { code, out, err } = await zensor("doctor");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const lines = out.trimEnd().split("\n");
  expect(lines.filter((_, i) => i % 2 === 0).map((line) => line.slice(11, 23).trim())).toEqual(WHATS);
  for (const line of lines.filter((_, i) => i % 2 === 1)) expect(line).toMatch(/^ {25}\S/);
});

test("says what settings do", () => {
  const found = doctor({ ZENSOR_ISA: process.arch === "x64" ? "baseline" : "neon", ZENSOR_NUM_THREADS: "1" });
  expect(found.get("threads")).toMatchObject({ detail: "1", meaning: expect.stringContaining("ZENSOR_NUM_THREADS") });
  if (cpu.bestIsa() === "baseline" || process.arch !== "x64") return;
  expect(found.get("instructions")).toMatchObject({
    detail: "baseline",
    meaning: `slower than ${cpu.bestIsa()} would be, because ZENSOR_ISA says so`,
  });
});

test("tells which settings for S3 there are, and no secret", () => {
  expect(doctor({}).get("S3")).toMatchObject({ found: false, detail: "nothing is set" });
  const secrets = { S3_ACCESS_KEY_ID: "who-it-is", AWS_SECRET_ACCESS_KEY: "what-nobody-knows" };
  const found = doctor({ ...secrets, S3_ENDPOINT: "http://127.0.0.1:9" });
  expect(found.get("S3")).toMatchObject({
    found: true,
    detail: "set: S3_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, S3_ENDPOINT",
  });
  const text = JSON.stringify([...found.values()]);
  for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
  expect(doctor({ S3_ACCESS_KEY_ID: "x" }).get("S3")?.found).toBe(false);
});

test("does not find what is not there", () => {
  const found = doctor({ PATH: "/nowhere", ZENSOR_HDF5: "/nowhere/libhdf5.so" });
  expect(found.get("MPI")).toMatchObject({ found: false, detail: "no mpiexec on the PATH" });
});

test("says what a driver of CUDA means, and that there is none", () => {
  const refused = { found: false, meaning: expect.stringContaining("is refused") };
  expect(doctor({ ZENSOR_LIBCUDA: "/nowhere/libcuda.so" }).get("CUDA")).toMatchObject(refused);
  const standin = join(import.meta.dir, "..", "..", "build", "standin");
  const file = existsSync(standin) ? readdirSync(standin).find((name) => name.endsWith(".so")) : undefined;
  if (file === undefined) return;
  expect(doctor({ ZENSOR_LIBCUDA: join(standin, file) }).get("CUDA")).toMatchObject({
    found: true,
    detail: expect.stringMatching(/^cuda:0 .+ GiB\); driver \d+\.\d+$/),
    meaning: expect.stringContaining("computes there"),
  });
});
