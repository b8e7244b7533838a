"""Nested tensors in directories and archives, through zensor and through Python's tensordict, both ways.

    python nested_exchange.py check            prints what it finds
    python nested_exchange.py fixture FILE     writes the small files and texts that the tests use, as JSON

Needs torch, tensordict and bun.
"""
import base64
import json
import os
import platform
import random
import sys
import tempfile
import warnings

import tensordict
import torch
from tensordict import TensorDict

from reporting import beside, check_all, finish

warnings.simplefilter("ignore")
COUNT = 100
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
KEYS = ["a", "b", "ключ", "sp ace", "a/b", "..", "%", "x.y", "j"]
rng = random.Random(0)


def random_tensor(dtype, shape):
    size = torch.Size(shape).numel() * getattr(torch, dtype).itemsize
    data = bytes(rng.randrange(2 if dtype == "bool" else 256) for _ in range(size))
    return {"k": "tensor", "dtype": dtype, "shape": list(shape), "hex": data.hex()}


def random_nested(batch):
    # Components without dimensions are in the fixture: Python cannot read them from an archive.
    dtype, rank = rng.choice(DTYPES), rng.randrange(1, 4)
    count = batch if batch is not None else rng.randrange(1, 6)
    parts = [random_tensor(dtype, [rng.randrange(4) for _ in range(rank)]) for _ in range(count)]
    if not any(part["hex"] for part in parts):
        # Python loses an entry that has no elements at all.
        parts[0] = random_tensor(dtype, [2] * rank)
    return {"k": "nested", "parts": parts}


def random_td(batch, depth=2):
    entries = {}
    for key in rng.sample(KEYS, rng.randrange(1, 5)):
        roll = rng.randrange(4)
        if roll == 0 and depth:
            entries[key] = random_td(batch, depth - 1)
        elif roll == 1:
            entries[key] = random_tensor(rng.choice(DTYPES), [batch or 2, 2])
        else:
            entries[key] = random_nested(batch)
    return {"k": "td", "batch": [] if batch is None else [batch], "entries": entries}


def to_tensor(tree):
    dtype = getattr(torch, tree["dtype"])
    if not tree["hex"]:
        return torch.zeros(tree["shape"], dtype=dtype)
    return torch.frombuffer(bytearray.fromhex(tree["hex"]), dtype=dtype).reshape(tree["shape"])


def build(tree):
    if tree["k"] == "tensor":
        return to_tensor(tree)
    if tree["k"] == "nested":
        return torch.nested.nested_tensor([to_tensor(part) for part in tree["parts"]])
    return TensorDict({key: build(entry) for key, entry in tree["entries"].items()}, batch_size=tree["batch"])


def describe(entry):
    if isinstance(entry, TensorDict):
        return {"k": "td", "batch": list(entry.batch_size), "entries": {key: describe(v) for key, v in entry.items()}}
    if entry.is_nested:
        return {"k": "nested", "parts": [describe(part) for part in entry.unbind(0)]}
    plain = entry.detach().clone().as_subclass(torch.Tensor).contiguous()
    data = bytes(plain.reshape(-1).view(torch.uint8).tolist()) if plain.numel() else b""
    return {"k": "tensor", "dtype": str(plain.dtype)[6:], "shape": list(plain.shape), "hex": data.hex()}


def files_below(root):
    found = {}
    for path, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), root)] = file.read()
    return found


def bun(*args):
    return beside("nested-exchange.ts", *args).splitlines()


def exchange():
    work = tempfile.mkdtemp()
    trees = [random_td(rng.choice([None, 1, 2, 3])) for _ in range(COUNT)]
    described = [describe(build(tree)) for tree in trees]
    place = {who: os.path.join(work, who) for who in ("python", "zensor")}
    for path in place.values():
        os.mkdir(path)
    with open(os.path.join(work, "trees.json"), "w") as file:
        json.dump(trees, file)
    for i, tree in enumerate(trees):
        build(tree).memmap(os.path.join(place["python"], str(i)))
        build(tree).save(os.path.join(place["python"], f"{i}.tdz"))
    bun("build", os.path.join(work, "trees.json"), place["zensor"])
    version = f"torch {torch.__version__}, tensordict {tensordict.__version__}, Python {platform.python_version()}"
    print(version, end="\n\n")
    for ending, kind in (("", "directories"), (".tdz", "archives")):
        paths = [os.path.join(place["zensor"], f"{i}{ending}") for i in range(COUNT)]
        good = sum(describe(TensorDict.load_memmap(path)) == want for path, want in zip(paths, described))
        check_all(f"Python reads the {kind} that zensor wrote", good, COUNT)
        lines = bun("describe", place["python"], str(COUNT), ending)
        good = sum(json.loads(line) == want for line, want in zip(lines, described))
        check_all(f"zensor reads the {kind} that Python wrote", good, COUNT)
    pairs = [[files_below(os.path.join(path, str(i))) for path in place.values()] for i in range(COUNT)]
    check_all("both write the same files, byte for byte", sum(a == b for a, b in pairs), COUNT)
    texts = [str(torch.nested.nested_tensor([to_tensor(p) for p in t["parts"]])) for t in nested_of(trees)]
    check_all("both print the same", sum(a == b for a, b in zip(map(json.loads, bun(
        "print", os.path.join(work, "trees.json"))), texts)), len(texts))


def nested_of(trees):
    for tree in trees:
        if tree["k"] == "nested":
            yield tree
        elif tree["k"] == "td":
            yield from nested_of(tree["entries"].values())


def part(values, dtype="float32"):
    return describe(torch.tensor(values, dtype=getattr(torch, dtype)))


def nested(*values, dtype="float32"):
    return {"k": "nested", "parts": [part(v, dtype) for v in values]}


def fixture(path):
    matrix = nested([[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
    with_empty = {"k": "nested", "parts": [describe(torch.ones(1, 2)), describe(torch.zeros(0, 3))]}
    cases = {
        "matrix": matrix, "rows": nested([1, 2], [3], dtype="int64"), "scalars": nested(1, 2),
        "bools": nested([True, False], [False], dtype="bool"), "one": nested([[1.5, 2]], dtype="bfloat16"),
        "with_empty": with_empty, "long": nested(list(range(3000)), [0]),
        "complex": nested([1 + 2j], [0j, 1j], dtype="complex64"),
    }
    tree = {"k": "td", "batch": [2], "entries": {
        "x": part([0, 1]), "j": matrix, "s": {"k": "td", "batch": [2], "entries": {"a/b": cases["rows"]}},
        "scalars": cases["scalars"], "with_empty": with_empty}}
    td = build(tree)
    with tempfile.TemporaryDirectory() as work:
        made = td.memmap(os.path.join(work, "d"))
        td.exclude("scalars").save(os.path.join(work, "a.tdz"))
        with open(os.path.join(work, "a.tdz"), "rb") as file:
            archive = file.read()
        plain = build(matrix)
        torch.save({"matrix": plain, "transposed": plain.transpose(1, 2), "scalars": build(cases["scalars"]),
                    "empty": torch.nested.nested_tensor([]), "td": td.select("j").clone(),
                    "grad": build(nested([1])).requires_grad_()}, os.path.join(work, "a.pt"))
        with open(os.path.join(work, "a.pt"), "rb") as file:
            pt = file.read()
        files = files_below(os.path.join(work, "d"))
        texts = {"compact": [str(td), str(made), str(td.clear_device_().exclude("s"))]}
        with tensordict.set_printoptions(compact=False):
            texts["detailed"] = [str(td), str(made)]
        texts["lazy"] = str(tensordict.lazy_stack([td.select("j"), td.select("j")]))
    encode = lambda data: base64.b64encode(data).decode()
    with open(path, "w") as file:
        json.dump({
            "printed": [{"parts": c["parts"], "text": str(build(c))} for c in cases.values()],
            "tree": tree, "files": {k: encode(v) for k, v in sorted(files.items())}, "archive": encode(archive), "pt": encode(pt),
            "texts": texts}, file, indent=1)
        file.write("\n")


if sys.argv[1] == "fixture":
    fixture(sys.argv[2])
else:
    exchange()
    sys.exit(finish())
