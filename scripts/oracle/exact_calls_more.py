"""More sections for make_exact_cases.py: rearranging, sums of exponentials."""
import torch

from exact_calls import COMPLEX, FLOATS, INF, INTEGERS, NAN, counted, leaf, odd_strides, strided, values


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


SECTIONS = [rearranged, sums_of_exponentials]
