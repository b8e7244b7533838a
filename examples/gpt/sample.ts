// Text from a model, one token after the other.
import { noGrad, type Tensor } from "zensor";
import { Cache, type GPT } from "./model.ts";

/** Tokens that may follow some, (tokens); each is computed once, until the model's context is full. */
export function* sampled(model: GPT, start: Tensor, count: number, temperature: number): Generator<number> {
  const { context } = model.config;
  const tokens = start.tolist() as number[];
  let cache = new Cache();
  let next = start.narrow(0, Math.max(0, start.numel() - context), Math.min(start.numel(), context));
  for (let i = 0; i < count; i++) {
    const token = noGrad(() => {
      const logits = model(next.unsqueeze(0), cache).select(1, -1);
      return logits.div(temperature).softmax(-1).multinomial(1).flatten();
    });
    tokens.push(token.item() as number);
    yield tokens.at(-1) as number;
    next = token;
    if (cache.length === context) {
      // Places are counted from the first token, so those that are kept have to be seen again.
      cache = new Cache();
      next = start.newTensor(tokens.slice(-context / 2));
    }
  }
}
