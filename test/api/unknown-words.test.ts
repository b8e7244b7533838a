// Arguments that are one of a few words: any other word is refused, with itself, the known words or its kind.
import { afterAll, expect, test } from "bun:test";
import { loadModel } from "../../codegen/model/load.ts";
import { parseSignature } from "../../scripts/signatures/parse.ts";
import { CONSTRUCTORS, METHODS, ROOMS, STATICS } from "../../scripts/signatures/tables.ts";
import { hdf5Engine } from "../../src/io/index.ts";
import { CALLS, removeFiles } from "./unknown-words.ts";

afterAll(removeFiles);

const CLEAR =
  /nonsense|argument '\w+' must be|\b(layout|memoryFormat)=str|must be either \w+ or \w+|<class 'str'>|only "zeros"/i;

/** Without an engine for HDF5 files they are refused for that. */
const ofHdf5 = /H5|Hdf5|Persistent|^fromDict\.compression/;
const withHdf5 = hdf5Engine() !== null;

for (const [name, call] of Object.entries(CALLS)) {
  test.skipIf(!withHdf5 && ofHdf5.test(name))(`${name} is no word of one's own`, async () => {
    let said = "nothing";
    try {
      await call("nonsense");
    } catch (error) {
      said = String(error);
    }
    expect(said).toMatch(CLEAR);
  });
}

/** `method.argument` of all calls, whoever has the method. */
const called = new Set(Object.keys(CALLS).map((name) => name.replace(/^.*#/, "").split(" ")[0] as string));

test("every signature with words is among them", () => {
  const tables = [CONSTRUCTORS, ...[ROOMS, METHODS, STATICS].flatMap((some) => Object.values(some))];
  const found = tables.flatMap((table) =>
    Object.entries(table).flatMap(([name, text]) => {
      const { positional, options } = parseSignature(text);
      return [...positional, ...options].filter(({ kind }) => kind.startsWith("=")).map((one) => `${name}.${one.name}`);
    }),
  );
  expect(new Set(found).size).toBeGreaterThan(10);
  expect([...new Set(found)].filter((name) => !called.has(name))).toEqual([]);
}, 60_000);

/** Texts that are no words. */
const OWN_WORDS = new Set(["einsum.equation"]);

test("every operator with a word is among them", () => {
  const words = loadModel().ops.flatMap(({ name, args }) =>
    args.filter(({ role }) => role.startsWith("String")).map((arg) => `${name}.${arg.name}`),
  );
  const plain = [...new Set(words)].map((name) =>
    name.replace(/^.*\.(?=\w+\.)/, "").replace(/_(\w)/g, (_, c) => c.toUpperCase()),
  );
  expect(plain.length).toBeGreaterThan(6);
  expect(plain.filter((name) => !called.has(name) && !OWN_WORDS.has(name))).toEqual([]);
}, 60_000);
