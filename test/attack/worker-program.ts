// A Worker that saves and says when it has begun: it is terminated meanwhile.
import { join } from "node:path";
import { threadNumber } from "../../src/ffi/threads.ts";
import { fromTypedArray, full, io, TensorDict } from "../../src/index.ts";

declare const self: { onmessage: (event: { data: { kind: number; folder: string; lent: boolean } }) => void };

const LARGE = 2 ** 24;

self.onmessage = async ({ data: { kind, folder, lent } }) => {
  const a = lent ? fromTypedArray(new Float32Array(LARGE).fill(3)) : full([LARGE], 3);
  const b = full([LARGE / 4], 3)
    .view(1024, -1)
    .t();
  const td = new TensorDict({ a, b }, []);
  const at = (name: string) => join(folder, name);
  const saves = [
    () => td.memmapAsync(at("directory")),
    () => td.memmapAsync(at("atomic"), { atomic: true }),
    () => td.memmapAsync(at("archive.tdz")),
    () => io.saveSafetensorsAsync({ a, b }, at("safetensors")),
    () => io.saveNpzAsync(at("npz.npz"), { a, b }),
    () => io.saveTorchAsync({ a, b }, at("pt")),
    () => td.consolidateAsync({ filename: at("consolidated") }),
    () => io.Snapshot.asyncTake({ path: at("snapshot"), appState: { td } as never }),
  ];
  const saved = saves[kind % saves.length]?.();
  postMessage(threadNumber());
  await saved;
  postMessage("saved");
};
