// What small objects take of the collector's memory: the engine rounds an object's fields up to sizes that are far
// apart, so one field more may cost half an object.
import { expect, test } from "bun:test";
import { join } from "node:path";

const PROGRAM = `
import { heapStats } from "bun:jsc";
import { TensorDict, zeros } from ${JSON.stringify(join(import.meta.dir, "..", "..", "src", "index.ts"))};
const COUNT = 20_000;
const kept = (globalThis.kept = []);
const bytesOf = (make) => {
  for (let i = 0; i < 1000; i++) kept.push(make());
  Bun.gc(true);
  const before = heapStats().heapSize;
  for (let i = 0; i < COUNT; i++) kept.push(make());
  Bun.gc(true);
  return (heapStats().heapSize - before) / COUNT;
};
console.log(bytesOf(() => zeros(3)), bytesOf(() => new TensorDict({ a: zeros(3), b: zeros(4) }, [])));
`;

test("a small tensor, and a dictionary of two", () => {
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", PROGRAM]);
  expect(stderr.toString()).toBe("");
  const [tensor, dictionary] = stdout.toString().trim().split(" ").map(Number) as [number, number];
  expect(tensor).toBeGreaterThan(300);
  expect(tensor).toBeLessThan(470);
  expect(dictionary).toBeLessThan(1300);
});
