// The metrics line of a run, the figures that it holds, and how their history is read from git.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  bytesBelow,
  chart,
  medianIn,
  overloadsIn,
  type Point,
  recorded,
  recordedText,
  recordsIn,
  seriesOf,
  sweepIn,
  thinned,
} from "../../scripts/history.ts";
import type { CallPath } from "../../scripts/measure.ts";
import { lastMetrics, metricsLine, parseMetrics } from "../../scripts/metrics.ts";

describe("the line", () => {
  const figures = { library_bytes: 3858712, build_seconds: null, case_coverage: 0.9954, tests: 0 };

  test("is written and read back", () => {
    const line = metricsLine(figures);
    expect(line).toBe("metrics: library_bytes=3858712 build_seconds=none case_coverage=0.9954 tests=0");
    expect(parseMetrics(line)).toEqual(figures);
  });

  test("is found in a run's output, the last one if there are several", () => {
    const line = metricsLine(figures);
    const log = `2026-11-23T08:00Z ok  types\r\n2026-11-23T08:01Z \u001b[1m${line}\u001b[0m\r\n12 passed, 0 failed\n`;
    expect(lastMetrics(log)).toEqual(figures);
    expect(lastMetrics(`metrics: tests=1\n${log}`)).toEqual(figures);
    expect(lastMetrics("12 passed, 0 failed\n")).toBeUndefined();
  });

  test("is told from any other", () => {
    for (const line of ["", "metrics:", "metrics: a=", "metrics: a=b", "metrics: a=1 b", "12 passed, 0 failed"]) {
      expect([line, parseMetrics(line)]).toEqual([line, undefined]);
    }
  });
});

describe("what is measured", () => {
  const run = () => {
    const program = join(import.meta.dir, "..", "..", "scripts", "measure.ts");
    const { stdout, exitCode } = Bun.spawnSync([process.execPath, program]);
    expect(exitCode).toBe(0);
    return JSON.parse(stdout.toString()) as { operators: number; covered: number; paths: CallPath[] };
  };
  const [first, second] = [run(), run()];
  const path = (name: string) => first.paths.find((one) => one.name === name);

  test("is the same at every run", () => expect(second).toEqual(first));

  test("a pointwise call is one native call, and takes no block while it is small", () => {
    for (const name of ["add", "add_", "add a number", "softmax", "sum of a dimension"]) {
      expect(path(name)).toEqual({ name, natives: 1, blocks: 0, bytes: 0 });
    }
  });

  test("a view asks nothing of the native side", () => {
    for (const name of ["view", "at"]) expect(path(name)).toEqual({ name, natives: 0, blocks: 0, bytes: 0 });
  });

  test("a large result takes a block of its size", () => {
    const large = path("add, 400 KiB");
    expect([large?.blocks, large?.bytes]).toEqual([1, 409600]);
    expect(large?.natives).toBeGreaterThan(1);
  });

  test("cases are counted by public operator", () => {
    expect(first.operators).toBeGreaterThan(200);
    expect(first.covered).toBeLessThanOrEqual(first.operators);
  });
});

describe("history", () => {
  test("reads what a commit holds", () => {
    const tree =
      "100644 blob a1b2    120\tsrc/a.ts\n100755 blob c3     7\tsrc/b/c.ts\n100644 blob d4   99\ttest/a.ts\n";
    expect([bytesBelow(tree, /^src\//), bytesBelow(tree, /^zig\//)]).toEqual([127, 0]);
    expect(overloadsIn('[{"internal":true},{"internal":false},{}]')).toBe(2);
    expect(overloadsIn("")).toBeNull();
    const results =
      "| family | case | ours |\n| overhead | add | 76.3 ns | 1 |\n| overhead | add_ | 1.08e+3 µs | 1 |\n";
    expect(medianIn(results, "overhead", "add")).toBe(76.3);
    expect(medianIn(results, "overhead", "add_")).toBe(1.08e6);
    expect(medianIn(results, "io", "add")).toBeNull();
    expect(sweepIn("| elements | rows | mean |\n| 32 x 32 | 1860 | 0.50 |\n", "32 x 32")).toBe(0.5);
    expect(sweepIn("", "32 x 32")).toBeNull();
  });

  const point = (commit: string, figures: Point["figures"]): Point => ({ commit, day: "2026-11-22", figures });
  const points = [point("a", { x: 1, y: null }), point("b", { x: 3 }), point("c", { x: 2, y: 5 })];

  test("takes the points that have a figure", () => {
    expect(seriesOf(points, "x").values).toEqual([1, 3, 2]);
    expect(seriesOf(points, "y").points.map((one) => one.commit)).toEqual(["c"]);
    expect(recordsIn(`${JSON.stringify(points[0])}\n\n${JSON.stringify(points[2])}\n`)).toEqual([
      points[0]!,
      points[2]!,
    ]);
  });

  test("draws a line between the extremes", () => {
    const lines = chart("x", points).split("\n");
    expect(lines[0]).toBe("x: 1 (a, 2026-11-22) to 2 (c, 2026-11-22)");
    expect([lines[1]?.trimStart()[0], lines.at(-2)?.trimStart()[0]]).toEqual(["3", "1"]);
    expect(chart("y", points)).toBe("y: 5 (c, 2026-11-22) to 5 (c, 2026-11-22)\n");
    expect(chart("z", points)).toBe("");
  });

  test("says that one record is no line yet", () => {
    expect(recordedText("x", [points[0]!])).toBe("recorded x: 1 (a, 2026-11-22), the only record of it so far\n");
    expect(recordedText("y", [points[0]!])).toBe("");
    expect(recordedText("x", points)).toBe(`recorded ${chart("x", points)}`);
  });

  test("has one record of a commit", () => {
    const again = point("a", { x: 9 });
    expect(recorded(points, again)).toEqual([points[1]!, points[2]!, again]);
  });

  test("keeps first and last of many", () => {
    expect(thinned([1, 2, 3], 5)).toEqual([1, 2, 3]);
    expect(thinned([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 3)).toEqual([0, 5, 10]);
  });
});
