//! Names and sentences for result codes.
const state = @import("state.zig");

const Entry = struct { c_int, [:0]const u8, [:0]const u8 };

const table = [_]Entry{
    .{ 0, "CUDA_SUCCESS", "no error" },
    .{ 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    .{ 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    .{ 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
    .{ 4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down" },
    .{ 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable" },
    .{ 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    .{ 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
    .{ 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
    .{ 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    .{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
    .{ 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered" },
    .{ 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices" },
    .{ 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
    .{ 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain." },
    .{ 304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS" },
    .{ 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
    .{ 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    .{ 600, "CUDA_ERROR_NOT_READY", "device not ready" },
    .{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
    .{ 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch" },
    .{ 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated" },
    .{ 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled" },
    .{ 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed" },
    .{ 710, "CUDA_ERROR_ASSERT", "device-side assert triggered" },
    .{
        712,
        "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        "part or all of the requested memory range is already mapped",
    },
    .{ 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region" },
    .{ 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered" },
    .{ 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address" },
    .{ 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
    .{ 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
    .{ 802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized" },
    .{
        803,
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "system has unsupported display driver / cuda driver combination",
    },
    .{ 999, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

fn find(code: c_int) ?Entry {
    for (table) |e| if (e[0] == code) return e;
    return null;
}

export fn cuGetErrorName(code: c_int, text: ?*?[*:0]const u8) c_int {
    const to = text orelse return state.Code.invalid_value;
    const e = find(code);
    to.* = if (e) |found| found[1].ptr else null;
    return if (e == null) state.Code.invalid_value else 0;
}

export fn cuGetErrorString(code: c_int, text: ?*?[*:0]const u8) c_int {
    const to = text orelse return state.Code.invalid_value;
    const e = find(code);
    to.* = if (e) |found| found[2].ptr else null;
    return if (e == null) state.Code.invalid_value else 0;
}
