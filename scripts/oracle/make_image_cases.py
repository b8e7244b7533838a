"""Writes test/fixtures/cases-images: convolutions, pooling, padding and resizing of the real library, drawn from a
seed, with gradients; inputs lie contiguous, transposed, sliced, expanded, with channels last, or have no elements.

    python make_image_cases.py DIR
"""
import json
import pathlib
import random
import sys

import torch
import torch.nn.functional as F

DT = {torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64",
      torch.complex64: "c64", torch.uint8: "u8", torch.int32: "i32"}
draw = random.Random(20261128)
blob = bytearray()
places = {}
lines = []


def store(t):
    """The bytes of a whole storage, once."""
    raw = bytes(t.untyped_storage())
    if raw not in places:
        blob.extend(b"\0" * (-len(blob) % 16))
        places[raw] = len(blob)
        blob.extend(raw)
    return [places[raw], len(raw)]


def contiguous(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= max(n, 1)
    return tuple(strides)


class Case:
    def __init__(self):
        self.storages = []

    def tensor(self, t, result=False):
        d = {"s": -1 if t.untyped_storage().nbytes() == 0 else len(self.storages), "dt": DT[t.dtype],
             "sh": list(t.shape)}
        if d["s"] >= 0:
            self.storages.append(store(t.detach()))
        if t.stride() != contiguous(t.shape):
            d["st"] = list(t.stride())
        if t.storage_offset():
            d["off"] = t.storage_offset()
        if t.requires_grad:
            d["rg"] = 1
        if result and t.grad_fn is not None:
            d["gf"] = type(t.grad_fn).__name__
        return {"$t": d}

    def value(self, x, result=False):
        if isinstance(x, torch.Tensor):
            return self.tensor(x, result)
        if isinstance(x, tuple):
            return {"$tu": [self.value(y, result) for y in x]}
        if isinstance(x, list):
            return [self.value(y, result) for y in x]
        if isinstance(x, float):
            return {"$f": x}
        return x


def cotangent(t, k):
    i = torch.arange(t.numel(), dtype=torch.float64)
    re = ((7 * i + 3 + 5 * k) % 11 - 5) / 4
    if t.is_complex():
        im = ((5 * i + 1 + 3 * k) % 7 - 3) / 4
        return torch.complex(re, im).to(t.dtype).reshape(t.shape)
    return re.to(t.dtype).reshape(t.shape)


def numbers(shape, dt):
    if dt.is_floating_point or dt.is_complex:
        return torch.randn(shape, dtype=torch.float32 if dt.itemsize < 4 else dt).to(dt)
    return torch.randint(0 if dt is torch.uint8 else -9, 10, shape, dtype=dt)


def laid(shape, dt, layout):
    if layout == "transposed" and len(shape) > 1:
        order = list(range(len(shape)))
        order[-1], order[-2] = order[-2], order[-1]
        return numbers([shape[d] for d in order], dt).permute(order)
    if layout == "sliced":
        return numbers([*shape[:-1], 2 * shape[-1] + 1], dt)[..., 1::2]
    if layout == "expanded":
        return numbers([1, *shape[1:]], dt).expand(shape)
    if layout == "last" and len(shape) == 4:
        return numbers(shape, dt).contiguous(memory_format=torch.channels_last)
    return numbers(shape, dt)


def case(op, args, kw, dt):
    c = Case()
    grads = dt in (torch.float32, torch.float64, torch.complex64)
    inputs = [a for a in args if isinstance(a, torch.Tensor)]
    if grads:
        for a in inputs:
            a.requires_grad_()
    line = {"id": f"{op}/{DT[dt]}/i{len(lines)}", "op": f"nn.functional.{op}", "dt": DT[dt],
            "args": [c.value(a) for a in args]}
    if kw:
        line["kw"] = {k: c.value(v) for k, v in kw.items()}
    try:
        out = getattr(F, op)(*args, **kw)
    except Exception as e:
        message = str(e).split("\nException raised")[0][:600]
        line["err"] = {"type": type(e).__name__, "re": "", "got": type(e).__name__, "msg": message}
        for a in line["args"]:
            if isinstance(a, dict) and "$t" in a:
                a["$t"].pop("rg", None)
        line["S"] = c.storages
        lines.append(line)
        return
    line["out"] = c.value(tuple(out) if isinstance(out, (tuple, list)) else out, True)
    flat = [t for t in (out if isinstance(out, (tuple, list)) else [out])]
    wanted = [i for i, t in enumerate(flat) if t.requires_grad]
    if wanted:
        line["gi"] = wanted
        found = torch.autograd.grad([flat[i] for i in wanted], inputs, [cotangent(flat[i], i) for i in wanted],
                                    allow_unused=True)
        line["g"] = [None if g is None else c.tensor(g.detach()) for g in found]
    line["S"] = c.storages
    lines.append(line)


LAYOUTS = ["plain", "plain", "transposed", "sliced", "expanded", "last"]
DTYPES = [torch.float32] * 4 + [torch.float64] * 2 + [torch.bfloat16, torch.float16, torch.int64, torch.complex64]
pick = draw.choice


def convolutions():
    for n in range(150):
        dims, back, dt = pick([1, 2, 2, 3]), pick([False, False, True]), pick(DTYPES)
        groups = pick([1, 1, 2, 3])
        c, o = groups * pick([1, 1, 2, 3]), pick([1, 2, 3])
        kernel = [draw.randint(1, 3) for _ in range(dims)]
        kw = {"stride": tuple(draw.randint(1, 3) for _ in kernel), "groups": groups}
        kw["dilation"] = tuple(pick([1, 1, 2]) for _ in kernel)
        kw["padding"] = tuple(draw.randint(0, 2) for _ in kernel)
        if back:
            kw["output_padding"] = tuple(draw.randint(0, max(s, d) - 1) for s, d in zip(kw["stride"], kw["dilation"]))
        elif n % 7 == 0:
            kw["padding"], kw["stride"] = pick(["same", "valid"]), 1
        size = [draw.randint(1, 4) + d * (k - 1) for k, d in zip(kernel, kw["dilation"])]
        if back and any((m - 1) * s - 2 * p + d * (k - 1) + q + 1 < 1 for m, s, p, d, k, q in zip(
                size, kw["stride"], kw["padding"], kw["dilation"], kernel, kw["output_padding"])):
            continue
        # The library adds these up in 16 bits.
        if back and dims == 3 and dt.itemsize == 2:
            continue
        batch = pick([1, 2, 2, 0]) if n % 9 else 0
        shape = [batch, c, *size] if pick([1, 1, 1, 0]) else [c, *size]
        weight = [c, o, *kernel] if back else [groups * o, c // groups, *kernel]
        bias = numbers([groups * o], dt) if pick([0, 1]) else None
        name = f"conv_transpose{dims}d" if back else f"conv{dims}d"
        args = [laid(shape, dt, pick(LAYOUTS)), laid(weight, dt, pick(LAYOUTS[:4])), bias]
        # In 16 bits the library errs for some dilations.
        if dt.itemsize == 2:
            exact = getattr(F, name)(*[a if a is None else a.float() for a in args], **kw)
            if not torch.allclose(getattr(F, name)(*args, **kw).float(), exact, rtol=0.01, atol=0.01):
                continue
        case(name, args, kw, dt)


def pools():
    for n in range(110):
        dims, dt = pick([1, 2, 2, 3]), pick(DTYPES[:7])
        size = [draw.randint(3, 7) for _ in range(dims)]
        shape = [pick([1, 2, 0]), pick([1, 2]), *size] if pick([1, 1, 0]) else [2, *size]
        x = laid(shape, dt, pick(LAYOUTS))
        if n % 3 == 0:
            out = pick([draw.randint(1, 5), tuple(draw.randint(1, 5) for _ in size)])
            case(pick([f"adaptive_avg_pool{dims}d", f"adaptive_max_pool{dims}d"]), [x, out], {}, dt)
            continue
        kw = {"kernel_size": tuple(draw.randint(1, 3) for _ in size), "ceil_mode": pick([True, False])}
        kw["padding"] = tuple(draw.randint(0, k // 2) for k in kw["kernel_size"])
        if pick([0, 1]):
            kw["stride"] = tuple(draw.randint(1, 3) for _ in size)
        if n % 3 == 1:
            kw.update(dilation=pick([1, 2]), return_indices=pick([True, False]))
            case(f"max_pool{dims}d", [x], kw, dt)
        else:
            kw["count_include_pad"] = pick([True, False])
            if dims > 1:
                kw["divisor_override"] = pick([None, 3])
            case(f"avg_pool{dims}d", [x], kw, dt)


def others():
    for n in range(90):
        dims, dt = pick([1, 2, 2, 3]), pick(DTYPES)
        size = [draw.randint(2, 5) for _ in range(dims)]
        mode = pick(["reflect", "replicate", "circular", "constant"])
        shape = [pick([1, 2]), 2, *size] if pick([0, 1]) else [2, *size]
        case("pad", [laid(shape, dt, pick(LAYOUTS)), tuple(draw.randint(-1, 2) for _ in range(2 * dims)), mode], {}, dt)
    for n in range(60):
        dims, dt = pick([1, 2, 2, 3]), pick(DTYPES[:6])
        mode = pick(["nearest", "nearest-exact", "area", ["linear", "bilinear", "trilinear"][dims - 1]])
        kw = {"mode": mode}
        if mode.endswith("linear"):
            kw["align_corners"] = pick([True, False])
        if pick([0, 1]):
            kw["size"] = tuple(draw.randint(1, 7) for _ in range(dims))
        else:
            kw["scale_factor"] = pick([2.0, 1.7, 0.6])
        case("interpolate", [laid([2, 2, *[draw.randint(2, 5) for _ in range(dims)]], dt, pick(LAYOUTS))], kw, dt)


def rearranged():
    for dt in (torch.float32, torch.bfloat16):
        for layout in LAYOUTS:
            case("pixel_shuffle", [laid([2, 8, 2, 3], dt, layout), 2], {}, dt)
            case("pixel_unshuffle", [laid([2, 2, 4, 6], dt, layout), 2], {}, dt)
            case("channel_shuffle", [laid([2, 6, 2, 3], dt, layout), 3], {}, dt)
            case("upsample", [laid([2, 2, 3, 3], dt, layout), 5], {}, dt)
            case("upsample_nearest", [laid([2, 2, 3, 3], dt, layout)], {"scale_factor": 2}, dt)
            case("upsample_bilinear", [laid([2, 2, 3, 3], dt, layout), (4, 5)], {}, dt)


torch.manual_seed(1)
torch.set_num_threads(1)
convolutions()
pools()
others()
rearranged()
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
(folder / "index.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
(folder / "blob.bin").write_bytes(bytes(blob))
print(len(lines), "cases", len(blob), "bytes", sum("err" in line for line in lines), "errors")
