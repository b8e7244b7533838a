// The training; scripts/oracle/gpt_losses.py is the same program in Python.
import { nn, optim, scope, type Tensor } from "zensor";
import { pieces } from "./data.ts";
import { type Config, type GPT, newborn } from "./model.ts";

export const BATCH = 16;

/** A small one; GPT-2's smallest has 50257 tokens, a context of 1024, 12 layers, 12 heads and a width of 768. */
export const small = (vocabulary: number): Config => ({ vocabulary, context: 64, layers: 4, heads: 4, width: 128 });

/** Trains from a seed; `step` is told each loss. */
export function trained(codes: Tensor, config: Config, steps: number, step: (loss: number) => void): GPT {
  const model = newborn(config, 0);
  const lossOf = new nn.CrossEntropyLoss();
  // Matrices are drawn to zero; biases and the weights of norms are not.
  const matrices = model.parameters().filter((p) => p.dim() > 1);
  const others = model.parameters().filter((p) => p.dim() < 2);
  const groups = [
    { params: matrices, weightDecay: 0.1 },
    { params: others, weightDecay: 0 },
  ];
  const optimizer = new optim.AdamW(groups, { lr: 3e-3, betas: [0.9, 0.99] });
  const schedule = new optim.lrScheduler.OneCycleLR(optimizer, 3e-3, { totalSteps: steps, pctStart: 0.1 });
  for (let i = 0; i < steps; i++) {
    const loss = scope(() => {
      const { input, target } = pieces(codes, BATCH, config.context);
      optimizer.zeroGrad();
      const loss = lossOf(model(input).flatten(0, 1), target.flatten());
      loss.backward();
      nn.utils.clipGradNorm_(model.parameters(), 1);
      optimizer.step();
      schedule.step();
      return loss.item() as number;
    });
    step(loss);
  }
  return model;
}
