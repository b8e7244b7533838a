"""Random values through the files of NumPy, torch and torchsnapshot, both ways; prints what it finds.

    python files_exchange.py [WORK_DIR [FORMAT...]]

Needs torch, tensordict, numpy, torchsnapshot and bun.
"""
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import OrderedDict

import numpy
import torch

import real_input as base
from reporting import beside, bun, check, finish

COUNT = 300
NAMES = ["a", "b", "n.b", "n/b", "ключ", "鍵", "🔑", "sp ace", "%", "é", "e\u0301", "-rf", "10", "2", "constructor",
         "UPPER", "upper", "arr_0", "x.npy", "tab\t", 'q"uote']
KEYS = [*NAMES, "__proto__", "", ".", "..", "back\\slash"]
VALUES = [None, True, False, 0, -7, 2**40, 2**70, 1.5, 1e-05, 1e16, float("nan"), float("-inf"), "text", "ü😀\n", ""]
# What torchsnapshot writes as it is or pickles, and restores: a bfloat16 tensor of odd length loses its end there.
SNAPSHOT_DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
                   "complex128"]
SNAPSHOT_KEYS = ["a", "b", "n.b", "n/b", "ключ", "鍵", "🔑", "sp ace", "%", "%2F", "é", "-rf", "10", "constructor",
                 "UPPER", "upper", "tab\t", 'q"uote', "back\\slash"]
NUMPY_DTYPES = [name for name in base.DTYPES if name != "bfloat16"]


def random_tensor(rng, dtypes, sizes=(0, 1, 2, 3, 3, 5)):
    name = rng.choice(dtypes)
    shape = [rng.choice(sizes) for _ in range(rng.randrange(5))]
    size = torch.empty(shape, dtype=base.DTYPES[name]).nbytes
    return {"k": "tensor", "dtype": name, "shape": shape,
            "hex": bytes(rng.randrange(2 if name == "bool" else 256) for _ in range(size)).hex()}


def random_arrays(rng):
    names = rng.sample(NAMES, rng.randrange(6))
    return {"k": "dict", "entries": [[name, random_tensor(rng, NUMPY_DTYPES)] for name in names]}


def random_value(rng, depth):
    roll = rng.randrange(10)
    if depth > 0 and roll < 3:
        return random_dict(rng, depth - 1)
    if depth > 0 and roll < 5:
        return {"k": "list", "items": [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]}
    if roll < 7:
        return {"k": "value", "text": json.dumps(rng.choice(VALUES))}
    return random_tensor(rng, list(base.DTYPES))


def random_dict(rng, depth):
    entries = {rng.choice(KEYS): random_value(rng, depth) for _ in range(rng.randrange(6))}
    return {"k": "dict", "entries": [list(e) for e in entries.items()]}


def random_state(rng, depth=2):
    """A dict of what a snapshot keeps; tensors have elements."""
    entries = {}
    for _ in range(rng.randrange(1, 6)):
        roll = rng.randrange(10)
        if depth > 0 and roll < 3:
            entry = random_state(rng, depth - 1)
        elif depth > 0 and roll < 5:
            inner = random_state(rng, depth - 1)
            entry = {"k": "list", "items": [value for _, value in inner["entries"]]}
        elif roll < 7:
            entry = {"k": "value", "text": json.dumps(rng.choice(VALUES))}
        else:
            entry = random_tensor(rng, SNAPSHOT_DTYPES, (1, 2, 3, 3, 5))
        entries[rng.choice(SNAPSHOT_KEYS)] = entry
    return {"k": "dict", "entries": [list(e) for e in entries.items()]}


def build(value, rng=None):
    """With random numbers, lists and dicts are now and then others of their kind, and tensors are views."""
    if value["k"] == "value":
        return json.loads(value["text"])
    if value["k"] == "list":
        items = [build(v, rng) for v in value["items"]]
        return tuple(items) if rng and rng.random() < 0.3 else items
    if value["k"] == "dict":
        pairs = [(k, build(v, rng)) for k, v in value["entries"]]
        return OrderedDict(pairs) if rng and rng.random() < 0.3 else dict(pairs)
    tensor = base.build(value)
    if rng and tensor.dim() > 1 and rng.random() < 0.3:
        return tensor.mT.contiguous().mT
    return tensor


def array(value, rng=None):
    """A NumPy array; with random numbers it is big-endian or in Fortran order now and then."""
    dtype = numpy.dtype(value["dtype"])
    result = numpy.frombuffer(bytes.fromhex(value["hex"]), dtype).reshape(value["shape"])
    if rng and rng.random() < 0.3:
        result = result.astype(dtype.newbyteorder(">"))
    if rng and rng.random() < 0.3:
        result = numpy.asfortranarray(result) if result.ndim else result
    return result


def describe(value):
    if isinstance(value, Described):
        return value
    if isinstance(value, numpy.ndarray):
        little = numpy.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"))).reshape(value.shape)
        return {"k": "tensor", "dtype": value.dtype.name, "shape": list(value.shape), "hex": little.tobytes().hex()}
    if isinstance(value, torch.Tensor):
        return base.describe(value)
    if isinstance(value, dict):
        return {"k": "dict", "entries": [[k, describe(v)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"k": "list", "items": [describe(v) for v in value]}
    return {"k": "value", "text": json.dumps(value)}


def plain(value):
    """1.0 and 1 are one number here, and the order of keys does not matter."""
    if value["k"] == "value":
        number = json.loads(value["text"])
        whole = isinstance(number, float) and number.is_integer()
        return {"k": "value", "text": json.dumps(int(number) if whole else number)}
    if value["k"] == "dict":
        return {"k": "dict", "entries": sorted([k, plain(v)] for k, v in value["entries"])}
    if value["k"] == "list":
        return {"k": "list", "items": [plain(v) for v in value["items"]]}
    return value


def text(value):
    if "error" in value:
        return str(value)
    return json.dumps(plain(value), sort_keys=True)


def load_npz(path):
    with numpy.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def save_npz(save):
    def run(arrays, path, i):
        with open(path, "wb") as file:
            save(file, **arrays)
    return run


def take(batched):
    def run(state, path, i):
        from torchsnapshot import Snapshot, StateDict
        os.environ["TORCHSNAPSHOT_DISABLE_BATCHING"] = "" if batched else "1"
        if batched:
            del os.environ["TORCHSNAPSHOT_DISABLE_BATCHING"]
        apart(lambda: Snapshot.take(path, {"app": StateDict(**state)}))
    return run


def apart(task, seconds=60):
    """Runs a task in a process of its own: torchsnapshot leaves threads behind, and may hang."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        code = 1
        try:
            task()
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if status != 0:
        raise RuntimeError(f"ended with {status}")


def restored(path):
    """Every object of a snapshot, put together again."""
    from torchsnapshot import Snapshot, StateDict
    file = os.path.join(path, "..", "restored.json")

    def task():
        snapshot = Snapshot(path)
        manifest = snapshot.get_manifest()

        def value(at):
            entry = manifest[at]
            if entry.type in ("dict", "OrderedDict"):
                return {key: value(f"{at}/{str(key).replace('%', '%25').replace('/', '%2F')}") for key in entry.keys}
            if entry.type == "list":
                items = []
                while f"{at}/{len(items)}" in manifest:
                    items.append(value(f"{at}/{len(items)}"))
                return items
            return snapshot.read_object(at)

        with open(file, "w") as out:
            json.dump(describe(value("0/app")), out)

    apart(task)
    with open(file) as text_of:
        return Described(json.load(text_of))


class Described(dict):
    """A value in words already."""


def arrays_of(value, rng=None):
    return {name: array(entry, rng) for name, entry in value["entries"]}


FORMATS = {
    "npy": (lambda rng: random_tensor(rng, NUMPY_DTYPES), array, lambda a, path, i: numpy.save(path, a),
            lambda path: numpy.load(path, allow_pickle=False)),
    "npz": (random_arrays, arrays_of, save_npz(numpy.savez), load_npz),
    "deflated.npz": (random_arrays, arrays_of, save_npz(numpy.savez_compressed), load_npz),
    "pt": (lambda rng: random_dict(rng, 3), build, lambda v, path, i: torch.save(v, path),
           lambda path: torch.load(path, weights_only=True)),
    "legacy.pt": (lambda rng: random_dict(rng, 3), build,
                  lambda v, path, i: torch.save(v, path, _use_new_zipfile_serialization=False), None),
    "snapshot": (random_state, build, take(False), restored),
    "batched.snapshot": (random_state, build, take(True), restored),
}


def lines(*args):
    return [json.loads(line) for line in beside("files-exchange.ts", *args).splitlines()]


def show(wrong, results):
    return "".join(f"; {i}: {str(results[i])[:300]}" for i in wrong[:3])


def attempt(task, *args):
    try:
        return task(*args)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def one(work, name, rng):
    make, construct, save, load = FORMATS[name]
    values = [make(rng) for _ in range(COUNT)]
    ours, theirs = (os.path.join(work, f"{name}-{side}") for side in ("zensor", "python"))
    for directory in (ours, theirs):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
    failed = {}
    for i, value in enumerate(values):
        result = attempt(save, construct(value, rng), os.path.join(theirs, f"{i}.{name}"), i)
        if isinstance(result, dict):
            failed[i] = result["error"]
    good = [i for i in range(COUNT) if i not in failed]
    reasons = "".join(f"; {n} x {r}" for r, n in sorted(
        {r: list(failed.values()).count(r) for r in set(failed.values())}.items()))
    print(f"{name}: Python itself saves {len(good)} of {COUNT}{reasons[:300]}")
    read = lines("read", name, theirs, COUNT)
    wrong = [i for i in good if text(read[i]) != text(values[i])]
    check("zensor loads what Python saved", not wrong, f"{len(good) - len(wrong)} of {len(good)}{show(wrong, read)}")
    if load is None:
        return
    path = os.path.join(work, f"{name}.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(value) + "\n" for value in values)
    written = lines("save", name, path, ours)
    back = [written[i] or attempt(lambda: describe(load(os.path.join(ours, f"{i}.{name}")))) for i in range(COUNT)]
    wrong = [i for i in range(COUNT) if text(back[i]) != text(values[i])]
    check("Python loads what zensor saved", not wrong, f"{COUNT - len(wrong)} of {COUNT}{show(wrong, back)}")
    if name in ("npy", "npz"):
        same_bytes(name, values, ours)


def same_bytes(name, values, ours):
    different = []
    for i, value in enumerate(values):
        memory = io.BytesIO()
        if name == "npy":
            numpy.save(memory, array(value))
        else:
            numpy.savez(memory, **arrays_of(value))
        with open(os.path.join(ours, f"{i}.{name}"), "rb") as file:
            if file.read() != memory.getvalue():
                different.append(i)
    check("both saved the same bytes", not different, f"{COUNT - len(different)} of {COUNT}"
               f"{f', not {different[:5]}' if different else ''}")


def main():
    work = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="zensor-files-")
    os.makedirs(work, exist_ok=True)
    print(f"torch {torch.__version__}, numpy {numpy.__version__}, "
          f"Bun {bun('--version').strip()}\n")
    rng = random.Random(24)
    for name in sys.argv[2:] or FORMATS:
        one(work, name, rng)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
