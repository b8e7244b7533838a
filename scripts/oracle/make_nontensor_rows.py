"""Writes test/fixtures/nontensor-rows.json: what writes to parts of stacks of texts change, by Python's tensordict.

    python scripts/oracle/make_nontensor_rows.py

A program takes parts of a dictionary with texts, one after the other, and writes into the last one; the texts of the
source and of all parts are recorded. Kept are programs of calls that `test/tensordict/nontensor-rows.test.ts` knows.
"""

import json
import random
import warnings
from pathlib import Path

import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

warnings.filterwarnings("ignore")
TARGET = Path(__file__).parents[2] / "test" / "fixtures" / "nontensor-rows.json"
COUNT = 300


def plain(value):
    return [plain(item) for item in value] if isinstance(value, list) else value


def index_part(part):
    if isinstance(part, int):
        return part
    kind, value = part["kind"], part["value"]
    if kind == "slice":
        return slice(*value)
    return torch.tensor(value) if kind in ("tensor", "mask") else value


def draw_part(rng, size, listed):
    kinds = ["int", "slice", "list", "tensor", "mask"] if listed else ["int", "slice", "slice"]
    kind = rng.choice(kinds)
    if kind == "int":
        return rng.randrange(-size, size)
    if kind == "slice":
        start = rng.randrange(size)
        return {"kind": "slice", "value": [start, rng.randint(start + 1, size)]}
    if kind == "mask":
        mask = [rng.random() < 0.6 for _ in range(size)]
        return {"kind": "mask", "value": mask if any(mask) else [True] * size}
    return {"kind": kind, "value": [rng.randrange(size) for _ in range(rng.randint(1, 3))]}


def draw_step(rng, shape):
    rank = len(shape)
    names = ["unsqueeze", "stack", "clone", "shallow", "reshape"]
    if rank > 0:
        names += ["at"] * 8 + ["masked_select", "split", "unbind", "flip", "roll", "repeat_interleave", "flatten", "gather"]
    if rank > 1:
        names += ["permute", "at", "at"]
    name = rng.choice(names)
    dim = rng.randrange(rank) if rank else 0
    if name == "at":
        count = rng.randint(1, rank)
        listed = rng.randrange(count) if rng.random() < 0.7 else -1
        parts = [draw_part(rng, shape[i], i == listed) for i in range(count)]
        return [name, parts]
    if name == "unsqueeze":
        return [name, rng.randrange(rank + 1)]
    if name == "masked_select":
        mask = (torch.rand(shape) < 0.6).tolist()
        return [name, mask]
    if name == "split":
        return [name, rng.randint(1, shape[dim]), dim]
    if name == "gather":
        return [name, [rng.randrange(shape[0]) for _ in range(2)]] if rank == 1 else ["clone"]
    if name in ("unbind", "flip"):
        return [name, dim]
    if name == "roll":
        return [name, rng.randint(1, 2), dim]
    if name == "repeat_interleave":
        return [name, 2, dim]
    if name == "permute":
        return [name, rng.sample(range(rank), rank)]
    if name == "reshape":
        return [name, [1, *shape]]
    return [name]


def take(td, step):
    name, *args = step
    if name == "at":
        return td[tuple(index_part(part) for part in args[0])]
    if name == "masked_select":
        return td.masked_select(torch.tensor(args[0]))
    if name == "split":
        return td.split(*args)[0]
    if name == "unbind":
        return td.unbind(args[0])[-1]
    if name == "flip":
        return td.flip(args[0])
    if name == "repeat_interleave":
        return td.repeat_interleave(args[0], dim=args[1])
    if name == "permute":
        return td.permute(*args[0])
    if name == "reshape":
        return td.reshape(*args[0])
    if name == "flatten":
        return td.reshape(-1)
    if name == "gather":
        return td.gather(0, torch.tensor(args[0]))
    if name == "stack":
        return torch.stack([td, td])
    if name == "shallow":
        return td.clone(False)
    return getattr(td, name)(*args)


def write(rng, td):
    shape = tuple(td.batch_size)
    at = [rng.randrange(n) for n in shape]
    name = rng.choice(["set", "setAt", "updateAt", "setKeyAt"])
    if name == "set":
        td.set_("n", NonTensorData("new", batch_size=shape))
        return [name]
    row = TensorDict(n="new", x=torch.tensor(9), batch_size=[])
    if name == "setAt" and shape:
        td[tuple(at)] = row
    elif name == "updateAt" and shape:
        td.update_at_(row, tuple(at))
    else:
        name = "setKeyAt"
        td.set_at_("n", "new", tuple(at))
    return [name, at]


def program(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    shape = rng.choice([[3], [4], [2, 3], [3, 2], [2, 1, 2]])
    count = torch.Size(shape).numel()
    texts = NonTensorStack(*[f"t{i}" for i in range(count)])
    texts = TensorDict(n=texts, batch_size=[count]).reshape(*shape).get("n")
    source = TensorDict(n=texts, x=torch.arange(count).view(shape), batch_size=shape)
    parts, steps = [source], []
    for _ in range(rng.randint(1, 3)):
        step = draw_step(rng, list(parts[-1].batch_size))
        part = take(parts[-1], step)
        if part.numel() == 0 or part.numel() > 64:
            return None
        parts.append(part)
        steps.append(step)
    last = write(rng, parts[-1])
    found = [plain(td.get("n").tolist()) for td in parts]
    return {"shape": shape, "steps": steps, "write": last, "texts": found}


def main():
    cases, refused = [], 0
    for seed in range(10 * COUNT):
        try:
            case = program(seed)
        except Exception:
            refused += 1
            continue
        if case is not None:
            cases.append(case)
        if len(cases) == COUNT:
            break
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    TARGET.write_text(f"[\n{lines}\n]\n")
    print(f"{len(cases)} programs, {refused} that Python refuses")


main()
