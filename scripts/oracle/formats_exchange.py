"""Random trees through the single-file formats of zensor and of Python, both ways; prints what it finds.

    python formats_exchange.py [WORK_DIR]

Needs torch, tensordict, safetensors and bun. What Python itself cannot save in a format is counted apart.
"""
import json
import os
import random
import shutil
import sys
import tempfile
import warnings

import tensordict
import torch
from tensordict import TensorDict

import real_input as base
from reporting import bun, check, finish

COUNT = 300
FORMATS = {
    "tdz": (lambda td, path: td.memmap(path), TensorDict.load_memmap),
    "consolidated": (lambda td, path: td.consolidate(filename=path), TensorDict.from_consolidated),
    "safetensors": (tensordict.to_safetensors, tensordict.from_safetensors),
    "pt": (torch.save, lambda path: torch.load(path, weights_only=False)),
}


def whole(value):
    """1.0 and 1 are one number where a format does not tell them apart."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(v) for v in value]
    if isinstance(value, dict):
        return {k: whole(v) for k, v in value.items()}
    return value


def plain(tree):
    if tree["k"] in ("value", "values"):
        return {**tree, "text": json.dumps(whole(json.loads(tree["text"])), sort_keys=True)}
    if tree["k"] == "lazy":
        return {**tree, "members": [plain(m) for m in tree["members"]]}
    if "entries" in tree:
        return {**tree, "entries": [[k, plain(v)] for k, v in tree["entries"]]}
    return tree


def text(tree):
    return json.dumps(plain(base.normal(tree)), sort_keys=True)


def attempt(task, *args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return task(*args)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def failed(result):
    return isinstance(result, dict) and "error" in result


def one(work, name, trees, path):
    save, load = FORMATS[name]
    ours, theirs = (os.path.join(work, f"{name}-{side}") for side in ("zensor", "python"))
    for directory in (ours, theirs):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
    file = lambda directory, i: os.path.join(directory, f"{i}.{name}")
    # What comes back to Python from its own file is what the format can hold.
    held = []
    for i, tree in enumerate(trees):
        saved = attempt(save, base.build(tree), file(theirs, i))
        held.append(saved if failed(saved) else attempt(lambda: base.describe(load(file(theirs, i)))))
    read = [json.loads(line) for line in base.exchange("read", theirs, len(trees), name).splitlines()]
    written = [json.loads(line) for line in base.exchange("save", path, ours, name).splitlines()]
    good = [i for i, h in enumerate(held) if not failed(h)]
    print(f"{name}: Python itself saves and loads {len(good)} of {len(trees)}")
    wrong = [i for i in good if failed(read[i]) or text(read[i]) != text(held[i])]
    check("zensor loads what Python saved", not wrong, f"{len(good) - len(wrong)} of {len(good)}{show(wrong, read)}")
    back = {i: written[i] if failed(written[i]) else attempt(lambda: base.describe(load(file(ours, i)))) for i in good}
    wrong = [i for i in good if failed(back[i]) or text(back[i]) != text(held[i])]
    check("Python loads what zensor saved", not wrong, f"{len(good) - len(wrong)} of {len(good)}{show(wrong, back)}")


def show(wrong, results):
    return "".join(f"; {i}: {str(results[i])[:160]}" for i in wrong[:3])


def main():
    work = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="zensor-formats-")
    os.makedirs(work, exist_ok=True)
    print(f"torch {torch.__version__}, tensordict {tensordict.__version__}, Bun {bun('--version').strip()}\n")
    rng = random.Random(22)
    trees = [base.random_root(rng) for _ in range(COUNT // 2)]
    trees += [json.loads(line) for line in base.exchange("generate", COUNT - len(trees), 23).splitlines()]
    path = os.path.join(work, "trees.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(tree) + "\n" for tree in trees)
    for name in FORMATS:
        one(work, name, trees, path)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
