"""Values of functions at and beside the bounds at which kernels change their ways, and between them.

    python scripts/oracle/make_edge_values.py test/fixtures/edges.jsonl

Finite results of finite arguments come from mpmath with 90 digits, as a float64 and what is left of it, in units of
its last place; signs of zeros and results with infinities and NaN are torch's. Arrays are little-endian float64 (`lo`:
float32) in base64; complex numbers are pairs.
"""

import base64
import json
import math
import random
import sys

import mpmath as mp
import numpy as np
import torch

mp.mp.prec = 300

BOUNDS = [
    5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-100, 1e-30, 1e-17, 1e-8, 1e-4, 0.1, 0.25,
    math.log(2) / 2, math.sqrt(2) - 1, 0.5, math.sqrt(0.5), 1.0, math.sqrt(2), 1.5, math.pi / 2, 2.0, math.pi,
    9.1, 20.0, 22.0, 37.0, 40.0, 87.0, 88.7, 350.0, 700.0, 708.0, 709.78, 710.0, 745.2, 746.0, 1000.0,
    20000.0, 1e6, 2.0**52, 1e22, 1e100, 2.0**900, 1e300, 2.0**1000, 1.7976931348623157e308, math.inf,
]


def around(values):
    for v in values:
        yield v
        if 0 < v < math.inf:
            yield math.nextafter(v, 0)
            yield math.nextafter(v, math.inf)


def real_edges():
    half = list(around(BOUNDS))
    return [math.nan, 0.0, -0.0] + half + [-x for x in half]


def real_arguments(low, high, seed):
    r = random.Random(seed)
    return real_edges() + [r.uniform(low, high) for _ in range(300)]


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


REAL = {
    "exp": (mp.exp, torch.exp, (-745, 709)),
    "expm1": (mp.expm1, torch.expm1, (-3, 3)),
    "log": (mp.log, torch.log, (0, 3)),
    "log1p": (mp.log1p, torch.log1p, (-1, 2)),
    "tanh": (mp.tanh, torch.tanh, (-3, 3)),
    "sigmoid": (sigmoid, torch.sigmoid, (-40, 40)),
    "sin": (mp.sin, torch.sin, (-100, 100)),
    "cos": (mp.cos, torch.cos, (-100, 100)),
}


def parts_of(value):
    hi = float(value)
    return hi, float((value - mp.mpf(hi)) / mp.mpf(math.ulp(hi))) if math.isfinite(hi) else 0.0


def text(values, kind="<f8"):
    return base64.b64encode(np.asarray(values, dtype=kind).tobytes()).decode()


def line(name, args, hi, lo):
    return {"fn": name, "args": [text(a) for a in args], "hi": text(hi), "lo": text(lo, "<f4")}


def real_line(name):
    exact, ours, (low, high) = REAL[name]
    xs = real_arguments(low, high, name)
    from_torch = ours(torch.tensor(xs, dtype=torch.float64)).tolist()
    hi, lo = [], []
    for x, y in zip(xs, from_torch):
        if not math.isfinite(x) or not math.isfinite(y) or x == 0:
            hi.append(y), lo.append(0.0)
            continue
        a, b = parts_of(exact(mp.mpf(x)))
        hi.append(a), lo.append(b)
    return line(name, [xs], hi, lo)


def pairs(name):
    r = random.Random(name)
    edges = [x for x in real_edges() if math.isnan(x) or abs(x) in (0, 1, math.inf) or r.random() < 0.2]
    xs = [(x, y) for x in (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -3.0, 2.0) for y in
          (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3.0, -2.0, 0.5)]
    xs += [(r.choice(edges), r.choice(edges)) for _ in range(200)]
    if name == "pow":
        xs += [(math.exp(r.uniform(-20, 20)), r.uniform(-30, 30)) for _ in range(300)]
        xs += [(r.uniform(0.98, 1.02), r.uniform(-30000, 30000)) for _ in range(100)]
        xs += [(-r.uniform(0, 30), float(r.randint(-40, 40))) for _ in range(50)]
        # Results at both ends of the range, denormals among them.
        xs += [(2.0 + r.random(), s * r.uniform(700, 1074) / math.log2(2.5)) for s in (1, -1) for _ in range(60)]
    else:
        xs += [(r.uniform(-3, 3), r.uniform(-3, 3)) for _ in range(300)]
        xs += [(s * 2.0**e * r.random(), t * 2.0**e * r.random()) for s in (1, -1) for t in (1, -1) for e in (1020, -1020)]
    return xs


PAIRS = {
    "pow": (lambda x, y: mp.power(x, y).real, torch.pow),
    "atan2": (mp.atan2, torch.atan2),
}


def pair_line(name):
    exact, ours = PAIRS[name]
    xs = pairs(name)
    a, b = ([p[i] for p in xs] for i in (0, 1))
    from_torch = ours(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)).tolist()
    hi, lo = [], []
    for x, y, t in zip(a, b, from_torch):
        if not math.isfinite(x) or not math.isfinite(y) or not math.isfinite(t) or t == 0 or x == 0 or y == 0:
            hi.append(t), lo.append(0.0)
            continue
        p, q = parts_of(exact(mp.mpf(x), mp.mpf(y)))
        hi.append(p), lo.append(q)
    return line(name, [a, b], hi, lo)


COMPLEX = {
    "exp": (mp.exp, torch.exp),
    "log": (mp.log, torch.log),
    "log1p": (lambda z: mp.log(1 + z), torch.log1p),
    "sqrt": (mp.sqrt, torch.sqrt),
    "tanh": (mp.tanh, torch.tanh),
    "sigmoid": (sigmoid, torch.sigmoid),
    "sin": (mp.sin, torch.sin),
    "cos": (mp.cos, torch.cos),
    "expm1": (mp.expm1, torch.expm1),
    "reciprocal": (lambda z: 1 / z, torch.reciprocal),
    "abs": (abs, torch.abs),
}


def complex_arguments():
    r = random.Random("complex")
    some = [0.0, 1e-310, 1e-200, 1e-9, 0.3, 0.5, 0.9, 1.0, 1.1, 1.5, 2.7, 10.0, 21.9, 22.0, 22.1, 300.0, 699.0, 700.0,
            700.1, 709.0, 900.0, 1e5, 1e7, 2.0**900, 1e280, 1e300, 1.7e308, math.inf, math.nan]
    sign = lambda: r.choice((1, -1))
    zs = [complex(sign() * r.choice(some), sign() * r.choice(some)) for _ in range(260)]
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1000.0]
    zs += [complex(x, y) for x in special for y in special]
    zs += [complex(r.uniform(-3, 3), r.uniform(-3, 3)) for _ in range(80)]
    # Near the unit circle, around it and around the point -1.
    for _ in range(60):
        angle, size = r.uniform(-math.pi, math.pi), 1 + r.uniform(-1, 1) * 10 ** -r.uniform(0, 12)
        zs.append(complex(size * math.cos(angle), size * math.sin(angle)))
    for near in (-1, 0, 1):
        zs += [complex(near + r.uniform(-1, 1) * 10 ** -r.uniform(1, 9), r.uniform(-1, 1) * 10 ** -r.uniform(0, 9))
               for _ in range(20)]
    return zs


def flat(zs):
    return [p for z in zs for p in (z.real, z.imag)]


def signed(parts, like):
    """mpmath knows one zero only, and the side of a cut follows from its sign."""
    hi, lo = parts
    return (hi, lo) if math.copysign(1, hi) == math.copysign(1, like) else (-hi, -lo)


def complex_line(name, zs, shared):
    exact, ours = COMPLEX[name]
    from_torch = ours(torch.tensor(zs, dtype=torch.complex128)).tolist()
    hi, lo = [], []
    for z, t in zip(zs, from_torch):
        t = complex(t)
        known = [math.isfinite(z.real), math.isfinite(z.imag), math.isfinite(t.real), math.isfinite(t.imag)]
        parts = [(t.real, 0.0), (t.imag, 0.0)]
        if all(known) and z != 0 and z != -1:
            w = mp.mpc(exact(mp.mpc(z.real, z.imag)))
            parts = [signed(parts_of(e), v) for e, v in ((w.real, t.real), (w.imag, t.imag))]
        if name == "abs":
            parts = parts[:1]
        if name == "expm1" and z.imag == 0:
            # torch makes NaN of the zero beside large numbers; a real number stays one here.
            parts = [(math.inf if z.real > 709.8 else z.real, 0.0) if math.isnan(t.imag) else parts[0], (z.imag, 0.0)]
        hi += [p[0] for p in parts]
        lo += [p[1] for p in parts]
    return line(f"complex {name}", [] if shared else [flat(zs)], hi, lo)


def special_line(name, call):
    """torch's results of pairs of complex numbers with zeros, infinities and NaN in all parts."""
    r = random.Random(name)
    parts = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e200, 1.7e308]
    draw = lambda: complex(r.choice(parts), r.choice(parts))
    a, b = ([draw() for _ in range(500)] for _ in range(2))
    made = call(*(torch.tensor(zs, dtype=torch.complex128) for zs in (a, b))).tolist()
    return line(f"special {name}", [flat(a), flat(b)], flat(map(complex, made)), [])


def main():
    lines = [real_line(name) for name in REAL] + [pair_line(name) for name in PAIRS]
    zs = complex_arguments()
    # All have the arguments of the first.
    lines += [complex_line(name, zs, i > 0) for i, name in enumerate(COMPLEX)]
    lines += [special_line("pow", torch.pow), special_line("logaddexp", torch.logaddexp)]
    with open(sys.argv[1], "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)


main()
