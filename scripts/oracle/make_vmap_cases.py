"""Makes test/fixtures/vmap/cases.jsonl: what torch's vmap gives for each operator, over mixes of in_dims.

    python scripts/oracle/make_vmap_cases.py test/fixtures/vmap/cases.jsonl

A line has the operator's name, its arguments ("$0" stands for the first tensor), the tensors, in_dims, and what torch
gives: the result, or the class and text of the error.
"""

import json
import math
import sys
import warnings

import torch
from torch.func import vmap

warnings.simplefilter("ignore")
torch.manual_seed(0)


def floats(*shape):
    return (torch.randn(shape) * 4).round() / 4


def positive(*shape):
    return floats(*shape).abs() + 0.25


def ints(n, *shape):
    return torch.randint(0, n, shape)


def mask(*shape):
    return torch.rand(shape) > 0.5


# name: tensors of one example, other arguments, keyword arguments
UNARY = """abs neg exp log log1p sqrt rsqrt tanh sigmoid sin cos relu reciprocal expm1 sign sgn floor ceil trunc round frac
isnan logical_not square""".split()
BINARY = """add sub mul div true_divide floor_divide remainder fmod pow maximum minimum atan2 copysign logaddexp
logaddexp2 eq ne lt le gt ge logical_and logical_or""".split()
TENSORS_ONLY = "maximum minimum atan2 logaddexp logaddexp2 logical_and logical_or".split()
REDUCE = "sum mean prod amax amin all any max min std var logsumexp argmax argmin nansum nanmean std_mean var_mean".split()
ALONG = "cumsum cumprod cummax cummin sort argsort softmax log_softmax".split()


def calls():
    for name in UNARY:
        yield name, [positive(2, 3)], ["$0"], {}
        yield name, [positive()], ["$0"], {}
    for name in BINARY:
        for a, b in (([2, 3], [2, 3]), ([3], [2, 3]), ([], [3]), ([2, 1], [3])):
            yield name, [positive(*a), positive(*b)], ["$0", "$1"], {}
        if name not in TENSORS_ONLY:
            yield name, [positive(3)], ["$0", 2], {}
    yield "add", [ints(5), positive(3)], ["$0", "$1"], {}
    yield "add", [positive().double(), positive(3)], ["$0", "$1"], {}
    yield "mul", [positive().double(), positive()], ["$0", "$1"], {}
    yield "where", [mask(3), floats(3), floats()], ["$0", "$1", "$2"], {}
    yield "clamp", [floats(3)], ["$0", -1, 1], {}
    yield "lerp", [floats(3), floats(3), positive()], ["$0", "$1", "$2"], {}
    yield "addcmul", [floats(2, 3), floats(3), floats(2, 1)], ["$0", "$1", "$2"], {"value": 2}
    yield "addcdiv", [floats(2, 3), floats(3), positive(2, 1)], ["$0", "$1", "$2"], {}
    for name in REDUCE:
        for shape in ([2, 3], [3]):
            if name != "logsumexp":
                yield name, [floats(*shape)], ["$0"], {}
            yield name, [floats(*shape)], ["$0", 0], {}
            yield name, [floats(*shape)], ["$0", -1], {"keepdim": True}
        yield name, [floats(3)], ["$0", 1], {}
    yield "sum", [floats()], ["$0", 0], {}
    yield "sum", [floats()], ["$0", 0], {"keepdim": True}
    yield "sum", [floats(2, 3)], ["$0", [0, 1]], {}
    for name in ALONG:
        for dim in (0, 1, -2, 2):
            yield name, [floats(2, 3)], ["$0", dim], {}
        yield name, [floats()], ["$0", 0], {}
    yield "topk", [torch.randperm(5).float()], ["$0", 2], {}
    yield "flip", [floats(2, 3)], ["$0", [0]], {}
    yield "roll", [floats(2, 3)], ["$0", 1], {}
    yield "roll", [floats(2, 3)], ["$0", 1, 1], {}
    yield "rot90", [floats(2, 3)], ["$0"], {}
    yield "diff", [floats(5)], ["$0"], {}
    yield "quantile", [floats(5)], ["$0", 0.5], {}
    for name, args in (
        ("reshape", [[3, 2]]), ("reshape", [[-1]]), ("reshape", [[4]]), ("permute", [[1, 0]]), ("transpose", [0, 1]),
        ("transpose", [0, 2]), ("unsqueeze", [0]), ("unsqueeze", [-1]), ("unsqueeze", [5]), ("squeeze", []),
        ("squeeze", [0]), ("t", []), ("flatten", []), ("select", [0, 1]), ("select", [0, 7]), ("narrow", [1, 1, 2]),
        ("unbind", [0]), ("split", [1]), ("chunk", [2]), ("diagonal", []), ("movedim", [0, 1]), ("tile", [[2, 1]]),
        ("broadcast_to", [[4, 2, 3]]), ("broadcast_to", [[4, 3]]), ("unflatten", [1, [3, 1]]),
    ):
        yield name, [floats(2, 3)], ["$0", *args], {}
    yield "squeeze", [floats(1, 3)], ["$0"], {}
    yield "squeeze", [floats(1, 3)], ["$0", 0], {}
    yield "t", [floats(3)], ["$0"], {}
    yield "cat", [floats(2, 3), floats(1, 3)], [["$0", "$1"]], {}
    yield "cat", [floats(2, 3), floats(2, 1)], [["$0", "$1"], 1], {}
    yield "stack", [floats(2), floats(2)], [["$0", "$1"], 1], {}
    for name, shapes in (
        ("mm", ([2, 3], [3, 4])), ("bmm", ([2, 3, 2], [2, 2, 3])), ("mv", ([2, 3], [3])), ("dot", ([3], [3])),
        ("matmul", ([2, 3], [3])), ("matmul", ([3], [3])), ("matmul", ([2, 2, 3], [3, 2])), ("outer", ([2], [3])),
        ("inner", ([2, 3], [3])), ("vdot", ([3], [3])),
    ):
        yield name, [floats(*shapes[0]), floats(*shapes[1])], ["$0", "$1"], {}
    yield "addmm", [floats(4), floats(2, 3), floats(3, 4)], ["$0", "$1", "$2"], {"beta": 2, "alpha": 0.5}
    yield "addmv", [floats(2), floats(2, 3), floats(3)], ["$0", "$1", "$2"], {"beta": 2}
    yield "addr", [floats(2, 3), floats(2), floats(3)], ["$0", "$1", "$2"], {"alpha": 2}
    yield "baddbmm", [floats(2, 2, 3), floats(2, 2, 2), floats(2, 2, 3)], ["$0", "$1", "$2"], {}
    yield "addbmm", [floats(2, 3), floats(2, 2, 2), floats(2, 2, 3)], ["$0", "$1", "$2"], {}
    yield "gather", [floats(2, 3), ints(2, 2, 3)], ["$0", 0, "$1"], {}
    yield "scatter", [floats(2, 3), ints(2, 2, 3), floats(2, 3)], ["$0", 0, "$1", "$2"], {}
    yield "scatter_add", [floats(2, 3), ints(2, 2, 3), floats(2, 3)], ["$0", 0, "$1", "$2"], {}
    yield "index_select", [floats(2, 3), ints(3, 4)], ["$0", 1, "$1"], {}
    yield "index_add", [floats(2, 3), ints(2, 4), floats(4, 3)], ["$0", 0, "$1", "$2"], {}
    yield "index_copy", [floats(4, 3), torch.randperm(4), floats(4, 3)], ["$0", 0, "$1", "$2"], {}
    yield "index_fill", [floats(2, 3), ints(3, 2)], ["$0", 1, "$1", 7], {}
    yield "take", [floats(2, 3), ints(6, 4)], ["$0", "$1"], {}
    yield "masked_fill", [floats(2, 3), mask(2, 3)], ["$0", "$1", 9], {}
    yield "masked_fill", [floats(2, 3), mask(3), floats()], ["$0", "$1", "$2"], {}
    yield "searchsorted", [torch.arange(5.0), floats(3)], ["$0", "$1"], {}
    yield "isin", [ints(4, 3), ints(4, 2)], ["$0", "$1"], {}
    yield "isclose", [floats(3), floats(3)], ["$0", "$1"], {}
    yield "zeros_like", [floats(2, 3)], ["$0"], {}
    yield "nonzero", [floats(2, 3)], ["$0"], {}
    yield "masked_select", [floats(2, 3), mask(2, 3)], ["$0", "$1"], {}
    yield "equal", [floats(3), floats(3)], ["$0", "$1"], {}
    yield "allclose", [floats(3), floats(3)], ["$0", "$1"], {}
    yield "bernoulli", [positive(3)], ["$0"], {}
    yield "multinomial", [positive(3), ], ["$0", 2], {}
    yield "rand_like", [floats(3)], ["$0"], {}
    yield "add", [floats(3), floats(4)], ["$0", "$1"], {}
    yield "mm", [floats(2, 3), floats(2, 3)], ["$0", "$1"], {}
    for name in "add_ sub_ mul_ div_ pow_ copy_ clamp_ masked_fill_ fill_ zero_ tanh_ cumsum_ lerp_ atan2_".split():
        if name in ("zero_", "tanh_"):
            yield name, [floats(2, 3)], ["$0"], {}
        elif name == "cumsum_":
            yield name, [floats(2, 3)], ["$0", 0], {}
        elif name == "clamp_":
            yield name, [floats(2, 3)], ["$0", -1, 1], {}
        elif name == "fill_":
            yield name, [floats(2, 3), floats()], ["$0", "$1"], {}
        elif name == "masked_fill_":
            yield name, [floats(2, 3), mask(2, 3)], ["$0", "$1", 2], {}
        elif name == "lerp_":
            yield name, [floats(2, 3), floats(2, 3)], ["$0", "$1", 0.5], {}
        else:
            yield name, [positive(2, 3), positive(2, 3)], ["$0", "$1"], {}
    yield "scatter_", [floats(2, 3), ints(2, 2, 3), floats(2, 3)], ["$0", 0, "$1", "$2"], {}
    yield "index_add_", [floats(2, 3), ints(2, 4), floats(4, 3)], ["$0", 0, "$1", "$2"], {}
    yield "copysign_", [floats(2, 3), floats(2, 3)], ["$0", "$1"], {}
    yield "addcmul_", [floats(2, 3), floats(2, 3), floats(3)], ["$0", "$1", "$2"], {}
    yield "unsqueeze_", [floats(2, 3)], ["$0", 0], {}
    yield "squeeze_", [floats(1, 3)], ["$0"], {}
    yield "transpose_", [floats(2, 3)], ["$0", 0, 1], {}
    yield "uniform_", [floats(3)], ["$0"], {}
    yield from picks()


def picks():
    """Of different numbers: torch takes any of equal ones."""
    for name in ("median", "nanmedian", "mode", "kthvalue", "logcumsumexp"):
        rank = [2] if name == "kthvalue" else []
        for shape in ([2, 3], [3]):
            x = torch.randperm(2 * 3)[: math.prod(shape)].reshape(shape).float()
            if name != "logcumsumexp":
                yield name, [x], ["$0", *rank], {}
                yield name, [x], ["$0", *rank, -1], {"keepdim": True}
            for dim in (0, 1):
                yield name, [x], ["$0", *rank, dim], {}
        if name != "kthvalue":
            yield name, [floats()], ["$0", 0], {}


MIXES = {1: [[0], [1], [-1]], 2: [[0, 0], [1, -1], [0, None], [None, 0]], 3: [[0, 0, 0], [1, None, -1], [None, 0, None]]}
EXAMPLES = 2


def examples(t):
    others = [t]
    for i in range(1, EXAMPLES):
        others.append(t.reshape(-1).roll(i).reshape(t.shape) if t.dtype != torch.float32 else t + i * 0.5)
    return others


def coded(t):
    if t.is_floating_point():
        values = [v if v == v and abs(v) != float("inf") else str(v) for v in t.double().reshape(-1).tolist()]
    else:
        values = t.reshape(-1).tolist()
    return {"dtype": str(t.dtype).split(".")[1], "shape": list(t.shape), "data": values}


def filled(value, tensors):
    if isinstance(value, str) and value.startswith("$"):
        return tensors[int(value[1:])]
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [filled(v, tensors) for v in value]
    return value


def run(name, args, kwargs, stacked, in_dims):
    def call(*tensors):
        given = [filled(a, tensors) for a in args]
        if name.endswith("_"):
            given[0] = given[0].clone()
            return getattr(given[0], name)(*given[1:], **kwargs)
        if hasattr(torch, name):
            return getattr(torch, name)(*given, **kwargs)
        return getattr(given[0], name)(*given[1:], **kwargs)

    try:
        found = vmap(call, in_dims=tuple(in_dims))(*[t.clone() for t in stacked])
    except Exception as error:
        return {"error": [type(error).__name__, str(error)]}
    return {"out": [coded(t) for t in (found if isinstance(found, (tuple, list)) else [found])]}


def main(path):
    with open(path, "w") as file:
        for name, tensors, args, kwargs in calls():
            for mix in MIXES[len(tensors)]:
                stacked = []
                dims = []
                for t, wanted in zip(tensors, mix):
                    dim = wanted if wanted is None or wanted <= t.dim() else 0
                    stacked.append(t if dim is None else torch.stack(examples(t), dim))
                    dims.append(dim)
                if all(d is None for d in dims):
                    continue
                row = {"op": name, "args": args, "kwargs": kwargs, "tensors": [coded(t) for t in stacked], "inDims": dims}
                file.write(json.dumps({**row, **run(name, args, kwargs, stacked, dims)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
