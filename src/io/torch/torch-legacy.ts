// Files of torch.save before 1.6: five pickles one after the other, then the bytes of each storage.
import type { Storage } from "../../tensor/storage.ts";
import { FormatError } from "../base/errors.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { StorageFile } from "../disk/storage-file.ts";
import { type PickleRules, runPickle } from "../pickle/pickle.ts";
import { MAX_PICKLE_BYTES, UnfinishedPickle } from "../pickle/pickle-machine.ts";
import { inFile, plainGlobal, type Unknown } from "../pickle/plain-pickle.ts";
import type { Placing } from "./map-location.ts";
import { type SavedStorage, savedStorage, torchRules, torchValue } from "./torch-values.ts";

const MAGIC = 0x1950a86a20f9469cfc6cn;
const VERSION = 1001;
/** What is read of the file at first: the pickles of most files. */
const FIRST_BYTES = 256 * 1024;

interface Contents {
  value: unknown;
  /** Keys of the storages, in the order of their bytes. */
  keys: string[];
  types: Map<string, SavedStorage>;
  /** Where the bytes of storages begin. */
  end: number;
}

function readPickles(bytes: Uint8Array, path: string, unknown: Unknown): Contents {
  let at = 0;
  const next = (rules: PickleRules): unknown => {
    const { value, end } = runPickle(bytes, path, rules, at);
    at = end;
    return value;
  };
  const plain: PickleRules = { globals: plainGlobal };
  if (next(plain) !== MAGIC) throw new FormatError("this is no file of torch.save");
  const version = next(plain);
  if (version !== VERSION) throw new FormatError(`version ${String(version)} of old files is not known`);
  const system = next(plain);
  // It tells the order of bytes of the machine; in the file they are always little-endian.
  if (!(system instanceof Map)) throw new FormatError("it does not tell the machine that wrote it");
  const types = new Map<string, SavedStorage>();
  const persistent = (id: unknown): SavedStorage => {
    const found = savedStorage(id);
    const known = types.get(found.key);
    if (known !== undefined && (known.dtype !== found.dtype || known.nbytes !== found.nbytes)) {
      throw new FormatError(`storage ${found.key} is described in two ways`);
    }
    types.set(found.key, found);
    return found;
  };
  const value = next(torchRules(unknown, persistent));
  const keys = next(plain);
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string") || new Set(keys).size !== keys.length) {
    throw new FormatError("its list of storages is none");
  }
  return { value, keys, types, end: at };
}

/** Where each storage lies: its number of elements as eight bytes, then these. */
function placeStorages(
  file: FileRanges,
  { keys, types, end }: Contents,
): Map<string, { offset: number; nbytes: number }> {
  const places = new Map<string, { offset: number; nbytes: number }>();
  let at = end;
  for (const key of keys) {
    const type = types.get(key);
    if (type === undefined) throw new FormatError(`nothing says what storage ${key} holds`);
    const head = file.read(at, 8);
    const count = new DataView(head.buffer).getBigInt64(0, true);
    const nbytes = Number(count) * type.itemsize;
    if (nbytes !== type.nbytes || nbytes > file.size - at - 8) {
      throw new FormatError(
        `storage ${key} of ${type.nbytes} bytes has ${count} elements in ${file.size - at - 8} bytes`,
      );
    }
    places.set(key, { offset: at + 8, nbytes });
    at += 8 + nbytes;
  }
  return places;
}

/** The value of such a file. */
export function loadLegacy(path: string, put: Placing, unknown: Unknown): unknown {
  return inFile(path, () =>
    FileRanges.with(path, (file) => {
      const contents = readWithin(file, unknown);
      const places = placeStorages(file, contents);
      const data = new StorageFile(path, file.size);
      const storages = new Map<string, Storage>();
      const storageOf = (saved: SavedStorage): Storage => {
        const place = places.get(saved.key);
        if (place === undefined) throw new FormatError(`the file has no storage ${saved.key}`);
        let storage = storages.get(saved.key);
        if (storage === undefined) {
          storage = put(data.storage(place.offset, place.nbytes), saved.location);
          storages.set(saved.key, storage);
        }
        return storage;
      };
      return torchValue(contents.value, path, storageOf, unknown);
    }),
  );
}

/** Reads more of the file for as long as its pickles are not complete. */
function readWithin(file: FileRanges, unknown: Unknown): Contents {
  for (let length = FIRST_BYTES; ; length *= 4) {
    const all = Math.min(file.size, MAX_PICKLE_BYTES);
    const bytes = file.read(0, Math.min(length, all));
    try {
      return readPickles(bytes, file.path, unknown);
    } catch (error) {
      if (!(error instanceof UnfinishedPickle) || bytes.length === all) throw error;
    }
  }
}
