"""The tokens and vectors of examples/sentences.ts as Python's tokenizers and PyTorch's own encoder compute them.

    python sentences_embeddings.py FOLDER OUT.json

FOLDER holds the model's files: ~/.cache/zensor/all-minilm-l6-v2 once the example has run.
"""
import json
import os
import sys
import time

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional as F

TEXTS = [
    "A boy paints a fence.",
    "Two children are lost in a cave, and their candle goes out!",
    "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m \u4e2d\u6587 \U0001f600 don't e-mail 3.14 supercalifragilisticexpialidocious",
    "tabs\tand\nlines,  and [SEP] inside",
    "",
    "the old lady looked over her spectacles about the room " * 40,
]
folder, out = sys.argv[1:]
with open(os.path.join(folder, "config.json")) as f:
    config = json.load(f)
state = load_file(os.path.join(folder, "model.safetensors"))
tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)

width, heads = config["hidden_size"], config["num_attention_heads"]
layer = nn.TransformerEncoderLayer(
    width, heads, config["intermediate_size"], 0, "gelu", config["layer_norm_eps"], batch_first=True
)
encoder = nn.TransformerEncoder(layer, config["num_hidden_layers"], enable_nested_tensor=False)
NAMES = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}
mapped = {}
for i in range(config["num_hidden_layers"]):
    for kind in ("weight", "bias"):
        there = f"encoder.layer.{i}."
        parts = [state[f"{there}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
        mapped[f"layers.{i}.self_attn.in_proj_{kind}"] = torch.cat(parts)
        for ours, theirs in NAMES.items():
            mapped[f"layers.{i}.{ours}.{kind}"] = state[f"{there}{theirs}.{kind}"]
encoder.load_state_dict(mapped)
# In training mode without dropout, so that it is not the fused kernel that computes.
encoder.train()


def embed(ids):
    x = state["embeddings.word_embeddings.weight"][ids]
    x = x + state["embeddings.token_type_embeddings.weight"][0]
    x = x + state["embeddings.position_embeddings.weight"][: len(ids)]
    norm = "embeddings.LayerNorm."
    x = F.layer_norm(x, (width,), state[norm + "weight"], state[norm + "bias"], config["layer_norm_eps"])
    return F.normalize(encoder(x.unsqueeze(0)).mean(1), dim=1)[0]


rows = []
with torch.no_grad():
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        vector = [float(f"{x:.8g}") for x in embed(ids).tolist()]
        rows.append({"text": text, "ids": ids, "vector": vector})
    start = time.perf_counter()
    for _ in range(20):
        embed(rows[1]["ids"])
    print(f"a sentence: {50 * (time.perf_counter() - start):.2f} ms")
names = {name: list(t.shape) for name, t in sorted(state.items())}
with open(out, "w") as f:
    f.write('{"names": ' + json.dumps(names) + ',\n"rows": [\n')
    f.write(",\n".join(json.dumps(row) for row in rows) + "\n]}\n")
