// The readers of files whose bytes are changed place by place: those of test/fuzz that only read, and HDF5.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { io } from "../../src/index.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { one, type Reader } from "../fuzz/reader-helpers.ts";
import { READERS } from "../fuzz/reader-table.ts";

const ROOT = join(import.meta.dir, "..", "..");
const FIXTURES = join(ROOT, "test", "fixtures", "hdf5");
/** The npm package that stands in for the library, where `scripts/engines.sh` has put it. */
export const H5WASM = join(ROOT, ".cache", "engines", "h5wasm", "node_modules", "h5wasm", "dist", "node", "hdf5_hl.js");
const NAMES = "directory tdz consolidated safetensors torch torch-legacy pickle npy npz gguf snapshot".split(" ");

/** Reads all of an HDF5 file, and closes it. */
export async function readHdf5(path: string): Promise<unknown> {
  if (process.env.ZENSOR_HDF5 === "h5wasm") await io.loadHdf5(await import(H5WASM));
  using td = TensorDict.fromH5(path);
  return td.toTensorDict();
}

function hdf5Files(): string[] {
  const folders = [FIXTURES, join(FIXTURES, "links")];
  return folders
    .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
    .filter((file) => {
      return /\/(twice|plain|nts|slash|tc)\.h5$/.test(file);
    });
}

/** The reader of HDF5 files; by h5wasm if ZENSOR_HDF5 says so. */
const HDF5: Reader = {
  name: "hdf5",
  file: "a.h5",
  container: "none",
  cases: 100,
  seeds: () => hdf5Files().map((file) => one("a.h5", readFileSync(file))),
  read: readHdf5,
};

/** Every reader whose files are changed. */
export const FLIPPED: readonly Reader[] = [...READERS.filter(({ name }) => NAMES.includes(name)), HDF5];

/** Which engines for HDF5 files there are here, by what ZENSOR_HDF5 has to be. */
export function hdf5Engines(): { name: string; environment: Record<string, string> }[] {
  const engines: { name: string; environment: Record<string, string> }[] = [];
  const { ZENSOR_HDF5 = "" } = process.env;
  if (ZENSOR_HDF5 !== "h5wasm" && io.hdf5Engine() !== null) {
    engines.push({ name: "libhdf5", environment: ZENSOR_HDF5 === "" ? {} : { ZENSOR_HDF5 } });
  }
  if (existsSync(H5WASM)) engines.push({ name: "h5wasm", environment: { ZENSOR_HDF5: "h5wasm" } });
  return engines;
}
