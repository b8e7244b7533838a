"""The calls of make_exact_cases.py: one function a section, which is given the function that writes a call."""
import math

import torch

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1e-30, -1e30]


def values(dtype, *shape):
    """torch computes pairs of vectors of 32 bytes and the rest with other instructions: one pair unless told."""
    shape = shape or (64 // dtype.itemsize,)
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(0 if dtype == torch.uint8 else -9, 10, shape, dtype=torch.int64).to(dtype)
    return (torch.randn(shape, dtype=torch.complex128 if dtype.is_complex else torch.float64) * 3).to(dtype)


def powers(call):
    exponents = [0, 1, 2, 3, -1, -2, -0.5, False, True, 2.0, 2 + 0j]
    for dtype in FLOATS + COMPLEX:
        for e in exponents:
            # There is no short complex dtype.
            if isinstance(e, complex) and dtype.itemsize == 2:
                continue
            # A general power is right to a unit or so of the last place.
            general = dtype == torch.float16 and e in (3, -2) or dtype.is_complex and e == -0.5
            fma = dtype.is_complex and e in (-1, -2)
            if not general:
                call("pow", "m", values(dtype).requires_grad_(), e, fma=fma)
                if not isinstance(e, complex) or dtype.is_complex:
                    call("pow", "i", values(dtype), e, fma=fma)
                call("pow", "f", values(dtype), e, fma=fma, out=torch.zeros(64 // dtype.itemsize, dtype=dtype if e != 2 + 0j else None))
            if not dtype.is_complex:
                call("pow", "m", torch.tensor(SPECIAL).to(dtype), e)
        call("square", "m", values(dtype).requires_grad_())
        call("square", "i", values(dtype, 4, 16 // dtype.itemsize).t())
        if not dtype.is_complex:
            call("pow", "m", torch.tensor(SPECIAL).to(dtype), 0.5)
            call("pow", "m", torch.tensor([4.0, 9, 0.25, 1e4, 6.25, 0, 1, 36]).to(dtype).requires_grad_(), 0.5)
    for dtype in [torch.bool, *INTEGERS]:
        for e in (0, 1, 2, 3, 7, False, True, -1, 300):
            call("pow", "m", values(dtype, 5, 2).t(), e)
            call("pow", "i", values(dtype, 4), e)
        call("square", "m", values(dtype, 3))
    for exponent in (torch.float16, torch.float32, torch.float64, torch.complex64, torch.int32, torch.bool):
        call("pow", "f", 1, values(exponent, 4) * (1 if exponent in (torch.int32, torch.bool) else NAN))
        call("pow", "f", 1.0, values(exponent, 4))
    call("pow", "m", torch.tensor([1.7], dtype=torch.bfloat16), 2.001)


def multiples(call):
    for dtype in FLOATS + COMPLEX:
        for alpha in [2, 0.3, -0.1, 1 / 3, 0, *([0.3 + 0.2j, 1j] if dtype.is_complex else [])]:
            fused = dtype in FLOATS
            for op in ("add", "sub", "rsub"):
                call(op, "f", values(dtype), values(dtype), alpha=alpha, fma=fused)
            call("sub", "i", values(dtype), values(dtype, 1)[0], alpha=alpha, fma=fused)
            call("add", "f", values(dtype), 0.7, alpha=alpha, fma=fused)
        for op in ("addcmul", "addcdiv"):
            call(op, "f", values(dtype), values(dtype), values(dtype), value=0.3, fma=True)
        call("lerp", "f", values(dtype), values(dtype), 0.3, fma=True)
        if dtype.is_complex:
            call("div", "f", values(dtype), values(dtype), fma=True)
            every = torch.tensor([complex(a, b) for a in SPECIAL[:6] for b in SPECIAL[:6]]).to(dtype)
            p, q = every.repeat_interleave(36), every.repeat(36)
            for alpha in (0, -1, 2, 1j, INF):
                call("sub", "f", p[::19][:64].contiguous(), q[::19][:64].contiguous(), alpha=alpha)
            edges = torch.tensor([complex(a, b) for a in SPECIAL[:5] for b in SPECIAL[:5]] * 8).to(dtype)
            for op in ("neg", "log1p", "exp", "cos", "tanh", "square"):
                for at in range(0, 25, 8):
                    call(op, "f", edges[at:at + 8].clone())
            tiny = torch.tensor([complex(a, b) for a in (1e-30, -0.25, 3, INF, NAN) for b in (INF, -INF, NAN)])
            call("log1p", "f", torch.cat([tiny, tiny[:1]]).to(dtype))


def short_operands(call):
    """Numbers and tensors of other dtypes are rounded to a short dtype before they are computed with, or not."""
    binary = ("add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "copysign", "eq", "lt")
    for dtype in FLOATS[:2]:
        for number in (2.3, 1 / 3):
            for op in binary:
                call(op, "f", values(dtype, 8), number)
                call(op, "f", values(dtype, 8), torch.tensor(number, dtype=torch.float64))
                call(op, "i", values(dtype, 8), torch.tensor(number))
                if op not in ("eq", "lt"):
                    call(op, "f", torch.tensor(number, dtype=torch.float64), values(dtype, 8))
            call("lerp", "f", values(dtype, 8), values(dtype, 8), number, fma=True)
        for op in ("add", "mul", "eq", "maximum"):
            call(op, "f", values(dtype, 4), torch.tensor([2049, 4097, 70000, -3]))
        for op in ("pow", "clamp"):
            call(op, "f", values(dtype, 4), 1e39)
        call("add", "f", values(dtype, 4), values(dtype, 4), alpha=1e39)
    for dtype in INTEGERS:
        for number in (300, -129, 2 ** 33):
            for op in binary:
                call(op, "f", values(dtype, 4), number)
                call(op, "i", values(dtype, 4), torch.tensor(number))
            for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
                call(op, "f", values(dtype, 4), number)
            call("clamp", "f", values(dtype, 4), number)
            call("clamp", "f", values(dtype, 4), None, number)
            call("clamp", "i", values(dtype, 4), number, number)
            call("where", "f", values(torch.bool, 4), values(dtype, 4), number)
            for op in ("add", "sub"):
                call(op, "i", values(dtype, 4), values(dtype, 4), alpha=number)
    for op in ("remainder", "fmod"):
        for zero in (0.0, -0.0, torch.tensor(0.0), torch.tensor([0.0])):
            for dtype in INTEGERS:
                call(op, "m", values(dtype, 4), zero)
                call(op, "i", values(dtype, 4), zero)
    for dtype in [*INTEGERS, torch.bool]:
        call("repeat_interleave", "f", torch.tensor([1, 0, 3]).to(dtype))
        call("repeat_interleave", "f", values(torch.float32, 3), torch.tensor([1, 0, 3]).to(dtype))
        for op in ("cumsum", "cumprod"):
            call(op, "i", values(dtype, 4), 0)
            call(op, "f", values(dtype, 4), 0, out=torch.zeros(6, dtype=dtype))


def numbers_first(call):
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.float16):
        for op in ("add", "sub", "mul", "div", "true_divide", "floor_divide", "multiply", "subtract", "divide", "remainder",
                   "pow", "bitwise_and"):
            for number in (2, 2.5, True, 1j, 0):
                whole = dtype == torch.int64 and op in ("floor_divide", "remainder")
                x = torch.tensor([[1, 2, 3], [4, 5, 6]]).to(dtype) if whole else torch.round(values(dtype, 2, 3)) \
                    if dtype.is_floating_point else values(dtype, 2, 3)
                exact = not (op == "pow" or dtype.is_complex and "div" in op)
                if exact and not (dtype == torch.float16 and number == 1j):
                    call(op, "f", number, x.requires_grad_() if dtype.is_floating_point else x)
                if op in ("add", "sub", "mul", "div") and dtype == torch.float32:
                    call(op, "f", number, x.detach(), out=torch.empty(0, dtype=torch.complex64))
                    call(op, "f", number, x.detach().t(), **({"alpha": 2} if op in ("add", "sub") else {}))
    for op in ("add", "sub", "mul", "div", "true_divide", "floor_divide"):
        for pair in ((7, 3), (7.5, 2), (7, True), (1j, 2), (True, False), (7, 0)):
            call(op, "f", *pair)
    for op in ("remainder", "fmod"):
        for pair in ((torch.tensor(2.0), leaf(3)), (leaf(3), 2), (leaf(3), torch.tensor(2.0))):
            call(op, "f", *pair)


def leaf(*shape):
    return torch.randint(-8, 9, shape).div(4).requires_grad_()


def gradients(call):
    for op in ("scatter", "scatter_add"):
        for index, source in (((2, 2), (3, 4)), ((2, 4), (2, 4)), ((1, 4), (3, 4)), ((0, 4), (3, 4)), ((3, 4), (3, 4))):
            i = torch.zeros(index, dtype=torch.int64)
            call(op, "f", leaf(3, 4), 1, i, leaf(*source))
            call(op, "f", leaf(3, 4), 1, i, leaf(*source).detach())
            call(op, "f", leaf(3, 4).detach(), 1, i, leaf(*source))
    i = torch.tensor([0, 0, 2])
    for d in (0, 1):
        call("index_fill", "f", leaf(3, 4), d, i, torch.tensor(2.0, requires_grad=True))
        call("index_add", "f", leaf(3, 3), d, i, leaf(3, 3))
        call("gather", "f", leaf(3, 4), d, torch.zeros(2, 2, dtype=torch.int64))
    call("index_fill", "f", leaf(1)[0].detach().requires_grad_(), 0, torch.tensor([0, 0]), leaf(1)[0].detach().requires_grad_())
    for beta, alpha in ((0, 1), (1, 0), (0, 0), (2, 3), (2.5, 0.5)):
        kw = {"beta": beta, "alpha": alpha}
        call("addr", "f", leaf(3, 4), leaf(3), leaf(4), **kw)
        call("addr", "f", leaf(4), leaf(3), leaf(4), **kw)
        call("addr", "i", leaf(3, 4).detach(), leaf(3).detach(), leaf(4).detach(), **kw)
        call("addmm", "f", leaf(3, 4), leaf(3, 2), leaf(2, 4), **kw)
        call("addmv", "f", leaf(3), leaf(3, 4), leaf(4), **kw)
        call("addcmul", "f", leaf(3, 4), leaf(3, 4), leaf(4), value=alpha)
    ones = torch.ones(3, 4, dtype=torch.int64)
    call("addr", "f", ones, torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3, 4]), beta=0)
    call("addr", "i", ones, leaf(3).detach(), leaf(4).detach())
    call("addr", "i", leaf(1, 4).detach(), leaf(3).detach(), leaf(4).detach())
    for mode in (None, "floor", "trunc"):
        kw = {"rounding_mode": mode} if mode else {}
        call("div", "f", leaf(3), torch.tensor([2.0, INF, -1.0], requires_grad=True), **kw)
    call("copysign", "f", leaf(3), leaf(3))


def refusals(call):
    for x in (torch.tensor(True), torch.tensor(2.0), torch.ones(1, 1, dtype=torch.bool), leaf(2, 3)):
        call("sum_to_size", "m", x, [])
    for x in (torch.ones(2, 3, dtype=torch.bool), leaf(2, 3), torch.ones(1, 2, 3, dtype=torch.bool)):
        for size in ([2, 3], [1, 3], [3], [4]):
            call("sum_to_size", "m", x, size)
    call("abs", "i", torch.zeros(2, dtype=torch.complex64).expand(3, 2))
    for dtype in (torch.bool, torch.float32):
        call("abs", "i", torch.zeros(1, dtype=dtype).expand(3))
    for mask in ((2, 3), (4,), (1,), (1, 1, 3)):
        for shape in ((3,), (2, 3), ()):
            for form in "im":
                call("masked_scatter", form, torch.zeros(shape), torch.ones(mask, dtype=torch.bool), torch.arange(6.0))
    for shape in ((0,), (0, 3)):
        out = torch.zeros(shape)
        call("cat", "f", [out, torch.ones(2, *shape[1:])], out=out)
        call("cat", "f", [out], out=out)
    out = torch.empty(0)
    call("stack", "f", [out, out], out=out)
    call("hstack", "f", [out, out], out=out)


def counted(*shape):
    """1, 2, 3, 4, 1, ..."""
    shape = shape[0] if isinstance(shape[0], tuple) else shape
    return (torch.arange(math.prod(shape)) % 4 + 1).float().reshape(shape)


def strided(shape):
    """A contiguous tensor and others of the same shape."""
    rank, last = len(shape), shape[-1]
    yield counted(shape)
    yield counted(*shape[:-2], last, shape[-2]).transpose(-1, -2)
    yield counted(*shape[:-1], 2 * last)[..., ::2]
    yield counted(1, *shape[1:]).expand(shape)
    yield counted(shape[::-1]).permute(*reversed(range(rank)))
    if rank == 4:
        yield counted(shape).contiguous(memory_format=torch.channels_last)
        yield counted(*shape[:-1], 2 * last).contiguous(memory_format=torch.channels_last)[..., ::2]


def odd_strides():
    """Sizes of one with strides of their own."""
    for shape, strides in (((2, 1, 3), (3, 7, 1)), ((1, 3), (99, 1)), ((2, 3, 1, 1), (6, 1, 6, 6)), ((2, 1, 2), (1, 9, 2)),
                           ((1, 3, 1), (0, 2, 5)), ((3, 4, 1), (4, 1, 100)), ((0, 3), (7, 2))):
        yield counted(40).as_strided(shape, strides)


def layouts(call):
    formats = [torch.contiguous_format, torch.preserve_format, torch.channels_last]
    for shape in ((3, 4), (2, 3, 2, 2), (2, 1, 2, 2)):
        operands = list(strided(shape))
        for x in [*operands, *(odd_strides() if len(shape) == 2 else [])]:
            one_layout(call, x)
            for form in formats[:3 if x.dim() == 4 else 2]:
                call("to", "m", x, torch.float32, memory_format=form)
                call("to", "m", x, torch.float32, copy=True, memory_format=form)
                call("float", "m", x, memory_format=form)
                call("clone", "m", x, memory_format=form)
            if any(x is y for y in operands):
                # Equal numbers have the same norm, however they are added up.
                call("nn.functional.layer_norm", "f", (x * 0).add_(1), list(x.shape[-1:]))
            for y in operands[::2]:
                if x.shape == y.shape:
                    for op in ("add", "copysign"):
                        call(op, "f", x, y)
                    for d in (0, x.dim() - 1):
                        call("cat", "f", [x, y], d)
                        call("stack", "f", [x, y], d)


def one_layout(call, x):
    mask = torch.zeros(x.shape, dtype=torch.bool)
    call("masked_fill", "m", x, mask, 2.0)
    call("masked_fill", "m", x, mask[..., :1], torch.tensor(2.0))
    call("copysign", "m", x, 1.0)
    call("abs", "m", x)
    if x.storage_offset() == 0:
        z = torch.ones(x.untyped_storage().nbytes() // 4, dtype=torch.complex64).as_strided(x.shape, x.stride())
        call("abs", "m", z)
        call("abs", "f", z, out=torch.empty(0))
    call("clamp", "m", x, -9, 9)
    call("sort", "m", x)
    call("flip", "m", x, [0])
    call("long", "m", x.to(torch.int64) * 0, memory_format=torch.contiguous_format)
    for op in ("add", "sub", "mul"):
        call(op, "f", 1, x)
    call("where", "f", mask, x, 0.5)
    call("add", "m", x, torch.ones(x.shape[-1]))
    if x.numel() > 0:
        call("pow", "f", 0.0, x.abs())
        call("put", "m", x, torch.tensor([0]), torch.tensor([1.0]))


def other_names(call):
    """Second names of operators, in the forms that torch has of them."""
    x, y = leaf(2, 3), leaf(2, 3)
    whole = torch.tensor([[1, -2], [3, 4]])
    for op in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
        call(op, "f", x, y)
        call(op, "m", x, 0.5)
        call(op, "i", whole.clone(), 1)
    for op in ("concat", "concatenate"):
        call(op, "f", [x, y], 1)
        call(op, "f", [whole, whole.double()])
    call("row_stack", "f", [x, y.detach()])
    call("clip", "m", x, -1, 1)
    call("clip", "f", whole, whole.t(), None)
    call("clip", "i", whole.clone(), 0)
    call("negative", "m", x)
    call("negative", "i", whole.clone())
    call("ger", "f", leaf(2), leaf(3))
    call("moveaxis", "f", counted(2, 3, 4), 0, 2)
    call("moveaxis", "m", counted(2, 3, 4), [0, 1], [-1, 0])
    call("swapdims", "f", x, 0, 1)
    call("swapdims", "m", counted(2, 3, 4), -1, 0)
    # The arc tangents of these quotients are the same number in every implementation.
    call("arctan2", "f", torch.tensor([0.0, 0.0, -0.0]), torch.tensor([1.0, -1.0, 1.0]))
    call("arctan2", "m", torch.tensor([[0.0], [-0.0]]).requires_grad_(), torch.ones(2))
    call("arctan2", "i", torch.zeros(2, dtype=torch.float64), torch.tensor([2, 3]))


def members(call):
    """Questions to a tensor, and conversions that keep or change a dtype."""
    for x in (leaf(2, 3), counted(2, 3).t(), torch.zeros(0, 3), torch.arange(6).view(2, 3)[:, ::2], torch.tensor(True)):
        call("is_contiguous", "m", x)
        call("is_set_to", "m", x, x)
        call("is_set_to", "m", x, x.detach().clone())
        call("cpu", "m", x)
        call("cdouble", "m", x)
        call("type", "m", x, torch.float64)
        call("type_as", "m", x, torch.zeros(1, dtype=torch.int32))
        call("type_as", "m", x, x)
    wide = counted(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    call("is_contiguous", "m", wide)
    call("is_contiguous", "m", wide, memory_format=torch.channels_last)
    call("is_set_to", "m", wide, wide.detach())
    for x in (torch.zeros(2), torch.zeros(2, 3), torch.zeros(0)):
        call("set", "i", x, counted(3, 2))
        call("set", "i", x.clone(), counted(3, 2).t())
        call("set", "i", x.clone())
        call("set", "i", x.clone(), torch.ones(2, dtype=torch.int64))
    for op in ("tril_indices", "triu_indices"):
        for args in ((3, 3), (2, 4, 1), (4, 2, -1), (0, 3), (3, 3, 5)):
            call(op, "f", *args)
        call(op, "f", 3, 2, dtype=torch.int32)
        call(op, "f", -1, 2)


def of_equal_numbers(call):
    """Equal numbers in powers of two have the same share, however they are added up."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for shape, dim in (((2, 4), 1), ((4, 3), 0), ((8,), -1), ((1, 2, 3), 1)):
            x = torch.full(shape, 1.5, dtype=dtype, requires_grad=True)
            call("nn.functional.softmax", "f", x, dim)
            call("nn.functional.softmin", "f", x, dim)
            call("nn.functional.softmax", "f", torch.zeros(shape, dtype=torch.int64), dim, dtype=dtype)
            call("nn.functional.softmax", "f", torch.tensor([[-INF, 2.0, 2.0, -INF]], dtype=dtype), dim % 2)
        # Of one number the logarithm of the share is zero; infinities have none.
        for x in (leaf(3, 1), leaf(1), torch.tensor([[INF], [-INF], [NAN]]), leaf(0, 2)):
            call("nn.functional.log_softmax", "f", x, -1)
            call("nn.functional.log_softmax", "f", x, -1, dtype=dtype)
    call("nn.functional.softmax", "f", leaf(2, 2), 2)
    for rank in range(5):
        # The dimension that is taken where none is given.
        x = torch.ones([2, 4, 8, 2][:rank]).requires_grad_()
        for op in ("softmax", "softmin"):
            call("nn.functional." + op, "f", x)
    call("nn.functional.log_softmax", "f", leaf(2, 2), -3)


def edge(dtype):
    """Numbers that shorter dtypes do not hold."""
    wide = [0, 1, -1, 3, 127, 129, 2049, -32769, 70000]
    if dtype == torch.bool:
        return torch.tensor([True, False, True, True])
    if dtype.is_floating_point or dtype.is_complex:
        return torch.tensor([-0.0, 2.5, -1 / 3, 2049.0]).to(dtype)
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    return torch.tensor([v for v in wide if low <= v <= high][-4:]).to(dtype)


def mixed_dtypes(call):
    every = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
    for p in every:
        for q in every:
            x, y = edge(p), edge(q)
            call("add", "f", x, y)
            # There is no short complex dtype.
            if not (p in FLOATS[:2] and q.is_complex):
                call("mul", "m", x, y[-1])
            if not (p.is_complex or q.is_complex):
                call("maximum", "f", x, y)
                call("lt", "f", x, y)


def random_numbers(call):
    for dtype in [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]:
        x = torch.zeros(6).to(dtype)
        call("random", "i", x.clone(), seed=3)
        call("random", "i", x.clone(), 1, seed=4)
        call("random", "i", x.clone(), 100, seed=4)
        for bounds in ((0, None), (1, None), (-1, None), (2, 5), (-7, 90), (5, 5), (2**31, None), (2**40, None), (0, 2**33),
                       (-2**63, None)):
            call("random", "i", x.clone(), *bounds, seed=5)
        call("bernoulli", "i", x.clone(), 0.25, seed=6)
        call("randint_like", "f", x, 7, seed=7)
        call("randint_like", "f", x, -3, 4, seed=7)


def gradient_layouts(call):
    def leaf(*shape):
        # No zeros: the sign of their products is not torch's where only one is added up.
        return (torch.randint(0, 8, shape) * 2 - 7).div(4).requires_grad_()

    def both(rows, columns):
        return leaf(rows, columns), leaf(columns, rows).detach().t().requires_grad_()

    for x in both(3, 4):
        for y in both(4, 2):
            call("mm", "f", x, y)
            call("matmul", "f", x, y)
            call("addmm", "f", leaf(3, 2), x, y, beta=2, alpha=0.5)
            call("addmm", "f", leaf(2, 3).detach().t().requires_grad_(), x, y)
        call("mv", "f", x, leaf(4))
        call("addmv", "f", leaf(3), x, leaf(4))
        call("matmul", "f", x, leaf(2, 4, 2))
        for op, args in (("sum", (0,)), ("mean", (1,)), ("amax", (0,)), ("cumsum", (1,)), ("flip", ([1],)), ("sort", (0,)),
                         ("select", (1, 2)), ("unfold", (1, 2, 1)), ("t", ()),
                         ("contiguous", ()), ("abs", ()), ("expand", (2, 3, 4))):
            call(op, "m", x, *args)
        call("index_select", "m", x, 0, torch.tensor([0]))
        call("cat", "f", [x, leaf(3, 2)], 1)
        call("mul", "f", x, leaf(4))
        call("where", "f", torch.tensor([True, False, True, True]), x, leaf(3, 1))
    # One row or column: the two layouts are the same.
    for rows, columns in ((1, 4), (4, 1), (1, 1)):
        for x in both(rows, columns):
            call("mm", "f", x, leaf(columns, 2))
            call("mm", "f", leaf(2, rows), x)
    b = leaf(2, 4, 3).detach().transpose(1, 2).requires_grad_()
    call("bmm", "f", b, leaf(2, 4, 2))
    call("baddbmm", "f", leaf(2, 3, 2), b, leaf(2, 4, 2), beta=0.5)
    call("addbmm", "f", leaf(3, 2), b, leaf(2, 4, 2), alpha=2)


def sizes(call):
    x = counted(2, 3, 2, 2)
    for form in (torch.contiguous_format, torch.channels_last, torch.preserve_format):
        call("resize", "i", x.clone(), [2, 2, 3, 2], memory_format=form)
        call("resize", "i", x.clone(), [4, 6], memory_format=form)
        call("resize_as", "i", x.clone(), counted(3, 2, 2, 2), memory_format=form)
        call("empty_like", "f", x[:0], memory_format=form)
        call("zeros_like", "f", x.permute(3, 1, 0, 2), memory_format=form)
        call("ones_like", "f", counted(2, 3).t(), memory_format=form)
    call("resize", "i", leaf(2, 3), [3, 2])
    call("is_contiguous", "m", torch.zeros(1).expand(2**53 - 1))
    for shape, strides in (((2, 2), (1, 1)), ((2, 3), (1, 1)), ((3, 2), (1, 1)), ((2, 2, 2), (2, 1, 1)), ((2, 3, 2), (1, 1, 2))):
        y = counted(20).as_strided(shape, strides)
        for other in (1, y, counted(shape), counted(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)):
            call("add", "f", y, other)
            call("mul", "f", other, y)
    for repeats in (0, 1, 3, -1):
        call("repeat_interleave", "m", leaf(2, 3), repeats, 1)
        call("repeat_interleave", "f", leaf(2, 3), repeats)
    for size in ([-1], [2, -2], [2, 3, -1], [3], [6, 1], [0], [2, 4]):
        for y in (leaf(2, 3), counted(3, 2).t(), torch.zeros(0, 3), torch.tensor(1.0)):
            call("view", "m", y, size)
            call("reshape", "m", y, size)
            if y.dim() > 0:
                call("expand", "m", y, size)


def products_of_ranks(call):
    """Products of every pair of ranks; equal sums in any order."""
    shapes = ((), (2,), (3, 2), (2, 3, 2), (2, 1, 3, 2))
    for p in shapes:
        for q in shapes:
            call("inner", "f", leaf(*p), leaf(*q))
            call("matmul", "f", leaf(*p), leaf(*q).detach().transpose(-1, -2).requires_grad_() if len(q) > 1 else leaf(*q))
            call("nn.functional.linear", "f", leaf(*p), leaf(*q))
    for dtype in FLOATS:
        # Short floats are rounded after each product of the batch: 2048 and one more is 2048.
        big = torch.tensor([[[2048.0]], [[1.0]], [[1.0]]], dtype=dtype) / (8 if dtype == torch.bfloat16 else 1)
        one = torch.ones(3, 1, 1, dtype=dtype)
        call("addbmm", "f", torch.zeros(1, 1, dtype=dtype), big, one)
        call("addbmm", "i", torch.zeros(1, 1, dtype=dtype), big, one, beta=0.5, alpha=2)
        call("addbmm", "f", torch.ones(1, dtype=dtype), big[:0], one[:0])
        for self in ((1, 1), (3, 1, 1), (2, 2, 2), (1, 2, 1), ()):
            call("baddbmm", "i", torch.ones(self, dtype=dtype), big, one)
            call("baddbmm", "f", torch.ones(self, dtype=dtype), big, one)
            call("addbmm", "f", torch.ones(self, dtype=dtype), big, one)
    for op, args in (("matmul", (leaf(2, 3), leaf(3, 2))), ("mm", (leaf(2, 3), leaf(3, 2))),
                     ("dot", (leaf(2), leaf(2))), ("matmul", (leaf(), leaf(2))), ("mul", (leaf(2), leaf(2)))):
        call(op, "f", *args, out=torch.zeros(2, 2))
        call(op, "f", *(a.detach() for a in args), out=torch.zeros(2, 2).requires_grad_())


def one_storage(call):
    """Results that are written over their operand, whole or in part."""
    for op, args in (("exp", ()), ("neg", ()), ("add", (1,)), ("clamp", (0, 2))):
        x = torch.zeros(3, 3)
        for out in (x, x.t(), x[0].expand(3, 3), x[1:]):
            call(op, "f", x, *args, out=out)
    for op in ("gather", "index_select", "take"):
        x, i = counted(3), torch.tensor([2, 0, 1])
        args = (i,) if op == "take" else (0, i)
        call(op, "f", x, *args, out=x)
        call(op, "f", x, *args, out=counted(6)[::2])
        call(op, "f", torch.tensor(2.0), *((torch.tensor(0),) if op == "take" else (0, torch.tensor(0))))
        call(op, "f", x, *((torch.tensor(1),) if op == "take" else (0, torch.tensor(1))), out=torch.tensor(0.0))


SECTIONS = [powers, multiples, short_operands, numbers_first, gradients, refusals, layouts, other_names, members,
            of_equal_numbers, mixed_dtypes, random_numbers, gradient_layouts, sizes, products_of_ranks, one_storage]
