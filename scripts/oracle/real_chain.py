"""A real model file through every format that zensor writes, each step opened by Python; prints what it finds.

    python real_chain.py MODEL.safetensors [WORK_DIR]

Needs torch, tensordict, safetensors, h5py and bun, and libhdf5 for the HDF5 step.
"""
import filecmp
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import h5py
import numpy
import tensordict
import torch
from safetensors.torch import load_file
from tensordict import PersistentTensorDict, TensorDict

from reporting import ROOT, bun, check, finish

CLI = os.path.join(ROOT, "src", "cli", "main.ts")


def flat(td):
    return {".".join(k) if isinstance(k, tuple) else k: v for k, v in td.items(True, True) if isinstance(v, torch.Tensor)}


def from_hdf5(path):
    found = {}
    with h5py.File(path) as file:
        visit = lambda name, item: found.update({name.replace("/", "."): torch.from_numpy(item[()])}) \
            if isinstance(item, h5py.Dataset) and item.dtype.kind != "O" else None
        file.visititems(visit)
    opened = PersistentTensorDict(filename=path, batch_size=[], mode="r")
    assert len(list(opened.keys(True, True))) >= len(found)
    return found


def from_snapshot(path):
    manifest = json.load(open(os.path.join(path, ".snapshot_metadata")))["manifest"]
    import logging
    import torchsnapshot

    logging.getLogger("torchsnapshot").setLevel(logging.ERROR)

    snapshot = torchsnapshot.Snapshot(path)
    return {name[len("0/state/"):]: snapshot.read_object(name)
            for name, entry in manifest.items() if entry["type"] == "Tensor"}


def from_npz(path):
    with numpy.load(path) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files if name != "__metadata__"}


def from_pt(path):
    return {k: v for k, v in torch.load(path, weights_only=True).items() if k != "__metadata__"}


READERS = {
    "directory": lambda path: flat(TensorDict.load_memmap(path)),
    "model.tdz": lambda path: flat(TensorDict.load_memmap(path)),
    "model.consolidated": lambda path: flat(TensorDict.from_consolidated(path)),
    "model.pt": from_pt,
    "model.npz": from_npz,
    "model.h5": from_hdf5,
    "model.snapshot": from_snapshot,
    "model.safetensors": load_file,
}


def main():
    source = os.path.abspath(sys.argv[1])
    work = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    versions = f"torch {torch.__version__}, tensordict {tensordict.__version__}, h5py {h5py.__version__}"
    print(f"{versions}, Python {platform.python_version()}, Bun {bun('--version').strip()}")
    print(f"{os.path.basename(source)}: {os.path.getsize(source)} bytes")
    expected = load_file(source)
    at = source
    for name, read in READERS.items():
        path = os.path.join(work, name)
        start = time.perf_counter()
        done = subprocess.run(["bun", CLI, "convert", at, path, "--quiet", "--force"], capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            check(name, False, done.stderr.strip())
            break
        try:
            found = read(path)
            good = found.keys() == expected.keys() and all(
                found[k].dtype == expected[k].dtype and torch.equal(found[k], expected[k]) for k in expected)
            what = f"{len(found)} tensors, equal for Python" if good else "NOT equal for Python"
        except ImportError as error:
            good, what = True, f"not opened by Python ({error})"
        check(name, good, f"{what}; {seconds * 1000:.0f} ms")
        at = path
    same = os.path.isfile(at) and filecmp.cmp(source, at, shallow=False)
    check(f"the last file is {'the first one, byte for byte' if same else 'another one'}", same)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
