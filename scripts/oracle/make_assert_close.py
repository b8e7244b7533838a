"""Records what torch.testing.assert_close says: test/fixtures/assert-close.json, read by test/testing/close.test.ts."""

import json
from pathlib import Path

import torch
from torch.testing import assert_close
cases = {
    "t": lambda: assert_close(torch.tensor([1.,2,3]), torch.tensor([1.,4,5])),
    "2d": lambda: assert_close(torch.tensor([[1.,2],[3,4]]), torch.tensor([[1.,2],[3.1,9]])),
    "nan": lambda: assert_close(torch.tensor([1.,float('nan')]), torch.tensor([1.,float('nan')])),
    "int": lambda: assert_close(torch.tensor([1,2]), torch.tensor([1,5])),
    "inttol": lambda: assert_close(torch.tensor([1,2]), torch.tensor([1,5]), rtol=0, atol=1),
    "zero": lambda: assert_close(torch.tensor([0.,2]), torch.tensor([1.,0])),
    "scalar": lambda: assert_close(torch.tensor(1.), torch.tensor(1.1)),
    "scalari": lambda: assert_close(torch.tensor(1), torch.tensor(3)),
    "num": lambda: assert_close(1.5, 2.5),
    "numi": lambda: assert_close(1, 2),
    "numtol": lambda: assert_close(1.5, 2.5, rtol=0.1, atol=1e-9),
    "shape": lambda: assert_close(torch.zeros(2), torch.zeros(3)),
    "dtype": lambda: assert_close(torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
    "device": lambda: assert_close(torch.zeros(2), torch.zeros(2, device="meta")),
    "stride": lambda: assert_close(torch.zeros(2,3), torch.zeros(3,2).t(), check_stride=True),
    "one tol": lambda: assert_close(torch.zeros(2), torch.zeros(2), rtol=1.0),
    "seq": lambda: assert_close([torch.zeros(2)], [torch.zeros(2), 1]),
    "seqitem": lambda: assert_close({"a": [torch.zeros(2), torch.zeros(2)]}, {"a": [torch.zeros(2), torch.ones(2)]}),
    "keys": lambda: assert_close({"a": 1, "b": 2}, {"c": 1, "b": 2}),
    "none": lambda: assert_close(None, 1),
    "bools": lambda: assert_close(True, False),
    "types": lambda: assert_close(torch.zeros(2), 1),
    "strs": lambda: assert_close("a", "a"),
    "boolt": lambda: assert_close(torch.tensor([True, False]), torch.tensor([True, True])),
    "complex": lambda: assert_close(torch.tensor([1+2j, 3]), torch.tensor([1+2j, 4])),
    "half": lambda: assert_close(torch.tensor([1.,2], dtype=torch.float16), torch.tensor([1.,2.1], dtype=torch.float16)),
    "bf": lambda: assert_close(torch.tensor([1.,2], dtype=torch.bfloat16), torch.tensor([1.,2.1], dtype=torch.bfloat16)),
    "f8": lambda: assert_close(torch.tensor([1.,2]).to(torch.float8_e4m3fn), torch.tensor([1.,3]).to(torch.float8_e4m3fn)),
    "msg": lambda: assert_close(torch.zeros(1), torch.ones(1), msg="own"),
    "msgf": lambda: assert_close(torch.zeros(1), torch.ones(1), msg=lambda m: "H\n" + m),
    "f64": lambda: assert_close(torch.tensor([1., 2], dtype=torch.float64), torch.tensor([1.,2.00001], dtype=torch.float64)),
    "mixed": lambda: assert_close(torch.tensor([1, 2]), torch.tensor([1.,2.5]), check_dtype=False),
    "int and float": lambda: assert_close(torch.tensor([1, 2]), torch.tensor([1.,2])),
    "complexnum": lambda: assert_close(1+2j, 1+3j),
    "inf": lambda: assert_close(torch.tensor([float("inf")]), torch.tensor([1.0])),
    "param": lambda: assert_close(torch.nn.Parameter(torch.zeros(1)), torch.zeros(1), allow_subclasses=False),
    "empty list": lambda: assert_close([], [1]),
    "scalarbool": lambda: assert_close(torch.tensor(True), torch.tensor(False)),
}
out = {}
for k, f in cases.items():
    try:
        f()
        out[k] = None
    except Exception as e:
        out[k] = f"{type(e).__name__}: {e}"
target = Path(__file__).parents[2] / "test" / "fixtures" / "assert-close.json"
target.write_text(json.dumps(out, indent=1) + "\n")
