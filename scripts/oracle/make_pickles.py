"""Writes test/fixtures/torch/pickles.json: plain values as Python pickles them in every protocol, in base 64."""
import base64
import json
import pickle
import pickletools
from collections import OrderedDict
from pathlib import Path

shared = [1, 2]
loop = [0]
loop.append(loop)
VALUES = {
    "scalars": [None, True, False, 0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**53, 2**70, -(2**70), 0.5, 1e300],
    "floats": [float("inf"), float("-inf"), -0.0, 1e-7],
    "text": ["", "plain", "ü\n\\u0041'\"", "😀", "x" * 300],
    "bytes": [b"", b"\x00\xff\n", bytes(range(256)) * 2, bytearray(b"ab")],
    "containers": {"tuple": (1, (2,), (3, 4), (5, 6, 7), (8, 9, 10, 11), ()), "list": [[], [1]], "dict": {"a": {}}},
    "keys": {1: "one", -5: "minus five", (1, 2): "pair"},
    "ordered": OrderedDict([("b", 1), ("a", 2)]),
    "sets": [{1, 2, 3}, frozenset(["x"]), set()],
    "complex": 1 + 2j,
    "shared": [shared, shared],
    "loop": loop,
    "long": list(range(2500)),
    "proto": {"__proto__": 1, "constructor": 2},
}


def main() -> None:
    out = {
        name: [base64.b64encode(pickle.dumps(value, protocol)).decode() for protocol in range(6)]
        for name, value in VALUES.items()
    }
    out["long"] = out["long"][2:3]
    opcodes = {op.name for row in out.values() for text in row for op, _, _ in pickletools.genops(base64.b64decode(text))}
    print(len(opcodes), "kinds of opcodes")
    path = Path(__file__).parents[2] / "test" / "fixtures" / "torch" / "pickles.json"
    path.write_text(json.dumps(out, indent=1) + "\n")


main()
