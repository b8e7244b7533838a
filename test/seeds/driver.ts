// The seeds put tensors on cuda:0. A machine without a GPU runs those rows on the stand-in, and says so.
import { buildStandin } from "../../scripts/standin.ts";
import { hasGpu } from "../../scripts/toolchain.mjs";

const own = process.env.ZENSOR_LIBCUDA !== undefined || process.platform !== "linux" || hasGpu();
if (!own) {
  process.env.ZENSOR_LIBCUDA = buildStandin();
  console.log("Rows on cuda:0 run on an emulated GPU: there is no driver here.");
}
