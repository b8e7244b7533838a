"""Random calls for make_random_cases.py: operands in random layouts and an argument list for every operator."""
import torch

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "c64": torch.complex64, "c128": torch.complex128,
}
SHAPES = [[], [], [1], [3], [2, 3], [2, 3], [3, 2], [1, 3], [2, 1], [2, 2, 3], [1, 1], [0], [0, 3], [2, 0], [4],
          [5, 1, 2]]
PRODUCTS = ("mm", "matmul", "dot", "mv", "bmm", "addmm", "nn.functional.linear")
POINTWISE = ("add", "sub", "mul", "neg", "exp", "lt", "maximum", "clamp")
COMMON = ["f32"] * 8 + ["f64", "i64", "i64", "i32", "bool", "u8", "i8", "i16", "f16", "bf16", "c64", "c128"]


class Draw:
    """One case in the making."""

    def __init__(self, rng, name):
        self.rng = rng
        self.case = {"op": name.split("#")[0], "form": "f", "T": [], "S": []}
        self.base = rng.choice(COMMON)

    def chance(self, p):
        return self.rng.random() < p

    def shape(self):
        return list(self.rng.choice(SHAPES))

    def values(self, dt, n, small=None):
        rng = self.rng
        if small is not None:
            return [rng.randrange(*small) for _ in range(n)]
        if dt == "bool":
            return [rng.random() < 0.5 for _ in range(n)]
        if dt[0] == "u":
            return [rng.randrange(0, 6) for _ in range(n)]
        if dt[0] == "i":
            return [rng.randrange(-4, 5) for _ in range(n)]
        special = self.chance(0.1) and self.case["op"] not in PRODUCTS
        one = lambda: rng.choice([float("nan"), float("inf"), -float("inf"), 0.0, -0.0]) \
            if special and rng.random() < 0.3 else rng.randrange(-12, 13) / 4
        return [[one(), one()] for _ in range(n)] if dt[0] == "c" else [one() for _ in range(n)]

    def geometry(self, shape):
        """(stored elements, strides, offset) of a random layout."""
        rng = self.rng
        order = list(range(len(shape)))
        kind = rng.choice(["c"] * 4 + ["p", "s", "e", "o"])
        if kind == "p":
            rng.shuffle(order)
        strides, step = [0] * len(shape), rng.choice([2, 3]) if kind == "s" else 1
        for d in reversed(order):
            strides[d] = step
            step *= max(shape[d], 1)
        if kind == "e" and shape:
            strides[rng.randrange(len(shape))] = 0
        offset = rng.randrange(1, 4) if kind == "o" else 0
        last = sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else 0
        return offset + last + 1 + rng.choice([0, 0, 2]), strides, offset

    def tensor(self, shape=None, dt=None, small=None, grad=None):
        shape = self.shape() if shape is None else shape
        dt = dt or (self.base if self.chance(0.85) else self.rng.choice(COMMON))
        n, strides, offset = self.geometry(shape)
        self.case["S"].append([dt, self.values(dt, n, small)])
        grad = (self.chance(0.5) if grad is None else grad) and dt in ("f16", "bf16", "f32", "f64", "c64", "c128")
        self.case["T"].append([dt, len(self.case["S"]) - 1, shape, strides, offset, grad])
        return {"t": len(self.case["T"]) - 1}

    def alias(self, ref):
        """Another view of an operand's storage."""
        dt, s, shape, strides, offset, grad = self.case["T"][ref["t"]]
        how = self.rng.choice(["same", "shift", "t"])
        if how == "t" and len(shape) == 2 and shape[0] == shape[1]:
            strides = strides[::-1]
        if how == "shift" and len(self.case["S"][s][1]) > offset + 1 + sum(
                (n - 1) * k for n, k in zip(shape, strides) if n > 0):
            offset += 1
        self.case["T"].append([dt, s, shape, strides, offset, False])
        return {"t": len(self.case["T"]) - 1}

    def shape_of(self, ref):
        return self.case["T"][ref["t"]][2]

    def near(self, ref):
        """A shape that mostly broadcasts with an operand's."""
        s = list(self.shape_of(ref))
        r = self.rng.random()
        if r < 0.5:
            return s
        if r < 0.65:
            return s[1:]
        if r < 0.8:
            return [1 if self.chance(0.5) else n for n in s]
        return [2] + s if r < 0.85 else self.shape()

    def scalar(self):
        r = self.rng
        return r.choice([r.randrange(-3, 4), {"f": r.choice([0.5, -1.5, 2.0, 0.25])}, 2, True, {"c": [1.0, 2.0]}]
                        if self.chance(0.4) else [2, 3, {"f": 0.5}, {"f": 2.0}])

    def dim(self, ref):
        n = len(self.shape_of(ref))
        return self.rng.randrange(-n - 1, n + 1) if self.chance(0.1) else self.rng.randrange(-n, n) if n else \
            self.rng.choice([0, -1])

    def dims(self, ref):
        n = len(self.shape_of(ref))
        if self.chance(0.1) or n == 0:
            return [self.dim(ref) for _ in range(self.rng.randrange(0, 3))]
        return self.rng.sample(range(n), self.rng.randrange(0, n + 1))

    def size(self, ref, dim):
        s = self.shape_of(ref)
        return s[dim] if s and -len(s) <= dim < len(s) else 1

    def index(self, shape, n, dt="i64"):
        lo, hi = (-1, n + 1) if self.chance(0.07) else (0, max(n, 1))
        return self.tensor(shape, dt, small=(lo, hi), grad=False)


CALLS = {}


def call(names, forms):
    """Registers an argument maker for operators; forms are drawn from the letters."""
    def register(f):
        for name in names.split():
            CALLS[name] = (f, forms)
        return f
    return register


def draw_call(rng, name):
    d = Draw(rng, name)
    make, forms = CALLS[name]
    args, kw = make(d, name)
    case = d.case
    case["form"] = rng.choice(forms)
    if case["form"] == "o":
        shape = d.near(args[0]) if d.chance(0.5) or not isinstance(args[0], dict) else d.shape_of(args[0])
        kw = {**kw, "out": d.tensor(shape, grad=d.chance(0.03))}
        if d.chance(0.1) and isinstance(args[0], dict) and name in POINTWISE:
            kw["out"] = d.alias(args[0])
    case["args"] = args
    if kw:
        case["kw"] = kw
    return case


def binary_operands(d):
    a = d.tensor()
    if d.chance(0.1):
        return a, d.alias(a)
    return a, d.scalar() if d.chance(0.2) else d.tensor(d.near(a))


@call("abs neg exp log sqrt tanh sigmoid relu sin logical_not square log1p bitwise_not cos", "fmiio")
def _unary(d, name):
    return [d.tensor()], {}


@call("isnan clone nonzero t ravel flatten diagonal", "fm")
def _plain(d, name):
    return [d.tensor()], {}


@call("mul true_divide floor_divide remainder fmod pow eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor copysign",
      "fmiio")
def _binary(d, name):
    a, b = binary_operands(d)
    return [a, b], {}


@call("add sub div", "fmiio")
def _alpha(d, name):
    a, b = binary_operands(d)
    if name == "div":
        return [a, b], {"rounding_mode": d.rng.choice(["floor", "trunc", "down"])} if d.chance(0.4) else {}
    return [a, b], {"alpha": d.scalar()} if d.chance(0.4) else {}


@call("rsub", "f")
def _rsub(d, name):
    a, b = binary_operands(d)
    return [a, b], {}


@call("logical_and logical_or atan2", "fmiio")
def _pairs(d, name):
    a = d.tensor()
    return [a, d.alias(a) if d.chance(0.1) else d.tensor(d.near(a))], {}


@call("maximum minimum", "fmo")
def _extremes(d, name):
    a = d.tensor()
    return [a, d.tensor(d.near(a))], {}


@call("lerp", "fmiio")
def _lerp(d, name):
    a = d.tensor()
    return [a, d.tensor(d.near(a)), d.scalar() if d.chance(0.5) else d.tensor(d.near(a))], {}


@call("addcmul addcdiv", "fmiio")
def _addc(d, name):
    a = d.tensor()
    return [a, d.tensor(d.near(a)), d.tensor(d.near(a))], {"value": d.scalar()} if d.chance(0.5) else {}


@call("clamp", "fmiio")
def _clamp(d, name):
    a = d.tensor()
    bound = lambda: None if d.chance(0.25) else d.scalar()
    if d.chance(0.4):
        bound = lambda: None if d.chance(0.25) else d.tensor(d.near(a))
    return [a, bound(), bound()], {}


@call("where", "fo")
def _where(d, name):
    m = d.tensor(dt="bool" if d.chance(0.9) else None, grad=False)
    pick = lambda: d.scalar() if d.chance(0.2) else d.tensor(d.near(m))
    return [m, pick(), pick()], {}


@call("masked_fill", "fmii")
def _masked_fill(d, name):
    a = d.tensor()
    m = d.tensor(d.near(a), "bool" if d.chance(0.93) else None, grad=False)
    return [a, m, d.tensor([], grad=d.chance(0.3)) if d.chance(0.3) else d.scalar()], {}


@call("masked_select", "fmo")
def _masked_select(d, name):
    a = d.tensor()
    return [a, d.tensor(d.near(a), "bool" if d.chance(0.95) else None, grad=False)], {}


def reduced(d, name, dims, dtype, dim_only=False):
    a = d.tensor()
    args, kw = [a], {}
    if dim_only or d.chance(0.7):
        args.append(d.dims(a) if dims and d.chance(0.4) else d.dim(a))
        if d.chance(0.4):
            kw["keepdim"] = True
    if dtype and d.chance(0.2):
        kw["dtype"] = {"dt": d.rng.choice(list(DTYPES))}
    return args, kw


@call("sum mean", "fmo")
def _sum(d, name):
    return reduced(d, name, True, True)


@call("prod", "fmo")
def _prod(d, name):
    return reduced(d, name, False, True)


@call("max min argmax argmin", "fm")
def _max(d, name):
    return reduced(d, name, False, False)


@call("all any amax amin var std", "fmo")
def _amax(d, name):
    return reduced(d, name, True, False)


@call("cumsum cumprod", "fmiio")
def _cumsum(d, name):
    a = d.tensor()
    return [a, d.dim(a)], {"dtype": {"dt": d.rng.choice(list(DTYPES))}} if d.chance(0.2) else {}


@call("equal allclose isclose", "fm")
def _equal(d, name):
    a = d.tensor()
    return [a, d.alias(a) if d.chance(0.3) else d.tensor(d.near(a))], {}


@call("matmul", "fmo")
def _matmul(d, name):
    a = d.tensor()
    s = d.shape_of(a)
    inner = s[-1] if s else 1
    b = d.rng.choice([[inner], [inner, 2], [inner, 0], [2, inner, 3], [1, inner, 2], d.shape()])
    return [a, d.tensor(b, d.case["T"][0][0] if d.chance(0.9) else None)], {}


@call("mm dot mv", "fmo")
def _mm(d, name):
    n, m, k = (d.rng.choice([0, 1, 2, 3, 3]) for _ in range(3))
    first, second = {"mm": ([n, m], [m, k]), "dot": ([m], [m]), "mv": ([n, m], [m])}[name]
    if d.chance(0.1):
        second = d.shape()
    a = d.tensor(first)
    return [a, d.tensor(second, d.case["T"][0][0] if d.chance(0.95) else None)], {}


@call("bmm", "fmo")
def _bmm(d, name):
    b, n, m, k = (d.rng.choice([0, 1, 2, 3]) for _ in range(4))
    a = d.tensor([b, n, m])
    return [a, d.tensor([b, m, k] if d.chance(0.9) else d.shape(), d.case["T"][0][0] if d.chance(0.95) else None)], {}


@call("addmm", "fmio")
def _addmm(d, name):
    n, m, k = (d.rng.choice([0, 1, 2, 3]) for _ in range(3))
    s = d.tensor(d.rng.choice([[n, k], [n, k], [k], [1, k], [n, 1], [], d.shape()]))
    dt = d.case["T"][0][0]
    kw = {"beta": d.scalar(), "alpha": d.scalar()} if d.chance(0.4) else {}
    return [s, d.tensor([n, m], dt), d.tensor([m, k], dt if d.chance(0.95) else None)], kw


@call("sort argsort", "fm")
def _sort(d, name):
    a = d.tensor()
    return [a], {"stable": True, "dim": d.dim(a), "descending": d.chance(0.5)}


@call("topk", "fm")
def _topk(d, name):
    a = d.tensor(grad=False)
    dim = d.dim(a)
    return [a, d.rng.randrange(-1, d.size(a, dim) + 2) if d.chance(0.2) else d.size(a, dim), dim, d.chance(0.5)], {}


@call("softmax log_softmax", "fm")
def _softmax(d, name):
    a = d.tensor()
    return [a, d.dim(a)], {"dtype": {"dt": d.rng.choice(list(DTYPES))}} if d.chance(0.2) else {}


@call("nn.functional.mse_loss", "f")
def _mse(d, name):
    a = d.tensor()
    return [a, d.tensor(d.near(a))], {"reduction": d.rng.choice(["mean", "sum", "none"])}


@call("nn.functional.linear", "f")
def _linear(d, name):
    a = d.tensor()
    s = d.shape_of(a)
    w = d.tensor([4, s[-1] if s else 1] if d.chance(0.9) else d.shape(), d.case["T"][0][0])
    return [a, w] + ([d.tensor([4] if d.chance(0.9) else d.shape(), d.case["T"][0][0])] if d.chance(0.5) else []), {}


@call("gather", "fmo")
def _gather(d, name):
    a = d.tensor()
    dim = d.dim(a)
    s = list(d.shape_of(a))
    if d.chance(0.4) and s:
        s[dim if -len(s) <= dim < len(s) else 0] = d.rng.randrange(0, 4)
    return [a, dim, d.index(s if d.chance(0.95) else d.shape(), d.size(a, dim), "i64" if d.chance(0.95) else "i32")], {}


@call("scatter scatter_add", "fmii")
def _scatter(d, name):
    a = d.tensor()
    dim = d.dim(a)
    s = d.shape_of(a)
    i = d.index(s if d.chance(0.95) else d.shape(), d.size(a, dim))
    number = name == "scatter" and d.chance(0.3)
    return [a, dim, i, d.scalar() if number else d.tensor(s, d.case["T"][0][0] if d.chance(0.95) else None)], {}


@call("index_select", "fmo")
def _index_select(d, name):
    a = d.tensor()
    dim = d.dim(a)
    return [a, dim, d.index([d.rng.randrange(0, 4)] if d.chance(0.9) else d.shape(), d.size(a, dim))], {}


@call("index_put", "fmi")
def _index_put(d, name):
    a = d.tensor()
    s = d.shape_of(a)
    n = d.rng.randrange(0, 4)
    i = [d.index([n], k) for k in s[:d.rng.randrange(1, 3)]] or [d.index([n], 1)]
    v = d.tensor([n] + s[len(i):] if d.chance(0.6) else [], d.case["T"][0][0] if d.chance(0.95) else None)
    return [a, i, v], {"accumulate": True} if d.chance(0.4) else {}


@call("index_add index_copy", "fmi")
def _index_add(d, name):
    a = d.tensor()
    dim = d.dim(a)
    s = list(d.shape_of(a))
    n = d.rng.randrange(0, 3)
    if s and -len(s) <= dim < len(s):
        s[dim] = n
    return [a, dim, d.index([n], d.size(a, dim)), d.tensor(s, d.case["T"][0][0] if d.chance(0.95) else None)], {}


@call("index_fill", "fmi")
def _index_fill(d, name):
    a = d.tensor()
    dim = d.dim(a)
    return [a, dim, d.index([d.rng.randrange(0, 3)], d.size(a, dim)), d.scalar()], {}


@call("cat stack", "f")
def _cat(d, name):
    a = d.tensor()
    s = d.shape_of(a)
    dim = d.dim(a)
    others = []
    for _ in range(d.rng.randrange(0, 3)):
        k = list(s)
        if name == "cat" and k and -len(k) <= dim < len(k):
            k[dim] = d.rng.randrange(0, 3)
        others.append(d.tensor(k if d.chance(0.92) else d.shape()))
    return [[a, *others], dim], {}


@call("copy", "i")
def _copy(d, name):
    a = d.tensor()
    return [a, d.alias(a) if d.chance(0.15) else d.tensor(d.near(a))], {}


@call("fill", "i")
def _fill(d, name):
    return [d.tensor(), d.scalar() if d.chance(0.7) else d.tensor([])], {}


@call("view reshape", "m")
def _view(d, name):
    a = d.tensor()
    n = 1
    for k in d.shape_of(a):
        n *= k
    choices = [[n], [-1], [1, n], [n, 1], [-1, 2], [2, -1], [3, -1], d.shape(), [-1, -1], d.shape_of(a)[::-1]]
    return [a, d.rng.choice(choices)], {}


@call("expand", "m")
def _expand(d, name):
    a = d.tensor()
    s = [2 if n == 1 and d.chance(0.7) else -1 if d.chance(0.3) else n for n in d.shape_of(a)]
    return [a, ([2] if d.chance(0.3) else []) + s if d.chance(0.9) else d.shape()], {}


@call("permute movedim", "fm")
def _permute(d, name):
    a = d.tensor()
    n = len(d.shape_of(a))
    order = [k - n if d.chance(0.2) else k for k in d.rng.sample(range(n), n)]
    if d.chance(0.05):
        order = order[1:]
    return ([a, order] if name == "permute" else [a, list(range(len(order))), order]), {}


@call("transpose swapaxes", "fm")
def _transpose(d, name):
    a = d.tensor()
    return [a, d.dim(a), d.dim(a)], {}


@call("unsqueeze squeeze unbind", "fm")
def _one_dim(d, name):
    a = d.tensor()
    return [a, d.dim(a)], {}


@call("select narrow split chunk tensor_split unfold unflatten", "m")
def _parts(d, name):
    a = d.tensor()
    dim = d.dim(a)
    n = d.size(a, dim)
    k = d.rng.randrange(-1, n + 2)
    if name == "select":
        return [a, dim, d.rng.randrange(-n - 1, n + 1) if d.chance(0.2) or n == 0 else d.rng.randrange(-n, n)], {}
    if name == "narrow":
        start = d.rng.randrange(0, n + 1)
        return [a, dim, start, d.rng.randrange(-1, n + 2) if d.chance(0.2) else d.rng.randrange(0, n - start + 1)], {}
    if name == "unfold":
        return [a, dim, k, d.rng.randrange(0, 3)], {}
    if name == "unflatten":
        return [a, dim, d.rng.choice([[-1, 1], [1, n], [2, -1], [n]])], {}
    return [a, k, dim], {}


@call("flip", "fm")
def _flip(d, name):
    a = d.tensor()
    return [a, d.dims(a)], {}


@call("to", "m")
def _to(d, name):
    return [d.tensor(), {"dt": d.rng.choice(list(DTYPES))}], {}
