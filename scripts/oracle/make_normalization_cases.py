"""Golden cases of normalizations and attention: layouts, dtypes, forms, gradients, refusals.

    python make_normalization_cases.py OUT_DIR

Writes index.jsonl and blob.bin as test/conformance reads them. One case for each line of CALLS and layout.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F

CODES = {torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16", torch.bool: "bool", torch.int64: "i64"}
RANKS = {"f32": 1, "f64": 1}


class Writer:
    def __init__(self):
        self.blob, self.known, self.lines = bytearray(), {}, []

    def place(self, raw):
        if raw not in self.known:
            self.blob += b"\0" * (-len(self.blob) % 16)
            self.known[raw] = [len(self.blob), len(raw)]
            self.blob += raw
        return self.known[raw]


def raw_of(t):
    s = t.untyped_storage()
    return bytes(s.tolist()) if s.nbytes() else b""


class Case:
    def __init__(self, writer):
        self.w, self.s, self.of = writer, [], {}

    def tensor(self, t, fresh=False, result=False):
        key = t.untyped_storage().data_ptr()
        raw = raw_of(t.detach())
        if not raw:
            index = -1
        elif key in self.of and not fresh:
            index = self.of[key]
        else:
            index = len(self.s)
            self.s.append(self.w.place(raw))
            self.of[key] = index
        d = {"s": index, "dt": CODES[t.dtype], "sh": list(t.shape)}
        expect, step = [], 1
        for n in reversed(t.shape):
            expect.insert(0, step)
            step *= max(n, 1)
        if list(t.stride()) != expect:
            d["st"] = list(t.stride())
        if t.storage_offset():
            d["off"] = t.storage_offset()
        if t.requires_grad:
            d["rg"] = 1
            if result and t.grad_fn is not None:
                d["gf"] = type(t.grad_fn).__name__
        return {"$t": d}

    def value(self, x):
        if isinstance(x, torch.Tensor):
            return self.tensor(x)
        if isinstance(x, float):
            return {"$f": x}
        if isinstance(x, (tuple, list, torch.Size)):
            return {"$tu": [self.value(y) for y in x]}
        return x


def cotangent(t, k=0):
    i = torch.arange(t.numel(), dtype=torch.float64)
    return (((7 * i + 3 + 5 * k) % 11 - 5) / 4).reshape(t.shape).to(t.dtype)


def write(writer, name, fn, args, kw, number):
    case = Case(writer)
    dt = next(CODES[a.dtype] for a in args if isinstance(a, torch.Tensor))
    line = {"id": f"{name}/{dt}/n{number}", "op": name, "dt": dt}
    encoded = [case.value(a) for a in args]
    line["args"] = encoded
    if kw:
        line["kw"] = {k: case.value(v) for k, v in kw.items()}
    inputs = [a for a in [*args, *kw.values()] if isinstance(a, torch.Tensor)]
    before = {id(a): raw_of(a.detach()) for a in inputs}
    try:
        out = fn(*args, **kw)
    except Exception as e:  # noqa: BLE001
        line["err"] = {"type": type(e).__name__, "msg": str(e).split("\nException raised")[0][:500]}
        line["S"] = case.s
        writer.lines.append(line)
        return
    post = {}
    for a in inputs:
        if raw_of(a.detach()) != before[id(a)]:
            case.s.append(writer.place(raw_of(a.detach())))
            post[str(case.of[a.untyped_storage().data_ptr()])] = len(case.s) - 1
    line["out"] = case.tensor(out, fresh=True, result=True)
    if post:
        line["post"] = post
    wanted = [a for a in inputs if a.requires_grad]
    if wanted and out.requires_grad and dt in RANKS:
        grads = torch.autograd.grad(out, wanted, cotangent(out), allow_unused=True)
        line["gi"] = [0]
        line["g"] = [None if g is None else case.tensor(g.contiguous(), fresh=True) for g in grads]
    line["S"] = case.s
    writer.lines.append(line)


def layouts(shape, dtype, rg):
    """One tensor of a shape in several layouts."""
    g = torch.Generator().manual_seed(len(shape) * 100 + sum(shape))
    base = lambda *s: torch.randn(*s, generator=g, dtype=torch.float64).to(dtype)
    yield base(*shape)
    if len(shape) > 1:
        yield base(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
        yield base(*shape[:-1], 2 * shape[-1])[..., ::2]
        yield base(1, *shape[1:]).expand(*shape)
    yield base(0, *shape[1:])
    if len(shape) == 4:
        yield base(*shape).to(memory_format=torch.channels_last)


def leaf(t, rg):
    return t.detach().requires_grad_(rg and t.dtype in (torch.float32, torch.float64))


def norms(emit):
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        p = lambda n, at=0.5: leaf((torch.arange(n, dtype=torch.float64) / 4 - at).to(dtype), True)
        for shape in ((5, 4), (3, 4, 6), (2, 4, 3, 5), (2, 40), (3, 2, 33)):
            for x in layouts(shape, dtype, True):
                n, c = x.shape[-1], x.shape[1]
                emit("nn.functional.layer_norm", F.layer_norm, [leaf(x, True), (n,), p(n), p(n, 0.25)], {})
                emit("nn.functional.rms_norm", F.rms_norm, [leaf(x, True), (n,), p(n)], {})
                emit("nn.functional.group_norm", F.group_norm, [leaf(x, True), 2], {"weight": p(c), "bias": p(c, 1.0)})
                dense = x.is_contiguous() or x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
                if dtype.itemsize == 2 and not dense:
                    continue  # torch rounds each step of theirs
                stats = lambda: [torch.zeros(c, dtype=dtype), torch.ones(c, dtype=dtype)]
                emit("nn.functional.batch_norm", F.batch_norm, [leaf(x, True), *stats(), p(c), p(c)], {"training": True})
                emit("nn.functional.batch_norm", F.batch_norm, [leaf(x, True), *stats(), p(c), None], {"momentum": 0.5})
                if x.dim() > 2 and x.numel():
                    emit("nn.functional.instance_norm", F.instance_norm, [leaf(x, True)], {"weight": p(c)})
                if dtype in (torch.float32, torch.float64):
                    emit("nn.functional.normalize", F.normalize, [leaf(x, True)], {"dim": -1, "p": 3.0})
        x = leaf(torch.arange(24, dtype=torch.float64).reshape(2, 3, 4).to(dtype), True)
        emit("nn.functional.layer_norm", F.layer_norm, [x, (3, 4)], {"eps": 0.5})
        emit("nn.functional.layer_norm", F.layer_norm, [x, (3, 4), p(12).detach().reshape(3, 4)], {})
        emit("nn.functional.layer_norm", F.layer_norm, [x, (4,), None, p(4)], {})
        emit("nn.functional.rms_norm", F.rms_norm, [x, (4,)], {"eps": 0.25})
        emit("nn.functional.batch_norm", F.batch_norm, [x, None, None], {"training": True})
        if dtype in (torch.bfloat16, torch.float16):
            w = torch.linspace(0.5, 2, 4)
            emit("nn.functional.layer_norm", F.layer_norm, [x, (4,), w, w], {})
            emit("nn.functional.batch_norm", F.batch_norm, [x, torch.zeros(3), torch.ones(3), w[:3], w[:3]], {"training": True})


def main_names(emit):
    """As the main namespace has them."""
    for dtype in (torch.float32, torch.float64):
        g = torch.Generator().manual_seed(5)
        r = lambda *s: leaf(torch.randn(*s, generator=g, dtype=torch.float64).to(dtype), True)
        stats = lambda: [torch.zeros(4, dtype=dtype), torch.ones(4, dtype=dtype)]
        emit("layer_norm", torch.layer_norm, [r(3, 4), (4,), r(4), r(4)], {})
        emit("layer_norm", torch.layer_norm, [r(3, 4), (3, 4)], {"eps": 0.5, "cudnn_enable": False})
        emit("rms_norm", torch.rms_norm, [r(3, 4), (4,), r(4)], {"eps": 0.25})
        emit("group_norm", torch.group_norm, [r(1, 4), 4], {})
        emit("group_norm", torch.group_norm, [r(2, 4, 3), 2, r(4), r(4), 0.5], {"cudnn_enabled": False})
        emit("batch_norm", torch.batch_norm, [r(3, 4), r(4), r(4), *stats(), True, 0.1, 1e-5, False], {})
        emit("batch_norm", torch.batch_norm, [r(1, 4), None, None, None, None, True, 0.1, 0.5, False], {})
        emit("batch_norm", torch.batch_norm, [r(3, 4, 2), r(4), None, *stats(), False, 0.1, 0.5, True], {})
        emit("instance_norm", torch.instance_norm, [r(2, 4, 3), r(4), r(4), *stats(), True, 0.5, 1e-5, False], {})
        emit("instance_norm", torch.instance_norm, [r(2, 4, 3), None, None, *stats(), False, 0.5, 1e-5, False], {})


def refused(emit):
    x, long = torch.ones(2, 6, 4), torch.ones(2, 6, 4, dtype=torch.int64)
    one = torch.ones
    wide = one(4, dtype=torch.float64)
    ln, gn, bn, inn, rms = F.layer_norm, F.group_norm, F.batch_norm, F.instance_norm, F.rms_norm
    for args in ([x, (3,)], [x, ()], [x, (4,), one(3)], [x, (4,), one(4), one(5)], [long, (4,)], [x, (4,), wide], [x.double(), (4,), one(4)], [x, (7, 2, 6, 4)]):
        emit("nn.functional.layer_norm", ln, args, {})
    for args in ([x, (3,)], [x, ()], [x, (4,), one(3)], [long, (4,)], [x, (7, 2, 6, 4)], [x, (6, 5)]):
        emit("nn.functional.rms_norm", rms, args, {})
    for args in ([x, 4], [x, -1], [x, 3, one(3)], [x, 3, one(6), one(5)], [x, 3, one(6, 1)], [one(6), 1], [long, 3], [one(1, 6), 6], [one(2, 0, 4), 3]):
        emit("nn.functional.group_norm", gn, args, {})
    m, v = torch.zeros(6), one(6)
    for args, kw in (([x, None, None], {}), ([x, m, None], {}), ([x, one(5), v], {}), ([x, m, one(5)], {}), ([x, m, v, one(5)], {}), ([long, m, v], {}), ([one(1, 6), m, v], {"training": True}), ([x, m, v], {"eps": -1.0}), ([x, m, v], {"training": True, "eps": 0.0}), ([x, m, None], {"training": True})):
        emit("nn.functional.batch_norm", bn, args, kw)
    for args, kw in (([x], {"use_input_stats": False}), ([one(2, 6, 1)], {}), ([x, one(5), one(5)], {}), ([x], {"weight": one(5)})):
        emit("nn.functional.instance_norm", inn, args, kw)


def attention(emit):
    name, sdpa = "nn.functional.scaled_dot_product_attention", F.scaled_dot_product_attention
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        g = torch.Generator().manual_seed(3)
        r = lambda *s: leaf(torch.randn(*s, generator=g, dtype=torch.float64).to(dtype), True)
        emit(name, sdpa, [r(2, 2, 5, 8), r(2, 2, 7, 8), r(2, 2, 7, 8)], {})
        emit(name, sdpa, [r(1, 2, 9, 6), r(1, 2, 5, 6), r(1, 2, 5, 6)], {"is_causal": True})
        emit(name, sdpa, [r(1, 4, 3, 6), r(1, 2, 5, 6), r(1, 2, 5, 6)], {"enable_gqa": True})
        mask = torch.arange(15).reshape(3, 5) % 4 != 1
        mask[1] = False
        emit(name, sdpa, [r(2, 1, 3, 6), r(2, 1, 5, 6), r(2, 1, 5, 6), mask], {})
        emit(name, sdpa, [r(2, 2, 3, 6), r(2, 2, 5, 6), r(2, 2, 5, 6), r(2, 1, 3, 5).detach()], {"scale": 0.25})
        emit(name, sdpa, [r(3, 6), r(5, 6), r(5, 2)], {})
        emit(name, sdpa, [leaf(r(2, 5, 2, 6).detach().transpose(1, 2), True), r(2, 2, 4, 6), r(2, 2, 4, 6)], {})
        if dtype.itemsize > 2:  # roundings of short floats follow torch's own blocks
            emit(name, sdpa, [r(1, 1, 60, 4), r(1, 1, 530, 4), r(1, 1, 530, 4)], {"is_causal": True})
    q, k = torch.ones(2, 4, 5, 8), torch.ones(2, 4, 6, 8)
    flags = torch.ones(5, 6)
    for args, kw in (([q, k.double(), k], {}), ([q[0, 0, 0], k, k], {}), ([q, k, k, flags.bool()], {"is_causal": True}), ([q, k, k, flags.double()], {}), ([q, k, k, flags.long()], {}), ([q, k[:, :3], k[:, :3]], {"enable_gqa": True})):
        emit(name, sdpa, args, kw)


def main(out):
    torch.set_num_threads(1)
    writer, counts = Writer(), {}

    def emit(name, fn, args, kw):
        counts[name] = counts.get(name, 0) + 1
        write(writer, name, fn, args, kw, counts[name])

    for section in (norms, main_names, refused, attention):
        section(emit)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "index.jsonl"), "w") as f:
        for line in writer.lines:
            f.write(json.dumps(line, separators=(",", ":")) + "\n")
    with open(os.path.join(out, "blob.bin"), "wb") as f:
        f.write(writer.blob)
    print(len(writer.lines), "cases", len(writer.blob), "bytes", counts)


if __name__ == "__main__":
    main(sys.argv[1])
