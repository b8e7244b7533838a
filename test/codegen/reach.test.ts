// Which tests the inner loop runs for a changed file: every folder of sources has some, and they exist.
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { reachedTests } from "../../scripts/reach.ts";

const root = join(import.meta.dir, "../..");

test("every room of the library has tests", () => {
  const rooms = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of rooms) {
    const tests = reachedTests([`src/${name}/some-file.ts`]);
    expect([name, tests.length > 0]).toEqual([name, true]);
    for (const path of tests) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  }
});

test("changed tests run themselves, and none twice", () => {
  expect(reachedTests(["test/io/npz.test.ts", "test/io/helpers.ts"])).toEqual(["test/io"]);
  expect(reachedTests(["test/nn/linear.test.ts", "zig/src/cpu/random_libm.zig"])).toEqual([
    "test/api",
    "test/conformance",
    "test/nn",
    "test/ops",
  ]);
  expect(reachedTests(["LICENSE"])).toEqual([]);
});
