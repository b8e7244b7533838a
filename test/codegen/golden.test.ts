// What the generator writes for a small made-up schema, file by file, compared with what was written before.
// After a change that is meant: `ZENSOR_GOLDEN=write bun test test/codegen/golden.test.ts`, and read the difference.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { artefactsOf } from "../../codegen/main.ts";
import type { Code } from "../../codegen/model/code.ts";
import { loadModel } from "../../codegen/model/load.ts";

const stored = join(import.meta.dir, "..", "fixtures", "golden");
const writing = process.env.ZENSOR_GOLDEN === "write";
if (writing && process.env.CI) throw new Error("golden files are written by hand, never in CI");

const code: Code = {
  implemented: null,
  batchRules: null,
  tangentHelpers: ["braided", "chosen"],
  formulaHelpers: ["scaled", "dimBackward", "zerosOf", "placed", "joined", "unbraided"],
  arities: new Map([
    ["lights.dimBy", 5],
    ["lights.crowd", 2],
    ["lights.crowdDim", 4],
    ["lights.tilt", 2],
    ["lights.shards", 2],
    ["lights.sand", 5],
    ["lights.moveTo", 2],
    ["lights.isLit", 2],
    ["composites.twice", 4],
    ["lights.braid", 3],
    ["lights.strand", 3],
    ["composites.blink", 3],
    ["lights.pick", 4],
    ["lights.addBraid", 4],
    ["lights.lit", 7],
    ["lights.knot", 1],
    ["lights.flare", 4],
    ["lights.fade", 4],
    ["lights.hang", 5],
    ["lights.tie", 2],
    ["lights.plait", 5],
  ]),
};
const artefacts = artefactsOf(loadModel(join(import.meta.dir, "golden"), code));

describe("what a small schema gives", () => {
  for (const [name, text] of Object.entries(artefacts)) {
    test(name, () => {
      const file = join(stored, `${name}.txt`);
      if (writing) {
        mkdirSync(stored, { recursive: true });
        writeFileSync(file, text);
      }
      expect(text).toBe(readFileSync(file, "utf8"));
    });
  }
});

test("each artefact is stored, and nothing else", () => {
  const names = Object.keys(artefacts).map((name) => `${name}.txt`);
  expect(readdirSync(stored).sort()).toEqual(names.sort());
});

test("whatever a reader would compile, compiles", () => {
  for (const [name, text] of Object.entries(artefacts)) {
    if (!name.endsWith(".ts")) continue;
    expect(() => new Bun.Transpiler({ loader: "ts" }).transformSync(text)).not.toThrow();
  }
});
