"""Inputs of the kernel fixtures: a formula over integers, so that no input has to be stored.

The reading side (test/ops/kernel-inputs.ts) computes the same bytes. All arithmetic is modulo 2^32:

    mix(x):   x ^= x >> 16; x *= 0x85EBCA6B; x ^= x >> 13; x *= 0xC2B2AE35; x ^= x >> 16
    u(j, k) = mix(j * 0x9E3779B1 + k * 0x85EBCA77 + 0x165667B1)

j is the element's position in its storage, k the stream: operand p of an op uses stream p, and p + 16 for the high
words of 64-bit integers and for imaginary parts. A domain turns u into a value that the dtype represents exactly:

    any      floats in [-8, 8) with all the mantissa bits that fit, integers over the whole range, bool = top bit
    spec     any, with NaN, infinities, -0, 0 and 1 at about one place in 61 (floats only)
    nans     any, with NaN, infinities and 1 there instead: no zeros of both signs, whose order torch leaves open
    pos      floats above 0, integers 1..100
    small    multiples of 1/4 in [-2, 1.75], integers -8..7 (0..15 unsigned): sums and products stay exact
    divisor  small without 0, and without -1 for integers
    expo     multiples of 1/2 in [-2, 2], integers 0..4
    sign     1 or -1 (1 when unsigned), 2 at every 9973rd place: products stay small; imaginary parts 0
    mask     top bit
    rev:N    N - 1 - j: a permutation used as an index;   idx:N  u mod N
"""
import numpy as np
import torch

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "c64": torch.complex64, "c128": torch.complex128, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
}
CODES = {v: k for k, v in DTYPES.items()}
NUMPY = {
    "u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64,
}
PART = {"c64": "f32", "c128": "f64"}
FLOATS = ("f16", "bf16", "f32", "f64")
SPECIALS = {"spec": [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], "nans": [np.nan, np.inf, -np.inf, 1.0]}


def mix(x):
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x85EBCA6B)
    x = x ^ (x >> np.uint32(13))
    x = x * np.uint32(0xC2B2AE35)
    return x ^ (x >> np.uint32(16))


def words(k, n):
    j = np.arange(n, dtype=np.uint32)
    return mix(j * np.uint32(0x9E3779B1) + np.uint32((k * 0x85EBCA77 + 0x165667B1) & 0xFFFFFFFF))


def any_float(dt, u):
    """The domain 'any' of a real float dtype, as exact float64 values."""
    if dt == "f16":
        return ((u >> 21).astype(np.float64) - 1024) / 128
    if dt == "bf16":
        return ((u >> 24).astype(np.float64) - 128) / 16
    if dt == "f32":
        return ((u >> 8).astype(np.float64) - 2 ** 23) / 2 ** 20
    return (u.astype(np.float64) - 2 ** 31) / 2 ** 28


def pos_float(dt, u):
    if dt == "f16":
        return ((u >> 21).astype(np.float64) + 1) / 128
    if dt == "bf16":
        return ((u >> 25).astype(np.float64) + 1) / 8
    if dt == "f32":
        return ((u >> 8).astype(np.float64) + 1) / 2 ** 20
    return (u.astype(np.float64) + 1) / 2 ** 28


def float_values(dt, dom, k, n):
    u = words(k, n)
    if dom == "any":
        return any_float(dt, u)
    if dom in SPECIALS:
        w = words(k + 32, n)
        table = np.array(SPECIALS[dom])[(w >> 8) % len(SPECIALS[dom])]
        return np.where(w % 61 == 0, table, any_float(dt, u))
    if dom == "pos":
        return pos_float(dt, u)
    if dom in ("small", "divisor"):
        v = ((u >> 28).astype(np.float64) - 8) / 4
        return np.where(v == 0, 1.5, v) if dom == "divisor" else v
    if dom == "expo":
        return ((u >> 28) % 9).astype(np.float64) / 2 - 2
    if dom == "sign":
        return sign_values(u, n, True).astype(np.float64)
    raise ValueError(dom)


def sign_values(u, n, signed):
    v = np.where((u >> 31 == 1) & signed, -1, 1)
    v[5::9973] *= 2
    return v


def int_values(dt, dom, k, n):
    """int64 values of a domain other than 'any'."""
    u = words(k, n)
    signed = dt[0] == "i"
    if dom == "pos":
        return ((u >> 24) % 100 + 1).astype(np.int64)
    if dom == "expo":
        return ((u >> 28) % 5).astype(np.int64)
    if dom == "sign":
        return sign_values(u, n, signed).astype(np.int64)
    v = (u >> 28).astype(np.int64) - (8 if signed else 0)
    if dom == "divisor":
        v[(v == 0) | (v == -1)] = 3
    return v


def any_int(dt, k, n):
    u = words(k, n)
    bits = np.iinfo(NUMPY[dt]).bits
    if bits == 64:
        return ((words(k + 16, n).astype(np.uint64) << np.uint64(32)) | u).view(NUMPY[dt])
    if dt[0] == "u":
        return (u >> np.uint32(32 - bits)).astype(NUMPY[dt])
    return ((u >> np.uint32(32 - bits)).astype(np.int64) - 2 ** (bits - 1)).astype(NUMPY[dt])


def storage(dt, dom, k, n):
    """A 1-d tensor of n elements."""
    if dom.startswith(("rev:", "idx:")):
        m = int(dom[4:])
        a = m - 1 - np.arange(n) % m if dom[0] == "r" else (words(k, n) % m).astype(np.int64)
        return torch.from_numpy(a.astype(np.int64))
    if dt == "bool":
        return torch.from_numpy(words(k, n) >> 31 == 1) if dom != "divisor" else torch.ones(n, dtype=torch.bool)
    if dt in PART:
        part = PART[dt]
        re = float_values(part, "any" if dom in SPECIALS else dom, k, n)
        im = float_values(part, "any" if dom in ("spec", "nans", "pos", "divisor") else dom, k + 16, n)
        if dom == "sign":
            im[:] = 0
        return torch.from_numpy(re + 1j * im).to(DTYPES[dt])
    if dt in FLOATS:
        return torch.from_numpy(float_values(dt, dom, k, n)).to(DTYPES[dt])
    a = any_int(dt, k, n) if dom in ("any", "spec", "nans", "mask") else int_values(dt, dom, k, n).astype(NUMPY[dt])
    return torch.from_numpy(a)


LAYOUTS = ("c", "t", "s", "x", "o")


def window(layout, shape):
    """(number of stored elements, strides, offset) of a 1-d or 2-d shape in a layout:
    c contiguous, t transposed, s every second element, x expanded along dim 0, o behind three other elements."""
    a, b = shape if len(shape) == 2 else (1, shape[0])
    two = len(shape) == 2
    if layout == "t" and two:
        return a * b, (1, max(a, 1)), 0
    if layout == "s":
        return 2 * a * b, (2 * max(b, 1), 2) if two else (2,), 0
    if layout == "x":
        return (b, (0, 1), 0) if two else (1, (0,), 0)
    pad = 3 if layout == "o" else 0
    return a * b + pad, (max(b, 1), 1) if two else (1,), pad


def tensor(dt, dom, k, layout, shape):
    if dom.startswith("rev:") or dom.startswith("idx:"):
        layout = "c"
    n, strides, offset = window(layout, shape)
    return torch.as_strided(storage(dt, dom, k, n), shape, strides, offset)


def canonical_words(t):
    """32-bit words of the contiguous bytes, NaNs made one bit pattern, zero padded."""
    t = t.detach().resolve_conj().contiguous()
    if t.is_complex():
        t = torch.view_as_real(t)
    if t.is_floating_point():
        t = torch.where(torch.isnan(t), torch.full((), float("nan"), dtype=t.dtype), t)
    if t.dtype in (torch.float16, torch.bfloat16):
        raw = t.view(torch.int16).numpy().copy()
        raw[torch.isnan(t).numpy()] = 0x7E00 if t.dtype == torch.float16 else 0x7FC0
    elif t.dtype == torch.float32:
        raw = t.numpy().view(np.uint32).copy()
        raw[np.isnan(t.numpy())] = 0x7FC00000
    elif t.dtype == torch.float64:
        raw = t.numpy().view(np.uint64).copy()
        raw[np.isnan(t.numpy())] = 0x7FF8000000000000
    else:
        raw = t.numpy()
    data = raw.tobytes()
    return np.frombuffer(data + b"\0" * (-len(data) % 4), dtype=np.uint32)


def digest(t):
    """16 hex digits: two sums over position-mixed words (see test/ops/kernel-digest.ts)."""
    w = canonical_words(t)
    i = np.arange(1, len(w) + 1, dtype=np.uint32)
    lo = mix(w + i * np.uint32(0x9E3779B1)).sum(dtype=np.uint32)
    hi = mix(w ^ (i * np.uint32(0x85EBCA77) + np.uint32(0x27D4EB2F))).sum(dtype=np.uint32)
    return "%08x%08x" % (hi, lo)
