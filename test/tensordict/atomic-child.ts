// Saves one directory again and again with `atomic`, until it is killed. Version n holds n in all its parts.
import "../../src/install.ts";
import { writeSync } from "node:fs";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";

const [target, first] = process.argv.slice(2) as [string, string];
writeSync(1, "ready\n");
for (let version = Number(first); ; version++) {
  // Shapes and sets of keys change as well.
  const rows = 1 + (version % 5);
  const level = () => new TensorDict({ w: zeros([rows, 40]).add(version), v: zeros([rows]).add(version) }, [rows]);
  const layers = Object.fromEntries(Array.from({ length: 1 + (version % 3) }, (_, i) => [`l${i}`, level()]));
  new TensorDict({ ...layers, count: zeros([rows]).add(version), text: `version ${version}` }, [rows]).save(target, {
    atomic: true,
  });
}
