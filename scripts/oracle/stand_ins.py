"""Classes under the names of programs that are not installed: what their pickles look like, and nothing else of them."""
import argparse
import enum
import sys
import types
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field

import torch


def put(name: str, *values, **named) -> None:
    """Makes a module, with classes and functions that say that they are of it."""
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    module = sys.modules[name]
    for value in values:
        value.__module__ = name
        value.__qualname__ = value.__name__
        setattr(module, value.__name__, value)
    for key, value in named.items():
        setattr(module, key, value)


class Plain:
    """An object of its attributes, equal to another of the same."""

    def __init__(self, **attributes) -> None:
        self.__dict__.update(attributes)


def plain(*names: str) -> list[type]:
    return [type(name, (Plain,), {}) for name in names]


class Module(torch.nn.Module):
    def __init__(self, *layers, **attributes) -> None:
        super().__init__()
        for i, layer in enumerate(layers):
            self.add_module(str(i), layer)
        for key, value in attributes.items():
            setattr(self, key, value)


def modules(*names: str) -> list[type]:
    return [type(name, (Module,), {}) for name in names]


# fastai and fastcore.
class L:
    def __init__(self, items) -> None:
        self.items = list(items)


class Transform(Plain):
    order = 0


put("fastcore.foundation", L)
put("fastai.learner", *plain("Learner", "Recorder", "AvgLoss", "AvgMetric"))
put("fastai.callback.core", *plain("TrainEvalCallback"))
put("fastai.callback.progress", *plain("ProgressCallback"))
put("fastai.data.core", *plain("DataLoaders"))
put("fastai.vision.augment", *plain("Resize"), Transform)
put("fastai.losses", *plain("CrossEntropyLossFlat"))


def Adam(params, lr, mom=0.9):
    return None


def accuracy(inp, targ, axis=-1):
    return None


put("fastai.optimizer", Adam, *plain("Optimizer"))
put("fastai.metrics", accuracy)


# Lightning.
class AttributeDict(dict):
    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError as error:
            raise AttributeError(key) from error


class TrainerFn(str, enum.Enum):
    FITTING = "fit"
    TESTING = "test"


class Strategy(enum.Enum):
    DDP = "ddp"
    SINGLE = 1


class Flags(enum.Flag):
    A = 1
    B = 2


put("lightning_fabric.utilities.data", AttributeDict)
put("pytorch_lightning.trainer.states", TrainerFn, Strategy, Flags)
put("pytorch_lightning.callbacks.model_checkpoint", *plain("ModelCheckpoint"))
put("pytorch_lightning.callbacks.early_stopping", *plain("EarlyStopping"))


# omegaconf: nodes know their parents.
class Node:
    def __init__(self, parent, content, **metadata) -> None:
        self.__dict__["_metadata"] = metadata.pop("metadata", None)
        self.__dict__["_parent"] = parent
        self.__dict__["_content"] = content

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)


@dataclass
class ContainerMetadata:
    ref_type: object = None
    object_type: object = dict
    optional: bool = True
    key: object = None
    flags: dict = field(default_factory=dict)


put("omegaconf.dictconfig", type("DictConfig", (Node,), {}))
put("omegaconf.listconfig", type("ListConfig", (Node,), {}))
put("omegaconf.nodes", type("AnyNode", (Node,), {}))
put("omegaconf.base", ContainerMetadata)


# yacs and detectron2.
class CfgNode(dict):
    def __init__(self, values=()) -> None:
        super().__init__(values)
        self.__dict__["__immutable__"] = False
        self.__dict__["__deprecated_keys__"] = set()


put("yacs.config", CfgNode)
put("detectron2.config.config", type("CfgNode", (CfgNode,), {}))
put("detectron2.structures.boxes", *plain("Boxes"))
BoxMode = enum.IntEnum("BoxMode", ["XYXY_ABS", "XYWH_ABS"])
put("detectron2.structures", BoxMode)


# ultralytics.
class IterableSimpleNamespace(types.SimpleNamespace):
    pass


put("ultralytics.utils", IterableSimpleNamespace)
put("ultralytics.nn.tasks", *modules("DetectionModel"))
put("ultralytics.nn.modules.conv", *modules("Conv", "Concat"))
put("ultralytics.nn.modules.block", *modules("C2f", "DFL"))
put("ultralytics.nn.modules.head", *modules("Detect"))


# Programs of their own.
class Outer:
    class Inner(Plain):
        pass

    @staticmethod
    def build(value):
        return value

    def method(self):
        return None


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b) -> None:
        self.a, self.b = a, b


class SlotsAndMore(Slots):
    def __init__(self, a, b, c) -> None:
        super().__init__(a, b)
        self.c = c


class Named:
    """Made again with named arguments."""

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.given = (args, kwargs)
        return self

    def __getnewargs_ex__(self):
        return self.given

    def __getstate__(self):
        return None


class Set(Plain):
    """Its state is set by a function."""

    def __reduce__(self):
        return (Set, (), dict(self.__dict__), None, None, give)


def give(target, state) -> None:
    target.__dict__.update(state)


@dataclass
class Point:
    x: int
    y: float = 2.0
    tags: list = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    name: str


class MyOrdered(OrderedDict):
    pass


class MyDict(dict):
    pass


class MyList(list):
    pass


class MyTensor(torch.Tensor):
    pass


Pair = namedtuple("Pair", ["left", "right"])
put("project.things", Outer, Slots, SlotsAndMore, Named, Set, give, Point, Frozen, MyOrdered, MyDict, MyList, MyTensor, Pair, *plain("Thing", "Parent", "Child"))
Outer.Inner.__module__, Outer.Inner.__qualname__ = "project.things", "Outer.Inner"
Outer.build.__module__, Outer.build.__qualname__ = "project.things", "Outer.build"
Namespace = argparse.Namespace


def of(class_name: str, /, *args, **kwargs):
    """An instance of a class by its name."""
    module, last = class_name.rsplit(".", 1)
    return getattr(sys.modules[module], last)(*args, **kwargs)
