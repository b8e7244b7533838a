"""More sections for make_exact_cases.py: rearranging, sums of exponentials."""
import torch

from exact_calls import COMPLEX, FLOATS, INF, INTEGERS, NAN, counted, leaf, odd_strides, strided, values

SPECIALS = [0.0, -0.0, INF, -INF, NAN, 1.5, -2.5]


def shapes_of_two(call_one):
    """Contiguous, transposed, with gaps, expanded, without elements, and with odd strides."""
    for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), torch.zeros(0, 3), torch.zeros(3, 0).t(), *odd_strides()]:
        call_one(x)


def rearranged(call):
    def one(x):
        for shifts, dims in ((1, 0), (-1, -1), (5, 1), (0, 0), ((1, 2), (0, 1)), ((1, -1), (1, 1))):
            call("roll", "m", x, shifts, dims)
        call("roll", "f", x, 2)
        for k in range(-1, 5):
            call("rot90", "f", x, k, [0, 1])
        call("rot90", "m", x, 1, [1, -2])
        call("fliplr", "m", x)
        call("flipud", "f", x)
    shapes_of_two(one)
    for x in (torch.tensor(3.0), torch.tensor([1, 2, 3]), torch.ones(2, 3, dtype=torch.bool), leaf(2, 3), leaf(2, 3, 2)):
        for args in ((1,), (1, 0), ((1, 2),), ((1, 2), 0), (1, (0, 1)), ((), ()), ((), 0), (1, 5), (1, ())):
            call("roll", "f", x, *args)
        for args in ((), (1, [0]), (1, [0, 0]), (1, [0, -2]), (1, [0, 5]), (1, [2, 0]), (1, [0, 1, 2]), (2, [1, -1])):
            call("rot90", "f", x, *args)
        for op in ("fliplr", "flipud"):
            call(op, "f", x)
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        call("roll", "m", values(dtype, 3, 2).t(), 1, 1)
        call("rot90", "m", values(dtype, 3, 2))


def sums_of_exponentials(call):
    """Of equal numbers, a power of two of them: the logarithm of their count is added."""
    for dtype in (torch.float32, torch.float64):
        for args in ((0,), (1,), ([0, 1],), (-1, True), ([1, 0], True), ([],), ([0, 0],), (3,), ([], True)):
            call("logsumexp", "m", torch.full((2, 4), 1.0, dtype=dtype), *args)
            call("logsumexp", "f", torch.full((4, 2), 1.0, dtype=dtype).t().requires_grad_(), *args)
    special = torch.tensor([[INF, 1], [-INF, -INF], [NAN, 1], [INF, -INF], [INF, NAN]])
    for dtype in FLOATS:
        call("logsumexp", "m", special.to(dtype), 1)
        call("logsumexp", "m", torch.zeros(0, 3, dtype=dtype), 0)
        call("logsumexp", "m", torch.zeros(0, 3, dtype=dtype), 1)
        call("logsumexp", "m", torch.tensor(3.0, dtype=dtype), 0)
        call("logsumexp", "m", torch.tensor(3.0, dtype=dtype), [])
        for out in [torch.int64, torch.bool, *FLOATS, *COMPLEX]:
            call("logsumexp", "f", torch.zeros(4, 1, dtype=dtype), 1, out=torch.zeros(4, dtype=out))
    for dtype in [torch.bool, *INTEGERS]:
        call("logsumexp", "m", torch.zeros(2, 1).to(dtype), 1)
        call("logsumexp", "f", torch.zeros(2, 1).to(dtype), 1, out=torch.zeros(5))


def running_extremes(call):
    for op in ("cummax", "cummin"):
        def one(x):
            for d in (0, 1, -1):
                call(op, "m", x, d)
        shapes_of_two(one)
        for x in (torch.tensor(3.0), torch.tensor([NAN, 1]), torch.tensor(1j), torch.zeros(0, 3), leaf(2, 3), leaf(3, 1)):
            for d in (0, -1, 5):
                call(op, "f", x, d)
        special = torch.tensor([[1, NAN, 3, NAN], [INF, -INF, INF, 2], [-0.0, 0.0, -0.0, 1], [2, 2, 1, 1]])
        for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
            x = special.nan_to_num(3, 5, -5).to(dtype) if not dtype.is_floating_point else special.to(dtype)
            call(op, "m", x, 0)
            call(op, "m", x.t(), 0)
            call(op, "m", values(torch.float32, 40).to(dtype), 0)
        for values_in, places in ((5, 0), (0, 5)):
            out = (torch.zeros(values_in), torch.zeros(places, dtype=torch.int64))
            call(op, "f", counted(2, 3), 1, out=out)
        for dtypes in ((torch.float64, torch.int64), (torch.float32, torch.int32), (torch.float32, torch.float32)):
            call(op, "f", counted(2, 3), 1, out=tuple(torch.zeros(2, 3, dtype=d) for d in dtypes))
        x = counted(3, 3)
        for out in (x, torch.zeros(3, 3).t()):
            call(op, "f", x, 0, out=(out, torch.zeros(3, 3, dtype=torch.int64)))


def one_bound(call):
    every = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
    for op in ("clamp_min", "clamp_max"):
        for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides()]:
            call(op, "m", x, 2)
            call(op, "m", x, 2.5)
            call(op, "m", x, x[..., :1])
        for dtype in every:
            for bound in (1, 1.5, True, NAN, 1j, 300, -200, torch.tensor(1.5), torch.tensor([1, 2]), torch.tensor([NAN, 1])):
                x = torch.tensor([0, 2]).to(dtype)
                call(op, "m", x, bound)
                call(op, "i", x.clone(), bound)
        for out in every:
            call(op, "f", counted(2, 2), 1, out=torch.zeros(2, 2, dtype=out))
            call(op, "f", counted(2, 2), counted(2, 2), out=torch.zeros(2, 2, dtype=out))
        for bound in (0.25, torch.tensor(0.25), leaf(4), leaf(3, 1), leaf(3, 4).detach()):
            call(op, "f", leaf(3, 4), bound)
            call(op, "f", leaf(3, 4).detach(), bound)
        call(op, "i", torch.zeros(1).expand(3), 1)


def rounded(call):
    special = [0.5, 1.5, 2.5, -0.5, -0.4, 0.4, -0.0, INF, -INF, NAN, 8388607.5, 8388609.0, 4503599627370495.5, -1e30]
    for op in ("floor", "ceil", "trunc", "round", "frac", "fix"):
        for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
            x = torch.tensor(special).to(dtype) if dtype.is_floating_point else torch.tensor([0, 1, 3]).to(dtype)
            call(op, "m", x)
            call(op, "i", x.clone())
            for out in (torch.float32, torch.float64, torch.int64):
                call(op, "f", x, out=torch.zeros(0, dtype=out))
        for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides(), leaf(2, 3), torch.zeros(0, 3)]:
            call(op, "m", x)
    for x in (torch.tensor([1.25, 24.6, -1.35, 0.5]), torch.tensor([[15.0, 25, -35]], dtype=torch.float64), leaf(2, 3),
              torch.tensor([1, 2]), torch.tensor(True), torch.tensor([1j])):
        for decimals in (0, 1, -1, 3):
            call("round", "m", x, decimals=decimals)
            call("round", "i", x.detach().clone(), decimals=decimals)


def distances(call):
    for name in ("l1_loss", "smooth_l1_loss", "huber_loss"):
        op = "nn.functional." + name
        for reduction in ("none", "mean", "sum", "some"):
            # Multiples of a quarter, and a power of two of them.
            x, y = torch.arange(8.0).div(4).view(2, 4), torch.arange(8.0).flip(0).div(2).view(2, 4)
            call(op, "f", x.requires_grad_(), y.requires_grad_(), reduction=reduction)
            call(op, "f", x.detach().t(), y.detach().t(), reduction=reduction)
            call(op, "f", x.double(), y, reduction=reduction)
            call(op, "f", x, y.double(), reduction=reduction)
            call(op, "f", x, y[0], reduction=reduction)
            call(op, "f", torch.zeros(0, 2), torch.zeros(0, 2), reduction=reduction)
            if name != "smooth_l1_loss":
                call(op, "f", x, y, reduction=reduction, weight=torch.full((2, 4), 2.0))
                call(op, "f", x, y, reduction=reduction, weight=torch.ones(4))
        for dtype in [torch.bool, *INTEGERS, *FLOATS[2:], *COMPLEX]:
            call(op, "f", torch.tensor([3, 1]).to(dtype), torch.tensor([1, 1]).to(dtype))
        call(op, "f", leaf(2, 3), leaf(2, 2))
    for beta in (0, -1, 0.5, 2):
        call("nn.functional.smooth_l1_loss", "f", leaf(4), leaf(4), beta=float(beta))
        call("nn.functional.huber_loss", "f", leaf(4), leaf(4), delta=float(beta))
    x = leaf(2, 4)
    call("nn.functional.l1_loss", "f", x, x.detach(), size_average=False)
    call("nn.functional.smooth_l1_loss", "f", x, x.detach(), reduce=False)


def reals(call):
    for x in (leaf(2), torch.tensor([1, 2]), torch.tensor([1j, 1, complex(1, NAN)]), torch.zeros(0), torch.tensor(True)):
        call("isreal", "m", x)
    for x in strided((3, 4)):
        call("isreal", "f", x)
        call("isreal", "f", x * 1j)
    for op in ("logaddexp", "logaddexp2"):
        for dtype in [torch.bool, *INTEGERS, *(COMPLEX if op == "logaddexp2" else ())]:
            call(op, "f", torch.tensor([1, 0]).to(dtype), torch.tensor([1, 1]).to(dtype))
        for x in (INF, -INF, NAN, 1000.0):
            for y in (INF, -INF, NAN, 1.0):
                call(op, "f", torch.tensor([x]), torch.tensor([y]))
        call(op, "f", torch.tensor([1000.0]), torch.tensor([1.0]), out=torch.zeros(1, dtype=torch.int64))
        call(op, "f", torch.tensor([1000.0]), torch.tensor([[1.0], [2.0]]), out=torch.zeros(0, dtype=torch.float64))


def quantiles(call):
    """Of shares that lie between two elements by halves and quarters."""
    for op in ("quantile", "nanquantile"):
        for x in [*strided((3, 5)), *strided((5, 2, 1, 2)), *odd_strides(), torch.tensor(3.0), torch.zeros(0), leaf(5)]:
            for q in (0.5, 0.0, torch.tensor([0.25, 1.0, 0.5]), torch.tensor([]), torch.tensor(0.75)):
                for dim in (None, 0, -1):
                    call(op, "m", x, q, dim)
            call(op, "m", x, 0.25, 0, keepdim=True)
            call(op, "m", x, torch.tensor([0.25, 0.5]), keepdim=True)
        x = torch.tensor([[4.0, NAN, 1, 2, 8], [NAN, NAN, NAN, NAN, NAN], [5, -INF, INF, 0, 1]])
        for mode in ("linear", "lower", "higher", "midpoint", "nearest", "best"):
            call(op, "f", x, 0.5, 1, interpolation=mode)
            call(op, "f", x[::2].double().requires_grad_(), torch.tensor([0.25, 0.5]).double(), 1, interpolation=mode)
            y = torch.randperm(12).view(3, 4).float().requires_grad_()
            call(op, "f", y, torch.tensor([0.125, 0.5], requires_grad=True), 1, interpolation=mode)
        for q in (1.5, -0.1, NAN, torch.tensor([1.5]), torch.tensor([[0.5]]), torch.tensor(0.5).double()):
            call(op, "f", leaf(3), q)
        for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
            call(op, "f", torch.ones(3).to(dtype), 0.5)
            call(op, "f", counted(3), 0.5, out=torch.zeros(0).to(dtype))
        call(op, "f", counted(3, 4), torch.tensor([0.5, 0.25]), 0, out=torch.zeros(2, 4).t())
        call(op, "f", counted(3, 4), 0.5, 2)


def searches(call):
    row = torch.tensor([1.0, 2, 2, 5])
    rows = torch.tensor([[1, 3, 3, 8], [0, 0, 7, 9]])
    for kw in ({}, {"right": True}, {"side": "left"}, {"side": "right"}, {"side": "middle"}, {"side": "left", "right": True},
               {"out_int32": True}):
        for x in (torch.tensor([0.0, 2, 3, 9, NAN, -INF]), counted(3, 4).t(), torch.tensor(2.0), 2, 2.5, torch.zeros(0), counted(2, 3)):
            call("searchsorted", "f", row, x, **kw)
            call("searchsorted", "f", rows, x, **kw)
            if "side" not in kw:
                call("bucketize", "f", x, row, **kw)
                call("bucketize", "f", x, rows, **kw)
        for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
            call("searchsorted", "f", rows.to(dtype), torch.tensor([[3], [7]]).to(dtype), **kw)
    order = torch.tensor([[2, 0, 1, 3], [0, 1, 2, 3]])
    for sorter in (order, order[:1], order.float(), order + 7, order - 9):
        call("searchsorted", "f", torch.tensor([[3, 5, 1, 9], [1, 2, 3, 4]]), torch.tensor([[3, 4], [3, 9]]), sorter=sorter)
    for out in (torch.int64, torch.int32, torch.float32):
        for narrow in (False, True):
            call("searchsorted", "f", row, counted(2, 2), out_int32=narrow, out=torch.zeros(2, 2, dtype=out).t())
            call("bucketize", "f", counted(2, 2), row, out_int32=narrow, out=torch.zeros(0, dtype=out))
    call("searchsorted", "f", torch.tensor(1.0), row)
    call("searchsorted", "f", torch.zeros(0), row)
    call("searchsorted", "f", torch.tensor([1.0, NAN, NAN]), torch.tensor([NAN, 0.0, 3.0]))


def sets(call):
    for invert in (False, True):
        for x in [*strided((3, 4)), *odd_strides(), torch.zeros(0, 3), torch.tensor(2.0), torch.tensor([NAN, 1, -0.0])]:
            for y in (torch.tensor([2.0, 4]), torch.tensor([1, 2]), torch.tensor([NAN, 1, NAN, 0.0]), torch.zeros(0), 2, 2.5,
                      counted(4, 5).t()):
                call("isin", "f", x, y, invert=invert)
        call("isin", "f", 2, torch.tensor([1, 2]), invert=invert)
        call("isin", "f", 2.5, torch.tensor([1, 2]), invert=invert, assume_unique=True)
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        call("isin", "f", torch.tensor([0, 1, 3]).to(dtype), torch.tensor([3, 1]).to(dtype))
        call("isin", "f", torch.tensor([0, 1, 3]).to(dtype), torch.tensor([3, 1]))
        call("isin", "f", torch.tensor([1]), torch.tensor([1]), out=torch.zeros(1, dtype=dtype))
    call("isin", "f", torch.tensor([1, 2]), torch.tensor([1]), out=torch.zeros(5, dtype=torch.bool))


def signs(call):
    for op in ("sign", "sgn", "reciprocal", "nansum"):
        for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
            x = torch.tensor([1, 0, 4, 2]).to(dtype)
            call(op, "m", x.clone().requires_grad_() if dtype.is_floating_point and op not in ("nansum", "sgn") else x)
            if op != "nansum":
                call(op, "i", x.clone())
            call(op, "f", x, out=torch.zeros(0))
        for x in [*strided((3, 4)), *odd_strides(), leaf(2, 3), torch.zeros(0, 3)]:
            call(op, "m", x.detach() if op == "sgn" else x)
            call(op, "m", -x.detach())
    for op in ("sign", "sgn"):
        for dtype in FLOATS:
            call(op, "m", torch.tensor(SPECIALS, dtype=dtype))
        call(op, "m", torch.tensor([3j, -2, 0, 4 + 0j]).requires_grad_())
    for op in ("nansum", "nanmean"):
        x = torch.tensor([[1.0, NAN, 3, 4], [NAN, NAN, NAN, NAN]], requires_grad=True)
        for args in ((), (0,), (1,), ([0, 1],), (1, True), (2,), ([0, 0],), ([],)):
            call(op, "f", x, *args)
            call(op, "m", x.detach().t(), *args)
        for dtype in [torch.int64, *FLOATS, torch.complex64]:
            call(op, "f", x.detach(), dtype=dtype)
            call(op, "f", torch.tensor([1, 2]), dtype=dtype)
            call(op, "f", x.detach(), 0, out=torch.zeros(4, dtype=dtype))
        for dtype in [torch.bool, *INTEGERS, *COMPLEX]:
            call(op, "f", torch.tensor([1, 2]).to(dtype))


def differences(call):
    for x in [*strided((3, 4)), *odd_strides(), leaf(4), torch.zeros(0, 3), torch.tensor(1.0), torch.tensor([True, False, False]),
              torch.tensor([1, 5, 2])]:
        for n in (1, 2, 0, 7, -1):
            for dim in (-1, 0, 3):
                call("diff", "m", x, n, dim)
    x = torch.tensor([[1.0, 4, 2], [0, 3, 9]])
    for prepend in (x, x[0], x[:, :1], x[:1], torch.zeros(3, 1), x.long()):
        call("diff", "f", x, prepend=prepend)
        call("diff", "f", x, n=2, dim=0, append=prepend)
        call("diff", "f", x, n=0, prepend=prepend)
    for out in (torch.float32, torch.int64, torch.float64):
        call("diff", "f", x, out=torch.zeros(0, dtype=out))


def special_functions(call):
    places = {"erf": [0.0, -0.0, INF, -INF, NAN], "erfc": [0.0, -INF, INF, NAN], "erfinv": [0.0, -0.0, 1, -1, 2, -1.5, NAN],
              "lgamma": [1.0, 2, 0, -0.0, -1, -2, INF, -INF, NAN], "digamma": [0.0, -0.0, -1, -2, INF, NAN],
              "sinc": [0.0, -0.0, NAN, INF]}
    for op, numbers in places.items():
        for dtype in FLOATS:
            call(op, "m", torch.tensor(numbers).to(dtype))
            call(op, "i", torch.tensor(numbers).to(dtype))
        for dtype in [torch.bool, *INTEGERS, *COMPLEX]:
            call(op, "m", torch.zeros(0, 3, dtype=dtype))
            call(op, "i", torch.tensor([0, 1]).to(dtype)) if not (dtype.is_complex and op == "sinc") else None
            call(op, "f", torch.tensor([0]).to(dtype) if op != "lgamma" else torch.tensor([1]).to(dtype), out=torch.zeros(3, dtype=torch.float64))
        call(op, "f", torch.zeros(2), out=torch.zeros(2, dtype=torch.int64))
        for x in strided((3, 4)):
            call(op, "m", torch.zeros_like(x) if op != "digamma" else torch.zeros_like(x) - 1)
    for x in (torch.tensor([0.0, 0, 0, -0.0, 1, 1, 2]), torch.tensor([0, 0, 0, 0, 1, 1, 2]), torch.tensor([0.0, 0, 0, 0, 1, 1, 2]).bfloat16()):
        y = torch.tensor([0.0, INF, NAN, -3, 0, 1, NAN])
        for args in ((x, y), (x, 0), (x, 1), (x, NAN), (0, y), (0, y.long() * 0), (0.0, x)):
            call("xlogy", "f", *args)
            call("xlogy", "f", *args, out=torch.zeros(0))
            if isinstance(args[0], torch.Tensor):
                call("xlogy", "i", *args)
    for dtype in (torch.bool, torch.int32, torch.float16, torch.complex64):
        call("xlogy", "f", torch.zeros(2, dtype=dtype), torch.ones(2, dtype=dtype))
        call("polygamma", "f", 1, torch.zeros(2, dtype=dtype))
        call("polygamma", "f", 2, torch.zeros(0, dtype=dtype))
        call("polygamma", "m", torch.zeros(2, dtype=dtype), 4)
    for n in (-1, 0, 1, 2, 3):
        call("polygamma", "f", n, torch.tensor([0.0, NAN]), out=torch.zeros(0))
        call("polygamma", "i", torch.tensor([0.0, NAN]), n)


def norms(call):
    exact = torch.tensor([[3.0, -4.0], [0.0, 0.0]])
    for x in [*strided((2, 2)), exact, exact.t().requires_grad_(), exact.bfloat16(), exact.half(), exact.double(), exact.to(torch.complex64)]:
        for p in (2, 1, 0, INF, -INF):
            for args in ((), (0,), (1, True), ([0, 1],), ([],), (-3,), ([0, 0],)):
                if x.dim() and not (p == 2 and x.numel() and float(x.detach().abs().max()) != 4.0):
                    call("norm", "m", x, p, *args)
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        for p in (2, 3, 0, INF, -1):
            call("norm", "f", torch.zeros(0, 3).to(dtype), p, 0)
            call("norm", "m", torch.zeros(0, 3).to(dtype), p)
            call("norm", "m", torch.zeros(2, 0, 3).to(dtype), p, [0, 1])
        call("norm", "f", torch.tensor([3, 4]).to(dtype), dtype=torch.float64)
        call("norm", "f", torch.tensor([3.0, 4]), dtype=dtype)
        call("norm", "f", torch.tensor([3.0, 4]), out=torch.zeros(2, dtype=dtype))
    for p in ("fro", "foo"):
        for dim in (None, 0, [0, 1], [0, 1, 2]):
            call("norm", "f", torch.tensor([[[3.0, 4.0]]]), p, dim)
    call("norm", "m", exact, None)
    call("norm", "m", torch.tensor(-3.0))
    call("norm", "f", exact, 1 + 2j)


def different(call):
    x = torch.tensor([[3, 1, 3, 2], [3, 3, 1, 1], [3, 1, 3, 2]])
    runs = torch.tensor([1, 1, 2, 2, 2, 1, 3])
    asked = ({}, {"return_inverse": True}, {"return_counts": True}, {"return_inverse": True, "return_counts": True})
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        call("unique", "m", x.to(dtype))
        call("unique", "f", x.to(dtype), dim=0)
        call("unique_consecutive", "f", runs.to(dtype), return_counts=True)
        call("unique_consecutive", "m", x.to(dtype), dim=1)
    for kw in asked:
        for one in (x, x.t(), x[:, ::2], x[0].expand(3, 4), torch.zeros(0, 3), torch.zeros(2, 0, 0), torch.tensor(3.0), runs,
                    torch.tensor([NAN, 1, NAN, 1, INF, -INF]), torch.tensor([[1.0, NAN], [1.0, NAN], [0.0, 0.0]])):
            call("unique", "f", one, **kw)
            call("unique_consecutive", "f", one, **kw)
            for dim in (0, -1, 1, 5):
                # torch's order of slices with a NaN is that of its algorithm.
                if not (one.ndim == 1 and one.isnan().any()):
                    call("unique", "m", one, dim=dim, **kw)
                call("unique_consecutive", "m", one, dim=dim, **kw)
    call("unique", "f", x, True, True, True, 1)
    call("unique_consecutive", "f", x, True, True, 0)


SECTIONS = [rearranged, sums_of_exponentials, running_extremes, one_bound, rounded, distances, reals, quantiles, searches, sets, signs,
            differences, special_functions, norms, different]
