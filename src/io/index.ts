// The io room: files of tensors.
import "./install-checks.ts";

export { type DirectoryTreeOptions, directoryTree, printDirectoryTree } from "./directory-tree.ts";
export { FileNotFoundError, FormatError, OSError } from "./errors.ts";
export type { BackgroundOptions } from "./file-jobs.ts";
export { GgufFile, loadGguf } from "./gguf.ts";
export type { GgufEntry, GgufHeader, GgufNumbers, GgufValue } from "./gguf-header.ts";
export type { GgufType } from "./gguf-types.ts";
export { Hdf5File, Hdf5Opaque, type Hdf5Values, hdf5Engine, loadHdf5 } from "./hdf5.ts";
export type { Hdf5Info, Hdf5Layout, Hdf5Mode } from "./hdf5-engine.ts";
export type { MapMode } from "./mapping.ts";
export { type ReadOptions, readDirectory } from "./memmap-read.ts";
export { loadNpy, type NpyOptions, saveNpy, saveNpyAsync } from "./npy.ts";
export { loadNpz, type NpzLoadOptions, type NpzSaveOptions, saveNpz, saveNpzAsync } from "./npz.ts";
export { loadNpzAsync } from "./npz-later.ts";
export { readPlainPickle } from "./plain-pickle.ts";
export type { PythonJson } from "./python-json.ts";
export { type DownloadOptions, download, upload } from "./remote-file.ts";
export { RemoteSafetensors, type RowOptions } from "./remote-safetensors.ts";
export type { RemoteOptions } from "./s3.ts";
export {
  loadSafetensors,
  type NamedTensors,
  readSafetensorsHeader,
  SafetensorsFile,
  type SaveOptions,
  saveSafetensors,
  saveSafetensorsAsync,
} from "./safetensors.ts";
export type { SafetensorsEntry, SafetensorsHeader } from "./safetensors-header.ts";
export {
  type AppState,
  PendingSnapshot,
  type RestoreOptions,
  Snapshot,
  StateDict,
  type Stateful,
  type TakeOptions,
} from "./snapshot.ts";
export type { Manifest, ManifestEntry } from "./snapshot-manifest.ts";
export { loadTorch } from "./torch-file.ts";
export { saveTorch, saveTorchAsync } from "./torch-save.ts";
export type { LeafNode, TreeNode } from "./tree.ts";
