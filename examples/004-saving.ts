// Saving TensorDicts and tensorclasses as folders of memory-mapped tensors, and loading them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  int,
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

const folder = mkdtempSync(join(tmpdir(), "zensor-saving-"));
try {
  saveModel(folder);
  makeRoom(folder);
  showFolder(folder);
  saveMixed(folder);
  saveAgain(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
