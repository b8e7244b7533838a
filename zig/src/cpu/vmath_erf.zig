//! erf for f32 and f64, scalar or vector.
const b = @import("vmath_base.zig");
const e = @import("vmath_exp.zig");
const c = b.c;
const fma = b.fma;

/// erf(x)/x - 1 in z = x^2, |x| <= 0.927 (f32) or 1 (f64).
const near_f32 = [_]comptime_float{
    8.33410084356e-5, -0.000813416114259, 0.00520027682726, -0.0268590926323,
    0.112836899541,   -0.376126333717,    0.128379166599,
};
const near_f64 = [_]comptime_float{
    -7.7794489132478199253e-10, 1.3710969859773255304e-8,  -1.6206311317613115874e-7,  1.6447131253159389677e-6,
    -1.4924712276399660302e-5,  0.00012055293575585291957, -0.00085483259292715757149, 0.0052239776061176199902,
    -0.026866170643111374111,   0.11283791670944184313,    -0.37612638903183519542,    0.12837916709551256566,
};
/// log(1 - erf(t)) on [0.92, 4].
const far_f32 = [_]comptime_float{
    0.000195931712369, -0.00304316574976, 0.0222267251027,    -0.103931214101,
    -0.637182658404,   -1.1276753967,     -0.000195727823352,
};
/// (1 - erf(t)) e^(t^2) in (t - 2) / (t + 2) on [1, 6].
const far_f64 = [_]comptime_float{
    -1.2622085441256512153e-5, -2.6587029137570408731e-5,  2.7630872859697354346e-5,  0.00017428769568019965355,
    4.3535312726451496914e-5,  -0.00098197658390224347681, -0.0008471425724413530101, 0.0069974617900905396388,
    0.0037328923985899975193,  -0.078978581016455891253,   0.24165819424246694325,    -0.42718584741395677379,
    0.25539567631050576157,
};

pub inline fn erf(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const a = @abs(x);
    const z = x * x;
    if (comptime b.is_f64(V)) {
        const near = fma(b.horner(z, &near_f64), x, x);
        const t = b.min_const(a, 6.0);
        const u = (t - c(V, 2.0)) / (t + c(V, 2.0));
        const far = one - e.exp(-(t * t)) * b.horner(u, &far_f64);
        return b.select(a <= one, near, b.copysign(far, x));
    }
    const near = fma(b.horner(z, &near_f32), x, x);
    const t = b.min_const(a, 4.0);
    const red = e.reduce(b.horner(t, &far_f32));
    const far = one - e.exp_reduced(red.r) * red.n.pow2();
    return b.select(a <= c(V, 0.925), near, b.copysign(far, x));
}
