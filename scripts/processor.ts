// Which of the library's instruction sets this processor has.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What each set needs: flag names as Linux and macOS give them, in lower case. */
const NEEDS = {
  avx2: ["avx2", "fma", "bmi2", "f16c"],
  avx512: ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"],
} as const;

function features(): Set<string> {
  if (process.platform === "linux") {
    const flags = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "";
    return new Set(flags.trim().split(/\s+/));
  }
  if (process.platform === "darwin") {
    const names = ["machdep.cpu.features", "machdep.cpu.leaf7_features"];
    const { stdout } = spawnSync("sysctl", ["-n", ...names], { encoding: "utf8" });
    return new Set((stdout ?? "").toLowerCase().trim().split(/\s+/));
  }
  return new Set();
}

/** The instruction sets that tests can force here, and those that they cannot. */
export function instructionSets(): { present: string[]; absent: string[] } {
  const present = ["baseline"];
  const absent: string[] = [];
  if (process.arch !== "x64") return { present, absent };
  const have = features();
  for (const [set, needs] of Object.entries(NEEDS)) {
    (needs.every((name) => have.has(name)) ? present : absent).push(set);
  }
  return { present, absent };
}
