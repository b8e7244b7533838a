// The io room: files of tensors.
export { FileNotFoundError, FormatError, OSError } from "./base/errors.ts";
export type { NamedTensors } from "./base/named-tensors.ts";
export type { PythonJson } from "./base/python-json.ts";
export { UnknownArray, type UnknownOptions } from "./base/unknown-array.ts";
export { type DirectoryTreeOptions, directoryTree, printDirectoryTree } from "./disk/directory-tree.ts";
export type { BackgroundOptions } from "./disk/file-jobs.ts";
export type { MapMode } from "./disk/mapping.ts";
export type { PlaceOptions } from "./disk/placing.ts";
export { GgufFile, loadGguf } from "./gguf/gguf.ts";
export type { GgufEntry, GgufHeader, GgufNumbers, GgufUnknown, GgufValue } from "./gguf/gguf-header.ts";
export type { GgufType } from "./gguf/gguf-types.ts";
export { Hdf5File, type Hdf5Values, hdf5Engine, loadHdf5 } from "./hdf5/hdf5.ts";
export type { Hdf5Info, Hdf5Layout, Hdf5Mode, Hdf5Other } from "./hdf5/hdf5-engine.ts";
export { type ReadOptions, readDirectory } from "./memmap/memmap-read.ts";
export type { LeafNode, TreeNode } from "./memmap/tree.ts";
export { loadNpy, type NpyOptions, saveNpy, saveNpyAsync } from "./numpy/npy.ts";
export type { NpyTexts, NpyValue } from "./numpy/npy-other.ts";
export { type NpzSaveOptions, saveNpz, saveNpzAsync } from "./numpy/npz.ts";
export { loadNpz, loadNpzAsync, type NpzLoadOptions } from "./numpy/npz-load.ts";
export { readPlainPickle, type Unknown } from "./pickle/plain-pickle.ts";
export { PythonName, PythonObject, type PythonObjectParts } from "./pickle/python-object.ts";
export { RemoteSafetensors, type RowOptions } from "./safetensors/remote-safetensors.ts";
export {
  loadSafetensors,
  readSafetensorsHeader,
  SafetensorsFile,
  type SafetensorsOptions,
  type SaveOptions,
  saveSafetensors,
  saveSafetensorsAsync,
} from "./safetensors/safetensors.ts";
export type { SafetensorsEntry, SafetensorsHeader, SafetensorsUnknown } from "./safetensors/safetensors-header.ts";
export {
  type AppState,
  PendingSnapshot,
  type RestoreOptions,
  Snapshot,
  StateDict,
  type Stateful,
  type TakeOptions,
} from "./snapshot/snapshot.ts";
export type { Manifest, ManifestEntry } from "./snapshot/snapshot-manifest.ts";
export { type DownloadOptions, download, upload } from "./store/remote-file.ts";
export type { RemoteOptions } from "./store/s3.ts";
export type { MapLocation } from "./torch/map-location.ts";
export { loadTorch, type TorchLoadOptions } from "./torch/torch-file.ts";
export { saveTorch, saveTorchAsync } from "./torch/torch-save.ts";
