// The functions of the cases, from their source in Python.
import * as z from "../../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: tensors and collections alike
type Any = any;

export const LAMBDAS: Record<string, (...args: Any[]) => unknown> = {
  "lambda x: x + 1": (x) => x.add(1),
  "lambda x: x + 1.0": (x) => x.add(z.float(1)),
  "lambda x: x + 2": (x) => x.add(2),
  "lambda x: x + 3": (x) => x.add(3),
  "lambda x: x * 0 + 1": (x) => x.mul(0).add(1),
  "lambda x: x * 0 + 2": (x) => x.mul(0).add(2),
  "lambda x: x.float()": (x) => x.float(),
  "lambda x: None": () => null,
  "lambda x, y: x + y": (x, y) => x.add(y),
  "lambda x: x.zero_()": (x) => x.zero_(),
  "lambda x: x.zero_() + 1": (x) => x.zero_().add(1),
  "lambda x: x": (x) => x,
  "lambda cls: issubclass(cls, torch.Tensor)": (cls) => cls === z.Tensor || cls.prototype instanceof z.Tensor,
  "lambda cls: True": () => true,
  "lambda x: x.data.mul_(0).add_(1)": (x) => x.data.mul_(0).add_(1),
  "lambda x: x.data * 0": (x) => x.data.mul(0),
  "lambda x: torch.stack([x] * 3, -1)": (x) => z.stack([x, x, x], -1),
  "lambda *v: torch.stack(list(v))": (...v) => z.stack(v),
  "lambda x: x.fill_(1.0)": (x) => x.fill_(z.float(1)),
  "lambda x: x.requires_grad_(False)": (x) => x.requiresGrad_(false),
};
