// Bytes that are written later: until then they stay, whoever disposes their tensors or resizes their storages.
import { type Anchor, releaseAnchor } from "../../ffi/memory.ts";
import { DISPOSED, type Storage } from "../../tensor/storage.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { type Steps, wait } from "./steps.ts";

/** Claims on the storages behind bytes to be written. */
export class Claims {
  private readonly storages: Storage[] = [];
  private readonly owners: Anchor[] = [];

  /** Takes one where the bytes are a tensor's: these are `TensorBytes` and `StridedBytes`. */
  add(data: object | null): void {
    if (data === null) return;
    const tensor = "strided" in data ? data.strided : "keep" in data ? data.keep : null;
    // What is disposed already was claimed by the one who planned.
    if (!(tensor instanceof Tensor) || tensor._storage === DISPOSED) return;
    tensor._storage.claim();
    this.storages.push(tensor._storage);
    this.owners.push(tensor._storage.own());
  }

  /** Gives all of them back. */
  [Symbol.dispose](): void {
    this.release();
  }

  release(): void {
    for (const storage of this.storages.splice(0)) storage.release();
    for (const owner of this.owners.splice(0)) releaseAnchor(owner);
  }
}

/** Claims for work in steps. At once nothing comes in between, and nothing has to be claimed. */
export function claiming(parts: readonly { data: object }[]): Steps<Claims> {
  return wait(
    () => new Claims(),
    async () => {
      const claims = new Claims();
      for (const { data } of parts) claims.add(data);
      return claims;
    },
  );
}
