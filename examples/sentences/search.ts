// A text in sentences, and those nearest in meaning to a query.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadSafetensors, saveSafetensors, type Tensor } from "zensor";
import type { Embedder } from "./embed.ts";

export interface Sentence {
  /** In the file, from 1. */
  line: number;
  text: string;
}

export interface Found extends Sentence {
  /** 1 for the same meaning, 0 for nothing in common. */
  score: number;
}

/** The sentences of a text whose paragraphs are parted by empty lines. */
export function sentencesOf(text: string): Sentence[] {
  const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
  const found: Sentence[] = [];
  let line = 1;
  for (const paragraph of text.split("\n\n")) {
    // Spaces for line ends: places stay the same, so that lines can be counted.
    for (const { segment, index } of segmenter.segment(paragraph.replaceAll("\n", " "))) {
      const before = paragraph.slice(0, index).split("\n").length - 1;
      const text = segment.trim().replace(/ +/g, " ");
      const last = found.at(-1);
      // '"No!" said he.' is one sentence.
      if (index > 0 && last && /^\p{Ll}/u.test(text)) last.text += ` ${text}`;
      else if (/\p{L}{2}/u.test(text)) found.push({ line: line + before, text });
    }
    line += paragraph.split("\n").length + 1;
  }
  return found;
}

/** The vectors of all sentences, out of a file in a folder if this text has been read before. */
export function index(
  embedder: Embedder,
  sentences: readonly Sentence[],
  folder: string,
  told: (done: number) => void,
): Tensor {
  const texts = sentences.map(({ text }) => text);
  const sum = new Bun.CryptoHasher("sha256").update(JSON.stringify(texts)).digest("hex");
  const path = join(folder, `vectors-${sum.slice(0, 16)}.safetensors`);
  if (existsSync(path)) return loadSafetensors(path).vectors as Tensor;
  const vectors = embedder.embed(texts, told);
  saveSafetensors({ vectors }, path);
  return vectors;
}

/** The `most` sentences whose vectors have the greatest product with a query's, (1, width). */
export function nearest(query: Tensor, vectors: Tensor, sentences: readonly Sentence[], most: number): Found[] {
  const [scores, places] = vectors.matmul(query.flatten()).topk(Math.min(most, sentences.length));
  const values = scores.tolist() as number[];
  return (places.tolist() as number[]).map((at, i) => ({
    score: Math.round((values[i] as number) * 1000) / 1000,
    ...(sentences[at] as Sentence),
  }));
}

/** Answers "/?q=a+query&most=5" with what is found, as JSON. */
export function answer(request: Request, find: (query: string, most: number) => Found[]): Response {
  const { searchParams } = new URL(request.url);
  const query = searchParams.get("q")?.trim();
  const most = Number(searchParams.get("most") ?? 5);
  if (!query || !Number.isInteger(most) || most < 1) {
    return Response.json({ error: "ask for /?q=QUERY, or /?q=QUERY&most=NUMBER" }, { status: 400 });
  }
  return Response.json(find(query, most));
}
