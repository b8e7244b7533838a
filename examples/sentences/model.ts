// BERT's encoder, with the names that its parameters have in the file of all-MiniLM-L6-v2.
import { arange, nn, noGrad, scope, type Tensor, zerosLike } from "zensor";

export interface Config {
  vocab_size: number;
  max_position_embeddings: number;
  type_vocab_size: number;
  hidden_size: number;
  intermediate_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  layer_norm_eps: number;
}

// Without elements: the file's take their place.
const ON_META = { device: "meta" } as const;
const norm = (c: Config): nn.LayerNorm => new nn.LayerNorm(c.hidden_size, { eps: c.layer_norm_eps, ...ON_META });

class Embeddings extends nn.Module {
  word_embeddings: nn.Embedding;
  position_embeddings: nn.Embedding;
  token_type_embeddings: nn.Embedding;
  LayerNorm: nn.LayerNorm;
  constructor(c: Config) {
    super();
    this.word_embeddings = new nn.Embedding(c.vocab_size, c.hidden_size, ON_META);
    this.position_embeddings = new nn.Embedding(c.max_position_embeddings, c.hidden_size, ON_META);
    this.token_type_embeddings = new nn.Embedding(c.type_vocab_size, c.hidden_size, ON_META);
    this.LayerNorm = norm(c);
  }
  override forward(tokens: Tensor): Tensor {
    const places = this.position_embeddings(arange(tokens.size(1)));
    return this.LayerNorm(
      this.word_embeddings(tokens)
        .add(this.token_type_embeddings(zerosLike(tokens)))
        .add(places),
    );
  }
}

class SelfAttention extends nn.Module {
  query: nn.Linear;
  key: nn.Linear;
  value: nn.Linear;
  readonly heads: number;
  constructor(c: Config) {
    super();
    this.heads = c.num_attention_heads;
    this.query = new nn.Linear(c.hidden_size, c.hidden_size, ON_META);
    this.key = new nn.Linear(c.hidden_size, c.hidden_size, ON_META);
    this.value = new nn.Linear(c.hidden_size, c.hidden_size, ON_META);
  }
  override forward(x: Tensor, mask: Tensor): Tensor {
    const parts = (t: Tensor): Tensor => t.unflatten(2, [this.heads, -1]).transpose(1, 2);
    const [query, key, value] = [parts(this.query(x)), parts(this.key(x)), parts(this.value(x))];
    return nn.functional.scaledDotProductAttention(query, key, value, mask).transpose(1, 2).flatten(2);
  }
}

/** A layer that is added to what was there before others, and normalized. */
class Output extends nn.Module {
  dense: nn.Linear;
  LayerNorm: nn.LayerNorm;
  constructor(c: Config, width: number) {
    super();
    this.dense = new nn.Linear(width, c.hidden_size, ON_META);
    this.LayerNorm = norm(c);
  }
  override forward(x: Tensor, before: Tensor): Tensor {
    return this.LayerNorm(this.dense(x).add(before));
  }
}

class Attention extends nn.Module {
  self: SelfAttention;
  output: Output;
  constructor(c: Config) {
    super();
    this.self = new SelfAttention(c);
    this.output = new Output(c, c.hidden_size);
  }
  override forward(x: Tensor, mask: Tensor): Tensor {
    return this.output(this.self(x, mask), x);
  }
}

class Intermediate extends nn.Module {
  dense: nn.Linear;
  constructor(c: Config) {
    super();
    this.dense = new nn.Linear(c.hidden_size, c.intermediate_size, ON_META);
  }
  override forward(x: Tensor): Tensor {
    return nn.functional.gelu(this.dense(x));
  }
}

class Layer extends nn.Module {
  attention: Attention;
  intermediate: Intermediate;
  output: Output;
  constructor(c: Config) {
    super();
    this.attention = new Attention(c);
    this.intermediate = new Intermediate(c);
    this.output = new Output(c, c.intermediate_size);
  }
  override forward(x: Tensor, mask: Tensor): Tensor {
    const attended = this.attention(x, mask);
    return this.output(this.intermediate(attended), attended);
  }
}

class Encoder extends nn.Module {
  layer: nn.ModuleList;
  constructor(c: Config) {
    super();
    this.layer = new nn.ModuleList(Array.from({ length: c.num_hidden_layers }, () => new Layer(c)));
  }
  override forward(x: Tensor, mask: Tensor): Tensor {
    // What a layer made on its way is gone at its end, and the next one works in the same memory.
    return ([...this.layer.children()] as Layer[]).reduce((x, layer) => scope(() => layer(x, mask)), x);
  }
}

export class Bert extends nn.Module {
  embeddings: Embeddings;
  encoder: Encoder;
  constructor(config: Config) {
    super();
    this.embeddings = new Embeddings(config);
    this.encoder = new Encoder(config);
  }

  /**
   * One vector of length 1 for each text, (batch, width): the mean of what its tokens have become.
   * @param tokens int64, (batch, length)
   * @param real Which of them are no padding, bool, (batch, length)
   */
  override forward(tokens: Tensor, real: Tensor): Tensor {
    return noGrad(() => {
      const mask = real.unsqueeze(1).unsqueeze(1);
      const hidden = this.encoder(this.embeddings(tokens), mask);
      const kept = real.unsqueeze(2).to(hidden.dtype);
      const mean = hidden.mul(kept).sum(1).div(kept.sum(1));
      return nn.functional.normalize(mean, { dim: 1 });
    });
  }
}

/** The model of a configuration, with the tensors of a file. */
export function bert(config: Config, state: Record<string, Tensor>): Bert {
  const model = new Bert(config);
  // Those of other uses: a class of the whole text, and the numbers 0 to 511.
  const ours = Object.entries(state).filter(([name]) => !/^pooler\.|\.position_ids$/.test(name));
  model.loadStateDict(Object.fromEntries(ours), { assign: true });
  return model.eval();
}
