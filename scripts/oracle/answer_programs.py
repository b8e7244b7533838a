"""Runs programs for `bun run oracle`: one JSON line in, torch's answer as one JSON line out (test/oracle/).

In: leaves [{dt, sh, rg, b: base64 of the elements}], steps as golden cases of the family prog have them, bw. Out: err
{step, type, msg} or vars, and grads or bwerr, as golden cases have them; storages: contents in base64, by `s`. `odd`: the
program says nothing about operators (wrong arguments of Python's parser, an error inside torch).
"""
import base64
import json
import re
import sys
import warnings

import torch

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "c64": torch.complex64, "c128": torch.complex128,
}
CODE = {v: k for k, v in DTYPES.items()}
ERRORS = (RuntimeError, IndexError, ValueError, NotImplementedError, AssertionError)
ACCIDENT = re.compile(r"INTERNAL ASSERT|unexpected error|setStorage|can't allocate|invalid python storage")


class Odd(Exception):
    """What cannot be compared."""


class Storages:
    def __init__(self):
        self.numbers, self.bytes, self.kept = {}, [], []

    def number(self, t):
        s = t.untyped_storage()
        if s.nbytes() == 0:
            return -1
        if s.data_ptr() not in self.numbers:
            self.numbers[s.data_ptr()] = len(self.bytes)
            self.kept.append(s)
            raw = torch.empty(0, dtype=torch.uint8).set_(s)
            self.bytes.append(base64.b64encode(bytes(raw.tolist())).decode())
        return self.numbers[s.data_ptr()]

    def describe(self, t, bare):
        if t.dtype not in CODE:
            raise Odd(f"dtype {t.dtype}")
        d = {"s": self.number(t), "dt": CODE[t.dtype], "sh": list(t.shape), "st": list(t.stride()),
             "off": t.storage_offset()}
        for key, flag in (("cj", t.is_conj()), ("ng", t.is_neg())):
            if flag:
                d[key] = 1
        if bare:
            if t.requires_grad:
                d["rg"] = 1
            if t.grad_fn is not None:
                d["gf"] = type(t.grad_fn).__name__
            d.update({"ver": t._version, "leaf": int(t.is_leaf)}, **({"isv": 1} if t._is_view() else {}))
        return d


def leaf(d):
    raw = bytearray(base64.b64decode(d["b"]))
    flat = torch.frombuffer(raw, dtype=DTYPES[d["dt"]]).clone() if raw else torch.empty(0, dtype=DTYPES[d["dt"]])
    t = flat.view(d["sh"])
    return t.requires_grad_() if d.get("rg") else t


def decode(v, variables):
    if isinstance(v, list):
        return [decode(x, variables) for x in v]
    if not isinstance(v, dict):
        return v
    key, x = next(iter(v.items()))
    if key == "$v":
        return variables[x]
    if key == "$f":
        return float(x)
    return complex(*x) if key == "$c" else DTYPES[x]


def call(step, variables):
    _, name, receiver, args, kw = step
    args = [decode(a, variables) for a in args]
    kw = {k: decode(a, variables) for k, a in kw.items()}
    if isinstance(kw.get("out"), list):
        kw["out"] = tuple(kw["out"])
    f = torch if receiver is None else variables[receiver]
    for part in name.split("."):
        f = getattr(f, part)
    return f(*args, **kw)


def first_of(r):
    return r[0] if isinstance(r, (tuple, list)) and len(r) > 0 else r


def error(e):
    text = str(e).split("\nException raised")[0]
    if ACCIDENT.search(text):
        raise Odd(text)
    return [type(e).__name__, text.split("\n")[0][:300]]


def cotangent(t, k=0):
    i = torch.arange(t.numel(), dtype=torch.float64)
    re_ = ((7 * i + 3 + 5 * k) % 11 - 5) / 4
    v = torch.complex(re_, ((5 * i + 1 + 3 * k) % 7 - 3) / 4) if t.is_complex() else re_
    return v.to(t.dtype).reshape(t.shape)


def second(program, root, leaves, storages):
    """Gradients with a graph, their gradients, and the change along a tangent; torch has not all for each operator."""
    at = [i for i, d in enumerate(program["leaves"]) if d.get("rg")]
    inputs = [leaves[i] for i in at]

    def described(grads, zeros):
        filled = [torch.zeros_like(x) if zeros and g is None else g for x, g in zip(inputs, grads)]
        return {str(i): {"$t": storages.describe(g.detach().resolve_conj().resolve_neg().clone(), False)}
                for i, g in zip(at, filled) if g is not None}

    plain = torch.autograd.grad(root, inputs, cotangent(root), retain_graph=True, allow_unused=True)
    first = torch.autograd.grad(root, inputs, cotangent(root), create_graph=True, allow_unused=True)
    out = {"grads": described(first, False)}
    if any(a is not None and repr(a.clone().tolist()) != repr(b.clone().tolist()) for a, b in zip(plain, first)):
        out["plain"] = described(plain, False)
    roots = [g for g in first if g is not None and g.requires_grad]
    try:
        weights = [cotangent(g, k + 1) for k, g in enumerate(roots)]
        again = torch.autograd.grad(roots, inputs, weights, allow_unused=True) if roots else [None] * len(inputs)
        out["grads2"] = described(again, True)
    except ERRORS:
        pass
    try:
        with torch.autograd.forward_ad.dual_level():
            duals = [torch.autograd.forward_ad.make_dual(x.detach(), cotangent(x, k + 2))
                     for k, x in enumerate(inputs)]
            variables = list(leaves)
            for i, x in zip(at, duals):
                variables[i] = x
            for step in program["steps"]:
                r = first_of(call(step, variables))
                if step[0] is not None:
                    variables.append(r)
            tangent = torch.autograd.forward_ad.unpack_dual(variables[-1]).tangent
            tangent = torch.zeros_like(root) if tangent is None else tangent
            out["jvp"] = {"$t": storages.describe(tangent.detach().resolve_conj().resolve_neg().clone(), False)}
    except ERRORS:
        pass
    return out


def answer(program):
    torch.manual_seed(program.get("seed", 0))
    variables = [leaf(d) for d in program["leaves"]]
    out, storages = {}, Storages()
    for n, step in enumerate(program["steps"]):
        try:
            r = call(step, variables)
        except (TypeError, AttributeError, ZeroDivisionError) as e:
            raise Odd(str(e)) from e
        except ERRORS as e:
            kind, text = error(e)
            out["err"] = {"step": n, "type": kind, "msg": text}
            break
        if isinstance(r, tuple) and "out" in step[4]:
            continue
        r = first_of(r)
        if not isinstance(r, torch.Tensor):
            raise Odd("not a tensor")
        if step[0] is not None:
            variables.append(r)
    try:
        out["vars"] = [storages.describe(t, True) for t in variables]
    except RuntimeError as e:
        raise Odd(str(e)) from e
    last = variables[-1]
    if "err" not in out and last.requires_grad and (last.is_floating_point() or last.is_complex()):
        out["bw"] = len(variables) - 1
        try:
            if program.get("second"):
                out["second"] = second(program, last, variables[:len(program["leaves"])], storages)
                return {**out, "storages": storages.bytes}
            last.backward(cotangent(last))
            leaves = variables[:len(program["leaves"])]
            out["grads"] = {str(i): {"$t": storages.describe(t.grad, False)} for i, t in enumerate(leaves)
                            if t.is_leaf and t.grad is not None}
        except ERRORS as e:
            out["bwerr"] = error(e)
    return {**out, "storages": storages.bytes}


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Odd as e:
            reply = {"odd": str(e)[:200]}
        print(json.dumps(reply), flush=True)


main()
