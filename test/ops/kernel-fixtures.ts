// Reads the kernel fixtures: what scripts/oracle/make_kernel_fixtures.py wrote.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpSpec, Row } from "./kernel-types.ts";

export interface KernelFixtures {
  ops: Record<string, OpSpec>;
  rows: Row[];
  /** Digests of formula storages. */
  inputs: Record<string, string>;
}

export function readKernelFixtures(): KernelFixtures {
  const dir = join(import.meta.dir, "../fixtures/kernels");
  const read = (name: string) => readFileSync(join(dir, name), "utf8");
  const rows = readdirSync(dir)
    .filter((name) => /^rows-.*\.jsonl$/.test(name))
    .sort()
    .flatMap((name) => read(name).split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);
  return { ops: JSON.parse(read("ops.json")), rows, inputs: JSON.parse(read("inputs.json")) };
}
