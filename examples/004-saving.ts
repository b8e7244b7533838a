// Saving TensorDicts and tensorclasses as folders of memory-mapped tensors, and loading them.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  int,
  io,
  lazyStack,
  nn,
  print,
  printDirectoryTree,
  rand,
  randint,
  randn,
  setLazyLegacy,
  stack,
  Tensor,
  TensorDict,
  tensorclass,
  zeros,
} from "zensor";

class MyClass extends tensorclass({ data: Tensor, metadata: String }) {}

/** A model's weights: written by several threads, mapped when loaded. */
function saveModel(folder: string): void {
  const weights = TensorDict.fromModule(new nn.Transformer());
  const onDisk = weights.memmap(join(folder, "model"), { numThreads: 32 });
  const loaded = TensorDict.loadMemmap(join(folder, "model"));
  assert(onDisk.eq(loaded).all());
}

/** A dataset of a million images: the files are there at once and take no space until they are written. */
function makeRoom(folder: string): void {
  const datum = new TensorDict({ image: randint(255, [3, 64, 64]), label: int(0) }, { batchSize: [] });
  print(datum);
  const data = datum.expand(1_000_000);
  const onDisk = data.memmapLike(join(folder, "data"));
  print(onDisk);
  onDisk.at(999_999).set_("label", int(7));
  print(onDisk.at("label").at("-2:"));
}

/** The folder follows the keys. */
function showFolder(folder: string): void {
  const td = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
  td.memmap_(join(folder, "tensordict"));
  print("tensordict");
  printDirectoryTree(join(folder, "tensordict"), { style: "branches" });
}

/** Subclasses and strings are saved too. */
function saveMixed(folder: string): void {
  const list = [0, 1, 2, 3].map((i) => new TensorDict({ item: int(i) }, { batchSize: [] }));
  const tc = new MyClass({ data: randn(3), metadata: "some text" }, { batchSize: [] });
  print(tc);
  using _ = setLazyLegacy(true);
  const data = new TensorDict({ td_list: stack(list), tensorclass: tc }, []);
  data.memmap_(join(folder, "mixed"));
  const loaded = TensorDict.loadMemmap(join(folder, "mixed"));
  assert(loaded.eq(data).all());
  printDirectoryTree(join(folder, "mixed"));
}

/** What is mapped already stays where it is, unless a copy is asked for. */
function saveAgain(folder: string): void {
  const td = new TensorDict({ a: int(1) }, []);
  const mapped = td.memmap();
  print(mapped.at("a") === mapped.memmap().at("a"));
  const first = td.memmap(join(folder, "first"));
  assert.throws(() => first.memmap(join(folder, "second")), /pass copy_existing=True/);
  first.memmap(join(folder, "second"), { copyExisting: true });
  assert(TensorDict.loadMemmap(join(folder, "second")).eq(td).all());
  assert.throws(() => TensorDict.loadMemmap(join(folder, "third")), /No such file or directory/);
}

/** Snapshots in torchsnapshot's format: through memory, or straight into tensors that are there already. */
function takeSnapshots(folder: string): void {
  const source = new TensorDict({ a: randn(3), b: { c: randn(3) } }, []);
  io.Snapshot.take({ path: join(folder, "snapshot"), appState: { state: source } });
  print(
    readdirSync(join(folder, "snapshot", "0", "state"))
      .sort()
      .join(" "),
  );
  const loaded = new TensorDict();
  new io.Snapshot(join(folder, "snapshot")).restore({ appState: { state: loaded } });
  assert(loaded.eq(source).all());

  const wrapped = (td: TensorDict) => ({
    state: new io.StateDict({ tensordict: td.stateDict({ keepVars: true }) }),
  });
  const snapshot = io.Snapshot.take({ path: join(folder, "wrapped"), appState: wrapped(source) });
  print([...snapshot.manifest.keys()].join(" "));
  const target = new TensorDict({ a: zeros(3), b: { c: zeros(3) } }, []);
  target.memmap_();
  snapshot.restore({ appState: wrapped(target), memoryBudgetBytes: 2 ** 20 });
  assert(target.eq(source).all());

  // What a lazy stack gives are copies: filling them changes nothing.
  const lazy = lazyStack([new TensorDict({ a: zeros(3) }), new TensorDict({ a: zeros(3) })]) as unknown as TensorDict;
  io.Snapshot.take({ path: join(folder, "lazy"), appState: wrapped(lazy) }).restore({ appState: wrapped(lazy) });
  print((lazy.at("a") as Tensor).sum());
}

const folder = mkdtempSync(join(tmpdir(), "zensor-saving-"));
try {
  saveModel(folder);
  makeRoom(folder);
  showFolder(folder);
  saveMixed(folder);
  saveAgain(folder);
  takeSnapshots(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
