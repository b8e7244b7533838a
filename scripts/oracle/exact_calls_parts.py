"""A section for make_exact_cases.py: parts of matrices, what positions bring together, shifted bits."""
import torch

from exact_calls import COMPLEX, FLOATS, INF, INTEGERS, NAN


def layouts(x):
    return (x, x.t(), x[:, ::2], x[1:], x[0].expand(3, 4), x[:0], x[:, :0])


def parts(call):
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        x = torch.arange(12).view(3, 4).to(dtype)
        for k in (0, 1, -1, 5, -5):
            call("tril", "m", x, k)
            call("triu", "f", x, k)
        call("diag", "f", x, 1)
        call("diag", "m", x[0], -1)
        call("diag_embed", "m", x, 1, 0, 2)
        call("diagflat", "f", x[:2, :2], 1)
        call("diagonal_scatter", "f", x, x[:, 0].clone())
        call("slice_scatter", "m", x, x[:1].clone(), 0, 1, 2)
        call("slice_scatter", "f", x, x[:, :2].clone(), 1, -2)
        call("select_scatter", "f", x, x[0].clone(), 0, 2)
        call("count_nonzero", "m", x)
        call("count_nonzero", "f", x, 1)
        if not dtype.is_complex:
            call("aminmax", "m", x)
            call("aminmax", "f", x, dim=1, keepdim=True)
    x = torch.arange(12.0).view(3, 4)
    for one in layouts(x):
        call("tril", "f", one)
        call("triu", "m", one, 1)
        call("diag_embed", "f", one)
        call("count_nonzero", "f", one, 0)
    call("tril", "f", torch.tensor([1.0, NAN, INF]).expand(3, 3))
    call("tril", "f", x[0])
    call("diag", "f", x[None])
    call("diag_embed", "f", x, 0, 1, 1)
    call("slice_scatter", "f", x, x[0].clone(), 0, 1, 2)
    call("aminmax", "f", x[:0])
    for wide in (x.view(1, 3, 4).expand(2, 3, 4), torch.zeros(2, 0, 3)):
        call("tril", "m", wide, -1)
        call("triu", "m", wide, -1)


def together(call):
    index = torch.tensor([[0, 2, 0, 1], [2, 2, 1, 0]])
    for dtype in [*INTEGERS, *FLOATS]:
        x = torch.arange(1, 13).view(3, 4).to(dtype)
        src = torch.tensor([[5, 1, 2, 9], [3, 3, 7, 1]]).to(dtype)
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include in (True, False):
                call("scatter_reduce", "m", x, 0, index, src, reduce, include_self=include)
                if reduce != "sum":
                    call("index_reduce", "m", x, 0, torch.tensor([2, 2]), src, reduce, include_self=include)
    floats = torch.tensor([[NAN, 1.0, -INF, INF], [2.0, NAN, 0.0, -0.0]])
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        call("scatter_reduce", "f", torch.ones(3, 4), 0, index, floats, reduce)
    call("scatter_reduce", "f", torch.ones(3, 4), 0, index, floats, "max")
    call("scatter_reduce", "f", torch.ones(3, 4), 0, index + 2, floats, "sum")


def shifts(call):
    for dtype in [torch.bool, *INTEGERS, torch.float32]:
        x = torch.tensor([1, 3, 5, 7]).to(dtype)
        for by in (0, 1, 7, 8, 31, 63):
            call("bitwise_left_shift", "m", x, torch.full((4,), by).to(dtype))
            call("bitwise_right_shift", "m", x, torch.full((4,), by).to(dtype))
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        x = torch.tensor([-8, -1, 100, 0], dtype=dtype)
        for by in (-1, 1, 6, 7, 15, 31, 63):
            call("bitwise_left_shift", "f", x, by)
            call("bitwise_right_shift", "f", x, by)


SECTIONS = [parts, together, shifts]
