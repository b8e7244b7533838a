// The digits that scikit-learn ships: 1,797 images of 8 x 8 pixels, 17 shades each.
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { randperm, type Tensor, tensor } from "zensor";

export interface Digits {
  /** Shape (n, 1, 8, 8), from 0 to 1. */
  images: Tensor;
  /** Which digit each is, int64. */
  labels: Tensor;
}

const TRAIN = 1437;

function part(rows: number[][]): Digits {
  const pixels = rows.flatMap((row) => row.slice(0, 64).map((x) => x / 16));
  return {
    images: tensor(new Float32Array(pixels)).view(rows.length, 1, 8, 8),
    labels: tensor(
      rows.map((row) => row[64] as number),
      { dtype: "int64" },
    ),
  };
}

/** What is learned and what is asked for: every fifth image, in the file's order. */
export async function digits(): Promise<{ train: Digits; test: Digits }> {
  const file = await Bun.file(join(import.meta.dir, "digits.csv.gz")).bytes();
  const rows = gunzipSync(file)
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.split(",").map(Number));
  const asked = (_: unknown, i: number): boolean => i % 5 === 4;
  const train = rows.filter((row, i) => !asked(row, i));
  return { train: part(train.slice(0, TRAIN)), test: part([...train.slice(TRAIN), ...rows.filter(asked)]) };
}

/** All images in a new order, in batches of one size. */
export function* shuffled({ images, labels }: Digits, batch: number): Generator<Digits> {
  const order = randperm(images.shape[0]);
  for (const places of order.split(batch)) {
    if (places.numel() < batch) return;
    yield { images: images.indexSelect(0, places), labels: labels.indexSelect(0, places) };
  }
}
