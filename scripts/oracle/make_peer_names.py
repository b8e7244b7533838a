"""The public names of torch, numpy and tensordict, for the tables of names that are not here yet.

    python scripts/oracle/make_peer_names.py > codegen/peers/names.json
"""

import inspect
import json
import types

import numpy as np
import tensordict
import tensordict.nn
import tensordict.utils
import torch
from tensordict import TensorDict


def functions(module):
    found = []
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or not name[0].islower() or inspect.isclass(value) or isinstance(value, types.ModuleType):
            continue
        # What has no documentation is internal.
        if not inspect.getdoc(value):
            continue
        builtin = inspect.isbuiltin(value)
        ours = getattr(value, "__module__", "") or ""
        if builtin or isinstance(value, np.ufunc) or ours.startswith(("torch.functional", "torch.nn.functional", "numpy")):
            found.append(name)
    return sorted(found)


# Names of numpy.random that make no numbers.
NOT_NUMBERS = {"bit_generator", "mtrand", "random_sample", "ranf", "sample", "get_bit_generator", "set_bit_generator"}


def is_told(name):
    return name[0] != "_" and "determinis" not in name and "validation" not in name


names = {
    "versions": {"torch": torch.__version__.split("+")[0], "numpy": np.__version__, "tensordict": tensordict.__version__},
    "torch": functions(torch),
    "Tensor": sorted(n for n in dir(torch.Tensor) if not n.startswith("_")),
    "torch.nn.functional": functions(torch.nn.functional),
    "torch.nn": sorted(torch.nn.modules.__all__),
    "torch.nn.Module": sorted(n for n in dir(torch.nn.Module) if n[0].islower()),
    "torch.linalg": functions(torch.linalg),
    "torch.fft": functions(torch.fft),
    "torch.special": functions(torch.special),
    "torch.func": sorted(n for n in torch.func.__all__ if n not in ("debug_unwrap", "rearrange")),
    "torch.autograd": ["Function", "backward", "detect_anomaly", "grad", "gradcheck", "gradgradcheck"],
    "torch.distributions": sorted(torch.distributions.__all__),
    "torch.optim": sorted(n for n in dir(torch.optim) if n[0].isupper()),
    "torch.optim.lr_scheduler": sorted(torch.optim.lr_scheduler.__all__),
    "torch.utils.data": sorted(n for n in torch.utils.data.__all__ if "Pipe" not in n and "pipe" not in n and is_told(n)),
    "torch.amp": sorted(torch.amp.__all__),
    "numpy": [n for n in functions(np) if n in np.__all__],
    "numpy.linalg": sorted(n for n in np.linalg.__all__ if n[0].islower()),
    "numpy.random": sorted(n for n in np.random.__all__ if n[0].islower() and n not in NOT_NUMBERS),
    "TensorDict": sorted(n for n in dir(TensorDict) if not n.startswith("_")),
    "tensordict": sorted(n for n in tensordict.__all__ if n[0].islower()),
    "tensordict classes": sorted(n for n in tensordict.__all__ if n[0].isupper()),
    "tensordict.utils": sorted(tensordict.utils.__all__),
    "tensordict.nn": sorted(tensordict.nn.__all__),
}
rows = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in names.items()]
print("{\n" + ",\n".join(rows) + "\n}")
