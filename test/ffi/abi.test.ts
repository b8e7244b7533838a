// The boundary: both sides were made from one schema, and a library from another one is refused when it is loaded.

import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { camel, loadModel } from "../../codegen/model/load.ts";
import * as abi from "../../generated/abi.ts";
import { SYMBOLS } from "../../generated/symbols.ts";

import { native, textAt } from "../../src/ffi/library.ts";
import { compileLibrary, library, runCode, scratch } from "./child.ts";

interface Struct {
  size: number;
  fields: Record<string, number>;
}
interface Manifest {
  hash: string;
  frame: Struct;
  operand: Struct;
  dtypes: Record<string, number>;
  sizes: Record<string, number>;
  computes: Record<string, number>;
  statuses: Record<string, number>;
  job: { size: number; fields: Record<string, number> };
  codes: Record<string, Record<string, number>>;
  kernels: string[];
}

const { ABI_HASH, COMPUTE, DTYPES, FRAME, JOB_SIZE, JobField, STATUS } = abi;
const manifest: Manifest = JSON.parse(textAt(native.zs_manifest() as number));
const model = loadModel();

describe("the library's tables are TypeScript's", () => {
  test("hash", () => expect(manifest.hash).toBe(ABI_HASH));

  test("dtypes and their sizes", () => {
    expect(manifest.dtypes).toEqual(Object.fromEntries(DTYPES.map((d) => [d.name, d.id])));
    expect(manifest.sizes).toEqual(Object.fromEntries(DTYPES.map((d) => [d.name, d.itemsize])));
  });

  test("compute types and statuses", () => {
    expect(manifest.computes).toEqual({ ...COMPUTE });
    expect(manifest.statuses).toEqual({ ...STATUS });
  });

  test("every field of the frame", () => {
    const { fields } = manifest.frame;
    const at = (name: string) => (fields[name] as number) / 8;
    expect([at("detail"), at("attrs"), at("scratch")]).toEqual([FRAME.DETAIL, FRAME.ATTRS, FRAME.SCRATCH]);
    expect(manifest.frame.size / 8).toBe(FRAME.OPERANDS);
    expect(at("scratch") - at("attrs")).toBe(FRAME.ATTR_COUNT);
    expect(at("attrs") - at("detail")).toBe(FRAME.DETAIL_SIZE);
    expect(FRAME.OPERANDS - at("scratch")).toBe(FRAME.SCRATCH_SIZE);
    model.frame.header.forEach((name, i) => expect([name, at(name)]).toEqual([name, i]));
  });

  test("every field of an operand", () => {
    const { size, fields } = manifest.operand;
    expect(size / 8).toBe(FRAME.OPERAND_SIZE);
    const numbers = Object.fromEntries(model.frame.operand.map((name, i) => [name, 8 * i]));
    expect(fields).toEqual({ ...numbers, shape: 8 * FRAME.SHAPE, strides: 8 * FRAME.STRIDES });
    expect(FRAME.STRIDES - FRAME.SHAPE).toBe(FRAME.MAX_RANK);
  });

  test("every field of a job", () => {
    expect(manifest.job.size / 8).toBe(JOB_SIZE);
    const places = Object.entries(manifest.job.fields).map(([name, at]) => [camel(name), at / 8]);
    expect(Object.fromEntries(places)).toEqual({ ...JobField });
  });

  test("every group of numbers", () => {
    const ours = model.codes.map(({ name }) => [name, (abi as unknown as Record<string, object>)[name]]);
    const renamed = (group: Record<string, number>) =>
      Object.entries(group).map(([name, value]) => [camel(name), value]);
    const theirs = Object.entries(manifest.codes).map(([name, g]) => [name, Object.fromEntries(renamed(g))]);
    expect(Object.fromEntries(theirs)).toEqual(Object.fromEntries(ours));
    expect(theirs.length).toBeGreaterThan(15);
  });

  test("kernels, each with a function", () => {
    expect(manifest.kernels.toSorted()).toEqual(model.kernels.toSorted());
    for (const path of model.kernels) expect(SYMBOLS).toHaveProperty(`zs_k_${path.replace(".", "_")}`);
  });
});

describe("a library that does not fit is refused when it is loaded", () => {
  const copy = join(scratch, "other-zensor.so");

  function refusal(file: string): string {
    const { exitCode, signal, stderr } = runCode("console.log('loaded')", { ZENSOR_LIBRARY: file });
    expect([exitCode === 0, signal]).toEqual([false, null]);
    return stderr;
  }

  test("the same library under another name loads", () => {
    copyFileSync(library, copy);
    expect(runCode("console.log('loaded')", { ZENSOR_LIBRARY: copy }).stdout).toBe("loaded\n");
  });

  test("another hash", () => {
    const bytes = readFileSync(library);
    let found = 0;
    for (let at = bytes.indexOf(ABI_HASH); at >= 0; at = bytes.indexOf(ABI_HASH, at + 1)) {
      bytes.write("0123456789abcdef", at, "latin1");
      found++;
    }
    expect(found).toBeGreaterThan(0);
    writeFileSync(copy, bytes);
    const text = refusal(copy);
    expect(text).toContain(`zensor: ${copy} was built for another version of this package`);
    expect(text).toContain(`(its ABI is 0123456789abcdef, this code needs ${ABI_HASH}). Rebuild it with`);
  });

  test("an old library that lacks functions", () => {
    const source = join(scratch, "old.zig");
    writeFileSync(source, 'export fn zs_abi_hash() [*:0]const u8 {\n    return "00000000000000aa";\n}\n');
    const text = refusal(compileLibrary(source, "zensor-old"));
    expect(text).toContain("was built for another version of this package (its ABI is 00000000000000aa");
  }, 120_000);

  test("half a library, no library, nothing", () => {
    writeFileSync(copy, readFileSync(library).subarray(0, Math.floor(statSync(library).size / 3)));
    if (process.platform === "linux") expect(refusal(copy)).toContain(`zensor: ${copy} is incomplete (`);
    else expect(refusal(copy)).toContain(`zensor: ${copy} cannot be loaded`);
    writeFileSync(copy, "not a library");
    expect(refusal(copy)).toContain(`zensor: ${copy} cannot be loaded, or is no library of this package (`);
    expect(refusal(join(scratch, "absent.so"))).toContain("absent.so, which does not exist");
  });
});

// The limits of the design: a download stays small, and a clone is built in a minute and a half.
test("the library with its GPU kernels stays within 10 MB", () => {
  expect(statSync(library).size).toBeLessThan(10e6);
});
