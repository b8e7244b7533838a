"""What make_random_programs.py draws: the next step of a random autograd program, mostly one that fits its operands."""
import torch


def plain_leaf(t):
    """Looking at a view's node makes it a new one: only other tensors are asked."""
    return not t._is_view() and t.is_leaf


def wants_grad(t):
    return plain_leaf(t) and t.requires_grad


class Drawer:
    """Draws steps for a program; what performs them is its subclass."""

    def chance(self, p):
        return self.rng.random() < p

    def tensors(self):
        return [i for i, t in enumerate(self.vars) if isinstance(t, torch.Tensor)]

    def pick(self, test=lambda t: True):
        def passes(t):
            try:
                return test(t)
            except RuntimeError:  # a view that may not be looked at any more
                return False
        good = [i for i in self.tensors() if passes(self.vars[i])]
        if not good:
            return None
        # Later variables first: they are what the program is about.
        return self.rng.choice(good[-6:]) if self.chance(0.6) else self.rng.choice(good)

    def fitting(self, shape, dtype):
        """A variable that broadcasts to a shape, mostly."""
        def fits(t):
            s = list(t.shape)
            return t.dtype == dtype and len(s) <= len(shape) and all(
                n in (1, m) for n, m in zip(s[::-1], list(shape)[::-1]))
        i = self.pick(fits) if self.chance(0.93) else self.pick()
        return {"f": self.rng.choice([0.5, 2.0, -1.0])} if i is None else {"v": i}

    def mode(self):
        r = self.rng.random()
        return "no_grad" if r < 0.1 else "enable_grad" if r < 0.12 else None

    def draw(self):
        kinds = [(self.view, 30), (self.inplace, 26), (self.pure, 14), (self.parts, 6), (self.inplace_view, 8),
                 (self.flags, 8), (self.join, 5), (self.index, 7), (self.passes, 7), (self.typed, 3)]
        f = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        f()

    def dim(self, t, extra=0):
        n = t.dim() + extra
        return self.rng.randrange(-n, n) if n else 0

    def view(self):
        i = self.pick()
        t, r = self.vars[i], self.rng
        name = r.choice(["view", "reshape", "t", "transpose", "permute", "unsqueeze", "squeeze", "squeeze", "expand",
                         "expand", "select", "select", "narrow", "get", "get", "diagonal", "unfold", "as_strided",
                         "view_as", "flatten", "detach", "data", "T", "movedim", "contiguous", "alias", "unflatten"])
        me, s, n = {"v": i}, list(t.shape), t.numel()
        if name in ("view", "reshape"):
            args = [r.choice([[n], [-1], s[::-1], [1] + s, s + [1], s])]
        elif name in ("t", "detach", "flatten", "contiguous"):
            args = []
        elif name == "alias":
            name, args = "view_as", [me]
        elif name in ("data", "T"):
            return self.step("p", name, [me], self.mode())
        elif name in ("transpose",):
            args = [self.dim(t), self.dim(t)]
        elif name == "permute":
            args = [r.sample(range(t.dim()), t.dim())]
        elif name == "movedim":
            args = [self.dim(t), self.dim(t)]
        elif name == "unsqueeze":
            args = [self.dim(t, 1)]
        elif name == "squeeze":
            args = [self.dim(t)] if self.chance(0.6) else []
        elif name == "expand":
            args = [[2 if k == 1 and self.chance(0.8) else k for k in s]]
            if self.chance(0.4):
                args = [[2] + args[0]]
        elif name == "select":
            d = self.dim(t)
            k = s[d] if s else 1
            args = [d, r.randrange(-k, k) if k else 0]
        elif name == "narrow":
            d = self.dim(t)
            k = s[d] if s else 1
            a = r.randrange(0, k + 1)
            args = [d, a, r.randrange(0, k - a + 1)]
        elif name == "get":
            return self.step("get", "", [me, self.basic(t)], self.mode())
        elif name == "diagonal":
            args = [r.choice([0, 0, 1, -1])]
        elif name == "unfold":
            d = self.dim(t)
            k = s[d] if s else 1
            args = [d, r.randrange(1, k + 1) if k else 0, r.choice([1, 1, 2])]
        elif name == "as_strided":
            args = self.strided(t)
        elif name == "unflatten":
            d = self.dim(t)
            args = [d, r.choice([[1, -1], [-1, 1]])]
        else:
            args = [{"v": self.pick(lambda o: o.numel() == n)}]
        self.step("m", name, [me] + args, self.mode())

    def strided(self, t):
        r = self.rng
        room = t.untyped_storage().nbytes() // t.element_size()
        size = r.choice([[2], [3], [2, 2], [2, 3], [3, 2], [1, 2], []])
        stride = [r.choice([0, 1, 1, 2, 3]) for _ in size]
        reach = sum((n - 1) * k for n, k in zip(size, stride))
        if reach >= room and self.chance(0.9):
            stride = [0] * len(size)
            reach = 0
        return [size, stride] + ([r.randrange(0, max(1, room - reach))] if self.chance(0.6) else [])

    def basic(self, t):
        out = []
        for n in list(t.shape)[:self.rng.randrange(0, t.dim() + 1)]:
            k = self.rng.random()
            if k < 0.45 and n > 0:
                out.append(self.rng.randrange(-n, n))
            elif k < 0.9:
                out.append({"sl": [self.rng.choice([None, 0, 1]), self.rng.choice([None, n, n - 1]),
                                   self.rng.choice([None, 1, 2])]})
            else:
                out.append(None)
        return out

    def inplace(self):
        i = self.pick(lambda t: not wants_grad(t)) if self.chance(0.9) else self.pick()
        if i is None:
            return
        t, r = self.vars[i], self.rng
        me, s = {"v": i}, list(t.shape)
        name = r.choice(["add_", "mul_", "mul_", "sub_", "div_", "zero_", "fill_", "copy_", "copy_", "copy_", "neg_",
                         "tanh_", "sigmoid_", "masked_fill_", "clamp_", "pow_", "relu_", "addcmul_", "lerp_", "exp_",
                         "index_fill_", "index_copy_", "index_add_", "cumsum_", "set", "set", "set"])
        if name in ("add_", "mul_", "sub_"):
            args = [{"f": r.choice([0.5, 2.0, -1.0])} if self.chance(0.3) else self.fitting(s, t.dtype)]
        elif name == "copy_":
            args = [self.fitting(s, t.dtype)]
            if "v" not in args[0]:
                return
        elif name == "fill_":
            j = self.pick(lambda o: o.dim() == 0)
            args = [{"f": 0.5} if j is None or self.chance(0.6) else {"v": j}]
        elif name == "div_":
            args = [{"f": 2.0}]
        elif name == "pow_":
            args = [2]
        elif name == "clamp_":
            args = [{"f": -1.0}, {"f": 1.0}]
        elif name == "masked_fill_":
            if s and s[-1] == 0:
                return
            mask = {"i": [(k % 2) == 0 for k in range(s[-1])]} if s else {"i": True}
            args = [mask, {"f": 0.25}]
        elif name in ("addcmul_",):
            args = [self.fitting(s, t.dtype), self.fitting(s, t.dtype)]
            if any("v" not in a for a in args):
                return
        elif name == "lerp_":
            args = [self.fitting(s, t.dtype), {"f": 0.25}]
            if "v" not in args[0]:
                return
        elif name in ("index_fill_", "index_copy_", "index_add_"):
            d = self.dim(t)
            k = s[d] if s else 1
            if k == 0:
                return
            at = r.randrange(k)
            if name == "index_fill_":
                args = [d, {"i": [at]}, {"f": 0.5}]
            else:
                want = list(s)
                if want:
                    want[d] = 1
                j = self.pick(lambda o: list(o.shape) == want and o.dtype == t.dtype)
                if j is None:
                    return
                args = [d, {"i": [at]}, {"v": j}]
        elif name == "cumsum_":
            args = [self.dim(t)]
        elif name == "set":
            idx = self.basic(t)
            try:
                part = t[tuple(self.decode(idx))]
            except (IndexError, RuntimeError):
                return
            if self.chance(0.15) and s and s[0] > 1:
                idx = [{"i": [0, s[0] - 1]}]
                part = t[[0, s[0] - 1]]
            return self.step("set", "", [me, idx, self.fitting(list(part.shape), t.dtype)], self.mode())
        else:
            args = []
        self.step("m", name, [me] + args, self.mode())

    def inplace_view(self):
        i = self.pick(lambda t: not wants_grad(t)) if self.chance(0.9) else self.pick()
        if i is None:
            return
        t = self.vars[i]
        name = self.rng.choice(["t_", "transpose_", "unsqueeze_", "squeeze_", "squeeze_", "as_strided_", "detach_",
                                "swapaxes_"])
        if name in ("transpose_", "swapaxes_"):
            args = [self.dim(t), self.dim(t)]
        elif name == "unsqueeze_":
            args = [self.dim(t, 1)]
        elif name == "squeeze_":
            args = [self.dim(t)] if self.chance(0.6) else []
        elif name == "as_strided_":
            args = self.strided(t)
        else:
            args = []
        self.step("m", name, [{"v": i}] + args, self.mode())

    def pure(self):
        i = self.pick()
        t = self.vars[i]
        s = list(t.shape)
        name = self.rng.choice(["add", "mul", "mul", "sub", "clone", "tanh", "sigmoid", "sum", "sum", "relu", "exp",
                                "pow", "div", "flip", "cumsum", "matmul", "neg", "repeat", "masked_fill", "to"])
        if name in ("add", "mul", "sub"):
            args = [self.fitting(s, t.dtype)]
        elif name == "div":
            args = [{"f": 2.0}]
        elif name == "pow":
            args = [self.rng.choice([2, 3])]
        elif name == "sum":
            args = [self.dim(t)] if s and self.chance(0.5) else []
        elif name == "flip":
            args = [[self.dim(t)]] if s else [[]]
        elif name == "cumsum":
            args = [self.dim(t)]
        elif name == "matmul":
            j = self.pick(lambda o: o.dim() > 0 and s and o.shape[-2 if o.dim() > 1 else 0] == s[-1]
                          and o.dtype == t.dtype)
            if j is None:
                return
            args = [{"v": j}]
        elif name == "repeat":
            args = [[2] + [1] * len(s)]
        elif name == "masked_fill":
            args = [{"i": True}, {"f": 0.5}]
        elif name == "to":
            args = [{"dt": self.rng.choice(["f64", "f32"])}] if not t.is_complex() else [{"dt": "c128"}]
        else:
            args = []
        self.step("m", name, [{"v": i}] + args, self.mode())

    def parts(self):
        i = self.pick(lambda t: t.dim() > 0)
        if i is None:
            return
        t = self.vars[i]
        d = self.dim(t)
        name = self.rng.choice(["unbind", "split", "chunk", "tensor_split", "split_with_sizes"])
        n = t.shape[d]
        args = {"unbind": [d], "split": [max(1, n - 1), d], "chunk": [2, d], "tensor_split": [2, d],
                "split_with_sizes": [[1, n - 1] if n > 1 else [n], d]}[name]
        self.step("m", name, [{"v": i}] + args, self.mode())

    def join(self):
        i = self.pick(lambda t: t.dim() > 0)
        if i is None:
            return
        t = self.vars[i]
        same = [i] + [j for j in (self.pick(lambda o: o.shape == t.shape and o.dtype == t.dtype) for _ in range(2))
                      if j is not None]
        self.step("f", self.rng.choice(["cat", "stack"]), [[{"v": j} for j in same], self.dim(t)], self.mode())

    def index(self):
        i = self.pick(lambda t: t.dim() > 0 and t.shape[0] > 0)
        if i is None:
            return
        t = self.vars[i]
        n = t.shape[0]
        idx = [self.rng.randrange(n) for _ in range(self.rng.randrange(1, 3))]
        name = self.rng.choice(["index_select", "index_put_", "get", "index_add", "gather"])
        if name == "get":
            return self.step("get", "", [{"v": i}, [{"i": idx}]], self.mode())
        if name == "index_select":
            return self.step("m", name, [{"v": i}, 0, {"i": idx}], self.mode())
        if name == "gather":
            return self.step("m", name, [{"v": i}, 0, {"i": torch.zeros(t.shape, dtype=torch.int64).tolist()}])
        want = [len(idx)] + list(t.shape)[1:]
        j = self.pick(lambda o: list(o.shape) == want and o.dtype == t.dtype)
        if j is None:
            return
        if name == "index_add":
            return self.step("m", name, [{"v": i}, 0, {"i": idx}, {"v": j}], self.mode())
        self.step("m", name, [{"v": i}, [{"i": idx}], {"v": j}, self.chance(0.5)], self.mode())

    def typed(self):
        i = self.pick()
        t = self.vars[i]
        if t.is_complex():
            name = self.rng.choice(["conj", "real", "imag", "view_as_real", "resolve_conj", "conj", "abs"])
        elif t.dim() > 0 and t.shape[-1] == 2 and self.chance(0.7):
            name = "view_as_complex"
        else:
            name = self.rng.choice(["conj", "real", "abs"])
        if name in ("real", "imag"):
            return self.step("p", name, [{"v": i}], self.mode())
        if name.startswith("view_as"):
            return self.step("f", name, [{"v": i}], self.mode())
        self.step("m", name, [{"v": i}], self.mode())

    def flags(self):
        r = self.rng
        name = r.choice(["requires_grad_", "requires_grad_", "requires_grad_", "retain", "retain", "hook", "hook",
                         "data", "nograd"])
        i = self.pick()
        if name == "requires_grad_":
            j = self.pick(plain_leaf) if self.chance(0.85) else i
            return self.step("m", name, [{"v": i if j is None else j}, self.chance(0.6)], self.mode())
        if name == "hook":
            return self.step("hook", "", [{"v": i}, r.choice([None, {"f": 2.0}])])
        if name == "data":
            t = self.vars[i]
            j = self.pick(lambda o: o.shape == t.shape and o.dtype == t.dtype)
            return self.step("data", "", [{"v": i}, {"v": j}])
        self.step(name, "", [{"v": i}])

    def passes(self):
        j = self.pick(lambda t: t.requires_grad) if self.chance(0.95) else self.pick()
        if j is None:
            return
        roots = [{"v": j}]
        if self.chance(0.2):
            k = self.pick(lambda t: t.requires_grad)
            if k is not None:
                roots.append({"v": k})
        some = [self.pick(lambda t: t.requires_grad) for _ in range(self.rng.randrange(1, 3))]
        inputs = [{"v": k} for k in some if k is not None]
        if self.chance(0.4) and inputs:
            return self.step("grad", "", [roots, inputs, self.chance(0.6)])
        self.step("bw", "", [roots, inputs if self.chance(0.2) and inputs else None, self.chance(0.6),
                             self.chance(0.1)])
