// examples/gpt.ts learns what the same program learns in PyTorch, and writes the same with a cache as without one.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { io, manualSeed, noGrad, randint, type Tensor } from "zensor";
import { Characters, novel } from "../../examples/gpt/data.ts";
import { Cache, newborn } from "../../examples/gpt/model.ts";
import { sampled } from "../../examples/gpt/sample.ts";
import recorded from "../fixtures/examples/gpt-losses.json";

const root = join(import.meta.dir, "..", "..");
const examples = join(root, "examples");
const TINY = { vocabulary: 11, context: 12, layers: 2, heads: 2, width: 16 };

async function run(words: string[], cwd: string): Promise<string> {
  const child = Bun.spawn([process.execPath, ...words], { cwd, stdout: "pipe", stderr: "pipe" });
  const [text, told] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, told.includes("error")]).toEqual([0, false]);
  return text;
}

const apart = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;

test("the first 40 losses are PyTorch's", async () => {
  const program = `
    import { Characters, novel } from "${examples}/gpt/data.ts";
    import { small, trained } from "${examples}/gpt/train.ts";
    const text = await novel();
    const characters = new Characters(text);
    const losses = [];
    try {
      trained(characters.encode(text), small(characters.all.length), 1000, (loss) => {
        losses.push(loss);
        if (losses.length === 40) throw "enough";
      });
    } catch (e) { if (e !== "enough") throw e; }
    console.log(JSON.stringify(losses));
  `;
  const losses = JSON.parse(await run(["-e", program], root)) as number[];
  expect(losses).toHaveLength(40);
  expect(Math.max(...losses.map((x, i) => Math.abs(x - (recorded[i] as number))))).toBeLessThan(1e-4);
}, 120_000);

test("logits are the same however the tokens come into the cache", () => {
  const model = newborn(TINY, 1);
  const tokens = randint(TINY.vocabulary, [3, TINY.context]);
  noGrad(() => {
    // First values are small; larger ones let tokens look at each other.
    for (const p of model.parameters()) if (p.dim() > 1) p.mul_(20);
    const whole = model(tokens);
    for (const lengths of [Array(TINY.context).fill(1), [5, 1, 6], [TINY.context], [1, 4, 4, 3]]) {
      const cache = new Cache();
      let at = 0;
      for (const length of lengths) {
        const logits = model(tokens.narrow(1, at, length), cache);
        expect(apart(logits, whole.narrow(1, at, length))).toBeLessThan(1e-4);
        at += length;
      }
      expect(cache.length).toBe(TINY.context);
    }
    // What comes later changes nothing before it.
    const other = tokens.clone();
    other.narrow(1, 7, 5).fill_(3);
    expect(apart(model(other).narrow(1, 0, 7), whole.narrow(1, 0, 7))).toBe(0);
  });
});

test("texts that are longer than the context go on from half of it", () => {
  const model = newborn(TINY, 2);
  manualSeed(3);
  for (const start of [1, TINY.context - 1, TINY.context, 3 * TINY.context]) {
    const tokens = [...sampled(model, randint(TINY.vocabulary, [start]), 40, 1)];
    expect(tokens).toHaveLength(40);
    expect(tokens.every((token) => token >= 0 && token < TINY.vocabulary)).toBe(true);
  }
});

test("characters come back", async () => {
  const text = await novel();
  const characters = new Characters(text);
  expect(characters.decode(characters.encode(text).tolist() as number[])).toBe(text);
  expect(characters.encode("\u{1f600}").numel()).toBe(0);
});

test("it writes a picture, weights of GPT-2's names, and a text", async () => {
  const folder = mkdtempSync(join(tmpdir(), "zensor-gpt-"));
  try {
    const text = await run([join(examples, "gpt.ts"), "20", "Becky"], folder);
    expect(text).toMatch(/they write:\n\nBecky[\s\S]{400}\n\n\d+ characters\/s written\ntraining loss: \d\.\d\d\n$/);
    expect(await Bun.file(join(folder, "gpt-loss.svg")).text()).toMatch(/^<svg .*<\/svg>\n$/s);
    const file = new io.SafetensorsFile(join(folder, "gpt.safetensors"));
    expect(file.keys()).toHaveLength(4 + 4 * 12);
    expect([...file.tensor("h.3.attn.c_attn.weight").shape]).toEqual([384, 128]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
