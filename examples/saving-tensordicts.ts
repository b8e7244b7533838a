// Saving and loading TensorDicts: one file per tensor, lazily read, the same files that Python's tensordict uses.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { io, lazyStack, rand, randint, randn, Tensor, TensorDict, tensorclass } from "zensor";

const room = mkdtempSync(join(tmpdir(), "zensor-example-"));

// Save with several threads, load without reading the bytes yet.
const weights = new TensorDict({ layer: { weight: randn(64, 64), bias: randn(64) } });
const onDisk = weights.memmap(join(room, "weights"), { numThreads: 2 });
const loaded = TensorDict.loadMemmap(join(room, "weights"));
console.log("equal after loading:", onDisk.eq(loaded).all());

// Preallocate a dataset from one example: expand() copies nothing, memmapLike() makes sparse files.
const makeDatum = () => new TensorDict({ image: randint(255, [3, 64, 64]), label: 0 });
const data = makeDatum().expand(1_000_000).memmapLike(join(room, "data"));
data.setAt(3, makeDatum());
console.log("dataset:", String(data.batchSize), "item 3 sums to", data.at(3).get("image").sum().item());

// Nested structures keep their types: lazy stacks, tensorclasses, text.
class MyClass extends tensorclass({ data: Tensor, metadata: String }) {}
const list = [0, 1, 2, 3].map((item) => new TensorDict({ item }));
const tc = new MyClass({ data: randn(3), metadata: "some text" });
const both = new TensorDict({ tdList: lazyStack(list), tensorclass: tc });
both.memmap_(join(room, "both"));
const again = TensorDict.loadMemmap(join(room, "both"));
console.log("equal:", again.eq(both).all(), "text:", again.at("tensorclass").metadata);
io.printDirectoryTree(join(room, "both"));

// A mapped TensorDict does not move to another place unless told to.
const td = new TensorDict({ a: rand(1) }).memmap(join(room, "first"));
try {
  td.memmap(join(room, "second"));
} catch (error) {
  console.log((error as Error).name);
}
td.memmap(join(room, "second"), { copyExisting: true });
console.log("copied:", TensorDict.loadMemmap(join(room, "second")).eq(td).all());
rmSync(room, { recursive: true });
