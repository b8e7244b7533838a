"""Writes the names of backward nodes that depend on the kinds of the arguments.

    python make_node_names.py > test/fixtures/node-names.jsonl

One line a call on a vector: operator, form (f function, m method, i in place), the other arguments (t a tensor, g one
that requires grad), options, the name of the result's grad_fn or null. tests: test/autograd/node-names.test.ts.
"""
import json

import torch


def name_of(op, form, args, options):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True).clone()
    others = [torch.tensor([2.0, 2.0, 2.0], requires_grad=v == "g") if v in ("t", "g") else v for v in args]
    if form == "f":
        r = getattr(torch, op)(x, *others, **options)
    else:
        r = getattr(x, op + ("_" if form == "i" else ""))(*others, **options)
    return r.grad_fn and type(r.grad_fn).__name__


def write(op, form, *args, **options):
    print(json.dumps([op, form, args, options, name_of(op, form, args, options)]))


for op in "eq ne lt le gt ge add sub mul div remainder fmod copysign pow true_divide".split():
    for form in "im":
        for v in (2, "t", "g"):
            write(op, form, v)
for form in "im":
    for rounding in ("floor", "trunc"):
        for v in (2, "t"):
            write("div", form, v, rounding_mode=rounding)
    for weight in (0.5, "t", "g"):
        write("lerp", form, "t", weight)
        write("lerp", form, "g", weight)
    for bounds in ([0], ["t"], [None, 2], [None, "t"]):
        write("clamp", form, *bounds)
for v in (2, "t", "g"):
    write("rsub", "f", v)
