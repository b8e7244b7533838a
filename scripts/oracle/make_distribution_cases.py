"""Writes what torch.distributions and tensordict's distributions give: texts, shapes, samples, probabilities, gradients
and errors.

    python make_distribution_cases.py OUT_FILE

One JSON line a case: "make" [class, arguments by name], "steps" [member, arguments, answer, gradients]. A tensor is
{"t": [dtype, shape, values, requires grad]}, a distribution {"d": [class, arguments]}, a transform {"f": [class,
arguments]}. An answer is a tensor, {"s": text}, {"n": a list of sizes or a plain value} or {"e": [class, message]}. Every step begins with
manual_seed(its number). Random values are "exact". tests: test/distributions/cases.test.ts.
"""
import json
import re
import sys

import torch
from tensordict.nn.distributions import Delta, TruncatedNormal
from tensordict.nn.distributions.truncated_normal import TruncatedStandardNormal
from torch import distributions as D

DTYPES = {torch.float32: "float32", torch.float64: "float64", torch.int64: "int64", torch.bool: "bool"}
BY_NAME = {v: k for k, v in DTYPES.items()}
CLASSES = {
    **{c.__name__: c for c in (
        D.Normal, D.Uniform, D.Bernoulli, D.Categorical, D.OneHotCategorical, D.OneHotCategoricalStraightThrough,
        D.Independent, D.TransformedDistribution, Delta, TruncatedNormal, TruncatedStandardNormal)},
    **{c.__name__: c for c in (D.TanhTransform, D.AffineTransform, D.ComposeTransform)},
}


class TanhNormal(D.TransformedDistribution):
    """What ours is made of; neither torch nor tensordict has a class for it."""

    def __init__(self, loc, scale, low=-1.0, high=1.0, event_dims=None):
        loc, scale = torch.broadcast_tensors(torch.as_tensor(loc), torch.as_tensor(scale))
        event_dims = min(1, loc.ndim) if event_dims is None else event_dims
        parts = [D.TanhTransform()]
        if low != -1 or high != 1:
            parts.append(D.AffineTransform((high + low) / 2, (high - low) / 2, event_dims))
        super().__init__(D.Independent(D.Normal(loc, scale), event_dims), parts)


CLASSES["TanhNormal"] = TanhNormal
PLAIN = {
    "batchShape": "batch_shape", "eventShape": "event_shape", "hasRsample": "has_rsample",
    "hasEnumerateSupport": "has_enumerate_support", "logProb": "log_prob", "enumerateSupport": "enumerate_support",
    "paramShape": "param_shape", "deterministicSample": "deterministic_sample",
}
ARGUMENTS = {
    "validateArgs": "validate_args", "baseDistribution": "base_distribution",
    "reinterpretedBatchNdims": "reinterpreted_batch_ndims", "eventDim": "event_dim", "cacheSize": "cache_size",
    "batchShape": "batch_shape", "eventShape": "event_shape", "eventDims": "event_dims",
}
ERRORS = (ValueError, RuntimeError, NotImplementedError, KeyError, IndexError)


def number(x):
    return "nan" if x != x else "inf" if x == float("inf") else "-inf" if x == -float("inf") else x


def t(values, dtype="float32", grad=False, shape=None):
    made = torch.tensor(values, dtype=BY_NAME[dtype])
    return {"t": [dtype, list(made.shape) if shape is None else shape, flat(made), grad]}


def flat(x):
    return [number(v) for v in x.detach().reshape(-1).tolist()]


def encoded(x):
    if isinstance(x, torch.Tensor):
        return {"t": [DTYPES[x.dtype], list(x.shape), flat(x), False]}
    if isinstance(x, torch.Size):
        return {"n": list(x)}
    if isinstance(x, (bool, int)):
        return {"n": x}
    return {"s": plain_text(str(x))}


def plain_text(text):
    return re.sub(r"<class '[\w.]*\.(\w+)'>", r"\1", text)


class Decoder:
    """Makes arguments; remembers the tensors that want gradients, in their order."""

    def __init__(self):
        self.leaves = []

    def value(self, x):
        if isinstance(x, dict) and "t" in x:
            dtype, shape, values, grad = x["t"]
            made = torch.tensor([float(v) for v in values] if dtype.startswith("f") else values, dtype=BY_NAME[dtype])
            made = made.reshape(shape)
            if grad:
                self.leaves.append(made.requires_grad_())
            return made
        if isinstance(x, dict) and ("d" in x or "f" in x):
            return self.make(*x.get("d", x.get("f")))
        if isinstance(x, list):
            return [self.value(y) for y in x]
        return float(x) if x in ("nan", "inf", "-inf") else x

    def make(self, name, args):
        return CLASSES[name](**{ARGUMENTS.get(k, k): self.argument(k, v) for k, v in args.items()})

    def argument(self, name, value):
        return torch.Size(value) if name.endswith("Shape") else self.value(value)


def answer(run):
    try:
        return run()
    except ERRORS as error:
        text = str(error)
        return {"e": [type(error).__name__, plain_text(text)]}


def case(name, args, steps, exact=False):
    out = {"make": [name, args], "steps": []}
    if exact:
        out["exact"] = True
    for seed, (member, given) in enumerate(steps):
        decoder = Decoder()
        torch.manual_seed(seed)
        made = answer(lambda: decoder.make(name, args))
        if isinstance(made, dict):
            out["e"] = made["e"]
            return out
        gradients = None

        def run():
            nonlocal gradients
            if member == "toString":
                return {"s": str(made)}
            if member == "expand":
                other = made.expand(given[0])
                return {"s": f"{other} {list(other.batch_shape)} {list(other.sample((2,)).shape)}"}
            if member == "klDivergence":
                result = D.kl_divergence(made, decoder.value(given[0]))
            else:
                value = getattr(made, PLAIN.get(member, member))
                values = [torch.Size(v) if isinstance(v, list) else decoder.value(v) for v in given]
                result = value(*values) if callable(value) else value
            if isinstance(result, torch.Tensor) and result.requires_grad:
                result.sum().backward()
                gradients = [None if leaf.grad is None else flat(leaf.grad) for leaf in decoder.leaves]
            return encoded(result)

        step = [member, given, answer(run)]
        if gradients is not None:
            step.append(gradients)
        out["steps"].append(step)
    return out


SHAPES = [("batchShape", []), ("eventShape", []), ("hasRsample", []), ("hasEnumerateSupport", []), ("support", []),
          ("toString", [])]
MOMENTS = [("mean", []), ("mode", []), ("variance", []), ("stddev", []), ("entropy", []), ("perplexity", [])]
DRAWS = [("sample", []), ("sample", [[3]]), ("sample", [[2, 3]]), ("sample", [[20]]), ("rsample", []), ("rsample", [[5]])]


def steps(values, *, expand=(), extra=()):
    scored = [(member, [value]) for value in values for member in ("logProb", "cdf")]
    grown = [("expand", [list(shape)]) for shape in expand]
    return [*SHAPES, *MOMENTS, *scored, *grown, *extra]


def both(name, args, values, *, expand=(), extra=(), draws_exact=True):
    """The steps whose numbers depend on how logarithms round, and those that are exact."""
    yield case(name, args, steps(values, expand=expand, extra=extra))
    yield case(name, args, DRAWS, exact=draws_exact)


def normal():
    leaf = {"loc": t([0.5, -1.0, 2.0], grad=True), "scale": t([1.0, 0.25, 3.0], grad=True)}
    probabilities = [("icdf", [t([0.1, 0.5, 0.99])])]
    yield from both("Normal", leaf, [t([0.0, -1.0, 5.5]), t([[0.1], [7.0]])], expand=[(2, 3), (3,)], extra=probabilities)
    yield from both("Normal", {"loc": 0.5, "scale": 2}, [t(0.25), t([1.0, 2.0])], expand=[(2,)])
    wide = {"loc": t([[1.0], [2.0]], "float64"), "scale": t([0.1, 0.2, 0.3], "float64")}
    yield from both("Normal", wide, [t([[1.0] * 3, [2.0] * 3], "float64")])
    yield case("Normal", {"loc": t([0.0]), "scale": 3}, [("toString", []), ("logProb", [t([1.0, float("nan")])]),
                                                         ("logProb", [t([[1.0, 2.0, 3.0]])])])
    yield case("Normal", {"loc": t([0.0] * 2), "scale": t([1.0] * 2)}, [("logProb", [t([1.0, 2.0, 3.0])]),
                                                                       ("enumerateSupport", [])])
    for bad in ({"loc": 0.0, "scale": -1.0}, {"loc": "nan", "scale": 1.0}, {"loc": t([0.0, 1.0]), "scale": 0},
                {"loc": t([1.0, 2.0]), "scale": t([1.0, 2.0, 3.0])}):
        yield case("Normal", bad, [("mean", [])])
    yield case("Normal", {"loc": 0.0, "scale": -1.0, "validateArgs": False}, [("mean", []), ("logProb", [t(float("nan"))])])


def uniform():
    leaf = {"low": t([0.0, -2.0], grad=True), "high": t([1.0, 3.0], grad=True)}
    yield from both("Uniform", leaf, [t([0.5, 0.0]), t([[1.0, -2.0]])], expand=[(3, 2)], extra=[("icdf", [t([0.25, 1.0])])])
    yield from both("Uniform", {"low": -1, "high": 2.5}, [t([0.0, 2.5])], expand=[(1, 2)])
    yield from both("Uniform", {"low": t([[0.0], [1.0]], "float64"), "high": 2}, [t([1.5, 0.5], "float64"), t(1.5, "float64")])
    for bad in ({"low": 1.0, "high": 1.0}, {"low": t([0.0, 3.0]), "high": t([1.0, 2.0])}):
        yield case("Uniform", bad, [("mean", [])])
    yield case("Uniform", {"low": 0, "high": 1, "validateArgs": False}, [("logProb", [t([-1.0, 2.0, 0.5])])])


def bernoulli():
    values = [t([0.0, 1.0, 1.0]), t([[1.0], [0.0]])]
    listed = [("enumerateSupport", []), ("enumerateSupport", [False]), ("probs", []), ("logits", []), ("toString", []), ("paramShape", [])]
    yield from both("Bernoulli", {"probs": t([0.2, 0.5, 0.9], grad=True)}, values, expand=[(2, 3)], extra=listed)
    yield from both("Bernoulli", {"logits": t([-2.0, 0.0, 30.0], grad=True)}, values, expand=[(2, 3)], extra=listed)
    yield from both("Bernoulli", {"probs": t([[0.0, 1.0], [0.3, 0.7]], "float64")}, [t([[0.0, 1.0]], "float64")], extra=listed)
    yield from both("Bernoulli", {"logits": 0.5}, [t(1.0), t([0.0, 1.0])], extra=listed)
    yield case("Bernoulli", {"probs": t([0.2, 0.5])}, [("logProb", [t([0.5, 1.0])]), ("rsample", [])])
    for bad in ({}, {"probs": 0.5, "logits": 0.5}, {"probs": t([0.5, 1.5])}, {"logits": "nan"}):
        yield case("Bernoulli", bad, [("mean", [])])


def categorical():
    listed = [("enumerateSupport", []), ("enumerateSupport", [False]), ("probs", []), ("logits", []), ("toString", []), ("paramShape", [])]
    rows = t([[1.0, 2.0, 1.0], [0.0, 5.0, 5.0]], grad=True)
    for name, values in (("Categorical", [t([0, 1], "int64"), t([[2], [1]], "int64"), t([1.0, 2.0])]),
                         ("OneHotCategorical", [t([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), t([0.0, 1.0, 0.0])])):
        yield from both(name, {"probs": rows}, values, expand=[(3, 2)], extra=listed)
        yield from both(name, {"logits": rows}, values, expand=[(3, 2)], extra=listed)
        yield from both(name, {"logits": t([0.5, float("-inf"), -1.0], "float64")}, values[-1:], extra=listed)
        yield from both(name, {"probs": t([0.25] * 4)}, [], expand=[(2,)], extra=listed)
        for bad in ({}, {"probs": t([0.5]), "logits": t([0.5])}, {"probs": t([0.5, -0.5, 2.0])}, {"logits": t([float("nan"), 0.0])},
                    {"probs": t(0.5)}, {"logits": t(0.5)}, {"probs": t([0.0, 0.0])}):
            yield case(name, bad, [("mean", [])])
    yield case("Categorical", {"probs": t([0.5, 0.5])}, [("logProb", [t([0, 2], "int64")]), ("logProb", [t(0.5)])])
    yield case("OneHotCategorical", {"probs": t([0.5, 0.5])}, [("logProb", [t([1.0, 1.0])]), ("logProb", [t([1.0])])])
    yield from both("OneHotCategoricalStraightThrough", {"logits": rows}, [])


def independent():
    base = {"d": ["Normal", {"loc": t([[0.5, -1.0, 2.0]] * 2, grad=True), "scale": t([1.0, 0.25, 3.0], grad=True)}]}
    for dims in (0, 1, 2):
        args = {"baseDistribution": base, "reinterpretedBatchNdims": dims}
        yield from both("Independent", args, [t([[0.0, 1.0, 2.0]] * 2)], expand=[(2, 3) if dims == 0 else (4, 2) if dims == 1 else (5,)])
    coins = {"d": ["Bernoulli", {"probs": t([[0.2, 0.6]])}]}
    yield from both("Independent", {"baseDistribution": coins, "reinterpretedBatchNdims": 1}, [t([1.0, 0.0])], extra=[("enumerateSupport", [])])
    yield case("Independent", {"baseDistribution": coins, "reinterpretedBatchNdims": 3}, [("mean", [])])
    yield case("Independent", {"baseDistribution": coins, "reinterpretedBatchNdims": 1}, [("logProb", [t([2.0, 0.0])])])


def transformed():
    base = {"d": ["Normal", {"loc": t([0.5, -1.0], grad=True), "scale": t([1.0, 0.25], grad=True)}]}
    tanh = {"f": ["TanhTransform", {}]}
    affine = {"f": ["AffineTransform", {"loc": 1.0, "scale": -2.0}]}
    event = {"f": ["AffineTransform", {"loc": t([0.5, 1.5]), "scale": t([2.0, 3.0]), "eventDim": 1}]}
    both_parts = {"f": ["ComposeTransform", {"parts": [tanh, affine]}]}
    value = [t([0.5, 0.25])]
    rounded = {"draws_exact": False}
    for transforms in ([tanh], [tanh, affine], [affine, tanh], [event], tanh, [], [both_parts], [tanh, event]):
        args = {"baseDistribution": base, "transforms": transforms}
        yield from both("TransformedDistribution", args, value, expand=[(3,) if event in (transforms if isinstance(transforms, list) else []) else (3, 2)], **rounded)
    inner = {"d": ["Independent", {"baseDistribution": base, "reinterpretedBatchNdims": 1}]}
    yield from both("TransformedDistribution", {"baseDistribution": inner, "transforms": [tanh, affine]}, value, **rounded)
    yield case("TransformedDistribution", {"baseDistribution": base, "transforms": [tanh]}, [("logProb", [t([2.0, 0.0])])])
    scalar = {"d": ["Normal", {"loc": 0.0, "scale": 1.0}]}
    yield case("TransformedDistribution", {"baseDistribution": scalar, "transforms": [{"f": ["AffineTransform", {"loc": 0.0, "scale": 1.0, "eventDim": 1}]}]}, [("mean", [])])
    yield case("TransformedDistribution", {"baseDistribution": scalar, "transforms": [{"f": ["AffineTransform", {"loc": t([0.0, 1.0]), "scale": 1.0}]}]},
               [("batchShape", []), ("sample", []), ("logProb", [t([0.0, 1.0])])])


def delta():
    extra = [("deterministicSample", []), ("logProb", [t([[1.0, 2.0], [1.0, 2.5]])])]
    yield from both("Delta", {"param": t([1.0, 2.0], grad=True)}, [t([1.0, 2.0]), t([1.0, 3.0])], extra=extra)
    yield from both("Delta", {"param": t([[1.0, 2.0]]), "eventShape": [], "batchShape": [1, 2], "atol": 0.6}, [t([[1.5, 3.0]])])
    yield from both("Delta", {"param": t(1.0), "rtol": 0.5}, [t(1.4), t([1.6, 1.0])])


def truncated():
    scalar = {"loc": 5.0, "scale": 1.0, "a": 4.0, "b": 6.0}
    leaf = {"loc": t([0.5, -1.0], grad=True), "scale": t([1.0, 0.25], grad=True), "a": -1.5, "b": t([1.0, 0.5])}
    icdf = [("icdf", [t([0.1, 0.9])]), ("auc", [])]
    rounded = {"draws_exact": False}
    yield from both("TruncatedNormal", leaf, [t([0.5, -1.0]), t([[0.0], [0.25]])], extra=icdf, **rounded)
    yield from both("TruncatedNormal", scalar, [t(5.5)], **rounded)
    yield from both("TruncatedNormal", {"loc": 0.0, "scale": 1.0, "a": "-inf", "b": 0.5}, [t([-1.0, 0.5])], **rounded)
    yield from both("TruncatedStandardNormal", {"a": t([0.0, -1.0], grad=True), "b": t([1.0, 2.0])}, [t([0.5, -1.0])], extra=icdf, **rounded)
    yield case("TruncatedNormal", scalar, [("logProb", [t(7.0)])])
    yield case("TruncatedNormal", {**scalar, "b": 4.0}, [("mean", [])])


def tanh_normal():
    leaf = {"loc": t([[0.5, -1.0]], grad=True), "scale": t([1.0, 0.25], grad=True)}
    value = [("logProb", [t([0.5, -0.75])]), ("logProb", [t([[1.5, 0.75]])])]
    for more in ({}, {"low": -2, "high": 3.0}, {"low": 0.5, "high": 2, "eventDims": 2}, {"eventDims": 0}):
        yield case("TanhNormal", {**leaf, **more}, [*SHAPES, *DRAWS, *value])
    yield case("TanhNormal", {"loc": 0.0, "scale": 1.0}, [*SHAPES, *DRAWS, ("logProb", [t(0.5)])])


def divergences():
    def made(name, **args):
        return {"d": [name, args]}

    normals = made("Normal", loc=t([0.5, -1.0]), scale=t([1.0, 0.25])), made("Normal", loc=t([0.0], grad=True), scale=2.0)
    uniforms = made("Uniform", low=t([0.0, -1.0]), high=t([1.0, 3.0])), made("Uniform", low=t([-1.0], grad=True), high=2.0)
    coins = made("Bernoulli", probs=t([0.0, 0.3, 1.0])), made("Bernoulli", logits=t([0.5, -1.0, 2.0], grad=True)), made("Bernoulli", probs=t([1.0, 0.0, 0.5]))
    dice = [made(kind, **args) for kind in ("Categorical", "OneHotCategorical") for args in
            ({"probs": t([[0.0, 1.0, 1.0]])}, {"logits": t([[0.5, -1.0, 2.0]], grad=True)}, {"probs": t([[1.0, 0.0, 1.0]])})]
    squashed = [made("TransformedDistribution", baseDistribution=one, transforms=[{"f": ["TanhTransform", {}]}, *more])
                for one, more in ((normals[0], []), (normals[1], []), (normals[0], [{"f": ["AffineTransform", {"loc": 1.0, "scale": 2.0}]}]))]
    grouped = [made("Independent", baseDistribution=normals[0], reinterpretedBatchNdims=dims) for dims in (0, 1)]
    groups = [[*normals, *uniforms], list(coins), dice, squashed, [*grouped, normals[0]]]
    for group in groups:
        for p in group:
            yield case(*p["d"], [("klDivergence", [q]) for q in group])


def main():
    parts = (normal, uniform, bernoulli, categorical, independent, transformed, delta, truncated, tanh_normal, divergences)
    with open(sys.argv[1], "w") as file:
        for part in parts:
            for one in part():
                file.write(json.dumps(one, allow_nan=False) + "\n")


main()
