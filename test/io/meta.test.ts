// Tensors on the meta device have no bytes: no format takes them for some, and nothing is left where one was to be.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { io, loadMemmap, MemoryMappedTensor, ones, type Tensor, TensorDict, zeros } from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";

const room = mkdtempSync(join(tmpdir(), "zensor-meta-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));

const meta = (...shape: number[]) => zeros(shape, { device: "meta" });

type Save = (tensor: Tensor, path: string) => unknown;
const collection = (tensor: Tensor) => new TensorDict({ plain: ones(3), tensor }, { batchSize: [] });
const state = (tensor: Tensor) => ({ state: new io.StateDict({ tensor }) });

const WRITERS: Record<string, Save> = {
  saveNpy: (tensor, path) => io.saveNpy(path, tensor),
  saveNpyAsync: (tensor, path) => io.saveNpyAsync(path, tensor),
  saveNpz: (tensor, path) => io.saveNpz(path, { tensor }),
  saveNpzAsync: (tensor, path) => io.saveNpzAsync(path, { tensor }),
  saveSafetensors: (tensor, path) => io.saveSafetensors({ tensor }, path),
  saveSafetensorsAsync: (tensor, path) => io.saveSafetensorsAsync({ tensor }, path),
  memmap: (tensor, path) => collection(tensor).memmap(path),
  "memmap, atomic": (tensor, path) => collection(tensor).memmap(path, { atomic: true }),
  memmapAsync: (tensor, path) => collection(tensor).memmapAsync(path),
  tdz: (tensor, path) => collection(tensor).memmap(`${path}.tdz`),
  consolidate: (tensor, path) => collection(tensor).consolidate({ filename: path }),
  consolidateAsync: (tensor, path) => collection(tensor).consolidateAsync({ filename: path }),
  "Snapshot.take": (tensor, path) => io.Snapshot.take({ path, appState: state(tensor) }),
  fromTensor: (tensor, path) => MemoryMappedTensor.fromTensor(tensor, { filename: path }),
  ...(hdf5Engine() === null
    ? {}
    : {
        toH5: (tensor, path) => collection(tensor).toH5(path),
        toH5Async: (tensor, path) => collection(tensor).toH5Async(path),
      }),
};

describe.each(Object.entries(WRITERS))("%s", (_, save) => {
  test.each([
    ["contiguous", meta(2)],
    ["large, with gaps", meta(200, 300).t()],
  ])("%s", async (_, tensor) => {
    const error = await Promise.resolve()
      .then(() => save(tensor, join(room, "saved")))
      .then(
        () => null,
        (thrown: Error) => thrown,
      );
    expect(error?.name).toBe("NotImplementedError");
    expect(error?.message).toBe("Cannot copy out of meta tensor; no data!");
    expect(readdirSync(room)).toEqual([]);
  });
});

test("storages without bytes", () => {
  const storage = meta(2).untypedStorage();
  expect(storage.dataPtr()).toBe(0);
  expect(() => storage.at(0)).toThrow("Not available for 'meta' device type");
  expect(() => storage.tolist()).toThrow("Not available for 'meta' device type");
  const text = "...\n[torch.storage.UntypedStorage(device=meta) of size 8]";
  expect([String(storage), String(storage.fill_(1)), String(storage.clone())]).toEqual([text, text, text]);
  expect(storage.resize_(100).nbytes()).toBe(100);
});

test("what does not fit into `out` leaves it as it was", () => {
  const path = join(room, "directory");
  new TensorDict({ a: ones(2), n: new TensorDict({ b: ones(2) }, [2]) }, [2]).memmap(path);
  const out = new TensorDict({ other: ones(3), a: zeros(3) }, [3]);
  expect(() => loadMemmap(path, { out: out as never })).toThrow();
  expect([...out.keys()]).toEqual(["other", "a"]);
  expect((out.get("a") as Tensor).tolist()).toEqual([0, 0, 0]);
  const fits = new TensorDict({ other: ones(2), n: new TensorDict({ c: ones(2) }, [2]) }, [2]);
  const inner = fits.get("n");
  expect(loadMemmap(path, { out: fits as never }) as unknown).toBe(fits);
  expect(fits.get("n")).toBe(inner);
  expect([...fits.keys({ includeNested: true, leavesOnly: true } as never)].map(String).sort()).toEqual(["a", "n,b"]);
});
