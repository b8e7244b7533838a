//! The f64 functions behind the random distributions. Their last bits show in the numbers, so they come from the
//! system's C library where there is one.
const std = @import("std");
const builtin = @import("builtin");

const c = struct {
    extern "c" fn log(f64) f64;
    extern "c" fn log1p(f64) f64;
    extern "c" fn exp(f64) f64;
    extern "c" fn sin(f64) f64;
    extern "c" fn cos(f64) f64;
    extern "c" fn tan(f64) f64;
};
pub inline fn log(x: f64) f64 {
    return if (builtin.link_libc) c.log(x) else @log(x);
}
pub inline fn log1p(x: f64) f64 {
    return if (builtin.link_libc) c.log1p(x) else std.math.log1p(x);
}
pub inline fn exp(x: f64) f64 {
    return if (builtin.link_libc) c.exp(x) else @exp(x);
}
pub inline fn sin(x: f64) f64 {
    return if (builtin.link_libc) c.sin(x) else @sin(x);
}
pub inline fn cos(x: f64) f64 {
    return if (builtin.link_libc) c.cos(x) else @cos(x);
}
pub inline fn tan(x: f64) f64 {
    return if (builtin.link_libc) c.tan(x) else @tan(x);
}
