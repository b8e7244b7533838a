"""Writes random autograd programs with what torch made of them: views, writes to them, in-place view operators, flags,
hooks, modes, passes. Every step runs as it is drawn, so that most steps fit their operands; steps that raise stay.

    python make_random_programs.py OUT_FILE COUNT [SEED [STEPS]]

One JSON line a program: V leaves [dtype, shape, requires grad], P steps [kind, name, arguments, extra], each with "n"
(results appended to the variables) or "e" [class, first line of the message]; "w" facts of the variables that changed
since the last look ("look": whether after every step or at the end only), E: the end: values, gradients, hook calls.
tests: test/autograd/programs.test.ts.
"""
import json
import random
import sys
import warnings

import torch

from random_programs import Drawer

DTYPES = {"f64": torch.float64, "f32": torch.float32, "c128": torch.complex128, "i64": torch.int64}
CODE = {v: k for k, v in DTYPES.items()}
SHAPES = [[2, 3], [2, 3], [3, 2], [2, 2], [3], [2], [4], [1, 3], [2, 1], [2, 2, 2], [1], [], [3, 1, 2]]


class Accident(Exception):
    """torch found a mistake of its own: such a program has no answer."""


def values(n, k, dtype):
    v = [((7 * i + 3 + 5 * k) % 11 - 5) / 4 for i in range(n)]
    return torch.tensor(v, dtype=torch.float64).to(DTYPES[dtype]) if dtype != "c128" else \
        torch.complex(torch.tensor(v, dtype=torch.float64), torch.tensor(v[::-1], dtype=torch.float64))


def number(x):
    if isinstance(x, complex):
        return [number(x.real), number(x.imag)]
    if isinstance(x, float):
        return "nan" if x != x else "inf" if x == float("inf") else "-inf" if x == -float("inf") else \
            float(f"{x:.12g}")
    return x


def flat(t):
    if t.numel() > 0 and t.untyped_storage().nbytes() == 0:
        raise Accident
    return [number(v) for v in t.detach().resolve_conj().resolve_neg().reshape(-1).tolist()]


class Program(Drawer):
    """One program: its steps run as they are drawn."""

    def __init__(self, rng, steps):
        self.rng = rng
        self.vars = []
        self.calls = []
        self.seen = {}
        self.case = {"V": [], "look": rng.random() < 0.3, "P": []}
        base = "c128" if rng.random() < 0.12 else "f64"
        for k in range(rng.randrange(1, 4)):
            dtype = base if rng.random() < 0.93 else "f32"
            shape = rng.choice(SHAPES)
            grad = rng.random() < (0.9 if k == 0 else 0.5)
            n = 1
            for s in shape:
                n *= s
            self.case["V"].append([dtype, shape, grad])
            t = values(n, k, dtype).reshape(shape).clone()
            self.vars.append(t.requires_grad_() if grad else t)
        if rng.random() < 0.75 and self.vars[0].requires_grad:
            self.step("m", "mul", [{"v": 0}, {"f": 1.0}])
        for _ in range(rng.randrange(1, steps + 1)):
            self.draw()
        self.finish()

    # ---- running

    def decode(self, a):
        if isinstance(a, list):
            return [self.decode(x) for x in a]
        if isinstance(a, dict):
            key, x = next(iter(a.items()))
            return {"v": lambda: self.vars[x], "f": lambda: float(x), "dt": lambda: DTYPES[x],
                    "i": lambda: torch.tensor(x), "sl": lambda: slice(*x)}[key]()
        return a

    def perform(self, kind, name, args):
        a = [self.decode(x) for x in args]
        if kind == "m":
            return getattr(a[0], name)(*a[1:])
        if kind == "f":
            return getattr(torch, name)(*a)
        if kind == "p":
            return getattr(a[0], name)
        if kind == "get":
            return a[0][tuple(a[1])]
        if kind == "set":
            a[0][tuple(a[1])] = a[2]
            return []
        if kind == "data":
            a[0].data = a[1]
            return []
        if kind == "nograd":
            a[0].grad = None
            return []
        if kind == "retain":
            a[0].retain_grad()
            return []
        if kind == "hook":
            at, factor = args[0]["v"], a[1]
            def hook(g):
                if g is None:  # of an output without a gradient; here no hook is called
                    return None
                self.calls.append([at, flat(g)])
                return None if factor is None else g * factor
            a[0].register_hook(hook)
            return []
        if kind == "bw":
            roots, inputs, retain, create = a
            torch.autograd.backward(roots, [start(r) for r in roots], retain_graph=retain, create_graph=create,
                                    inputs=inputs)
            return []
        roots, inputs, create = a
        return list(torch.autograd.grad(roots, inputs, [start(r) for r in roots], retain_graph=True,
                                        create_graph=create, allow_unused=True))

    def step(self, kind, name, args, mode=None):
        s = {"k": kind, "f": name, "a": args}
        if mode:
            s["mode"] = mode
        self.case["P"].append(s)
        try:
            if mode == "no_grad":
                with torch.no_grad():
                    r = self.perform(kind, name, args)
            elif mode == "enable_grad":
                with torch.enable_grad():
                    r = self.perform(kind, name, args)
            else:
                r = self.perform(kind, name, args)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as e:
            if "INTERNAL ASSERT" in str(e):
                raise Accident from e
            s["e"] = [type(e).__name__, str(e).split("\n")[0][:400]]
        else:
            new = list(r) if isinstance(r, (tuple, list)) else [r]
            if new:
                s["n"] = len(new)
            self.vars.extend(new)
        if self.case["look"]:
            s["w"] = self.look()

    def facts(self, t):
        if not isinstance(t, torch.Tensor):
            return None
        try:
            fn = t.grad_fn
            name = None if fn is None else type(fn).__name__
        except RuntimeError as e:
            if "INTERNAL ASSERT" in str(e):
                raise Accident from e
            return ["error", str(e).split("\n")[0][:300]]
        return [t.requires_grad, t.is_leaf, name, t.output_nr if fn is not None else 0, t._version, t._is_view(),
                t.retains_grad, list(t.shape), list(t.stride()), t.storage_offset()]

    def look(self):
        new = {}
        for i, t in enumerate(self.vars):
            f = self.facts(t)
            if self.seen.get(i) != f:
                self.seen[i] = f
                new[str(i)] = f
        return new

    def finish(self):
        facts = self.look()
        for i in range(len(self.case["V"])):
            t = self.vars[i]
            if t.requires_grad and t.grad is not None:
                facts[str(i)] = (facts.get(str(i)) or self.facts(t))
        self.case["E"] = {
            "w": facts,
            "x": [flat(t) if isinstance(t, torch.Tensor) else None for t in self.vars],
            "g": [None if not isinstance(t, torch.Tensor) or t.grad is None else flat(t.grad) for t in self.vars],
            "h": self.calls,
        }


def start(t):
    v = [((7 * i + 3) % 11 - 5) / 4 for i in range(t.numel())]
    return torch.tensor(v, dtype=torch.float64).to(t.dtype).reshape(t.shape)


def main():
    out, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with open(out, "w") as f:
        for n in range(count):
            try:
                p = Program(random.Random(seed * 1_000_003 + n), steps)
                # What the program amounts to is seen by a last pass.
                j = p.pick(lambda t: t.requires_grad)
                if j is not None:
                    p.step("bw", "", [[{"v": j}], None, True, False])
                    p.finish()
            except Accident:
                continue
            f.write(json.dumps({"id": n, **p.case}, separators=(",", ":")) + "\n")


main()
