"""Writes test/fixtures/derivative-kernels.json: gradients of tanh, sigmoid and relu, and gradients of these."""

import json
import pathlib

import torch

OUT = pathlib.Path(__file__).parents[2] / "test" / "fixtures" / "derivative-kernels.json"


def cells(t):
    return [("nan" if v != v else v) for v in t.detach().double().clamp(-1e30, 1e30).tolist()]


torch.manual_seed(7)
rows = []
for dtype in ("float32", "bfloat16", "float16", "float64"):
    for name in ("tanh", "sigmoid", "relu"):
        x = torch.cat([torch.randn(6) * 2, torch.tensor([0.0, float("nan"), float("inf")])])
        x = x.to(getattr(torch, dtype)).requires_grad_()
        g = torch.randn(9).to(x.dtype).requires_grad_()
        (r,) = torch.autograd.grad(getattr(x, name)(), x, g, create_graph=True)
        a, b = torch.autograd.grad(r[:6].sum(), [x, g])
        rows.append([dtype, name, cells(x), cells(g), cells(r), cells(a)[:6], cells(b)[:6]])
OUT.write_text(json.dumps(rows) + "\n")
