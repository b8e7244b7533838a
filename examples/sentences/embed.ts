// From texts to vectors: tokens, batches of about the same length, the model.
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { loadSafetensors, scope, type Tensor, tensor, zeros } from "zensor";
import { type Bert, bert } from "./model.ts";

/** As sentence-transformers cuts them; the model was made with texts up to here. */
const MOST = 256;
const BATCH = 32;

/** Lists as rows of one length, and which of their elements are no padding. */
export function padded(lists: readonly number[][]): { tokens: Tensor; real: Tensor } {
  const length = Math.max(...lists.map((list) => list.length));
  const rows = lists.map((list) => [...list, ...Array<number>(length - list.length).fill(0)]);
  const real = lists.map((list) => Array.from({ length }, (_, i) => i < list.length));
  return { tokens: tensor(rows, { dtype: "int64" }), real: tensor(real) };
}

/** Places of lists, the longest first, in batches: little of a batch is padding. */
export function batches(lists: readonly number[][], most: number): number[][] {
  const order = lists.map((_, i) => i).sort((a, b) => (lists[b]?.length ?? 0) - (lists[a]?.length ?? 0));
  return Array.from({ length: Math.ceil(order.length / most) }, (_, i) => order.slice(i * most, (i + 1) * most));
}

export class Embedder {
  private constructor(
    readonly model: Bert,
    readonly tokenizer: Tokenizer,
  ) {}

  /** The model in a folder; its weights are mapped, not read. */
  static async open(folder: string): Promise<Embedder> {
    const json = (name: string) => Bun.file(join(folder, name)).json();
    const [config, tokenizer, more] = await Promise.all(
      ["config.json", "tokenizer.json", "tokenizer_config.json"].map(json),
    );
    const model = bert(config, loadSafetensors(join(folder, "model.safetensors")));
    return new Embedder(model, new Tokenizer(tokenizer, more));
  }

  /** Numbers of a text's tokens, between those for its beginning and its end. */
  tokens(text: string): number[] {
    const { ids } = this.tokenizer.encode(text);
    return ids.length > MOST ? [...ids.slice(0, MOST - 1), ids.at(-1) as number] : ids;
  }

  /** Vectors of length 1, (texts, 384): the nearer two texts are in meaning, the greater their product. */
  embed(texts: readonly string[], told: (done: number) => void = () => undefined): Tensor {
    const lists = texts.map((text) => this.tokens(text));
    const vectors = zeros(texts.length, 384);
    let done = 0;
    for (const places of batches(lists, BATCH)) {
      scope(() => {
        const { tokens, real } = padded(places.map((i) => lists[i] as number[]));
        vectors.indexCopy_(0, tensor(places, { dtype: "int64" }), this.model(tokens, real));
      });
      done += places.length;
      told(done);
    }
    return vectors;
  }
}
