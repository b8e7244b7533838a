// Handwritten digits: a convolutional network learns 1,437 images of 8 x 8 pixels and is asked for 360 others.
//
//   bun examples/digits.ts [epochs]
//
// Prints a progress bar, a curve of the losses and the accuracy; writes digits-loss.svg and digits-wrong.svg.
import cliProgress from "cli-progress";
import { noGrad } from "zensor";
import { digits } from "./digits/data.ts";
import { curve, lossPicture, wrongPicture } from "./digits/pictures.ts";
import { BATCH, trained } from "./digits/train.ts";

const epochs = Number(process.argv[2] ?? 15);
const { train, test } = await digits();

const bar = new cliProgress.SingleBar({
  format: "training {bar} {percentage} % | loss {loss} | {rate} images/s",
  clearOnComplete: true,
});
bar.start(epochs * Math.floor(train.labels.numel() / BATCH), 0, { loss: "-", rate: "-" });
const started = performance.now();
let steps = 0;
const { model, losses } = trained(train, epochs, (loss) => {
  steps++;
  const rate = (steps * BATCH * 1000) / (performance.now() - started);
  bar.increment(1, { loss: loss.toFixed(3), rate: rate.toFixed(0) });
});
bar.stop();
const seconds = (performance.now() - started) / 1000;

model.eval();
const guesses = noGrad(() => model(test.images).argmax(1));
const right = guesses.eq(test.labels).sum().item() as number;
const weights = model.parameters().reduce((n, p) => n + p.numel(), 0);
console.log(curve(losses));
console.log(`${epochs} epochs in ${seconds.toFixed(1)} s, ${weights} weights`);
await Bun.write("digits-loss.svg", lossPicture(losses));
await Bun.write("digits-wrong.svg", wrongPicture(test, guesses));
console.log(`pictures: digits-loss.svg, digits-wrong.svg (${test.labels.numel() - right} wrong answers)`);
console.log(`test accuracy: ${((100 * right) / test.labels.numel()).toFixed(1)} %`);
