// The text that is learned: "The Adventures of Tom Sawyer", a number for each character.
import { join } from "node:path";
import { arange, randint, type Tensor, tensor } from "zensor";

/** The public-domain text beside this file. */
export const novel = (): Promise<string> => Bun.file(join(import.meta.dir, "sawyer.txt")).text();

/** A number for each character that a text has, in the order of their codes. */
export class Characters {
  readonly all: string[];
  readonly #codes: Map<string, number>;

  constructor(text: string) {
    this.all = [...new Set(text)].sort();
    this.#codes = new Map(this.all.map((character, i) => [character, i]));
  }

  /** Shape (characters), int64; those that the text does not have are left out. */
  encode(text: string): Tensor {
    const codes = [...text].map((character) => this.#codes.get(character)).filter((code) => code !== undefined);
    return tensor(codes, { dtype: "int64" });
  }

  decode(codes: readonly number[]): string {
    return codes.map((code) => this.all[code]).join("");
  }
}

/** Pieces of a text from anywhere: each character, and the one that follows it; both of shape (batch, length). */
export function pieces(codes: Tensor, batch: number, length: number): { input: Tensor; target: Tensor } {
  const starts = randint(codes.numel() - length, [batch, 1]);
  const places = starts.add(arange(length));
  return { input: codes.take(places), target: codes.take(places.add(1)) };
}
