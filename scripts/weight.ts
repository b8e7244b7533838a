/**
 * What the library weighs in a program: objects and functions of the engine after `import "zensor"`, and after three
 * hundred calls of all kinds. The collector looks at each function that exists in every young collection.
 *   bun scripts/weight.ts      prints them as JSON; it imports nothing else, which would weigh, too
 */
import { fullGC, heapStats } from "bun:jsc";
import { mixedCalls } from "./weight-calls.ts";

export interface Weight {
  importObjects: number;
  importFunctions: number;
  mixedObjects: number;
  mixedFunctions: number;
}

function counted(): [objects: number, functions: number] {
  fullGC();
  const { objectCount, objectTypeCounts } = heapStats();
  return [objectCount, objectTypeCounts.Function ?? 0];
}

if (import.meta.main) {
  const zensor = (await import(`${import.meta.dir}/../build/lib/zensor.mjs`)) as Parameters<typeof mixedCalls>[0];
  const [importObjects, importFunctions] = counted();
  const calls = mixedCalls(zensor);
  const [mixedObjects, mixedFunctions] = counted();
  console.log(JSON.stringify({ importObjects, importFunctions, mixedObjects, mixedFunctions, calls }));
}
