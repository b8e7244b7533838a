"""The ops of the kernel fixtures. One entry says how an op is called in Python and, through the fixture file, in
TypeScript: `args` holds operand names ("x" "y" "z" "i" "m"), plain numbers, {"f": float}, lists and null.

Operands: shape "same" is that of x (a, b); "mat" (b, c) with c = min(a, 16) + 1; "bias" (c,); "rows" (a,);
"wt" (c, b); "m3" (b, a). dom is the value domain. op.dts limits dtypes, dt fixes one.
mode "hash": every bit counts; otherwise sampled with tolerance {ulp, atol} or {rtol, atol}.
"""

ALL = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128", "u16", "u32", "u64"]
REAL = [d for d in ALL if d[0] != "c"]
OPS = {}


SECTION = ""


def op(name, args=("x",), dom=("any",), fn=None, kw=None, mode="hash", tol=None, forms="fiog", **more):
    """forms: f forward, i in-place, o out=, g gradient."""
    names = [a for v in args for a in (v if isinstance(v, list) else [v])]
    doms = dict(zip([a for a in names if isinstance(a, str) and a in "xyz"], dom))
    OPS[name] = {"fn": fn or name, "args": list(args), "kw": kw or {}, "doms": doms, "mode": mode,
                 "tol": tol or {"ulp": 1}, "forms": forms,
                 "section": SECTION, **more}


def unary():
    for name in ("abs", "neg", "relu"):
        op(name, dom=("spec",), forms="fig" if name == "relu" else "fiog", cplx={"ulp": 4})
    # torch's vector library rounds square roots correctly only most of the time.
    op("sqrt", dom=("spec",), mode="ulp", tol={"ulp": 1}, cplx={"ulp": 8, "atol": 1e-7})
    for name in ("isnan", "logical_not"):
        op(name, dom=("spec",), forms="f" if name == "isnan" else "fio")
    op("bitwise_not", dom=("any",), forms="fio")
    op("square", dom=("small",), cplx={"ulp": 8, "atol": 1e-6})
    ulp = {"mode": "ulp", "tol": {"ulp": 4, "atol": 1e-7}}
    op("exp", dom=("spec",), **ulp)
    op("log", dom=("pos",), **ulp)
    op("log1p", dom=("pos",), **ulp)
    op("tanh", dom=("spec",), **ulp)
    op("sigmoid", dom=("spec",), **ulp)
    op("sin", dom=("any",), **ulp)
    op("cos", dom=("any",), **ulp)
    op("clamp", args=("x", -1, 5), dom=("spec",))
    op("clamp.tensor", fn="clamp", args=("x", "y", None), dom=("nans", "nans"), forms="fio")
    op("clamp.min", fn="clamp", args=("x", 2), dom=("spec",), forms="fiog")
    op("clamp.bounds", fn="clamp", args=("x", "y", "z"), dom=("nans", "nans", "any"), forms="fog")
    op("clone", dom=("spec",), forms="fg")
    op("cumsum", args=("x", 1), dom=("small",), half={"rtol": 2e-2, "atol": 0.5}, forms="fiog")
    op("cumsum.0", fn="cumsum", args=("x", 0), dom=("small",), half={"rtol": 2e-2, "atol": 0.5}, forms="fo")
    op("cumprod", args=("x", 1), dom=("sign",), forms="fiog", cplx={"ulp": 4})
    op("cumprod.0", fn="cumprod", args=("x", 0), dom=("sign",), forms="fog", cplx={"ulp": 4})
    for name in ("expm1", "reciprocal", "rsqrt"):
        op(name, dom=("spec" if name == "expm1" else "pos",), **ulp, cplx={"rtol": 1e-5, "atol": 1e-6})
    special()
    arcs()
    op("sign", dom=("spec",))
    op("sgn", dom=("small",), forms="fio", cplx={"ulp": 4})
    for name in ("floor", "ceil", "trunc", "round", "frac"):
        op(name, dom=("spec",))
    op("round.decimals", dom=("small",), fn="round", kw={"decimals": 1}, mode="ulp", tol={"ulp": 2}, half={"ulp": 4})
    op("clamp_min", args=("x", 2), dom=("spec",))
    op("clamp_max", args=("x", 2), dom=("spec",))
    for name in ("cummax", "cummin"):
        op(name, args=("x", 1), dom=("nans",), forms="fg")
        op(name + ".0", args=("x", 0), dom=("small",), fn=name, forms="fg")
    op("fill_", args=("x", 3), forms="i", fn="fill")
    op("zero_", args=("x",), forms="i", fn="zero")


def arcs():
    """Inverse and hyperbolic functions, other bases, and questions of one number."""
    ulp = {"mode": "ulp", "tol": {"ulp": 4, "atol": 1e-7}, "cplx": {"rtol": 1e-4, "atol": 1e-5}}
    for name in ("acos", "asin", "atanh"):
        op(name, dom=("small",), **ulp)
    for name in ("atan", "asinh"):
        op(name, dom=("any",), **ulp)
    for name in ("sinh", "cosh", "exp2"):
        op(name, dom=("small",), **ulp)
    op("tan", dom=("any",), mode="rtol", tol={"rtol": 1e-5, "atol": 1e-5}, half={"rtol": 1e-2, "atol": 1e-2},
       cplx={"rtol": 1e-4, "atol": 1e-5})
    for name in ("acosh", "log2", "log10"):
        op(name, dom=("pos",), **ulp)
    for name in ("deg2rad", "rad2deg"):
        op(name, dom=("any",), mode="ulp", tol={"ulp": 1})
    op("logit", ("x", {"f": 0.125}), ("small",), mode="rtol", tol={"rtol": 1e-5, "atol": 1e-5},
       half={"rtol": 1e-2, "atol": 1e-2})
    for name in ("isinf", "isfinite", "isposinf", "isneginf", "signbit"):
        op(name, dom=("any" if name == "signbit" else "spec",), forms="f" if name in ("isinf", "isfinite") else "fo")
    op("nan_to_num", dom=("spec",))
    op("nan_to_num.numbers", ("x", {"f": 2.0}, {"f": 3.0}, {"f": -4.0}), ("spec",), fn="nan_to_num", forms="fiog")


def special():
    ulp = {"mode": "ulp", "tol": {"ulp": 8, "atol": 1e-7}}
    rtol = {"mode": "rtol", "tol": {"rtol": 1e-5, "atol": 1e-5}, "half": {"rtol": 1e-2, "atol": 1e-2}}
    op("erf", dom=("spec",), **ulp)
    op("erfc", dom=("spec",), **ulp)
    op("erfinv", dom=("small",), **ulp)
    op("sinc", dom=("any",), **rtol, cplx={"rtol": 1e-4, "atol": 1e-5})
    for name in ("lgamma", "digamma"):
        op(name, dom=("pos",), **rtol)
        op(name + ".negative", dom=("any",), fn=name, forms="fo", **rtol)
    op("polygamma", (1, "x"), ("pos",), forms="fog", **rtol)
    op("polygamma.3", (3, "x"), ("pos",), fn="polygamma", forms="fg", **rtol)


def binary():
    xy = ("x", "y")
    for name in ("add", "sub", "mul"):
        op(name, xy, ("spec", "spec"), cplx={"ulp": 8, "atol": 1e-6})
    op("add.alpha", xy, ("any", "any"), fn="add", kw={"alpha": 2}, forms="fiog")
    op("sub.alpha", xy, ("any", "any"), fn="sub", kw={"alpha": 3}, forms="fiog", mode="ulp",
       tol={"ulp": 2, "atol": 1e-6}, cplx={"ulp": 4, "atol": 1e-6})
    op("rsub", xy, ("any", "any"), forms="fg")
    op("div", xy, ("any", "divisor"), cplx={"ulp": 8, "atol": 1e-6})
    op("div.floor", xy, ("any", "divisor"), fn="div", kw={"rounding_mode": "floor"}, forms="fio")
    op("div.trunc", xy, ("any", "divisor"), fn="div", kw={"rounding_mode": "trunc"}, forms="fio")
    for name in ("floor_divide", "remainder", "fmod"):
        op(name, xy, ("any", "divisor"), forms="fio" if name == "floor_divide" else "fiog")
    op("pow", xy, ("pos", "expo"), mode="ulp", tol={"ulp": 8, "atol": 1e-6})
    op("pow.2", ("x", 2), ("small",), fn="pow", forms="fiog", cplx={"ulp": 8, "atol": 1e-6})
    for name in ("maximum", "minimum"):
        op(name, xy, ("nans", "nans"), forms="fog")
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        op(name, xy, ("small", "small"), forms="fio")
    op("eq.spec", xy, ("spec", "spec"), fn="eq", forms="f")
    for name in ("logical_and", "logical_or", "logical_xor"):
        op(name, xy, ("small", "small"), forms="fio")
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        op(name, xy, ("any", "any"), forms="fio")
    op("atan2", xy, ("any", "any"), mode="ulp", tol={"ulp": 4, "atol": 1e-6})
    op("copysign", xy, ("spec", "any"), forms="fiog")
    for name in ("clamp_min", "clamp_max"):
        op(name + ".tensor", xy, ("nans", "nans"), fn=name, forms="fiog")
    for name in ("logaddexp", "logaddexp2"):
        op(name, xy, ("any", "any"), mode="ulp", tol={"ulp": 4, "atol": 1e-6}, forms="fog", cplx={"rtol": 1e-4, "atol": 1e-5})
    op("hypot", xy, ("any", "any"), mode="ulp", tol={"ulp": 1})
    op("nextafter", xy, ("spec", "any"), forms="fio")
    op("heaviside", xy, ("small", "any"), forms="fio")
    for name in ("gcd", "lcm"):
        op(name, xy, ("any", "any"), forms="fio")
    for name in ("fmax", "fmin"):
        op(name, xy, ("nans", "nans"), forms="fog")
    op("ldexp", xy, ("small", "expo"), mode="ulp", tol={"ulp": 4, "atol": 1e-6}, cplx={"rtol": 1e-4, "atol": 1e-5})
    op("xlogy", xy, ("any", "pos"), mode="ulp", tol={"ulp": 8, "atol": 1e-6})
    op("lerp", ("x", "y", {"f": 0.3}), ("any", "any"), mode="ulp", tol={"ulp": 4, "atol": 2e-6}, half={"ulp": 2},
       forms="fiog")
    op("lerp.tensor", ("x", "y", "z"), ("any", "any", "small"), fn="lerp", mode="ulp", tol={"ulp": 4, "atol": 2e-6},
       half={"ulp": 2}, forms="fiog")
    op("addcmul", ("x", "y", "z"), ("small", "small", "small"), kw={"value": 2}, forms="fiog")
    op("addcdiv", ("x", "y", "z"), ("small", "divisor", "divisor"), kw={"value": 2}, mode="ulp",
       tol={"ulp": 2, "atol": 1e-6}, forms="fiog")
    op("where", ("m", "x", "y"), ("spec", "spec"), forms="fog")
    op("where.number", ("m", "x", {"f": 0.5}), ("spec",), fn="where", forms="fg")
    op("masked_fill", ("x", "m", 3), ("spec",), forms="fig")
    op("copy_", xy, ("any", "any"), forms="i", fn="copy")


def reductions():
    op("sum", dom=("small",), forms="fg")
    op("prod", dom=("sign",), forms="fg", cplx={"ulp": 1})
    op("sum.1", ("x", 1), ("small",), fn="sum", forms="fog")
    op("sum.0", ("x", 0), ("small",), fn="sum", kw={"keepdim": True}, forms="fo")
    op("sum.both", ("x", [0, 1]), ("small",), fn="sum", forms="fog")
    op("mean.0", ("x", 0), ("small",), fn="mean", mode="ulp", tol={"ulp": 2, "atol": 1e-7}, forms="fog")
    op("mean.1", ("x", 1), ("small",), fn="mean", mode="ulp", tol={"ulp": 2, "atol": 1e-7}, forms="fog")
    op("mean", dom=("small",), mode="ulp", tol={"ulp": 2, "atol": 1e-7}, forms="fg")
    op("prod.0", ("x", 0), ("sign",), fn="prod", forms="fog", cplx={"ulp": 1})
    op("prod.1", ("x", 1), ("small",), fn="prod", forms="g", cplx={"ulp": 4})
    rtol = {"mode": "rtol", "tol": {"rtol": 1e-5, "atol": 1e-6}, "half": {"rtol": 1e-2, "atol": 1e-3}}
    op("var.1", ("x", 1), ("any",), fn="var", forms="fog", **rtol)
    op("var", dom=("any",), forms="fg", **rtol)
    op("var.0", ("x", 0), ("any",), fn="var", kw={"correction": 0}, forms="fog", **rtol)
    op("std", dom=("any",), forms="fg", **rtol)
    op("std.1", ("x", 1), ("any",), fn="std", forms="fo", **rtol)
    for p in (2, 1, 0, 3, -1):
        op("norm.%d.1" % p, ("x", p, 1), ("divisor",), fn="norm", forms="fog" if p else "fo", **rtol)
        op("norm.%d.0" % p, ("x", p, 0), ("divisor",), fn="linalg.vector_norm", forms="fg" if p else "f", **rtol)
    op("norm", ("x", 2), ("any",), forms="fg", **rtol)
    op("nansum.1", ("x", 1), ("nans",), fn="nansum", forms="fg", half={"rtol": 2e-2, "atol": 0.5}, mode="rtol", tol={"rtol": 1e-5, "atol": 1e-4})
    op("nansum.0", ("x", 0), ("nans",), fn="nansum", forms="f", half={"rtol": 2e-2, "atol": 0.5}, mode="rtol", tol={"rtol": 1e-5, "atol": 1e-4})
    op("logsumexp", ("x", 1), ("any",), forms="fog", **rtol)
    op("logsumexp.0", ("x", 0), ("small",), fn="logsumexp", forms="fog", **rtol)
    op("logcumsumexp", ("x", 1), ("small",), forms="fog", cplx={"rtol": 1e-4, "atol": 1e-4}, **rtol)
    op("logcumsumexp.0", ("x", 0), ("small",), fn="logcumsumexp", forms="fg", cplx={"rtol": 1e-4, "atol": 1e-4}, **rtol)
    for name in ("median", "nanmedian"):
        op(name, dom=("nans",), forms="fg")
        # Along a dimension that is expanded torch reads behind the tensor: not along 0.
        op(name + ".1", ("x", 1), ("nans",), fn=name, forms="f", first=True)
    op("kthvalue", ("x", 1, 1), ("any",), forms="f", first=True)
    op("mode", ("x", 1), ("small",), forms="f", first=True)
    for name in ("max", "min"):
        op(name, dom=("any",), forms="fg")
        op(name + ".1", ("x", 1), ("small",), fn=name, forms="fg")
        op(name + ".0", ("x", 0), ("nans",), fn=name, forms="f")
    op("amax", ("x", 1), ("nans",), forms="fog")
    op("amin", ("x", 1), ("nans",), forms="fog")
    op("amax.0", ("x", 0), ("any",), fn="amax", forms="f")
    op("argmax", dom=("small",), forms="f")
    for name in ("argmax", "argmin"):
        op(name + ".1", ("x", 1), ("small",), fn=name, forms="fo")
        op(name + ".0", ("x", 0), ("nans",), fn=name, forms="f")
    for name in ("all", "any"):
        op(name, dom=("small",), forms="f")
        op(name + ".0", ("x", 0), ("small",), fn=name, forms="fo")
        op(name + ".1", ("x", 1), ("small",), fn=name, kw={"keepdim": True}, forms="fo")
    op("isclose", ("x", "y"), ("small", "small"), kw={"rtol": 0.25, "equal_nan": True}, forms="f")
    op("equal.self", ("x", "x"), ("any",), fn="equal", forms="f")
    op("equal", ("x", "y"), ("any", "any"), forms="f")
    op("allclose", ("x", "x"), ("any",), forms="f")


def products():
    half = {"rtol": 2e-2, "atol": 0.25}
    op("mm", ("x", "y"), ("small", "small"), shapes={"y": "mat"}, forms="fog", half=half)
    op("matmul", ("x", "y"), ("small", "small"), shapes={"y": "mat"}, forms="fog", half=half)
    op("matmul.v", ("x", "y"), ("small", "small"), fn="matmul", shapes={"y": "cols"}, forms="fg", half=half)
    op("addmm", ("z", "x", "y"), ("small", "small", "small"), shapes={"y": "mat", "z": "acc"}, forms="fog",
       kw={"beta": 2}, half=half)
    for name in ("dot", "vdot"):
        op(name, ("x", "y"), ("small", "small"), shapes={"x": "flat", "y": "flat"}, forms="fg", half=half)
    op("mv", ("x", "y"), ("small", "small"), shapes={"y": "cols"}, forms="fog", half=half)
    op("outer", ("x", "y"), ("small", "small"), shapes={"x": "rows", "y": "cols"}, forms="fg", half=half)
    op("baddbmm", ("z", "x", "y"), ("small", "small", "small"), shapes={"x": "b3x", "y": "b3y", "z": "acc"},
       kw={"beta": 2, "alpha": 3}, forms="fg", half=half)
    op("bmm", ("x", "y"), ("small", "small"), shapes={"x": "b3x", "y": "b3y"}, forms="fog", half=half)
    op("linear", ("x", "y", "z"), ("small", "small", "small"), fn="nn.functional.linear",
       shapes={"y": "wt", "z": "bias"}, forms="fg", half=half)
    rtol = {"mode": "rtol", "tol": {"rtol": 1e-5, "atol": 1e-6}, "half": {"rtol": 1e-2, "atol": 1e-3}}
    op("softmax", ("x", 1), ("any",), forms="fog", **rtol)
    op("softmax.0", ("x", 0), ("any",), fn="softmax", forms="fg", **rtol)
    op("log_softmax", ("x", 1), ("any",), forms="fog", **rtol)
    op("mse_loss.none", ("x", "y"), ("any", "any"), fn="nn.functional.mse_loss", kw={"reduction": "none"}, forms="fg",
       **rtol)
    op("mse_loss.sum", ("x", "y"), ("small", "small"), fn="nn.functional.mse_loss", kw={"reduction": "sum"}, forms="fg",
       **rtol)
    op("mse_loss", ("x", "y"), ("any", "any"), fn="nn.functional.mse_loss", forms="fg", **rtol)
    for name, more in (("l1_loss", {}), ("smooth_l1_loss", {"beta": 0.5}), ("huber_loss", {"delta": 0.5})):
        op(name + ".none", ("x", "y"), ("any", "any"), fn="nn.functional." + name, kw={"reduction": "none", **more},
           forms="fg", **rtol)
        op(name, ("x", "y"), ("small", "small"), fn="nn.functional." + name, kw=more, forms="fg", **rtol)


def moving():
    op("sort", ("x",), ("spec",), kw={"stable": True}, forms="fg")
    op("sort.0", ("x",), ("small",), fn="sort", kw={"stable": True, "dim": 0, "descending": True}, forms="f")
    op("sort.1", ("x",), ("nans",), fn="sort", kw={"stable": True, "dim": 1, "descending": True}, forms="fg")
    op("argsort", ("x",), ("small",), kw={"stable": True, "dim": 0}, forms="f")
    op("topk", ("x", 1), ("any",), forms="f", first=True)
    op("topk.0", ("x", 1, 0, False), ("any",), fn="topk", forms="f", first=True)
    op("flip", ("x", [0, 1]), ("any",), forms="fg")
    op("flip.0", ("x", [0]), ("any",), fn="flip", forms="fg")
    op("roll", ("x", 3, 1), ("any",), forms="fg")
    op("roll.all", ("x", 5), ("any",), fn="roll", forms="fg")
    op("rot90", ("x",), ("any",), forms="fg")
    op("cat", (["x", "y"], 0), ("any", "any"), forms="fog")
    op("cat.1", (["x", "y"], 1), ("any", "any"), fn="cat", forms="fo")
    op("stack", (["x", "y"], 1), ("any", "any"), forms="fog")
    op("index_select", ("x", 0, "i"), ("any",), forms="fog", index="idx", shapes={"i": "rows"})
    op("index_select.1", ("x", 1, "i"), ("any",), fn="index_select", forms="fo", index="rev", shapes={"i": "cols"})
    op("gather", ("x", 1, "i"), ("any",), forms="fog", index="idx1")
    op("scatter", ("x", 1, "i", "y"), ("any", "any"), forms="fiog", index="rev1")
    op("scatter_add", ("x", 1, "i", "y"), ("small", "small"), forms="fiog", index="idx1",
       half={"rtol": 2e-2, "atol": 0.5})
    op("index_put", ("x", ["i"], "y"), ("any", "any"), forms="fig", index="rev", shapes={"i": "rows"})
    op("index_put.add", ("x", ["i"], "y"), ("small", "small"), fn="index_put", kw={"accumulate": True}, forms="fig",
       index="idx", shapes={"i": "rows"}, half={"rtol": 2e-2, "atol": 0.5})
    op("scatter.number", ("x", 0, "i", 3), ("any",), fn="scatter", forms="fiog", index="rev")
    op("gather.0", ("x", 0, "i"), ("any",), fn="gather", forms="fg", index="idx")
    op("index_add", ("x", 0, "i", "y"), ("small", "small"), forms="fiog", index="idx", shapes={"i": "rows"},
       half={"rtol": 2e-2, "atol": 0.5})
    op("index_copy", ("x", 0, "i", "y"), ("any", "any"), forms="fiog", index="rev", shapes={"i": "rows"})
    op("index_fill", ("x", 1, "i", 3), ("any",), forms="fig", index="rev1", shapes={"i": "cols"})
    op("take", ("x", "i"), ("any",), forms="fg", index="idx", shapes={"i": "rows"})
    op("masked_scatter", ("x", "m", "y"), ("any", "any"), forms="fig")
    op("masked_select", ("x", "m"), ("any",), forms="fog")
    op("repeat_interleave", ("x", 2, 1), ("any",), forms="fg")
    op("repeat", ("x", [2, 1, 3]), ("any",), forms="fg")
    op("nonzero", dom=("small",), forms="f")
    views()
    op("to", ("x", {"dt": "t"}), ("pos",), forms="f", convert=True)
    op("to.any", ("x", {"dt": "t"}), ("any",), fn="to", forms="f", convert=True)


def views():
    """Results share memory: what counts is where their elements are found, and where gradients go."""
    for name, args in (("contiguous", ()), ("t", ()), ("transpose", (0, 1)), ("permute", ([1, 0],)), ("ravel", ()),
                       ("movedim", (0, 1)), ("flatten", ()), ("unsqueeze", (1,)), ("squeeze", (0,)), ("diagonal", ()),
                       ("expand", ([2, -1, -1],)), ("narrow", (1, 0, 1)), ("select", (1, 0)), ("unfold", (1, 1, 1)),
                       ("chunk", (2, 1)), ("split", (3, 1)), ("tensor_split", (2, 0)), ("unbind", (1,)),
                       ("reshape", ([-1],)), ("view_as_real", ()), ("real", ()), ("imag", ())):
        op(name, ("x", *args), ("any",), forms="fg")


def table():
    global SECTION
    OPS.clear()
    for part in (unary, binary, reductions, products, moving):
        SECTION = part.__name__
        part()
    return OPS
