// Replaces files of all formats again and again, each time by one whose layout is another: version n has n in all
// elements.
import "../../src/install.ts";
import { writeSync } from "node:fs";
import { saveNpy } from "../../src/io/numpy/npy.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";

const [folder, format] = process.argv.slice(2) as [string, string];
const path = `${folder}/saved.${format}`;
for (let n = 1; ; n++) {
  const [first, second] = [40 + 8 * (n % 7), 100 - 8 * (n % 5)];
  const tensors = { a: zeros([first]).add(n), b: zeros([second]).add(n), count: zeros([1]).add(n) };
  if (format === "safetensors") saveSafetensors(tensors, path);
  else if (format === "npz") saveNpz(path, tensors);
  else if (format === "npy") saveNpy(path, zeros([first]).add(n));
  else if (format === "pt") saveTorch(tensors, path);
  else new TensorDict(tensors, []).consolidate({ filename: path });
  if (n === 1) writeSync(1, "ready\n");
}
