"""Makes test/fixtures/func/cases.jsonl: derivatives of functions by torch.func.

    python scripts/oracle/make_func_cases.py test/fixtures/func/cases.jsonl

A line has the transform, the name of the function (test/func/functions.ts has the same ones), its arguments and what
torch gives, all in float64: tensors as {shape, data}, in lists where there are several.
"""

import json
import sys

import torch
from torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
F = torch.nn.functional

FUNCTIONS = {
    "sin": lambda x: x.sin(),
    "exp": lambda x: (x * 0.5).exp() / (x.square() + 1),
    "product": lambda x: x.prod(),
    "cumsum": lambda x: x.cumsum(0) * x,
    "cumprod": lambda x: x.cumprod(0),
    "softmax": lambda x: x.softmax(-1),
    "logSoftmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "norm": lambda x: x.norm(),
    "variance": lambda x: x.var(0) + x.std(),
    "largest": lambda x: x.max() * x.amax(0),
    "sorted": lambda x: x.sort(0).values.square(),
    "clamped": lambda x: x.clamp(-0.5, 0.5) * x,
    "chosen": lambda x: torch.where(x > 0, x.square(), x.sin()),
    "picked": lambda x: x[1] * x[:2].sum() + x[torch.tensor([0, 1, 0])].sum(),
    "joined": lambda x: torch.cat([x.square(), torch.stack([x, x.sin()]).sum(0)], 0),
    "reversed": lambda x: x.flip(0).unsqueeze(0).expand(2, *x.shape) * x,
    "gates": lambda x: torch.relu(x) + x.erf() + torch.sigmoid(x) * torch.tanh(x),
    "constant": lambda x: torch.ones(2) * 3,
    "partly": lambda x: x.detach() * x,
}
TWO = {
    "times": lambda a, b: a * b,
    "quotient": lambda a, b: a / (b.square() + 1),
    "powers": lambda a, b: (a.square() + 1) ** b,
    "matmul": lambda a, b: a @ b.mT if a.ndim == 2 else a * b.sum(),
    "outer": lambda a, b: a.unsqueeze(-1) * b.unsqueeze(-2),
    "linear": lambda a, b: F.linear(a, b.reshape(-1, b.shape[-1])).tanh(),
    "layerNorm": lambda a, b: F.layer_norm(a, a.shape[-1:], b.reshape(-1, b.shape[-1])[0]),
    "mse": lambda a, b: F.mse_loss(a, b, reduction="sum") + F.smooth_l1_loss(a, b),
    "largerOf": lambda a, b: torch.maximum(a, b).atan2(a.square() + 1),
    "mixed": lambda a, b: torch.lerp(a, b, 0.25) + torch.addcmul(a, a, b),
}


def numbers(*shape):
    return (torch.randn(shape) * 4).round() / 4 + torch.rand(shape) / 16


def coded(value):
    if isinstance(value, torch.Tensor):
        return {"shape": list(value.shape), "data": value.detach().double().flatten().tolist()}
    return [coded(x) for x in value]


def line(out, transform, name, args, result, **more):
    out.write(json.dumps({"transform": transform, "fn": name, "args": coded(args), **more, "out": coded(result)}) + "\n")


def cases(out, name, f, args):
    every = tuple(range(len(args)))
    total = lambda *a: f(*a).square().sum()  # noqa: E731
    y = f(*args)
    line(out, "grad", name, args, grad(total, argnums=every)(*args))
    gradient, value = grad_and_value(total)(*args)
    line(out, "gradAndValue", name, args, [gradient, value])
    cotangent = numbers(*y.shape)
    result, pull = vjp(f, *args)
    line(out, "vjp", name, args, [result, pull(cotangent)], given=coded([cotangent]))
    tangents = tuple(numbers(*a.shape) for a in args)
    line(out, "jvp", name, args, jvp(f, args, tangents), given=coded(tangents))
    line(out, "jacrev", name, args, jacrev(f, argnums=every)(*args))
    line(out, "jacfwd", name, args, jacfwd(f, argnums=every)(*args))
    # Those of layer_norm by torch.func are not symmetric.
    second = torch.autograd.functional.hessian(total, args) if name == "layerNorm" else hessian(total, every)(*args)
    line(out, "hessian", name, args, second)
    twice = grad(lambda *a: grad(total)(*a).sin().sum())
    line(out, "twice", name, args, twice(*args))
    many = tuple(torch.stack([a, a * 0.5 - 0.125]) for a in args)
    line(out, "examples", name, many, vmap(grad(total, argnums=every))(*many))
    # The others are the same for all examples.
    alike = (many[0], *args[1:])
    line(out, "alike", name, alike, vmap(grad(total, argnums=every), (0, *[None] * (len(args) - 1)))(*alike))


def main():
    with open(sys.argv[1], "w") as out:
        for name, f in FUNCTIONS.items():
            for shape in ([3], [3, 2]):
                cases(out, name, f, (numbers(*shape),))
        for name, f in TWO.items():
            for shape in ([3], [2, 3]):
                cases(out, name, f, (numbers(*shape), numbers(*shape)))


main()
