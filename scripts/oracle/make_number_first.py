"""Calls with a number before the tensor, as torch answers them: test/fixtures/number-first.jsonl.

    python scripts/oracle/make_number_first.py > test/fixtures/number-first.jsonl

The functions that take a number first are called as functions; comparisons, which have no such function in torch, are
Python's operators.
"""
import json
import math
import operator
import sys

import torch

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
NUMBERS = {"2": 2, "-3": -3, "float 2": 2.0, "0.5": 0.5, "true": True, "i": 1j}
# What Python calls when the number is first; torch's messages name that one.
REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
FUNCTIONS = (
    "add sub mul div true_divide floor_divide remainder pow bitwise_and bitwise_or bitwise_xor multiply subtract divide"
).split()
OPTIONS = [
    ("add", {"alpha": 3}),
    ("sub", {"alpha": 3}),
    ("div", {"rounding_mode": "floor"}),
    ("div", {"rounding_mode": "trunc"}),
]


def base(dtype):
    rows = torch.tensor([[1.0, 2.0, 3.0], [4.0, -1.0, 7.0]], dtype=torch.float64)
    return (rows.abs() if dtype in ("bool", "uint8") else rows).to(getattr(torch, dtype))


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.t(),
    "steps": lambda x: x[:, ::2],
    "point": lambda x: x[0, 1],
    "spread": lambda x: x.expand(2, 2, 3),
}


def plain(t):
    if t.is_complex():
        return plain(torch.view_as_real(t.resolve_conj()))
    values = t.reshape(-1).to(torch.float64).tolist() if t.is_floating_point() else t.reshape(-1).tolist()
    return [str(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values]


def answer(name, call, leaf, view):
    try:
        result = call(view)
    except Exception as error:  # noqa: BLE001
        text = str(error).split("\n")[0]
        return [type(error).__name__, text.replace(f'"{REFLECTED.get(name)}_cpu"', f'"{name}_cpu"')]
    node = None if result.grad_fn is None else type(result.grad_fn).__name__
    grad = None
    if node is not None and "NotImplemented" not in node:
        total = result.sum()
        (total.real if total.is_complex() else total).backward()
        grad = plain(leaf.grad)
    return [str(result.dtype)[6:], list(result.shape), list(result.stride()), plain(result), node, grad]


def main():
    calls = [(name, {}) for name in [*REFLECTED, *FUNCTIONS]] + OPTIONS
    for name, options in calls:
        fn = getattr(operator, name) if name in REFLECTED else getattr(torch, name)
        for at, dtype in enumerate(DTYPES):
            for i, (number, value) in enumerate(NUMBERS.items()):
                # Every layout comes with every kind of number, and with every dtype.
                if number == "i" and dtype in ("float16", "bfloat16"):
                    continue  # complex dtypes that zensor has not
                for layout in (list(LAYOUTS)[(at + i) % 5], list(LAYOUTS)[(at + 2 * i + 2) % 5]):
                    leaf = base(dtype)
                    if leaf.is_floating_point() or leaf.is_complex():
                        leaf.requires_grad_()
                    row = answer(name, lambda x: fn(value, x, **options), leaf, LAYOUTS[layout](leaf))
                    json.dump([name, options, dtype, number, layout, row], sys.stdout, separators=(",", ":"))
                    print()


main()
