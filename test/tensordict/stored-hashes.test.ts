// What is written is the same everywhere and always: one rich content in every format, and the hashes of the bytes.
// scripts/oracle/stored_files.py wrote them down after Python had read these very files with equal content.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import hashes from "../fixtures/stored-hashes.json" with { type: "json" };
import { temporaryDirectory } from "./helpers.ts";
import { hashesBelow, writeStored } from "./stored-files.ts";

const room = temporaryDirectory();
afterAll(room.remove);

test("every format is written to the byte as Python has read it", () => {
  writeStored(room.path);
  expect(hashesBelow(room.path)).toEqual(hashes);
});
