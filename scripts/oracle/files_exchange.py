"""Random values through NumPy's, torch's and torchsnapshot's files, both ways; prints what it finds.

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
import warnings
from collections import OrderedDict

import numpy
import torch

import real_input as base

warnings.simplefilter("ignore")
import torchsnapshot  # noqa: E402
from torchsnapshot import knobs  # noqa: E402

COUNT = 300
SECONDS = 4
NAMES = ["a", "b", "n.b", "n/b", "ключ", "鍵", "🔑", "sp ace", "%", "é", "e\u0301", "-rf", "10", "2", "constructor",
         "UPPER", "upper", "arr_0", "x.npy", "tab\t", 'q"uote']
KEYS = [*NAMES, "__proto__", "", ".", "..", "back\\slash"]
VALUES = [None, True, False, 0, -7, 2**40, 2**70, 1.5, 1e-05, 1e16, float("nan"), float("-inf"), "text", "ü😀\n", ""]
NUMPY_DTYPES = [name for name in base.DTYPES if name != "bfloat16"]


# torchsnapshot loses its tasks, and hangs, over tensors without elements, over dtypes that it does not know, and over
# keys that are no names of files.
SNAPSHOT_DTYPES = [name for name in base.DTYPES if name not in ("uint16", "uint32", "uint64")]
SNAPSHOT_KEYS = [key for key in KEYS if key not in ("", ".", "..")]


def random_tensor(rng, dtypes, sizes=(0, 1, 2, 3, 3, 5)):
    name = rng.choice(dtypes)
    shape = [rng.choice(sizes) for _ in range(rng.randrange(5))]
    size = torch.empty(shape, dtype=base.DTYPES[name]).nbytes
    return {"k": "tensor", "dtype": name, "shape": shape,
            "hex": bytes(rng.randrange(2 if name == "bool" else 256) for _ in range(size)).hex()}


def random_arrays(rng):
    names = rng.sample(NAMES, rng.randrange(6))
    return {"k": "dict", "entries": [[name, random_tensor(rng, NUMPY_DTYPES)] for name in names]}


def random_value(rng, depth, keys=KEYS):
    roll = rng.randrange(10)
    if depth > 0 and roll < 3:
        return random_dict(rng, depth - 1, keys)
    if depth > 0 and roll < 5:
        return {"k": "list", "items": [random_value(rng, depth - 1, keys) for _ in range(rng.randrange(4))]}
    if roll < 7:
        return {"k": "value", "text": json.dumps(rng.choice(VALUES))}
    if keys is SNAPSHOT_KEYS:
        return random_tensor(rng, SNAPSHOT_DTYPES, (1, 2, 3, 3, 5))
    return random_tensor(rng, list(base.DTYPES))


def random_dict(rng, depth, keys=KEYS):
    entries = {rng.choice(keys): random_value(rng, depth, keys) for _ in range(rng.randrange(6))}
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


def save_snapshot(value, path, i):
    """In slabs, without them, or in chunks, as the library does each."""
    state = {"state": torchsnapshot.StateDict(**{k: v for k, v in value.items()})}
    chunk, slab = (16, 2**27) if i % 3 == 1 else (2**29, 2**27 if i % 6 == 0 else 64)
    with knobs.override_is_batching_disabled(i % 3 == 2), knobs.override_max_chunk_size_bytes(chunk), \
            knobs.override_slab_size_threshold_bytes(slab):
        torchsnapshot.Snapshot.take(path, state)


def load_snapshot(path):
    state = torchsnapshot.StateDict()
    torchsnapshot.Snapshot(path).restore({"state": state})
    return dict(state)


def load_npz(path):
    with numpy.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def save_npz(save):
    def run(arrays, path, i):
        with open(path, "wb") as file:
            save(file, **arrays)
    return run


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
    "snapshot": (lambda rng: random_dict(rng, 3, SNAPSHOT_KEYS), build, save_snapshot, load_snapshot),
}


def lines(*args):
    return [json.loads(line) for line in base.bun(os.path.join(base.HERE, "files-exchange.ts"),
                                                  *map(str, args)).splitlines()]


def show(wrong, results):
    return "".join(f"; {i}: {str(results[i])[:300]}" for i in wrong[:3])


def too_long(*_):
    raise TimeoutError("it hangs")


def attempt(task, *args):
    """What a task gives, or why it failed; a task of Python's that hangs is stopped."""
    signal.alarm(SECONDS)
    try:
        return task(*args)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)


def one(work, name, rng):
    make, construct, save, load = FORMATS[name]
    count = 200 if name == "snapshot" else COUNT
    values = [make(rng) for _ in range(count)]
    ours, theirs = (os.path.join(work, f"{name}-{side}") for side in ("zensor", "python"))
    for directory in (ours, theirs):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
    failed = {}
    for i, value in enumerate(values):
        result = attempt(save, construct(value, rng), os.path.join(theirs, f"{i}.{name}"), i)
        if isinstance(result, dict):
            failed[i] = result["error"]
    good = [i for i in range(count) if i not in failed]
    reasons = "".join(f"; {n} x {r}" for r, n in sorted(
        {r: list(failed.values()).count(r) for r in set(failed.values())}.items()))
    print(f"{name}: Python itself saves {len(good)} of {count}{reasons[:300]}")
    read = lines("read", name, theirs, count)
    wrong = [i for i in good if text(read[i]) != text(values[i])]
    base.check("zensor loads what Python saved", not wrong, f"{len(good) - len(wrong)} of {len(good)}{show(wrong, read)}")
    if load is None:
        return
    path = os.path.join(work, f"{name}.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(value) + "\n" for value in values)
    written = lines("save", name, path, ours)
    back = [written[i] or attempt(lambda: describe(load(os.path.join(ours, f"{i}.{name}")))) for i in range(count)]
    wrong = [i for i in range(count) if text(back[i]) != text(values[i])]
    base.check("Python loads what zensor saved", not wrong, f"{count - len(wrong)} of {count}{show(wrong, back)}")
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
    base.check("both saved the same bytes", not different, f"{COUNT - len(different)} of {COUNT}"
               f"{f', not {different[:5]}' if different else ''}")


def main():
    work = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="zensor-files-")
    os.makedirs(work, exist_ok=True)
    print(f"torch {torch.__version__}, numpy {numpy.__version__}, torchsnapshot 0.1.0, "
          f"Bun {base.bun('--version').strip()}\n")
    rng = random.Random(24)
    for name in sys.argv[2:] or FORMATS:
        one(work, name, rng)
    print(f"\n{len(base.failures)} failures", flush=True)
    # Threads that torchsnapshot left hanging are not waited for.
    os._exit(1 if base.failures else 0)


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, too_long)
    main()
