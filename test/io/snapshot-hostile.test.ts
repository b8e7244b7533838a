// Manifests made to mislead: one clear error each, and no memory for what is not there.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import "../../src/install.ts";
import { Snapshot } from "../../src/io/snapshot/snapshot.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { Room } from "./snapshot-helpers.ts";

const room = new Room();
afterAll(() => room.remove());
const fresh = () => room.fresh();
const unpack = (name: string) => room.unpack(name);

/** Eleven lists of nine times the list before. */
function repeatedYaml(): string {
  const lists = Array.from({ length: 11 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(", ")}]`);
  return ["a0: &a0 [1]", ...lists].join("\n");
}

describe("hostile manifests", () => {
  const cases: [string, (text: string) => string, RegExp][] = [
    ["location outside", (t) => t.replace('"0/state/a",', '"../../secret",'), /is not inside the snapshot/],
    ["absolute location", (t) => t.replace('"0/state/a",', '"/etc/passwd",'), /is not inside the snapshot/],
    ["huge shape", (t) => t.replace(/2,\s+2/, "4294967296, 4294967296"), /too large|do not hold/],
    ["wrong shape", (t) => t.replace(/2,\s+2/, "2, 3"), /do not hold shape/],
    ["unknown dtype", (t) => t.replace("torch.float32", "torch.nope"), /unsupported dtype/],
    ["range beyond the file", (t) => t.replace('"byte_range": null', '"byte_range": [0, 4096]'), /do not hold shape/],
    ["range backwards", (t) => t.replace('"byte_range": null', '"byte_range": [16, 0]'), /no pair of offsets/],
    ["no processes", (t) => t.replace('"world_size": 1', '"world_size": 0'), /world_size is no number/],
    ["too many dimensions", (t) => t.replace(/2,\s+2/, `${"1, ".repeat(64)}1`), /no list of sizes/],
    ["no manifest", () => '{"version": "0.1.0"}', /no manifest/],
    ["not JSON", () => '{"manifest": ', /not JSON/],
    ["not YAML", () => "manifest: [1, 2", /not YAML/],
    ["no mapping", () => "- manifest", /no mapping/],
    ["YAML that is nested too deeply", () => "- ".repeat(200_000), /not YAML|no mapping/],
    ["YAML with a number for a text", () => "manifest:\n  0/state/a: {type: 5}\n", /type of an entry is no string/],
    ["YAML that repeats itself", () => repeatedYaml(), /not YAML: .*alias/],
  ];
  test.each(cases)("%s", (_what, change, reason) => {
    const path = unpack("tensordict");
    const file = join(path, ".snapshot_metadata");
    writeFileSync(file, change(readFileSync(file, "utf8")));
    const restore = () => new Snapshot(path).restore({ appState: { state: new TensorDict() as unknown as Td } });
    expect(restore).toThrow(reason);
  });
});

describe("hostile pickled values", () => {
  const changed = (change: (text: string) => string) => {
    const path = unpack("nobatch");
    const file = join(path, ".snapshot_metadata");
    writeFileSync(file, change(readFileSync(file, "utf8")));
    return path;
  };
  test("a file that is none of torch's, one cut short, one that is not there", () => {
    const path = unpack("nobatch");
    const file = join(path, "0/app/obj");
    const bytes = readFileSync(file);
    for (const damaged of [Buffer.from("hello"), bytes.subarray(0, bytes.length >> 1), Buffer.alloc(0)]) {
      writeFileSync(file, damaged);
      expect(() => new Snapshot(path).readObject("0/app/obj")).toThrow(`0/app/obj: the builtins.set in ${file} cannot`);
    }
    rmSync(file);
    expect(() => new Snapshot(path).readObject("0/app/obj")).toThrow("No such file or directory");
  });
  test("another serializer, another dtype, a value for a tensor, a place outside", () => {
    const read = (path: string, key: string) => () => new Snapshot(path).readObject(`0/app/${key}`);
    expect(
      read(
        changed((t) => t.replaceAll("torch_save", "per_tensor_qtensor")),
        "obj",
      ),
    ).toThrow("it is serialized by per_tensor_qtensor");
    expect(
      read(
        changed((t) => t.replace("torch.complex64", "torch.complex128")),
        "c64",
      ),
    ).toThrow("something else");
    expect(
      read(
        changed((t) => t.replace('"location": "0/app/c64"', '"location": "0/app/obj"')),
        "c64",
      ),
    ).toThrow("the file holds something else");
    const outside = changed((t) => t.replace('"location": "0/app/obj"', '"location": "../x"'));
    expect(() => new Snapshot(outside)).toThrow("is not inside the snapshot");
  });
});

describe("hostile pieces", () => {
  const entry = (shape: number[], chunks: [number[], number[], number[]?][]) => ({
    type: "ChunkedTensor",
    dtype: "torch.uint8",
    shape,
    chunks: chunks.map(([offsets, sizes, own]) => ({
      offsets,
      sizes,
      tensor: {
        type: "Tensor",
        location: "x",
        serializer: "buffer_protocol",
        dtype: "torch.uint8",
        shape: own ?? sizes,
        replicated: false,
        byte_range: [0, sizes.reduce((a, b) => a * b, 1)],
      },
    })),
    replicated: false,
  });
  const read = (value: unknown, more: Record<string, unknown> = {}) => {
    const path = fresh();
    mkdirSync(path);
    writeFileSync(join(path, "x"), Buffer.alloc(64, 7));
    const manifest = { "0/t": value, ...more };
    writeFileSync(join(path, ".snapshot_metadata"), JSON.stringify({ version: "0.1.0", world_size: 2, manifest }));
    return () => new Snapshot(path).readObject("0/t") as Tensor;
  };
  test("what fills a tensor exactly is read", () => {
    const grid = [0, 2].flatMap((i) =>
      [0, 2].map((j): [number[], number[]] => [
        [i, j],
        [2, 2],
      ]),
    );
    expect(
      read(entry([4, 4], grid))()
        .sum()
        .item(),
    ).toBe(7 * 16);
    expect(read(entry([2, 0], []))().shape).toEqual([2, 0] as never);
    expect(
      read(
        entry(
          [2],
          [
            [[0], [2]],
            [[2], [0]],
          ],
        ),
      )().tolist(),
    ).toEqual([7, 7]);
  });
  const cases: [string, unknown, RegExp][] = [
    [
      "a gap",
      entry(
        [4],
        [
          [[0], [1]],
          [[2], [2]],
        ],
      ),
      /do not fill/,
    ],
    [
      "an overlap that has the right size",
      entry(
        [4],
        [
          [[0], [2]],
          [[1], [2]],
        ],
      ),
      /do not fill/,
    ],
    [
      "an overlap in a grid",
      entry(
        [2, 4],
        [
          [
            [0, 0],
            [2, 2],
          ],
          [
            [0, 1],
            [2, 2],
          ],
        ],
      ),
      /do not fill/,
    ],
    ["a chunk outside", entry([2], [[[1], [2]]]), /lies outside/],
    [
      "another number of dimensions",
      entry(
        [2],
        [
          [
            [0, 0],
            [1, 2],
          ],
        ],
      ),
      /lies outside/,
    ],
    ["sizes and shape that differ", entry([2], [[[0], [2], [3]]]), /do not fit/],
    ["no chunks", entry([2], []), /do not fill/],
    ["a chunk that is none", { ...entry([2], []), chunks: [3] }, /a piece is no object/],
    ["chunks that are none", { ...entry([2], []), chunks: {} }, /no list/],
    ["a huge tensor without bytes", entry([2 ** 40], [[[0], [2 ** 40]]]), /do not hold shape/],
    [
      "sizes beyond numbers",
      entry(
        [2 ** 52, 2 ** 52],
        [
          [
            [0, 0],
            [2 ** 52, 2 ** 52],
          ],
        ],
      ),
      /no list of sizes|too large|no pair/,
    ],
    ["no shards", { type: "ShardedTensor", shards: [] }, /without shards/],
    [
      "shards of different ranks",
      {
        type: "DTensor",
        shards: [
          ...entry([2], [[[0], [2]]]).chunks,
          ...entry(
            [2],
            [
              [
                [0, 0],
                [1, 2],
              ],
            ],
          ).chunks,
        ],
      },
      /different numbers of dimensions/,
    ],
    ["shards that leave a gap", { type: "ShardedTensor", shards: entry([9], [[[3], [2]]]).chunks }, /do not fill/],
  ];
  test.each(cases)("%s", (_what, value, reason) => {
    expect(() => read(value)()).toThrow(reason);
  });
  test("shards of other dtypes, pickled pieces, a directory for a file", () => {
    const [shard] = entry([1], [[[1], [1]]]).chunks;
    const first = { type: "ShardedTensor", shards: entry([1], [[[0], [1]]]).chunks };
    const other = (change: object) => ({
      type: "ShardedTensor",
      shards: [{ ...shard, tensor: { ...shard?.tensor, ...change } }],
    });
    expect(read(first, { "1/t": other({}) })().tolist()).toEqual([7, 7]);
    expect(read(first, { "1/t": other({ dtype: "torch.int8" }) })).toThrow("pieces of several dtypes");
    expect(read(first, { "1/t": other({ serializer: "torch_save" }) })).toThrow("serialized by torch_save");
    expect(read(first, { "1/t": other({ location: "." }) })).toThrow("not inside the snapshot");
    expect(read(first, { "1/t": other({ location: "y" }) })).toThrow("No such file");
  });
  test("thousands of chunks are checked at once", () => {
    const columns = Array.from({ length: 5000 }, (_, i): [number[], number[]] => [
      [0, i],
      [1, 1],
    ]);
    const before = performance.now();
    expect(
      read(entry([1, 5000], columns))()
        .sum()
        .item(),
    ).toBe(7 * 5000);
    expect(
      read(
        entry(
          [1, 5000],
          [
            ...columns.slice(1),
            [
              [0, 1],
              [1, 1],
            ],
          ],
        ),
      ),
    ).toThrow("do not fill");
    expect(performance.now() - before).toBeLessThan(5000);
  });
});
