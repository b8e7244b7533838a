/** Untyped bytes shared by a tensor and its views. */
import * as texts from "../../generated/texts.ts";
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
  shareBlock,
  shareMapping,
  TINY_BYTES,
  windowOn,
} from "../ffi/memory.ts";
import { CPU, type Device, META } from "./device.ts";
import { DisposedError, IndexError, NotImplementedError, OutOfMemoryError, RuntimeError } from "./errors.ts";

/** Who owns the bytes. */
export type StorageKind = "tiny" | "heap" | "mapped" | "borrowed" | "meta";

function emptied(): never {
  throw new RuntimeError("The tensor has a non-zero number of elements, but its data is not allocated yet.");
}

/**
 * A block of bytes. `ptr` is the one place that knows where they are: a tiny block moves once, when it is
 * exported, so nobody else keeps an address.
 */
export class Storage {
  ptr: number;
  nbytes: number;
  anchor: Anchor;
  kind: StorageKind;
  resizable: boolean;
  /** Tensors, saved tensors, gradients and dictionary entries that hold these bytes. */
  claims = 0;
  /** Bytes that the block has room for. */
  private capacity: number;
  /** What made this storage, when it is more than memory (the file of a mapping). */
  source: object | null = null;

  constructor(ptr: number, nbytes: number, anchor: Anchor, kind: StorageKind) {
    this.ptr = ptr;
    this.nbytes = nbytes;
    this.capacity = nbytes;
    this.anchor = anchor;
    this.kind = kind;
    this.resizable = kind === "tiny" || kind === "heap" || kind === "meta";
  }

  /** Fresh bytes, not cleared unless they are tiny. */
  static allocate(nbytes: number): Storage {
    if (nbytes <= TINY_BYTES) {
      if (nbytes === 0) return new Storage(0, 0, null, "tiny");
      const tiny = allocateTiny(nbytes);
      return new Storage(addressOf(tiny), nbytes, tiny, "tiny");
    }
    const address = allocateBlock(nbytes);
    if (address === 0) {
      throw texts.outOfMemory(undefined, nbytes);
    }
    return new Storage(address, nbytes, ownBlock(address, nbytes), "heap");
  }

  /** Bytes owned by somebody else, kept alive by `anchor`. */
  static borrow(address: number, nbytes: number, anchor: Anchor): Storage {
    return new Storage(address, nbytes, anchor, "borrowed");
  }

  /** The bytes of a typed array of the user's. */
  static borrowArray(array: NodeJS.TypedArray): Storage {
    // Touching the buffer moves a small array's bytes to the place where they stay.
    const { buffer } = array;
    const s = new Storage(addressOf(array), array.byteLength, { buffer, array }, "borrowed");
    s.lent = buffer;
    s.lentOffset = array.byteOffset;
    s.guard(buffer);
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
    return new Storage(0, nbytes, null, "meta");
  }

  get device(): Device {
    return this.kind === "meta" ? META : CPU;
  }

  /**
   * Grows or shrinks, keeping the bytes that fit; new bytes are not cleared. A smaller block keeps its memory, since
   * tensors may still reach beyond its new end; without any bytes such tensors fail when they are used.
   */
  resize(nbytes: number): void {
    if (!this.resizable) throw new RuntimeError("Trying to resize storage that is not resizable");
    if (nbytes === this.nbytes) return;
    if (this.kind === "meta" || (nbytes > 0 && nbytes <= this.capacity)) {
      this.nbytes = nbytes;
      return;
    }
    const next = Storage.allocate(nbytes);
    if (this.nbytes > 0) copyBytes(next.ptr, this.ptr, Math.min(nbytes, this.nbytes));
    const old = this.anchor;
    const own = this.kind === "heap" && !this.exported;
    this.exported = false;
    this.ptr = next.ptr;
    this.nbytes = nbytes;
    this.capacity = nbytes;
    this.anchor = next.anchor;
    this.kind = next.kind;
    if (nbytes === 0) this.lookFirst(emptied);
    if (own) releaseAnchor(old);
  }

  /** True once a typed array over these bytes was handed out. */
  exported = false;

  /** The user's buffer that holds borrowed bytes, and where in it they begin. */
  private lent: ArrayBuffer | SharedArrayBuffer | null = null;
  lentOffset = 0;

  /** Whoever has the buffer may transfer it, and the bytes go with it: from now on every use looks first. */
  private guard(buffer: ArrayBuffer | SharedArrayBuffer): void {
    if (buffer instanceof SharedArrayBuffer) return;
    this.lookFirst(() => {
      if (!buffer.detached) return;
      throw new RuntimeError("this tensor shares memory with an ArrayBuffer that was transferred since", {
        code: "detached",
      });
    });
  }

  /** Every use of the address runs a check until the storage gets another one. */
  private lookFirst(check: () => void): void {
    const address = this.ptr;
    Object.defineProperty(this, "ptr", {
      configurable: true,
      get(): number {
        check();
        return address;
      },
      set(value: number) {
        Object.defineProperty(this, "ptr", { value, writable: true, configurable: true, enumerable: true });
      },
    });
  }

  /** The bytes as an ArrayBuffer that stays valid: a tiny block moves out of the collector's memory first. */
  buffer(): ArrayBuffer {
    if (this.kind === "tiny" && this.nbytes > 0) {
      const address = allocateBlock(this.nbytes);
      if (address === 0) throw new OutOfMemoryError("no memory for an exported block");
      copyBytes(address, this.ptr, this.nbytes);
      this.ptr = address;
      this.anchor = ownBlock(address, this.nbytes);
      this.kind = "heap";
    }
    if (this.lent !== null) return this.lent as ArrayBuffer;
    this.exported = true;
    const owner = this.anchor;
    const length = Math.min(this.nbytes, MAX_BUFFER);
    if ((this.kind === "mapped" || this.kind === "heap") && (owner as ArrayBuffer).byteLength < length) {
      this.anchor = this.share(0, length);
      releaseAnchor(owner);
    }
    if (this.anchor instanceof ArrayBuffer) {
      this.guard(this.anchor);
      return this.anchor;
    }
    return this.nbytes === 0 ? new ArrayBuffer(0) : this.share(0, length);
  }

  /** Some bytes: a buffer, and where in it they begin. Bytes that one buffer cannot reach get one of their own. */
  part(offset: number, nbytes: number): { buffer: ArrayBuffer; byteOffset: number } {
    if (this.nbytes <= MAX_BUFFER) return { buffer: this.buffer(), byteOffset: this.lentOffset + offset };
    if (nbytes > MAX_BUFFER) {
      throw new RuntimeError(`a typed array holds at most ${MAX_BUFFER} bytes, not ${nbytes}: take it of a part`);
    }
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

  /** Gives up one claim; the last one returns the bytes at once. */
  release(): void {
    if (this.claims > 0 && --this.claims === 0) this.free();
  }

  private free(): void {
    const { anchor, capacity } = this;
    this.anchor = null;
    this.nbytes = 0;
    this.capacity = 0;
    this.ptr = 0;
    this.resizable = false;
    if (this.kind === "heap") returnBlock(anchor, capacity);
    else if (this.kind === "mapped") releaseAnchor(anchor);
    this.kind = "tiny";
  }
}

/** What a disposed tensor points at: any use of its bytes is an error. */
class DisposedStorage extends Storage {
  override resize(): never {
    throw new DisposedError("this tensor was disposed");
  }
  override buffer(): never {
    throw new DisposedError("this tensor was disposed");
  }
  constructor() {
    super(0, 0, null, "tiny");
    Object.defineProperty(this, "ptr", {
      get(): number {
        throw new DisposedError("this tensor was disposed");
      },
    });
  }
}

export const DISPOSED: Storage = new DisposedStorage();

/** The untyped view of a tensor's bytes. @torch torch.UntypedStorage */
export class UntypedStorage {
  readonly storage: Storage;
  constructor(storage: Storage) {
    this.storage = storage;
  }
  /** Size in bytes. */
  nbytes(): number {
    return this.storage.nbytes;
  }
  size(): number {
    return this.storage.nbytes;
  }
  get length(): number {
    return this.storage.nbytes;
  }
  get device(): Device {
    return this.storage.device;
  }
  private get hasBytes(): boolean {
    return this.storage.kind !== "meta";
  }
  private byte(index: number): number {
    if (!this.hasBytes) throw new NotImplementedError("Not available for 'meta' device type");
    return peek.u8(this.storage.ptr, index);
  }
  /** Address of the first byte, 0 on the meta device. */
  dataPtr(): number {
    if (this.hasBytes) this.storage.buffer();
    return this.storage.ptr;
  }
  /** The byte at an index; negative indices count from the end. */
  at(index: number): number {
    return this.byte(checkedIndex(index, this.storage.nbytes));
  }
  /** Writes one byte value everywhere. */
  fill_(value: number): this {
    if (this.hasBytes) fillBytes(this.storage.ptr, value & 255, this.storage.nbytes);
    return this;
  }
  /** A copy of the bytes. */
  clone(): UntypedStorage {
    const { nbytes } = this.storage;
    if (!this.hasBytes) return new UntypedStorage(Storage.meta(nbytes));
    const copy = Storage.allocate(nbytes);
    copyBytes(copy.ptr, this.storage.ptr, nbytes);
    return new UntypedStorage(copy);
  }
  /** Changes the size in bytes; kept bytes keep their values. */
  resize_(nbytes: number): this {
    if (!Number.isSafeInteger(nbytes) || nbytes < 0) throw new RuntimeError(`invalid storage size ${nbytes}`);
    this.storage.resize(nbytes);
    return this;
  }
  tolist(): number[] {
    const n = this.storage.nbytes;
    const out = new Array<number>(n);
    for (let i = 0; i < n; i++) out[i] = this.byte(i);
    return out;
  }
  toString(): string {
    const lines = this.hasBytes ? this.tolist().map((b) => ` ${b}`) : ["..."];
    const tail = `[torch.storage.UntypedStorage(device=${this.device}) of size ${this.storage.nbytes}]`;
    return [...lines, tail].join("\n");
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

export function checkedIndex(index: number, size: number): number {
  const i = index < 0 ? index + size : index;
  if (!Number.isInteger(i) || i < 0 || i >= size) {
    throw new IndexError(`index ${index} out of range for storage of size ${size}`);
  }
  return i;
}
