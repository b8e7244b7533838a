"""Asks torch in which forms each operator exists, and writes test/fixtures/forms.json.

Run with a Python that has torch:  python scripts/oracle/make_forms.py
A form "out" is one that a call with `out=` accepts; the schemas list more that Python cannot reach.
"""

import json
import pathlib

import torch

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
V = torch.tensor([1.0, 2.0])
B = X > 2
I = torch.tensor([[0, 1], [1, 0]])
K = torch.tensor([1, 0])

# Arguments for a call of the function, for every operator that might take `out`.
CALLS = {
    "zeros": (2,), "ones": (2,), "full": ((2,), 1.0), "empty": (2,), "arange": (3,), "linspace": (0, 1, 3),
    "logspace": (0, 1, 3), "eye": (2,), "rand": (2,), "randn": (2,), "randint": (3, (2,)), "randperm": (3,),
    "zeros_like": (X,), "ones_like": (X,), "full_like": (X, 1.0), "empty_like": (X,), "rand_like": (X,),
    "randn_like": (X,), "empty_strided": ((2,), (1,)), "scalar_tensor": (1.0,), "bernoulli": (V / 4,),
    "normal": (V, V), "multinomial": (V, 1), "tril_indices": (2, 2), "triu_indices": (2, 2), "as_tensor": (X,),
    "tensor": ([1.0],),
    "clone": (X,), "index_put": (X, (K,), V), "index_select": (X, 0, K), "gather": (X, 0, I),
    "scatter": (X, 0, I, X), "scatter_add": (X, 0, I, X), "masked_fill": (X, B, 1.0), "masked_select": (X, B),
    "where": (B, X, X), "nonzero": (X,), "cat": ((X, X),), "stack": ((X, X),), "masked_scatter": (X, B, V),
    "index_add": (X, 0, K, X), "index_copy": (X, 0, K, X), "index_fill": (X, 0, K, 1.0), "take": (X, K),
    "take_along_dim": (X, I, 0), "put": (X, K, V), "repeat_interleave": (K,), "argwhere": (X,),
    "hstack": ((X, X),), "vstack": ((X, X),), "dstack": ((X, X),), "column_stack": ((X, X),),
    **{n: (X,) for n in "abs neg exp log sqrt tanh sigmoid relu sin cos log1p isnan logical_not square real imag "
       "conj resolve_conj resolve_neg view_as_real ravel t unbind detach flip tile reshape permute transpose "
       "squeeze unsqueeze select narrow diagonal split chunk tensor_split flatten movedim swapaxes".split()},
    "clamp": (X, 0.0), "clip": (X, 0.0),
    **{n: (X, X) for n in "add sub mul div floor_divide remainder fmod pow maximum minimum eq ne lt le gt ge "
       "logical_and logical_or atan2 copysign rsub true_divide isclose equal allclose multiply subtract "
       "greater less outer".split()},
    "roll": (X, 1), "rot90": (X,), "fliplr": (X,), "flipud": (X,), "logsumexp": (X, 0),
    "quantile": (X, 0.5), "isin": (X, X), "searchsorted": (V, V), "bucketize": (V, V), "diff": (X,),
    **{n: (X,) for n in "erf erfc erfinv lgamma digamma sinc".split()}, "xlogy": (X, X), "polygamma": (1, X), "norm": (X,),
    "nansum": (X,), "nanmean": (X,), **{n: (X,) for n in "sign sgn expm1 reciprocal rsqrt".split()},
    "nanquantile": (X, 0.5), "cummax": (X, 0), "cummin": (X, 0), "clamp_min": (X, 0.0), "clamp_max": (X, 0.0), "isreal": (X,),
    **{n: (X,) for n in "acos asin atan tan sinh cosh acosh asinh atanh log2 log10 exp2 deg2rad rad2deg isinf isfinite "
       "isposinf isneginf signbit nan_to_num logit arccos arcsin arctan arccosh arcsinh arctanh".split()},
    **{n: (X, X) for n in "hypot nextafter heaviside fmax fmin ldexp logical_xor".split()}, "gcd": (I, I), "lcm": (I, I),
    "median": (X, 0), "nanmedian": (X, 0), "mode": (X, 0), "kthvalue": (X, 1), "bincount": (K,), "logcumsumexp": (X, 0),
    "logaddexp": (X, X), "logaddexp2": (X, X), **{n: (X,) for n in "floor ceil trunc fix round frac".split()},
    "bitwise_and": (I, I), "bitwise_or": (I, I), "lerp": (X, X, 0.5), "addcmul": (X, X, X), "addcdiv": (X, X, X),
    **{n: (X, 0) for n in "sum mean prod argmax argmin all any var std sort argsort var_mean std_mean".split()},
    "max": (X, 0), "min": (X, 0), "amax": (X, 0), "amin": (X, 0), "cumsum": (X, 0), "softmax": (X, 0),
    "log_softmax": (X, 0), "topk": (X, 1), "matmul": (X, X), "mm": (X, X), "bmm": (X[None], X[None]),
    "addmm": (X, X, X), "dot": (V, V), "mv": (X, V), "vdot": (V, V), "inner": (V, V), "ger": (V, V),
    "addmv": (V, X, V), "addr": (X, V, V), "addbmm": (X, X[None], X[None]), "baddbmm": (X[None], X[None], X[None]),
}

NAMES = """
zeros ones full empty arange linspace eye rand randn randint randperm zeros_like ones_like full_like empty_like
rand_like randn_like new_zeros new_ones new_full new_empty new_tensor empty_strided as_tensor from_numpy scalar_tensor
bernoulli normal multinomial tril_indices uniform_ normal_ exponential_ bernoulli_ random_ tensor
view reshape view_as reshape_as as_strided expand expand_as t transpose permute movedim swapaxes squeeze unsqueeze
select narrow diagonal unbind split split_with_sizes chunk tensor_split unfold flatten unflatten detach T mT
broadcast_to view_as_real view_as_complex real imag ravel
clone contiguous copy_ fill_ zero_ set_ resize_ resize_as_ to type_as item tolist untyped_storage storage_offset
data_ptr stride is_contiguous data requires_grad_ retain_grad detach_ is_set_to
index_put index_select gather scatter scatter_add masked_fill masked_select where nonzero cat stack
abs neg exp log sqrt tanh sigmoid relu sin isnan logical_not clamp add sub mul div floor_divide remainder fmod pow
maximum eq ne lt le gt ge logical_and logical_or bitwise_and atan2 copysign rsub lerp addcmul
sum mean prod max min amax argmax all any var cumsum equal allclose matmul mm bmm addmm dot sort topk
linear softmax mse_loss
logspace triu_indices masked_scatter index_add index_copy index_fill take take_along_dim put repeat_interleave argwhere
hstack vstack dstack column_stack cos log1p square resolve_conj resolve_neg conj flip tile minimum true_divide isclose
multiply subtract greater less outer bitwise_or addcdiv argmin std argsort var_mean std_mean amin log_softmax mv vdot
inner ger addmv addr addbmm baddbmm
roll rot90 fliplr flipud logsumexp cummax cummin clamp_min clamp_max isreal logaddexp logaddexp2
floor ceil trunc fix round frac l1_loss smooth_l1_loss huber_loss quantile nanquantile
isin searchsorted bucketize diff nansum nanmean sign sgn expm1 reciprocal rsqrt
erf erfc erfinv lgamma digamma sinc xlogy polygamma norm unique unique_consecutive
acos asin atan tan sinh cosh acosh asinh atanh log2 log10 exp2 deg2rad rad2deg isinf isfinite isposinf isneginf signbit
nan_to_num logit arccos arcsin arctan arccosh arcsinh arctanh hypot nextafter heaviside fmax fmin ldexp logical_xor gcd lcm
median nanmedian mode kthvalue bincount logcumsumexp
""".split()

# The module has more of these names: deprecated twins, and an `unfold` that is another operator.
FUNCTIONAL = ["linear", "relu", "softmax", "log_softmax", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]


def takes_out(name: str) -> bool:
    """Whether the function accepts `out`, with one tensor or two."""
    for out in (torch.empty(0), (torch.empty(0), torch.empty(0, dtype=torch.int64))):
        try:
            getattr(torch, name)(*CALLS[name], out=out)
            return True
        except TypeError:
            continue
        except RuntimeError as error:
            # This `out` has the wrong dtype or shape, so there is one.
            if "unexpected keyword" not in str(error):
                return True
    return False


def forms(name: str) -> list[str]:
    if name.endswith("_"):
        return ["inplace"]
    found = []
    if callable(getattr(torch, name, None)):
        found.append("function")
        if name in CALLS and takes_out(name):
            found.append("out")
    if hasattr(torch.Tensor, name):
        found.append("method")
    if hasattr(torch.Tensor, name + "_"):
        found.append("inplace")
    if name in FUNCTIONAL:
        found.append("functional")
    return found


if __name__ == "__main__":
    target = pathlib.Path(__file__).parents[2] / "test" / "fixtures" / "forms.json"
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(forms(name))}" for name in NAMES)
    target.write_text(f"{{\n{rows}\n}}\n")
    print(f"{len(NAMES)} operators in {target}")
