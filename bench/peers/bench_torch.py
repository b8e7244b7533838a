"""The Python side of the benchmarks: one JSON line in, one JSON line out.

Requests: {"do": "versions"}, {"do": "prepare", "name": case, "clock": clock}, {"do": "run", "n": repetitions}, {"do": "dispose"}.
With "code": [setup, statement] a case needs no name that is known here.
"""

import functools
import json
import os
import subprocess
import sys
import threading
import time
import timeit

import torch

import bench_formats
from saving import Loads, Saves

torch.set_num_threads(1)
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

# Each case: code that prepares, and the expression that is repeated.
CASES = {
    "add_": ("x, y = torch.randn(10), torch.randn(10)", "x.add_(y)"),
    "add with out": ("x, y, out = torch.randn(10), torch.randn(10), torch.randn(10)", "torch.add(x, y, out=out)"),
    "mul, sum": ("x, y = torch.randn(10), torch.randn(10)", "(x * y).sum()"),
    "mul, sum, backward": (
        "x, y = torch.randn(10).requires_grad_(), torch.randn(10)",
        "(x * y).sum().backward()",
    ),
    "item": ("x = torch.tensor(1.5)", "x.item()"),
    "make ones": ("pass", "torch.ones(10)"),
    "add 1e6": ("x, y = torch.randn(1000000), torch.randn(1000000)", "x + y"),
    "add 1e6, out": (
        "x, y, out = torch.randn(1000000), torch.randn(1000000), torch.randn(1000000)",
        "torch.add(x, y, out=out)",
    ),
    "exp 1e6": ("x = torch.randn(1000000)", "x.exp()"),
    "exp 1e6, out": ("x, out = torch.randn(1000000), torch.randn(1000000)", "torch.exp(x, out=out)"),
    "tanh 1e6": ("x = torch.randn(1000000)", "x.tanh()"),
    "sum 1e6": ("x = torch.randn(1000000)", "x.sum()"),
    "softmax 1000x1000": ("x = torch.randn(1000, 1000)", "x.softmax(1)"),
    "transpose, contiguous 1000x1000": ("x = torch.randn(1000, 1000)", "x.t().contiguous()"),
    "add a row 1000x1000": ("x, row = torch.randn(1000, 1000), torch.randn(1000)", "x + row"),
    "add a column 1000x1000": ("x, column = torch.randn(1000, 1000), torch.randn(1000, 1)", "x + column"),
    "add a row 1000x1000, out": (
        "x, row, out = torch.randn(1000, 1000), torch.randn(1000), torch.randn(1000, 1000)",
        "torch.add(x, row, out=out)",
    ),
    "add a column 1000x1000, out": (
        "x, column, out = torch.randn(1000, 1000), torch.randn(1000, 1), torch.randn(1000, 1000)",
        "torch.add(x, column, out=out)",
    ),
    "add a transpose 1000x1000": ("x, y = torch.randn(1000, 1000), torch.randn(1000, 1000).t()", "x + y"),
    "add 1e7, allocating": ("x, y = torch.randn(10000000), torch.randn(10000000)", "x + y"),
    "argmax 1e6": ("x = torch.randn(1000000)", "x.argmax()"),
    "sort 1e6": ("x = torch.randn(1000000)", "x.sort()"),
}
# Each of these also on a tensor that asks for gradients.
for case, x, y, statement in (
    ("add", "10", "torch.randn(10)", "x + y"),
    ("add a number", "10", "None", "x + 2"),
    ("add, mixed dtypes", "10", "torch.arange(10)", "x + y"),
    ("add, broadcast 10 and 1", "10", "torch.randn(1)", "x + y"),
    ("add, broadcast 10x1 and 1x10", "10, 1", "torch.randn(1, 10)", "x + y"),
    ("view", "10", "None", "x.view(2, 5)"),
    ("at(3)", "10", "None", "x[3]"),
    ("slice", "10", "None", "x[2:7]"),
):
    CASES[case] = (f"x, y = torch.randn({x}), {y}", statement)
    CASES[f"{case}, requires grad"] = (f"x, y = torch.randn({x}).requires_grad_(), {y}", statement)
for size in (64, 128, 256, 512, 1024):
    operands = f"x, y, out = (torch.randn({size}, {size}) for _ in range(3))"
    CASES[f"matmul {size}"] = (operands, "x @ y")
    CASES[f"matmul {size}, out"] = (operands, "torch.matmul(x, y, out=out)")


@functools.lru_cache(maxsize=1)
def made(setup):
    """What a setup leaves behind; several cases in a row may have the same."""
    names = {"torch": torch}
    exec(setup, names)
    return names


class Expression:
    """A case of CASES, timed without a function call around each repetition."""

    note = None

    def __init__(self, setup, statement, clock):
        self.timer = timeit.Timer(statement, timer=CLOCKS[clock], globals=made(setup))

    def run(self, n):
        return self.timer.timeit(n)

    def dispose(self):
        pass


class ImportTorch:
    """A program that imports torch."""

    note = None

    def run(self, n):
        start = time.perf_counter()
        for _ in range(n):
            subprocess.run([sys.executable, "-c", "import torch"], check=True, stdin=subprocess.DEVNULL)
        return time.perf_counter() - start

    def dispose(self):
        pass


class SaveWeights(Saves):
    def __init__(self):
        from tensordict import TensorDict

        self.module = torch.nn.Transformer()
        self.weights = TensorDict.from_module(self.module).data


class SaveMemmap(SaveWeights):
    def __init__(self):
        super().__init__()
        self.choose_threads((0, 1, 2, 4, 32))

    def save(self, folder):
        self.weights.memmap(os.path.join(folder, "td"), num_threads=self.threads)


class SaveTorch(SaveWeights):
    def save(self, folder):
        torch.save(self.module.state_dict(), os.path.join(folder, "weights.pt"))


class WriteLoop(SaveWeights):
    """The least that one file per tensor can cost: open, write, close."""

    def __init__(self, threads):
        super().__init__()
        self.threads = threads
        leaves = self.weights.values(include_nested=True, leaves_only=True)
        self.buffers = [memoryview(leaf.numpy()).cast("B") for leaf in leaves]

    def write(self, folder, start):
        for i in range(start, len(self.buffers), self.threads):
            with open(os.path.join(folder, str(i)), "wb", buffering=0) as file:
                file.write(self.buffers[i])

    def save(self, folder):
        workers = [threading.Thread(target=self.write, args=(folder, i)) for i in range(1, self.threads)]
        for worker in workers:
            worker.start()
        self.write(folder, 0)
        for worker in workers:
            worker.join()


def load_weights(use=None):
    from tensordict import TensorDict

    weights = TensorDict.from_module(torch.nn.Transformer()).data
    leaves = lambda td: td.values(include_nested=True, leaves_only=True)
    return Loads("td", weights.memmap, TensorDict.load_memmap, leaves, use)


SPECIAL = {
    "import torch": ImportTorch,
    "save memmap": SaveMemmap,
    "save torch.save": SaveTorch,
    "save write loop 1": lambda: WriteLoop(1),
    "save write loop 2": lambda: WriteLoop(2),
    "load_memmap": load_weights,
    "load_memmap, sum": lambda: load_weights(lambda leaf: leaf.sum()),
    **bench_formats.cases(),
}


def versions():
    try:
        import tensordict

        return f"torch {torch.__version__}, tensordict {tensordict.__version__}"
    except ImportError:
        return f"torch {torch.__version__}"


def prepare(name, clock, code=None):
    if code is not None:
        return Expression(*code, clock)
    if name in CASES:
        return Expression(*CASES[name], clock)
    return SPECIAL[name]()


def answer(request, current):
    """The reply to a request, and the case that is prepared afterwards."""
    kind = request["do"]
    if kind == "versions":
        return {"versions": versions()}, current
    if kind == "prepare":
        case = prepare(request["name"], request["clock"], request.get("code"))
        return {"note": case.note} if case.note else {}, case
    if kind == "run":
        return {"seconds": current.run(request["n"])}, current
    if current is not None:
        current.dispose()
    return None, None


def main():
    current = None
    for line in sys.stdin:
        try:
            reply, current = answer(json.loads(line), current)
        except Exception as error:  # the other side decides what to do
            reply = {"error": f"{type(error).__name__}: {error}"}
        if reply is not None:
            print(json.dumps(reply), flush=True)
    if current is not None:
        current.dispose()


main()
