"""Still more calls for make_random_cases.py: memory formats, conversions, options of reductions, weights of losses,
conditions and masks as indices, tolerances, results for several outputs, tensors as bounds and counts."""
from random_calls import CALLS, DTYPES, call

EARLIER = set(CALLS)

FORMATS = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
FLOATS = ("f32", "f64", "f16", "bf16")


def images(d, dt=None, grad=None):
    """Four or five dimensions, laid out with channels last in half of the cases."""
    rank = d.rng.choice([4, 4, 5, 3])
    shape = [d.rng.choice([1, 2, 3] if d.chance(0.95) else [0, 1]) for _ in range(rank)]
    ref = d.tensor(shape, dt, grad=grad)
    t = d.case["T"][ref["t"]]
    if d.chance(0.5) and rank > 3:
        step = 1
        for k in [1, *reversed(range(2, rank)), 0]:
            t[3][k] = step
            step *= max(shape[k], 1)
        if d.chance(0.2):
            t[3][d.rng.randrange(rank)] = 0
        need = t[4] + sum(max(n - 1, 0) * s for n, s in zip(shape, t[3])) + 1
        d.case["S"][t[1]][1] = d.values(t[0], need)
    return ref


def form(d):
    return {"memory_format": {"mf": d.rng.choice(FORMATS)}}


@call("contiguous clone#format", "m")
def _contiguous(d, name):
    return [images(d)], form(d)


@call("empty_like#zero zeros_like#format", "f")
def _like(d, name):
    a = images(d)
    d.case["op"] = "zeros_like"
    return [a], {**form(d), **({"dtype": {"dt": d.rng.choice(list(DTYPES))}} if d.chance(0.3) else {})}


@call("to#format", "m")
def _to(d, name):
    kw = form(d) if d.chance(0.8) else {}
    if d.chance(0.5):
        kw["copy"] = d.chance(0.5)
    return [images(d), {"dt": d.rng.choice(list(DTYPES))}], kw


@call("float double half int long bool bfloat16 short", "m")
def _named(d, name):
    return [d.tensor()], {}


@call("add#images mul#images neg#images clamp#images where#images cat#images", "f")
def _pointwise(d, name):
    a = images(d)
    shape = d.shape_of(a)
    b = d.tensor(shape if d.chance(0.7) else [1] * len(shape))
    op = d.case["op"]
    if op == "neg":
        return [a], {}
    if op == "clamp":
        return [a, {"f": -1.0}, {"f": 1.5}], {}
    if op == "where":
        return [d.tensor(shape, "bool", grad=False), a, b], {}
    return ([[a, b], d.rng.randrange(0, len(shape))], {}) if op == "cat" else ([a, b], {})


@call("var#unbiased std#unbiased var_mean#unbiased std_mean#unbiased", "f")
def _unbiased(d, name):
    a = d.tensor(dt=d.rng.choice([*FLOATS, "f32", "c64", "i64"]))
    return [a, d.chance(0.5)], {}


@call("var#more std#more", "fmo")
def _correction(d, name):
    a = d.tensor(dt=d.rng.choice([*FLOATS, "f32", "c64"]))
    kw = {"correction": d.rng.choice([0, 1, 2, {"f": 0.5}, -1])}
    if d.chance(0.6):
        kw["dim"] = d.dims(a) if d.chance(0.5) else d.dim(a)
    if d.chance(0.5):
        kw["keepdim"] = d.chance(0.7)
    return [a], kw


@call("nn.functional.mse_loss#weight", "f")
def _mse(d, name):
    a = d.tensor(dt=d.rng.choice(["f32", "f64", "c64"]))
    dt = d.case["T"][0][0]
    kw = {"reduction": d.rng.choice(["mean", "sum", "none", "other"])} if d.chance(0.7) else {}
    if d.chance(0.5):
        kw["weight"] = d.tensor(d.shape_of(a) if d.chance(0.8) else d.near(a), dt, grad=False)
    if d.chance(0.3):
        kw["size_average"] = d.chance(0.5)
    if d.chance(0.3):
        kw["reduce"] = d.chance(0.5)
    return [a, d.tensor(d.shape_of(a) if d.chance(0.7) else d.near(a), dt)], kw


@call("nn.functional.linear#more", "f")
def _linear(d, name):
    a = d.tensor(d.rng.choice([[2, 3], [3], [2, 2, 3], [0, 3], [1, 3], [2, 0]]), d.rng.choice(["f32", "f64", "f16"]))
    dt, k = d.case["T"][0][0], d.shape_of(a)[-1]
    w = d.tensor(d.rng.choice([[4, k], [4, k], [k], [1, k]]), dt)
    bias = d.tensor(d.rng.choice([[4], [4], [1], [], [2, 4]]), dt)
    return [a, w, *([bias] if d.chance(0.8) else [])], {}


@call("where#condition nonzero#more argwhere#more", "f")
def _condition(d, name):
    return [d.tensor(grad=False)], {}


@call("tensor_split#places", "fm")
def _split(d, name):
    a = d.tensor()
    by = d.rng.choice([[1], [1, 2], [-1], [], [0, 3], 2, 0])
    if d.chance(0.5) and by != []:
        values = by if isinstance(by, list) else [by]
        d.case["S"].append(["i64", values])
        d.case["T"].append(["i64", len(d.case["S"]) - 1, [len(values)] if isinstance(by, list) else [], [1] if
                            isinstance(by, list) else [], 0, False])
        by = {"t": len(d.case["T"]) - 1}
    return [a, by, d.dim(a)], {}


@call("isclose allclose#more", "fm")
def _close(d, name):
    a = d.tensor()
    b = d.alias(a) if d.chance(0.4) else d.tensor(d.near(a), d.case["T"][0][0] if d.chance(0.8) else None)
    kw = {}
    for k in ("rtol", "atol"):
        if d.chance(0.6):
            kw[k] = {"f": d.rng.choice([0.0, 0.0, 0.25, 1.0, -1.0, 1e-8])}
    if d.chance(0.5):
        kw["equal_nan"] = d.chance(0.7)
    return [a, b], kw


@call("max#both min#both sort#both topk#both", "f")
def _both(d, name):
    a = d.tensor(grad=d.chance(0.1))
    dim = d.dim(a)
    s = list(d.shape_of(a))
    if s and -len(s) <= dim < len(s) and d.case["op"] in ("max", "min"):
        del s[dim]
    values = d.tensor(s if d.chance(0.8) else d.shape(), d.case["T"][0][0] if d.chance(0.85) else None, grad=False)
    indices = d.tensor(s if d.chance(0.8) else d.shape(), "i64" if d.chance(0.9) else None, grad=False)
    args = {"topk": [a, d.size(a, dim), dim]}.get(d.case["op"], [a, dim])
    return args, {"out": [values, indices]}


@call("sort#plain argsort#plain", "fm")
def _sort(d, name):
    a = d.tensor()
    return [a, d.dim(a), d.chance(0.5)], {}


@call("index_put#mask", "fmi")
def _mask(d, name):
    a = d.tensor()
    s = d.shape_of(a)
    k = d.rng.randrange(0, len(s) + 1)
    m = d.tensor(s[:k] if d.chance(0.9) else d.shape(), "bool" if d.chance(0.8) else "u8", grad=False)
    rest = [d.index([1], s[k])] if k < len(s) and d.chance(0.3) else []
    dt = d.case["T"][0][0] if d.chance(0.9) else None
    v = d.tensor([] if d.chance(0.6) else [1] if d.chance(0.5) else d.shape(), dt)
    return [a, [m, *rest], v], {"accumulate": True} if d.chance(0.3) else {}


@call("index_put#many", "fmi")
def _many(d, name):
    a = d.tensor(d.rng.choice([[2, 3], [2, 2, 3], [3], [2, 3, 2], [0, 3]]))
    s = d.shape_of(a)
    shapes = d.rng.choice([[[2], [2]], [[2, 1], [3]], [[1], [2]], [[2], [3]], [[], [2]]])
    i = [None if d.chance(0.2) else d.index(sh, n, d.rng.choice(["i64", "i64", "i32", "i16"])) for sh, n in zip(shapes, s)]
    v = d.tensor([] if d.chance(0.5) else d.rng.choice([[2], [1], [2, 3], [2, 2]]), d.case["T"][0][0])
    return [a, i, v], {"accumulate": True} if d.chance(0.4) else {}


@call("repeat_interleave#size", "f")
def _repeats(d, name):
    a = d.tensor()
    dim = d.dim(a)
    counts = d.index([d.size(a, dim)], 3) if d.chance(0.7) else d.rng.randrange(0, 3)
    return [a, counts, dim], {"output_size": d.rng.randrange(0, 8)}


@call("scatter_reduce", "fmi")
def _scatter_reduce(d, name):
    a = d.tensor(grad=False)
    dim = d.dim(a)
    s = d.shape_of(a)
    kw = {"include_self": d.chance(0.5)} if d.chance(0.6) else {}
    i = d.index(s if d.chance(0.9) else d.shape(), d.size(a, dim))
    src = d.tensor(s, d.case["T"][0][0] if d.chance(0.95) else None, grad=False)
    return [a, dim, i, src, d.rng.choice(["sum", "prod", "mean", "amax", "amin", "other"])], kw


@call("view#dtype", "m")
def _view(d, name):
    return [d.tensor(), {"dt": d.rng.choice(list(DTYPES))}], {}


@call("view_as_complex view_as_real", "f")
def _complex(d, name):
    if d.case["op"] == "view_as_real":
        return [d.tensor(dt=d.rng.choice(["c64", "c128", "c64", "f32"]))], {}
    return [d.tensor(d.rng.choice([[2], [3, 2], [2, 3, 2], [1, 2], [], [3], [0, 2]]), d.rng.choice(["f32", "f64", "f16", "i64"]))], {}


@call("fill#large", "i")
def _large(d, name):
    v = d.rng.choice([2 ** 53 + 1, 2 ** 62, -(2 ** 62) - 1, 2 ** 31, 255, 256, -129, 127, 128, 65504, 65505, {"f": 65520.0},
                      {"f": 1e39}, {"f": "inf"}, {"f": "nan"}, 2 ** 24 + 1, -1])
    return [d.tensor(grad=False), v], {}


@call("add#large mul#large sub#large lt#large eq#large pow#large masked_fill#large clamp#large", "m")
def _limits(d, name):
    v = d.rng.choice([127, 128, 255, 256, -128, -129, 32767, 32768, 65504, 65505, 2 ** 31 - 1, 2 ** 31, 2 ** 24 + 1, 100,
                      101, -1, 0, {"f": 3.5e38}, {"f": 65520.0}, {"f": -0.0}, {"f": "inf"}])
    a = d.tensor()
    if d.case["op"] == "masked_fill":
        return [a, d.tensor(d.shape_of(a), "bool", grad=False), v], {}
    return [a, v, *([d.rng.choice([None, 200, {"f": 1.5}, 70000])] if d.case["op"] == "clamp" else [])], {}


@call("linspace#tensors", "f")
def _linspace(d, name):
    pick = lambda: d.tensor([] if d.chance(0.9) else d.shape(), grad=d.chance(0.1)) if d.chance(0.6) else \
        d.rng.choice([0, 1, {"f": 2.5}, -3, {"c": [0.5, 1.0]}])
    return [pick(), pick(), d.rng.choice([0, 1, 2, 3, 5])], {"dtype": {"dt": d.rng.choice(list(DTYPES))}} if d.chance(0.4) \
        else {}


@call("arange#large", "f")
def _arange(d, name):
    start = d.rng.choice([2 ** 53, 2 ** 53 + 1, -(2 ** 53) - 3, 2 ** 62, {"f": 0.0}, 0, {"f": "inf"}, {"f": "nan"}])
    more = [start["f"] if isinstance(start, dict) else start + d.rng.choice([0, 1, 3, 4, -4, 5])]
    more = [{"f": more[0]} if isinstance(start, dict) else more[0]]
    step = d.rng.choice([[], [1], [2], [3], [-1], [-2], [0]])
    return [start, more[0], *step], {"dtype": {"dt": d.rng.choice(["i64", "f64", "f32", "i32", "f16"])}} if d.chance(0.3) \
        else {}


@call("arange#out linspace#out randperm#out eye#out zeros#out ones#out full#out", "f")
def _outs(d, name):
    op = d.case["op"]
    out = d.tensor(d.rng.choice([[3], [3], [0], [2, 2], []]), grad=d.chance(0.05))
    if op == "randperm":
        d.case["seed"] = d.rng.randrange(1000)
    args = {"arange": [0, 3], "linspace": [0, 1, 3], "randperm": [3], "eye": [2], "zeros": [[2, 2]], "ones": [[3]],
            "full": [[3], {"f": 1.5}]}[op]
    return args, {"out": out, **({"dtype": {"dt": d.rng.choice(list(DTYPES))}} if d.chance(0.3) else {})}


@call("can_cast", "f")
def _types(d, name):
    return [{"dt": d.rng.choice(list(DTYPES))}, {"dt": d.rng.choice(list(DTYPES))}], {}


@call("matmul#batches bmm#large baddbmm#large mm#large", "f")
def _batches(d, name):
    dt = d.rng.choice(["f32", "f64", "f16", "bf16", "i64", "bool", "i32", "u8"])
    n, m, k, b = 6, 8, 9, d.rng.choice([1, 2])
    op = d.case["op"]
    lead = lambda: d.rng.choice([[], [1], [b], [2, 1], [1, b]]) if op == "matmul" else [] if op == "mm" else [b]
    small = d.chance(0.5)
    n, m, k = (d.rng.choice([1, 2, 3]) for _ in range(3)) if small else (n, m, d.rng.choice([7, 8, 9, 1]))
    first, second = d.tensor([*lead(), n, m], dt, (0, 2)), d.tensor([*lead(), m, k], dt, (0, 2))
    return [*([d.tensor([b, n, k], dt, (0, 2))] if op == "baddbmm" else []), first, second], {}


@call("dropout", "f")
def _dropout(d, name):
    d.case["op"] = "nn.functional.dropout"
    d.case["seed"] = d.rng.randrange(1000)
    p = {"f": d.rng.choice([0.0, 0.5, 1.0, -0.5, 1.5, 0.25])}
    return [d.tensor(dt=d.rng.choice(["f32", "f64", "i64"])), p, d.chance(0.8)], {}


@call("squeeze#dims unsqueeze#deep flip#more", "f")
def _dims(d, name):
    a = d.tensor()
    op = d.case["op"]
    return ([a, d.dim(a)] if op == "unsqueeze" else [a, d.dims(a)]), {}


REST = [name for name in CALLS if name not in EARLIER]
