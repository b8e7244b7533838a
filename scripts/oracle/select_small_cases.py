"""Picks a small set of tiny golden cases out of a large one.

    python select_small_cases.py CASE_DIR OUT_DIR

For every op it takes the smallest cases (one with gradients, one of another dtype, one error case) and from every
extra family a spread. The result has the same format (index.jsonl, blob.bin) and stays within a few hundred KB.
"""
import json
import os
import sys

PER_FAMILY = {"promo": 96, "index": 44, "prog": 48, "repr": 20, "rng": 28}
MAX_BYTES = 3000
OPS = """
zeros ones full empty arange linspace eye randn randint zeros_like ones_like full_like empty_like rand_like randn_like
new_zeros new_ones new_full new_empty empty_strided scalar_tensor bernoulli normal multinomial tril_indices uniform
exponential view reshape view_as reshape_as as_strided expand expand_as t transpose permute movedim squeeze unsqueeze
select narrow slice diagonal unbind split split_with_sizes chunk tensor_split unfold flatten unflatten T mT
broadcast_to view_as_real view_as_complex real imag ravel clone contiguous zero_ resize_ resize_as_ to item index_put
index_select gather scatter scatter_add masked_fill masked_select where nonzero cat stack abs neg exp log sqrt tanh
sigmoid sin isnan logical_not clamp add sub mul div floor_divide remainder fmod pow maximum eq ne lt le gt ge
logical_and logical_or bitwise_and atan2 copysign rsub lerp addcmul sum mean prod max min amax argmax all any var
cumsum equal allclose matmul mm bmm addmm dot sort topk softmax fill nn.functional.linear nn.functional.relu
nn.functional.mse_loss __radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ __rmatmul__ __rand__ __ror__ __rxor__
bool byte double float half int long cfloat
""".split()


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
    chosen = []
    for op in OPS:
        chosen += pick_op([c for c in cases if c["op"] == op and "fam" not in c])
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
