// The printed form of modules and parameters, as torch prints them.
import { expect, test } from "bun:test";
import { empty, nn, tensor, zeros } from "../../src/index.ts";
import { captured } from "../seeds/row.ts";

const printed: [() => unknown, string][] = [
  [() => new nn.Linear(3, 4, false), "Linear(in_features=3, out_features=4, bias=False)"],
  [() => new nn.LayerNorm([2, 3]), "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=True)"],
  [
    () => new nn.LayerNorm(4, { elementwiseAffine: false }),
    "LayerNorm((4,), eps=1e-05, elementwise_affine=False, bias=False)",
  ],
  [() => new nn.Softmax(1), "Softmax(dim=1)"],
  [() => new nn.Softmax(), "Softmax(dim=None)"],
  [() => new nn.Tanh(), "Tanh()"],
  [() => new nn.MSELoss(), "MSELoss()"],
  [() => new nn.L1Loss(), "L1Loss()"],
  [() => new nn.SmoothL1Loss({ beta: 2 }), "SmoothL1Loss()"],
  [() => new nn.HuberLoss(), "HuberLoss()"],
  [() => new nn.Identity(), "Identity()"],
  [() => new nn.Dropout(), "Dropout(p=0.5, inplace=False)"],
  [() => new nn.ReLU(true), "ReLU(inplace=True)"],
  [
    () => new nn.Sequential(new nn.Linear(3, 4), new nn.ReLU()),
    "Sequential(\n  (0): Linear(in_features=3, out_features=4, bias=True)\n  (1): ReLU()\n)",
  ],
  [
    () => new nn.ModuleList([new nn.Linear(2, 2), new nn.Linear(2, 2), new nn.ReLU({ inplace: true })]),
    "ModuleList(\n  (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)\n  (2): ReLU(inplace=True)\n)",
  ],
  [
    () => new nn.ModuleDict({ a: new nn.Linear(2, 2), b: new nn.Dropout(0.25) }),
    "ModuleDict(\n  (a): Linear(in_features=2, out_features=2, bias=True)\n  (b): Dropout(p=0.25, inplace=False)\n)",
  ],
  [() => new nn.ModuleList(), "ModuleList()"],
  [() => new nn.Parameter(zeros([])), "Parameter containing:\ntensor(0., requires_grad=True)"],
  [() => new nn.Parameter(empty(0)), "Parameter containing:\ntensor([], requires_grad=True)"],
  [() => new nn.Parameter(tensor([1n, 2n]), false), "Parameter containing:\ntensor([1, 2])"],
];

for (const [make, text] of printed) {
  test(text.split("\n", 2).join(" "), async () => {
    const value = make();
    expect(String(value)).toBe(text);
    expect(`${value}`).toBe(text);
    expect(Bun.inspect(value)).toBe(text);
    expect(await captured(() => console.log(value))).toBe(text);
  });
}

const norm = (n: number) => `(norm${n}): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)`;
const drop = (name: string) => `(${name}): Dropout(p=0.1, inplace=False)`;
const attention = (name: string) => `(${name}): MultiheadAttention(
          (out_proj): NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)
        )`;

test("a transformer", () => {
  const text = String(new nn.Transformer(8, 2, 2, 1, 16));
  const lines = (list: string[]) => list.map((line) => `        ${line}`).join("\n");
  const feedForward = [
    "(linear1): Linear(in_features=8, out_features=16, bias=True)",
    drop("dropout"),
    "(linear2): Linear(in_features=16, out_features=8, bias=True)",
  ];
  expect(text).toBe(`Transformer(
  (encoder): TransformerEncoder(
    (layers): ModuleList(
      (0-1): 2 x TransformerEncoderLayer(
${lines([attention("self_attn"), ...feedForward, norm(1), norm(2), drop("dropout1"), drop("dropout2")])}
      )
    )
    (norm): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
  )
  (decoder): TransformerDecoder(
    (layers): ModuleList(
      (0): TransformerDecoderLayer(
${lines([
  attention("self_attn"),
  attention("multihead_attn"),
  ...feedForward,
  norm(1),
  norm(2),
  norm(3),
  drop("dropout1"),
  drop("dropout2"),
  drop("dropout3"),
])}
      )
    )
    (norm): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
  )
)`);
});
