// Where a TensorDict keeps its tensors: on a device, in memory-mapped files, in a folder that mirrors its keys.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { device, print, printDirectoryTree, rand, TensorDict } from "zensor";

// With a device, entries are moved to it, those that come later too.
const onDevice = new TensorDict({ a: rand(10) }, [10], { device: "cpu" });
print(onDevice);
onDevice.set("b", rand(10, 10));
print(onDevice);
print(onDevice.device);
print(onDevice.to(device("cpu")));

// The meta device has shapes and no bytes: another device on every machine.
const elsewhere = new TensorDict({ a: rand(10) }, [10], { device: "meta" });
elsewhere.set("b", rand(10, 10));
print(elsewhere);

// Without a device, values may be on different devices.
onDevice.clearDevice_();
print(onDevice);
const mixed = new TensorDict({ a: rand(10), c: rand(10, { device: "meta" }) }, [10]);
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
