"""Picks a small set of tiny golden cases out of a large one.

    python select_small_cases.py CASE_DIR OUT_DIR

For every operator of generated/ops.json it takes the smallest cases (one with gradients, one of another dtype, one error case) and from every
extra family a spread. The result has the same format (index.jsonl, blob.bin) and stays within a few hundred KB.
"""
import json
import os
import sys

PER_FAMILY = {"promo": 96, "index": 44, "prog": 48, "repr": 20, "rng": 28}
MAX_BYTES = 3000
OPERATORS = os.path.join(os.path.dirname(__file__), "../../generated/ops.json")


def ours():
    """torch's names of the public operators, those of conversions and of Python's operators included."""
    names = set("item double float half int long bool byte chalf cfloat".split())
    with open(OPERATORS) as f:
        for op in json.load(f):
            if not op["internal"]:
                space = next((s for s in ("nn.functional.", "linalg.") if op["key"].startswith(s)), "")
                names.add(space + op["key"][len(space):].split(".")[0].rstrip("_"))
    return names


def family(case):
    return case.get("fam") or ("error" if "err" in case else "opinfo")


def weight(case):
    return sum({tuple(s): s[1] for s in case["S"]}.values()) + len(json.dumps(case))


def pick_op(cases):
    """One case with gradients (or the smallest), one of another dtype, one error case."""
    plain = sorted((c for c in cases if family(c) == "opinfo"), key=weight)
    plain = [c for c in plain if any(b for _, b in c["S"])] or plain
    errors = sorted((c for c in cases if family(c) == "error"), key=weight)
    first = next((c for c in plain if "g" in c), plain[0] if plain else None)
    picked = [first] if first else []
    other = next((c for c in plain if first and c["dt"] != first["dt"]), None)
    picked += [other] if other else []
    return [c for c in picked + errors[:1] if weight(c) <= MAX_BYTES * (1 if family(c) == "opinfo" else 2)]


def spread(cases, count):
    small = [c for c in cases if weight(c) <= MAX_BYTES]
    if len(small) <= count:
        return small
    return [small[i * len(small) // count] for i in range(count)]


def choose(cases):
    chosen, names = [], ours()
    plain = [c for c in cases if "fam" not in c]
    for op in dict.fromkeys(c["op"] for c in plain):
        if op.rstrip("_") in names or op.startswith("__"):
            chosen += pick_op([c for c in plain if c["op"] == op])
    for fam, count in PER_FAMILY.items():
        chosen += spread([c for c in cases if c.get("fam") == fam and c["op"] != "nn_init"], count)
    return chosen


def write(cases, blob, out):
    os.makedirs(out, exist_ok=True)
    placed, data = {}, bytearray()
    with open(os.path.join(out, "index.jsonl"), "w") as index:
        for case in cases:
            table = []
            for offset, length in case["S"]:
                raw = blob[offset:offset + length]
                if raw not in placed:
                    data += b"\0" * (-len(data) % 16)
                    placed[raw] = len(data)
                    data += raw
                table.append([placed[raw], length])
            index.write(json.dumps({**case, "S": table}, separators=(",", ":")) + "\n")
    with open(os.path.join(out, "blob.bin"), "wb") as f:
        f.write(data)
    return len(data)


def main():
    source, out = sys.argv[1:3]
    with open(os.path.join(source, "index.jsonl")) as f:
        cases = [json.loads(line) for line in f]
    with open(os.path.join(source, "blob.bin"), "rb") as f:
        blob = f.read()
    chosen = choose(cases)
    print(len(chosen), "cases,", write(chosen, blob, out), "blob bytes")


main()
