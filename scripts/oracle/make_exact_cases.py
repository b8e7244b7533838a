"""Writes calls whose results are torch's bit for bit, in torch's layout, sharing what torch shares.

    ATEN_CPU_CAPABILITY=avx2 python make_exact_cases.py OUT_FILE

The lines are those of make_random_cases.py with `exact`, `gst` (strides of the gradients), `seed` where the call draws random
numbers, and `fma` where torch's own result needs a fused product: the test leaves those out on processors without one. tests: test/ops/exact-cases.test.ts.
"""
import json
import sys
import warnings

import torch

from exact_calls import SECTIONS
from exact_calls_activations import SECTIONS as ACTIVATIONS
from exact_calls_more import SECTIONS as MORE
from exact_calls_numbers import SECTIONS as NUMBERS
from exact_calls_parts import SECTIONS as PARTS
from make_random_cases import CODE, answer


class Cases:
    """Calls with real tensors, written as cases."""

    def __init__(self, file):
        self.file = file
        self.count = 0
        self.section = ""

    def encode(self, v, tensors):
        if isinstance(v, torch.Tensor):
            found = [k for k, t in enumerate(tensors) if t is v]
            if not found:
                tensors.append(v)
            return {"t": found[0] if found else len(tensors) - 1}
        if isinstance(v, (list, tuple)):
            return [self.encode(x, tensors) for x in v]
        if isinstance(v, torch.dtype):
            return {"dt": CODE[v]}
        if isinstance(v, torch.memory_format):
            return {"mf": str(v)[6:]}
        if isinstance(v, float):
            return {"f": v}
        return {"c": [v.real, v.imag]} if isinstance(v, complex) else v

    def call(self, op, form, *args, fma=False, seed=None, **kw):
        tensors, storages = [], {}
        case = {"id": self.count, "op": op, "form": form, "T": [], "S": [], "exact": True, "section": self.section}
        if fma:
            case["fma"] = True
        if seed is not None:
            case["seed"] = seed
        case["args"] = [self.encode(a, tensors) for a in args]
        case["kw"] = {k: self.encode(v, tensors) for k, v in kw.items()}
        for t in tensors:
            base = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())
            at = storages.setdefault(t.untyped_storage().data_ptr(), len(case["S"]))
            if at == len(case["S"]):
                values = (base.float() if t.dtype in (torch.float16, torch.bfloat16) else base).tolist()
                parts = [[v.real, v.imag] for v in values] if t.is_complex() else values
                case["S"].append([CODE[t.dtype], parts])
            case["T"].append([CODE[t.dtype], at, list(t.shape), list(t.stride()), t.storage_offset(), t.requires_grad])
        text = json.dumps(answer(case), separators=(",", ":"))
        self.file.write(text.replace("-Infinity", '"-inf"').replace("Infinity", '"inf"').replace("NaN", '"nan"') + "\n")
        self.count += 1


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with open(sys.argv[1], "w") as f:
        cases = Cases(f)
        for section in SECTIONS + MORE + NUMBERS + ACTIVATIONS + PARTS:
            torch.manual_seed(len(section.__name__))
            cases.section = section.__name__
            section(cases.call)
        print(cases.count, "cases; torch", torch.__version__, torch.backends.cpu.get_cpu_capability())


main()
