// Keys as file names.
import { describe, expect, test } from "bun:test";
import { decodeKey, encodeKey, isSafeRawName, keyProblem } from "../../src/io/base/keys.ts";

const CASES: [string, string][] = [
  ["a", "a"],
  ["", "%"],
  [".", "%2E"],
  ["..", "%2E%2E"],
  ["...", "..."],
  ["a/b", "a%2Fb"],
  ["../../evil", "..%2F..%2Fevil"],
  ["sp ace", "sp%20ace"],
  ['q"<>|', "q%22%3C%3E%7C"],
  ["con:*?", "con%3A%2A%3F"],
  ["50%", "50%25"],
  ["tab\t", "tab%09"],
  ["a\nb", "a%0Ab"],
  ["\x7f", "%7F"],
  ["a\0b", "a%00b"],
  ["back\\slash", "back%5Cslash"],
  ["é漢😀", "é漢😀"],
  ["trail.", "trail."],
  ["-rf", "-rf"],
];

describe("encoding", () => {
  test.each(CASES)("%j becomes %j and comes back", (key, name) => {
    expect(encodeKey(key)).toBe(name);
    expect(decodeKey(name)).toBe(key);
  });
  test("names that no key has are not decoded", () => {
    for (const name of ["%zz", "a%", "%2f", "%41", "a/b", ".", "..", "a b"]) expect(decodeKey(name)).toBeNull();
  });
  test("no key leaves its directory", () => {
    for (const key of ["/etc/passwd", "..", "../x", "..\\x", "a/../../b", "C:\\x", "\0"]) {
      expect(encodeKey(key)).not.toMatch(/[/\\\0]|^\.\.?$/);
    }
  });
});

test("keys that cannot be file names say why", () => {
  expect(keyProblem("k".repeat(249), ".memmap")).not.toBeNull();
  expect(keyProblem("k".repeat(248), ".memmap")).toBeNull();
  expect(keyProblem("é".repeat(130))).toContain("260 bytes");
  expect(keyProblem("s\ud800")).toContain("surrogate");
});

test("raw names are looked up only inside the directory", () => {
  expect(isSafeRawName("sp ace")).toBe(true);
  expect(isSafeRawName("..", true)).toBe(true);
  for (const key of ["", ".", "..", "a/b", "../a", "a\0"]) expect(isSafeRawName(key)).toBe(false);
});
