// How long a program takes that does nothing but load the library.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Case, Side } from "./case.ts";

function program(file: string): Side {
  const path = join(import.meta.dir, "peers", file);
  return {
    run(n) {
      const start = performance.now();
      for (let i = 0; i < n; i++) {
        const child = spawnSync(process.execPath, [path], { stdio: "ignore" });
        if (child.status !== 0) throw new Error(`${file} ended with ${child.status}`);
      }
      return (performance.now() - start) / 1000;
    },
  };
}

export const cases: readonly Case[] = [
  { name: "import, against torch", python: "import torch", ours: () => program("import-zensor.ts"), rounds: 7 },
  {
    name: "import, against an empty program",
    ours: () => program("import-zensor.ts"),
    theirs: { label: "empty Bun program", side: () => program("empty.ts") },
  },
];
