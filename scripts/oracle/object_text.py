"""Any object of Python's as a text of what its pickle says: test/io/object-text.ts gives the same for what was read."""
import copyreg
import enum
import hashlib
import json
import types
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import torch


# Elements that tensors have.
CODES = "?bBhHiIlLqQefdFD"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def of_name(module: str, name: str) -> str:
    return f"name({module}.{name})"


class Text:
    """Containers and objects that were met before are numbers, so that what is shared is seen."""

    def __init__(self, protocol: int = 2) -> None:
        self.protocol = protocol
        self.seen: dict[int, int] = {}
        self.keep: list = []

    def of(self, value) -> str:
        kind = type(value)
        if value is None or kind in (bool, int, float):
            return repr(value)
        if kind is str:
            return json.dumps(value)
        if kind is bytes:
            return f"bytes({value.hex()})"
        if kind is complex:
            return f"complex({value.real!r}, {value.imag!r})"
        if kind is torch.Size:
            return f"Size{list(value)}"
        if kind in (torch.dtype, torch.device, torch.layout, torch.qscheme):
            return f"{kind.__name__}({value})"
        if kind is tuple and not value:
            return "()"
        if isinstance(value, np.generic) and (value.dtype.kind == "U" or value.dtype.char in CODES):
            return f"scalar({value.dtype.str}, {value.__reduce__()[1][1].hex()})"
        if isinstance(value, type) or kind in (types.FunctionType, types.BuiltinFunctionType) and not bound(value):
            return of_name(value.__module__, value.__qualname__)
        if kind is types.MethodDescriptorType:
            return of_name(value.__objclass__.__module__, value.__qualname__)
        if id(value) in self.seen:
            return f"<{self.seen[id(value)]}>"
        self.seen[id(value)] = len(self.seen) + 1
        self.keep.append(value)
        return self.container(value)

    def container(self, value) -> str:
        kind, of = type(value), self.of
        if kind is bytearray:
            return f"bytearray({value.hex()})"
        if kind in (torch.Tensor, torch.nn.Parameter) and not value.layout.__str__().startswith("torch.sparse") and not value.is_quantized:
            return self.tensor(value)
        if kind is np.ndarray and value.dtype.char in CODES:
            data = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes()
            order = "F" if value.flags.fnc else "C"
            return f"ndarray({value.dtype.str}, {list(value.shape)}, {order}, {digest(data)})"
        if kind is list:
            return "[" + ", ".join(map(of, value)) + "]"
        if kind is tuple:
            return "(" + "".join(of(item) + ", " for item in value) + ")"
        if kind in (set, frozenset):
            return f"{kind.__name__}(" + ", ".join(sorted(Text(self.protocol).of(item) for item in value)) + ")"
        if kind is deque:
            return f"deque({value.maxlen}, [{', '.join(map(of, value))}])"
        if kind in (dict, OrderedDict, Counter, defaultdict):
            factory = f"({of(value.default_factory)})" if kind is defaultdict else ""
            pairs = ", ".join(f"{of(key)}: {of(item)}" for key, item in value.items())
            more = f" with {of(value.__dict__)}" if kind is OrderedDict and value.__dict__ else ""
            return f"{kind.__name__}{factory}{{{pairs}}}{more}"
        return self.object(value)

    def tensor(self, value) -> str:
        plain = value.detach().resolve_conj().resolve_neg().contiguous()
        data = b"" if value.is_meta or value.numel() == 0 else plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        wants = ", requires_grad" if value.requires_grad else ""
        more = f" with {self.of(value.__dict__)}" if value.__dict__ else ""
        return f"{type(value).__name__}({value.dtype}, {list(value.shape)}, {digest(data)}{wants}){more}"

    def object(self, value) -> str:
        of = self.of
        if isinstance(value, (torch.storage.TypedStorage, torch.UntypedStorage)):
            untyped = value.untyped() if isinstance(value, torch.storage.TypedStorage) else value
            name = value.pickle_storage_type() if untyped is not value else "UntypedStorage"
            return f"storage({name}, {digest(bytes(untyped))})"
        reducer = copyreg.dispatch_table.get(type(value))
        reduced = reducer(value) if reducer else value.__reduce_ex__(self.protocol)
        if isinstance(reduced, str):
            return of_name(value.__module__, reduced)
        call, args, state, items, pairs, setter = (*reduced, None, None, None, None)[:6]
        if call is copyreg.__newobj__:
            text = f"new {of(args[0])}{of(args[1:])}"
        elif call is getattr(copyreg, "__newobj_ex__", None):
            text = f"new {of(args[0])}{of(args[1])}{of(args[2])}"
        else:
            text = f"call {of(call)}{of(args)}"
        if items is not None:
            text += f" items [{', '.join(map(of, items))}]"
        if pairs is not None:
            text += f" pairs {{{', '.join(f'{of(key)}: {of(item)}' for key, item in pairs)}}}"
        if state is not None:
            text += f" state {of(state)}"
        return text + (f" by {of(setter)}" if setter is not None else "")


def bound(value) -> bool:
    owner = getattr(value, "__self__", None)
    return owner is not None and not isinstance(owner, types.ModuleType)


def tensors(value) -> dict[str, list]:
    """All tensors and arrays of numbers below an object, by the path to them: shape and sum."""
    found, seen = {}, set()

    def visit(item, path) -> None:
        if isinstance(item, torch.Tensor) and item.layout == torch.strided and not item.is_quantized:
            found[path] = [list(item.shape), float(item.detach().double().sum()) if not item.is_complex() else None]
        elif isinstance(item, np.ndarray) and item.dtype.kind in "biuf" and item.dtype.itemsize <= 8:
            found[path] = [list(item.shape), float(item.astype(np.float64).sum())]
        if id(item) in seen:
            return
        seen.add(id(item))
        if isinstance(item, dict):
            for key, inner in item.items():
                if isinstance(key, str):
                    visit(inner, f"{path}/{key}")
        elif isinstance(item, (list, tuple)):
            for i, inner in enumerate(item):
                visit(inner, f"{path}/{i}")
        if hasattr(item, "__dict__") and not isinstance(item, (type, types.FunctionType, torch.Tensor, enum.Enum)):
            for key, inner in vars(item).items():
                visit(inner, f"{path}/{key}")

    visit(value, "")
    return found
