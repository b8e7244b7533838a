// Layers of models forward and backward: normalization, activations, losses, tables, attention, recurrent networks.
import { nn, randint, randn, scope, type Tensor } from "zensor";
import { type Case, loop } from "./case.ts";

const F = nn.functional;

/** A module on an input of a shape, with the gradient of its result; `python` makes it there. */
function layer(name: string, shape: number[], make: () => (x: Tensor) => Tensor, python: string, call = "m(x)"): Case {
  return {
    name,
    ours() {
      const run = make();
      const x = randn(shape).requiresGrad_();
      const g = randn([...run(x).shape]);
      return loop(() => {
        run(x).backward(g);
        x.grad = null;
      });
    },
    python: [
      `m = ${python}
x = torch.randn(${shape.join(", ")}).requires_grad_()
g = torch.randn(${call}.shape)
def go():
    ${call}.backward(g)
    x.grad = None`,
      "go()",
    ],
  };
}

function attention(name: string, causal: boolean, backward: boolean): Case {
  const sizes = [8, 8, 1024, 64];
  const make = () => randn(sizes).requiresGrad_(backward);
  const end = backward ? ".backward(g)\n    q.grad = k.grad = v.grad = None" : "";
  return {
    name,
    rounds: 5,
    ours() {
      const [q, k, v, g] = [make(), make(), make(), randn(sizes)];
      return loop(() => {
        const r = F.scaledDotProductAttention(q, k, v, { isCausal: causal });
        if (!backward) return;
        r.backward(g);
        for (const t of [q, k, v]) t.grad = null;
      });
    },
    python: [
      `q, k, v = (torch.randn(8, 8, 1024, 64, requires_grad=${backward ? "True" : "False"}) for _ in range(3))
g = torch.randn(8, 8, 1024, 64)
def go():
    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=${causal ? "True" : "False"})${end}`,
      "go()",
    ],
  };
}

/** The loss of scores for 32,000 classes, as a language model has it. */
function crossEntropy(backward: boolean): Case {
  const end = backward ? ".backward()\n    x.grad = None" : "";
  return {
    name: `cross entropy 4096x32000${backward ? ", backward" : ""}`,
    rounds: 7,
    ours() {
      const x = randn(4096, 32000).requiresGrad_(backward);
      const y = randint(32000, [4096]);
      return loop(() => {
        const loss = F.crossEntropy(x, y);
        if (!backward) return;
        loss.backward();
        x.grad = null;
      });
    },
    python: [
      `x = torch.randn(4096, 32000, requires_grad=${backward ? "True" : "False"})
y = torch.randint(32000, (4096,))
def go():
    torch.nn.functional.cross_entropy(x, y)${end}`,
      "go()",
    ],
  };
}

/** Rows of a table for 4,096 tokens. */
function embedding(backward: boolean, scoped = false): Case {
  const around = scoped ? scope : (body: () => void) => body();
  const end = backward ? ".backward(g)\n    w.grad = None" : "";
  return {
    name: `embedding 4096 of 32000x256${backward ? ", backward" : ""}${scoped ? ", in a scope" : ""}`,
    ours() {
      const w = randn(32000, 256).requiresGrad_(backward);
      const x = randint(32000, [4096]);
      const g = randn(4096, 256);
      return loop(() =>
        around(() => {
          const r = F.embedding(x, w);
          if (!backward) return;
          r.backward(g);
          w.grad = null;
        }),
      );
    },
    python: [
      `w = torch.randn(32000, 256, requires_grad=${backward ? "True" : "False"})
x, g = torch.randint(32000, (4096,)), torch.randn(4096, 256)
def go():
    torch.nn.functional.embedding(x, w)${end}`,
      "go()",
    ],
  };
}

/** An activation of a million elements with its gradient. */
function activation(name: string, run: (x: Tensor) => Tensor, python: string): Case {
  return layer(`${name} 1e6, backward`, [1000, 1000], () => run, python);
}

export const cases: readonly Case[] = [
  layer("LayerNorm 4096x1024, backward", [4096, 1024], () => new nn.LayerNorm(1024), "torch.nn.LayerNorm(1024)"),
  layer("RMSNorm 4096x1024, backward", [4096, 1024], () => new nn.RMSNorm(1024), "torch.nn.RMSNorm(1024)"),
  layer(
    "BatchNorm2d 32x64x56x56, backward",
    [32, 64, 56, 56],
    () => new nn.BatchNorm2d(64),
    "torch.nn.BatchNorm2d(64)",
  ),
  layer(
    "GroupNorm 32x64x56x56, backward",
    [32, 64, 56, 56],
    () => new nn.GroupNorm(8, 64),
    "torch.nn.GroupNorm(8, 64)",
  ),
  activation("gelu", (x) => F.gelu(x), "torch.nn.GELU()"),
  activation("gelu, tanh", (x) => F.gelu(x, { approximate: "tanh" }), 'torch.nn.GELU("tanh")'),
  activation("glu", (x) => F.glu(x), "torch.nn.GLU()"),
  crossEntropy(false),
  crossEntropy(true),
  embedding(false),
  embedding(false, true),
  embedding(true),
  embedding(true, true),
  attention("attention 8x8x1024x64", false, false),
  attention("attention 8x8x1024x64, backward", false, true),
  attention("attention 8x8x1024x64, causal, backward", true, true),
  layer(
    "LSTM 100x32x128, backward",
    [100, 32, 128],
    () => {
      const lstm = new nn.LSTM(128, 128);
      return (x) => lstm(x)[0];
    },
    "torch.nn.LSTM(128, 128)",
    "m(x)[0]",
  ),
  layer(
    "GRU 100x32x128, backward",
    [100, 32, 128],
    () => {
      const gru = new nn.GRU(128, 128);
      return (x) => gru(x)[0];
    },
    "torch.nn.GRU(128, 128)",
    "m(x)[0]",
  ),
];
