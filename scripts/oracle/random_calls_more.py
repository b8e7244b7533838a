"""More calls for make_random_cases.py: factories, random numbers with their limits, products of more than two operands,
names that stand for others, and what takes sizes of zero. What follows a # tells two ways to call one operator apart."""
from random_calls import CALLS, DTYPES, call

BEFORE = set(CALLS)

FLOATS = ("f16", "bf16", "f32", "f64")
NUMBERS = [0, 1, 2, 3, 5, -1, {"f": 0.5}, {"f": 2.5}, {"f": -1.5}, True, {"c": [1.0, 2.0]}]


def number(d):
    return d.rng.choice(NUMBERS)


def dtype(d, chance=0.5):
    return {"dtype": {"dt": d.rng.choice(list(DTYPES))}} if d.chance(chance) else {}


def sizes(d):
    return [d.rng.choice([0, 1, 2, 3, -1] if d.chance(0.1) else [0, 1, 2, 3]) for _ in range(d.rng.randrange(0, 4))]


@call("arange", "f")
def _arange(d, name):
    return [number(d) for _ in range(d.rng.randrange(1, 4))], dtype(d)


@call("linspace logspace", "f")
def _linspace(d, name):
    kw = dtype(d)
    if name == "logspace" and d.chance(0.5):
        kw["base"] = {"f": d.rng.choice([2.0, 0.5, 10.0])}
    small = lambda: d.rng.choice([0, 1, 2, -1, {"f": 0.5}, {"f": 2.5}, {"c": [0.5, 1.0]}])
    return [small(), small(), d.rng.choice([0, 1, 2, 3, 5, -1])], kw


@call("eye", "f")
def _eye(d, name):
    return [d.rng.randrange(-1, 4) for _ in range(d.rng.randrange(1, 3))], dtype(d)


@call("zeros ones", "f")
def _zeros(d, name):
    return [sizes(d)], dtype(d)


@call("full", "f")
def _full(d, name):
    # A plain integer has no dtype of its own here.
    return [sizes(d), d.rng.choice([x for x in NUMBERS if x is True or not isinstance(x, int)])], dtype(d)


@call("scalar_tensor", "f")
def _scalar_tensor(d, name):
    return [number(d)], dtype(d)


@call("tril_indices triu_indices", "f")
def _tril(d, name):
    args = [d.rng.randrange(-1, 5), d.rng.randrange(0, 5)]
    return args + ([d.rng.randrange(-6, 7)] if d.chance(0.7) else []), dtype(d, 0.3)


@call("zeros_like ones_like", "f")
def _like(d, name):
    kw = dtype(d)
    if d.chance(0.3):
        kw["memory_format"] = {"mf": d.rng.choice(["contiguous_format", "preserve_format", "channels_last"])}
    return [d.tensor()], kw


@call("full_like", "f")
def _full_like(d, name):
    return [d.tensor(), number(d)], dtype(d)


@call("new_zeros new_ones", "m")
def _new_zeros(d, name):
    return [d.tensor(), sizes(d)], dtype(d)


@call("new_full", "m")
def _new_full(d, name):
    return [d.tensor(), sizes(d), number(d)], dtype(d)


def limits():
    return [0, 1, 2, 127, 128, 255, 256, 257, 258, 2047, 2048, 2049, 2050, 32767, 32768, 65504, 65505, 2 ** 24,
            2 ** 24 + 1, 2 ** 24 + 2, 2 ** 31 - 1, 2 ** 31, 2 ** 53]


def seeded(d):
    d.case["seed"] = d.rng.randrange(1000)


@call("randperm", "f")
def _randperm(d, name):
    seeded(d)
    kw = dtype(d, 0.9)
    dt = kw.get("dtype", {"dt": "i64"})["dt"]
    # More than that would be made where the dtype holds it.
    most = {"f32": -1, "f64": -1, "i32": -1, "i64": -1}.get(dt, 0)
    n = d.rng.choice([-1, 0, 1, 5, 20] if most else [-1, 5, 127, 128, 255, 256, 257, 258, 2048, 2049, 2050, 32768])
    return [n if n < 3000 or dt not in ("f32", "f64") else 7], kw


@call("randint", "f")
def _randint(d, name):
    seeded(d)
    bounds = [d.rng.choice([k, -k]) for k in d.rng.sample(limits(), 2)]
    return [*(bounds if d.chance(0.7) else [abs(bounds[0])]), sizes(d)], dtype(d)


@call("randint_like", "f")
def _randint_like(d, name):
    seeded(d)
    bounds = [d.rng.choice([k, -k]) for k in d.rng.sample(limits(), 2)]
    return [d.tensor(), *(bounds if d.chance(0.7) else [abs(bounds[0])])], dtype(d, 0.3)


@call("random", "i")
def _random(d, name):
    seeded(d)
    bounds = [d.rng.choice([k, -k]) for k in d.rng.sample(limits(), 2)]
    return [d.tensor(grad=False), *bounds[:d.rng.randrange(0, 3)]], {}


@call("uniform normal#fill log_normal", "i")
def _uniform(d, name):
    seeded(d)
    pick = lambda: d.rng.choice([{"f": 0.0}, {"f": 1.0}, {"f": -1.0}, {"f": 2.5}, {"f": 70000.0}, {"f": float("inf")}])
    return [d.tensor(grad=d.chance(0.1)), *[pick() for _ in range(d.rng.randrange(0, 3))]], {}


@call("exponential geometric cauchy bernoulli#fill", "i")
def _exponential(d, name):
    seeded(d)
    a = d.tensor(grad=d.chance(0.1))
    if name == "bernoulli#fill" and d.chance(0.4):
        return [a, d.tensor(d.near(a), d.rng.choice(FLOATS) if d.chance(0.9) else None, grad=False)], {}
    if d.chance(0.2) and name != "geometric":
        return [a], {}
    return [a, {"f": d.rng.choice([0.0, 0.3, 0.5, 1.0, 1.5, -0.5])}], {}


@call("bernoulli", "fmo")
def _bernoulli(d, name):
    seeded(d)
    dt = d.rng.choice([*FLOATS, "i64"])
    return [d.tensor(dt=dt, small=(0, 2) if d.chance(0.8) else None, grad=d.chance(0.2))], {}


@call("rand_like randn_like", "f")
def _rand_like(d, name):
    seeded(d)
    return [d.tensor()], dtype(d, 0.3)


@call("rand randn", "f")
def _rand(d, name):
    seeded(d)
    return [sizes(d)], dtype(d)


@call("normal", "f")
def _normal(d, name):
    seeded(d)
    a = d.tensor(grad=d.chance(0.2))
    one = {"f": d.rng.choice([0.0, 1.0, 2.0, -1.0])}
    return d.rng.choice([[a, one], [a], [one, a], [a, d.tensor(d.near(a))]]), {}


@call("multinomial", "fm")
def _multinomial(d, name):
    seeded(d)
    shape = d.rng.choice([[4], [2, 3], [1, 4], [3, 1], [0], [2, 0], [2, 2, 2], []])
    a = d.tensor(shape, d.rng.choice(FLOATS), (0, 4) if d.chance(0.7) else None, grad=False)
    return [a, d.rng.randrange(-1, 5)], {"replacement": True} if d.chance(0.5) else {}


@call("take", "fmo")
def _take(d, name):
    a = d.tensor()
    n = 1
    for k in d.shape_of(a):
        n *= k
    return [a, d.index(d.shape(), n)], {}


@call("take_along_dim", "fm")
def _take_along(d, name):
    a = d.tensor()
    if d.chance(0.3):
        return [a, d.index(d.shape(), 1)], {}
    dim = d.dim(a)
    s = [1 if d.chance(0.2) else n for n in d.shape_of(a)]
    if s and -len(s) <= dim < len(s):
        s[dim] = d.rng.randrange(0, 3)
    return [a, d.index(s, d.size(a, dim)), dim], {}


@call("put", "fmi")
def _put(d, name):
    a = d.tensor()
    n = 1
    for k in d.shape_of(a):
        n *= k
    s = d.shape()
    v = d.tensor(s if d.chance(0.9) else d.shape(), d.case["T"][0][0] if d.chance(0.95) else None)
    return [a, d.index(s, n), v], {"accumulate": True} if d.chance(0.5) else {}


@call("masked_scatter", "fmi")
def _masked_scatter(d, name):
    a = d.tensor()
    m = d.tensor(d.near(a), "bool" if d.chance(0.95) else None, grad=False)
    return [a, m, d.tensor(None, d.case["T"][0][0] if d.chance(0.95) else None)], {}


@call("tile", "fm")
def _tile(d, name):
    return [d.tensor(), sizes(d)], {}


@call("repeat", "m")
def _repeat(d, name):
    return [d.tensor(), sizes(d)], {}


@call("repeat_interleave", "fm")
def _repeat_interleave(d, name):
    a = d.tensor()
    dim = [d.dim(a)] if d.chance(0.7) else []
    count = d.rng.randrange(-1, 4) if d.chance(0.6) else d.index(
        [d.size(a, dim[0]) if dim and d.chance(0.8) else 1], d.rng.randrange(1, 4))
    return [a, count, *dim], {}


@call("hstack vstack dstack column_stack", "f")
def _stacks(d, name):
    a = d.tensor()
    rest = [d.tensor(d.shape_of(a) if d.chance(0.8) else d.shape()) for _ in range(d.rng.randrange(0, 3))]
    return [[a, *rest] if d.chance(0.97) else []], {}


@call("std_mean var_mean", "f")
def _std_mean(d, name):
    a = d.tensor()
    args = [a] + ([d.dims(a) if d.chance(0.4) else d.dim(a)] if d.chance(0.7) else [])
    kw = {"keepdim": True} if d.chance(0.4) and len(args) > 1 else {}
    if d.chance(0.4):
        kw["correction"] = d.rng.choice([0, 1, 2, 5])
    return args, kw


@call("addmv addr", "fmio")
def _addmv(d, name):
    n, m = (d.rng.choice([0, 1, 2, 3]) for _ in range(2))
    whole = [n] if name == "addmv" else [n, m]
    s = d.tensor(d.rng.choice([whole, whole, whole, [1], [], d.shape()]))
    dt = d.case["T"][0][0]
    kw = {"beta": d.scalar(), "alpha": d.scalar()} if d.chance(0.5) else {}
    first = d.tensor([n, m] if name == "addmv" else [n], dt)
    return [s, first, d.tensor([m] if d.chance(0.9) else d.shape(), dt if d.chance(0.9) else None)], kw


@call("baddbmm addbmm", "fmio")
def _baddbmm(d, name):
    b, n, m, k = (d.rng.choice([0, 1, 2, 3]) for _ in range(4))
    whole = [b, n, k] if name == "baddbmm" else [n, k]
    s = d.tensor(d.rng.choice([whole, whole, whole, [1], [k], [], d.shape()]))
    dt = d.case["T"][0][0]
    kw = {"beta": d.scalar(), "alpha": d.scalar()} if d.chance(0.5) else {}
    return [s, d.tensor([b, n, m], dt), d.tensor([b, m, k] if d.chance(0.9) else d.shape(), dt)], kw


@call("inner outer vdot", "fm")
def _inner(d, name):
    n = d.rng.choice([0, 1, 2, 3])
    a = d.tensor([n] if name != "inner" or d.chance(0.5) else [2, n])
    dt = d.case["T"][0][0] if d.chance(0.9) else None
    return [a, d.tensor([n] if d.chance(0.6) else [3] if name == "outer" else d.shape(), dt)], {}


@call("real imag conj", "f")
def _parts(d, name):
    return [d.tensor()], {}


@call("as_strided", "fm")
def _as_strided(d, name):
    a = d.tensor()
    n = len(d.shape_of(a))
    size = [d.rng.randrange(0, 3) for _ in range(n)]
    stride = [d.rng.randrange(-1 if d.chance(0.05) else 0, 3) for _ in range(n if d.chance(0.95) else n + 1)]
    return [a, size, stride, *([d.rng.randrange(-1, 3)] if d.chance(0.4) else [])], {}


@call("flatten#dims diagonal#dims", "m")
def _ranges(d, name):
    a = d.tensor()
    return ([a, d.dim(a), d.dim(a)] if name == "flatten#dims" else [a, d.rng.randrange(-3, 4), d.dim(a), d.dim(a)]), {}


@call("sum_to_size view_as reshape_as expand_as type_as", "m")
def _as(d, name):
    a = d.tensor()
    if name == "sum_to_size":
        return [a, [1 if d.chance(0.5) else n for n in d.shape_of(a)][d.rng.randrange(0, 2):]], {}
    return [a, d.tensor(d.shape_of(a)[::-1] if d.chance(0.5) else d.near(a))], {}


@call("argwhere", "fm")
def _argwhere(d, name):
    return [d.tensor()], {}


@call("nn.functional.relu nn.functional.softmin nn.functional.softmax nn.functional.log_softmax", "f")
def _nn(d, name):
    a = d.tensor()
    return ([a] if name.endswith("relu") else [a, d.dim(a)]), {}


@call("nn.functional.layer_norm", "f")
def _layer_norm(d, name):
    # It is made of other operators here: gradients have other names.
    a = d.tensor(grad=False)
    s = d.shape_of(a)
    tail = s[d.rng.randrange(0, len(s) + 1):] if d.chance(0.9) else d.shape()
    dt = d.case["T"][0][0]
    return [a, tail, *([d.tensor(tail, dt, grad=False), d.tensor(tail, dt, grad=False)] if d.chance(0.5) else [])], {}


MORE = [name for name in CALLS if name not in BEFORE]
