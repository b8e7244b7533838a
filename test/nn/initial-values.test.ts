// Initial values of modules, against digests of what torch draws from the same seed.
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { empty, manualSeed, nn, rand, type Tensor } from "../../src/index.ts";

function digest(tensors: Iterable<Tensor>): string {
  const hash = createHash("sha256");
  for (const t of tensors) {
    const array = t.detach().typedArray();
    hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  }
  return hash.digest("hex");
}

// Module, entries of its state, digest of the state in its order, and the next random number.
const MODULES: [string, () => nn.Module, number, string, number][] = [
  [
    "Transformer(16, 2, 2, 2, 32)",
    () => new nn.Transformer(16, 2, 2, 2, 32),
    64,
    "4d7dd83dd50ae031ee157e2fff943e7d734958a183421ea6baab90e54c5ebce6",
    0.6627528667449951,
  ],
  [
    "TransformerEncoderLayer(16, 4, 24, bias=False)",
    () => new nn.TransformerEncoderLayer(16, 4, 24, { bias: false }),
    6,
    "e933d894d3b677853154a97d7ea8f016a0bb3a6cf2331d3db66dd978ef524ae8",
    0.5216172337532043,
  ],
  [
    "TransformerDecoderLayer(16, 4, 24)",
    () => new nn.TransformerDecoderLayer(16, 4, 24),
    18,
    "d554c0d2be259c38f39780ce6d401c93e588fce706f8d7aba38ce2e13bf3206c",
    0.26686519384384155,
  ],
  [
    "MultiheadAttention(12, 3, kdim=5, vdim=7, add_bias_kv=True)",
    () => new nn.MultiheadAttention(12, 3, { kdim: 5, vdim: 7, addBiasKv: true }),
    8,
    "9ad89f7a122806047313ac5df8bb3512bfc016f75b70c53d431a1288a238fc3c",
    0.48660850524902344,
  ],
  [
    "Linear(33, 65)",
    () => new nn.Linear(33, 65),
    2,
    "78036de966266265761dbc79df8f977a9888714a4d0d9037de968cd878e7af60",
    0.6762446165084839,
  ],
  [
    "Linear(3, 2, dtype=torch.float64)",
    () => new nn.Linear(3, 2, { dtype: "float64" }),
    2,
    "1f015e4fcd0f93ac725216ae714352292ab7e8e63a711a7d7690e90f83905d4c",
    0.720380425453186,
  ],
  [
    "Linear(8, 8, dtype=torch.float16)",
    () => new nn.Linear(8, 8, { dtype: "float16" }),
    2,
    "6570c83e4689a157f6abc54703484f3f0ad41525084963fed4383a51c164f021",
    0.7737615704536438,
  ],
];

for (const [name, make, entries, wanted, next] of MODULES) {
  test(name, () => {
    manualSeed(7);
    const state = Object.values(make().stateDict());
    expect(state.length).toBe(entries);
    expect(digest(state)).toBe(wanted);
    expect(rand(1).item()).toBe(next);
  });
}

const FILLS: [string, (t: Tensor) => Tensor, string][] = [
  ["uniform_", (t) => nn.init.uniform_(t), "4f71a4b45c117b1a"],
  ["normal_", (t) => nn.init.normal_(t, 1, 2), "6568207d57f52f1d"],
  ["xavierUniform_", (t) => nn.init.xavierUniform_(t, 2), "ed27568dc1ff557e"],
  ["xavierNormal_", (t) => nn.init.xavierNormal_(t), "b55da93a7311e5ea"],
  ["kaimingUniform_", (t) => nn.init.kaimingUniform_(t), "5b077fcbe39182ee"],
  ["kaimingNormal_", (t) => nn.init.kaimingNormal_(t, { mode: "fan_out", nonlinearity: "relu" }), "4138c01adaab0a1b"],
  ["truncNormal_", (t) => nn.init.truncNormal_(t), "f1dbd2e1752d094d"],
  ["eye_", (t) => nn.init.eye_(t), "ad5b651d23cb5220"],
  ["constant_", (t) => nn.init.constant_(t, 3), "0ca421fb9566c694"],
];

for (const [name, fill, wanted] of FILLS) {
  test(`init.${name}`, () => {
    manualSeed(3);
    const t = empty(4, 6);
    expect(fill(t)).toBe(t);
    expect(digest([t]).slice(0, 16)).toBe(wanted);
  });
}

test("truncNormal_ between bounds where little of the distribution lies", () => {
  manualSeed(7);
  const tail = nn.init.truncNormal_(empty(3, 5), 0, 1, 3, 4);
  const first = (tail.flatten().tolist() as number[]).slice(0, 3).map((x) => x.toFixed(5));
  expect(first).toEqual(["3.14697", "3.29225", "3.65921"]);
  expect(nn.init.truncNormal_(empty(4), 0.5, 0.5, 0.5, 0.5).tolist()).toEqual([0.5, 0.5, 0.5, 0.5]);
  expect(nn.init.truncNormal_(empty(4, { device: "meta" })).device.type).toBe("meta");
});
