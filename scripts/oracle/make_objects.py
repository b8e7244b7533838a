"""Writes test/fixtures/torch/objects: checkpoints with objects of all kinds in them, as fastai, Lightning, timm, detectron2
and ultralytics write them, and what Python has of each as a text. `make_objects.py FILE...` prints the texts of files:
what was written back has to have the text of what was read."""
import datetime
import decimal
import fractions
import functools
import io
import json
import pathlib
import random
import re
import sys
import types
import uuid
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import stand_ins
import torch
from object_text import Text, tensors
from stand_ins import Namespace, of

OUT = pathlib.Path(__file__).parents[2] / "test" / "fixtures" / "torch" / "objects"


def trained():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
        scheduler.step()
    optimizer.zero_grad()
    return model, optimizer, scheduler


def conv(i, o):
    made = of("ultralytics.nn.modules.conv.Conv")
    made.conv, made.bn, made.act = torch.nn.Conv2d(i, o, 1, bias=False), torch.nn.BatchNorm2d(o), torch.nn.SiLU()
    return made


def fastai():
    model, optimizer, _ = trained()
    learner = of(
        "fastai.learner.Learner",
        model=model,
        dls=of("fastai.data.core.DataLoaders", vocab=of("fastcore.foundation.L", ["cat", "dog"]), path=pathlib.PosixPath("data/pets")),
        opt_func=functools.partial(sys.modules["fastai.optimizer"].Adam, mom=0.95),
        metrics=of("fastcore.foundation.L", [of("fastai.learner.AvgMetric", func=sys.modules["fastai.metrics"].accuracy)]),
        loss_func=of("fastai.losses.CrossEntropyLossFlat", func=torch.nn.CrossEntropyLoss(), axis=-1, floatify=False),
        after_item=[of("fastai.vision.augment.Resize", size=(224, 224), method="crop", rand_min_scale=np.float32(0.25))],
        path=pathlib.PosixPath("."),
        model_dir="models",
        lr=slice(1e-5, 1e-3),
        training=False,
    )
    learner.cbs = of("fastcore.foundation.L", [of("fastai.callback.core.TrainEvalCallback", learn=learner), of("fastai.learner.Recorder", learn=learner, values=[[np.float64(0.5), 1.0]], lrs=deque([0.1, 1.0], 8))])
    return learner


def fastai_save():
    model, optimizer, _ = trained()
    return {"model": model.state_dict(), "opt": {"hypers": [{"lr": np.float64(0.001), "mom": 0.9, "wd": 1.0}], "state": [{"step": 3, "grad_avg": torch.ones(2)}]}}


def lightning():
    model, optimizer, scheduler = trained()
    metadata = functools.partial(of, "omegaconf.base.ContainerMetadata")
    config = of("omegaconf.dictconfig.DictConfig", None, {}, metadata=metadata())
    layers = of("omegaconf.listconfig.ListConfig", config, [], metadata=metadata(object_type=list, key="layers"))
    layers._content.extend(of("omegaconf.nodes.AnyNode", layers, n, metadata=metadata(key=i)) for i, n in enumerate((3, 2)))
    config._content.update(layers=layers, lr=of("omegaconf.nodes.AnyNode", config, 1.0, metadata=metadata(key="lr")))
    things = sys.modules["pytorch_lightning.trainer.states"]
    return {
        "epoch": 1,
        "global_step": np.int64(3),
        "pytorch-lightning_version": "2.4.0",
        "state_dict": OrderedDict((f"model.{k}", v) for k, v in model.state_dict().items()),
        "callbacks": {
            "ModelCheckpoint": {"best_model_path": pathlib.PurePosixPath("logs/e=1.ckpt"), "best_model_score": torch.tensor(0.25), "every": datetime.timedelta(minutes=5)},
            of("pytorch_lightning.callbacks.early_stopping.EarlyStopping", patience=3).__class__: {"wait_count": 0, "best": np.float32(0.5)},
        },
        "optimizer_states": [optimizer.state_dict()],
        "lr_schedulers": [scheduler.state_dict()],
        "hparams_name": "hparams",
        "hparams_type": sys.modules["lightning_fabric.utilities.data"].AttributeDict,
        "hyper_parameters": of("lightning_fabric.utilities.data.AttributeDict", {"cfg": config, "args": Namespace(lr=1.0, gpus=None, steps=[1, 2]), "fn": things.TrainerFn.FITTING}),
        "strategy": [things.Strategy.DDP, things.Strategy.SINGLE, things.Flags.A | things.Flags.B],
        "rng": {"numpy": np.random.RandomState(7).get_state()[:1] + (np.arange(6, dtype=np.uint32), 624, 0, 0.0), "python": (3, (1, 2, 3), None), "torch": torch.arange(8, dtype=torch.uint8)},
    }


def timm():
    model, optimizer, _ = trained()
    args = Namespace(model="resnet50", lr=0.5, opt="adamw", epochs=300, mean=None, resume=pathlib.PosixPath("out/last.pth.tar"), dist=defaultdict(list, {"a": [1]}), dtype=torch.bfloat16, device=torch.device("cuda", 0))
    return {
        "epoch": 3,
        "arch": "resnet50",
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "version": 2,
        "args": args,
        "amp_scaler": {"scale": 65536.0, "_growth_tracker": 3},
        "metric": np.float64(77.5),
        "state_dict_ema": OrderedDict((k, v * 0.5) for k, v in model.state_dict().items()),
    }


def detectron():
    rng = np.random.RandomState(0)
    model, optimizer, scheduler = trained()
    cfg = of("detectron2.config.config.CfgNode", {"MODEL": of("detectron2.config.config.CfgNode", {"DEVICE": "cuda", "PIXEL_MEAN": [1.0, 2.0]}), "SOLVER": of("yacs.config.CfgNode", {"STEPS": (1, 2)})})
    return {
        "model": {"backbone.stem.weight": rng.rand(2, 3).astype("f4"), "backbone.stem.bias": np.asfortranarray(rng.rand(2, 2)), "pixel_mean": np.array([[[103.5]]], dtype=">f4"), "n": np.array(3)},
        "trainer": {"iteration": 89999, "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "hooks": {"EvalHook": None}},
        "cfg": cfg,
        "anchors": of("detectron2.structures.boxes.Boxes", tensor=torch.arange(8.0).view(2, 4)),
        "mode": list(sys.modules["detectron2.structures"].BoxMode),
        "matching_heuristics": True,
        "__author__": "Detectron2 Model Zoo",
    }


def ultralytics():
    torch.manual_seed(1)
    model = of("ultralytics.nn.tasks.DetectionModel")
    block = of("ultralytics.nn.modules.block.C2f")
    block.cv1, block.m = conv(2, 2), torch.nn.ModuleList([conv(2, 2)])
    head = of("ultralytics.nn.modules.head.Detect", nc=2, stride=torch.tensor([8.0, 16.0]))
    model.model = torch.nn.Sequential(conv(1, 2), block, head)
    for i, layer in enumerate(model.model):
        layer.i, layer.f, layer.type = i, -1, f"ultralytics.nn.{type(layer).__name__}"
    model.yaml = {"nc": 2, "backbone": [[-1, 1, "Conv", [64, 3, 2]]], "ch": 3}
    model.names, model.save, model.stride, model.inplace = {0: "cat", 1: "dog"}, [1, 2], head.stride, True
    model.args = of("ultralytics.utils.IterableSimpleNamespace", imgsz=640, lr0=0.01, box=7.5)
    model.criterion = None
    model.half()
    _, optimizer, _ = trained()
    return {
        "epoch": -1,
        "best_fitness": np.float64(0.625),
        "model": None,
        "ema": model,
        "updates": 3,
        "optimizer": optimizer.state_dict(),
        "train_args": {"model": "yolov8n.yaml", "data": pathlib.PosixPath("coco8.yaml")},
        "train_metrics": {"metrics/mAP50(B)": np.float64(0.5), "fitness": np.float64(1.0)},
        "train_results": {"epoch": [1, 2]},
        "date": datetime.datetime(2024, 5, 1, 12, 30, 0, 5).isoformat(),
        "when": datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc),
        "version": "8.2.0",
    }


def numpy_kinds():
    base = np.arange(6).reshape(2, 3)
    codes = "?bBhHiIqQefdFD"
    shared = np.arange(3.0)
    view = np.arange(4.0)[::2]
    return {
        "arrays": {code: base.astype(code) for code in codes},
        "big": [base.astype(np.dtype(code).newbyteorder(">")) for code in "hIqefdD"],
        "fortran": [np.asfortranarray(base), np.asfortranarray(base.astype(">c8")), np.asfortranarray(np.zeros((2, 0, 3)))],
        "shapes": [np.array(5), np.array(2.5, dtype=">f8"), np.zeros((0,)), np.zeros((3, 0, 2), dtype="i1"), np.ones((1, 1, 1, 2))],
        "scalars": [np.dtype(code).type(1) for code in codes] + [np.int8(-1), np.float64("nan"), np.float64("-inf"), np.complex64(1 - 2j), np.uint64(2**64 - 1), np.int64(-(2**60)), np.float32(-0.0)],
        "texts": [np.str_("ab"), np.str_("é😀"), np.str_("")],
        "keys": {np.int64(1): "one", np.str_("k"): np.bool_(True), np.float64(2.0): None, "z": np.float64(2.0)},
        "members": {np.int64(5)},
        "shared": [shared, shared, {"again": shared}],
        "view": view,
        "dtypes": [np.dtype("f8"), np.dtype(">i4"), np.dtype([("a", "i4"), ("b", "f8", (2,))]), np.dtype("M8[ns]"), np.dtype("S3")],
        "types": [np.float32, np.ndarray, np.dtype],
        "odd": [np.array(["a", "bc"]), np.array([b"x"]), np.array([None, [1], torch.ones(2)], dtype=object), np.array(["2024-01-02"], dtype="M8[D]"), np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), np.longdouble(1), np.bytes_(b"ab"), np.datetime64("2024-01-02"), np.matrix([[1, 2]]), np.ma.array([1.0, 2.0], mask=[0, 1])],
        "random": {"state": np.random.RandomState(3).get_state(), "object": np.random.RandomState(3), "generator": np.random.Generator(np.random.PCG64(3)), "bits": np.random.default_rng(3).bit_generator.state},
    }


def small_numpy():
    return {"w": np.arange(6, dtype="f4").reshape(2, 3), "n": np.float64(2.0), "i": np.int64(3), "f": np.asfortranarray(np.eye(2)), "b": np.array([1, 2], ">u2")}


def kinds():
    things = sys.modules["project.things"]
    thing = functools.partial(of, "project.things.Thing")
    generator = torch.Generator().manual_seed(3)
    return {
        "times": [datetime.date(2024, 1, 2), datetime.time(1, 2, 3), datetime.datetime(2024, 1, 2, 3, 4, 5, 6), datetime.timedelta(days=1, microseconds=5), datetime.timezone(datetime.timedelta(hours=2))],
        "paths": [pathlib.PosixPath("a/b"), pathlib.PureWindowsPath("c:/d"), pathlib.PurePosixPath("/")],
        "numbers": [decimal.Decimal("1.50"), fractions.Fraction(1, 3), 1 + 2j, uuid.UUID(int=5), range(1, 9, 2), slice(None, 3, None)],
        "enums": [stand_ins.Strategy.DDP, stand_ins.Flags.A, stand_ins.TrainerFn.TESTING, {stand_ins.Strategy.SINGLE: 1}],
        "dicts": [things.MyOrdered([("b", torch.ones(1)), ("a", 2.0)]), things.MyDict(x=1, y=[1.0]), defaultdict(int, a=1), defaultdict(None), defaultdict(functools.partial(list, (1, 2)), {1: 2.0}), Counter("aab"), things.MyDict({1: "a", (2, 3.0): None})],
        "lists": [things.MyList([1, 2.0, "x"]), deque([1, 2.0], 4), deque(), things.Pair(1.0, [2])],
        "sets": [frozenset({1, 2}), {frozenset({3}), (1, 2.0)}, {frozenset(): 1.0}, {1.0}],
        "bytes": [b"", b"\x00\xff", bytearray(b"ab"), bytearray()],
        "objects": [thing(a=1, b=2.0, __proto__=3, constructor="x"), thing(), things.Slots(1, 2.0), things.SlotsAndMore(1, None, 3.0), things.Point(1), things.Frozen("n"), things.Outer.Inner(z=1), types.SimpleNamespace(a=1.0), Namespace()],
        "set by": of("project.things.Set", w=torch.arange(2.0), n=1),
        "functions": [functools.partial(print, 1, sep="\n"), torch.nn.functional.relu, len, things.give, things.Outer, things.Outer.build, things.Outer().method, torch.float32, torch.nn.Linear, dict, str.upper, "a b".split],
        "errors": [ValueError("bad", 2.0), KeyError("k")],
        "pattern": re.compile("a+", re.I),
        "torch": [torch.Size([2]), torch.device("cpu"), torch.strided, torch.get_rng_state()[:16], torch.float16],
        "sparse": torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse(),
        "csr": torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(torch.tensor([0.0, 1.0]), 0.5, 1, torch.qint8),
        "subclass": torch.ones(2).as_subclass(things.MyTensor),
        "storages": [torch.arange(3.0).storage(), torch.arange(2, dtype=torch.int16).untyped_storage()],
        "module": torch.nn.LSTM(1, 1),
        "optimizer": trained()[1],
        "scheduler": torch.optim.lr_scheduler.OneCycleLR(trained()[1], 0.1, total_steps=10),
        "loss": torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])),
        "generator": generator.get_state()[:8],
    }


def graph():
    parent, child = of("project.things.Parent", name="p"), of("project.things.Child", name="c")
    parent.children, child.parent = [child], parent
    loop = []
    loop.append(loop)
    knot = of("project.things.Thing")
    knot.tuple = (knot, [knot], {"me": knot})
    long = of("project.things.Thing")
    long.tuple = (1, 2, 3, long)
    member = of("project.things.Thing")
    member.inside = [member]
    base = torch.arange(6.0)
    tied = torch.nn.Linear(2, 2)
    model = stand_ins.Module(tied, tied)
    model.first = tied
    return {
        "family": [parent, child],
        "loop": loop,
        "knot": knot,
        "long": long,
        "member": member,
        "shared": [base, base, base[2:], of("project.things.Thing", view=base.view(2, 3), same=base)],
        "tied": model,
        "outside": tied.weight,
        "keys": {child: parent, (parent, 1): child},
        "args": functools.partial(max, parent, key=child),
    }


def newer():
    """What protocol 4 has and protocol 2 has not."""
    named = of("project.things.Named", 1, 2.0, key="v", t=torch.ones(1))
    return {"named": named, "again": [named], "inner": stand_ins.Outer.Inner(a=1), "set": {1, 2}, "frozen": frozenset({1}), "array": np.arange(3.0), "bytes": b"x", "array bytes": bytearray(b"yz"), "path": pathlib.PosixPath("a"), "long": 2**80}


def odd_tensors():
    """Tensors of kinds that are described, and texts that are no UTF-8, beside others."""
    x = torch.tensor([1.0, 2.0, 4.0])
    scales = x.to(torch.float8_e8m0fnu)
    sparse = torch.eye(2).to_sparse()
    module = torch.nn.Linear(2, 1)
    module.register_buffer("scales", scales)
    module.sparse = torch.nn.Parameter(sparse)
    noted = x.to(torch.float8_e4m3fnuz)
    noted.note = "kept"
    return {
        "weight": x,
        "scales": [scales, scales],
        "parameter": torch.nn.Parameter(scales, requires_grad=False),
        "sparse": torch.nn.Parameter(sparse),
        "quantized": torch.nn.Parameter(torch.quantize_per_tensor(x, 0.5, 3, torch.qint8), requires_grad=False),
        "half": x.to(torch.complex32),
        "meta": scales.to("meta"),
        "noted": noted,
        "module": module,
        "names": ["\udce9", "caf\ud800" * 9, "\ufeffx"],
    }


def packed_again(path, change) -> None:
    """The same archive with another pickle."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as new:
        for name, data in parts.items():
            new.writestr(zipfile.ZipInfo(name), change(data) if name.endswith("data.pkl") else data)


FILES = {"fastai": fastai, "fastai_save": fastai_save, "lightning": lightning, "timm": timm, "detectron": detectron, "ultralytics": ultralytics, "numpy_kinds": numpy_kinds, "kinds": kinds, "graph": graph}


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    texts, sums = {}, {}

    def put(name, value, protocol=2, **options) -> None:
        torch.save(value, OUT / f"{name}.pt", pickle_protocol=protocol, **options)
        texts[name] = Text(protocol).of(value)
        sums[name] = tensors(value)

    for name, make in FILES.items():
        put(name, make())
    put("newer", newer(), 4)
    put("newest", small_numpy(), 5)
    torch.save(odd_tensors(), OUT.parent / "odd_tensors.pt")
    torch.save(odd_tensors(), OUT.parent / "legacy_odd_tensors.pt", _use_new_zipfile_serialization=False)
    put("numpy_2", small_numpy())
    put("numpy_1", small_numpy())
    packed_again(OUT / "numpy_1.pt", lambda data: data.replace(b"numpy._core", b"numpy.core"))
    put("root_module", trained()[0])
    put("root_scalar", np.float64(2.0))
    put("root_array", np.arange(3))
    put("legacy", {"model": trained()[0], "args": Namespace(lr=1.0), "metric": np.float64(1.0)}, _use_new_zipfile_serialization=False)
    (OUT / "texts.json").write_text(json.dumps(texts, indent=1) + "\n")
    (OUT / "tensors.json").write_text(json.dumps(sums, indent=1).replace(",\n   ", ", ") + "\n")


def loaded_text(path: str) -> str:
    return Text().of(torch.load(path, weights_only=False, map_location="cpu"))


if len(sys.argv) > 1:
    for path in sys.argv[1:]:
        print(loaded_text(path))
else:
    main()
