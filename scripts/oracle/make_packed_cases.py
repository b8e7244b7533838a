"""Writes test/fixtures/cases-packed: recurrent modules with packed sequences, and the functions of
torch.nn.utils.rnn, as cases of families "module" and "init" (see test/conformance/modules).

    python scripts/oracle/make_packed_cases.py test/fixtures/cases-packed
"""

import random
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils import rnn
from torch.nn.utils.rnn import PackedSequence

from module_cases import CODES, Writer, cotangent, flat, save

def module_case(writer, name, options, dtype, lengths, is_sorted, given, seed):
    """One call of a recurrent module with a packed sequence: outputs, and gradients of input, states, parameters."""
    torch.manual_seed(seed)
    module = getattr(nn, name)(3, 4, **options).to(dtype)
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    width = options.get("proj_size", 0) or 4
    padded = torch.randn(max(lengths), len(lengths), 3, dtype=dtype)
    made = rnn.pack_padded_sequence(padded, lengths, enforce_sorted=is_sorted)
    packed = PackedSequence(made.data.detach().requires_grad_(), *made[1:])
    args = [packed]
    if given:
        states = [torch.randn(layers, len(lengths), w, dtype=dtype, requires_grad=True) for w in (width, 4)]
        args.append(tuple(states) if name == "LSTM" else states[0])
    case = {"id": f"module/{name}/packed{len(writer.lines)}", "fam": "module", "op": name, "dt": CODES[dtype]}
    case.update(train=True, args=[3, 4], kw={key: writer.encode(value) for key, value in options.items()})
    case.update(load=writer.encode(dict(module.state_dict())), **{"in": [writer.encode(x) for x in args]}, rseed=seed)
    torch.manual_seed(seed)
    out = module(*args)
    case["out"] = writer.encode(out)
    outputs = flat(out)
    case["gi"] = [k for k, t in enumerate(outputs) if t.requires_grad]
    leaves = [t for t in flat(args) if t.requires_grad]
    parameters = dict(module.named_parameters())
    cotangents = [cotangent(outputs[k], k) for k in case["gi"]]
    grads = torch.autograd.grad([outputs[k] for k in case["gi"]], [*leaves, *parameters.values()], cotangents)
    case["gin"] = [writer.encode(g) for g in grads[: len(leaves)]]
    case["gp"] = writer.encode(dict(zip(parameters, grads[len(leaves) :], strict=True)))
    writer.write(case)


def modules(writer, draw):
    kinds = {
        "RNN": [{}, {"nonlinearity": "relu", "num_layers": 2}, {"bidirectional": True, "bias": False}],
        "GRU": [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}],
        "LSTM": [
            {},
            {"proj_size": 2, "bidirectional": True},
            {"num_layers": 2, "dropout": 0.5},
            {"num_layers": 2, "bidirectional": True, "batch_first": True},
        ],
    }
    shapes = [([4, 2, 1], True), ([3, 3, 3], True), ([1], True), ([2, 5, 1, 5], False), ([1, 2, 3], False)]
    for name, all_options in kinds.items():
        for options in all_options:
            for i, (lengths, is_sorted) in enumerate(shapes):
                dtype = torch.float64 if i % 2 else torch.float32
                module_case(writer, name, options, dtype, lengths, is_sorted, draw.random() < 0.5, draw.randrange(999))


def call(writer, what, *args, **kw):
    """One call of a function of torch.nn.utils.rnn, with what it gives or how it fails."""
    name = what.__name__
    case = {"id": f"init/{name}/packed{len(writer.lines)}", "fam": "init", "op": name, "leaves": []}
    keywords = {key: writer.encode(value) for key, value in kw.items()}
    path = f"nn.utils.rnn.{name}"
    case["steps"] = [[0, path, [writer.encode(x) for x in args], keywords]]
    case["vars"] = []
    try:
        case["vars"] = [writer.encode(what(*args, **kw))]
    except Exception as error:
        case["err"] = {"step": 0, "type": type(error).__name__, "msg": str(error).split("\n")[0]}
    writer.write(case)


def functions(writer):
    x = torch.arange(24.0).reshape(4, 3, 2)
    for lengths in ([4, 2, 1], [3, 3, 3], [5, 2, 1], [2, 3, 1], [3, 2], [3, 2, 0], [3, 2, -1], torch.tensor([[3, 2, 1]])):
        call(writer, rnn.pack_padded_sequence, x, lengths)
        call(writer, rnn.pack_padded_sequence, x, lengths, enforce_sorted=False)
    call(writer, rnn.pack_padded_sequence, x, [4, 2, 1], batch_first=False, enforce_sorted=True)
    call(writer, rnn.pack_padded_sequence, x.transpose(0, 1).contiguous(), [1, 4, 2], True, False)
    call(writer, rnn.pack_padded_sequence, x.to(torch.int64), torch.tensor([3.5, 2, 1]))
    call(writer, rnn.pack_padded_sequence, torch.ones(4, 3).bool(), [3, 2, 1])
    call(writer, rnn.pack_padded_sequence, torch.ones(3), [3, 2, 1])
    call(writer, rnn.pack_padded_sequence, torch.ones(0, 3, 2), [3, 2, 1])
    packed = rnn.pack_padded_sequence(x, [3, 2, 1])
    turned = rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
    for one in (packed, turned):
        for kw in ({}, {"batch_first": True}, {"padding_value": -1.0, "total_length": 6}, {"total_length": 2}):
            call(writer, rnn.pad_packed_sequence, one, **kw)
        call(writer, rnn.unpack_sequence, one)
    whole = rnn.pack_padded_sequence(x.to(torch.int64), [3, 2, 1])
    call(writer, rnn.pad_packed_sequence, whole, padding_value=1.5)
    rows = x.reshape(12, 2)
    for sizes in ([3, 2, 1], [1, 2, 3], [1.0, 2, 3], [[1, 2, 3]], [3, 0], [3, 3, 3, 3, 3]):
        call(writer, rnn.pad_packed_sequence, PackedSequence(rows, torch.tensor(sizes)))
    longs = [torch.arange(3.0), torch.arange(1.0), torch.arange(2.0)]
    wide = [torch.ones(2, 2), torch.full((3, 2), 2.0), torch.full((1, 2), 3.0)]
    for some in (longs, wide):
        for kw in ({}, {"batch_first": True}, {"padding_side": "left"}, {"batch_first": True, "padding_value": 7.0}):
            call(writer, rnn.pad_sequence, some, **kw)
        call(writer, rnn.pack_sequence, some)
        call(writer, rnn.pack_sequence, some, enforce_sorted=False)
    call(writer, rnn.pad_sequence, x)
    call(writer, rnn.pad_sequence, [])
    call(writer, rnn.pad_sequence, longs, padding_side="both")
    call(writer, rnn.pad_sequence, [torch.ones(2, 2), torch.ones(3, 3)])
    call(writer, rnn.pad_sequence, [torch.ones(2, 2), torch.ones(3, 1)], True)
    call(writer, rnn.pad_sequence, [torch.ones(2, dtype=torch.int64), torch.ones(3) * 1.5])
    call(writer, rnn.pad_sequence, [torch.ones(2, dtype=torch.int64)], padding_value=2.7)
    call(writer, rnn.pad_sequence, [torch.ones(0, 3), torch.ones(2, 3)])
    for lengths in ([1, 2, 3, 4], [1, 2, 9, -3], [1, 2], [1, 2, 3, 4, 5]):
        call(writer, rnn.unpad_sequence, x, torch.tensor(lengths), batch_first=True)
    for permutation in ([2, 0, 1], [0], [2.0, 0, 1], [2, 0, 3], [[1, 0]]):
        call(writer, rnn.invert_permutation, torch.tensor(permutation))
    call(writer, rnn.invert_permutation, torch.tensor([1, 0], dtype=torch.int32))
    call(writer, rnn.invert_permutation, None)


def main(folder):
    torch.set_num_threads(1)
    writer = Writer()
    modules(writer, random.Random(7))
    functions(writer)
    save(writer, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
