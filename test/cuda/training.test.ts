// Models that are trained on a device, emulated: line by line what the CPU gives.
import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

const TRAIN = `
  const { nn, noGrad, tensor, TensorDict } = z;
  /** Losses of some steps, and the parameters behind them. */
  function train(place, move) {
    z.manualSeed(0);
    const [x, y] = [z.randn(8, 3), z.randn(8, 2)].map((t) => t.to(place));
    const model = move(new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.Linear(4, 2)));
    const losses = [];
    for (let step = 0; step < 5; step++) {
      model.zeroGrad();
      const loss = model(x).sub(y).pow(2).mean();
      loss.backward();
      noGrad(() => { for (const p of model.parameters()) p.sub_(p.grad.mul(0.1)); });
      losses.push(loss.item());
    }
    const places = [...model.parameters()].map((p) => String(p.device) + String(p.grad.device));
    return [losses, [...model.parameters()].map((p) => p.detach().tolist()).flat(3), new Set(places).size, places[0]];
  }`;

type Trained = [losses: number[], weights: number[], places: number, place: string];

function near(a: readonly number[], b: readonly number[]): void {
  expect(a.length).toBe(b.length);
  for (const [i, x] of a.entries()) expect(Math.abs(x - (b[i] as number))).toBeLessThan(1e-5);
}

describe.if(emulated)("training", () => {
  test.each(["", "later=1"])(
    "on a device gives what it gives on the CPU (%s)",
    (settings) => {
      const code = `${TRAIN}
      const s = new z.cuda.Stream();
      console.log(JSON.stringify([
        train("cpu", (m) => m), train("cuda", (m) => m.cuda()), train("cuda:1", (m) => m.to("cuda:1")),
        z.cuda.stream(s, () => train("cuda", (m) => m.to(0))),
      ]))`;
      const made = evaluate(code, { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: `devices=2,${settings}` }) as Trained[];
      const [cpu, ...rest] = made as [Trained, ...Trained[]];
      const places = ["cuda:0cuda:0", "cuda:1cuda:1", "cuda:0cuda:0"];
      for (const [i, [losses, weights, count, place]] of rest.entries()) {
        near(losses, cpu[0]);
        near(weights, cpu[1]);
        expect([count, place]).toEqual([1, places[i] as string]);
      }
    },
    60_000,
  );

  test.each(["", "later=1"])(
    "a network of images, with an optimiser (%s)",
    (settings) => {
      const code = `
      function train(place) {
        z.manualSeed(0);
        const [x, y] = [z.randn(6, 3, 8, 8), z.tensor([0, 1, 2, 3, 0, 1]).long()].map((t) => t.to(place));
        const { nn } = z;
        const model = new nn.Sequential(
          new nn.Conv2d(3, 8, 3, { padding: 1 }), new nn.BatchNorm2d(8), new nn.ReLU(), new nn.MaxPool2d(2),
          new nn.Conv2d(8, 8, 3, { groups: 8, padding: 1, paddingMode: "reflect" }), new nn.GroupNorm(2, 8),
          new nn.GELU(),
          new nn.Upsample({ scaleFactor: 2, mode: "bilinear" }), new nn.Conv2d(8, 4, 1), new nn.AdaptiveAvgPool2d(2),
          new nn.Flatten(), new nn.LayerNorm(16), new nn.Linear(16, 4),
        ).to(place);
        const optimiser = new z.optim.AdamW(model.parameters(), { lr: 0.01 });
        const losses = [];
        for (let step = 0; step < 4; step++) {
          optimiser.zeroGrad();
          const loss = z.F.crossEntropy(model(x), y);
          loss.backward();
          optimiser.step();
          losses.push(loss.item());
        }
        return losses;
      }
      console.log(JSON.stringify([train("cpu"), train("cuda")]))`;
      const [cpu, cuda] = evaluate(code, { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: settings }) as number[][];
      for (const [i, loss] of (cuda as number[]).entries()) expect(loss).toBeCloseTo((cpu as number[])[i] as number, 4);
      expect((cuda as number[])[3]).toBeLessThan((cuda as number[])[0] as number);
    },
    60_000,
  );

  test("parameters stay the objects that they were when their module moves between devices", () => {
    const code = `
      const m = new z.nn.Linear(2, 1);
      const p = m.weight;
      m(z.ones(1, 2)).sum().backward();
      m.cuda();
      const seen = [p === m.weight, String(p.device), String(p.grad.device)];
      m(z.ones(1, 2).cuda()).sum().backward();
      m.cpu();
      m(z.ones(1, 2)).sum().backward();
      console.log(JSON.stringify([...seen, p === m.weight, p.grad.tolist(), m.to("meta").weight === p]))`;
    const made = evaluate(code, { ZENSOR_LIBCUDA: driver });
    expect(made).toEqual([true, "cuda:0", "cuda:0", true, [[3, 3]], false]);
  });
});
