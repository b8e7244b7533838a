// What scripts/pack/binary.ts reads out of a library, and that a library which does not fit its package is refused.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SYMBOLS } from "../../generated/symbols.ts";
import { readBinary } from "../../scripts/pack/binary.ts";
import { hostPlatform, objections, PLATFORMS } from "../../scripts/pack/platforms.ts";
import { libraryFile } from "../../scripts/toolchain.mjs";

const scratch = mkdtempSync(join(tmpdir(), "zensor-binary-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const platform = hostPlatform();

/** What is wrong with a copy of this machine's library in which one text is another of the same length. */
function objectionsTo(from: string, to: string): string {
  const bytes = readFileSync(libraryFile());
  const file = join(scratch, platform.file);
  for (let at = bytes.indexOf(`\0${from}\0`); at >= 0; at = bytes.indexOf(`\0${from}\0`)) bytes.write(to, at + 1);
  writeFileSync(file, bytes);
  return objections(platform, file);
}

test("this machine's library exports what the boundary has, and nothing else", () => {
  const { exports } = readBinary(readFileSync(libraryFile()));
  expect([...exports].sort()).toEqual(Object.keys(SYMBOLS).sort());
  expect(objections(platform, libraryFile())).toBe("");
});

test("a function that is missing, a library that not every system has, another platform's file", () => {
  expect(objectionsTo("zs_abi_hash", "zs_abi_hasH")).toBe("does not export zs_abi_hash");
  if (platform.libc === "glibc") {
    expect(objectionsTo("libm.so.6", "libq.so.6")).toBe("needs libq.so.6");
    expect(objectionsTo("GLIBC_2.14", "GLIBC_2.35")).toBe("needs GLIBC_2.35, and Bun GLIBC_2.17 only");
  }
  const other = PLATFORMS.find((p) => p.cpu !== platform.cpu && p.os === platform.os);
  if (other !== undefined) expect(objections(other, libraryFile())).toStartWith("is a file of another kind: ");
});

test("what is no library", () => {
  expect(() => readBinary(Buffer.from("#!/bin/sh\n"))).toThrow("no library of 64 bits");
  expect(() => readBinary(Buffer.alloc(4096))).toThrow("no library of 64 bits");
});
