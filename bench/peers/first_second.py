"""The mean time of the first calls of each statement: cases and their number are the arguments."""
import json
import sys
import time

import torch
from tensordict import TensorDict, lazy_stack

BODY = """
def go(count):
    done, spent, start = 0, 0, time.thread_time()
    while done < count if count > 0 else spent < 1 / 18:
        for _ in range(50):
            {statement}
        done += 50
        spent = time.thread_time() - start
    return (time.thread_time() - start) / done
"""

torch.set_num_threads(1)
cases, count = json.loads(sys.argv[1]), int(sys.argv[2])
times = {}
for name, setup, statement in cases:
    space = {"torch": torch, "TensorDict": TensorDict, "lazy_stack": lazy_stack, "time": time}
    exec(setup, space)
    exec(BODY.format(statement=statement), space)
    times[name] = space["go"](count)
print(json.dumps(times))
