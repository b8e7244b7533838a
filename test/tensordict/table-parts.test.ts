// Tables that are read and written part by part.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { arange, NonTensorStack, TensorDict, tensordict, zeros } from "../../src/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { temporaryDirectory } from "./helpers.ts";

const { readTable, writeTable } = tensordict;
const folder = temporaryDirectory();
afterAll(folder.remove);
const at = (name: string) => join(folder.path, name);

const part = (from: number, to: number) => {
  const a = arange(from, to);
  const name = new NonTensorStack(Array.from({ length: to - from }, (_, i) => `n${from + i}`));
  return new TensorDict({ a, b: a.mul(0.5), name }, [to - from]) as Td;
};

async function listed(parts: AsyncIterable<Td>): Promise<Td[]> {
  const all: Td[] = [];
  for await (const td of parts) all.push(td);
  return all;
}

const FILES = ["t.csv", "t.json", "t.jsonl", "t.parquet", "t.arrow"];

for (const name of FILES) {
  test(`${name}: written in parts, read in parts and as a whole`, async () => {
    async function* parts() {
      yield part(0, 4);
      await Bun.sleep(1);
      yield part(4, 5);
      yield part(5, 12);
    }
    expect(await writeTable(at(name), parts())).toBe(12);
    const found = await listed(readTable(at(name), { rows: 5 }));
    expect(found.length).toBeGreaterThan(1);
    for (const td of found) expect(td.batchSize[0]).toBeLessThanOrEqual(5);
    const whole = TensorDict.cat(found);
    expect(whole.get("a").tolist()).toEqual(arange(12).tolist());
    expect(whole.get("b").tolist()).toEqual(arange(12).mul(0.5).tolist());
    expect(found.flatMap((td) => td.at("name") as string[])).toEqual(Array.from({ length: 12 }, (_, i) => `n${i}`));
    expect(readdirSync(folder.path).filter((file) => file.includes("tmp"))).toEqual([]);
  });

  test(`${name}: an error leaves what was there`, async () => {
    writeFileSync(at(name), "before");
    const other = new TensorDict({ a: zeros(2) }, [2]);
    await expect(writeTable(at(name), [part(0, 2), other])).rejects.toThrow("as the first one");
    async function* failing() {
      yield part(0, 2);
      throw new Error("no more");
    }
    await expect(writeTable(at(name), failing())).rejects.toThrow("no more");
    expect(readFileSync(at(name), "utf8")).toBe("before");
    expect(readdirSync(folder.path).filter((file) => file.includes("tmp"))).toEqual([]);
  });

  test(`${name}: other bytes and a missing file are refused`, async () => {
    writeFileSync(at(name), new Uint8Array(1000).fill(0xff));
    await expect(listed(readTable(at(name)))).rejects.toThrow();
    await expect(listed(readTable(at(`missing-${name}`)))).rejects.toThrow();
    expect(existsSync(at(`missing-${name}`))).toBe(false);
  });
}

test("nothing to write", async () => {
  for (const name of ["none.csv", "none.json", "none.jsonl"]) expect(await writeTable(at(name), [])).toBe(0);
  expect(readFileSync(at("none.json"), "utf8")).toBe("[]");
  for (const name of ["none.parquet", "none.arrow"])
    await expect(writeTable(at(name), [])).rejects.toThrow("at least one part");
});

test("nested levels and tensors of more dimensions", async () => {
  const td = new TensorDict({ obs: { x: zeros(4, 2, 3) } }, [4]) as Td;
  await writeTable(at("deep.arrow"), [td, td]);
  expect((await listed(readTable(at("deep.arrow")))).map((one) => one.get(["obs", "x"]).shape.join())).toEqual([
    "4,2,3",
    "4,2,3",
  ]);
  const flat = new TensorDict({ obs: { x: arange(3) } }, [3]) as Td;
  await writeTable(at("deep.parquet"), [flat], { separator: ".", compression: "zstd" });
  const [back] = await listed(readTable(at("deep.parquet"), { separator: ".", dtype: "float32" }));
  expect(back?.get(["obs", "x"]).tolist()).toEqual([0, 1, 2]);
  expect(String(back?.get(["obs", "x"]).dtype)).toBe("torch.float32");
});

test("formats and rows are checked", async () => {
  expect(() => readTable(at("t.txt"))).toThrow("does not say a format");
  expect(() => readTable(at("t.csv"), { format: "xlsx" as never })).toThrow("unknown format 'xlsx'");
  expect(() => readTable(at("t.csv"), { rows: 0 })).toThrow("rows must be a whole number");
  await expect(writeTable(at("t.csv"), [zeros(2) as never])).rejects.toThrow("TensorDicts");
});

test("reading may stop early", async () => {
  for (const name of FILES) {
    await writeTable(at(name), [part(0, 40)]);
    for await (const td of readTable(at(name), { rows: 3 })) {
      expect(td.get("a").tolist()).toEqual([0, 1, 2]);
      break;
    }
  }
});
