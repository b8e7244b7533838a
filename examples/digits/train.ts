// The network and its training; scripts/oracle/digits_losses.py is the same program in Python.
import { manualSeed, nn, optim } from "zensor";
import { type Digits, shuffled } from "./data.ts";

export const BATCH = 32;

export interface Trained {
  model: nn.Sequential;
  /** Of each step. */
  losses: number[];
}

/** The network, with new values. */
export function network(): nn.Sequential {
  return new nn.Sequential(
    new nn.Conv2d(1, 16, 3, { padding: 1 }),
    new nn.ReLU(),
    new nn.Conv2d(16, 32, 3, { padding: 1 }),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Flatten(),
    new nn.Dropout(0.25),
    new nn.Linear(32 * 4 * 4, 64),
    new nn.ReLU(),
    new nn.Linear(64, 10),
  );
}

/** Trains from a seed; `step` is told each loss. */
export function trained(data: Digits, epochs: number, step: (loss: number) => void = () => undefined): Trained {
  manualSeed(0);
  const model = network();
  const lossOf = new nn.CrossEntropyLoss();
  // With the usual eps Adam makes whole steps of gradients that are nothing but rounding.
  const optimizer = new optim.AdamW(model.parameters(), { lr: 2e-3, eps: 1e-5 });
  const totalSteps = epochs * Math.floor(data.labels.numel() / BATCH);
  const schedule = new optim.lrScheduler.OneCycleLR(optimizer, 4e-3, { totalSteps });
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const { images, labels } of shuffled(data, BATCH)) {
      optimizer.zeroGrad();
      const loss = lossOf(model(images), labels);
      loss.backward();
      optimizer.step();
      schedule.step();
      losses.push(loss.item() as number);
      step(losses.at(-1) as number);
    }
  }
  return { model, losses };
}
