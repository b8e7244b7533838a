// GPT-2, with the names that its parameters have there. Dropout is left out: this text is seen a few times only.
import { arange, cat, manualSeed, nn, noGrad, ones, type Tensor } from "zensor";

export interface Config {
  /** How many different tokens there are. */
  vocabulary: number;
  /** How many tokens it sees at most. */
  context: number;
  layers: number;
  heads: number;
  width: number;
}

/** Keys and values of what one layer has seen, each (batch, heads, seen, width / heads). */
type Seen = { key: Tensor; value: Tensor };

/** What every layer has seen: filled by `forward`, so that the next tokens need no second look at the earlier ones. */
export class Cache {
  readonly layers: (Seen | undefined)[] = [];
  /** How many tokens. */
  get length(): number {
    return this.layers[0]?.key.size(2) ?? 0;
  }
}

class Attention extends nn.Module {
  c_attn: nn.Linear;
  c_proj: nn.Linear;
  constructor(readonly config: Config) {
    super();
    this.c_attn = new nn.Linear(config.width, 3 * config.width);
    this.c_proj = new nn.Linear(config.width, config.width);
  }

  override forward(x: Tensor, cache: Cache | null, layer: number): Tensor {
    const [batch, length, width] = x.shape as [number, number, number];
    const heads = (t: Tensor): Tensor => t.view(batch, length, this.config.heads, -1).transpose(1, 2);
    const [query, newKey, newValue] = this.c_attn(x).split(width, 2).map(heads) as [Tensor, Tensor, Tensor];
    const seen = cache?.layers[layer];
    const key = seen ? cat([seen.key, newKey], 2) : newKey;
    const value = seen ? cat([seen.value, newValue], 2) : newValue;
    if (cache) cache.layers[layer] = { key, value };
    // Of several tokens behind others each sees all of those, and its own kind up to itself.
    const past = key.size(2) - length;
    const mask = past > 0 && length > 1 ? ones(length, past + length, { dtype: "bool" }).tril(past) : null;
    const y = nn.functional.scaledDotProductAttention(query, key, value, mask, 0, past === 0);
    return this.c_proj(y.transpose(1, 2).reshape(batch, length, width));
  }
}

class MLP extends nn.Module {
  c_fc: nn.Linear;
  c_proj: nn.Linear;
  constructor({ width }: Config) {
    super();
    this.c_fc = new nn.Linear(width, 4 * width);
    this.c_proj = new nn.Linear(4 * width, width);
  }
  override forward(x: Tensor): Tensor {
    return this.c_proj(nn.functional.gelu(this.c_fc(x), { approximate: "tanh" }));
  }
}

class Block extends nn.Module {
  ln_1: nn.LayerNorm;
  attn: Attention;
  ln_2: nn.LayerNorm;
  mlp: MLP;
  constructor(config: Config) {
    super();
    this.ln_1 = new nn.LayerNorm(config.width);
    this.attn = new Attention(config);
    this.ln_2 = new nn.LayerNorm(config.width);
    this.mlp = new MLP(config);
  }
  override forward(x: Tensor, cache: Cache | null, layer: number): Tensor {
    const attended = x.add(this.attn(this.ln_1(x), cache, layer));
    return attended.add(this.mlp(this.ln_2(attended)));
  }
}

export class GPT extends nn.Module {
  wte: nn.Embedding;
  wpe: nn.Embedding;
  h: nn.ModuleList;
  ln_f: nn.LayerNorm;
  constructor(readonly config: Config) {
    super();
    this.wte = new nn.Embedding(config.vocabulary, config.width);
    this.wpe = new nn.Embedding(config.context, config.width);
    this.h = new nn.ModuleList(Array.from({ length: config.layers }, () => new Block(config)));
    this.ln_f = new nn.LayerNorm(config.width);
  }

  /** Logits of the next token behind each of (batch, length): (batch, length, vocabulary). */
  override forward(tokens: Tensor, cache: Cache | null = null): Tensor {
    const past = cache?.length ?? 0;
    const places = arange(past, past + tokens.size(1));
    let x = this.wte(tokens).add(this.wpe(places));
    for (const [layer, block] of ([...this.h.children()] as Block[]).entries()) x = block(x, cache, layer);
    // The table of the tokens is the output's, too.
    return nn.functional.linear(this.ln_f(x), this.wte.weight);
  }
}

/** A model with GPT-2's first values: those of layers that add to what is there are smaller, the more there are. */
export function newborn(config: Config, seed: number): GPT {
  manualSeed(seed);
  const model = new GPT(config);
  noGrad(() => {
    for (const [name, p] of model.namedParameters()) {
      if (name.endsWith("bias")) nn.init.zeros_(p);
      else if (p.dim() > 1) {
        nn.init.normal_(p, 0, name.endsWith("c_proj.weight") ? 0.02 / Math.sqrt(2 * config.layers) : 0.02);
      }
    }
  });
  return model;
}
