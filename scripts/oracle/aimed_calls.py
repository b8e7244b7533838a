"""Calls at the edges that drawn ones seldom meet: operands that share bytes, results into given tensors of every dtype
and layout, numbers at the ends of a dtype, factors that are zero or one, lazily conjugated operands.

Each is a case as make_random_cases.py answers it. `aimed()` yields them all; the ones worth keeping are chosen by what
they see.
"""
import itertools

INTS = ("u8", "i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEX = ("c64", "c128")
ALL = ("bool",) + INTS + FLOATS + COMPLEX
SOME = ("bool", "u8", "i32", "i64", "bf16", "f32", "f64", "c64")


def values(dt, n, k=0):
    """n plain values: small, of both signs where there are signs, none of them zero or one too often."""
    base = [(3 * i + 5 * k + 1) % 7 - 2 for i in range(n)]
    if dt == "bool":
        return [v % 2 == 0 for v in base]
    if dt == "u8":
        return [abs(v) for v in base]
    if dt in INTS:
        return base
    if dt in COMPLEX:
        return [[v / 2 + 0.25, (i * 3 % 5 - 2) / 2] for i, v in enumerate(base)]
    return [v / 2 + 0.25 for v in base]


def steps(shape):
    out, n = [], 1
    for s in reversed(shape):
        out.insert(0, n)
        n *= max(s, 1)
    return out


class Call:
    """Collects the operands of a call."""

    def __init__(self, op, form="f", **kw):
        self.case = {"op": op, "form": form, "T": [], "S": [], "args": []}
        self.kw = kw

    def storage(self, dt, data):
        self.case["S"].append([dt, data])
        return len(self.case["S"]) - 1

    def tensor(self, dt, shape, strides=None, offset=0, storage=None, grad=False, conj=False, data=None, room=0):
        strides = steps(shape) if strides is None else strides
        if storage is None:
            reach = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else offset
            n = len(data) if data is not None else max(reach, 0) + room
            storage = self.storage(dt, data if data is not None else values(dt, n, len(self.case["S"])))
        self.case["T"].append([dt, storage, list(shape), list(strides), offset, grad] + ([1] if conj else []))
        return {"t": len(self.case["T"]) - 1}

    def args(self, *args, **kw):
        self.case["args"] = list(args)
        if kw:
            self.case["kw"] = kw
        return self.case


def sharing():
    """Written and read elements in one storage: the same, a part, beside each other, in another order."""
    views = [([4], [1], 0), ([4], [1], 2), ([4], [1], 4), ([4], [1], 3), ([2, 2], [2, 1], 0), ([2, 2], [1, 2], 0),
             ([2, 2], [4, 1], 0), ([4], [2], 0), ([4], [2], 1), ([4], [0], 0), ([1], [1], 0), ([0], [1], 0), ([2, 2], [1, 1], 0),
             ([2, 1], [1, 1], 0), ([2], [1], 1), ([2], [1], 0), ([1, 4], [4, 1], 0), ([2, 2], [0, 1], 0), ([2, 2], [3, 1], 1)]
    for (a, b), dt in itertools.product(itertools.product(views, views), ("f32", "i64")):
        for op, form in (("add", "i"), ("add", "o"), ("neg", "o"), ("cumsum", "o"), ("cat", "o"), ("copy", "i"), ("where", "o"),
                         ("masked_fill", "i"), ("index_select", "o"), ("sort", "o"), ("addcmul", "i"), ("cumprod", "o"),
                         ("index_add", "i"), ("scatter", "i"), ("gather", "o"), ("lerp", "i"), ("clamp", "o"), ("sum", "o"),
                         ("amax", "o"), ("softmax", "o"), ("index_copy", "i"), ("masked_scatter", "i"), ("mm", "o")):
            if dt == "i64" and op in ("lerp", "softmax", "mm", "sort", "cumprod", "clamp"):
                continue
            c = Call(op, form)
            s = c.storage(dt, values(dt, 16))
            x, y = c.tensor(dt, *a, storage=s), c.tensor(dt, *b, storage=s)
            if op == "add":
                yield c.args(x, y) if form == "i" else c.args(y, y, out=x)
            elif op == "neg":
                yield c.args(y, out=x)
            elif op == "clamp":
                yield c.args(y, 0, out=x)
            elif op in ("cumsum", "cumprod", "softmax", "amax", "sum"):
                yield c.args(y, 0, out=x)
            elif op == "cat":
                yield c.args([y], 0, out=x)
            elif op == "copy":
                yield c.args(x, y)
            elif op == "where":
                m = c.tensor("bool", [1])
                yield c.args(m, y, y, out=x)
            elif op == "masked_fill":
                m = c.tensor("bool", a[0])
                yield c.args(x, m, c.tensor(dt, [], [], b[2], storage=s))
            elif op == "masked_scatter":
                yield c.args(x, c.tensor("bool", a[0]), y)
            elif op == "index_select":
                yield c.args(y, 0, c.tensor("i64", [b[0][0]], data=[0] * b[0][0]), out=x)
            elif op == "gather":
                n = b[0]
                yield c.args(y, 0, c.tensor("i64", n, data=[0] * (n[0] * (n[1] if len(n) > 1 else 1))), out=x)
            elif op == "scatter":
                n = b[0]
                yield c.args(x, 0, c.tensor("i64", n, data=[0] * (n[0] * (n[1] if len(n) > 1 else 1))), y)
            elif op in ("index_add", "index_copy"):
                yield c.args(x, 0, c.tensor("i64", [b[0][0]], data=[0] * b[0][0]), y)
            elif op in ("addcmul",):
                yield c.args(x, y, y)
            elif op == "lerp":
                yield c.args(x, y, 0.5)
            elif op == "sort":
                c2 = c.tensor("i64", a[0])
                yield c.args(y, out=[x, c2])
            elif op == "mm" and len(a[0]) == 2 and len(b[0]) == 2:
                yield c.args(y, y, out=x)


UNARY = ("abs", "neg", "exp", "sqrt", "sign", "ceil", "round", "isnan", "isfinite", "reciprocal", "square", "logical_not",
         "bitwise_not", "sigmoid", "sgn", "angle", "real", "rsqrt", "trunc", "frac", "signbit", "relu", "positive", "erf", "tanh")
BINARY = ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "fmax", "atan2",
          "logical_and", "logical_xor", "bitwise_and", "bitwise_or", "eq", "lt", "ge", "hypot", "logaddexp", "copysign",
          "nextafter", "gcd", "xlogy")


def into():
    """Results into tensors of every dtype, size and layout, and in place."""
    shapes = [("same", [2, 3], [3, 1]), ("turned", [2, 3], [1, 2]), ("wide", [2, 3], [6, 2]), ("flat", [6], [1]), ("none", [0], [1]),
              ("one", [1], [1]), ("more", [1, 2, 3], [6, 3, 1])]
    for op, dt, to, (_, shape, strides) in itertools.product(UNARY, ("i32", "f32", "bf16", "c64", "bool"), SOME, shapes):
        if (shape != [2, 3] or strides != [3, 1]) and (to != dt or dt == "bool"):
            continue
        c = Call(op, "o")
        yield c.args(c.tensor(dt, [2, 3]), out=c.tensor(to, shape, strides))
    for op, dt, to, (_, shape, strides) in itertools.product(BINARY, ("i32", "f32", "bf16", "c64"), SOME, shapes):
        if (shape != [2, 3] or strides != [3, 1]) and to != dt:
            continue
        c = Call(op, "o")
        yield c.args(c.tensor(dt, [2, 3]), c.tensor(dt, [2, 3]), out=c.tensor(to, shape, strides))
        c = Call(op, "o")
        yield c.args(c.tensor(dt, [2, 3]), c.tensor(dt, [3]), out=c.tensor(to, shape, strides))
    for op, dt, to in itertools.product(("add", "mul", "sub", "div", "eq", "pow", "remainder"), ALL, ALL):
        c = Call(op, "i")
        yield c.args(c.tensor(dt, [2, 3]), c.tensor(to, [3]))
        c = Call(op)
        yield c.args(c.tensor(dt, [2, 3]), c.tensor(to, []))
        c = Call(op)
        yield c.args(c.tensor(dt, [1]), c.tensor(to, [2, 1]))


ENDS = (0, 1, -1, 2, 100, 101, 127, 128, -128, -129, 255, 256, 32767, 32768, 65504, 65520, 2**31 - 1, 2**31, -(2**31), 2**53 - 1, 2**53,
        2**53 + 1, 2**63 - 1, 2**63, -(2**63), 0.5, -0.5, 1e38, 3.4e38, 3.5e38, -3.5e38, 1e39, 65519.0)


def numbers():
    """Numbers at the ends of dtypes as operands."""
    for op, dt, v in itertools.product(("add", "mul", "pow", "remainder", "eq", "lt", "clamp", "fill", "masked_fill", "sub",
                                        "floor_divide", "bitwise_and", "fmod", "rsub", "where", "div", "full_like"), ALL, ENDS):
        for form in ("f", "i"):
            if form == "i" and op in ("full_like", "where", "rsub"):
                continue
            if form == "f" and op == "fill":
                continue
            c = Call(op, form)
            x = c.tensor(dt, [2, 2])
            n = v if isinstance(v, int) else {"f": v}
            if op == "where":
                yield c.args(c.tensor("bool", [2, 2]), x, n)
            elif op == "masked_fill":
                yield c.args(x, c.tensor("bool", [2, 2]), n)
            else:
                yield c.args(x, n)
            if op in ("add", "mul", "pow", "eq", "clamp") and form == "f":
                c = Call(op, "f")
                yield c.args(c.tensor(dt, [2, 2], [1, 2]), n)
                c = Call(op, "f")
                yield c.args(c.tensor(dt, [1, 2, 1, 2]), n)
            if op == "clamp":
                c = Call(op, form)
                yield c.args(c.tensor(dt, [2, 2]), 0, n)
                c = Call(op, "f")
                yield c.args(c.tensor(dt, [2, 2], [1, 2]), -1, n)
    for dt, a, e in itertools.product(ALL, (2, -2, 0, 300, {"f": 2.5}), ENDS):
        c = Call("pow", "f")
        yield c.args(a, c.tensor(dt, [], data=values(dt, 1)))
        c = Call("pow", "f")
        n = e if isinstance(e, int) else {"f": e}
        yield c.args(c.tensor(dt, []), n)
    for dt, v, alpha in itertools.product(ALL, (1, 2), ENDS + (3, -2)):
        c = Call("add", "f")
        al = alpha if isinstance(alpha, int) else {"f": alpha}
        yield c.args(c.tensor(dt, [3]), c.tensor(dt, [3]), alpha=al)
        c = Call("sub", "i")
        yield c.args(c.tensor(dt, [3]), v, alpha=al)


FACTORS = (0, 1, 2, -1, {"f": 0.0}, {"f": 1.0}, {"f": 0.5}, {"c": [0, 0]}, {"c": [1, 0]}, {"c": [0, 1]}, {"c": [0.5, 0]}, True, False)


def products():
    """Products of matrices with factors, into given results, of every dtype."""
    forms = {"addmm": ([2, 3], [2, 4], [4, 3]), "addmv": ([2], [2, 4], [4]), "addr": ([2, 3], [2], [3]),
             "baddbmm": ([2, 2, 3], [2, 2, 4], [2, 4, 3]), "addbmm": ([2, 3], [2, 2, 4], [2, 4, 3])}
    empty = {"addmm": ([2, 3], [2, 0], [0, 3]), "addmv": ([2], [2, 0], [0]), "baddbmm": ([2, 2, 3], [2, 2, 0], [2, 0, 3]),
             "addbmm": ([2, 3], [2, 2, 0], [2, 0, 3])}
    big = {"addmm": ([8, 8], [8, 9], [9, 8]), "baddbmm": ([2, 8, 8], [2, 8, 9], [2, 9, 8]), "baddbmm ": ([2, 20, 2], [2, 20, 10], [2, 10, 2])}
    for table, (beta, alpha) in itertools.product((forms, empty, big), itertools.product(FACTORS, FACTORS)):
        if table is not forms and not (beta in (0, 1, 2) and alpha in (0, 1, 2)) and beta is not FACTORS[8]:
            continue
        for op, (s, a, b) in table.items():
            for dt in ("f32", "i64", "c64", "bf16", "bool") if table is not big else ("f32", "bf16", "i32", "f16", "bool", "f64"):
                if table is forms and dt != "f32" and not (beta in (0, 1, 2) or alpha in (0, 1)):
                    continue
                c = Call(op.strip(), "f")
                yield c.args(c.tensor(dt, s), c.tensor(dt, a), c.tensor(dt, b), beta=beta, alpha=alpha)
                if beta in (0, 1) and alpha in (1, 2):
                    c = Call(op.strip(), "i")
                    yield c.args(c.tensor(dt, s, list(reversed(steps(list(reversed(s)))))), c.tensor(dt, a), c.tensor(dt, b), beta=beta, alpha=alpha)
                    c = Call(op.strip(), "f")
                    yield c.args(c.tensor(dt, [1]), c.tensor(dt, a), c.tensor(dt, b), beta=beta, alpha=alpha)
                    c = Call(op.strip(), "f")
                    yield c.args(c.tensor(dt, s, data=["nan"] * 400) if dt in ("f32", "bf16") else c.tensor(dt, s), c.tensor(dt, a), c.tensor(dt, b), beta=beta, alpha=alpha)
    for op, a, b in (("mm", [2, 3], [3, 2]), ("mv", [2, 3], [3]), ("dot", [3], [3]), ("bmm", [2, 2, 3], [2, 3, 2]), ("matmul", [2, 3], [3]),
                     ("matmul", [2, 2, 3], [3, 2]), ("matmul", [2, 3], [2, 3, 2]), ("matmul", [3], [2, 3, 2]), ("matmul", [1, 2, 3], [2, 3, 2]),
                     ("outer", [2], [3]), ("vdot", [3], [3]), ("inner", [2, 3], [3]), ("mm", [2, 0], [0, 2]), ("bmm", [2, 2, 0], [2, 0, 2]),
                     ("mm", [0, 2], [2, 3]), ("bmm", [0, 2, 3], [0, 3, 2]), ("mv", [2, 0], [0]), ("dot", [0], [0]), ("mm", [9, 9], [9, 9]),
                     ("bmm", [2, 9, 9], [2, 9, 9]), ("bmm", [2, 7, 7], [2, 7, 8]), ("bmm", [1, 20, 1], [1, 1, 20]), ("bmm", [1, 20, 20], [1, 20, 1]),
                     ("matmul", [2, 3, 4], [4]), ("matmul", [2, 1, 3, 4], [3, 4, 2]), ("matmul", [1, 3], [2, 3, 2])):
        for dt, grad, conj in itertools.product(ALL, (False, True), ((0, 0), (1, 0), (0, 1), (1, 1))):
            if (grad and dt not in FLOATS + COMPLEX) or (conj != (0, 0) and dt not in COMPLEX):
                continue
            c = Call(op, "f")
            yield c.args(c.tensor(dt, a, grad=grad, conj=conj[0]), c.tensor(dt, b, grad=grad, conj=conj[1]))
            if not grad and len(a) > 1:
                c = Call(op, "f")
                yield c.args(c.tensor(dt, a, list(reversed(steps(list(reversed(a))))), conj=conj[0]), c.tensor(dt, b, [2 * s for s in steps(b)], conj=conj[1]))
                if op != "inner":
                    c = Call(op, "o")
                    yield c.args(c.tensor(dt, a, conj=conj[0]), c.tensor(dt, b, conj=conj[1]), out=c.tensor(dt, [0]))
                    c = Call(op, "f")
                    yield c.args(c.tensor(dt, a, conj=conj[0]), c.tensor("f32" if dt != "f32" else "f64", b))


def reductions():
    ops = ("sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "max", "min", "var", "std", "logsumexp", "cumsum", "cumprod",
           "softmax", "log_softmax", "nansum", "norm", "median", "sort", "argsort", "topk", "kthvalue", "var_mean", "count_nonzero", "cummax",
           "logcumsumexp", "unique", "flip", "diff")
    layouts = [([2, 3], None), ([2, 3], [1, 2]), ([2, 3], [6, 2]), ([3], [0]), ([], None), ([1], None), ([0], None), ([2, 0], None), ([1, 3], [7, 1]),
               ([2, 2, 2, 2], None)]
    for op, dt, (shape, strides), dim in itertools.product(ops, ALL, layouts, (None, 0, -1, 1)):
        if dim == 1 and len(shape) < 2 and dt != "f32":
            continue
        for conj in ((False, True) if dt in COMPLEX else (False,)):
            c = Call(op, "f")
            x = c.tensor(dt, shape, strides, conj=conj, room=1)
            if op == "topk":
                yield c.args(x, 1) if dim is None else c.args(x, 1, dim)
            elif op == "kthvalue":
                yield c.args(x, 1) if dim is None else c.args(x, 1, dim)
            else:
                yield c.args(x) if dim is None else c.args(x, dim)
            if op in ("sum", "prod", "mean", "cumsum", "cumprod", "nansum", "softmax") and (strides is None or strides[0] == 1):
                for to in SOME:
                    c = Call(op, "f")
                    y = c.tensor(dt, shape, strides, conj=conj, room=1)
                    yield c.args(y, dtype={"dt": to}) if dim is None else c.args(y, dim, dtype={"dt": to})
            if dt in FLOATS + COMPLEX and dim in (0, -1):
                c = Call(op, "f")
                y = c.tensor(dt, shape, strides, conj=conj, room=1, grad=True)
                yield c.args(y, 1, dim) if op in ("topk", "kthvalue") else c.args(y, dim)
            if dim == 0 and shape in ([2, 3], [3]) and op not in ("unique", "flip", "norm", "count_nonzero", "var_mean", "max", "min", "median", "sort",
                                                                 "topk", "kthvalue", "cummax", "diff"):
                for to in SOME:
                    c = Call(op, "o")
                    keeps = op in ("cumsum", "cumprod", "softmax", "log_softmax", "logcumsumexp", "argsort")
                    yield c.args(c.tensor(dt, shape, strides, conj=conj, room=1), 0, out=c.tensor(to, shape if keeps else shape[1:]))
    for dt, data in itertools.product(("f32", "f64", "c64", "bf16"), ([0, 2, 3, 4], [0, 0, 3, 4], [1, 2, 3, 4], [0, 1, 1, 0])):
        for op, grad_dims in itertools.product(("prod", "cumprod", "norm", "amax", "max", "std", "var", "logsumexp", "cumsum"), (None, 0, 1)):
            c = Call(op, "f")
            x = c.tensor(dt, [2, 2], data=[[v, 0.5 if v else 0] for v in data] if dt == "c64" else data, grad=True)
            yield c.args(x) if grad_dims is None else c.args(x, 2, grad_dims) if op == "norm" else c.args(x, grad_dims)


def indexed():
    grid = [("f32", [3, 2]), ("c64", [3, 2]), ("i64", [3, 2]), ("bool", [3, 2]), ("f32", []), ("f32", [3]), ("f32", [0, 2])]
    for (dt, shape), it, place in itertools.product(grid, ("i64", "i32", "u8", "f32"), ([0], [1, 1], [0, 2, 1], [-1], [3], [], [[0], [1]], [0, 0])):
        flatten = [v for r in place for v in (r if isinstance(r, list) else [r])]
        ishape = [len(place)] if not place or not isinstance(place[0], list) else [len(place), 1]
        for op, form in itertools.product(("index_select", "index_add", "index_copy", "index_fill", "gather", "scatter", "scatter_add", "take", "put",
                                           "index_put"), ("f", "i", "o")):
            if form == "i" and op in ("index_select", "gather", "take") or form == "o" and op not in ("index_select", "gather", "take", "index_add", "scatter"):
                continue
            for d in (0, -1) if it == "i64" else (0,):
                c = Call(op, form)
                x = c.tensor(dt, shape)
                index = c.tensor(it, ishape, data=flatten)
                kw = {"out": c.tensor(dt, [0])} if form == "o" else {}
                src_shape = ([len(flatten)] + shape[1:]) if op.startswith("index") and shape else ishape
                if op == "index_put":
                    yield c.args(x, [index], c.tensor(dt, [])) if shape else c.args(x, [index], c.tensor(dt, []))
                    c = Call(op, form)
                    yield c.args(c.tensor(dt, shape), [c.tensor(it, ishape, data=flatten)], c.tensor(dt, ishape + shape[1:]), accumulate=True)
                elif op in ("index_select", "gather"):
                    yield c.args(x, d, index, **kw)
                elif op == "take":
                    yield c.args(x, index, **kw)
                elif op == "put":
                    yield c.args(x, index, c.tensor(dt, ishape))
                elif op == "index_fill":
                    yield c.args(x, d, index, 2)
                else:
                    extra = {"alpha": 2} if op == "index_add" and d == -1 else {}
                    yield c.args(x, d, index, c.tensor(dt, src_shape), **kw, **extra)
                    if op == "scatter":
                        c = Call(op, form)
                        kw = {"out": c.tensor(dt, [0])} if form == "o" else {}
                        yield c.args(c.tensor(dt, shape), d, c.tensor(it, ishape, data=flatten), 2, **kw)
    for dt, m in itertools.product(("f32", "c64", "i32", "bool"), ([3], [2, 3], [1, 3], [2, 1], [], [1], [2, 2, 3])):
        for op in ("masked_fill", "masked_select", "masked_scatter", "where"):
            for form in ("f", "i", "o"):
                for strides in (None, [1, 2], [0, 1]):
                    c = Call(op, form)
                    x = c.tensor(dt, [2, 3], strides)
                    mask = c.tensor("bool", m)
                    if op == "masked_fill" and form != "o":
                        yield c.args(x, mask, 2)
                    if op == "masked_select" and form != "i":
                        yield c.args(x, mask, **({"out": c.tensor(dt, [0])} if form == "o" else {}))
                    if op == "masked_scatter" and form != "o":
                        yield c.args(x, mask, c.tensor(dt, [8]))
                    if op == "where" and form != "i":
                        yield c.args(mask, x, c.tensor(dt, [3]), **({"out": c.tensor(dt, [0])} if form == "o" else {}))


def layouts():
    """Copies and pointwise results over every order of four and five dimensions, and joined tensors."""
    for perm in itertools.permutations(range(4)):
        shape = [2, 3, 2, 3]
        strides = [0] * 4
        n = 1
        for d in reversed(perm):
            strides[d] = n
            n *= shape[d]
        for sizes in (shape, [1, 3, 2, 3], [2, 1, 2, 3], [2, 3, 1, 1], [1, 1, 1, 1], [2, 3, 0, 2]):
            for op in ("clone", "exp", "zeros_like", "contiguous", "cumsum", "flip", "softmax", "cat", "add"):
                c = Call(op, "f" if op != "contiguous" else "m")
                x = c.tensor("f32", sizes, strides)
                if op == "cat":
                    yield c.args([x, x], 1)
                elif op == "add":
                    yield c.args(x, c.tensor("f32", sizes))
                elif op in ("cumsum", "softmax"):
                    yield c.args(x, 1)
                elif op == "flip":
                    yield c.args(x, [0, 2])
                elif op == "contiguous":
                    yield c.args(x, memory_format={"mf": "channels_last"})
                else:
                    yield c.args(x)
        for op in ("clone", "mul"):
            c = Call(op, "f")
            y = c.tensor("f32", [2] + shape[1:] + [2], strides + [n])
            yield c.args(y) if op == "clone" else c.args(y, y)
    for to, dt in itertools.product(ALL, ALL):
        c = Call("cat", "o")
        yield c.args([c.tensor(dt, [2]), c.tensor("i32", [1])], 0, out=c.tensor(to, [3]))
        c = Call("copy", "i")
        yield c.args(c.tensor(to, [2, 2]), c.tensor(dt, [2, 2], conj=dt in COMPLEX))
        c = Call("cumsum", "i")
        yield c.args(c.tensor(to, [3]), 0, dtype={"dt": dt})
        c = Call("stack", "o")
        yield c.args([c.tensor(dt, [2]), c.tensor(dt, [2])], 0, out=c.tensor(to, [0]))


def ranges():
    for dt, (rows, cols, k) in itertools.product(("i64", "i32", "i16", "f32", "u8", "bool"), itertools.product((0, 1, 3), (0, 1, 4), (-4, -1, 0, 1, 2, 5))):
        for op in ("tril_indices", "triu_indices"):
            yield Call(op).args(rows, cols, k, dtype={"dt": dt})
    ends = (0, 1, -3, 5, {"f": 0.5}, {"f": 2.5}, {"f": -1.0}, 2**53, 2**53 + 3, {"f": 1e19}, {"f": "inf"}, {"f": "nan"})
    for op, a, b in itertools.product(("arange", "linspace", "logspace"), ends, ends):
        for dt in (None, "i64", "f32", "u8", "c64"):
            kw = {} if dt is None else {"dtype": {"dt": dt}}
            if op == "arange":
                for s in (1, 2, -1, {"f": 0.3}, {"f": "inf"}, 0):
                    if any(isinstance(v, int) and abs(v) > 2**52 for v in (a, b)) and abs((a if isinstance(a, int) else 0) - (b if isinstance(b, int) else 0)) > 99:
                        continue
                    if any(isinstance(v, dict) and v["f"] == 1e19 for v in (a, b)):
                        continue
                    yield Call(op).args(a, b, s, **kw)
            elif not (op == "logspace" and any(isinstance(v, int) and v > 9 for v in (a, b))):
                for n in (0, 1, 3):
                    yield Call(op).args(a, b, n, **kw)


def aimed():
    """All of them, each with the name of its part."""
    for part in (sharing, into, numbers, products, reductions, indexed, layouts, ranges):
        for case in part():
            yield part.__name__, case
