"""Runs sequences on TensorDicts for `bun run oracle --tensordict`: one JSON line in, one JSON line out (test/oracle/).

In: steps as test/tensordict/sequences/steps.ts has them. Out: for each step what was seen after it, up to the first error:
outcomes [{err: [type, text]} or {vars}].
"""
import json
import shutil
import sys
import tempfile
import warnings

import tensordict
import torch
from tensordict import LazyStackedTensorDict, TensorDict, is_tensor_collection, lazy_stack, tensorclass
from tensordict import maybe_dense_stack

DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool}
CODES = {v: k for k, v in DTYPES.items()}
ERRORS = (RuntimeError, IndexError, ValueError, NotImplementedError, KeyError, AttributeError, TypeError,
          AssertionError)


@tensorclass
class SequencePoint:
    a: torch.Tensor
    b: torch.Tensor
    n: TensorDict


def count(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


def leaf(d):
    flat = torch.arange(d["from"], d["from"] + count(d["sh"]))
    if d["dt"] == "bool":
        flat = flat.remainder(2)
    return flat.to(DTYPES[d["dt"]]).view(d["sh"])


def tree(d):
    entries = {k: tree(v) if "bs" in v else leaf(v) for k, v in d["e"]}
    if d["c"] == "point":
        return SequencePoint(**entries, batch_size=d["bs"])
    return TensorDict(entries, d["bs"])


def part(p):
    if p == "...":
        return ...
    if not isinstance(p, dict):
        return p
    if "s" in p:
        return slice(*p["s"])
    return torch.tensor(p["i"], dtype=torch.int64) if "i" in p else torch.tensor(p["m"], dtype=torch.bool)


def index(s):
    parts = tuple(part(p) for p in s["index"])
    return parts[0] if len(parts) == 1 else parts


def path(p):
    return p[0] if len(p) == 1 else tuple(p)


def paths(s):
    return [path(p) for p in s["paths"]]


class World:
    def __init__(self, root):
        self.vars, self.root, self.folders = [], root, 0

    def folder(self):
        self.folders += 1
        return f"{self.root}/{self.folders}"

    def value(self, v):
        if not isinstance(v, dict):
            return v
        if "v" in v:
            return self.vars[v["v"]]
        return tree(v) if "bs" in v else leaf(v)

    def all(self, s):
        return [self.vars[i] for i in s["list"]]


def nothing(_):
    return None


def collection(x):
    return x if is_tensor_collection(x) else None


def lazy(s):
    one = tree(s["tree"])
    return lazy_stack([one, one + 50], s["dims"][0])


def mapped(td, w):
    folder = w.folder()
    return [td.memmap(folder), TensorDict.load_memmap(folder)]


def evens(td):
    return torch.arange(count(td.batch_size)).remainder(2).eq(0).view(td.batch_size)


def read(td, key):
    return td.get(key) if isinstance(td, SequencePoint) else td[key]


def assign(td, at, v):
    td[at] = v


def resize(td, s):
    td.batch_size = s["dims"]


def first(s):
    return s["dims"][0]


RUNS = {
    "make": lambda td, s, w: tree(s["tree"]),
    "makePoint": lambda td, s, w: tree(s["tree"]),
    "makeLocked": lambda td, s, w: tree(s["tree"]).lock_(),
    "makeMapped": lambda td, s, w: tree(s["tree"]).memmap(w.folder()),
    "makeLazy": lambda td, s, w: lazy(s),
    "set": lambda td, s, w: nothing(td.set(path(s["path"]), w.value(s["value"]))),
    "set_": lambda td, s, w: nothing(td.set_(path(s["path"]), w.value(s["value"]))),
    "setdefault": lambda td, s, w: collection(td.setdefault(path(s["path"]), w.value(s["value"]))),
    "get": lambda td, s, w: collection(read(td, path(s["path"]))),
    "del": lambda td, s, w: nothing(td.del_(path(s["path"]))),
    "pop": lambda td, s, w: collection(td.pop(path(s["path"]))),
    "rename": lambda td, s, w: nothing(td.rename_key_(path(s["path"]), path(s["to"]), safe=s["flag"])),
    "select": lambda td, s, w: td.select(*paths(s), strict=s["keep"] == 1),
    "exclude": lambda td, s, w: td.exclude(*paths(s)),
    "selectInplace": lambda td, s, w: nothing(td.select(*paths(s), strict=not s["flag"], inplace=True)),
    "excludeInplace": lambda td, s, w: nothing(td.exclude(*paths(s), inplace=True)),
    "update": lambda td, s, w: nothing(td.update(w.value(s["value"]))),
    "update_": lambda td, s, w: nothing(td.update_(w.value(s["value"]))),
    "at": lambda td, s, w: td[index(s)],
    "setAtNumber": lambda td, s, w: assign(td, index(s), s["value"]),
    "setAtOwn": lambda td, s, w: assign(td, index(s), w.all(s)[1][index(s)]),
    "updateAt_": lambda td, s, w: nothing(td.update_at_(w.all(s)[1][index(s)], index(s))),
    "setAtLeaf": lambda td, s, w: nothing(td.set_at_(path(s["path"]), torch.tensor(float(s["value"])), index(s))),
    "stack": lambda td, s, w: torch.stack(w.all(s), first(s)),
    "lazyStack": lambda td, s, w: lazy_stack(w.all(s), first(s)),
    "maybeDenseStack": lambda td, s, w: maybe_dense_stack(w.all(s), first(s)),
    "cat": lambda td, s, w: torch.cat(w.all(s), first(s)),
    "split": lambda td, s, w: list(td.split(s["list"][0], first(s)))[:s["keep"]],
    "chunk": lambda td, s, w: list(td.chunk(s["list"][0], first(s)))[:s["keep"]],
    "unbind": lambda td, s, w: list(td.unbind(first(s)))[:s["keep"]],
    "view": lambda td, s, w: td.view(s["dims"]),
    "reshape": lambda td, s, w: td.reshape(s["dims"]),
    "permute": lambda td, s, w: td.permute(s["dims"]),
    "expand": lambda td, s, w: td.expand(s["dims"]),
    "repeat": lambda td, s, w: td.repeat(s["dims"]),
    "transpose": lambda td, s, w: td.transpose(*s["dims"]),
    "squeeze": lambda td, s, w: td.squeeze(first(s)),
    "unsqueeze": lambda td, s, w: td.unsqueeze(first(s)),
    "flatten": lambda td, s, w: td.flatten(),
    "unflatten": lambda td, s, w: td.unflatten(first(s), s["dims"][1:]),
    "flip": lambda td, s, w: td.flip(s["dims"]),
    "roll": lambda td, s, w: td.roll(s["list"][0], first(s)),
    "sumDim": lambda td, s, w: td.sum(first(s)),
    "gather": lambda td, s, w: td.gather(first(s), torch.zeros(td.batch_size, dtype=torch.int64)),
    "maskedFill": lambda td, s, w: td.masked_fill(evens(td), s["value"]),
    "where": lambda td, s, w: td.where(evens(td), w.value(s["value"])),
    "addNumber": lambda td, s, w: td.add(s["value"]),
    "mulNumber_": lambda td, s, w: nothing(td.mul_(s["value"])),
    "addTd": lambda td, s, w: td.add(w.value(s["value"])),
    "eqTd": lambda td, s, w: td == w.value(s["value"]),
    "neg": lambda td, s, w: td.neg(),
    "zero_": lambda td, s, w: nothing(td.zero_()),
    "applyPlus": lambda td, s, w: td.apply(lambda x: x + 1),
    "applySame": lambda td, s, w: td.apply(lambda x: x),
    "apply_": lambda td, s, w: nothing(td.apply_(lambda x: x * 2)),
    "namedApply": lambda td, s, w: td.named_apply(lambda k, x: x * 2 if k == "a" else x),
    "flattenKeys": lambda td, s, w: td.flatten_keys("."),
    "unflattenKeys": lambda td, s, w: td.unflatten_keys("."),
    "flattenInplace": lambda td, s, w: nothing(td.flatten_keys(".", inplace=True)),
    "unflattenInplace": lambda td, s, w: nothing(td.unflatten_keys(".", inplace=True)),
    "splitKeys": lambda td, s, w: list(td.split_keys(paths(s), inplace=False))[:s["keep"]],
    "lock_": lambda td, s, w: nothing(td.lock_()),
    "unlock_": lambda td, s, w: nothing(td.unlock_()),
    "clone": lambda td, s, w: td.clone(not s["flag"]),
    "memmap": lambda td, s, w: td.memmap(w.folder()),
    "memmap_": lambda td, s, w: nothing(td.memmap_(w.folder())),
    "memmapLoad": lambda td, s, w: mapped(td, w),
    "clear": lambda td, s, w: nothing(td.clear()),
    "toTensordict": lambda td, s, w: td.to_tensordict(),
    "densify": lambda td, s, w: td.densify() if isinstance(td, LazyStackedTensorDict) else None,
    "contiguous": lambda td, s, w: td.contiguous(),
    "replace": lambda td, s, w: td.replace(w.value(s["value"])),
    "createNested": lambda td, s, w: nothing(td.create_nested(path(s["path"]))),
    "empty": lambda td, s, w: td.empty(s["flag"]),
    "filterEmpty_": lambda td, s, w: nothing(td.filter_empty_()),
    "batchSize": lambda td, s, w: resize(td, s),
}


class Storages:
    def __init__(self):
        self.numbers, self.kept = {}, []

    def number(self, t):
        s = t.untyped_storage()
        if s.nbytes() == 0:
            return -1
        if s.data_ptr() not in self.numbers:
            self.numbers[s.data_ptr()] = len(self.kept)
            self.kept.append(s)
        return self.numbers[s.data_ptr()]


def see_leaf(t, storages):
    v = t.detach().reshape(-1).tolist()
    return {"dt": CODES.get(t.dtype, str(t.dtype)), "sh": list(t.shape), "st": list(t.stride()),
            "off": t.storage_offset(), "s": storages.number(t), "v": v}


def see(td, storages):
    if isinstance(td, SequencePoint):
        seen = see(td._tensordict, storages)
        # A stack of tensorclasses stands in one here.
        return pointed(seen)
    seen = {"c": "td", "bs": list(td.batch_size), "lk": td.is_locked}
    if isinstance(td, LazyStackedTensorDict):
        return {**seen, "c": "lazy", "sd": td.stack_dim, "m": [see(member, storages) for member in td.tensordicts]}
    e = [[k, see(v, storages) if is_tensor_collection(v) else see_leaf(v, storages)]
         for k in td.keys() for v in [td._get_str(k, None)]]
    return {**seen, "e": e}


def pointed(seen):
    if seen["c"] == "lazy":
        return {**seen, "m": [pointed(member) for member in seen["m"]]}
    return {**seen, "c": "point"}


def answer(steps):
    root = tempfile.mkdtemp(prefix="sequences-")
    world, outcomes = World(root), []
    try:
        for s in steps:
            try:
                td = world.vars[s["on"]] if world.vars else None
                got = RUNS[s["op"]](td, s, world)
                if isinstance(got, list):
                    world.vars.extend(got)
                elif got is not None:
                    world.vars.append(got)
                storages = Storages()
                outcomes.append({"vars": [see(v, storages) for v in world.vars]})
            except ERRORS as e:
                text = str(e.args[0]) if isinstance(e, KeyError) and e.args else str(e)
                outcomes.append({"err": [type(e).__name__, text]})
                break
    finally:
        shutil.rmtree(root)
    return {"outcomes": outcomes}


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(json.dumps({"tensordict": tensordict.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line)["steps"])), flush=True)


main()
