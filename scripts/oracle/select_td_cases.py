"""Picks a small set of TensorDict cases out of a large one.

    python select_td_cases.py CASE_DIR OUT_DIR

Of every kind of call, method and class of the receiver it takes the smallest case, and one that raises where there is
one. The result has the same format (index.jsonl, blob.bin).
"""
import json
import os
import sys

MAX_BYTES = 9000


def weight(case):
    return sum({tuple(s): s[1] for s in case["S"]}.values()) + len(json.dumps(case))


def receiver(value):
    """The class of the first collection in an argument."""
    if isinstance(value, dict):
        if "$td" in value:
            return value["$td"]["c"][:1] if value["$td"]["c"].startswith("@") else value["$td"]["c"]
        value = list(value.values())
    if isinstance(value, list):
        return next((name for name in map(receiver, value) if name), None)
    return None


def choose(cases):
    best = {}
    for case in cases:
        key = (case["k"], case["m"], "err" in case, receiver(case["a"]), tuple(sorted(case.get("kw", {}))))
        if key not in best or weight(case) < weight(best[key]):
            best[key] = case
    return [c for c in cases if best[(c["k"], c["m"], "err" in c, receiver(c["a"]), tuple(sorted(c.get("kw", {}))))] is c]


def write(chosen, blob, out):
    os.makedirs(out, exist_ok=True)
    made, places = bytearray(), {}
    with open(os.path.join(out, "index.jsonl"), "w") as f:
        for case in chosen:
            table = []
            for offset, length in case["S"]:
                content = blob[offset : offset + length]
                if content not in places:
                    made.extend(b"\0" * (-len(made) % 16))
                    places[content] = len(made)
                    made.extend(content)
                table.append([places[content], length])
            f.write(json.dumps({**case, "S": table}, separators=(",", ":")) + "\n")
    with open(os.path.join(out, "blob.bin"), "wb") as f:
        f.write(made)


def main(source, out):
    with open(os.path.join(source, "index.jsonl")) as f:
        cases = [json.loads(line) for line in f]
    with open(os.path.join(source, "blob.bin"), "rb") as f:
        blob = f.read()
    chosen = [c for c in choose(cases) if weight(c) <= MAX_BYTES]
    write(chosen, blob, out)
    print(f"{len(chosen)} of {len(cases)} cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
