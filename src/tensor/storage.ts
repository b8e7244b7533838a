/** Untyped bytes shared by a tensor and its views. */
import * as texts from "../../generated/texts.ts";
import { attention, DEVICES } from "../ffi/attention.ts";
import { DeviceBlock, returnDeviceBlock } from "../ffi/device-blocks.ts";
import {
  type Anchor,
  addressOf,
  allocateBlock,
  allocateTiny,
  copyBytes,
  fillBytes,
  MAX_BUFFER,
  ownBlock,
  peek,
  releaseAnchor,
  returnBlock,
  reuse,
  reusedAddress,
  shareBlock,
  shareMapping,
  TINY_BYTES,
  tinyAddress,
  windowOn,
} from "../ffi/memory.ts";
import { CPU, type Device, META } from "./device.ts";
import { checkFile, listFor } from "./values.ts";

/** Whether a buffer still has `nbytes` bytes from `offset` on. */
function reaches(buffer: ArrayBuffer, offset: number, nbytes: number): boolean {
  return !buffer.detached && (!buffer.resizable || buffer.byteLength >= offset + nbytes);
}

/** Memory of GPUs; the cuda room tells once there are any. */
export const deviceMemory: {
  /** Other bytes for a storage, so many, with those of the old ones that fit. */
  resized(old: Storage, nbytes: number): Storage;
  /** The bytes where they can be read. */
  onHost(storage: Storage): Storage;
  /** One byte value everywhere. */
  fill(storage: Storage, value: number): void;
} = {
  resized() {
    throw texts.storageNotResizable(undefined);
  },
  onHost: (storage) => storage,
  fill() {},
};

/** Who owns the bytes. */
export type StorageKind = "tiny" | "heap" | "pinned" | "mapped" | "borrowed" | "device" | "none" | "freed";

const RESIZABLE: ReadonlySet<StorageKind> = new Set(["tiny", "heap", "pinned", "device", "none"]);

/** Memory of the host that GPUs reach by themselves; the cuda room tells once there are GPUs. */
export const pinnedMemory: { allocate: (nbytes: number) => Storage; holds: (address: number) => boolean } = {
  allocate: () => {
    throw texts.noCudaSupport(undefined);
  },
  holds: () => false,
};

/**
 * A block of bytes. `ptr` is the one place that knows where they are: a tiny block moves once, when it is
 * exported, so nobody else keeps an address. What keeps the bytes is private: whoever walks through an object, to
 * clone, compare, freeze or transfer what it finds, finds a number, and copies made so have no access to the bytes.
 */
export class Storage {
  /** Where the bytes are; read through `ptr`, or after a look at `watched`. Comparisons tell storages apart by it. */
  address: number;
  readonly device: Device;
  #watched: boolean;
  nbytes: number;
  #anchor: Anchor;
  kind: StorageKind;
  /** Tensors, saved tensors, gradients and dictionary entries that hold these bytes. */
  claims = 0;
  /** Bytes that the block has room for. */
  private capacity: number;
  /**
   * What made this storage, when it is more than memory: the file of a mapping, a device's allocator. Twelve fields
   * are what an object of the engine has room for without half as much again.
   */
  source: object | null = null;

  constructor(ptr: number, nbytes: number, anchor: Anchor, kind: StorageKind, device = CPU) {
    this.address = ptr;
    this.device = device;
    this.#watched = kind === "none";
    this.nbytes = nbytes;
    this.capacity = nbytes;
    this.#anchor = anchor;
    this.kind = kind;
  }

  /** Fresh bytes, not cleared unless they are tiny. */
  static allocate(nbytes: number): Storage {
    if (nbytes <= TINY_BYTES) {
      if (nbytes === 0) return new Storage(0, 0, null, "tiny");
      const tiny = allocateTiny(nbytes);
      return new Storage(tinyAddress, nbytes, tiny, "tiny");
    }
    const owner = reuse(nbytes);
    if (owner !== null) return new Storage(reusedAddress, nbytes, owner, "heap");
    const address = allocateBlock(nbytes);
    if (address === 0) throw texts.outOfMemory(undefined, nbytes);
    return new Storage(address, nbytes, ownBlock(address, nbytes), "heap");
  }

  /** Bytes owned by somebody else, kept alive by `anchor`. */
  static borrow(address: number, nbytes: number, anchor: Anchor): Storage {
    return new Storage(address, nbytes, anchor, "borrowed");
  }

  /** Bytes of another storage that users have, too: what they do to that one, this one sees. */
  static within(parent: Storage, start: number, nbytes: number): Storage {
    const s = new Storage(parent.ptr + start, nbytes, parent, "borrowed", parent.device);
    parent.claim();
    s.offset = start;
    s.#watched = true;
    return s;
  }

  /** The bytes of a typed array of the user's. */
  static borrowArray(array: NodeJS.TypedArray): Storage {
    // Touching the buffer moves a small array's bytes to the place where they stay.
    const { buffer } = array;
    const s = new Storage(addressOf(array), array.byteLength, { buffer, array }, "borrowed");
    s.lent = buffer;
    s.offset = array.byteOffset;
    s.#watched = !(buffer instanceof SharedArrayBuffer);
    return s;
  }

  /** Bytes of a mapping; `anchor` unmaps them when it is collected or transferred. */
  static mapped(address: number, nbytes: number, anchor: Anchor, source: object): Storage {
    const s = new Storage(address, nbytes, anchor, "mapped");
    s.source = source;
    return s;
  }

  /** A size without bytes. */
  static meta(nbytes: number): Storage {
    attention.bits |= DEVICES;
    return new Storage(0, nbytes, null, "none", META);
  }

  /** True when a use of the bytes may have to be refused: `look` tells. */
  get watched(): boolean {
    return this.#watched;
  }

  /** From now on every use is looked at. */
  protected watch(): void {
    this.#watched = true;
  }

  /** Address of the first byte, for the next native call only. */
  get ptr(): number {
    if (this.#watched) this.look(0);
    return this.address;
  }

  /** The storage that has the memory: the one that these bytes are a part of, else this one. */
  get root(): Storage {
    return this.kind === "borrowed" && this.#anchor instanceof Storage ? this.#anchor.root : this;
  }

  /** The handle of a block on a device, by which its allocator knows it; 0 elsewhere. */
  get block(): number {
    const { source } = this.root;
    return source instanceof DeviceBlock ? source.handle : 0;
  }

  /** What users see of it. */
  exposed(): Storage {
    return this;
  }

  get resizable(): boolean {
    return RESIZABLE.has(this.kind);
  }

  /** Before the first `end` bytes are used: throws when they are not there. */
  look(end: number): void {
    if (this.kind === "none") throw texts.copyFromMeta(undefined);
    if (this.kind === "freed") throw texts.disposed(undefined);
    if (this.kind === "borrowed" && this.#anchor instanceof Storage) {
      this.#anchor.look(this.offset + this.nbytes);
      this.address = this.#anchor.address + this.offset;
    }
    // Whoever has a buffer over these bytes may transfer or resize it, and the bytes go with it.
    const given = this.lent ?? (this.exported ? this.#anchor : null);
    if (given instanceof ArrayBuffer && !reaches(given, this.offset, this.nbytes)) {
      throw texts.storageDetached(undefined);
    }
    if (end <= this.nbytes) return;
    if (this.nbytes === 0) throw texts.storageNotAllocated(undefined);
    throw texts.storageTooSmall(undefined, end, this.nbytes);
  }

  /**
   * Grows or shrinks, keeping the bytes that fit; new bytes are not cleared. Tensors that reach beyond a new end fail
   * when they are used.
   */
  resize(nbytes: number): void {
    if (!this.resizable) throw texts.storageNotResizable(undefined);
    if (nbytes === this.nbytes) return;
    // From now on every use is compared with the size.
    if (nbytes < this.nbytes) this.#watched = true;
    if (this.kind === "none" || (nbytes > 0 && nbytes <= this.capacity)) {
      this.nbytes = nbytes;
      return;
    }
    const next = this.moved(nbytes);
    const old = this.#anchor;
    const own = this.kind !== "tiny" && !this.exported;
    this.exported = false;
    this.address = next.address;
    this.nbytes = nbytes;
    this.capacity = nbytes;
    this.#anchor = next.#anchor;
    this.kind = next.kind;
    this.source = next.source;
    if (own) releaseAnchor(old);
  }

  /** Other bytes, with those of these that fit. */
  private moved(nbytes: number): Storage {
    if (this.kind === "device") return deviceMemory.resized(this, nbytes);
    const next = this.kind === "pinned" && nbytes > 0 ? pinnedMemory.allocate(nbytes) : Storage.allocate(nbytes);
    if (this.nbytes > 0) copyBytes(next.address, this.ptr, Math.min(nbytes, this.nbytes));
    return next;
  }

  /** True once a typed array over these bytes was handed out. */
  exported = false;

  /** The user's buffer that holds borrowed bytes. */
  lent: ArrayBuffer | SharedArrayBuffer | null = null;
  /** Where in that buffer, or in another storage, borrowed bytes begin. */
  private offset = 0;

  /** The bytes as an ArrayBuffer that stays valid: a tiny block moves out of the collector's memory first. */
  buffer(): ArrayBuffer {
    if (this.kind === "tiny" && this.nbytes > 0) {
      const address = allocateBlock(this.nbytes);
      if (address === 0) throw texts.noExportMemory(undefined);
      copyBytes(address, this.ptr, this.nbytes);
      this.address = address;
      this.#anchor = ownBlock(address, this.nbytes);
      this.kind = "heap";
    }
    if (this.lent !== null) return this.lent as ArrayBuffer;
    this.exported = true;
    const owner = this.#anchor;
    const length = Math.min(this.nbytes, MAX_BUFFER);
    if ((this.kind === "mapped" || this.kind === "heap") && (owner as ArrayBuffer).byteLength < length) {
      this.#anchor = this.share(0, length);
      releaseAnchor(owner);
    }
    if (this.#anchor instanceof ArrayBuffer) {
      this.#watched = true;
      return this.#anchor;
    }
    return this.nbytes === 0 ? new ArrayBuffer(0) : this.share(0, length);
  }

  /** Some bytes: a buffer, and where in it they begin. Bytes that one buffer cannot reach get one of their own. */
  part(offset: number, nbytes: number): { buffer: ArrayBuffer; byteOffset: number } {
    if (this.nbytes <= MAX_BUFFER) return { buffer: this.buffer(), byteOffset: this.offset + offset };
    if (nbytes > MAX_BUFFER) throw texts.typedArrayTooLong(undefined, MAX_BUFFER, nbytes);
    return { buffer: this.share(offset, nbytes), byteOffset: 0 };
  }

  /** A buffer that owns the bytes as well; of borrowed bytes a window, whose user keeps this storage reachable. */
  private share(offset: number, nbytes: number): ArrayBuffer {
    if (this.kind === "mapped") return shareMapping(this.ptr, offset, nbytes);
    if (this.kind === "heap") return shareBlock(this.ptr, offset, nbytes);
    return windowOn(this.ptr + offset, nbytes);
  }

  claim(): void {
    this.claims++;
  }

  /**
   * One more owner of the native bytes, whatever becomes of this storage: `releaseAnchor` takes it back. Null where
   * the bytes are not native, but the collector's or a user's.
   */
  own(): Anchor {
    if (this.nbytes === 0) return null;
    if (this.kind === "heap") return shareBlock(this.address, 0, 1);
    if (this.kind === "mapped") return shareMapping(this.address, 0, 1);
    return this.#anchor instanceof Storage ? this.#anchor.own() : null;
  }

  /** Gives up one claim; the last one returns the bytes at once. */
  release(): void {
    if (this.claims > 0 && --this.claims === 0) this.free();
  }

  private free(): void {
    const { address, capacity, source } = this;
    const anchor = this.#anchor;
    this.#anchor = null;
    this.nbytes = 0;
    this.capacity = 0;
    this.address = 0;
    if (this.#watched && this.kind === "borrowed" && anchor instanceof Storage) anchor.release();
    if (this.kind === "heap") returnBlock(anchor, address, capacity, this.exported);
    else if (this.kind === "device" && source instanceof DeviceBlock) {
      this.source = null;
      returnDeviceBlock(source, capacity);
    } else if (this.kind === "mapped" || this.kind === "pinned" || this.kind === "device") releaseAnchor(anchor);
    this.kind = "freed";
    // Nobody has it by now but copies of tensor objects that somebody else made.
    this.watch();
  }
}

/** What a disposed tensor points at: any use of its bytes is an error. */
class DisposedStorage extends Storage {
  override resize(): never {
    throw texts.disposed(undefined);
  }
  override buffer(): never {
    throw texts.disposed(undefined);
  }
  override look(): never {
    throw texts.disposed(undefined);
  }
  constructor() {
    super(0, 0, null, "tiny");
    this.watch();
  }
}

export const DISPOSED: Storage = new DisposedStorage();
// Whoever makes a tensor over it, a view of a disposed one, is told at once.
Object.defineProperty(DISPOSED, "claims", {
  get: () => 0,
  set() {
    throw texts.disposed(undefined);
  },
});

/** Refuses what a disposed tensor has, where its device would be complained of. */
export function requireKept(storage: Storage): void {
  if (storage === DISPOSED) throw texts.disposed(undefined);
}

/**
 * The untyped view of a tensor's bytes.
 * @example
 * ```ts
 * const bytes = tensor([1, 2], { dtype: "int16" }).untypedStorage();
 * [bytes.length, bytes.size(), bytes.device, bytes.dataPtr() > 0, bytes.storage.nbytes] // [4, 4, cpu, true, 4]
 * ```
 * @torch torch.UntypedStorage
 */
export class UntypedStorage {
  /** The storage whose bytes these are. */
  readonly storage: Storage;
  constructor(storage: Storage) {
    if (!(storage instanceof Storage)) throw texts.notAStorage(undefined);
    this.storage = storage;
  }
  /** Size in bytes. */
  nbytes(): number {
    return this.storage.nbytes;
  }
  /** The number of bytes. @torch torch.UntypedStorage.size */
  size(): number {
    return this.storage.nbytes;
  }
  /** The number of bytes. @torch len(torch.UntypedStorage) */
  get length(): number {
    return this.storage.nbytes;
  }
  /** Where the bytes are. @torch torch.UntypedStorage.device */
  get device(): Device {
    return this.storage.device;
  }
  private get hasBytes(): boolean {
    return this.storage.device.computes;
  }
  private get onGpu(): boolean {
    return this.storage.device.type === "cuda" && this.storage.nbytes > 0;
  }
  /** The bytes where they can be read. */
  private get readable(): Storage {
    if (!this.hasBytes) throw texts.noElementsOnMeta(undefined);
    return this.onGpu ? deviceMemory.onHost(this.storage) : this.storage;
  }
  /** Address of the first byte, 0 on the meta device. */
  dataPtr(): number {
    if (!this.hasBytes) return 0;
    if (this.storage.device.type === "cuda") return this.storage.ptr;
    this.storage.buffer();
    return this.storage.ptr;
  }
  /** The byte at an index; negative indices count from the end. */
  at(index: number): number {
    const at = checkedIndex(index, this.storage.nbytes);
    const value = peek.u8(this.readable.ptr, at);
    checkFile("at");
    return value;
  }
  /** Writes one byte value everywhere. */
  fill_(value: number): this {
    if (typeof value !== "number") throw texts.wrongArgument("fill_", "fill_", "value", "int", typeof value);
    if (this.onGpu) deviceMemory.fill(this.storage, value & 255);
    else if (this.hasBytes) fillBytes(this.storage.ptr, value & 255, this.storage.nbytes);
    checkFile("fill_");
    return this;
  }
  /** A copy of the bytes. */
  clone(): UntypedStorage {
    const { nbytes } = this.storage;
    if (!this.hasBytes) return new UntypedStorage(Storage.meta(nbytes));
    if (this.onGpu) return new UntypedStorage(deviceMemory.resized(this.storage, nbytes));
    const copy = Storage.allocate(nbytes);
    copyBytes(copy.ptr, this.storage.ptr, nbytes);
    checkFile("clone");
    return new UntypedStorage(copy);
  }
  /** Changes the size in bytes; kept bytes keep their values. */
  resize_(nbytes: number): this {
    if (!Number.isSafeInteger(nbytes) || nbytes < 0) throw texts.invalidStorageSize(undefined, nbytes);
    this.storage.resize(nbytes);
    return this;
  }
  /** The bytes as an array of numbers. @torch torch.UntypedStorage.tolist */
  tolist(): number[] {
    const n = this.storage.nbytes;
    const out = listFor<number>(n, "tolist");
    if (n === 0) return out;
    const bytes = this.readable;
    for (let i = 0; i < n; i++) out[i] = peek.u8(bytes.ptr, i);
    checkFile("tolist");
    return out;
  }
  /** The bytes, a line each, and how many there are. */
  toString(): string {
    // Python joins the bytes' lines behind one space, which stays where there are none.
    const lines = this.hasBytes ? ` ${this.tolist().join("\n ")}` : "...";
    const tail = `[torch.storage.UntypedStorage(device=${this.device}) of size ${this.storage.nbytes}]`;
    return `${lines}\n${tail}`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

export function checkedIndex(index: number, size: number): number {
  const i = typeof index === "number" && index < 0 ? index + size : index;
  if (!Number.isInteger(i) || i < 0 || i >= size) throw texts.storageIndexOutOfRange(undefined, index, size);
  return i;
}
