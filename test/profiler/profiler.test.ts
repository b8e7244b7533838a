// What a profile records of the calls of operators, its table and its trace.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, nn, ones, profiler, randn, tensor } from "../../src/index.ts";
import { averagesOf } from "../../src/profiler/averages.ts";
import type { ProfilerEvent } from "../../src/profiler/recorder.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-profiler-"));
afterAll(() => rmSync(folder, { recursive: true }));

const names = (found: { events: readonly ProfilerEvent[] }): string[] => found.events.map((e) => e.name);

test("calls are recorded with their shapes, in every form", () => {
  const x = ones(2, 3);
  const out = ones(2, 3);
  const found = profiler.profile(
    () => {
      x.add(ones(3), { out });
      x.add_(1);
      x.at("0:1", 2);
      x.setAt([0, 1], 5);
      return x.sum();
    },
    { recordShapes: true },
  );
  expect(found.result.item()).toBe(15);
  expect(names(found)).toEqual(
    ["ones", "add", "add_", "slice", "select", "select", "select", "fill_", "sum"].map((name) => `aten::${name}`),
  );
  expect(found.events.map((e) => e.inputShapes?.[0])).toEqual([
    [],
    [2, 3],
    [2, 3],
    [2, 3],
    [1, 3],
    [2, 3],
    [3],
    [],
    [2, 3],
  ]);
  expect(found.events[1]?.inputShapes).toEqual([[2, 3], [3], []]);
});

test("operators inside of operators and of the backward pass are theirs", () => {
  const w = ones(4, 4, { requiresGrad: true });
  const found = profiler.profile(() => w.mul(w).sum().backward());
  expect(names(found).filter((name) => name === "aten::mul").length).toBe(3);
  const inner = profiler.profile(() => ones(2).std());
  for (const event of inner.events) expect(event.selfCpuTime).toBeLessThanOrEqual(event.cpuTime + 1e-6);
  const composite = profiler.profile(() => nn.functional.linear(ones(2, 3), ones(4, 3)));
  const linear = composite.events.find((e) => e.name === "aten::linear");
  expect(composite.events.some((e) => e.parent === linear)).toBe(true);
});

test("memory: what results bring, shared with nobody", () => {
  const x = ones(8, 8);
  const found = profiler.profile(() => [x.add(1), x.view(64), x.mul_(2)], { profileMemory: true });
  expect(found.events.map((e) => [e.name, e.cpuMemory])).toEqual([
    ["aten::add", 256],
    ["aten::view", 0],
    ["aten::mul_", 0],
  ]);
});

test("a name of one's own", () => {
  const found = profiler.profile(() => profiler.recordFunction("mine", () => ones(2).exp()));
  expect(names(found)).toEqual(["mine", "aten::ones", "aten::exp"]);
  expect(found.events[2]?.parent).toBe(found.events[0] as ProfilerEvent);
  expect(profiler.recordFunction("alone", () => 3)).toBe(3);
});

test("an error ends the recording, and nobody records afterwards", () => {
  const x = ones(2);
  let first: unknown;
  expect(() =>
    profiler.profile(() => {
      first = x.add(1);
      x.add(ones(3));
    }),
  ).toThrow("must match the size");
  expect(names(profiler.profile(() => x.add(1)))).toEqual(["aten::add"]);
  expect((first as typeof x).tolist()).toEqual([2, 2]);
  expect(() => profiler.profile(async () => {})).toThrow("not async");
  expect(() => profiler.profile(() => 1, { shapes: true } as never)).toThrow("unexpected keyword argument 'shapes'");
  const refused = (what: () => unknown, message: string) => expect(what).toThrow(message);
  refused(
    () => profiler.profile(() => 1, { recordShapes: 1 } as never),
    "argument 'recordShapes' must be bool, not int",
  );
  refused(() => profiler.profile(() => 1, 5 as never), "profile() takes at most 1 arguments but 2 were given");
  const found = profiler.profile(() => ones(2));
  refused(() => found.keyAverages({ byShape: true } as never), "unexpected keyword argument 'byShape'");
  refused(() => found.keyAverages().table({ rowLimit: "5" } as never), "argument 'rowLimit' must be int, not str");
  refused(() => found.keyAverages().table({ rows: 5 } as never), "unexpected keyword argument 'rows'");
  refused(() => found.exportChromeTrace(5 as never), "argument 'path' must be str, not int");
  refused(() => profiler.recordFunction(5 as never, () => 1), "argument 'name' must be str, not int");
  expect(profiler.profile(() => 3, { recordShapes: undefined }).result).toBe(3);
});

test("profiles inside of profiles both see", () => {
  let inner: string[] = [];
  const outer = profiler.profile(() => {
    inner = names(profiler.profile(() => ones(2).exp()));
    ones(3);
  });
  expect(inner).toEqual(["aten::ones", "aten::exp"]);
  expect(names(outer)).toEqual(["aten::ones", "aten::exp", "aten::ones"]);
});

function event(name: string, cpuTime: number, selfCpuTime: number, more: Partial<ProfilerEvent> = {}): ProfilerEvent {
  const rest = { start: 0, inputShapes: null, cpuMemory: 0, selfCpuMemory: 0, parent: null };
  return { name, cpuTime, selfCpuTime, ...rest, ...more };
}

test("the table is torch's, letter for letter", () => {
  const linear = event("aten::linear", 1106.3, 48.851, { cpuMemory: 128, inputShapes: [[8, 8], [4, 8], [4]] });
  const events = [
    linear,
    event("aten::addmm", 1057.449, 1057.449, {
      cpuMemory: 128,
      selfCpuMemory: 2048,
      parent: linear,
      inputShapes: [[4]],
    }),
  ];
  const row = (cells: string[], widths: number[]) =>
    cells.map((cell, i) => `${cell.padStart(widths[i] as number)}  `).join("");
  const widths = [16, 12, 12, 12, 12, 12, 12];
  const rule = row(
    widths.map((w) => "-".repeat(w)),
    widths,
  );
  const plain = averagesOf(events, false, false).table({ sortBy: "cpu_time_total" });
  expect(plain).toBe(
    [
      rule,
      row(["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"], widths),
      rule,
      row(["aten::linear", "4.42%", "48.851us", "100.00%", "1.106ms", "1.106ms", "1"], widths),
      row(["aten::addmm", "95.58%", "1.057ms", "95.58%", "1.057ms", "1.057ms", "1"], widths),
      rule,
      "Self CPU time total: 1.106ms\n",
    ].join("\n"),
  );
  const full = averagesOf(events, true, true).table({ sortBy: "selfCpuTimeTotal", rowLimit: 1 }).split("\n");
  expect(full[1]).toEndWith(`${"CPU Mem".padStart(12)}  Self CPU Mem    # of Calls  ${"Input Shapes".padStart(25)}  `);
  expect(full[3]).toEndWith(`${"128 B".padStart(12)}       2.00 KB             1  ${"[[4]]".padStart(25)}  `);
  expect(full.length).toBe(7);
  expect(() => averagesOf(events, false, false).table({ sortBy: "colour" as never })).toThrow(
    "cannot sort by 'colour'",
  );
});

test("the trace is a file of Chrome's format", () => {
  const found = profiler.profile(() => tensor([1, 2]).add(arange(2)), { recordShapes: true });
  const path = join(folder, "trace.json");
  found.exportChromeTrace(path);
  const { traceEvents } = JSON.parse(readFileSync(path, "utf8"));
  const last = traceEvents.at(-1);
  expect([last.ph, last.cat, last.name, last.args["Input Dims"]]).toEqual(["X", "cpu_op", "aten::add", [[2], [2], []]]);
  expect(last.ts).toBeGreaterThanOrEqual(traceEvents[0].ts);
  expect(() => found.exportChromeTrace(join(folder, "missing", "trace.json"))).toThrow("No such file");
});

test("nothing is kept of what was profiled", () => {
  const x = randn(4);
  for (let i = 0; i < 100; i++) profiler.profile(() => x.add(1), { profileMemory: true });
  expect(names(profiler.profile(() => x.add(1)))).toEqual(["aten::add"]);
});
