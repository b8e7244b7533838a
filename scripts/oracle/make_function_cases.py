"""Writes test/fixtures/cases-functions: F.multi_head_attention_forward and F.rrelu with their options, gradients and
refusals, as cases of families "gradgrad" and "init" (see test/conformance/modules).

    python scripts/oracle/make_function_cases.py test/fixtures/cases-functions
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from module_cases import Writer, cotangent, flat, save


def record(writer, function, args, kw, seed):
    """The results of a call and their gradients, or its error."""
    name = function.__name__
    path = f"nn.functional.{name}"
    torch.manual_seed(seed)
    case = {"id": f"gradgrad/{path}/{len(writer.lines)}", "fam": "gradgrad", "op": path, "seed": seed}
    case.update(args=[writer.encode(x) for x in args], kw={key: writer.encode(x) for key, x in kw.items()})
    try:
        out = function(*args, **kw)
    except Exception as error:
        message = str(error).split("\n")[0]
        case = {"id": f"init/{path}/{len(writer.lines)}", "fam": "init", "op": path, "leaves": [], "vars": []}
        case["steps"] = [[0, path, [writer.encode(x) for x in args], {key: writer.encode(x) for key, x in kw.items()}]]
        case["err"] = {"step": 0, "type": type(error).__name__, "msg": message}
        writer.write(case)
        return
    case["out"] = writer.encode(out)
    outputs = [t for t in flat(out if isinstance(out, (tuple, list)) else [out])]
    case["gi"] = [k for k, t in enumerate(outputs) if t.requires_grad]
    case["hi"] = []
    leaves = [t for t in [*args, *kw.values()] if isinstance(t, torch.Tensor) and t.requires_grad]
    roots = [outputs[k] for k in case["gi"]]
    grads = [None] * len(leaves)
    if roots:
        cotangents = [cotangent(t, k) for t, k in zip(roots, case["gi"], strict=True)]
        grads = torch.autograd.grad(roots, leaves, cotangents, create_graph=True, allow_unused=True)
    # What is compared are values: whether they have graphs of their own is left out.
    case["g"] = [None if g is None else writer.encode(g.detach()) for g in grads]
    writer.write(case)


def attention(writer):
    def leaf(*shape, seed=0):
        made = torch.Generator().manual_seed(seed + sum(shape))
        return torch.randn(*shape, generator=made, dtype=torch.float64, requires_grad=True)

    def call(q, k, v, heads=2, static=(), changed=None, **kw):
        width = q.shape[-1]
        args = [q, k, v, width, heads, leaf(3 * width, width), leaf(3 * width), None, None, False, 0.0]
        args += [leaf(width, width, seed=5), leaf(width, seed=6)]
        for index, value in (changed or {}).items():
            args[index] = value
        record(writer, F.multi_head_attention_forward, args, kw, len(writer.lines))

    q, k, v = leaf(3, 2, 4), leaf(5, 2, 4, seed=1), leaf(5, 2, 4, seed=2)
    later = torch.ones(3, 5).tril().eq(0)
    padding = torch.tensor([[False, False, True, False, True], [False, True, False, False, False]])
    call(q, k, v)
    call(q, leaf(3, 2, 4), leaf(3, 2, 4, seed=1))
    call(q, k, v, need_weights=False)
    call(q, k, v, average_attn_weights=False, attn_mask=later)
    call(q, k, v, key_padding_mask=padding, attn_mask=leaf(4, 3, 5))
    call(q, k, v, attn_mask=later, need_weights=False, is_causal=True)
    call(q[:, 0].detach().requires_grad_(), k[:, 0].detach(), v[:, 0].detach(), key_padding_mask=padding[0])
    biases = {7: leaf(1, 1, 4, seed=7), 8: leaf(1, 1, 4, seed=8)}
    call(q, k, v, changed=biases, key_padding_mask=padding, attn_mask=later)
    call(q, k, v, changed={**biases, 9: True}, key_padding_mask=padding, attn_mask=later)
    call(q, k, v, changed={9: True, 12: None, 6: None})
    call(q, k, v, changed={10: 0.5}, training=True)
    call(q, k, v, changed={10: 0.5}, training=False)
    wide = {name: leaf(4, width, seed=9) for name, width in (("q", 4), ("k", 3), ("v", 6))}
    three = {f"{name}_proj_weight": weight for name, weight in wide.items()}
    apart = leaf(5, 2, 3), leaf(5, 2, 6)
    call(q, *apart, use_separate_proj_weight=True, **three)
    call(q, *apart, changed={6: None, 9: True}, use_separate_proj_weight=True, need_weights=False, **three)
    fixed = leaf(4, 5, 2, seed=10), leaf(4, 5, 2, seed=11)
    call(q, k, v, static_k=fixed[0])
    call(q, k, v, static_k=fixed[0], static_v=fixed[1], changed={9: True})
    call(q, k, v, static_v=fixed[1], key_padding_mask=padding)
    # Refusals.
    call(q, k, v, heads=3)
    call(q, k, v, changed={3: 5})
    call(q, k, v, changed={5: None})
    call(q, k, apart[1])
    call(q, k, v, use_separate_proj_weight=True)
    call(q, k, v, use_separate_proj_weight=True, q_proj_weight=wide["q"])
    call(q, leaf(4, 2, 4), v, use_separate_proj_weight=True)
    call(q, k, v, changed={7: biases[7]})
    call(q, k, v, changed={8: biases[8]})
    call(q, k, v, changed=biases, static_k=fixed[0])
    call(q, k, v, changed=biases, static_v=fixed[1])
    call(q, k, v, static_k=leaf(3, 5, 2))
    call(q, k, v, static_v=leaf(4, 5, 3))
    call(q, k, v, is_causal=True)
    call(q, k, v, attn_mask=torch.ones(3, 4).bool())
    call(q, k, v, attn_mask=torch.ones(2, 3, 5).bool())
    call(q, k, v, attn_mask=torch.ones(3, 5).long())
    call(q, k, v, attn_mask=torch.ones(5).bool())
    call(q, k, v, key_padding_mask=torch.ones(5).bool())
    call(q, k, v, key_padding_mask=torch.ones(2, 4).bool())
    call(q, k, v, key_padding_mask=torch.ones(3, 5).bool())
    call(q, k[:, 0], v)
    call(leaf(4), k, v)


def slopes(writer):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.tensor([[-1.0, 2, -3], [0, -0.0, -0.5], [float("nan"), -float("inf"), 4]], dtype=dtype)
        for kw in ({}, {"training": True}, {"lower": -1.0, "upper": 2.0, "training": True}, {"lower": 0.5, "upper": 0.5}):
            given = x if dtype == torch.bfloat16 else x.clone().requires_grad_()
            record(writer, F.rrelu, [given], kw, len(writer.lines))
            record(writer, F.rrelu, [x.clone()], {**kw, "inplace": True}, len(writer.lines))
    long = torch.linspace(-3, 1, 301, dtype=torch.float64)
    record(writer, F.rrelu, [long], {"training": True}, 3)
    record(writer, F.rrelu, [torch.ones(0)], {"training": True}, 4)
    for dtype in (torch.int64, torch.bool):
        for training in (False, True):
            record(writer, F.rrelu, [torch.ones(2).to(dtype)], {"training": training}, 5)
    for lower, upper in ((0.5, 0.25), (float("inf"), 1.0), (0.0, float("nan")), (2.0, float("-inf"))):
        record(writer, F.rrelu, [torch.ones(2)], {"lower": lower, "upper": upper}, 6)


def main(folder):
    torch.set_num_threads(1)
    writer = Writer()
    attention(writer)
    slopes(writer)
    save(writer, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
