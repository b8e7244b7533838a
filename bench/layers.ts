// Layers of models forward and backward: normalization, attention, recurrent networks.
import { nn, randn, type Tensor } from "zensor";
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
