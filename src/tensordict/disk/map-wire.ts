// Collections on their way to Workers and back: mapped memory as a reference, every other tensor as bytes that move.

import { fromTypedArray } from "../../api/tensor-data.ts";
import { OSError } from "../../io/base/errors.ts";
import { mappedFileOf } from "../../io/disk/mapping.ts";
import { ReferenceOpener, RemovedFiles, referenceTo, type TensorReference } from "../../io/disk/sharing.ts";
import { dtypeByName } from "../../tensor/dtype.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { lockTd } from "../core/locking.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import { UnbatchedTensor } from "../core/unbatched.ts";
import { MemoryMappedTensor } from "./mapped-tensor.ts";
import { asMapped, Opener, type Shared, share } from "./sharing.ts";

/** A tensor whose bytes go along. */
interface SentBytes {
  bytes: ArrayBuffer;
  dtype: string;
  shape: number[];
}

type SentTensor = (TensorReference | SentBytes) & { form: "mapped" | "unbatched" | null; requiresGrad: boolean };

/** What is posted in the place of a value. */
export type Sent = { kind: "collection"; tree: Shared; locked: boolean } | { kind: "other"; value: unknown };

/** One side's way of sending and taking. Memory that the other side has told of is mapped once. */
export class Wire {
  private readonly opened = new ReferenceOpener();

  /** @param lends whether memory without a file is kept here as long as the other side uses it */
  constructor(private readonly lends: boolean) {}

  /** A value and the buffers that move with it. */
  send(value: unknown): { sent: Sent; moved: ArrayBuffer[] } {
    const moved: ArrayBuffer[] = [];
    if (!(value instanceof Tensor) && !isTensorCollection(value)) return { sent: { kind: "other", value }, moved };
    const removed = new RemovedFiles();
    const tree = share(value as Td, (t) => this.leaf(t, removed, moved) as TensorReference);
    const locked = isTensorCollection(value) && (value as Td).isLocked;
    return { sent: { kind: "collection", tree, locked }, moved };
  }

  /** A collection that the other side writes to; null when it would write into a copy. */
  sendTarget(td: Td): Sent | null {
    const removed = new RemovedFiles();
    const tree = share(td, (t) => this.leaf(t, removed, null) as TensorReference);
    return writesThrough(tree) ? { kind: "collection", tree, locked: false } : null;
  }

  private leaf(t: Tensor, removed: RemovedFiles, moved: ArrayBuffer[] | null): SentTensor {
    if (moved !== null) requireSendable(t);
    const form = t instanceof MemoryMappedTensor ? "mapped" : t instanceof UnbatchedTensor ? "unbatched" : null;
    const rest = { form, requiresGrad: t.requiresGrad } as const;
    const plain = t instanceof UnbatchedTensor ? t.data : t.detach();
    const reference = this.reference(plain, removed);
    if (reference !== null) return { ...reference, ...rest };
    if (moved === null) return { bytes: new ArrayBuffer(0), dtype: t.dtype.name, shape: [1], ...rest };
    const bytes = new ArrayBuffer(t._numel * t.dtype.itemsize);
    overBytes(bytes, t.dtype.name, t._shape).copy_(plain);
    moved.push(bytes);
    return { bytes, dtype: t.dtype.name, shape: [...t._shape], ...rest };
  }

  /** A reference where the other side sees the same memory, null where bytes have to go. */
  private reference(t: Tensor, removed: RemovedFiles): TensorReference | null {
    if (t._numel === 0) return referenceTo(t, removed);
    const source = mappedFileOf(t._storage);
    // What is written to private pages is in no file.
    if (source === null || source.mode === "c" || t._bits !== 0) return null;
    try {
      const reference = referenceTo(t, removed);
      const { memory } = reference;
      const lasts = source.path !== null || this.lends || (memory !== null && this.opened.has(memory));
      return lasts ? reference : null;
    } catch (error) {
      // A file that lost its name, or no descriptor: bytes are still there.
      if (error instanceof OSError) return null;
      throw error;
    }
  }

  /** The value that the other side sent. */
  take(sent: Sent): unknown {
    if (sent.kind === "other") return sent.value;
    const value = new Opener((reference) => this.tensor(reference as SentTensor)).open(sent.tree);
    if (sent.locked) lockTd(value as Td);
    return value;
  }

  private tensor(sent: SentTensor): Tensor {
    const t = "bytes" in sent ? overBytes(sent.bytes, sent.dtype, sent.shape) : this.opened.open(sent);
    if (sent.form === "unbatched") return new UnbatchedTensor(t);
    const mapped = sent.form === "mapped" && mappedFileOf(t._storage) !== null;
    return (mapped ? asMapped(t) : t).requiresGrad_(sent.requiresGrad);
  }
}

/** Whether what is written to the tensors of a tree is seen here. */
function writesThrough(tree: Shared): boolean {
  switch (tree.kind) {
    case "tensor": {
      const { memory = null } = tree.tensor;
      return memory === null ? tree.tensor.shape.includes(0) : memory.mode === "r+";
    }
    case "lazy":
      return tree.members.every(writesThrough);
    case "tensordict":
    case "tensorclass":
      return tree.entries.every(([, entry]) => writesThrough(entry));
    default:
      return false;
  }
}

function requireSendable(t: Tensor): void {
  if (t.requiresGrad && !t.isLeaf) {
    throw new RuntimeError(
      "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing " +
        "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing " +
        "(e.g., putting it on the queue).",
    );
  }
  if (t.device.type !== "cpu") {
    throw new RuntimeError(`Workers get tensors on the CPU only, and this one is on ${t.device}`);
  }
}

/** A contiguous tensor in these bytes. */
function overBytes(bytes: ArrayBuffer, dtype: string, shape: readonly number[]): Tensor {
  const flat = fromTypedArray(new Uint8Array(bytes));
  return flat
    .view(dtypeByName(dtype) as never)
    .view([...shape])
    .detach();
}
