// Saves to one place again and again in one way, until it is killed.
import "../../src/install.ts";
import { writeSync } from "node:fs";
import { saveSafetensors, saveSafetensorsAsync } from "../../src/io/safetensors/safetensors.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";

const [target, way] = process.argv.slice(2) as [string, string];
const td = new TensorDict({ a: zeros([1024, 1024]), b: zeros([1024, 1024]) }, []);
const tensors = { a: zeros([1024, 1024]), b: zeros([1024, 1024]) };
const ways: Record<string, () => unknown> = {
  file: () => saveSafetensors(tensors, target),
  "file-later": () => saveSafetensorsAsync(tensors, target),
  h5: () => td.toH5(target).close(),
  archive: () => td.save(target),
  "directory-later": () => td.saveAsync(target),
  atomic: () => td.save(target, { atomic: true }),
};
writeSync(1, "ready\n");
for (;;) await ways[way]?.();
