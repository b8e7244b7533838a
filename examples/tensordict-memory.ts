// Where a TensorDict keeps its tensors: on devices, and in memory-mapped files.
import { rmSync } from "node:fs";
import { cuda, io, MemoryMappedTensor, print, rand, TensorDict } from "zensor";

// A device given to the constructor holds for every entry. Without a GPU the same lines run on the CPU.
const device = cuda.isAvailable() ? "cuda:0" : "cpu";
const td = new TensorDict({ a: rand(10) }, [10], { device });
print(td);

// New entries are moved there as well.
td.set("b", rand(10, 10));
print(td);
print(td.device);

// `to` gives a new object; the first one stays where it is.
print(td.to("cpu"));

// Without a device, entries may be anywhere.
td.clearDevice_();
print(td);

// Memory-mapped: the tensors move into shared memory (or into files, with a prefix).
const mapped = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
mapped.memmap_();
print(mapped);

// The same structure without copying the content: zero-filled, to be written bit by bit.
const like = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]).memmapLike();
print(like.get("a").contiguous());

// With a prefix the files mirror the structure.
const saved = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
saved.memmap("tensordict-example");
io.printDirectoryTree("tensordict-example", { style: "branches" });
rmSync("tensordict-example", { recursive: true });

// A tensor far beyond memory: only the pages that are used exist.
const images = MemoryMappedTensor.empty([1_000_000, 3, 480, 480], { dtype: "uint8" });
const batch = images.at("0:10");
print(images.nbytes, batch.shape);
