// Long stacks of values are flat until somebody asks for their members: their slices share the values all the same.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NonTensorData, NonTensorStack, slice, TensorDict } from "../../src/index.ts";
import { roomFor } from "../io/archive-files.ts";

const room = roomFor("long-value-stacks");
afterAll(room.remove);

// biome-ignore lint/suspicious/noExplicitAny: collections of any entries
type Td = any;

const ROWS = 1200;
const texts = (n = ROWS) => Array.from({ length: n }, (_, i) => `t${i}`);
const source = (): Td => new TensorDict<Td>({ n: new NonTensorStack(texts()) }, [ROWS]);
const valuesOf = (td: Td): unknown => JSON.stringify(td.get("n").tolist());

/** Numbers from a seed. */
function drawer(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Draw = (below: number) => number;

/** Views and copies that a collection of some rank gives. */
const takes: ((td: Td, draw: Draw) => Td)[] = [
  (td, draw) => {
    const start = draw(td.batchSize[0]);
    return td.at(slice(start, start + 1 + draw(td.batchSize[0] - start), 1 + draw(2)));
  },
  (td, draw) => td.at(draw(td.batchSize[0])),
  (td, draw) => td.at([Array.from({ length: 1 + draw(4) }, () => draw(td.batchSize[0]))]),
  (td) => td.unsqueeze(0),
  (td) => (td.batchSize.length > 1 ? td.permute(...[...td.batchSize.keys()].reverse()) : td),
  (td, draw) => {
    const parts = td.split(1 + Math.floor(td.batchSize[0] / 3), 0);
    return parts[draw(parts.length)];
  },
  (td, draw) => td.unbind(td.batchSize.length - 1)[draw(td.batchSize.at(-1))],
];

const writes: ((td: Td, draw: Draw, text: string) => void)[] = [
  (td, _draw, text) => td.set_("n", new NonTensorData(text, { batchSize: [...td.batchSize] })),
  (td, draw, text) => {
    const rank = td.batchSize.length;
    if (rank > 0) td.setAt_("n", text, td.batchSize.slice(0, 1 + draw(rank)).map(draw));
  },
];

test.each(Array.from({ length: 40 }, (_, i) => i))("stacks with members and without share the same, %d", (seed) => {
  const results = [false, true].map((asked) => {
    const draw = drawer(seed);
    let td = source().reshape(30, 40) as Td;
    if (draw(2) === 1) td = source();
    if (asked) expect(td.get("n").members.length).toBe(td.batchSize[0]);
    const parts: Td[] = [td];
    for (let i = 0; i < 6; i++) {
      const from = parts[draw(parts.length)];
      if (from.batchSize.length === 0) continue;
      parts.push(takes[draw(takes.length)]?.(from, draw));
      writes[draw(writes.length)]?.(parts[draw(parts.length)], draw, `new${i}`);
    }
    return parts.map(valuesOf);
  });
  expect(results[0]).toEqual(results[1] as never);
});

describe("a long stack", () => {
  test("gives one wrapped value for an element, whoever asks", () => {
    const td = source();
    const one = td.at(1100).get("n");
    const row = td.at(slice(1100, 1102));
    row.setAt_("n", "new", [0]);
    expect([td.at(1100).get("n"), row.get("n").tolist(), td.get("n").members[1100].data]).toEqual([
      one,
      ["new", "t1101"],
      "new",
    ]);
  });

  test("locks what it gave, and unlocks it", () => {
    const td = source();
    const one = td._own("n").at(1100);
    td.lock_();
    expect(one.isLocked).toBe(true);
    td.unlock_();
    expect(one.isLocked).toBe(false);
  });

  test("of mapped files is written by its slices", () => {
    const folder = join(room.path, "mapped");
    const td = source().memmap_(folder);
    const part = td.at(slice(10, 1190));
    const data = () => JSON.parse(readFileSync(join(folder, "n", "meta.json"), "utf8")).data;
    part.setAt_("n", "one", [0]);
    expect(data()[10]).toBe("one");
    part.at(5).set_("n", "two");
    expect(data()[15]).toBe("two");
    part.set_("n", new NonTensorData("all", { batchSize: [1180] }));
    expect(data()).toEqual([...texts(10), ...new Array(1180).fill("all"), ...texts().slice(1190)]);
  });

  test("keeps what its file had for each value, 2.0 as 2.0, also in slices", () => {
    const folder = join(room.path, "floats");
    const td: Td = new TensorDict<Td>({ n: new NonTensorStack(texts()) }, [ROWS]);
    td.memmap(folder);
    const meta = join(folder, "n", "meta.json");
    const numbers = texts().map((_, i) => `${i}${i % 2 === 0 ? ".0" : ""}`);
    const text = readFileSync(meta, "utf8").replace(/"data":\[[^\]]*\]/, `"data":[${numbers.join(",")}]`);
    room.file(join("floats", "n", "meta.json"), Buffer.from(text));
    const loaded: Td = TensorDict.loadMemmap(folder);
    loaded.at(slice(0, 1100)).at(slice(1050, 1054)).clone().memmap(join(room.path, "part"));
    expect(readFileSync(join(room.path, "part", "n", "meta.json"), "utf8")).toContain(
      '"data":[1050.0,1051,1052.0,1053]',
    );
    loaded.at(slice(0, 1100)).memmap(join(room.path, "long"));
    expect(readFileSync(join(room.path, "long", "n", "meta.json"), "utf8")).toContain('"data":[0.0,1,2.0,3,');
  });

  test("a write that its files refuse is taken back", () => {
    const td = source();
    const part = td.at(slice(1, 1100));
    td._own("n")._onChange = () => {
      throw new Error("no room");
    };
    expect(() => part.setAt_("n", "new", [0])).toThrow("no room");
    expect([td, part].map((each) => each.get("n").tolist().includes("new"))).toEqual([false, false]);
  });
});
