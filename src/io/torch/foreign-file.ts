// What a file is that somebody took for one of torch.save: which function reads it.
import type { ZipEntry } from "../zip/zip-directory.ts";

/** By the first bytes of a file that is no archive, the end of a sentence; nothing where they do not tell. */
export function foreignFile(start: Uint8Array): string {
  const text = Buffer.from(start.subarray(0, 16)).toString("latin1");
  if (text.startsWith("\x89HDF\r\n")) return ", but an HDF5 file, which TensorDict.fromH5 and io.Hdf5File read";
  if (text.startsWith("\x93NUMPY")) return ", but an array of NumPy's, which io.loadNpy reads";
  if (text.startsWith("GGUF")) return ", but a GGUF file, which io.loadGguf reads";
  if (text.startsWith("PAR1")) return ", but a Parquet file, which TensorDict.fromParquet reads";
  // The length of its header, and the header.
  const isHeader = text.length > 9 && text.startsWith("\0\0", 6) && /^\{["} ]/.test(text.slice(8));
  return isHeader ? ", but a safetensors file, which loadSafetensors reads" : "";
}

/** By the names in an archive. */
export function foreignArchive(entries: ReadonlyMap<string, ZipEntry>): string {
  if (entries.has("meta.json")) return ", but an archived TensorDict, which TensorDict.load reads";
  const isNpz = entries.size > 0 && [...entries.keys()].every((name) => name.endsWith(".npy"));
  return isNpz ? ", but an archive of NumPy's, which io.loadNpz reads" : "";
}
