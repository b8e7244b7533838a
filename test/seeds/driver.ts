// The seeds put tensors on cuda:0. A machine without a GPU runs those rows on the stand-in, and says so.
import { existsSync } from "node:fs";
import { buildStandin } from "../../scripts/standin.ts";

/** Files that NVIDIA's driver makes: on Linux, and in Linux on Windows. */
const DRIVER = ["/dev/nvidiactl", "/dev/dxg"];

const own = process.env.ZENSOR_LIBCUDA !== undefined || process.platform !== "linux" || DRIVER.some(existsSync);
if (!own) {
  process.env.ZENSOR_LIBCUDA = buildStandin();
  console.log("Rows on cuda:0 run on an emulated GPU: there is no driver here.");
}
