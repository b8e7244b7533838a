// The order of texts: by code points.
import { expect, test } from "bun:test";
import { byCodePoints } from "../../src/tensor/code-points.ts";

const WORDS = [
  "",
  "a",
  "ab",
  "b",
  "ä",
  "\u{d7ff}",
  "\ue000",
  "\uffff",
  "\u{10000}",
  "\u{10ffff}",
  "\u{1f600}",
  "\u{1f601}",
];

test("texts are ordered as their UTF-8 bytes are", () => {
  const texts = WORDS.flatMap((x) => WORDS.flatMap((y) => [x + y, `${x}-${y}`]));
  for (const a of texts) {
    for (const b of texts) {
      const wanted = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect([a, b, Math.sign(byCodePoints(a, b))]).toEqual([a, b, wanted]);
    }
  }
});
