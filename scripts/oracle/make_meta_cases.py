"""Replays golden cases with every tensor on torch's meta device and writes what comes out.

    python make_meta_cases.py CASE_DIR OUT.jsonl [--check]

Of every opinfo and error case the call, its method form and its in-place form (those that the case states) run on
tensors of the same shapes, strides, offsets and dtypes over meta storages of the same sizes; a device argument "cpu"
becomes "meta". OUT has one line a case, in the order of the cases. A field is left out where torch on meta does what
the case says torch does on the cpu:

    out   descriptors of the results, as in the case, with `s` of a view's input; other numbers are new storages
    err   [class, message] where the call raises; null where the case says that it raises and it does not
    merr, iperr   the same of the method form and the in-place form
    ip    descriptor of self after the in-place form, where its shape, strides, offset or dtype changed
    dev   "cpu": a result is not on meta

`--check` replays on the cpu instead and prints every case whose shapes, dtypes, layouts or error class are not the
recorded ones: it proves the table of calls here.
"""
import json
import os
import sys
import warnings

import torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

CODES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
    "c64": torch.complex64, "c128": torch.complex128, "c32": torch.complex32, "u16": torch.uint16,
    "u32": torch.uint32, "u64": torch.uint64,
}
NAMES = {v: k for k, v in CODES.items()}
METHODS = set("""contiguous expand expand_as to sum_to_size repeat reshape_as unfold view view_as item new_empty
new_empty_strided new_full new_ones new_zeros bfloat16 bool byte char double float half int long short cfloat""".split())
FILLERS = {"cauchy", "exponential", "geometric", "log_normal", "uniform"}
ON_CLONE = {"zero_", "resize_", "resize_as_"}
REFLECTED = {"__radd__", "__rsub__", "__rmul__", "__rdiv__", "__rmod__", "__rpow__", "__rmatmul__", "__rand__",
             "__ror__", "__rxor__"}
SWAPPED = {"where", "polygamma", "special.polygamma", "einsum", "nn.functional.embedding",
           "nn.functional.embedding_bag"}
INPLACE_FLAG = set("dropout dropout2d dropout3d alpha_dropout feature_alpha_dropout hardsigmoid mish silu take".split())


class Replay:
    """One run of a case: its storages are made once, so that inputs with equal `s` share theirs."""

    def __init__(self, case, device, blob):
        self.case, self.device, self.blob = case, device, blob
        self.storages = {}

    def storage(self, s):
        if s in self.storages:
            return self.storages[s]
        offset, length = self.case["S"][s] if s >= 0 else (0, 0)
        storage = torch.UntypedStorage(length, device=self.device)
        if self.device == "cpu" and length:
            whole = torch.empty(0, dtype=torch.uint8).set_(storage)
            whole.copy_(torch.frombuffer(bytearray(self.blob[offset:offset + length]), dtype=torch.uint8))
        if s >= 0:
            self.storages[s] = storage
        return storage

    def tensor(self, d, grad=True, private=False):
        if private:
            self.storages.pop(d["s"], None)
        shape = d["sh"]
        t = torch.empty(0, dtype=CODES[d["dt"]], device=self.device)
        t.set_(self.storage(d["s"]), d.get("off", 0), shape, d.get("st", contiguous(shape)))
        if private:
            self.storages.pop(d["s"], None)
        if d.get("cj"):
            t = torch._conj(t).detach()
        return t.requires_grad_() if d.get("rg") and grad else t

    def value(self, v, grad=True):
        if v is None or isinstance(v, (bool, int, float)):
            return v
        if isinstance(v, str):
            return self.device if v == "cpu" else v
        if isinstance(v, list):
            return [self.value(x, grad) for x in v]
        (tag, x), = v.items()
        if tag == "$t":
            return self.tensor(x, grad)
        if tag == "$tu":
            return tuple(self.value(y, grad) for y in x)
        if tag == "$f":
            return float(x)
        if tag == "$c":
            return complex(float(x[0]), float(x[1]))
        if tag == "$i":
            return int(x)
        if tag == "$dt":
            return CODES[x]
        if tag in ("$mf", "$lay"):
            return getattr(torch, x)
        if tag == "$sl":
            return slice(*(self.value(y) for y in x))
        if tag == "$e":
            return Ellipsis
        raise ValueError(tag)

    def call(self):
        """The plain call of the case, ready to run."""
        case = self.case
        op, args = case["op"], [self.value(v) for v in case["args"]]
        kw = {k: self.value(v) for k, v in case.get("kw", {}).items()}
        x = args[0] if args else None
        if op == "normal" and case.get("vt") == "number_mean" or op in SWAPPED:
            args[:2] = args[1::-1]
        if op in REFLECTED or op == "__getitem__":
            # Written as an operator: Python tries both operands' methods.
            import operator as o
            table = {"__radd__": o.add, "__rsub__": o.sub, "__rmul__": o.mul, "__rdiv__": o.truediv, "__rmod__": o.mod,
                     "__rpow__": o.pow, "__rmatmul__": o.matmul, "__rand__": o.and_, "__ror__": o.or_,
                     "__rxor__": o.xor}
            return (lambda: x[args[1]]) if op == "__getitem__" else (lambda: table[op](args[1], x))
        if op in ("T", "H", "mT", "mH"):
            return lambda: getattr(x, op)
        if op == "slice":
            dim, start, end, step = (args[1:] + [0, None, None, 1][len(args) - 1:])
            return lambda: x[(slice(None),) * (dim % max(x.dim(), 1)) + (slice(start, end, step),)]
        if op == "linalg.pinv" and case.get("vt") == "singular":
            return lambda: torch.linalg.pinv(args[0] @ args[1].mT, **kw)
        if op in ON_CLONE:
            return lambda: getattr(x.clone(), op)(*args[1:], **kw)
        if op in FILLERS or op == "normal" and case.get("vt") == "in_place":
            return lambda: getattr(x, op + "_")(*args[1:], **kw)
        f = None if op in METHODS else find(op)
        if f is None:
            return lambda: getattr(x, op)(*args[1:], **kw)
        no_tensor = not any(has_tensor(v) for v in [*case["args"], *case.get("kw", {}).values()])
        if self.device == "meta" and no_tensor and "device" not in kw:
            # Nothing else would put the result of a factory on meta.
            return lambda: on_meta(lambda: f(*args, **kw))
        return lambda: f(*args, **kw)

    def method(self):
        args = [self.value(v) for v in self.case["args"]]
        kw = {k: self.value(v) for k, v in self.case.get("kw", {}).items()}
        return lambda: getattr(args[0], self.case["op"])(*args[1:], **kw)

    def in_place(self):
        op = self.case["op"]
        x = self.tensor(first_tensor(self.case["args"][0]), False, private=True)
        args = [self.value(v, False) for v in self.case["args"][1:]]
        kw = {k: self.value(v, False) for k, v in self.case.get("kw", {}).items()}
        if not op.startswith("nn.functional."):
            return x, lambda: getattr(x, op if op.endswith("_") else op + "_")(*args, **kw)
        short = op[len("nn.functional."):]
        if short in INPLACE_FLAG:
            return x, lambda: getattr(torch.nn.functional, short)(x, *args, **{**kw, "inplace": True})
        return x, lambda: getattr(torch.nn.functional, short + "_")(x, *args, **kw)


def on_meta(f):
    with torch.device("meta"):
        return f()


def find(op):
    at = torch
    for part in op.split("."):
        at = getattr(at, part, None)
    return at if callable(at) else None


def contiguous(shape):
    strides, n = [], 1
    for size in reversed(shape):
        strides.insert(0, n)
        n *= max(size, 1)
    return strides


def has_tensor(v):
    return first_tensor(v) is not None


def first_tensor(v):
    if isinstance(v, dict):
        if "$t" in v:
            return v["$t"]
        v = list(v.values())
    if isinstance(v, list):
        return next((t for t in map(first_tensor, v) if t is not None), None)
    return None


class Describe:
    """Results as descriptors; a storage that is no input's gets the next number."""

    def __init__(self, replay):
        self.known = {st._cdata: s for s, st in replay.storages.items()}
        self.hold, self.next = [], len(replay.case["S"])
        self.device = replay.device
        self.elsewhere = False

    def storage(self, t):
        st = t.untyped_storage()
        if st.nbytes() == 0:
            return -1
        if st._cdata not in self.known:
            self.hold.append(st)
            self.known[st._cdata] = self.next
            self.next += 1
        return self.known[st._cdata]

    def tensor(self, t):
        if t.device.type != self.device:
            self.elsewhere = True
        d = {"s": self.storage(t), "dt": NAMES[t.dtype], "sh": list(t.shape)}
        if list(t.stride()) != contiguous(t.shape):
            d["st"] = list(t.stride())
        if t.storage_offset():
            d["off"] = t.storage_offset()
        for flag, on in (("rg", t.requires_grad), ("cj", t.is_conj()), ("ng", t.is_neg())):
            if on:
                d[flag] = 1
        return d

    def value(self, x):
        if isinstance(x, torch.Tensor):
            return {"$t": self.tensor(x)}
        if isinstance(x, (tuple, list)):
            values = [self.value(v) for v in x]
            return {"$tu": values} if isinstance(x, tuple) else values
        if isinstance(x, torch.dtype):
            return {"$dt": NAMES[x]}
        if x is None or isinstance(x, (bool, int, str)):
            return x
        return {"$f": x} if isinstance(x, float) else {"$c": [x.real, x.imag]}


def layout(d):
    """What counts of a tensor's layout: strides of dims longer than one, nothing where there are no elements."""
    if 0 in d["sh"]:
        return None
    st = d.get("st", contiguous(d["sh"]))
    return [(n, s) for n, s in zip(d["sh"], st) if n != 1], d.get("off", 0)


def alike(a, b, inputs, numbers):
    """Whether two encoded results agree in all that a meta tensor has."""
    if isinstance(a, dict) and isinstance(b, dict) and "$t" in a and "$t" in b:
        a, b = a["$t"], b["$t"]
        if a["sh"] != b["sh"] or a["dt"] != b["dt"] or layout(a) != layout(b):
            return False
        if any(a.get(k) != b.get(k) for k in ("rg", "cj", "ng")):
            return False
        s, t = a["s"], b["s"]
        if s < 0 or t < 0:
            return True
        return s == t if s < inputs or t < inputs else numbers.setdefault(s, t) == t
    a, b = (x.get("$tu", x) if isinstance(x, dict) else x for x in (a, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y, inputs, numbers) for x, y in zip(a, b))
    return a == b


def input_count(case):
    seen = [-1]

    def walk(v):
        if isinstance(v, dict):
            if "$t" in v:
                seen.append(v["$t"]["s"])
            for x in v.values():
                walk(x)
        elif isinstance(v, list):
            for x in v:
                walk(x)
    walk([case["args"], case.get("kw", {})])
    return max(seen) + 1


def raised(e):
    return [type(e).__name__, str(e).split("\nException raised")[0][:300]]


def same_error(recorded, got):
    return recorded is not None and recorded[0] == got[0] and got[1].startswith(recorded[1][:300])


def replay_call(case, device, blob, line):
    run = Replay(case, device, blob)
    recorded = case.get("err")
    try:
        result = run.call()()
    except Exception as e:
        got = raised(e)
        if recorded is None or not same_error([recorded.get("got", recorded["type"]), recorded["msg"]], got):
            line["err"] = got
        return
    describe = Describe(run)
    out = describe.value(result)
    if recorded is not None:
        line["err"] = None
    if describe.elsewhere:
        line["dev"] = "cpu"
    if recorded is not None or not alike(out, case["out"], input_count(case), {}):
        line["out"] = out


def replay_forms(case, device, blob, line):
    if case.get("m") or case.get("merr"):
        try:
            Replay(case, device, blob).method()()
            if case.get("merr"):
                line["merr"] = None
        except Exception as e:
            if not same_error(case.get("merr"), raised(e)):
                line["merr"] = raised(e)
    if not (case.get("ip") or case.get("iperr")):
        return
    run = Replay(case, device, blob)
    x, ready = run.in_place()
    describe = Describe(run)
    before = describe.tensor(x)
    try:
        ready()
    except Exception as e:
        if not same_error(case.get("iperr"), raised(e)):
            line["iperr"] = raised(e)
        return
    if case.get("iperr"):
        line["iperr"] = None
    after = describe.tensor(x)
    if {**after, "s": 0} != {**before, "s": 0}:
        line["ip"] = after


def main():
    folder, target = sys.argv[1:3]
    device = "cpu" if "--check" in sys.argv else "meta"
    with open(os.path.join(folder, "blob.bin"), "rb") as f:
        blob = f.read()
    lines = []
    with open(os.path.join(folder, "index.jsonl")) as f:
        for text in f:
            case = json.loads(text)
            if "fam" in case:
                continue
            line = {"id": case["id"]}
            torch.manual_seed(case.get("seed", 0))
            replay_call(case, device, blob, line)
            if "err" not in case:
                replay_forms(case, device, blob, line)
            lines.append(line)
    with open(target, "w") as f:
        for line in lines:
            f.write(json.dumps(line, separators=(",", ":")) + "\n")
    print(len(lines), "cases,", sum(len(line) > 1 for line in lines), "differ from the recorded ones")


main()
