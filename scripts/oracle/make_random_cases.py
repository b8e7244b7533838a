"""Writes random calls with torch's answers: shapes with 0-dim and empty ones, strided, expanded and aliasing operands,
mixed dtypes, wrong arguments; results, storages afterwards, gradients and error texts.

    python make_random_cases.py OUT_FILE COUNT [SEED [OP...]]      `more` for those of random_calls_more.py
    python make_random_cases.py OUT_FILE COUNT SEED strict all          every layout, version and flag is an answer too
    python make_random_cases.py OUT_FILE COUNT SEED strict conj all     complex numbers, some lazily conjugated
    python make_random_cases.py OUT_FILE 0 0 aimed [strict]     those of aimed_calls.py, all of them

One JSON line a case: T operands [dtype, storage number, shape, strides, offset, requires grad, 1 if conjugated], S storages (values),
op, form (f function, m method, i in-place, o out=), args, kw; then err [class, first line], or out (results), post
(storages that the call changed), grads. tests: test/ops/random-cases.test.ts.
"""
import json
import random
import re
import sys
import warnings

import torch

import random_calls
from aimed_calls import aimed
from random_calls import CALLS, DTYPES, draw_call
from random_calls_more import BEFORE, MORE
from random_calls_rest import REST

CODE = {v: k for k, v in DTYPES.items()}
PARSING = re.compile(r"position|received an invalid|unexpected keyword|must be|got multiple")
# Messages about torch's insides.
ACCIDENTS = re.compile(r"setStorage|INTERNAL ASSERT|Expected isFloatingType|INDICES element|unexpected error|overflow.*sizes|can't allocate|ZeroDivision")
FLOATS = ("f16", "bf16", "f32", "f64", "c64", "c128")


def number(v):
    if isinstance(v, complex):
        return [number(v.real), number(v.imag)]
    if isinstance(v, float):
        return "nan" if v != v else "inf" if v == float("inf") else "-inf" if v == -float("inf") else v
    return v


def flat(t):
    t = t.detach().resolve_conj().resolve_neg().reshape(-1)
    if t.dtype in (torch.float16, torch.bfloat16):
        t = t.float()
    return [number(v) for v in t.tolist()]


def storage_of(t):
    return torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())


def snapshot(storages, t, strict=False):
    """A result: a plain value, or a tensor with the operand whose storage it shares."""
    if not isinstance(t, torch.Tensor):
        return {"v": number(t)} if isinstance(t, (bool, int, float, complex)) else {"v": str(t)}
    ptr = t.untyped_storage().data_ptr()
    owner = -1
    if t.numel() > 0:
        # An operand may have been resized: only its storage knows.
        owner = next((k for k, s in enumerate(storages) if s.untyped_storage().data_ptr() == ptr), -1)
    r = {"dt": CODE[t.dtype], "sh": list(t.shape), "st": list(t.stride()), "x": flat(t), "a": owner}
    if owner >= 0:
        r["off"] = t.storage_offset()
    if strict:
        r["ver"] = t._version
        flags = ("c" if t.is_conj() else "") + ("n" if t.is_neg() else "")
        r.update({"fl": flags} if flags else {})
    if t.requires_grad:
        r["gf"] = type(t.grad_fn).__name__ if t.grad_fn is not None else None
    return r


def build(case):
    storages = [torch.tensor([complex(*map(float, v)) if isinstance(v, list) else v for v in s], dtype=DTYPES[d])
                for d, s in case["S"]]
    tensors = []
    for dt, s, shape, strides, offset, grad, *lazy in case["T"]:
        t = torch.as_strided(storages[s], shape, strides, offset).detach()
        t = t.conj().detach() if lazy else t
        tensors.append(t.requires_grad_() if grad else t)
    return storages, tensors


def decode(v, tensors):
    if isinstance(v, list):
        return [decode(x, tensors) for x in v]
    if not isinstance(v, dict):
        return v
    key, x = next(iter(v.items()))
    return {"t": lambda: tensors[x], "f": lambda: float(x), "dt": lambda: DTYPES[x],
            "c": lambda: complex(*x), "mf": lambda: getattr(torch, x)}[key]()


def invoke(case, tensors):
    args = [decode(a, tensors) for a in case["args"]]
    kw = {k: decode(v, tensors) for k, v in case.get("kw", {}).items()}
    name, form = case["op"], case["form"]
    if form == "m":
        return getattr(args[0], name)(*args[1:], **kw)
    if form == "i":
        return getattr(args[0], name + "_")(*args[1:], **kw)
    f = torch
    for part in name.split("."):
        f = getattr(f, part)
    return f(*args, **kw)


def cotangent(t, k):
    i = torch.arange(t.numel(), dtype=torch.float64)
    return (((7 * i + 3 + 5 * k) % 11 - 5) / 4).to(t.dtype).reshape(t.shape)


def answer(case):
    storages, tensors = build(case)
    before = [s.clone() for s in storages]
    if "seed" in case:
        torch.manual_seed(case["seed"])
    try:
        r = invoke(case, tensors)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, OverflowError) as e:
        case["err"] = [type(e).__name__, str(e).split("\n")[0][:300]]
        return case
    results = list(r) if isinstance(r, (tuple, list)) else [r]
    if case["op"] == "topk":
        results = results[:1]  # the order of equal elements is open
    case["out"] = [snapshot(storages, t, "strict" in case) for t in results]
    case["post"] = {}
    for k, s in enumerate(storages):
        same = torch.equal(s.view(torch.uint8), before[k].view(torch.uint8)) if s.numel() else True
        if not same:
            case["post"][k] = flat(s)
    if "strict" in case:
        case["tv"] = [t._version for t in tensors]
    add_gradients(case, tensors, results)
    return case


def add_gradients(case, tensors, results):
    outs = [t for t in results if isinstance(t, torch.Tensor) and t.requires_grad]
    leaves = [t for t in tensors if t.requires_grad and t.is_leaf]
    if not outs or not leaves or all(o.is_leaf for o in outs):
        return
    outs = [o for o in outs if not o.is_leaf]
    try:
        grads = torch.autograd.grad(outs, leaves, [cotangent(o, k) for k, o in enumerate(outs)], allow_unused=True)
        case["grads"] = [None if g is None else flat(g) for g in grads]
        if case.get("exact") or case.get("strict"):
            case["gst"] = [None if g is None else list(g.stride()) for g in grads]
    except (RuntimeError, NotImplementedError) as e:
        case["gerr"] = [type(e).__name__, str(e).split("\n")[0][:300]]


def conjugated(rng, call, some):
    """The call, with some complex operands lazily conjugated."""
    for t in call["T"] if some else ():
        t.extend([1] if t[0][0] == "c" and rng.random() < 0.4 else [])
    return call


def main():
    out, count = sys.argv[1], int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    names = sys.argv[4:] or [name for name in CALLS if name in BEFORE]
    strict, conj = names[:1] == ["strict"], names[:2] == ["strict", "conj"]
    names = names[strict + conj:]
    if conj:
        random_calls.COMMON[:] = ["c64", "c64", "c128", "f32"]
    if names == ["more"]:
        names = MORE
    elif names == ["rest"]:
        names = REST
    elif names == ["all"]:
        names = list(CALLS)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if names[:1] == ["aimed"]:
        strict = names[1:] == ["strict"]
        drawn = ((f"{part}-{n}", case) for n, (part, case) in enumerate(aimed()))
    else:
        drawn = ((n, conjugated(rng, draw_call(rng, names[n % len(names)]), conj)) for n in range(count))
    with open(out, "w") as f:
        for name, call in drawn:
            try:
                case = answer({**call, "strict": True} if strict else call)
            except (KeyError, ValueError):  # a dtype that only torch has, values that no tensor holds
                continue
            # Python's own complaints about arguments say nothing about operators.
            if case.get("err", [""])[0] == "TypeError" and PARSING.search(case["err"][1]):
                continue
            if any(ACCIDENTS.search(case[k][1]) for k in ("err", "gerr") if k in case):
                continue
            text = json.dumps({"id": name, **case}, separators=(",", ":"))
            f.write(text.replace("-Infinity", '"-inf"').replace("Infinity", '"inf"').replace("NaN", '"nan"') + "\n")


if __name__ == "__main__":
    main()
