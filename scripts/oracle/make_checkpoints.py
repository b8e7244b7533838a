"""Writes test/fixtures/torch/checkpoints: training checkpoints as programs save them, with the real torch after real steps,
and what torch.load(weights_only=True) reads from each, as a text in which every type can be seen."""
import hashlib
import io
import json
import pickle
import random
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import torch
from torch._weights_only_unpickler import _get_allowed_globals

OUT = Path(__file__).parents[2] / "test" / "fixtures" / "torch" / "checkpoints"


def text(value) -> str:
    """The value with all types: what test/io/python-text.ts gives for the same value."""
    kind = type(value)
    if value is None or kind in (bool, int, float):
        return repr(value)
    if kind is str:
        return json.dumps(value)
    if kind in (bytes, bytearray):
        return f"{kind.__name__}({value.hex()})"
    if kind is complex:
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, torch.Tensor):
        plain = value.detach().resolve_conj().resolve_neg().contiguous()
        data = b"" if value.is_meta else plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        digest = hashlib.sha256(data).hexdigest()[:16]
        wants = ", requires_grad" if value.requires_grad else ""
        more = f" with {text(value.__dict__)}" if value.__dict__ else ""
        return f"{kind.__name__}({value.dtype}, {list(value.shape)}, {digest}{wants}){more}"
    if kind is torch.Size:
        return f"Size{list(value)}"
    if kind in (torch.dtype, torch.device, torch.layout, torch.qscheme):
        return f"{kind.__name__}({value})"
    if kind is list:
        return "[" + ", ".join(map(text, value)) + "]"
    if kind is tuple:
        return "(" + "".join(text(item) + ", " for item in value) + ")"
    if kind is set:
        return "set(" + ", ".join(sorted(map(text, value))) + ")"
    if kind in (dict, OrderedDict, Counter):
        pairs = ", ".join(f"{text(key)}: {text(item)}" for key, item in value.items())
        more = f" with {text(value.__dict__)}" if kind is OrderedDict and value.__dict__ else ""
        return f"{kind.__name__}{{{pairs}}}{more}"
    raise TypeError(kind)


def trained(optimizer_of, steps=3):
    """A small model after real steps, its optimizer and a scheduler."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        OrderedDict(conv=torch.nn.Conv1d(2, 3, 2), norm=torch.nn.BatchNorm1d(3), head=torch.nn.Linear(3, 2, bias=False))
    )
    optimizer = optimizer_of(model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    for _ in range(steps):
        optimizer.zero_grad()
        model[2](model[1](model[0](torch.randn(4, 2, 4))).mean(-1)).square().sum().backward()
        optimizer.step()
        scheduler.step()
    return model, optimizer, scheduler


def sgd():
    model, optimizer, _ = trained(lambda m: torch.optim.SGD(m.parameters(), lr=1.0, momentum=0.9, nesterov=True))
    return {"step": 3, "model_state": model.state_dict(), "optimizer_state": optimizer.state_dict()}


def adam():
    model, optimizer, scheduler = trained(lambda m: torch.optim.Adam(m.parameters(), lr=1e-3))
    random.seed(1)
    version, words, spare = random.getstate()
    return {
        "epoch": 3,
        "model": model.state_dict(),
        "optim": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "scaler": {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 3},
        "best_loss": float("inf"),
        "history": {"loss": [1.0, 0.5, float("nan")], "lr": (1e-3, 2e-3)},
        "rng": {"torch": torch.get_rng_state()[:64], "python": (version, words[:4], spare)},
        "early_stop": None,
        "resumed": False,
    }


def adamw():
    def groups(model):
        decay = [p for p in model.parameters() if p.ndim > 1]
        rest = [p for p in model.parameters() if p.ndim <= 1]
        return torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], amsgrad=True)

    model, optimizer, scheduler = trained(groups)
    shadow = [p.detach() * 0.5 for p in model.parameters()]
    return {
        "state_dict": model.state_dict(),
        "optimizers": [optimizer.state_dict()],
        "ema": {"decay": 0.999, "num_updates": 3, "shadow_params": shadow, "collected_params": []},
        "schedulers": [None, scheduler.state_dict()],
        "pair": (shadow[0], {"mean": shadow[1]}),
        "losses": torch.nn.ParameterList([torch.nn.Parameter(torch.ones(2))]).state_dict(),
    }


def lightning():
    model, optimizer, scheduler = trained(lambda m: torch.optim.RAdam(m.parameters()))
    weights = OrderedDict((f"model.{name}", item) for name, item in model.state_dict().items())
    progress = {"ready": 3, "started": 3, "processed": 3, "completed": 3}
    return {
        "epoch": 1,
        "global_step": 3,
        "pytorch-lightning_version": "2.4.0",
        "state_dict": weights,
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": progress, "current": dict(progress)}}},
        "callbacks": {
            "ModelCheckpoint{'monitor': 'val_loss', 'mode': 'min', 'every_n_train_steps': 0}": {
                "monitor": "val_loss",
                "best_model_score": torch.tensor(0.25),
                "best_model_path": "logs/v0/epoch=1-step=3.ckpt",
                "best_k_models": {"logs/v0/epoch=1-step=3.ckpt": torch.tensor(0.25)},
                "kth_value": torch.tensor(0.25),
            }
        },
        "optimizer_states": [optimizer.state_dict()],
        "lr_schedulers": [scheduler.state_dict()],
        "MixedPrecision": {"scale": 1024.0},
        "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 1.0, "betas": (0.9, 0.999), "layers": [3, 2], "name": None, "labels": {0: "no", 1: "yes"}},
    }


def kinds():
    shared = [1, 2.0]
    one = torch.arange(3)
    return {
        "ints": [0, -1, 255, 65536, -(2**31), 2**53 + 1, -(2**63), 2**70],
        "floats": [0.0, -0.0, 1.0, 1e300, 0.1, float("inf"), float("-inf"), float("nan"), 2.0**60],
        "others": [None, True, False, "", "text", "ä€😀", "a\0b", b"\x00\xff", bytearray(b"ab"), 1 + 2j, 1j],
        "tuples": ((), (1,), (1, (2.0, [3, ()]))),
        "sets": [set(), {1, 2}, {"a"}, {2.0}, {(1, 2)}],
        "torch": [torch.Size([2, 3]), torch.Size([]), torch.float16, torch.qint8, torch.device("cpu"), torch.device("cuda", 1)],
        "more": [torch.device("mps", 0), torch.strided, torch.sparse_coo, torch.per_tensor_affine],
        "counter": Counter(a=3, b=1),
        "empty": [{}, OrderedDict(), [], Counter()],
        "keys": {1: "int", 2.0: "float", None: "none", (1, "a"): "tuple", b"k": "bytes", "1": "text", torch.float32: "dtype"},
        "bools": {True: 1, False: 0.0},
        "tensors by number": {0: one, "0": one + 1, 10: {"x": one}, 9: None, -1: 0.5},
        "tensors by others": {None: one, 1.0: one, (1, 2): [one], False: (one,)},
        "tensors in order": OrderedDict([(2, one), (1, OrderedDict(z=one, a=1))]),
        "tensors counted": Counter({"t": 2}),
        "shared": [shared, shared],
        "twice": [one, one[1:], one],
        "__proto__": {"__proto__": one, "constructor": 1},
        "dots": {"a.b": one, "a": {"c": one, "d.e": 1}},
        "none": None,
        "": {"": one},
    }


def parameters():
    own = torch.nn.Parameter(torch.ones(2))
    own.is_norm = True
    note = torch.ones(1)
    note.label, note.scale = "mean", 2.0
    return {"note": note, "list": [own, torch.nn.Parameter(torch.zeros(1), requires_grad=False)], "wants": torch.ones(2, requires_grad=True)}


class Call:
    """Something that a pickle has as a call."""

    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


def rare():
    one = torch.arange(4.0)
    return {
        "moved": Call(torch._utils._rebuild_device_tensor_from_cpu_tensor, one, one.dtype, "cpu", True),
        "parameter": Call(torch.nn.Parameter, one),
        "old": Call(torch._utils._rebuild_tensor, one.storage(), 1, (2,), (1,)),
        "empty": Call(torch._utils._rebuild_meta_tensor_no_storage, torch.int16, (2, 3), (3, 1), False),
        "unsigned": [torch.tensor([0, 2**64 - 1], dtype=torch.uint64), torch.ones(2, dtype=torch.float8_e4m3fn)],
        "set": Call(set, [1, 2.0]),
        "counter": Call(Counter, {"a": 1}),
        "conj": torch.tensor([1 + 2j]).conj(),
    }


def old_pickle(value, storages):
    """A file of torch before 1.6 around any pickle."""
    out = io.BytesIO()
    for part in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}):
        pickle.dump(part, out, protocol=2)
    out.write(value)
    pickle.dump(list(storages), out, protocol=2)
    for data in storages.values():
        out.write(struct.pack("<q", len(data)) + struct.pack(f"<{len(data)}f", *data))
    return out.getvalue()


def first_torch() -> bytes:
    """Tensors as torch 0.1 pickled them: an empty one of a class, then its storage as its state."""
    # ("storage", torch.FloatStorage, "7", "cpu", 4, None), stored as 0, and BINPERSID.
    storage = b"(U\x07storagectorch\nFloatStorage\nU\x017U\x03cpuK\x04NtQq\x00"
    tensor = b"ctorch\nFloatTensor\n)R(" + storage + b"K\x00(K\x02K\x02t(K\x02K\x01ttb"
    view = b"ctorch\nFloatTensor\n)R(h\x00K\x01(K\x02t(K\x02ttb"
    return old_pickle(b"\x80\x02}(U\x06weight" + tensor + b"U\x04view" + view + b"u.", {"7": [0.0, 1.0, 2.0, 3.0]})


def packed_again(source, target, method, order=b"little", swap=lambda name, data: data) -> None:
    """An archive as other programs pack it, or as machines with another order of bytes write it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", method) as new:
        for name in old.namelist():
            data = order if name.endswith("/byteorder") else swap(name, old.read(name))
            new.writestr(zipfile.ZipInfo(name), data, method)


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    base = torch.arange(6.0).reshape(2, 3)
    files = {
        "sgd": sgd(),
        "adam": adam(),
        "adamw": adamw(),
        "lightning": lightning(),
        "kinds": kinds(),
        "parameters": parameters(),
        "rare": rare(),
        "slashes": {"logs/a": base, "b\\c": 1, "..": {".": base}, "x": [base, (1, 2)]},
        "flat": sgd()["model_state"],
        "nested": {"model": {"layer": {"weight": base}}},
        "plain": {"model": OrderedDict([("layer.weight", base), ("layer.bias", base[0])]), "epoch": 3, "name": "one"},
        "root_list": [base, None, {"a": base, 3: 1.0}],
        "root_tuple": (base, 2, 2.0),
        "root_tensor": base,
        "root_number": 2.0,
        "root_none": None,
        "root_text": ["no", "tensors", ("at", "all")],
        "root_numbers": {0: base, 1: base},
        "root_values": {"vocabulary": {"a": 0, "b": 1}, "sizes": (1, 2)},
        "root_dots": OrderedDict([("a.weight", base), ("a.bias", base[0]), ("version", 2.0), ("b.c", [base, 1])]),
    }
    texts = {}
    for name, value in files.items():
        torch.save(value, OUT / f"{name}.pt")
    for name in ("sgd", "adam", "kinds"):
        torch.save(files[name], OUT / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
    (OUT / "first_torch.pt").write_bytes(first_torch())
    packed_again(OUT / "sgd.pt", OUT / "compressed.pt", zipfile.ZIP_DEFLATED)
    orders = [torch.arange(3.0), torch.arange(3), torch.ones(2, dtype=torch.float16), torch.tensor([1 + 2j]), torch.ones(2) > 0]
    torch.save(orders, OUT / "big_endian.pt")
    widths = {str(i): n for i, n in enumerate((4, 8, 2, 4, 1))}

    def swap(name, data):
        width = widths.get(name.rsplit("/", 1)[1]) if "/data/" in name else None
        return data if width is None else b"".join(data[i : i + width][::-1] for i in range(0, len(data), width))

    packed_again(OUT / "big_endian.pt", OUT / "swapped.pt", zipfile.ZIP_STORED, b"big", swap)
    (OUT / "swapped.pt").replace(OUT / "big_endian.pt")
    for path in sorted(OUT.glob("*.pt")):
        texts[path.stem] = text(torch.load(path, weights_only=True))
    (OUT / "texts.json").write_text(json.dumps(texts, indent=1) + "\n")
    (OUT / "globals.json").write_text(json.dumps(sorted(_get_allowed_globals()), indent=1) + "\n")


if len(sys.argv) > 1:
    for path in sys.argv[1:]:
        print(text(torch.load(path, weights_only=True, map_location="cpu")))
else:
    main()
