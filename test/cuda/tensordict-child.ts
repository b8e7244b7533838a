// Programs with TensorDicts on emulated devices: the stand-in runs each stream's work as late as it may.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

/** What a function body gives that is run after `head`, with a folder of its own in `dir`, on two devices. */
export function value(head: string, body: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "zensor-cuda-"));
  try {
    const code = `${head} const dir = ${JSON.stringify(folder)};
      const f = () => { ${body} }; console.log(JSON.stringify(f()))`;
    return evaluate(code, { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: "later=1,devices=2" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
