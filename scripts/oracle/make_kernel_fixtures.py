"""Writes the kernel fixtures: every compute op over dtypes, layouts, sizes and forms, as torch answers them.

    python make_kernel_fixtures.py OUT_DIR

Not the full product: for each op a pairwise covering design over (dtype, layout of x, layout of y, size, form).
OUT_DIR/ops.json holds the op table; OUT_DIR/rows-*.jsonl one row a line:
    o op, d dtype, n size, l layouts of x and y, f form (f forward, i in-place, o out=, g gradient), t target dtype,
    then one of
    h   digests: of each result; in-place and out= digest the whole storage written to, so that gaps count too
    v,w sampled values of each result (positions: see `positions`) and weighted sums of all of them (see `sums`)
    q   where a result has NaN and infinities: see `places`
    s   a plain scalar result
    e   [class, message]: torch refuses
    rd, rs: dtype and shape of each result.
"""
import itertools
import json
import math
import os
import random
import sys
import warnings

import numpy as np
import torch

import kernel_inputs as ki
from kernel_ops import ALL, table

SHAPES = {0: (0, 3), 1: (1, 1), 7: (1, 7), 63: (7, 9), 64: (8, 8), 65: (5, 13), 1000: (25, 40), 70000: (250, 280)}
HALF = ("f16", "bf16")
UNSIGNED = ("u16", "u32", "u64")
TENSOR_ONLY = ("hypot", "nextafter", "heaviside", "gcd", "lcm", "fmax", "fmin", "ldexp", "logical_xor",
               "maximum", "minimum", "isclose", "logical_and", "logical_or", "atan2", "copy_", "clamp_min.tensor",
               "clamp_max.tensor", "logaddexp", "logaddexp2")
# Significant digits of a sum; far more than its bound needs.
DIGITS = {"g": 7, "f16": 8, "bf16": 8, "f32": 10, "f64": 17}
PYTHON_ERRORS = ("TypeError", "AttributeError")


def positions(n):
    if n <= 16:
        return list(range(n))
    return sorted({0, 1} | {j * (n - 1) // 9 for j in range(1, 9)} | set(range(n - 6, n)))


def shape_of(kind, n):
    a, b = SHAPES[n]
    c = min(a, 16) + 1
    return {"same": (a, b), "mat": (b, c), "bias": (c,), "rows": (a,), "cols": (b,), "wt": (c, b), "acc": (a, c),
            "flat": (a * b,), "b3x": (a, b), "b3y": (b, c)}[kind]


class Build:
    """The operands of one row, made on demand."""

    def __init__(self, spec, row):
        self.spec, self.row, self.made = spec, row, {}

    def operand(self, name):
        if name not in self.made:
            self.made[name] = self.make(name)
        return self.made[name]

    def make(self, name):
        spec, row = self.spec, self.row
        kind = spec.get("shapes", {}).get(name, "same")
        shape, n = shape_of(kind, row["n"]), row["n"]
        a, b = SHAPES[n]
        if name == "m":
            return ki.tensor("bool", "mask", 3, "c", shape)
        if name == "i":
            return ki.tensor("i64", index_domain(spec["index"], a, b), 4, "c", shape)
        layout = {"x": row["l"][0], "y": row["l"][1:2] or "c"}.get(name, "c")
        if name == "y" and layout == "k":
            return 3 if row["d"] in ALL[:6] + ALL[12:] else 1.5
        if name == "y" and layout == "r":
            shape, layout = (b,), "c"
        stream = "xyz".index(name)
        t = ki.tensor(row["d"], spec["doms"][name], stream, layout, shape)
        if row["f"] == "g" and (t.is_floating_point() or t.is_complex()):
            t = t.requires_grad_()
        if kind in ("b3x", "b3y"):
            self.made[name + "0"] = t
            t = t.unsqueeze(0).expand(2, -1, -1)
        return t

    def arg(self, a):
        if isinstance(a, list):
            return [self.arg(v) for v in a]
        if isinstance(a, dict):
            return ki.DTYPES[self.row[a["dt"]]] if "dt" in a else a["f"]
        return self.operand(a) if isinstance(a, str) else a

    def leaves(self):
        return [self.made.get(k + "0", self.made[k]) for k in "xyz"
                if isinstance(self.made.get(k), torch.Tensor) and self.made[k].requires_grad]


def index_domain(kind, a, b):
    """Index values stay inside dim 0 ('idx', 'rev') or dim 1 ('idx1', 'rev1')."""
    size = {"idx": a, "rev": a, "idx1": b, "rev1": b}[kind]
    if kind == "rev":
        size = max(a, 1)
    return "%s:%d" % (kind[:3], max(size, 1))


def function(name):
    f = torch
    for part in name.split("."):
        f = getattr(f, part)
    return f


def call(spec, args):
    if hasattr(torch, spec["fn"].split(".")[0]) and spec["fn"] != "copy":
        return function(spec["fn"])(*args, **spec["kw"])
    return getattr(args[0], spec["fn"])(*args[1:], **spec["kw"])


def cotangent(t):
    i = np.arange(t.numel())
    re = ((7 * i + 3) % 11 - 5) / 4
    v = re + 1j * (((5 * i + 1) % 7 - 3) / 4) if t.is_complex() else re
    return torch.from_numpy(v).to(t.dtype).reshape(t.shape)


def out_tensor(like, layout):
    """A tensor to write into, in a layout, over formula values: gaps must keep them."""
    shape = tuple(like.shape)
    if layout == "x" or len(shape) not in (1, 2):
        layout = "c"
    n, strides, offset = ki.window(layout, shape) if len(shape) in (1, 2) else (like.numel(), None, 0)
    base = ki.storage(ki.CODES[like.dtype], "small", 8, n)
    return base.view(shape) if strides is None else torch.as_strided(base, shape, strides, offset)


def whole(t):
    return torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())


def run_form(spec, row):
    """(results, storages to digest)."""
    b = Build(spec, row)
    args = [b.arg(a) for a in spec["args"]]
    form = row["f"]
    if form == "i":
        x = args[0]
        getattr(x, spec["fn"].split(".")[-1] + "_")(*args[1:], **spec["kw"])
        return [x], [whole(x)]
    r = call(spec, args)
    results = list(r) if isinstance(r, (tuple, list)) else [r]
    if spec.get("first"):
        results = results[:1]
    if form == "o":
        out = out_tensor(results[0], row["l"][-1])
        function(spec["fn"])(*args, **spec["kw"], out=out)
        return [out], [whole(out)]
    if form == "g":
        grads = torch.autograd.grad([results[0]], b.leaves(), [cotangent(results[0])], allow_unused=True)
        return [g for g in grads if g is not None], None
    return results, results


def sampled(spec, row, results):
    """Whether the row is compared by samples."""
    if row["f"] == "g":
        return True
    t = results[0]
    if not isinstance(t, torch.Tensor) or not (t.is_floating_point() or t.is_complex()):
        return False
    inexact = spec["mode"] != "hash" or ("cplx" in spec and row["d"][0] == "c")
    return inexact or ("half" in spec and row["d"] in HALF)


def number(x, dt):
    if not np.isfinite(x):
        return "nan" if np.isnan(x) else "inf" if x > 0 else "-inf"
    return float(str(np.float32(x))) if dt != "f64" else float(x)


def sums(every, digits, coarse):
    """Weighted sums of the finite numbers of each lane class, which is the position modulo 16. A large result that may
    be off by much has more classes. Signs and sizes of the weights are scrambled, so that no regular exchange of signs
    or places cancels out; sizes lie between 1 and 2, so that no number counts for little."""
    lanes = 128 if coarse and len(every) > 500 else 16
    u = ki.words(48, len(every))
    weights = np.where(u >> 31, -1, 1) * (1 + (u >> 16 & 255) / 256)
    terms = np.where(np.isfinite(every), every, 0) * weights
    return [float("%.*g" % (digits, math.fsum(terms[lane::lanes]))) for lane in range(lanes)]


def places(every):
    """A sum that tells where NaN, infinity and minus infinity are."""
    kind = np.select([np.isnan(every), np.isposinf(every), np.isneginf(every)], [1, 2, 3])
    return int((kind * (np.arange(len(every)) + 1)).sum())


def sample(t, row):
    t = t.detach().resolve_conj().contiguous().reshape(-1)
    part = {"c64": "f32", "c128": "f64"}.get(ki.CODES[t.dtype], ki.CODES[t.dtype])
    at = t[torch.tensor(positions(t.numel()), dtype=torch.int64)]
    flat = torch.view_as_real(at).reshape(-1) if t.is_complex() else at
    every = (torch.view_as_real(t).reshape(-1) if t.is_complex() else t).double().numpy()
    digits = DIGITS["g"] if row["f"] == "g" else DIGITS.get(part, 10)
    # What is short is sampled as a whole.
    weighted = sums(every, digits, part in HALF) if len(at) < len(t) else []
    return [number(v, part) for v in flat.double().tolist()], weighted, places(every)


def answer(spec, row):
    try:
        results, storages = run_form(spec, row)
    except (RuntimeError, IndexError, ValueError, TypeError) as e:
        return {"e": [type(e).__name__, str(e).split("\n")[0][:300]]}
    if not isinstance(results[0], torch.Tensor):
        return {"s": results[0]}
    ans = {"rd": [ki.CODES[t.dtype] for t in results], "rs": [list(t.shape) for t in results]}
    if sampled(spec, row, results):
        values, weighted, kinds = zip(*(sample(t, row) for t in results))
        ans["v"] = list(values)
        if any(weighted):
            ans["w"] = list(weighted)
        return {**ans, "q": list(kinds)} if any(kinds) else ans
    return {**ans, "h": [ki.digest(t) for t in storages]}


def covering(factors, rng):
    """Rows that contain every pair of values of any two factors at least once (greedy)."""
    keys = list(factors)
    pairs = {(i, a, j, b) for i, j in itertools.combinations(range(len(keys)), 2)
             for a in factors[keys[i]] for b in factors[keys[j]]}
    rows = []
    while pairs:
        best, gain = None, -1
        i, a, j, b = rng.choice(sorted(pairs, key=str))
        for _ in range(24):
            row = [rng.choice(factors[k]) for k in keys]
            row[i], row[j] = a, b
            g = sum((p, row[p], q, row[q]) in pairs for p, q in itertools.combinations(range(len(keys)), 2))
            if g > gain:
                best, gain = row, g
        pairs -= {(p, best[p], q, best[q]) for p, q in itertools.combinations(range(len(keys)), 2)}
        rows.append(dict(zip(keys, best)))
    return rows


def factors_of(name, spec):
    ly = [""]
    if "y" in spec["doms"]:
        ly = list("ctsxo")
        elementwise = spec["args"] == ["x", "y"] and "shapes" not in spec and not ("_loss" in name or name.startswith("equal"))
        ly += ["r"] if elementwise else []
        ly += ["k"] if elementwise and name not in TENSOR_ONLY else []
    more = {"t": ALL} if spec.get("convert") else {}
    return {"d": ALL, "x": list("ctsxo"), "y": ly, "n": list(SHAPES), "f": list(spec["forms"]), **more}


def undefined(name, spec, row):
    """Combinations whose result torch leaves open."""
    if row["f"] == "g" and row["d"] not in ("f16", "bf16", "f32", "f64", "c64", "c128"):
        return True
    if spec.get("convert"):
        to = row["t"]
        floating = row["d"][0] in "fbc" and row["d"] != "bool"
        return floating and to[0] == "u" and spec["doms"]["x"] == "any"
    return False


def rows_of(name, spec, rng):
    seen = set()
    for combo in covering(factors_of(name, spec), rng):
        row = {"o": name, "d": combo["d"], "n": combo["n"], "l": combo["x"] + combo["y"], "f": combo["f"]}
        if "t" in combo:
            row["t"] = combo["t"]
        if undefined(name, spec, row):
            continue
        ans = answer(spec, row)
        if row["d"] in UNSIGNED and row["n"] == 0 and "e" in answer(spec, {**row, "n": 64}):
            continue  # torch has no kernel and does not notice for want of elements
        if "e" in ans:
            key = (row["d"], row["f"], *ans["e"])
            if row["d"] in UNSIGNED or key in seen:
                continue
            seen.add(key)
        yield {**row, **ans}


def input_digests():
    """Digests of formula storages: the reading side checks that it makes the same inputs."""
    doms = ("any", "spec", "nans", "pos", "small", "divisor", "expo", "sign")
    made = {"%s %s 1 %d" % (dt, dom, n): ki.digest(ki.storage(dt, dom, 1, n))
            for dt in ALL for dom in doms for n in (65, 10007)}
    made.update({"i64 %s 4 65" % dom: ki.digest(ki.storage("i64", dom, 4, 65)) for dom in ("rev:7", "idx:9")})
    return made


def main():
    out = sys.argv[1]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    os.makedirs(out, exist_ok=True)
    ops = table()
    count = 0
    sections = {spec["section"]: [] for spec in ops.values()}
    for name, spec in ops.items():
        sections[spec["section"]] += rows_of(name, spec, random.Random(name))
    for section, rows in sections.items():
        count += len(rows)
        with open(os.path.join(out, "rows-%s.jsonl" % section), "w") as f:
            f.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    keep = ("fn", "args", "kw", "doms", "mode", "tol", "half", "cplx", "shapes", "index", "first")
    slim = {k: {p: v[p] for p in keep if p in v and v[p] != {}} for k, v in ops.items()}
    with open(os.path.join(out, "ops.json"), "w") as f:
        f.write("{\n" + ",\n".join('  "%s": %s' % (k, json.dumps(v)) for k, v in slim.items()) + "\n}\n")
    with open(os.path.join(out, "inputs.json"), "w") as f:
        f.write(json.dumps(input_digests(), indent=1) + "\n")
    print(count, "rows of", len(ops), "ops; torch", torch.__version__, torch.backends.cpu.get_cpu_capability())


main()
