// Files of torch.save: ZIP archives with one pickle and the bytes of each storage, and the older form before them.

import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { inOrder } from "../../tensor/checks.ts";
import { Storage } from "../../tensor/storage.ts";
import { FormatError } from "../base/errors.ts";
import { withoutNotes } from "../base/numpy-scalar.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { runSteps, type Steps } from "../base/steps.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { StoragePlaces } from "../disk/placing.ts";
import { StorageFile } from "../disk/storage-file.ts";
import { unreplaced } from "../disk/unreplaced.ts";
import { swappedStorage } from "../numpy/npy.ts";
import { runPickle } from "../pickle/pickle.ts";
import { MAX_PICKLE_BYTES } from "../pickle/pickle-machine.ts";
import { inFile, type Unknown } from "../pickle/plain-pickle.ts";
import { readZip, type ZipFile } from "../zip/zip.ts";
import type { ZipEntry } from "../zip/zip-directory.ts";
import { foreignArchive, foreignFile } from "./foreign-file.ts";
import { type MapLocation, type Placing, placingOf } from "./map-location.ts";
import { loadLegacy } from "./torch-legacy.ts";
import { type SavedStorage, torchRules, torchValue } from "./torch-values.ts";

const ZIP_START = 0x04034b50;
const PICKLE_START = 0x80;

/** The directory inside of the archive: the one that has `data.pkl`. */
function archiveRoot(zip: ZipFile): string {
  const found = [...zip.entries.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
  if (found.length !== 1) {
    const other = foreignArchive(zip.entries);
    throw new FormatError(`an archive without one data.pkl is no file of torch.save${other}`, zip.path);
  }
  const root = (found[0] as string).slice(0, -"data.pkl".length);
  if (zip.entries.has(`${root}constants.pkl`)) {
    throw new FormatError("TorchScript archives hold programs: only Python can load them", zip.path);
  }
  return root;
}

function inMemory(zip: ZipFile, entry: ZipEntry): Storage {
  const bytes = zip.read(entry, entry.nbytes);
  const storage = Storage.allocate(bytes.length);
  if (bytes.length > 0) copyBytes(storage.ptr, addressOf(bytes), bytes.length);
  return storage;
}

/** The elements of a file that a machine with the other order of bytes wrote. */
function turned(storage: Storage, { key, dtype }: SavedStorage, path: string): Storage {
  if (dtype === null) throw new FormatError(`nothing says what elements storage ${key} has, to turn them around`, path);
  if (storage.nbytes % dtype.itemsize !== 0) throw new FormatError(`storage ${key} ends inside of an element`, path);
  return swappedStorage(dtype, storage, 0, storage.nbytes);
}

function loadArchive(path: string, place: Placing, { maxBytes, unknown }: Limits): unknown {
  const zip = readZip(path);
  zip.requireTotal(maxBytes);
  const root = archiveRoot(zip);
  const order = zip.entries.get(`${root}byteorder`);
  const endian = order === undefined ? "little" : Buffer.from(zip.readSmall(order, 64)).toString("latin1").trim();
  if (endian !== "little" && endian !== "big") {
    throw new FormatError(`its byte order is ${JSON.stringify(endian)}, neither little nor big`, zip.path);
  }
  const file = new StorageFile(zip.path, zip.size);
  const storages = new Map<string, Storage>();
  const storageOf = (saved: SavedStorage): Storage => {
    const entry = zip.entry(`${root}data/${saved.key}`);
    if (saved.nbytes > entry.nbytes) {
      throw new FormatError(`storage ${saved.key} has ${entry.nbytes} of its ${saved.nbytes} bytes`, zip.path);
    }
    let storage = storages.get(saved.key);
    if (storage === undefined) {
      // What another program packed again may be compressed.
      storage = entry.method === "stored" ? file.storage(entry.offset, entry.nbytes) : inMemory(zip, entry);
      if (endian === "big") storage = turned(storage, saved, zip.path);
      storage = place(storage, saved.location);
      storages.set(saved.key, storage);
    }
    return storage;
  };
  const pickle = zip.readSmall(zip.entry(`${root}data.pkl`), MAX_PICKLE_BYTES);
  return inFile(zip.path, () => {
    const { value } = runPickle(pickle, zip.path, torchRules(unknown));
    return torchValue(value, zip.path, storageOf, unknown);
  });
}

/** What of a file is read. */
interface Limits {
  maxBytes: number | undefined;
  unknown: Unknown;
}

/** How a .pt file is loaded. */
export interface TorchLoadOptions {
  /** Where its tensors go: to a device, by the device that the file names, or as a function says. */
  mapLocation?: MapLocation | null;
  /**
   * Most bytes of all storages of a file that another program has compressed; by default 1 GiB, or 200 times the file.
   */
  maxBytes?: number;
  /**
   * What becomes of objects of other classes than a reader knows, such as an `argparse.Namespace`: "describe" (default)
   * gives a `PythonObject` that says what the file says of them; "skip" leaves out the entries of dictionaries and sets
   * that are such objects, and puts null in their place in lists; "refuse" is an error that names the first.
   */
  unknown?: Unknown;
}

/**
 * What `torch.save` wrote: tensors (views of one mapping of the file; those of one storage share it), parameters,
 * TensorDicts, numbers, strings, bytes, lists, tuples (frozen arrays), sets, dicts, OrderedDicts and Counters (objects,
 * or Maps where a key is no string or a number), NumPy's numbers (numbers) and arrays (tensors). `saveTorch` writes
 * what was read with the types that it had, 2.0 as a float and an OrderedDict with its attributes. Tensors come to the
 * CPU unless `mapLocation` says otherwise; changing them does not change the file. No code of the file is run: whatever
 * it names beyond these becomes a `PythonObject`, which describes it, or what `unknown` says.
 * @throws FileNotFoundError when there is no such file
 * @throws FormatError when it is damaged, holds something else, or with `unknown: "refuse"` an object of another class
 * @example
 * ```ts
 * io.saveTorch({ weight: ones(2), step: 3 }, "/tmp/zensor-example.pt")
 * io.loadTorch("/tmp/zensor-example.pt").weight // tensor([1., 1.])
 * ```
 * @torch torch.load
 */
// biome-ignore lint/suspicious/noExplicitAny: the file decides what it holds
export function loadTorch<T = any>(path: string, options: TorchLoadOptions = {}): T {
  [path, options = {}] = inOrder<Parameters<typeof loadTorch>>("loadTorch", FUNCTIONS.loadTorch, arguments);
  return runSteps(loadingTorch(path, options)) as T;
}

/** The same, while the program goes on. */
export function* loadingTorch(path: string, options: TorchLoadOptions & BackgroundOptions): Steps<unknown> {
  return withoutNotes(yield* loadingExactly(path, options));
}

/** `loadTorch`, where a whole float or a scalar of NumPy's that is the value of the file keeps what it was. */
export function loadExactly(path: string, options: Omit<TorchLoadOptions, "mapLocation"> = {}): unknown {
  return runSteps(loadingExactly(path, options));
}

function loadingExactly(path: string, options: TorchLoadOptions & BackgroundOptions): Steps<unknown> {
  const placing = placingOf(options.mapLocation);
  return unreplaced(path, () => loadingOnce(path, placing, options), options.signal);
}

function* loadingOnce(
  path: string,
  placing: (places: StoragePlaces) => Placing,
  options: TorchLoadOptions & BackgroundOptions,
): Steps<unknown> {
  const places = new StoragePlaces();
  try {
    const limits: Limits = { maxBytes: options.maxBytes, unknown: options.unknown ?? "describe" };
    const value = loadOnce(path, placing(places), limits);
    yield* places.finishing("loadTorch", options);
    return value;
  } catch (error) {
    places.drop();
    throw error;
  }
}

function loadOnce(path: string, place: Placing, limits: Limits): unknown {
  const { start, first, old, full } = FileRanges.with(path, (file) => {
    const start = file.read(0, Math.min(file.size, 512));
    const tar = Buffer.from(start.subarray(257, 262)).toString("latin1") === "ustar";
    return { start, first: Buffer.concat([start, new Uint8Array(4)]).readUInt32LE(0), old: tar, full: file.path };
  });
  if (first === ZIP_START) return loadArchive(full, place, limits);
  if (old) throw new FormatError("files of torch before 0.1.10 cannot be read", full);
  if ((first & 0xff) === PICKLE_START) return loadLegacy(full, place, limits.unknown);
  throw new FormatError(`this is no file of torch.save${foreignFile(start)}`, full);
}
