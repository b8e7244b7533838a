/** Numbers that both sides of the boundary share. A number is never reused: a removed row leaves a hole. */
import type { DTypeRow, NativeRow, StatusRow } from "../model/types.ts";

/** The types that kernels compute in, in the order of their ids. */
export const computes = ["f32", "f64", "i32", "i64", "u64", "b8", "c64", "c128"] as const;

const signed = { category: 1, signed: true };
const unsigned = { category: 1, signed: false };
const floating = { category: 2, signed: true };
const complex = { category: 3, signed: true };
const narrow = { compute: "i32", native: false };

/** Element types. */
export const dtypes = [
  { id: 0, name: "bool", itemsize: 1, category: 0, signed: false, scalarType: "Bool", cppName: "bool", compute: "b8", native: true },
  { id: 1, name: "uint8", itemsize: 1, ...unsigned, scalarType: "Byte", cppName: "unsigned char", ...narrow },
  { id: 2, name: "int8", itemsize: 1, ...signed, scalarType: "Char", cppName: "signed char", ...narrow },
  { id: 3, name: "int16", itemsize: 2, ...signed, scalarType: "Short", cppName: "short", ...narrow },
  { id: 4, name: "int32", itemsize: 4, ...signed, scalarType: "Int", cppName: "int", compute: "i32", native: true },
  { id: 5, name: "int64", itemsize: 8, ...signed, scalarType: "Long", cppName: "long", compute: "i64", native: true },
  { id: 6, name: "float16", itemsize: 2, ...floating, scalarType: "Half", cppName: "c10::Half", compute: "f32", native: false },
  { id: 7, name: "bfloat16", itemsize: 2, ...floating, scalarType: "BFloat16", cppName: "c10::BFloat16", compute: "f32", native: false },
  { id: 8, name: "float32", itemsize: 4, ...floating, scalarType: "Float", cppName: "float", compute: "f32", native: true },
  { id: 9, name: "float64", itemsize: 8, ...floating, scalarType: "Double", cppName: "double", compute: "f64", native: true },
  { id: 10, name: "complex64", itemsize: 8, ...complex, scalarType: "ComplexFloat", cppName: "c10::complex<float>", compute: "c64", native: true },
  { id: 11, name: "complex128", itemsize: 16, ...complex, scalarType: "ComplexDouble", cppName: "c10::complex<double>", compute: "c128", native: true },
  { id: 12, name: "uint16", itemsize: 2, ...unsigned, scalarType: "UInt16", cppName: "uint16_t", ...narrow },
  { id: 13, name: "uint32", itemsize: 4, ...unsigned, scalarType: "UInt32", cppName: "uint32_t", compute: "i64", native: false },
  { id: 14, name: "uint64", itemsize: 8, ...unsigned, scalarType: "UInt64", cppName: "uint64_t", compute: "u64", native: true },
  { id: 15, name: "float8_e4m3fn", itemsize: 1, ...floating, scalarType: "Float8_e4m3fn", cppName: "c10::Float8_e4m3fn", compute: "f32", native: false },
  { id: 16, name: "float8_e5m2", itemsize: 1, ...floating, scalarType: "Float8_e5m2", cppName: "c10::Float8_e5m2", compute: "f32", native: false },
] as const satisfies readonly DTypeRow[];

/** What a native call returns. */
export const statuses = [
  { code: 0, name: "ok", doc: "The call did what it was asked." },
  { code: -1, name: "out_of_memory", doc: "Scratch memory could not be had." },
  { code: -2, name: "unsupported", doc: "The kernel has no body for this compute type." },
  { code: -3, name: "index_out_of_bounds", doc: "detail: index, dim, size." },
  { code: -4, name: "zero_division", doc: "Integer division by zero." },
  { code: -5, name: "negative_power", doc: "An integer to a negative integer power." },
  { code: -6, name: "bad_argument", doc: "A value that the checks before the call should have refused. detail: operand." },
  { code: -7, name: "invalid_distribution", doc: "detail: 1 negative or not finite, 2 sum not positive." },
] as const satisfies readonly StatusRow[];

/** The frame that one call reads, as f64 fields in order; operands follow it. */
export const frame = {
  maxRank: 64,
  header: ["operand_count", "compute", "sequential", "reserved_b"],
  detail: 12,
  attrs: 32,
  scratch: 64,
  operand: ["data", "dtype", "rank", "flags", "reserved_a", "reserved_b", "reserved_c", "reserved_d"],
} as const;

/** Native functions that are no operators. Numbers cross as f64, small counts as u32, statuses as i32. */
export const natives = [
  { name: "zs_abi_hash", args: [], returns: "ptr", doc: "Hash of the shared tables, NUL-terminated." },
  { name: "zs_manifest", args: [], returns: "ptr", doc: "JSON of every shared struct and table as the library was compiled." },
  { name: "zs_init", args: ["u32", "u32"], returns: "i32", doc: "Chooses the instruction set (0 best, 2 baseline, 3 AVX2, 4 AVX-512) and thread count (0 all)." },
  { name: "zs_isa", args: [], returns: "ptr", doc: "Name of the instruction set in use." },
  { name: "zs_best_isa", args: [], returns: "u32", doc: "The best level that this CPU has." },
  { name: "zs_set_num_threads", args: ["u32"], returns: "i32", doc: "Threads that kernels may use." },
  { name: "zs_get_num_threads", args: [], returns: "u32", doc: "Threads that kernels may use." },
  { name: "zs_frame_create", args: ["u32"], returns: "f64", doc: "Address of a frame with room for so many operands, 0 without memory." },
  { name: "zs_frame_destroy", args: ["f64", "u32"], returns: "void", doc: "Gives a frame back." },
  { name: "zs_alloc", args: ["f64"], returns: "f64", doc: "A block from the caching allocator, 0 without memory." },
  { name: "zs_free", args: ["f64"], returns: "void", doc: "Returns a block." },
  { name: "zs_release_function", args: [], returns: "f64", doc: "Address of the collector's callback for blocks." },
  { name: "zs_release_mapping_function", args: [], returns: "f64", doc: "Address of the collector's callback for mappings; its context is the mapped length." },
  { name: "zs_empty_cache", args: [], returns: "void", doc: "Returns cached blocks to the system." },
  { name: "zs_live_bytes", args: [], returns: "f64", doc: "Bytes in use, in rounded blocks." },
  { name: "zs_stat", args: ["u32"], returns: "f64", doc: "Allocator statistic: 0 live, 1 peak, 2 cached, 3 allocations, 4 frees, 5 requested live." },
  { name: "zs_reset_peak", args: [], returns: "void", doc: "Sets the peak to the live bytes." },
  { name: "zs_fail_alloc_after", args: ["f64"], returns: "void", doc: "Testing: the n-th allocation from now fails; negative: never." },
  { name: "zs_copy", args: ["ptr", "ptr", "f64"], returns: "void", doc: "memmove." },
  { name: "zs_set", args: ["ptr", "u32", "f64"], returns: "void", doc: "memset." },
  { name: "zs_compare", args: ["ptr", "ptr", "f64"], returns: "i32", doc: "memcmp." },
  { name: "zs_read_numbers", args: ["ptr", "u32", "f64", "ptr"], returns: "i32", doc: "Elements of a dtype as f64 values (complex: pairs)." },
  { name: "zs_write_numbers", args: ["ptr", "u32", "f64", "ptr"], returns: "i32", doc: "f64 values (complex: pairs) as elements of a dtype." },
  { name: "zs_io_run", args: ["f64", "u32", "u32"], returns: "i32", doc: "Runs a batch of file jobs; number of failed jobs." },
  { name: "zs_io_start", args: ["f64", "u32", "u32"], returns: "f64", doc: "Runs a batch of file jobs in the background; a handle." },
  { name: "zs_io_done", args: ["f64"], returns: "i32", doc: "Jobs finished so far." },
  { name: "zs_io_cancel", args: ["f64"], returns: "void", doc: "Asks a background batch to stop." },
  { name: "zs_io_finish", args: ["f64"], returns: "i32", doc: "Waits for a background batch; number of failed jobs." },
  { name: "zs_io_unmap", args: ["f64", "f64"], returns: "i32", doc: "Unmaps." },
  { name: "zs_io_sync", args: ["f64", "f64"], returns: "i32", doc: "Writes a mapping's changes to its file." },
  { name: "zs_io_reserve", args: ["f64"], returns: "f64", doc: "An address range without access." },
  { name: "zs_io_live_maps", args: [], returns: "f64", doc: "Mappings that exist." },
  { name: "zs_io_live_bytes", args: [], returns: "f64", doc: "Bytes of the mappings that exist." },
  { name: "zs_cuda_open", args: ["ptr"], returns: "i32", doc: "Loads the CUDA driver (0: the usual library): 0, its code, -1 no library, -2 a function is missing." },
  { name: "zs_cuda_device_count", args: [], returns: "i32", doc: "Devices that the driver offers, or a negative code." },
  { name: "zs_cuda_driver_version", args: [], returns: "i32", doc: "1000 * major + 10 * minor of the CUDA version, or a negative code." },
  { name: "zs_cuda_device_name", args: ["u32", "ptr", "u32"], returns: "i32", doc: "Writes a device's name, NUL-terminated." },
  { name: "zs_cuda_total_memory", args: ["u32"], returns: "f64", doc: "Bytes of memory of a device, or a negative code." },
  { name: "zs_cuda_attribute", args: ["u32", "u32"], returns: "i32", doc: "A device attribute by the driver's number, or a negative code." },
  { name: "zs_cuda_synchronize", args: ["u32"], returns: "i32", doc: "Waits for all work of a device." },
  { name: "zs_cuda_memory_info", args: ["u32", "ptr"], returns: "i32", doc: "Writes free and total bytes of a device." },
  { name: "zs_cuda_error_text", args: ["i32"], returns: "ptr", doc: "The driver's sentence for one of its codes." },
] as const satisfies readonly NativeRow[];
