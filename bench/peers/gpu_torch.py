"""PyTorch on a CUDA device: one JSON line in, one JSON line out.

Requests: {"setup": code, "statement": code} prepares, {"n": calls} times them by events.
"""

import json
import sys

import torch

begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
names = {}
call = None


def reply(**values):
    print(json.dumps(values), flush=True)


reply(versions=f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
for line in sys.stdin:
    request = json.loads(line)
    try:
        if "setup" in request:
            names = {}
            torch.cuda.empty_cache()
            names = {"torch": torch}
            exec(request["setup"], names)
            exec(f"def call(n):\n  for _ in range(n): {request['statement']}", names)
            names["call"](1)
            torch.cuda.synchronize()
            reply(ready=True)
            continue
        begin.record()
        names["call"](request["n"])
        end.record()
        torch.cuda.synchronize()
        reply(seconds=begin.elapsed_time(end) / 1000)
    except Exception as error:
        reply(error=str(error).split("\n")[0])
