"""Python's side of the family formats: the same tensors through the libraries that own the formats."""

import os

import torch

from saving import Loads, Saves


def source(name):
    """Tensors by name, and the same as a TensorDict."""
    from tensordict import TensorDict

    if name == "transformer":
        module = torch.nn.Transformer()
        return {k: v.detach() for k, v in module.state_dict().items()}, TensorDict.from_module(module).data
    if name == "small":
        state = {f"leaf{i}": torch.randn(32, 4) for i in range(1000)}
        return state, TensorDict(dict(state), batch_size=[])
    return {"array": torch.randn(25_000_000)}, None


# Libraries that a Python with torch may lack are imported by the cases that need them.


def numpy():
    import numpy

    return numpy


def safetensors_torch():
    import safetensors.torch

    return safetensors.torch


def collection():
    from tensordict import TensorDict

    return TensorDict


# Per format: ending of the name, how it is saved (state, td, path, threads), how it is loaded.
FORMATS = {
    "memmap": (
        "td",
        lambda state, td, path, threads: td.memmap(path, num_threads=threads),
        lambda path: collection().load_memmap(path),
    ),
    "pt": (
        "file.pt",
        lambda state, td, path, threads: torch.save(state, path),
        lambda path: torch.load(path, mmap=True, weights_only=True),
    ),
    "safetensors": (
        "file.safetensors",
        lambda state, td, path, threads: safetensors_torch().save_file(state, path),
        lambda path: safetensors_torch().load_file(path),
    ),
    "npz": (
        "file.npz",
        lambda state, td, path, threads: numpy().savez(path, **{k: v.numpy() for k, v in state.items()}),
        lambda path: dict(numpy().load(path).items()),
    ),
    "npy": (
        "file.npy",
        lambda state, td, path, threads: numpy().save(path, state["array"].numpy()),
        lambda path: {"array": numpy().load(path)},
    ),
    "consolidated": (
        "file",
        lambda state, td, path, threads: td.consolidate(filename=path, num_threads=threads),
        lambda path: collection().from_consolidated(path),
    ),
    "tdz": (
        "file.tdz",
        lambda state, td, path, threads: td.memmap(path, num_threads=threads),
        lambda path: collection().load_memmap(path),
    ),
}


class SaveFormat(Saves):
    def __init__(self, kind, name):
        self.ending, self.save_as, _ = FORMATS[kind]
        self.state, self.td = source(name)
        self.threads = 0
        if kind == "memmap":
            self.choose_threads((0, 1, 2, 4))

    def save(self, folder):
        self.save_as(self.state, self.td, os.path.join(folder, self.ending), self.threads)


def load_format(kind, name, use=None):
    ending, save, load = FORMATS[kind]
    state, td = source(name)
    return Loads(ending, lambda path: save(state, td, path, 0), load, lambda loaded: loaded.values(), use)


# What formats of a special kind are tried with.
NAMES = {"npy": ("array",), "pt": ("transformer", "small", "array")}
USES = {"": None, ", first elements": lambda array: array.flat[0], ", sum": lambda array: array.sum()}


def cases():
    """Makers of cases by name, such as "formats: pt save, small"."""
    found = {}
    for kind in FORMATS:
        for name in NAMES.get(kind, ("transformer", "small")):
            found[f"formats: {kind} save, {name}"] = lambda kind=kind, name=name: SaveFormat(kind, name)
            for text, use in USES.items():
                key = f"formats: {kind} load, {name}{text}"
                found[key] = lambda kind=kind, name=name, use=use: load_format(kind, name, use)
    return found
