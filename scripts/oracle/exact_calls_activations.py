"""A section for make_exact_cases.py: activations where their results are whole numbers or the elements themselves."""
import torch

from exact_calls import COMPLEX, FLOATS, INF, INTEGERS, NAN

EDGES = [-0.0, 0.0, 0.5, -0.5, 2.0, -2.0, 20.0, INF, -INF, NAN]
ABOVE = [0.0, -0.0, 0.5, 2.0, 90.0, INF, -INF, NAN]


def activations(call):
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        edges = torch.tensor([1.0, 0.0, 2.0, 5.0]).to(dtype) if not dtype.is_floating_point else torch.tensor(EDGES, dtype=dtype)
        call("hardshrink", "m", edges)
        call("hardshrink", "f", edges, 2.0)
        call("threshold", "f", edges, 1, 7)
        call("threshold", "f", edges, 0.5, -1.5)
        call("prelu", "m", edges, torch.ones(1, dtype=dtype))
        call("celu", "f", edges)
        call("selu", "f", edges)
    for dtype in FLOATS:
        above = torch.tensor(ABOVE, dtype=dtype)
        for alpha in (1.0, 2.0, 0.5, -1.0, 0.0):
            call("celu", "f", above, alpha)
        call("celu", "f", above[:-1].clone().requires_grad_())  # what NaN gives differs between dtypes
        call("prelu", "f", torch.tensor(EDGES, dtype=dtype, requires_grad=True), torch.tensor([0.5], dtype=dtype, requires_grad=True))
        call("hardshrink", "m", torch.tensor(EDGES, dtype=dtype, requires_grad=True), 1.0)
        call("threshold", "f", torch.tensor(EDGES, dtype=dtype, requires_grad=True), 0.5, 20)
    x = torch.arange(-6.0, 6.0).view(3, 4)
    for one in (x, x.t(), x[:, ::2], x[1:], x[0].expand(3, 4), x[:0], torch.tensor(-3.0)):
        call("hardshrink", "f", one, 2)
        call("threshold", "f", one, 2, 9)
        call("prelu", "f", one, torch.tensor([0.25]))
        call("prelu", "f", one, torch.tensor([0.25, 2.0, -1.0, 0.5]))
        call("prelu", "f", one, torch.tensor([[0.25]]))
        call("prelu", "f", one, torch.tensor([0.25], dtype=torch.float64))
    call("threshold", "f", torch.tensor([1, 5], dtype=torch.uint8), 300, 2)
    call("threshold", "f", torch.tensor([1, 5], dtype=torch.int8), 1, 200)


SECTIONS = [activations]
