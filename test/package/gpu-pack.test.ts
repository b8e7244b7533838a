// `bun run gpu:pack`: the archive is unpacked in an empty folder and runs there with nothing installed. Emulated.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packForGpu } from "../../scripts/gpu/pack.ts";
import { buildStandin } from "../../scripts/standin.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-gpu-pack-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What unpacking and the first line need. */
const TOOLS = ["tar", "xz", "sh", "dirname", "mkdir", "uname"];

const possible = process.platform === "linux" && process.arch === "x64" && TOOLS.every((name) => Bun.which(name));

test.if(possible)(
  "unpacks with tar and xz alone, and runs by one command",
  () => {
    // The quickest preset; the smallest archive takes minutes.
    const archive = packForGpu(join(folder, "zensor-gpu.tar.xz"), 0);
    expect(statSync(archive).size).toBeLessThan(55e6);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    for (const name of TOOLS) symlinkSync(Bun.which(name) as string, join(bin, name));
    const place = join(folder, "there");
    mkdirSync(place);
    const env = { PATH: bin, HOME: place, ZENSOR_LIBCUDA: buildStandin() };
    const words = ["-c", "tar xf ../zensor-gpu.tar.xz && ./zensor-gpu/run --sizes small"];
    const { exitCode, stdout, stderr } = Bun.spawnSync([join(bin, "sh"), ...words], { cwd: place, env });
    expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([0, expect.any(String), expect.any(String)]);
    const results = join(place, "zensor-gpu", "results");
    const record = JSON.parse(readFileSync(join(results, "gpu.json"), "utf8"));
    expect(record.kind).toBe("emulated");
    expect(record.parts.conformance.state).toBe("done");
    expect(Object.values(record.parts).map((part) => (part as { state: string }).state)).not.toContain("failed");
    expect(readFileSync(join(results, "GPU.md"), "utf8")).toContain("**Emulated**");
  },
  240_000,
);
