// Pictures of a training: a curve for the terminal, and SVG files.
import * as asciichart from "asciichart";
import type { Tensor } from "zensor";
import type { Digits } from "./data.ts";

/** Means of neighbours: what a curve of `count` points shows. */
function smoothed(values: number[], count: number): number[] {
  const each = Math.max(1, Math.ceil(values.length / count));
  const groups = Array.from({ length: Math.ceil(values.length / each) }, (_, i) =>
    values.slice(i * each, (i + 1) * each),
  );
  return groups.map((group) => group.reduce((a, b) => a + b, 0) / group.length);
}

/** The losses in the terminal. */
export function curve(losses: number[]): string {
  return asciichart.plot(smoothed(losses, 72), { height: 10 });
}

const svg = (width: number, height: number, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="14">` +
  `<rect width="${width}" height="${height}" fill="white"/>${body}</svg>\n`;

/** Losses by step, on a logarithmic scale. */
export function lossPicture(losses: number[]): string {
  const [width, height, left, bottom] = [800, 400, 60, 360];
  const logs = losses.map((x) => Math.log10(Math.max(x, 1e-5)));
  const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
  const y = (log: number): number => 20 + ((high - log) / Math.max(1, high - low)) * (bottom - 20);
  const x = (i: number): number => left + (i / Math.max(1, losses.length - 1)) * (width - left - 20);
  const lines = Array.from({ length: high - low + 1 }, (_, i) => low + i).map(
    (power) =>
      `<line x1="${left}" x2="${width - 20}" y1="${y(power)}" y2="${y(power)}" stroke="#ddd"/>` +
      `<text x="8" y="${y(power) + 5}">${10 ** power}</text>`,
  );
  const points = logs.map((log, i) => `${x(i).toFixed(1)},${y(log).toFixed(1)}`).join(" ");
  const title = `<text x="${left}" y="${height - 12}">loss by step, ${losses.length} steps</text>`;
  return svg(width, height, `${lines.join("")}<polyline points="${points}" fill="none" stroke="#2563eb"/>${title}`);
}

/** The images that were taken for other digits, with both. */
export function wrongPicture({ images, labels }: Digits, guesses: Tensor): string {
  const wrong = guesses.ne(labels).nonzero().flatten().tolist() as number[];
  const [cell, across] = [72, 8];
  const cells = wrong.map((at, i) => {
    const [x, y] = [(i % across) * cell, Math.floor(i / across) * (cell + 24)];
    const pixels = images.at(at, 0).tolist() as number[][];
    const squares = pixels.flatMap((row, r) =>
      row.map((v, c) => {
        const shade = Math.round(255 * (1 - v));
        const place = `x="${x + 4 + c * 8}" y="${y + 4 + r * 8}" width="8" height="8"`;
        return `<rect ${place} fill="rgb(${shade},${shade},${shade})"/>`;
      }),
    );
    const text = `${labels.at(at).item()} taken for ${guesses.at(at).item()}`;
    return `${squares.join("")}<text x="${x + 4}" y="${y + cell + 10}" font-size="10">${text}</text>`;
  });
  const rows = Math.max(1, Math.ceil(wrong.length / across));
  return svg(across * cell, rows * (cell + 24), cells.join(""));
}
