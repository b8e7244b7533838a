// Where a TensorDict keeps its tensors: on a device, in memory-mapped files, in a folder that mirrors its keys.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cuda, device, print, printDirectoryTree, rand, TensorDict } from "zensor";

// With a device, entries are moved to it, those that come later too.
const place = cuda.isAvailable() ? "cuda:0" : "cpu";
const onDevice = new TensorDict({ a: rand(10) }, [10], { device: place });
print(onDevice);
onDevice.set("b", rand(10, 10));
print(onDevice);
print(onDevice.device);

// to() leaves it alone and returns the moved one.
const onCpu = onDevice.to(device("cpu"));
print(onCpu);
const back = onCpu.to(place);
print(back);

// Without a device, values may be on different devices.
back.clearDevice_();
print(back);
const mixed = new TensorDict({ a: back.at("a"), c: rand(10) }, [10]);
print(mixed.device, mixed.at("a").device, mixed.at("c").device);

// memmap_ moves the tensors into mapped memory.
const mapped = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
mapped.memmap_();
print(mapped);

// memmapLike makes the room without copying, to be filled later.
const source = new TensorDict({ a: rand(10), b: { c: rand(10) } }, [10]);
const room = source.memmapLike();
print(room.at("a").contiguous());

// In a folder of your own, the files follow the keys.
const folder = mkdtempSync(join(tmpdir(), "zensor-memory-"));
try {
  source.memmap(join(folder, "root"));
  printDirectoryTree(join(folder, "root"), { style: "branches" });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
