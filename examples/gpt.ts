// GPT-2's architecture learns to write: one character after the other, from half of "The Adventures of Tom Sawyer".
//
//   bun examples/gpt.ts [steps] [beginning]
//
// Prints a progress bar, a curve of the losses and a text that the model wrote; writes gpt-loss.svg and
// gpt.safetensors.
import cliProgress from "cli-progress";
import { loadSafetensors, saveSafetensors } from "zensor";
import { curve, lossPicture } from "./digits/pictures.ts";
import { Characters, novel } from "./gpt/data.ts";
import { GPT } from "./gpt/model.ts";
import { sampled } from "./gpt/sample.ts";
import { BATCH, small, trained } from "./gpt/train.ts";

const steps = Number(process.argv[2] ?? 2000);
const beginning = process.argv[3] ?? 'Tom said: "';
const text = await novel();
const characters = new Characters(text);
const config = small(characters.all.length);
const start = characters.encode(beginning);
if (!(steps > 0 && start.numel() > 0)) {
  console.error("usage: bun examples/gpt.ts [steps] [beginning, of English letters]");
  process.exit(2);
}

const bar = new cliProgress.SingleBar({
  format: "training {bar} {percentage} % | loss {loss} | {rate} characters/s",
  clearOnComplete: true,
});
bar.start(steps, 0, { loss: "-", rate: "-" });
const started = performance.now();
const losses: number[] = [];
const model = trained(characters.encode(text), config, steps, (loss) => {
  losses.push(loss);
  const rate = (losses.length * BATCH * config.context * 1000) / (performance.now() - started);
  bar.increment(1, { loss: loss.toFixed(3), rate: rate.toFixed(0) });
});
bar.stop();
const seconds = (performance.now() - started) / 1000;
const weights = model.parameters().reduce((n, p) => n + p.numel(), 0);
console.log(curve(losses));
console.log(`${steps} steps in ${seconds.toFixed(1)} s, ${weights} weights`);
await Bun.write("gpt-loss.svg", lossPicture(losses));
saveSafetensors(model.stateDict(), "gpt.safetensors");

// As another program would go on: the file alone.
const writer = new GPT(config);
writer.loadStateDict(loadSafetensors("gpt.safetensors"));
writer.eval();
console.log("picture: gpt-loss.svg, weights: gpt.safetensors; what they write:\n");
process.stdout.write(beginning);
const before = performance.now();
const count = 400;
for (const code of sampled(writer, start, count, 0.7)) {
  process.stdout.write(characters.decode([code]));
}
const rate = (count * 1000) / (performance.now() - before);
console.log(`\n\n${rate.toFixed(0)} characters/s written`);
const last = losses.slice(-50);
console.log(`training loss: ${(last.reduce((a, b) => a + b, 0) / last.length).toFixed(2)}`);
