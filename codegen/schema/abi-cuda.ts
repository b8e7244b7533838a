/** The native functions for CUDA: the driver, memory of devices, launches. */
import type { NativeRow } from "../model/types.ts";

/** They follow those of `abi.ts`. */
export const natives = [
  {
    name: "zs_cuda_open",
    args: ["ptr"],
    returns: "i32",
    doc: "Loads the CUDA driver (0: the usual library): 0, its code, or a CudaStatus.",
  },
  {
    name: "zs_cuda_device_count",
    args: [],
    returns: "i32",
    doc: "Devices that the driver offers, or a negative code.",
  },
  {
    name: "zs_cuda_driver_version",
    args: [],
    returns: "i32",
    doc: "1000 * major + 10 * minor of the CUDA version, or a negative code.",
  },
  {
    name: "zs_cuda_device_name",
    args: ["u32", "ptr", "u32"],
    returns: "i32",
    doc: "Writes a device's name, NUL-terminated.",
  },
  {
    name: "zs_cuda_total_memory",
    args: ["u32"],
    returns: "f64",
    doc: "Bytes of memory of a device, or a negative code.",
  },
  {
    name: "zs_cuda_attribute",
    args: ["u32", "u32"],
    returns: "i32",
    doc: "A device attribute by the driver's number, or a negative code.",
  },
  { name: "zs_cuda_synchronize", args: ["u32"], returns: "i32", doc: "Waits for all work of a device." },
  {
    name: "zs_cuda_memory_info",
    args: ["u32", "ptr"],
    returns: "i32",
    doc: "Writes free and total bytes of a device.",
  },
  { name: "zs_cuda_error_text", args: ["i32"], returns: "ptr", doc: "The driver's sentence for one of its codes." },
  {
    name: "zs_cuda_alloc",
    args: ["f64", "u32", "f64", "ptr"],
    returns: "i32",
    doc: "A block on a device for a stream: writes its address and its handle; or a code.",
  },
  { name: "zs_cuda_keep", args: ["f64"], returns: "void", doc: "Adds an owner to a block, by its handle." },
  {
    name: "zs_cuda_release_function",
    args: [],
    returns: "f64",
    doc: "Address of the collector's callback for handles of blocks on devices.",
  },
  { name: "zs_cuda_live_bytes", args: [], returns: "f64", doc: "Bytes of the blocks on all devices." },
  {
    name: "zs_cuda_memory_stats",
    args: ["u32", "ptr"],
    returns: "i32",
    doc: "Writes the allocator's numbers for a device, those of `DeviceMemoryStat`.",
  },
  { name: "zs_cuda_reset_peak", args: ["u32"], returns: "void", doc: "The highest numbers begin again." },
  { name: "zs_cuda_empty_cache", args: ["u32"], returns: "i32", doc: "Gives unused segments back to the driver." },
  {
    name: "zs_cuda_to_device",
    args: ["f64", "ptr", "f64", "u32", "f64"],
    returns: "i32",
    doc: "Bytes from the host to a device on a stream.",
  },
  {
    name: "zs_cuda_to_host",
    args: ["ptr", "f64", "f64", "u32", "f64"],
    returns: "i32",
    doc: "Bytes from a device, after the work of a stream.",
  },
  {
    name: "zs_cuda_on_device",
    args: ["f64", "u32", "f64", "u32", "f64", "f64"],
    returns: "i32",
    doc: "Bytes from a device to the same or another.",
  },
  { name: "zs_cuda_set", args: ["f64", "u32", "f64", "u32", "f64"], returns: "i32", doc: "One byte value everywhere." },
  { name: "zs_cuda_stream_wait", args: ["u32", "f64"], returns: "i32", doc: "Waits for the work of a stream." },
  {
    name: "zs_cuda_launch",
    args: ["u32", "ptr", "u32", "f64"],
    returns: "i32",
    doc: "Runs a kernel, by its place in the schema's list, on what the frame says; a Status or a code.",
  },
  {
    name: "zs_cuda_fault",
    args: ["ptr"],
    returns: "void",
    doc: "Writes what the kernel of this thread's last `CudaStatus.fault` told: the number of its error, three others.",
  },
  { name: "zs_cuda_log", args: [], returns: "ptr", doc: "What the driver said of a module that it refused." },
] as const satisfies readonly NativeRow[];
