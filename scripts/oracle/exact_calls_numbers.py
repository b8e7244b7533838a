"""More sections for make_exact_cases.py: inverse functions, neighbours and divisors of numbers, questions of one number."""
import torch

from exact_calls import COMPLEX, FLOATS, INF, INTEGERS, NAN, leaf, odd_strides, strided

EVERY = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
# Arguments whose results are whole numbers, infinite or no numbers.
PLACES = {
    "acos": [1.0, 2, -2, INF, NAN], "asin": [0.0, -0.0, 2, -INF, NAN], "atan": [0.0, -0.0, NAN],
    "tan": [0.0, -0.0, INF, NAN], "sinh": [0.0, -0.0, INF, -INF, NAN], "cosh": [0.0, -0.0, INF, -INF, NAN],
    "acosh": [1.0, 0.5, -INF, INF, NAN], "asinh": [0.0, -0.0, INF, -INF, NAN],
    "atanh": [0.0, -0.0, 1, -1, 2, INF, NAN], "log2": [1.0, 8, 0.25, 0, -0.0, -1, INF, -INF, NAN],
    "log10": [1.0, 0, -0.0, -1, INF, -INF, NAN], "exp2": [0.0, 3, -2, INF, -INF, NAN, 14],
    "deg2rad": [0.0, -0.0, INF, NAN], "rad2deg": [0.0, -0.0, -INF, NAN], "logit": [0.5, 0, 1, -1, 2, NAN],
}
QUESTIONS = ("isinf", "isfinite", "isposinf", "isneginf", "signbit")


def inverse_functions(call):
    for op, numbers in PLACES.items():
        start = numbers[0]
        for dtype in FLOATS:
            call(op, "m", torch.tensor(numbers, dtype=dtype))
            call(op, "i", torch.tensor(numbers, dtype=dtype))
        for dtype in [torch.bool, *INTEGERS, *COMPLEX]:
            call(op, "m", torch.zeros(0, 3, dtype=dtype))
            call(op, "i", torch.tensor([0, 1]).to(dtype)) if not dtype.is_complex else None
            # torch's own zeros have another sign in complex128 than in complex64.
            if start == int(start) and not (op == "acos" and dtype.is_complex):
                call(op, "m", torch.tensor(int(start)).to(dtype))
                call(op, "f", torch.tensor([int(start)]).to(dtype), out=torch.zeros(3, dtype=torch.float64))
        call(op, "f", torch.full((2,), start), out=torch.zeros(2, dtype=torch.int64))
        call(op, "i", torch.full((1,), start).expand(3))
        for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides()]:
            call(op, "m", torch.zeros_like(x) + start)
    for op in ("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh"):
        x = torch.tensor([1.0 if "cos" in op else 0.0])
        call(op, "m", x)
        call(op, "i", x.clone())
        call(op, "f", x, out=torch.zeros(0))
    for eps in (None, 0.25, 0.75, 0.0, -1.0):
        for x in (torch.tensor([0.5, 0.5]), torch.tensor([0, 1]), torch.tensor([NAN, 0.5]).half()):
            call("logit", "f", x, eps=eps)


def questions(call):
    special = torch.tensor([1, 0, -0.0, INF, -INF, NAN, -2.5])
    for op in QUESTIONS:
        for dtype in EVERY:
            x = (special if dtype.is_floating_point or dtype.is_complex else special.nan_to_num(3, 5, -5)).to(dtype)
            call(op, "m", x)
            if op in ("isposinf", "isneginf", "signbit"):
                for out in (torch.bool, torch.uint8, torch.float32):
                    call(op, "f", x, out=torch.ones(2, dtype=out))
        call(op, "m", torch.tensor([complex(NAN, INF), complex(1, -INF), complex(NAN, 1), complex(INF, 0), 1j]))
        for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides(), torch.zeros(0, 3), torch.tensor(-INF), leaf(2, 3)]:
            call(op, "m", x)


def numbers_instead(call):
    special = torch.tensor([1, -0.0, INF, -INF, NAN, -2.5])
    for args in ((), (2.0,), (None, 3.0), (None, None, -4.0), (NAN, INF, -INF), (1e6, 1e6, -1e300)):
        for dtype in EVERY:
            x = (special if dtype.is_floating_point or dtype.is_complex else special.nan_to_num(3, 5, -5)).to(dtype)
            call("nan_to_num", "m", x, *args)
            call("nan_to_num", "i", x.clone(), *args)
    for out in EVERY:
        call("nan_to_num", "f", special, out=torch.zeros(0, dtype=out))
        call("nan_to_num", "f", torch.tensor([1, 2]), out=torch.zeros(2, dtype=out))
    for dtype in (torch.float32, torch.int64):
        call("nan_to_num", "i", torch.ones(1, dtype=dtype).expand(3))
    for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides(), torch.zeros(0, 3), torch.tensor(-INF), leaf(2, 3)]:
        call("nan_to_num", "m", x)
    call("nan_to_num", "m", special.clone().requires_grad_(), 2.0)


def pairs_of_numbers(call):
    numbers = [0.0, -0.0, 1, -1, INF, -INF, NAN, 65504, 6.1e-5, 6e-8, -6.1035e-5, 3e38, 1e-45]
    for dtype in FLOATS:
        x = torch.tensor(numbers, dtype=dtype)
        for op in ("nextafter", "heaviside"):
            call(op, "f", x[:, None], x)
        for op in ("fmax", "fmin"):
            # torch takes the second of equal bfloat16 numbers, which shows in the signs of zeros.
            call(op, "f", x[:, None], x if dtype != torch.bfloat16 else x.abs() + 0.5)
        for op in ("nextafter", "heaviside", "hypot"):
            call(op, "i", torch.zeros(3, dtype=dtype), torch.ones(3, dtype=dtype))
    edge = torch.tensor([INF, -INF, NAN, 0.0])
    call("hypot", "f", edge[:, None], edge)
    whole = [0, 1, 4, 6, 12, 35, 127]
    for dtype in EVERY:
        x = torch.tensor(whole).to(dtype)
        for op in ("gcd", "lcm", "heaviside", "fmax", "fmin", "logical_xor"):
            call(op, "f", x[:, None], x)
            call(op, "f", x, torch.tensor(whole[::-1]))
            call(op, "f", x, x, out=torch.zeros(0, dtype=torch.int32))
            if op not in ("fmax", "fmin"):
                call(op, "i", x.clone(), x)
        for op in ("hypot", "nextafter"):
            call(op, "f", torch.tensor([0, 1]).to(dtype), torch.tensor([0, 0]).to(dtype))
            call(op, "f", torch.tensor([0.0, 1]), torch.tensor([0, 0]).to(dtype))
            call(op, "f", torch.zeros(0).to(dtype), torch.zeros(0).to(dtype))
        call("ldexp", "f", torch.tensor([0, 1, 4]).to(dtype), torch.tensor([3, 0, 1]))
        call("ldexp", "f", torch.tensor([1, 3, 0.5]), torch.tensor([0, 1, 1]).to(dtype)) if not dtype.is_complex else None
        call("ldexp", "i", torch.tensor([0, 1, 4]).to(dtype), torch.tensor([3, 0, 1]))
        call("ldexp", "f", torch.tensor([2.0]), torch.tensor([3]), out=torch.zeros(0, dtype=dtype))
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        least = torch.iinfo(dtype).min
        # torch itself divides the least number by -1, which ends the process: by what it takes for their gcd, with 5.
        # Those that a file of doubles holds.
        more = least + (1024 if dtype == torch.int64 else 1)
        for numbers in ([more, -1, -3, 0, 5], [least, 3, 0, 5]):
            x = torch.tensor(numbers, dtype=dtype)
            call("gcd", "f", x[:, None], x[1:])
            call("lcm", "f", x[:, None], x[1:-1] if numbers[0] == least else x[1:])
    call("ldexp", "f", torch.tensor([1e-30, 1e30, 1, 1e-40, INF, NAN]), torch.tensor([200, -200, -140, 250, -500, 3]))
    for op in ("hypot", "fmax", "fmin", "nextafter", "ldexp", "heaviside"):
        x = torch.tensor([[0.0, 1], [2, 3]], requires_grad=True)
        call(op, "f", x, torch.tensor([0.0, 1], requires_grad=True) if op != "hypot" else torch.zeros(2))
        call(op, "f", torch.ones(2), torch.ones(3))
        if op not in ("fmax", "fmin"):
            call(op, "i", torch.zeros(1).expand(3), torch.zeros(3))
        for x in [*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides()]:
            call(op, "f", x.round(), torch.zeros_like(x))


def picked(call):
    """Of different numbers: which of equal ones torch names is the order in which it happened to look."""
    order = torch.tensor([[3, 1, 4, 0], [5, 9, 2, 6], [8, 7, 10, 11]])
    calls = {"median": (), "nanmedian": (), "mode": (), "kthvalue": (2,)}
    for op, first in calls.items():
        for dtype in EVERY:
            x = order.to(dtype)
            for dim in (0, 1, -1):
                call(op, "m", x, *first, dim)
                call(op, "m", x.t(), *first, dim, True)
            if op in ("median", "nanmedian"):
                call(op, "m", x)
                call(op, "f", torch.zeros(0).to(dtype))
        for x in (*strided((3, 4)), *strided((2, 3, 2, 2)), *odd_strides()):
            for dim in (0, 1, -1):
                # No two alike, in the layout of x.
                call(op, "f", torch.empty_like(x).copy_(torch.randperm(x.numel()).view(x.shape)), *((1,) if first else ()), dim)
        for x in (torch.tensor(2.0), torch.zeros(0, 3), torch.zeros(3, 0), torch.zeros(1, 1)):
            for dim in (0, -1, 1, 5):
                call(op, "m", x, *((1,) if first else ()), dim)
        for k in (0, 1, 4, 5, -1) if first else ():
            call(op, "f", order.float(), k)
            call(op, "f", order.float(), k, 0, True)
        special = torch.tensor([[NAN, 1, 2, 0], [INF, -INF, 3, 1], [3, 2, 1, NAN]])
        if op != "mode":
            for dtype in FLOATS:
                call(op, "m", special.to(dtype), *first, 1)
        nothing = torch.full((2, 3), NAN)
        if op in ("median", "nanmedian"):
            call(op, "m", nothing)
            call(op, "m", special)
            call(op, "m", nothing, 1)
            call(op, "m", torch.tensor([[1.0, 3, 2], [2, 2, 5]], requires_grad=True))
            call(op, "m", torch.tensor([[1.0, 3, 2], [2, 4, 5]], requires_grad=True), 1)
        else:
            call(op, "m", torch.tensor([[1.0, 3, 2], [2, 4, 5]], requires_grad=True), *((2,) if first else ()), 1)
        x = order.float()
        for values, places in (
            (torch.zeros(1), torch.zeros(1, dtype=torch.int64)), (torch.zeros(4, 2)[:, 0], torch.zeros(8, dtype=torch.int64)[::2]),
            (torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)),
            (torch.zeros(4), torch.zeros(4, dtype=torch.int32)), (torch.zeros(4, dtype=torch.float64), torch.zeros(4)),
            (torch.zeros(1).expand(4), torch.zeros(4, dtype=torch.int64)), (torch.zeros(4), torch.zeros(1, dtype=torch.int64).expand(4)),
            (x[2], torch.zeros(4, dtype=torch.int64)),
        ):
            call(op, "f", x, *first, 0, out=(values, places))
            call(op, "f", x, *first, 7, out=(values, places))
        for dtype in EVERY:
            call(op, "m", torch.ones((), dtype=dtype), *((1,) if first else ()), 0)
            call(op, "m", torch.zeros(0, 3, dtype=dtype), *((1,) if first else ()), 1)
            call(op, "m", torch.zeros(0, 3, dtype=dtype), *((1,) if first else ()), 0)
        for dtype in COMPLEX:
            call(op, "m", torch.zeros(0, 3, dtype=dtype, requires_grad=True), *((1,) if first else ()), 1)
            call(op, "m", torch.ones((), dtype=dtype, requires_grad=True), *((1,) if first else ()), 0)
    for numbers in ([2, 1, 2, 1, 3], [3, 3, 1, 3], [5, 4, 3], [1, 1, 1, 1, 1, 2, 2]):
        for dtype in (torch.int64, torch.float32, torch.uint8):
            call("mode", "m", torch.tensor(numbers).to(dtype))
            call("mode", "m", torch.tensor([numbers, numbers[::-1]]).to(dtype).t(), 0)


def running_exponentials(call):
    """Of equal numbers after none: the first elements are exact."""
    special = torch.tensor([[-INF, -INF, 1, INF], [0, -INF, -INF, NAN], [NAN, 1, 2, INF]])
    for dtype in FLOATS:
        call("logcumsumexp", "m", special.to(dtype), 0)
        call("logcumsumexp", "m", torch.tensor(3.0, dtype=dtype), 0)
        for dim in (0, 1, -1, 2):
            call("logcumsumexp", "m", torch.zeros(1, 3, dtype=dtype)[:, :1], dim)
            call("logcumsumexp", "f", torch.zeros(0, 3, dtype=dtype), dim)
    for dtype in [torch.bool, *INTEGERS]:
        call("logcumsumexp", "m", torch.zeros(2, 2).to(dtype), 0)
        call("logcumsumexp", "m", torch.zeros(0).to(dtype), 0)
    for out in EVERY:
        call("logcumsumexp", "f", torch.zeros(2, 1), 1, out=torch.zeros(0, dtype=out))
    for x in (*strided((3, 4)), *odd_strides()):
        call("logcumsumexp", "m", torch.full_like(x, -INF), 0)
    call("logcumsumexp", "m", torch.zeros(1, requires_grad=True), 0)


def counts(call):
    for dtype in EVERY:
        call("bincount", "f", torch.tensor([1, 3, 3, 0]).to(dtype))
        call("bincount", "m", torch.tensor([1, 3, 3, 0]), torch.tensor([1, 2, 4, 8]).to(dtype))
        call("bincount", "m", torch.tensor([1, 3]), torch.tensor([1, 2]).to(dtype), 6)
        call("bincount", "m", torch.zeros(0).to(dtype))
    for x in (torch.tensor([1, -3]), torch.tensor([[1]]), torch.tensor(1), torch.tensor([7, 1, 9, 1])[::2]):
        for least in (0, 2, 12, -1):
            call("bincount", "f", x, minlength=least)
    call("bincount", "f", torch.tensor([1]), torch.ones(2))
    call("bincount", "f", torch.tensor([1]), torch.ones(1, 1))
    call("bincount", "f", torch.zeros(0, dtype=torch.int64), torch.zeros(0), 3)


SECTIONS = [inverse_functions, questions, numbers_instead, pairs_of_numbers, picked, running_exponentials, counts]
