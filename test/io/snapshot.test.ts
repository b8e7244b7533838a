// Snapshots in torchsnapshot's format: Python's directories are read, ours have the same layout.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import "../../src/install.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import type { Td } from "../../src/tensordict/state.ts";
import { tensor, zeros } from "../../src/tensordict/tensor-ops.ts";
import examples from "../fixtures/tensordict/snapshots.json" with { type: "json" };

const room = mkdtempSync(join(tmpdir(), "zensor-snapshot-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(room, String(count++));

function unpack(name: string): string {
  const root = fresh();
  for (const [file, base64] of Object.entries((examples as Record<string, Record<string, string>>)[name] ?? {})) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), Buffer.from(base64, "base64"));
  }
  return root;
}

describe("snapshots that Python took", () => {
  test("values of every kind", () => {
    const snapshot = new Snapshot(unpack("nobatch"));
    const list = (path: string) => (snapshot.readObject(path) as Tensor).tolist();
    expect(list("0/app/f32")).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(list("0/app/noncontig")).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expect(list("0/app/scalar")).toBe(5);
    expect((snapshot.readObject("0/app/empty") as Tensor).shape).toEqual([0] as never);
    expect(list("0/app/sl%2Fash%25")).toEqual([1]);
    const items = snapshot.readObject("0/app/nested/l") as unknown[];
    expect(items.slice(1)).toEqual([3, "s", 2.5, true, new Uint8Array([97, 98])]);
    expect((snapshot.readObject("0/app/intkeys") as Record<string, unknown>).a).toBe(2);
    expect(snapshot.readObject("0/app/nested/od")).toBeInstanceOf(Map);
    for (const path of ["0/app/obj", "0/app/c64", "0/app/none"]) {
      expect(() => snapshot.readObject(path)).toThrow("can only be read by Python");
    }
    // Python's library itself loses bytes of bfloat16 tensors with an odd number of elements.
    expect(() => snapshot.readObject("0/app/bf")).toThrow("4 bytes of 4 do not hold shape [3] of torch.bfloat16");
  });
  test("batched and chunked tensors", () => {
    const batched = new Snapshot(unpack("batched"));
    expect((batched.readObject("0/app/i") as Tensor).dtype.name).toBe("int64");
    expect((batched.readObject("0/app/b") as Tensor).dtype.name).toBe("bool");
    expect((batched.readObject("0/app/a") as Tensor).shape).toEqual([2, 3] as never);
    const big = new Snapshot(unpack("chunked")).readObject("0/m/big") as Tensor;
    expect(big.tolist()).toEqual(Array.from({ length: 10 }, (_, i) => [2 * i, 2 * i + 1]));
  });
  test("a TensorDict, restored into an empty one and into a mapped one", () => {
    const path = unpack("tensordict");
    const empty = new TensorDict() as unknown as Td;
    new Snapshot(path).restore({ appState: { state: empty } });
    expect((empty.at("a") as Tensor).tolist()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect((empty.at(["n", "b"]) as Tensor).tolist()).toEqual([1, 1]);
    const mapped = new TensorDict({ a: zeros([2, 2]), n: { b: zeros([2]) } }, [2]).memmap_() as unknown as Td;
    const a = mapped.at("a");
    new Snapshot(path).restore({ appState: { state: mapped } });
    expect(mapped.at("a")).toBe(a);
    expect(a).toBeInstanceOf(MemoryMappedTensor);
    expect((a as Tensor).tolist()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const nested = new Snapshot(unpack("tensordict_nested_sd")).readObject("0/state") as Map<string, unknown>;
    expect([...nested.keys()]).toEqual(["a", "n"]);
  });
});

describe("snapshots of ours", () => {
  test("the manifest is Python's, byte for byte", () => {
    const path = unpack("tensordict_nested_sd");
    const n = new Map<string, unknown>([["b", tensor([1, 1])]]);
    const state = new Map<string, unknown>([
      [
        "a",
        tensor([
          [0, 1],
          [2, 3],
        ]),
      ],
      ["n", n],
    ]);
    const target = fresh();
    Snapshot.take({ path: target, appState: { state: { stateDict: () => state, loadStateDict: () => {} } } });
    for (const file of [".snapshot_metadata", "0/state/a", "0/state/n/b"]) {
      expect(readFileSync(join(target, file)).toString("latin1")).toBe(
        readFileSync(join(path, file)).toString("latin1"),
      );
    }
  });
  test("the two ways of the guide", () => {
    const source = new TensorDict({ a: tensor([1, 2, 3]), b: { c: tensor([4, 5, 6]) } }) as unknown as Td;
    const path = fresh();
    Snapshot.take({ path, appState: { state: source } });
    const target = new TensorDict() as unknown as Td;
    new Snapshot(path).restore({ appState: { state: target } });
    expect(target.eq(source).all()).toBe(true);

    const nested = new TensorDict(
      { a: tensor([1, 2, 3]), b: new TensorDict({ c: zeros([3, 1]) }, [3, 1]) },
      [3],
    ).memmap_() as unknown as Td;
    const other = fresh();
    Snapshot.take({
      path: other,
      appState: { state: new StateDict({ tensordict: nested.stateDict({ keepVars: true }) }) },
    });
    const dest = new TensorDict(
      { a: zeros([3]), b: new TensorDict({ c: zeros([3, 1]).add(1) }, [3, 1]) },
      [3],
    ).memmap_() as unknown as Td;
    const appState = { state: new StateDict({ tensordict: dest.stateDict({ keepVars: true }) }) };
    new Snapshot(other).restore({ appState });
    expect(dest.eq(nested).all()).toBe(true);
    expect(dest.at("b").batchSize).toEqual(nested.at("b").batchSize);
    expect(dest.at(["b", "c"])).toBeInstanceOf(MemoryMappedTensor);
  });
  test("round trip of plain values", () => {
    const values = {
      i: 3,
      f: 2.5,
      s: "x",
      t: true,
      big: 2n ** 70n,
      bytes: new Uint8Array([1, 2]),
      list: [1, [2, "a/b%"]],
      "k/%": { z: 1 },
    };
    const path = fresh();
    Snapshot.take({ path, appState: { app: new StateDict(values) } });
    const back = new StateDict({});
    new Snapshot(path).restore({ appState: { app: back } });
    expect(back.values).toEqual(values);
  });
  test("refusals", () => {
    const path = fresh();
    const take = (values: Record<string, unknown>) => () =>
      Snapshot.take({ path, appState: { app: new StateDict(values) } });
    expect(take({ d: new Date() })).toThrow("a snapshot holds tensors");
    expect(take({ c: zeros([1], { dtype: "complex64" }) })).toThrow("cannot hold torch.complex64");
    expect(take({ "..": { "..": zeros([1]) } })).toThrow("is no file name");
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(take(circle)).toThrow("contains itself");
    expect(() => new Snapshot(path)).toThrow("No such file or directory");
    take({ ok: zeros([1]) })();
    expect(take({ ok: zeros([1]) })).toThrow("there is a snapshot in this directory already");
    expect(() => new Snapshot(path).restore({ appState: { other: new StateDict({}) } })).toThrow('no state of "other"');
  });
});

describe("hostile manifests", () => {
  const cases: [string, (text: string) => string, RegExp][] = [
    ["location outside", (t) => t.replace('"0/state/a",', '"../../secret",'), /is not inside the snapshot/],
    ["absolute location", (t) => t.replace('"0/state/a",', '"/etc/passwd",'), /is not inside the snapshot/],
    ["huge shape", (t) => t.replace(/2,\s+2/, "4294967296, 4294967296"), /too large|do not hold/],
    ["wrong shape", (t) => t.replace(/2,\s+2/, "2, 3"), /do not hold shape/],
    ["unknown dtype", (t) => t.replace("torch.float32", "torch.nope"), /unsupported dtype/],
    ["range beyond the file", (t) => t.replace('"byte_range": null', '"byte_range": [0, 4096]'), /do not hold shape/],
    ["range backwards", (t) => t.replace('"byte_range": null', '"byte_range": [16, 0]'), /no pair of offsets/],
    ["no manifest", () => '{"version": "0.1.0"}', /no manifest/],
    ["not JSON", () => "manifest:\n  a: 1\n", /not JSON/],
  ];
  test.each(cases)("%s", (_what, change, reason) => {
    const path = unpack("tensordict");
    const file = join(path, ".snapshot_metadata");
    writeFileSync(file, change(readFileSync(file, "utf8")));
    const restore = () => new Snapshot(path).restore({ appState: { state: new TensorDict() as unknown as Td } });
    expect(restore).toThrow(reason);
  });
});
